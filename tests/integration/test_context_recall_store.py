"""Rows G5, G6: recall over the real trace store."""

import pytest

from memflush_jupyter.clock import FixedClock
from memflush_jupyter.context import recall
from memflush_jupyter.context.assembly import to_wire, validate
from memflush_jupyter.context.compaction import choose_cut, summary_message
from memflush_jupyter.context.tokens import TokenCounter
from memflush_jupyter.trace.models import Note
from memflush_jupyter.trace.store import TraceStore

COUNT = TokenCounter("m", factor=1.0, learned=False)


@pytest.fixture
def store(tmp_path):
    opened = TraceStore.open(tmp_path / "store.sqlite3", clock=FixedClock("2026-01-15T09:00"))
    yield opened
    opened.close()


def say(store, trace, *texts):
    for number, text in enumerate(texts):
        role, kind = (("user", "prompt"), ("assistant", "reply"))[number % 2]
        store.append(trace, role=role, kind=kind, content=[{"type": "text", "text": text}], tokens=COUNT.text(text))


def find(store, prompt, **more):
    return recall.search(store, prompt, identity="me", budget=600, count=COUNT.text, **more)


def test_messages_of_earlier_traces_and_notes_come_back(store):
    """G5."""
    old = store.create_trace(identity="me").id
    say(store, old, "We drop outliers above 3 sigma on the Q3 data.", "Noted. The sky is blue.")
    store.add_notes([Note("n1", "MEMORY.md", "Revenue is reported in euro.", None, None, "user", "written")])
    (found,) = find(store, "Which outliers did we drop in Q3?")
    assert found.line() == f"- [{old}#1 user 2026-01-15] We drop outliers above 3 sigma on the Q3 data."
    assert [item.note for item in find(store, "In which currency is revenue reported?")] == ["n1"]


def test_another_identity_finds_nothing(store):
    """G5."""
    say(store, store.create_trace(identity="somebody else").id, "We drop outliers above 3 sigma.")
    assert find(store, "Which outliers did we drop?") == []


def test_what_is_in_the_context_does_not_come_again(store):
    """G5."""
    trace = store.create_trace(identity="me").id
    say(store, trace, "We drop outliers above 3 sigma.")
    here = {(trace, message.sequence) for message in store.path(trace)}
    assert find(store, "Which outliers did we drop?", in_context=here) == []


def test_a_compacted_message_is_found_by_its_reference(store):
    """G5, D3, P1: after the compaction the first minute is still there."""
    trace = store.create_trace(identity="me").id
    say(store, trace, "My name is Ines and the file is penguins.csv.", "Nice to meet you.", *["Go on with the next plot, please. " * 20, "Done. " * 20] * 6)
    cut = choose_cut(store.path(trace), keep_recent=100, count=lambda message: message.tokens)
    mark = store.record_compaction(
        trace, content=summary_message("Plots were made.", last_request=cut.last_request), tokens=50, meta={"first_kept": cut.kept[0].sequence}
    )
    path = store.path(trace)
    assert [message.sequence for message in path] == [mark.sequence, *[message.sequence for message in cut.kept]]
    assert validate(to_wire(path), to_send=False) == []
    here = {(trace, message.sequence) for message in path}
    (found,) = find(store, "What was the name of the penguins file?", in_context=here)
    assert found.text == "My name is Ines and the file is penguins.csv."
    assert store.message(found.trace, found.sequence).text == found.text


def test_recalled_text_is_not_found_again(store):
    """G6, F2."""
    trace = store.create_trace(identity="me").id
    say(store, trace, "We drop outliers above 3 sigma.")
    block = {"type": "text", "text": recall.render(find(store, "Which outliers did we drop?"))}
    store.append(trace, role="user", kind="prompt", content=[{"type": "text", "text": "Which ones?"}, block], meta={"aside": [1]})
    assert [item.sequence for item in find(store, "Which outliers did we drop?")] == [1]


def test_chinese_and_identifiers_are_found(store):
    """G5."""
    trace = store.create_trace(identity="me").id
    say(store, trace, "今天先看图。我们决定用箱线图去除异常值。", "Fine.", "The column bill_length_mm has two missing values.")
    assert [item.text for item in find(store, "之前怎么去除异常值？")] == ["我们决定用箱线图去除异常值。"]
    assert [item.sequence for item in find(store, "What is missing in billLengthMm?")] == [3]
    assert [item.sequence for item in find(store, "Is the bill length missing anywhere?")] == [3]


def test_a_whole_name_is_found_among_many_halves_of_it(store):
    """G5: few first names and few surnames in many pairs."""
    trace = store.create_trace(identity="me").id
    given, family = ["Nora", "Anna", "Ines", "Lena", "Mara", "Vera"], ["Fishel", "Berg", "Stein", "Wald", "Thal", "Bach"]
    facts = [f"{a} {b} likes {b} and {a} and the prize of {c}." for a in given for b in family for c in given if (a, b) != ("Nora", "Fishel")]
    say(
        store,
        trace,
        *facts,
        "It rained all day long, so that all stayed in. Later on Nora Fishel received the Amber Medal in 1997. The rest is soon told.",
        *facts,
    )
    found = find(store, "Which prize was given to Nora Fishel?")
    assert "Later on Nora Fishel received the Amber Medal in 1997." in [item.text for item in found]
