"""Whatever a server streams, and wherever the stream breaks: nothing half-done is trusted, and what is kept can be sent back (D11, P6)."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from memflush_jupyter.models.pieces import TextPiece
from memflush_jupyter.models.sse import EventDecoder
from memflush_jupyter.models.streaming import ReplyBuilder
from memflush_jupyter.testing import events
from memflush_jupyter.testing.replies import Reply, sign
from memflush_jupyter.testing.validation import check_body
from memflush_jupyter.trace.models import Usage

words = st.text(max_size=30)
inputs = st.dictionaries(st.text(min_size=1, max_size=5), st.one_of(st.integers(), words, st.booleans(), st.lists(words, max_size=2)), max_size=3)
text_blocks = st.builds(lambda value: {"type": "text", "text": value}, words)
thinking_blocks = st.builds(lambda value: {"type": "thinking", "thinking": value, "signature": sign(value)}, words)
tool_blocks = st.builds(
    lambda tool_id, name, value: {"type": "tool_use", "id": tool_id, "name": name, "input": value},
    st.sampled_from(["", "a", "b", "é", "call 0"]),
    st.sampled_from(["f", "g"]),
    inputs,
)
odd_blocks = st.just({"type": "hologram", "data": 1})
contents = st.lists(st.one_of(text_blocks, thinking_blocks, tool_blocks, odd_blocks), max_size=6)
stops = st.sampled_from(["", "max_tokens", "refusal", "end_turn", "tool_use"])


def stream(content: list[dict[str, Any]], stop: str, delta: int) -> list[dict[str, Any]]:
    return list(events.stream(Reply(content, stop_reason=stop, delta_chars=delta), message_id="m", model="m", usage=Usage(input=1, output=1)))


def sent_back(content: list[dict[str, Any]]) -> None:
    """Send a reply's content back with an answer to each call, as the agent does."""
    results = [{"type": "tool_result", "tool_use_id": block["id"], "content": "ok"} for block in content if block["type"] == "tool_use"]
    messages = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": content},
        {"role": "user", "content": [*results, {"type": "text", "text": "go on"}]},
    ]
    tools = [{"name": name, "input_schema": {"type": "object"}} for name in ("f", "g")]
    check_body({"model": "m", "max_tokens": 1, "tools": tools, "messages": [message for message in messages if message["content"]]})


@given(contents, stops, st.integers(1, 40), st.data())
def test_broken_stream_is_never_trusted_and_always_sendable(content: list[dict[str, Any]], stop: str, delta: int, data: st.DataObject) -> None:
    planned = stream(content, stop, delta)
    cut = data.draw(st.integers(0, len(planned) - 1))
    builder = ReplyBuilder(model="m", seed="s")
    for event in planned[:cut]:
        builder.feed(event)
    reply = builder.reply()
    assert reply.fault is not None
    assert not reply.trustworthy
    sent_back(reply.content)


@given(contents, stops, st.integers(1, 40))
def test_whole_stream_is_kept_whole(content: list[dict[str, Any]], stop: str, delta: int) -> None:
    builder = ReplyBuilder(model="m", seed="s")
    shown = [piece for event in stream(content, stop, delta) for piece in builder.feed(event)]
    reply = builder.reply()
    assert reply.trustworthy == (stop in {"end_turn", "tool_use"})
    assert "".join(piece.text for piece in shown if isinstance(piece, TextPiece)) == "".join(block["text"] for block in content if block["type"] == "text")
    kept = [block for block in content if block["type"] != "hologram" and (block["type"] != "text" or block["text"].strip())]
    assert [{**block, "id": ""} if "id" in block else block for block in reply.content] == [{**block, "id": ""} if "id" in block else block for block in kept]
    sent_back(reply.content)


@given(st.lists(st.dictionaries(st.text(max_size=4), words, max_size=2), max_size=6), st.data())
def test_events_survive_any_cut_of_the_bytes(payloads: list[dict[str, str]], data: st.DataObject) -> None:
    raw = b"".join(f"event: e\ndata: {json.dumps(payload, ensure_ascii=False)}\n\n".encode() for payload in payloads)
    decoder, found, position = EventDecoder(), [], 0
    while position < len(raw):
        size = data.draw(st.integers(1, len(raw) - position))
        found += decoder.feed(raw[position : position + size])
        position += size
    assert [json.loads(event.data) for event in found] == payloads
