"""What is written is redacted and storable (P7, P4)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memflush_jupyter.trace.clean import Cleaner, storable
from memflush_jupyter.trace.models import Note
from memflush_jupyter.trace.store import TraceStore

HIDDEN = "sk-hunter2"


def redact(text: str) -> str:
    return text.replace(HIDDEN, "[redacted: key]")


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("plain", "plain"),
        ("", ""),
        ("Größe 企鹅 🐧", "Größe 企鹅 🐧"),
        ("a\x00b", "a\ufffdb"),
        ("a\ud800b", "a\ufffdb"),
        ("\udc00", "\ufffd"),
        ("\ud83d\udc27", "🐧"),
        ("\udc27\ud83d", "\ufffd\ufffd"),
        ("a\r\n\t\x1b[0m\u202e\ufeff", "a\r\n\t\x1b[0m\u202e\ufeff"),
    ],
)
def test_only_what_cannot_be_stored_is_replaced(text, kept):
    assert storable(text) == kept


def test_secret_is_redacted_in_every_kind_of_block():
    """P7: text, tool inputs with their keys, results as text and as blocks."""
    content = [
        {"type": "text", "text": f"my key {HIDDEN}"},
        {"type": "tool_use", "id": "toolu_1", "name": "run", "input": {"code": HIDDEN, HIDDEN: [1, {"deep": HIDDEN}]}},
        {"type": "tool_result", "tool_use_id": "toolu_1", "content": HIDDEN},
        {"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": HIDDEN}], "is_error": True},
        {"type": "unheard_of", "value": {"x": HIDDEN}},
    ]
    cleaned = Cleaner(redact).blocks(content)
    assert HIDDEN not in json.dumps(cleaned)
    assert cleaned[1] == {
        "type": "tool_use",
        "id": "toolu_1",
        "name": "run",
        "input": {"code": "[redacted: key]", "[redacted: key]": [1, {"deep": "[redacted: key]"}]},
    }
    assert cleaned[3]["is_error"] is True
    assert content[0]["text"] == f"my key {HIDDEN}"  # the caller's own list is left alone


def test_what_must_stay_as_it_is_stays():
    """Ids pair calls with results, signatures prove thinking, base64 is no text: a false alarm in them would break the request (P6)."""
    content = [
        {"type": "thinking", "thinking": "hm", "signature": HIDDEN},
        {"type": "redacted_thinking", "data": HIDDEN},
        {"type": "tool_use", "id": HIDDEN, "name": "run", "input": {"id": "x"}, "cache_control": {"type": "ephemeral"}},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": HIDDEN}},
    ]
    assert Cleaner(redact).blocks(content) == content


def test_thinking_that_holds_a_secret_is_left_out_whole():
    """P7 against P6: altered it would be refused, kept it would be written."""
    cleaned = Cleaner(redact).blocks([{"type": "thinking", "thinking": HIDDEN, "signature": "s"}, {"type": "text", "text": "ok"}])
    assert cleaned == [{"type": "text", "text": "ok"}]


def test_values_json_does_not_know_become_text():
    assert Cleaner(str).value({1: Path("a"), "t": (1, 2), "n": None, "f": 1.5, "b": True}) == {"1": "a", "t": [1, 2], "n": None, "f": 1.5, "b": True}


def test_no_door_of_the_store_lets_a_secret_to_the_disk(path, clock):
    """P7: every text that is written, whatever it belongs to."""
    store = TraceStore.open(path, clock=clock, redact=redact)
    trace = store.create_trace(identity="me", notebook=HIDDEN, model=HIDDEN, title=HIDDEN).id
    store.append(trace, role="user", kind="prompt", content=[{"type": "text", "text": HIDDEN}], cell_id=HIDDEN, meta={"x": HIDDEN})
    store.update_trace(trace, title=HIDDEN, last_flush_error=HIDDEN, meta={"k": HIDDEN})
    store.record_flush_failure(trace, reason=HIDDEN)
    store.add_notes([Note("n1", HIDDEN, HIDDEN, trace, 1, "user", queries=[HIDDEN])])
    store.signal_note("n1", HIDDEN)
    store.log(trace, "query", {"text": HIDDEN, "list": [HIDDEN]})
    store.record_flush(trace, compaction_count=0, flushed_through=1, notes=["n1"], event={"reason": HIDDEN})
    store.record_compaction(trace, content=[{"type": "text", "text": HIDDEN}], tokens=1, meta={"first_kept": 1, "s": HIDDEN})
    store.set_setting("k", HIDDEN)
    assert store.search("hunter2", identity=None) == []
    store.close()
    assert all(b"hunter2" not in file.read_bytes() for file in path.parent.iterdir())


@pytest.mark.parametrize("text", ["\ud800", "a\x00b", "\ud83d\udc27", "\U0010ffff", "\u202e\u200b", "e\u0301", "x" * 5_000_000, "企鹅" * 100_000])
def test_odd_and_huge_texts_are_stored_without_failing(store, trace, text):
    """P4: whatever a tool prints."""
    block = {"type": "tool_result", "tool_use_id": "t\ud800", "content": text, text[:10]: {text[:10]: text[:10]}}
    message = store.append(trace, role="user", kind="results", content=[block], meta={text[:10]: text[:10]}, cell_id=text[:10])
    store.add_notes([Note("n1", "a.md", text[:500], trace, 1, "tool")])
    store.log(trace, "query", {"text": text})
    assert store.message(trace, 1) == message
    assert message.content[0]["content"] == storable(text)
