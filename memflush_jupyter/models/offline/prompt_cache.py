"""Prompt-cache accounting as the Messages API does it: what a request reads from and writes to the cache.

A breakpoint (``cache_control``) caches everything before and including its block, in the order tools, system, messages.
A later request reads the longest such prefix that is byte for byte the same.
"""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memflush_jupyter.models.offline.conversation import blocks_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_KEPT = 4096
_PER_MESSAGE = 4
_IMAGE_TOKENS = 1600


@dataclass(frozen=True, slots=True)
class Measured:
    """Input tokens of one request: uncached, read from the cache, written to it."""

    input: int
    cache_read: int
    cache_write: int


class PromptCache:
    """Prefixes seen so far, by hash; each transport has its own."""

    def __init__(self, count: Callable[[str], int]) -> None:
        self._count = count
        self._prefixes: OrderedDict[str, int] = OrderedDict()
        self._counted: OrderedDict[str, int] = OrderedDict()

    def _tokens(self, digest: str, text: str) -> int:
        known = self._counted.get(digest)
        if known is None:
            known = self._counted[digest] = self._count(text)
            if len(self._counted) > _KEPT:
                self._counted.popitem(last=False)
        return known

    def total(self, request: dict[str, Any]) -> int:
        """Input tokens of a request, cached or not."""
        return sum(tokens for tokens, _, _ in self._walk(request))

    def _walk(self, request: dict[str, Any]) -> Iterator[tuple[int, str, bool]]:
        """Each part's tokens, the hash of all up to it, and whether a breakpoint stands there."""
        running = hashlib.sha256()
        for text, extra, mark in _parts(request):
            raw = text.encode("utf-8", "surrogatepass")
            running.update(len(raw).to_bytes(8, "big") + raw)
            tokens = self._tokens(hashlib.sha256(raw).hexdigest(), text) if text else 0
            yield tokens + extra, running.hexdigest(), mark

    def measure(self, request: dict[str, Any]) -> Measured:
        """Account for a request, and remember its marked prefixes for the next ones."""
        total = read = marked = 0
        for tokens, digest, mark in self._walk(request):
            total += tokens
            if digest in self._prefixes:
                read = total
            if mark:
                marked = total
                self._prefixes[digest] = total
                self._prefixes.move_to_end(digest)
        while len(self._prefixes) > _KEPT:
            self._prefixes.popitem(last=False)
        read = min(read, marked)
        return Measured(total - max(read, marked), read, max(0, marked - read))


def _parts(request: dict[str, Any]) -> Iterator[tuple[str, int, bool]]:
    for tool in request.get("tools") or []:
        bare = {key: value for key, value in tool.items() if key != "cache_control"}
        yield json.dumps(bare, sort_keys=True, ensure_ascii=False), 0, "cache_control" in tool
    for block in blocks_of(request.get("system")):
        yield _block_text(block), 0, "cache_control" in block
    for message in request.get("messages") or []:
        yield str(message.get("role")), _PER_MESSAGE, False
        for block in blocks_of(message.get("content")):
            yield _block_text(block), _block_extra(block), "cache_control" in block


def _block_text(block: dict[str, Any]) -> str:
    kind = block.get("type")
    if kind == "text":
        return str(block.get("text", ""))
    if kind == "tool_use":
        return f"{block.get('id')} {block.get('name')} {json.dumps(block.get('input'), ensure_ascii=False)}"
    if kind == "tool_result":
        return f"{block.get('tool_use_id')} " + "\n".join(_block_text(inner) for inner in blocks_of(block.get("content")))
    if kind == "thinking":
        return str(block.get("thinking", ""))
    return str(kind)


def _block_extra(block: dict[str, Any]) -> int:
    """Images count by a flat figure, never as base64 text."""
    if block.get("type") in {"image", "document"}:
        return _IMAGE_TOKENS
    if block.get("type") == "tool_result":
        return sum(_block_extra(inner) for inner in blocks_of(block.get("content")))
    return 0
