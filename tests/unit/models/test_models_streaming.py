"""A streamed reply is put together exactly, and what cannot be trusted is said to be so (D11)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memflush_jupyter.models.pieces import TextPiece, ThinkingPiece, ToolPiece
from memflush_jupyter.models.sse import EventDecoder
from memflush_jupyter.models.streaming import CUT, NO_STOP, TOOL_ID, ReplyBuilder, clean_surrogates, make_tool_id
from memflush_jupyter.trace.models import Usage

START = {"type": "message_start", "message": {"model": "m-1", "usage": {"input_tokens": 10, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 2}}}
STOP = {"type": "message_stop"}


def end(reason: str | None = "end_turn", output: int = 7) -> dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": output}}


def text_block(index: int, *deltas: str) -> list[dict[str, Any]]:
    return [
        {"type": "content_block_start", "index": index, "content_block": {"type": "text", "text": ""}},
        *({"type": "content_block_delta", "index": index, "delta": {"type": "text_delta", "text": delta}} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def tool_block(index: int, name: Any, *deltas: str, tool_id: Any = "toolu_1") -> list[dict[str, Any]]:
    start = {"type": "tool_use", "id": tool_id, "name": name, "input": {}}
    return [
        {"type": "content_block_start", "index": index, "content_block": start},
        *({"type": "content_block_delta", "index": index, "delta": {"type": "input_json_delta", "partial_json": delta}} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def build(*events: dict[str, Any], fault: str | None = None, used: tuple[str, ...] = (), seed: str = "s") -> tuple[ReplyBuilder, Any, list[Any]]:
    builder = ReplyBuilder(model="asked", seed=seed)
    pieces = [piece for event in events for piece in builder.feed(event)]
    return builder, builder.reply(fault, used_ids=used), pieces


def test_whole_reply_has_text_thinking_call_usage_and_model() -> None:
    thinking = [
        {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": "", "signature": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "let "}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "me see"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "sig"}},
        {"type": "content_block_stop", "index": 0},
    ]
    call = tool_block(2, "f", "", '{"a": ', "123456}")
    builder, reply, pieces = build(START, {"type": "ping"}, *thinking, *text_block(1, "Hel", "lo"), *call, end("tool_use"), STOP)
    assert builder.complete
    assert reply.content == [
        {"type": "thinking", "thinking": "let me see", "signature": "sig"},
        {"type": "text", "text": "Hello"},
        {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"a": 123456}},
    ]
    assert reply.usage == Usage(input=10, cache_read=5, cache_write=2, output=7)
    assert (reply.model, reply.stop_reason, reply.fault, reply.trustworthy) == ("m-1", "tool_use", None, True)
    assert pieces == [ThinkingPiece("let ", 0), ThinkingPiece("me see", 0), TextPiece("Hel", 1), TextPiece("lo", 1), ToolPiece(2, "f")]
    assert reply.text == "Hello"
    assert [block["name"] for block in reply.tool_calls] == ["f"]


def test_end_without_message_stop_is_a_fault_even_with_a_stop_reason() -> None:
    """D11: the SDK raises nothing here and hands back a partial message."""
    _, reply, _ = build(START, *text_block(0, "half"), end())
    assert reply.fault == CUT
    assert not reply.trustworthy
    assert reply.content == [{"type": "text", "text": "half"}]


def test_missing_stop_reason_is_a_fault() -> None:
    _, reply, _ = build(START, *text_block(0, "x"), STOP)
    assert (reply.fault, reply.stop_reason, reply.trustworthy) == (NO_STOP, None, False)


@pytest.mark.parametrize("reason", ["max_tokens", "model_context_window_exceeded", "refusal", "pause_turn"])
def test_tool_json_truncated_by_a_limit_parses_smaller_but_is_not_trusted(reason: str) -> None:
    """D11: ``123456`` cut to ``123`` is valid JSON; what matters is how the message ended."""
    _, reply, _ = build(START, *tool_block(0, "f", '{"a": 123}'), end(reason), STOP)
    assert reply.tool_calls[0]["input"] == {"a": 123}
    assert reply.fault is None
    assert not reply.trustworthy


@pytest.mark.parametrize(
    ("deltas", "sentence"),
    [
        (('{"a": 12',), "The input of the call to f is not valid JSON."),
        (("nonsense",), "The input of the call to f is not valid JSON."),
        (("[1, 2]",), "The input of the call to f is not a JSON object."),
        (('"text"',), "The input of the call to f is not a JSON object."),
        (('{"a": NaN}',), "The input of the call to f is not valid JSON."),
        (('{"a": [{"b": -Infinity}]}',), "The input of the call to f is not valid JSON."),
        (('{"a": 1e999}',), "The input of the call to f is not valid JSON."),
        (('{"a": ' + "[" * 150 + "]" * 150 + "}",), "The input of the call to f is not valid JSON."),
        (('{"a": ' + "[" * 100_000,), "The input of the call to f is not valid JSON."),
    ],
)
def test_malformed_tool_input_is_a_fault_with_an_empty_input(deltas: tuple[str, ...], sentence: str) -> None:
    _, reply, _ = build(START, *tool_block(0, "f", *deltas), end("tool_use"), STOP)
    assert reply.fault == sentence
    assert reply.tool_calls == [{"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}]
    assert not reply.trustworthy


@pytest.mark.parametrize(("given", "sentence"), [({"a": float("nan")}, "is not valid JSON"), ([], "is not a JSON object"), (0, "is not a JSON object")])
def test_input_given_at_the_start_is_held_to_the_same(given: object, sentence: str) -> None:
    start = {"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "toolu_1", "name": "f", "input": given}}
    _, reply, _ = build(START, start, end("tool_use"), STOP)
    assert reply.fault == f"The input of the call to f {sentence}."
    assert reply.tool_calls[0]["input"] == {}


def test_call_without_input_has_an_empty_object() -> None:
    _, reply, _ = build(START, *tool_block(0, "f"), end("tool_use"), STOP)
    assert (reply.fault, reply.tool_calls[0]["input"]) == (None, {})


def test_input_given_at_the_start_of_the_block_counts() -> None:
    start = {"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}}}
    _, reply, _ = build(START, start, end("tool_use"), STOP)
    assert reply.tool_calls[0]["input"] == {"a": 1}


@pytest.mark.parametrize("name", ["", None, "two words", "x" * 129])
def test_call_with_an_impossible_name_is_dropped_and_a_fault(name: Any) -> None:
    """P6: a name outside the API's pattern could never be sent back."""
    _, reply, _ = build(START, *tool_block(0, name, "{}"), end("tool_use"), STOP)
    assert reply.content == []
    assert reply.fault == "A tool call has no valid name."


