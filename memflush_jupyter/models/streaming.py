"""A streamed reply, put together event by event, and judged at the end (D11).

Pure: dictionaries in, pieces and a reply out. It trusts nothing that a server may leave half-done: a stream that ends
without ``message_stop``, a missing stop reason, tool input that is not a JSON object, missing or repeated tool ids, blocks of
an unknown kind. Truncated tool JSON can parse as a smaller call (``123456`` becomes ``123``), so whether a call may run is
decided on the whole reply, never on the call.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from memflush_jupyter.models import strict_json
from memflush_jupyter.models.pieces import ModelReply, TextPiece, ThinkingPiece, ToolPiece
from memflush_jupyter.trace.models import Block, Usage

if TYPE_CHECKING:
    from collections.abc import Iterable

KEPT_TYPES = frozenset({"text", "tool_use", "thinking", "redacted_thinking"})
"""Block types that are kept and sent back. Others belong to features this package never asks for."""

TOOL_ID = re.compile(r"^[a-zA-Z0-9_-]{1,64}$")
TOOL_NAME = re.compile(r"^[a-zA-Z0-9_-]{1,128}$")

CUT = "The reply was cut off: the server closed the stream before the message was complete."
NO_STOP = "The reply has no stop reason, so it may be incomplete."

MOST_TOKENS = 20_000_000
"""No request has more: what a server reports beyond it, or below zero, measures nothing, and the estimate counts."""


@dataclass
class _Open:
    """One block while it arrives."""

    index: int
    type: str
    start: dict[str, Any]
    parts: list[str] = field(default_factory=list)
    signature: str = ""


def make_tool_id(seed: str, position: int) -> str:
    """Return an id for a tool call that came without a usable one; the same reply to the same request gets the same id."""
    digest = hashlib.sha256(f"{seed}\x1f{position}".encode("utf-8", "replace")).hexdigest()
    return f"toolu_{digest[:24]}"


class ReplyBuilder:
    """Collects the events of one stream. ``seed`` makes generated tool ids unique to the request."""

    def __init__(self, *, model: str, seed: str = "") -> None:
        self._model = model
        self._seed = seed
        self._blocks: list[_Open] = []
        self._current: dict[int, _Open] = {}
        self._usage: dict[str, int] = {}
        self._stop_reason: str | None = None
        self._complete = False
        self._faults: list[str] = []

    @property
    def started(self) -> bool:
        """Whether any content arrived: from then on the request is not tried again."""
        return bool(self._blocks)

    @property
    def complete(self) -> bool:
        """Whether ``message_stop`` arrived."""
        return self._complete

    def feed(self, event: dict[str, Any]) -> list[TextPiece | ThinkingPiece | ToolPiece]:
        """Take one decoded event; return what of it can be shown at once. Unknown events are passed over."""
        kind = event.get("type")
        if kind == "message_start":
            self._start(event.get("message"))
        elif kind == "content_block_start":
            return self._open(_integer(event.get("index")), event.get("content_block"))
        elif kind == "content_block_delta":
            return self._delta(_integer(event.get("index")), event.get("delta"))
        elif kind == "content_block_stop":
            self._current.pop(_integer(event.get("index")), None)
        elif kind == "message_delta":
            self._message_delta(event)
        elif kind == "message_stop":
            self._complete = True
        return []

    def whole(self, message: dict[str, Any]) -> list[TextPiece | ThinkingPiece | ToolPiece]:
        """Take a complete message, from a server that does not stream."""
        self._start(message)
        pieces: list[TextPiece | ThinkingPiece | ToolPiece] = []
        content = message.get("content")
        for index, block in enumerate(content if isinstance(content, list) else []):
            pieces += self._open(index, block)
            self._current.pop(index, None)
        reason = message.get("stop_reason")
        self._stop_reason = reason if isinstance(reason, str) else None
        self._complete = True
        return pieces

    @property
    def has_tool_calls(self) -> bool:
        """Whether a tool call began to arrive."""
        return any(block.type == "tool_use" for block in self._blocks)

    def reply(self, fault: str | None = None, *, used_ids: Iterable[str] = ()) -> ModelReply:
        """Close the message.

        ``fault`` is what ended the stream early, if something did; ``used_ids`` are the tool ids the conversation already has:
        small servers count from zero in each reply, and the API refuses an id that occurs twice.
        """
        content: list[Block] = []
        dropped: list[str] = []
        seen = set(used_ids)
        for position, block in enumerate(self._blocks):
            finished = self._finish(block, position, seen)
            if finished is not None:
                content.append(finished)
            elif block.type not in KEPT_TYPES:
                dropped.append(block.type)
        faults = [fault] if fault else [] if self._complete else [CUT]
        if not faults and self._stop_reason is None:
            faults.append(NO_STOP)
        faults += self._faults
        return ModelReply(content, self._stop_reason, self._measured(), self._model, " ".join(faults) or None, dropped=tuple(dropped))

    # -- events --------------------------------------------------------------------------------------------------------

    def _start(self, message: Any) -> None:
        if isinstance(message, dict):
            self._count(message.get("usage"))
            model = message.get("model")
            if isinstance(model, str) and model:
                self._model = model

    def _open(self, index: int, start: Any) -> list[TextPiece | ThinkingPiece | ToolPiece]:
        if not isinstance(start, dict):
            return []
        kind = str(start.get("type", ""))
        block = _Open(index, kind, start)
        self._blocks.append(block)
        self._current[index] = block
        if kind == "tool_use":
            name = start.get("name")
            return [ToolPiece(index, name if isinstance(name, str) else None)]
        if kind == "text":
            return self._text(block, start.get("text"))
        if kind == "thinking":
            signature = start.get("signature")
            block.signature = signature if isinstance(signature, str) else ""
            return self._thinking(block, start.get("thinking"))
        return []

    def _delta(self, index: int, delta: Any) -> list[TextPiece | ThinkingPiece | ToolPiece]:
        if not isinstance(delta, dict):
            return []
        kind = delta.get("type")
        block = self._current.get(index)
        if block is None:
            implied = {"text_delta": "text", "thinking_delta": "thinking"}.get(str(kind))
            if implied is None:
                return []
            block = _Open(index, implied, {})
            self._blocks.append(block)
            self._current[index] = block
        if kind == "text_delta":
            return self._text(block, delta.get("text"))
        if kind == "thinking_delta":
            return self._thinking(block, delta.get("thinking"))
        if kind == "signature_delta":
            block.signature += str(delta.get("signature") or "")
        elif kind == "input_json_delta":
            block.parts.append(str(delta.get("partial_json") or ""))
        return []

    @staticmethod
    def _text(block: _Open, text: Any) -> list[TextPiece | ThinkingPiece | ToolPiece]:
        if not isinstance(text, str) or not text or block.type != "text":
            return []
        block.parts.append(text)
        return [TextPiece(clean_surrogates(text), block.index)]

    @staticmethod
    def _thinking(block: _Open, text: Any) -> list[TextPiece | ThinkingPiece | ToolPiece]:
        if not isinstance(text, str) or not text or block.type != "thinking":
            return []
        block.parts.append(text)
        return [ThinkingPiece(clean_surrogates(text), block.index)]

    def _message_delta(self, event: dict[str, Any]) -> None:
        self._count(event.get("usage"))
        delta = event.get("delta")
        reason = delta.get("stop_reason") if isinstance(delta, dict) else None
        if isinstance(reason, str) and reason:
            self._stop_reason = reason

    def _count(self, usage: Any) -> None:
        if not isinstance(usage, dict):
            return
        for name, value in usage.items():
            # Usage in a message_delta is cumulative; servers that only know part of it send zeros for the rest.
            if type(value) is int and 0 <= value <= MOST_TOKENS and (value or name not in self._usage):
                self._usage[name] = value

    def _measured(self) -> Usage:
        count = self._usage.get
        return Usage(count("input_tokens", 0), count("cache_read_input_tokens", 0), count("cache_creation_input_tokens", 0), count("output_tokens", 0))

    # -- blocks --------------------------------------------------------------------------------------------------------

    def _finish(self, block: _Open, position: int, seen: set[str]) -> Block | None:
        if block.type == "text":
            text = clean_surrogates("".join(block.parts))
            return {"type": "text", "text": text} if text.strip() else None
        if block.type == "thinking":
            # Without its signature the API refuses the block, and local servers have none: it was shown, it is not kept.
            thought = clean_surrogates("".join(block.parts))
            return {"type": "thinking", "thinking": thought, "signature": block.signature} if block.signature else None
        if block.type == "redacted_thinking":
            return {"type": "redacted_thinking", "data": str(block.start.get("data") or "")}
        if block.type == "tool_use":
            return self._tool_use(block, position, seen)
        return None

    def _tool_use(self, block: _Open, position: int, seen: set[str]) -> Block | None:
        name = block.start.get("name")
        if not isinstance(name, str) or not TOOL_NAME.match(name):
            self._faults.append("A tool call has no valid name.")
            return None
        tool_id = block.start.get("id")
        if not isinstance(tool_id, str) or not TOOL_ID.match(tool_id) or tool_id in seen:
            tool_id = make_tool_id(self._seed, position)
        seen.add(tool_id)
        return {"type": "tool_use", "id": tool_id, "name": name, "input": self._input(block, name)}

    def _input(self, block: _Open, name: str) -> dict[str, Any]:
        raw = "".join(block.parts).strip()
        given = block.start.get("input")
        try:
            value = strict_json.loads(raw) if raw else strict_json.sound({} if given is None else given)
        except ValueError:
            self._faults.append(f"The input of the call to {name} is not valid JSON.")
            return {}
        if not isinstance(value, dict):
            self._faults.append(f"The input of the call to {name} is not a JSON object.")
            return {}
        return clean_surrogates_deep(value)  # type: ignore[no-any-return]


def clean_surrogates(text: str) -> str:
    """Join surrogate pairs and replace lone ones by U+FFFD, so that the text can be sent and stored as UTF-8."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def clean_surrogates_deep(value: Any) -> Any:
    """Apply :func:`clean_surrogates` to every text in a JSON value."""
    if isinstance(value, str):
        return clean_surrogates(value)
    if isinstance(value, list):
        return [clean_surrogates_deep(item) for item in value]
    if isinstance(value, dict):
        return {clean_surrogates(str(key)): clean_surrogates_deep(item) for key, item in value.items()}
    return value


def _integer(value: Any) -> int:
    return value if isinstance(value, int) else 0
