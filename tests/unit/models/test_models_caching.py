"""Cache breakpoints: at most four, where the next request finds them, and never where the API refuses them."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from memflush_jupyter.models.caching import MAX_BREAKPOINTS, mark_last, mark_messages, mark_tools
from memflush_jupyter.models.endpoints import Endpoint
from memflush_jupyter.models.pieces import ModelRequest
from memflush_jupyter.models.request import build_body, encode, seed_of, tool_ids

MARK = {"type": "ephemeral"}
CLAUDE = Endpoint("anthropic/c", "anthropic", "https://api.anthropic.com", "c", "K")


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def user(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def request(messages: list[dict[str, Any]], tools: list[dict[str, Any]] | None = None, system: list[dict[str, Any]] | None = None) -> ModelRequest:
    return ModelRequest("anthropic/c", system or [], tools or [], messages, 100)


def marks(body: dict[str, Any]) -> list[str]:
    found = [f"tools.{i}" for i, tool in enumerate(body.get("tools", [])) if "cache_control" in tool]
    found += [f"system.{i}" for i, block in enumerate(body.get("system", [])) if "cache_control" in block]
    found += [f"messages.{i}.{j}" for i, m in enumerate(body["messages"]) for j, block in enumerate(m["content"]) if "cache_control" in block]
    return found


def test_breakpoints_stand_at_tools_system_previous_user_message_and_end() -> None:
    messages = [user(text("a")), assistant(text("b")), user(text("c"), text("d")), assistant(text("e")), user(text("f"))]
    body = build_body(request(messages, [{"name": "x"}, {"name": "y"}], [text("s1"), text("s2")]), CLAUDE)
    assert marks(body) == ["tools.1", "system.1", "messages.2.1", "messages.4.0"]


def test_nothing_of_the_request_is_changed() -> None:
    messages = [user(text("a")), assistant(text("b")), user(text("c"))]
    original = request(messages, [{"name": "x"}], [text("s")])
    before = copy.deepcopy(original)
    build_body(original, CLAUDE)
    assert original == before


def test_untouched_messages_are_shared_not_copied() -> None:
    """Turn 300 must not pay for a copy of the history."""
    messages = [user(text("a")), assistant(text("b")), user(text("c")), assistant(text("d")), user(text("e"))]
    marked = mark_messages(messages)
    assert marked[0] is messages[0]
    assert marked[1] is messages[1]
    assert marked[3] is messages[3]


def test_thinking_and_empty_text_are_never_marked() -> None:
    """The API refuses cache_control there."""
    thinking = {"type": "thinking", "thinking": "x", "signature": "s"}
    assert mark_last([text("a"), thinking, text("")]) == [{**text("a"), "cache_control": MARK}, thinking, text("")]
    assert mark_last([thinking]) is None
    assert mark_last([]) is None
    assert mark_tools([]) == []


def test_text_content_is_marked_as_a_block() -> None:
    assert mark_messages([{"role": "user", "content": "hi"}]) == [user({**text("hi"), "cache_control": MARK})]


def test_tool_results_are_marked() -> None:
    result = {"type": "tool_result", "tool_use_id": "t", "content": "x"}
    assert mark_messages([user(result)])[0]["content"] == [{**result, "cache_control": MARK}]


def test_endpoint_may_turn_breakpoints_off() -> None:
    plain = Endpoint("local/x", "local", "http://127.0.0.1:1", "x", cache=False)
    assert marks(build_body(request([user(text("a"))], [{"name": "x"}], [text("s")]), plain)) == []


def test_empty_parts_are_left_out_of_the_body() -> None:
    body = build_body(request([user(text("a"))], system=[text("  ")]), CLAUDE)
    assert set(body) == {"model", "max_tokens", "stream", "messages"}
    assert list(body)[-1] == "messages"


blocks = st.lists(st.sampled_from([text("a"), text(""), {"type": "thinking", "thinking": "x", "signature": "s"}]), min_size=1, max_size=3)


@given(st.lists(blocks, min_size=1, max_size=12), st.integers(0, 3), st.integers(0, 3))
def test_there_are_never_more_than_four(contents: list[list[dict[str, Any]]], tools: int, system: int) -> None:
    messages = [user(*content) if index % 2 == 0 else assistant(*content) for index, content in enumerate(contents)]
    body = build_body(request(messages, [{"name": str(i)} for i in range(tools)], [text("s")] * system), CLAUDE)
    assert len(marks(body)) <= MAX_BREAKPOINTS


def test_lone_surrogates_do_not_stop_a_request() -> None:
    """P6."""
    assert "a\ufffd".encode() in encode({"messages": [user(text("a\ud800"))]})
    assert "é😀".encode() in encode({"messages": [user(text("é😀"))]})


def test_seed_differs_between_requests_of_one_conversation() -> None:
    assert seed_of(b"a") == seed_of(b"a")
    assert len({seed_of(b"a"), seed_of(b"b"), seed_of(b"x" * 70_000), seed_of(b"x" * 70_001)}) == 4


def test_tool_ids_of_the_conversation_are_collected() -> None:
    call = {"type": "tool_use", "id": "t1", "name": "f", "input": {}}
    messages = [user(text("a")), assistant(text("b"), call), {"role": "assistant", "content": "plain"}]
    assert tool_ids(request(messages)) == {"t1"}