@pytest.mark.parametrize("bad", ["", None, "has space", "é", "x" * 65])
def test_missing_or_impossible_tool_id_is_replaced(bad: Any) -> None:
    _, reply, _ = build(START, *tool_block(0, "f", "{}", tool_id=bad), end("tool_use"), STOP)
    assert reply.tool_calls[0]["id"] == make_tool_id("s", 0)
    assert TOOL_ID.match(reply.tool_calls[0]["id"])
    assert reply.trustworthy


def test_repeated_tool_ids_become_different() -> None:
    _, reply, _ = build(START, *tool_block(0, "f", "{}"), *tool_block(1, "f", "{}"), end("tool_use"), STOP)
    assert [block["id"] for block in reply.tool_calls] == ["toolu_1", make_tool_id("s", 1)]


def test_tool_id_already_in_the_conversation_is_replaced() -> None:
    """Small servers count from zero in each reply."""
    _, reply, _ = build(START, *tool_block(0, "f", "{}", tool_id="call_0"), end("tool_use"), STOP, used=("call_0",))
    assert reply.tool_calls[0]["id"] == make_tool_id("s", 0)


def test_generated_ids_differ_between_requests_and_repeat_for_the_same() -> None:
    assert make_tool_id("a", 0) == make_tool_id("a", 0)
    assert len({make_tool_id("a", 0), make_tool_id("b", 0), make_tool_id("a", 1)}) == 3


@pytest.mark.parametrize("text", ["", " ", "\n\n"])
def test_empty_text_blocks_are_not_kept(text: str) -> None:
    """P6: the API refuses them."""
    _, reply, _ = build(START, *text_block(0, text), end(), STOP)
    assert (reply.content, reply.fault, reply.trustworthy) == ([], None, True)


def test_empty_content_is_a_whole_reply() -> None:
    _, reply, pieces = build(START, end(), STOP)
    assert (reply.content, reply.fault, pieces) == ([], None, [])


def test_thinking_without_signature_is_shown_but_not_kept() -> None:
    """Local servers have no signatures, and the API refuses a thinking block without one."""
    events = [
        {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}},
    ]
    _, reply, pieces = build(START, *events, *text_block(1, "x"), end(), STOP)
    assert pieces[0] == ThinkingPiece("hm", 0)
    assert reply.content == [{"type": "text", "text": "x"}]
    assert reply.dropped == ()


def test_redacted_thinking_is_kept() -> None:
    block = {"type": "redacted_thinking", "data": "xyz"}
    _, reply, _ = build(START, {"type": "content_block_start", "index": 0, "content_block": block}, end(), STOP)
    assert reply.content == [block]


