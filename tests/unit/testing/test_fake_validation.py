"""The fake server refuses what the real API refuses (P6)."""

from __future__ import annotations

import base64
import copy
from typing import Any

import pytest

from memflush_jupyter.testing.refusals import RefusalError
from memflush_jupyter.testing.validation import check_body, check_headers

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"0" * 20).decode()
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
TOOL = {"name": "f", "description": "d", "input_schema": SCHEMA}


def text(value: str = "hi", **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": value, **more}


def call(tool_id: str = "t1", **more: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": tool_id, "name": "f", "input": {"a": 1}, **more}


def result(tool_id: str = "t1", content: Any = "ok", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": tool_id, "content": content, **more}


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def image(media_type: str = "image/png", data: str = PNG) -> dict[str, Any]:
    return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}


def body(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"model": "m", "max_tokens": 10, "messages": list(messages) or [user(text())], "tools": [copy.deepcopy(TOOL)], **more}


def refusal(request: Any) -> str:
    with pytest.raises(RefusalError) as caught:
        check_body(request)
    assert (caught.value.status, caught.value.kind) == (400, "invalid_request_error")
    return caught.value.message


VALID = {
    "text": body(user(text())),
    "string": body({"role": "user", "content": "hi"}),
    "system_blocks": body(user(text()), system=[text(cache_control={"type": "ephemeral", "ttl": "1h"})]),
    "system_string": body(user(text()), system="be brief"),
    "tool_round": body(user(text()), assistant(text(), call()), user(result(), text("and?"))),
    "parallel": body(user(text()), assistant(call("a"), call("b")), user(result("b"), result("a"))),
    "results_in_two_messages": body(user(text()), assistant(call("a"), call("b")), user(result("a")), user(result("b"))),
    "two_user_messages": body(user(text()), user(text())),
    "image": body(user(image(), text())),
    "image_result": body(user(text()), assistant(call()), user(result(content=[text(), image()]))),
    "error_result": body(user(text()), assistant(call()), user(result(content=[text("boom")], is_error=True))),
    "result_without_content": body(user(text()), assistant(call()), user({"type": "tool_result", "tool_use_id": "t1"})),
    "empty_result": body(user(text()), assistant(call()), user(result(content=""))),
    "prefill": body(user(text()), assistant(text("The answer is"))),
    "four_breakpoints": body(*[user(text(cache_control={"type": "ephemeral"}))] * 4),
    "stream": body(user(text()), stream=True),
    "tool_choice": body(user(text()), tool_choice={"type": "auto"}),
}


@pytest.mark.parametrize("name", VALID)
def test_valid_requests_are_admitted(name: str) -> None:
    check_body(VALID[name])


def test_neighbours_of_one_role_are_one_turn() -> None:
    turns = check_body(VALID["results_in_two_messages"])
    assert [(turn.index, turn.role, len(turn.content)) for turn in turns] == [(0, "user", 1), (1, "assistant", 2), (2, "user", 2)]


@pytest.mark.parametrize("name", ["temperature", "top_p", "top_k", "n", "purpose"])
def test_unknown_parameters_are_refused(name: str) -> None:
    assert refusal(body(user(text()), **{name: 1})) == f"{name}: Extra inputs are not permitted"


@pytest.mark.parametrize("name", ["model", "max_tokens", "messages"])
def test_required_parameters_are_required(name: str) -> None:
    request = body()
    del request[name]
    assert refusal(request) == f"{name}: Field required"


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"max_tokens": 0}, "max_tokens: Input should be greater than or equal to 1"),
        ({"max_tokens": "10"}, "max_tokens: Input should be a valid integer"),
        ({"max_tokens": True}, "max_tokens: Input should be a valid integer"),
        ({"model": ""}, "model: String should have"),
        ({"stream": "yes"}, "stream: Input should be a valid boolean"),
        ({"system": " "}, "system: text content blocks must contain non-whitespace text"),
        ({"system": [text("")]}, "system.0.text: text content blocks must be non-empty"),
        ({"system": [image()]}, "system.0: Input tag 'image'"),
        ({"system": 3}, "system: Input should be a valid list"),
        ({"messages": []}, "messages: at least one message is required"),
        ({"messages": "hi"}, "messages: at least one message is required"),
        ({"tools": [{**TOOL, "name": "two words"}]}, "tools.0.custom.name: String should match pattern"),
        ({"tools": [{**TOOL, "name": "x" * 129}]}, "tools.0.custom.name: String should match pattern"),
        ({"tools": [TOOL, TOOL]}, "tools: Tool names must be unique."),
        ({"tools": [{"name": "f"}]}, "tools.0.custom.input_schema: Field required"),
        ({"tools": [{**TOOL, "input_schema": {"properties": {}}}]}, "tools.0.custom.input_schema.type: Input should be 'object'"),
        ({"tools": [{**TOOL, "input_schema": {"type": "object", "properties": {"a": {"type": "integr"}}}}]}, "JSON schema is invalid"),
        ({"tools": [{**TOOL, "input_schema": {"type": "object", "properties": {"a b": {}}}}]}, "Property keys should match pattern"),
        ({"tools": [{**TOOL, "input_schema": {**SCHEMA, "anyOf": []}}]}, "does not support oneOf, allOf, or anyOf"),
        ({"tools": [{**TOOL, "approval": True}]}, "tools.0.custom.approval: Extra inputs are not permitted"),
        ({"tools": {}}, "tools: Input should be a valid list"),
        ({"tool_choice": {"type": "tool", "name": "g"}}, "Tool 'g' not found"),
        ({"tool_choice": {"type": "sometimes"}}, "tool_choice: Input tag"),
        ({"tool_choice": {"type": "any"}, "tools": []}, "tool_choice may only be specified while providing tools"),
    ],
)
def test_parameters_with_impossible_values_are_refused(more: dict[str, Any], words: str) -> None:
    assert words in refusal(body(user(text()), **more))


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        ([assistant(text())], 'first message must use the "user" role'),
        ([{"role": "system", "content": "x"}], "messages.0.role: Input should be 'user' or 'assistant'"),
        ([user()], "messages.0: all messages must have non-empty content"),
        ([{"role": "user", "content": ""}], "messages.0: all messages must have non-empty content"),
        ([user(text()), assistant(), user(text())], "messages.1: all messages must have non-empty content"),
        ([{**user(text()), "id": 1}], "messages.0.id: Extra inputs are not permitted"),
        (["hi"], "messages.0: Input should be a valid dictionary"),
        ([user("hi")], "messages.0.content.0: Input should be a valid dictionary"),
        ([user(text(""))], "messages.0.content.0.text: text content blocks must be non-empty"),
        ([user(text(" \n"))], "messages.0.content.0.text: text content blocks must contain non-whitespace text"),
        ([user(text(cell=1))], "messages.0.content.0.text.cell: Extra inputs are not permitted"),
        ([user({"type": "text"})], "messages.0.content.0.text.text: Field required"),
        ([user({"type": "video"})], "messages.0.content.0: Input tag 'video'"),
        ([user(text()), assistant(image())], "messages.1.content.0: Input tag 'image'"),
        ([user(call())], "`tool_use` blocks can only be in `assistant` messages"),
        ([user(text()), assistant(result())], "`tool_result` blocks can only be in `user` messages"),
        ([user(text()), assistant(text("so "))], "final assistant content cannot end with trailing whitespace"),
        ([user(text("", cache_control={"type": "ephemeral"}))], "cache_control cannot be set for empty text blocks"),
        ([user(text(cache_control={"type": "forever"}))], "cache_control.type: Input should be 'ephemeral'"),
        ([user(text(cache_control={"type": "ephemeral", "ttl": "2d"}))], "cache_control.ttl"),
        ([user(text(cache_control={"type": "ephemeral"}))] * 5, "A maximum of 4 blocks with cache_control may be provided. Found 5."),
    ],
)
def test_messages_that_cannot_be_are_refused(messages: list[Any], words: str) -> None:
    assert words in refusal(body(*messages))


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        ([user(text()), assistant(call())], "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: t1."),
        ([user(text()), assistant(call()), user(text())], "`tool_use` ids were found without `tool_result` blocks immediately after: t1."),
        ([user(text()), assistant(call("a"), call("b")), user(result("a"))], "immediately after: b."),
        ([user(text()), assistant(call()), user(text(), result())], "`tool_use` ids were found without `tool_result` blocks immediately after"),
        ([user(text()), assistant(call()), user(result("t1"), text(), result("t1"))], "Found multiple `tool_result` blocks with id: t1"),
        ([user(result())], "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: t1."),
        ([user(text()), assistant(call()), user(result(), result("t2"))], "unexpected `tool_use_id` found in `tool_result` blocks: t2."),
        ([user(text()), assistant(call()), user(result()), assistant(call()), user(result())], "messages.3: `tool_use` ids must be unique"),
        ([user(text()), assistant(call("a b")), user(result())], "messages.1.content.0.tool_use.id: String should match pattern"),
        ([user(text()), assistant(call(name="a b")), user(result())], "messages.1.content.0.tool_use.name: String should match pattern"),
        ([user(text()), assistant(call(input="{}")), user(result())], "messages.1.content.0.tool_use.input: Input should be a valid dictionary"),
        ([user(text()), assistant(call()), user(result(content=[text("")]))], "content.0.text: text content blocks must be non-empty"),
        ([user(text()), assistant(call()), user(result(content=[call("z")]))], "Input tag 'tool_use'"),
        ([user(text()), assistant(call()), user(result(content=[image()], is_error=True))], 'all content must be type "text" if `is_error` is true'),
        ([user(text()), assistant(call()), user(result(content=3))], "tool_result.content: Input should be a valid list"),
        ([user(text()), assistant(call()), user(result(name="f"))], "tool_result.name: Extra inputs are not permitted"),
    ],
)
def test_broken_pairs_of_call_and_result_are_refused(messages: list[Any], words: str) -> None:
    assert words in refusal(body(*messages))


