"""What the Messages API refuses, rule by rule, as its documentation and its error answers state it.

The wording follows the API's own, since clients read it. Everything is pure: a decoded body in, a :class:`RefusalError` out.
"""

from __future__ import annotations

import importlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memflush_jupyter.testing import blocks
from memflush_jupyter.testing.refusals import RefusalError

if TYPE_CHECKING:
    from collections.abc import Mapping

PARAMETERS = frozenset({
    "model", "messages", "max_tokens", "cache_control", "container", "diagnostics", "inference_geo", "metadata", "output_config",
    "service_tier", "speed", "stop_sequences", "stream", "system", "thinking", "tool_choice", "tools",
})  # fmt: skip
MAX_MESSAGES = 100_000
MAX_CACHE_BREAKPOINTS = 4

_TOOL_KEYS = frozenset({
    "name", "description", "input_schema", "cache_control", "type", "allowed_callers", "defer_loading", "eager_input_streaming", "input_examples", "strict",
})  # fmt: skip
_TOOL_NAME = re.compile(r"^[a-zA-Z0-9_-]{1,128}$")
_PROPERTY = re.compile(r"^[a-zA-Z0-9_.-]{1,64}$")


@dataclass(frozen=True)
class Turn:
    """Neighbouring messages of one role, which the API reads as one. ``index`` is that of the first of them."""

    index: int
    role: str
    content: list[dict[str, Any]]


def check_headers(headers: Mapping[str, str], *, keys: frozenset[str] | None) -> None:
    """Check what every request needs. ``keys``: the accepted ones; ``None`` accepts any that is not empty."""
    key = headers.get("x-api-key") or headers.get("authorization", "").removeprefix("Bearer ").strip()
    if not key:
        raise RefusalError("x-api-key header is required", status=401, kind="authentication_error")
    if keys is not None and key not in keys:
        raise RefusalError("invalid x-api-key", status=401, kind="authentication_error")
    if not headers.get("anthropic-version"):
        raise RefusalError("anthropic-version: header is required")


def check_body(body: Any, *, counting: bool = False) -> list[Turn]:
    """Check a whole request and return its turns. ``counting``: the count_tokens endpoint, which takes no ``max_tokens``.

    Raises:
        RefusalError: the first rule that is broken.
    """
    if not isinstance(body, dict):
        raise RefusalError("The request body must be a JSON object")
    for name in body:
        if name not in PARAMETERS or (counting and name in {"max_tokens", "stream"}):
            raise RefusalError(f"{name}: Extra inputs are not permitted")
    for name in ("model", "messages") if counting else ("model", "max_tokens", "messages"):
        if name not in body:
            raise RefusalError(f"{name}: Field required")
    if not isinstance(body["model"], str) or not body["model"]:
        raise RefusalError("model: String should have at least 1 character")
    if not counting:
        _check_max_tokens(body["max_tokens"])
    if not isinstance(body.get("stream", False), bool):
        raise RefusalError("stream: Input should be a valid boolean")
    _check_system(body.get("system"))
    names = _check_tools(body.get("tools"))
    _check_tool_choice(body.get("tool_choice"), names)
    turns = _turns(body["messages"])
    check_conversation(turns, tools=bool(names))
    _check_breakpoints(body)
    return turns