def test_unknown_block_types_are_dropped_and_named() -> None:
    events = [
        {"type": "content_block_start", "index": 0, "content_block": {"type": "hologram", "data": 1}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "hologram_delta", "data": 2}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "not text"}},
        {"type": "content_block_stop", "index": 0},
    ]
    _, reply, pieces = build(START, *events, *text_block(1, "x"), end(), STOP)
    assert reply.content == [{"type": "text", "text": "x"}]
    assert reply.dropped == ("hologram",)
    assert reply.trustworthy
    assert pieces == [TextPiece("x", 1)]


def test_unknown_and_malformed_events_are_passed_over() -> None:
    odd = [
        {"type": "future_event"},
        {},
        {"type": "content_block_start", "index": 0, "content_block": None},
        {"type": "content_block_delta", "index": 0, "delta": None},
    ]
    odd += [
        {"type": "message_start", "message": None},
        {"type": "message_delta"},
        {"type": "content_block_delta", "index": 9, "delta": {"type": "input_json_delta"}},
    ]
    builder, reply, pieces = build(*odd)
    assert not builder.started
    assert (reply.content, pieces, reply.model) == ([], [], "asked")


def test_text_delta_without_a_block_start_opens_a_block() -> None:
    _, reply, _ = build({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hi"}}, end(), STOP)
    assert reply.content == [{"type": "text", "text": "hi"}]


def test_block_index_used_twice_gives_two_blocks() -> None:
    """llama.cpp miscounts indices when text begins after a tool call."""
    _, reply, _ = build(START, *text_block(0, "a"), *tool_block(0, "f", "{}"), end("tool_use"), STOP)
    assert [block["type"] for block in reply.content] == ["text", "tool_use"]


def test_usage_zeros_of_a_later_event_do_not_erase_what_was_measured() -> None:
    late = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"input_tokens": 0, "output_tokens": 3, "cache_read_input_tokens": None}}
    _, reply, _ = build(START, late, STOP)
    assert reply.usage == Usage(input=10, cache_read=5, cache_write=2, output=3)


def test_fault_of_the_stream_is_told_with_what_arrived() -> None:
    _, reply, _ = build(START, *text_block(0, "half"), *tool_block(1, "f", '{"a"'), fault="The line went dead.")
    assert reply.fault == "The line went dead. The input of the call to f is not valid JSON."
    assert reply.text == "half"


def test_complete_message_from_a_server_that_does_not_stream() -> None:
    builder = ReplyBuilder(model="asked")
    message = {"type": "message", "content": [{"type": "text", "text": "hi"}], "stop_reason": "end_turn", "usage": {"input_tokens": 1, "output_tokens": 2}}
    assert builder.whole(message) == [TextPiece("hi", 0)]
    assert builder.reply().trustworthy


def test_lone_surrogates_never_get_into_a_reply() -> None:
    """P6: they can neither be sent nor stored as UTF-8."""
    _, reply, _ = build(START, *text_block(0, "a\ud83d", "b"), *tool_block(1, "f", json.dumps({"k": "x\udc00"})), end("tool_use"), STOP)
    assert reply.text == "a\ufffdb"
    assert reply.tool_calls[0]["input"] == {"k": "x\ufffd"}


def test_surrogate_pairs_are_joined() -> None:
    assert clean_surrogates("\ud83d\ude00") == "😀"


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_events_are_decoded_however_the_bytes_are_cut(size: int, newline: str) -> None:
    stream = newline.join(
        [": ping", "", "event: a", 'data: {"é": "😀"}', "", "data: one", "data: two", "", "event: empty", "", "event:tight", "data:x", "", ""]
    )
    raw = stream.encode()
    decoder = EventDecoder()
    events = [event for start in range(0, len(raw), size) for event in decoder.feed(raw[start : start + size])]
    assert events == [("a", '{"é": "😀"}'), ("", "one\ntwo"), ("tight", "x")]


def test_event_without_its_closing_line_is_not_handed_out() -> None:
    assert EventDecoder().feed(b"event: a\ndata: {}\n") == []


def test_bytes_that_are_not_utf8_do_not_break_the_stream() -> None:
    assert EventDecoder().feed(b"data: \xff\n\n") == [("", "\ufffd")]


@pytest.mark.parametrize("absurd", [-5, 10**18, True, 1e18, "12", None])
def test_absurd_usage_measures_nothing(absurd: Any) -> None:
    """A4: one such number would look like a full window, or hide one."""
    start = {"type": "message_start", "message": {"model": "m-1", "usage": {"input_tokens": absurd, "cache_read_input_tokens": 5}}}
    delta = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": absurd}}
    _, reply, _ = build(start, *text_block(0, "hi"), delta, STOP)
    assert (reply.usage.input, reply.usage.cache_read, reply.usage.output) == (0, 5, 0)
