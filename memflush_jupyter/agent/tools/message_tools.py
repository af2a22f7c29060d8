"""``read_message``: the whole of a message that was shortened, compacted or said earlier."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from memflush_jupyter.agent.tools.base import ToolCall, ToolResult, text_result
from memflush_jupyter.errors import TraceError

if TYPE_CHECKING:
    from memflush_jupyter.trace.models import Message
    from memflush_jupyter.trace.store import TraceStore

PAGE_CHARS = 6000
"""Characters of one page of a long message."""


class ReadMessage:
    """Reads a message by ``(trace, sequence)``, page by page."""

    name = "read_message"
    description = "Read a shortened, compacted or earlier message in full, by its reference TRACE#SEQUENCE."
    approval = False
    parallel = True
    input_schema: dict[str, Any] = {  # noqa: RUF012 - a constant schema, never changed
        "type": "object",
        "properties": {
            "sequence": {"type": "integer"},
            "trace": {"type": "string", "description": "Leave out for this conversation."},
            "start": {"type": "integer", "description": "First character, for long messages."},
        },
        "required": ["sequence"],
    }

    def __init__(self, store: TraceStore, identity: str) -> None:
        self._store = store
        self._identity = identity

    async def run(self, input: dict[str, Any], call: ToolCall) -> ToolResult:  # noqa: A002 - protocol
        """Return the page; another identity's trace is as if it were not there."""
        trace = self._store.trace(input.get("trace") or call.trace)
        if trace.identity != self._identity:
            raise TraceError(f"There is no trace {input.get('trace')!r}.")
        message = self._store.message(trace.id, input["sequence"])
        text = whole_text(message)
        start = max(0, input.get("start") or 0)
        page = text[start : start + PAGE_CHARS]
        end = start + len(page)
        more = f"\n[characters {start:,}–{end:,} of {len(text):,}; go on with start={end}]" if end < len(text) else ""
        return text_result(f"[{trace.id[:8]}#{message.sequence} {message.role}]\n{page}{more}")


def whole_text(message: Message) -> str:
    """All that a message says, tool calls and results included, as text."""
    parts: list[str] = []
    for block in message.content:
        kind = block.get("type")
        if kind == "text":
            parts.append(block["text"])
        elif kind == "tool_use":
            parts.append(f"[call {block['name']}] {json.dumps(block['input'], ensure_ascii=False)}")
        elif kind == "tool_result":
            content = block.get("content", "")
            inner = content if isinstance(content, str) else "\n".join(piece.get("text", f"[{piece.get('type')}]") for piece in content)
            parts.append(f"[result] {inner}")
        elif kind in {"image", "document"}:
            parts.append(f"[{kind}]")
    return "\n".join(parts)
