"""Where the prompt cache is told to remember a prefix: at most four ``cache_control`` breakpoints.

The provider caches the prefix up to each breakpoint and finds an earlier entry only within the 20 blocks before one. So there
is one at the end of the tools and one at the end of the system prompt (both survive when the conversation is compacted), one
at the end of the last message, and one at the end of the user message before it: that is where the previous request of
the same conversation put its last one, so it is found however many parallel results came since.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memflush_jupyter.trace.models import Block, WireMessage

MAX_BREAKPOINTS = 4

_EPHEMERAL = {"type": "ephemeral"}
_CACHEABLE = frozenset({"text", "image", "document", "tool_use", "tool_result"})


def mark_last(blocks: Sequence[Block]) -> list[Block] | None:
    """Return the blocks with a breakpoint on the last one that may carry it, sharing all others; ``None`` if there is none.

    Thinking blocks and empty texts may not be marked.
    """
    for position in range(len(blocks) - 1, -1, -1):
        block = blocks[position]
        if block.get("type", "text") in _CACHEABLE and (block.get("type") != "text" or block.get("text")):
            return [*blocks[:position], {**block, "cache_control": _EPHEMERAL}, *blocks[position + 1 :]]
    return None


def mark_tools(tools: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the tools with a breakpoint on the last."""
    return [*tools[:-1], {**tools[-1], "cache_control": _EPHEMERAL}] if tools else []


def mark_messages(messages: Sequence[WireMessage]) -> list[WireMessage]:
    """Return the messages with breakpoints on the last message and on the user message before it. Nothing is changed in place."""
    marked = list(messages)
    wanted = {len(messages) - 1, *_previous_user(messages)}
    for position in wanted:
        if position < 0:
            continue
        content = messages[position]["content"]
        blocks = mark_last([{"type": "text", "text": content}] if isinstance(content, str) else content)
        if blocks is not None:
            marked[position] = {**messages[position], "content": blocks}
    return marked


def _previous_user(messages: Sequence[WireMessage]) -> list[int]:
    for position in range(len(messages) - 2, -1, -1):
        if messages[position]["role"] == "user":
            return [position]
    return []
