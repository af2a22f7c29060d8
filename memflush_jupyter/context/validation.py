"""What the Messages API refuses (P6), checked before a request leaves. ``to_wire`` never produces any of it; tests hold it to that."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memflush_jupyter.trace.models import Block, WireMessage

_ID = re.compile(r"[a-zA-Z0-9_-]+")
_THINKING = frozenset({"thinking", "redacted_thinking"})
_SPEAKER = {"tool_use": "assistant", "thinking": "assistant", "redacted_thinking": "assistant", "tool_result": "user"}


def validate(wire: Sequence[WireMessage], *, to_send: bool = True) -> list[str]:
    """List what is wrong with the messages of a request, one sentence each; an empty list means valid.

    ``to_send``: the request must also end with the user's message, and leave no call unanswered.
    """
    faults: list[str] = []
    if not wire:
        return ["there is no message"] if to_send else []
    if wire[0]["role"] != "user":
        faults.append("message 0: the first message must be the user's")
    if to_send and wire[-1]["role"] != "user":
        faults.append(f"message {len(wire) - 1}: the last message must be the user's")
    seen: set[str] = set()
    calls: list[str] = []
    for index, message in enumerate(wire):
        role, content = message["role"], message["content"]
        blocks: list[Block] = [{"type": "text", "text": content}] if isinstance(content, str) else content
        problems = list(_content(role, blocks))
        if index and wire[index - 1]["role"] == role:
            problems.append(f"two neighbouring messages have the role {role}")
        if role == "user":
            problems += _answers(blocks, calls)
            calls = []
        else:
            if calls:
                problems.append("the calls before it were not answered")
            calls = [str(block.get("id", "")) for block in blocks if block.get("type") == "tool_use"]
            problems += _ids(calls, seen)
        faults += [f"message {index}: {problem}" for problem in problems]
    if to_send and calls:
        faults.append("the last calls are not answered")
    return faults


def _content(role: str, blocks: Sequence[Block]) -> Iterator[str]:
    if role not in {"user", "assistant"}:
        yield f"{role!r} is not a role"
    if not blocks:
        yield "the content is empty"
    for block in blocks:
        kind = str(block.get("type"))
        if kind == "text" and not (block.get("text") or "").strip():
            yield "a text block is empty"
        if _SPEAKER.get(kind, role) != role:
            yield f"a {kind} stands in a message of the {role}"
        if kind == "tool_use" and not isinstance(block.get("input"), dict):
            yield "the input of a tool_use is not an object"
        if kind == "tool_result":
            yield from _result(block)
    if blocks and blocks[-1].get("type") in _THINKING:
        yield "the last block is thinking"


def _result(block: Block) -> Iterator[str]:
    content = block.get("content")
    parts: list[Block] = content if isinstance(content, list) else []
    if any(part.get("type") == "text" and not (part.get("text") or "").strip() for part in parts):
        yield "a tool_result holds an empty text block"
    if block.get("is_error"):
        if not content or (isinstance(content, str) and not content.strip()):
            yield "an error tool_result has no content"
        if any(part.get("type") != "text" for part in parts):
            yield "an error tool_result holds something that is not text"


def _answers(blocks: Sequence[Block], calls: list[str]) -> Iterator[str]:
    results = [str(block.get("tool_use_id", "")) for block in blocks if block.get("type") == "tool_result"]
    first = [block.get("type") == "tool_result" for block in blocks[: len(results)]]
    if not all(first):
        yield "tool_results must come before anything else"
    for call in calls:
        if call not in results:
            yield f"the call {call} has no tool_result"
    for position, result in enumerate(results):
        if result not in calls:
            yield f"the tool_result {result} answers no call of the message before"
        elif result in results[:position]:
            yield f"the call {result} is answered twice"


def _ids(calls: Sequence[str], seen: set[str]) -> Iterator[str]:
    for call in calls:
        if not _ID.fullmatch(call):
            yield f"the tool_use id {call!r} has characters that are not allowed"
        if call in seen:
            yield f"the tool_use id {call} is used twice"
        seen.add(call)
