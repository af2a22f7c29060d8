"""How many tokens a text, a message or a tool list will take: an estimate that learns from what servers measure (A4-A6)."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from memflush_jupyter.context import encoding, media

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from memflush_jupyter.trace.models import Block, Message, WireMessage

UNMEASURED_FACTOR = 1.1
MIN_FACTOR, MAX_FACTOR = 0.5, 3.0
MIN_SAMPLE = 200
"""Measurements of fewer estimated tokens teach nothing: fixed overheads would dominate them."""

MESSAGE_OVERHEAD = 4
BLOCK_OVERHEAD = 3
TOOL_OVERHEAD = 12
_PIECE = 50_000  # characters encoded at once: bounds the time and stack one pathological text can take
_BYTES_PER_TOKEN = 3


class TokenCounter:
    """Counts tokens for one model: the packaged cl100k count times a factor.

    Args:
        model: the model id the factor belongs to; only carried along.
        factor: what earlier runs learned; ``None`` before the first measurement (then 1.1). Bounded 0.5-3.
        learned: whether :meth:`learn` may move the factor. Headless, offline and replayed runs fix it (P9).
    """

    def __init__(self, model: str, *, factor: float | None = None, learned: bool = True) -> None:
        self.model = model
        self._measured = factor is not None
        self._factor = _bounded(UNMEASURED_FACTOR if factor is None else factor)
        self._learns = learned
        self.warning: str | None = None

    @property
    def factor(self) -> float:
        """Tokens of this model per cl100k token."""
        return self._factor

    @property
    def approximate(self) -> bool:
        """Whether the encoding could not be loaded, so that counts come from bytes / 3; ``warning`` then says why."""
        self._raw("")
        return self.warning is not None

    def text(self, text: str) -> int:
        """Return the estimated tokens of ``text``."""
        return self._scaled(self._raw(text))

    def cautious(self, text: str) -> int:
        """Return the tokens of ``text`` to reckon with where a request of nothing else has to fit a window.

        A factor below 1 was learned on other text (often the system prompt and the tools): of this one it may say too little.
        """
        raw = self._raw(text)
        return max(raw, self._scaled(raw))

    def blocks(self, blocks: Iterable[Block]) -> int:
        """Return the estimated tokens of content blocks, nested ones included; images and PDFs by :mod:`.media`."""
        raw, fixed = self._count(blocks)
        return self._scaled(raw) + fixed

    def message(self, message: WireMessage) -> int:
        """Return the estimated tokens of one wire message, its role and separators included."""
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        raw, fixed = self._count(blocks)
        return self._scaled(raw + MESSAGE_OVERHEAD) + fixed

    def messages(self, messages: Iterable[WireMessage]) -> int:
        """Return the estimated tokens of several wire messages."""
        return sum(self.message(message) for message in messages)

    def tools(self, schemas: Sequence[dict[str, Any]]) -> int:
        """Return the estimated tokens of tool schemas as they stand in a request."""
        return self._scaled(sum(self._raw(_json(schema)) + TOOL_OVERHEAD for schema in schemas))

    def learn(self, estimated: int, measured: int) -> float:
        """Move the factor by one request: ``estimated`` by this counter, ``measured`` by the server. Returns the factor.

        The first measurement is taken as it is; later ones move the factor half of the way, so that one odd request
        does not swing it. The result stays within 0.5-3 (A5).
        """
        if self._learns and estimated >= MIN_SAMPLE and measured > 0:
            target = _bounded(self._factor * measured / estimated)
            self._factor = (self._factor + target) / 2 if self._measured else target
            self._measured = True
        return self._factor

    def _count(self, blocks: Iterable[Block]) -> tuple[int, int]:
        raw = fixed = 0
        for block in blocks:
            kind = block.get("type")
            size = media.block_tokens(block)
            if size is not None:
                fixed += size
            elif kind == "text":
                raw += self._raw(block.get("text") or "")
            elif kind == "tool_result":
                inner, inner_fixed = self._count(_as_blocks(block.get("content")))
                raw, fixed = raw + inner + self._raw(str(block.get("tool_use_id", ""))) + BLOCK_OVERHEAD, fixed + inner_fixed
            elif kind == "tool_use":
                raw += self._raw(f"{block.get('id', '')}{block.get('name', '')}{_json(block.get('input'))}") + BLOCK_OVERHEAD
            elif kind == "thinking":  # the signature is verified by the server, not read by the model
                raw += self._raw(block.get("thinking") or "") + BLOCK_OVERHEAD
            elif kind == "document":
                source = block["source"]
                inner, inner_fixed = self._count(_as_blocks(source.get("data", source.get("content"))))
                raw, fixed = raw + inner + BLOCK_OVERHEAD, fixed + inner_fixed
            else:
                raw += self._raw(_json(block))
        return raw, fixed

    def _raw(self, text: str) -> int:
        if self.warning is None:
            try:
                encode = encoding.load().encode_ordinary
                return sum(len(encode(text[start : start + _PIECE])) for start in range(0, len(text), _PIECE))
            except encoding.EncodingError as error:
                self.warning = f"{error} Sizes are estimated from bytes and marked approximate."
        return math.ceil(len(text.encode("utf-8", "surrogatepass")) / _BYTES_PER_TOKEN)

    def _scaled(self, raw: int) -> int:
        return math.ceil(round(raw * self._factor, 6))


def used_tokens(messages: Sequence[Message], *, prefix: int, pending: int = 0, stale_through: int | None = None) -> int:
    """Return what stands in the context after ``messages``, the main path that is sent (A4).

    The last reply's measured usage counts for everything up to it, the estimates of the messages after it are added.
    A total that measured another context is stale and does not count: that of a reply from before the last summary,
    of one up to ``stale_through`` (the last message when results were pruned), or of a partial reply, which is never
    sent. With no total left all is estimated, on top of the fixed ``prefix``. ``pending`` is about to be added (B2).
    """
    stale = max((message.sequence for message in messages if message.kind == "summary"), default=-1)
    if stale_through is not None:
        stale = max(stale, stale_through)
    added = pending
    for message in reversed(messages):
        if message.kind == "partial":
            continue
        usage = message.usage
        if usage is not None and usage.total > 0 and message.sequence > stale:
            return usage.total + added
        added += message.tokens
    return prefix + added


def _as_blocks(content: Any) -> list[Block]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return list(content or [])


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def _bounded(factor: float) -> float:
    return min(MAX_FACTOR, max(MIN_FACTOR, factor))
