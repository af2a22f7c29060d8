"""What a request ends with (P6)."""

from __future__ import annotations

import pytest

from memflush_jupyter.agent.sending import ANSWERED_ELSEWHERE, with_the_last_word
from memflush_jupyter.trace.models import Message

PROMPT = {"role": "user", "content": [{"type": "text", "text": "How many?"}]}
REPLY = {"role": "assistant", "content": [{"type": "text", "text": "Of the other: "}]}


def last(role: str, stop_reason: str | None = None) -> Message:
    return Message("t", 2, 1, role, "reply" if role == "assistant" else "prompt", [], stop_reason=stop_reason)  # type: ignore[arg-type]


def test_an_answer_that_another_kernel_stored_after_the_prompt_is_not_gone_on_with() -> None:
    """P6: two kernels on one conversation; the other one's answer came between this one's prompt and its request."""
    wire = with_the_last_word([PROMPT, REPLY], last("assistant", "end_turn"))
    assert wire == [PROMPT, REPLY, {"role": "user", "content": [{"type": "text", "text": ANSWERED_ELSEWHERE}]}]


@pytest.mark.parametrize(("wire", "message"), [([PROMPT], last("user")), ([PROMPT, REPLY], last("assistant", "pause_turn"))])
def test_a_request_that_ends_with_the_person_or_with_a_pause_stays_as_it_is(wire, message) -> None:
    assert with_the_last_word(wire, message) is wire
