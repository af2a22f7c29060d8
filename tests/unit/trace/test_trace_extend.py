"""One message more at the head of a path, and the trace's row as it is then."""

from __future__ import annotations

import pytest

from memflush_jupyter.clock import FixedClock
from memflush_jupyter.errors import TraceError
from memflush_jupyter.trace.store import TraceStore

HELLO = [{"type": "text", "text": "hello"}]


def test_extend_gives_the_message_and_the_row_as_they_are_stored() -> None:
    """C9: what the conversation goes by is what was committed, another writer's rows included."""
    store = TraceStore.in_memory(clock=FixedClock("2026-01-15T09:00"), redact=lambda text: text.replace("hello", "…"))
    trace = store.create_trace(identity="i").id
    store.append(trace, role="user", kind="prompt", content=HELLO)
    message, row = store.extend(trace, role="assistant", kind="reply", content=HELLO, tokens=7, meta={"hello": 1})
    assert message == store.message(trace, 2)
    assert (message.parent, message.tokens, message.text, message.meta) == (1, 7, "…", {"…": 1})
    assert row == store.trace(trace)
    assert row.head == 2


def test_the_latest_of_a_side_branch_is_found_without_the_rest() -> None:
    """C10: a summary made ahead is one message of many."""
    store = TraceStore.in_memory(clock=FixedClock("2026-01-15T09:00"))
    trace = store.create_trace(identity="i").id
    for branch in ("prepared", "main", "prepared", "flush:1"):
        store.append(trace, role="assistant", kind="reply", content=HELLO, branch=branch, parent=None if branch != "main" else "head")
    assert store.latest_of_branch(trace, "prepared") == store.message(trace, 3)
    assert store.latest_of_branch(trace, "prepared", after=2) == store.message(trace, 3)
    assert store.latest_of_branch(trace, "prepared", after=3) is None
    assert store.latest_of_branch(trace, "other") is None


@pytest.mark.parametrize("sequence", [0, -1, 2, 10**23, -(10**23)])
def test_a_number_that_no_message_has_is_told_as_such(sequence: int) -> None:
    """P6: whatever a model asks read_message for, it reads a sentence."""
    store = TraceStore.in_memory(clock=FixedClock("2026-01-15T09:00"))
    trace = store.create_trace(identity="i").id
    store.append(trace, role="user", kind="prompt", content=HELLO)
    with pytest.raises(TraceError, match=f"has no message {sequence}\\."):
        store.message(trace, sequence)