def _check_max_tokens(value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise RefusalError("max_tokens: Input should be a valid integer")
    if value < 1:
        raise RefusalError("max_tokens: Input should be greater than or equal to 1")


def _check_system(system: Any) -> None:
    if system is None:
        return
    if isinstance(system, str):
        if system and not system.strip():
            raise RefusalError("system: text content blocks must contain non-whitespace text")
        return
    if not isinstance(system, list):
        raise RefusalError("system: Input should be a valid list")
    for index, block in enumerate(system):
        blocks.check(block, f"system.{index}", allowed=frozenset({"text"}))


def _check_tools(tools: Any) -> set[str]:
    if tools is None:
        return set()
    if not isinstance(tools, list):
        raise RefusalError("tools: Input should be a valid list")
    names: set[str] = set()
    for index, tool in enumerate(tools):
        where = f"tools.{index}.custom"
        if not isinstance(tool, dict):
            raise RefusalError(f"tools.{index}: Input should be a valid dictionary")
        name = tool.get("name")
        if not isinstance(name, str) or not _TOOL_NAME.match(name):
            raise RefusalError(f"{where}.name: String should match pattern '{_TOOL_NAME.pattern}'")
        if name in names:
            raise RefusalError("tools: Tool names must be unique.")
        names.add(name)
        extra = sorted(set(tool) - _TOOL_KEYS)
        if extra:
            raise RefusalError(f"{where}.{extra[0]}: Extra inputs are not permitted")
        if not isinstance(tool.get("description", ""), str):
            raise RefusalError(f"{where}.description: Input should be a valid string")
        _check_schema(tool.get("input_schema"), f"{where}.input_schema")
        blocks.check_cache_control(tool, where)
    return names


def _check_schema(schema: Any, where: str) -> None:
    jsonschema: Any = importlib.import_module("jsonschema")
    if not isinstance(schema, dict):
        raise RefusalError(f"{where}: Field required")
    if schema.get("type") != "object":
        raise RefusalError(f"{where}.type: Input should be 'object'")
    if {"oneOf", "allOf", "anyOf"} & set(schema):
        raise RefusalError(f"{where}: input_schema does not support oneOf, allOf, or anyOf at the top level")
    try:
        jsonschema.Draft202012Validator.check_schema(schema)
    except jsonschema.SchemaError as error:
        raise RefusalError(f"{where}: JSON schema is invalid. It must match JSON Schema draft 2020-12: {error.message}") from error
    for name in schema.get("properties", {}):
        if not _PROPERTY.match(name):
            raise RefusalError(f"{where}.properties: Property keys should match pattern '{_PROPERTY.pattern}'")


def _check_tool_choice(choice: Any, names: set[str]) -> None:
    if choice is None:
        return
    if not names:
        raise RefusalError("tool_choice: tool_choice may only be specified while providing tools")
    kind = choice.get("type") if isinstance(choice, dict) else None
    if kind not in {"auto", "any", "tool", "none"}:
        raise RefusalError("tool_choice: Input tag does not match any of the expected tags: 'auto', 'any', 'tool', 'none'")
    if kind == "tool" and choice.get("name") not in names:
        raise RefusalError(f"tool_choice.tool.name: Tool '{choice.get('name')}' not found in provided tools")


def _turns(messages: Any) -> list[Turn]:
    if not isinstance(messages, list) or not messages:
        raise RefusalError("messages: at least one message is required")
    if len(messages) > MAX_MESSAGES:
        raise RefusalError(f"messages: List should have at most {MAX_MESSAGES} items")
    turns: list[Turn] = []
    for index, message in enumerate(messages):
        content = _message(message, index, last=index == len(messages) - 1)
        if turns and turns[-1].role == message["role"]:
            turns[-1].content.extend(content)
        else:
            turns.append(Turn(index, message["role"], list(content)))
    if turns[0].role != "user":
        raise RefusalError('messages: first message must use the "user" role')
    return turns


def _message(message: Any, index: int, *, last: bool) -> list[dict[str, Any]]:
    where = f"messages.{index}"
    if not isinstance(message, dict):
        raise RefusalError(f"{where}: Input should be a valid dictionary")
    role = message.get("role")
    if role not in {"user", "assistant"}:
        raise RefusalError(f"{where}.role: Input should be 'user' or 'assistant'")
    extra = sorted(set(message) - {"role", "content"})
    if extra:
        raise RefusalError(f"{where}.{extra[0]}: Extra inputs are not permitted")
    content = message.get("content")
    if isinstance(content, str):
        content = [{"type": "text", "text": content}] if content else []
    if not isinstance(content, list):
        raise RefusalError(f"{where}.content: Input should be a valid list")
    if not content and not (last and role == "assistant"):
        raise RefusalError(f"{where}: all messages must have non-empty content except for the optional final assistant message")
    for position, block in enumerate(content):
        blocks.check(block, f"{where}.content.{position}", allowed=blocks.USER_TYPES if role == "user" else blocks.ASSISTANT_TYPES)
    return content


def check_conversation(turns: list[Turn], *, tools: bool) -> None:
    """Check what holds between turns: tool calls and their results, and how the conversation ends."""
    seen: set[str] = set()
    for position, turn in enumerate(turns):
        if turn.role == "assistant":
            _check_calls(turn, turns[position + 1] if position + 1 < len(turns) else None, seen, tools=tools)
        else:
            _check_results(turn, turns[position - 1] if position else None, tools=tools)
    final = turns[-1]
    if (
        final.role == "assistant"
        and final.content
        and final.content[-1].get("type") == "text"
        and final.content[-1]["text"] != final.content[-1]["text"].rstrip()
    ):
        raise RefusalError("messages: final assistant content cannot end with trailing whitespace")


def _check_calls(turn: Turn, following: Turn | None, seen: set[str], *, tools: bool) -> None:
    ids = [block["id"] for block in turn.content if block["type"] == "tool_use"]
    if ids and not tools:
        raise RefusalError("Requests which include `tool_use` or `tool_result` blocks must define tools.")
    for tool_id in ids:
        if tool_id in seen:
            raise RefusalError(f"messages.{turn.index}: `tool_use` ids must be unique. Found {tool_id} more than once.")
        seen.add(tool_id)
    leading = _leading_results(following)
    missing = [tool_id for tool_id in ids if tool_id not in leading]
    if missing:
        raise RefusalError(
            f"messages.{turn.index}: `tool_use` ids were found without `tool_result` blocks immediately after: {', '.join(missing)}. "
            "Each `tool_use` block must have a corresponding `tool_result` block in the next message."
        )


def _leading_results(turn: Turn | None) -> list[str]:
    ids: list[str] = []
    for block in turn.content if turn is not None else []:
        if block["type"] != "tool_result":
            break
        ids.append(block["tool_use_id"])
    return ids


def _check_results(turn: Turn, before: Turn | None, *, tools: bool) -> None:
    calls = {block["id"] for block in before.content if block["type"] == "tool_use"} if before is not None else set()
    answered: set[str] = set()
    others = False
    for position, block in enumerate(turn.content):
        if block["type"] != "tool_result":
            others = True
            continue
        where = f"messages.{turn.index}.content.{position}"
        if not tools:
            raise RefusalError("Requests which include `tool_use` or `tool_result` blocks must define tools.")
        tool_id = block["tool_use_id"]
        if tool_id not in calls:
            raise RefusalError(
                f"{where}: unexpected `tool_use_id` found in `tool_result` blocks: {tool_id}. "
                "Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
            )
        if tool_id in answered:
            raise RefusalError(f"{where}: each tool_use must have a single result. Found multiple `tool_result` blocks with id: {tool_id}")
        if others:
            raise RefusalError(f"{where}: `tool_result` blocks must come first in the content of the message")
        answered.add(tool_id)


def _check_breakpoints(body: dict[str, Any]) -> None:
    found = sum("cache_control" in block and block["cache_control"] is not None for block in _marked(body))
    if found > MAX_CACHE_BREAKPOINTS:
        raise RefusalError(f"A maximum of {MAX_CACHE_BREAKPOINTS} blocks with cache_control may be provided. Found {found}.")


def _marked(body: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [*(body.get("tools") or [])]
    if isinstance(body.get("system"), list):
        found += body["system"]
    for message in body["messages"]:
        for block in message["content"] if isinstance(message["content"], list) else []:
            found.append(block)
            if isinstance(block.get("content"), list):
                found += block["content"]
    return found