def test_conversation_with_calls_must_define_tools() -> None:
    request = body(user(text()), assistant(call()), user(result()))
    del request["tools"]
    assert refusal(request) == "Requests which include `tool_use` or `tool_result` blocks must define tools."


@pytest.mark.parametrize(
    ("block", "words"),
    [
        (image("image/bmp"), "Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'"),
        (image(data="%%%"), "invalid base64 data"),
        (image(data=""), "Field required"),
        (image("image/jpeg"), "specified using the image/jpeg media type"),
        ({"type": "image", "source": {"type": "path", "path": "x"}}, "image.source: Input tag"),
        ({"type": "image"}, "image.source: Field required"),
        (image(data=base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"0" * (5 * 1024 * 1024)).decode()), "image exceeds 5 MB maximum"),
        ({"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": PNG}}, "The PDF specified was not valid."),
    ],
)
def test_images_and_documents_that_are_not_what_they_say_are_refused(block: dict[str, Any], words: str) -> None:
    assert words in refusal(body(user(block)))


@pytest.mark.parametrize(
    ("block", "words"),
    [
        ({"type": "thinking", "thinking": "x"}, "thinking.signature: Field required"),
        ({"type": "thinking", "thinking": "x", "signature": ""}, "Invalid `signature` in `thinking` block"),
        (
            {"type": "thinking", "thinking": "x", "signature": "s", "cache_control": {"type": "ephemeral"}},
            "thinking.cache_control: Extra inputs are not permitted",
        ),
    ],
)
def test_thinking_needs_its_signature_and_takes_no_breakpoint(block: dict[str, Any], words: str) -> None:
    assert words in refusal(body(user(text()), assistant(block, text("x")), user(text())))


@pytest.mark.parametrize(
    ("headers", "keys", "status", "words"),
    [
        ({"anthropic-version": "1"}, None, 401, "x-api-key header is required"),
        ({"anthropic-version": "1", "authorization": "Bearer "}, None, 401, "x-api-key header is required"),
        ({"anthropic-version": "1", "authorization": "Bearer wrong"}, frozenset({"right"}), 401, "invalid x-api-key"),
        ({"authorization": "Bearer right"}, frozenset({"right"}), 400, "anthropic-version: header is required"),
    ],
)
def test_headers_are_checked(headers: dict[str, str], keys: frozenset[str] | None, status: int, words: str) -> None:
    with pytest.raises(RefusalError, match=words) as caught:
        check_headers(headers, keys=keys)
    assert caught.value.status == status


@pytest.mark.parametrize("headers", [{"x-api-key": "right"}, {"authorization": "Bearer right"}])
def test_key_is_taken_from_either_header(headers: dict[str, str]) -> None:
    check_headers({**headers, "anthropic-version": "1"}, keys=frozenset({"right"}))
