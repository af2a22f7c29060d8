"""Counts tokens and keeps a prompt cache the way the provider documents it.

Order of the prefix: tools, system, messages. A breakpoint (``cache_control``) writes the prefix up to its block; a later
request reads the longest live prefix that ends at one of its breakpoints or within the 20 blocks before one. Prefixes under
1,024 tokens are not cached. An entry lives five minutes (or an hour with ``ttl: "1h"``) from its last use.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memflush_jupyter.trace.models import Usage

if TYPE_CHECKING:
    from collections.abc import Callable

    from memflush_jupyter.testing.validation import Turn

MIN_CACHED_TOKENS = 1_024
LOOKBACK_BLOCKS = 20
LIFETIMES_S = {"5m": 300.0, "1h": 3600.0}
IMAGE_TOKENS = 1_600

_BLOCK_OVERHEAD = 4
_BASE_OVERHEAD = 3


def count_cl100k(text: str) -> int:
    """Return the tokens of ``text`` in the packaged cl100k encoding."""
    from memflush_jupyter.context import encoding

    return len(encoding.load().encode(text, disallowed_special=()))


@dataclass(frozen=True)
class _Part:
    """One cacheable step of the prefix."""

    digest: bytes
    tokens: int
    lifetime: float | None


class Accountant:
    """Measures requests. ``count`` gives the tokens of a text, ``now`` the seconds of a clock that tests may turn."""

    def __init__(self, *, count: Callable[[str], int], now: Callable[[], float]) -> None:
        self._count = count
        self._now = now
        self._counted: dict[bytes, int] = {}
        self._entries: dict[bytes, tuple[float, float]] = {}

    def tokens(self, body: dict[str, Any], turns: list[Turn]) -> int:
        """Return the input tokens of a request."""
        return _BASE_OVERHEAD + sum(part.tokens for part in self._parts(body, turns))

    def measure(self, body: dict[str, Any], turns: list[Turn]) -> Usage:
        """Return the usage of a request that is answered (without its output), and remember what it caches."""
        parts = self._parts(body, turns)
        total = _BASE_OVERHEAD + sum(part.tokens for part in parts)
        sums: list[int] = []
        running = _BASE_OVERHEAD
        for part in parts:
            running += part.tokens
            sums.append(running)
        marks = [index for index, part in enumerate(parts) if part.lifetime is not None]
        read = self._read(parts, sums, marks)
        written = max((sums[index] for index in marks if sums[index] >= MIN_CACHED_TOKENS), default=0)
        for index in marks:
            lifetime = parts[index].lifetime
            if sums[index] >= MIN_CACHED_TOKENS and lifetime is not None:
                self._entries[parts[index].digest] = (self._now() + lifetime, lifetime)
        write = max(0, written - read)
        return Usage(input=total - read - write, cache_read=read, cache_write=write)

    def _read(self, parts: list[_Part], sums: list[int], marks: list[int]) -> int:
        for mark in reversed(marks):
            for index in range(mark, max(-1, mark - LOOKBACK_BLOCKS - 1), -1):
                entry = self._entries.get(parts[index].digest)
                if entry is not None and entry[0] >= self._now():
                    self._entries[parts[index].digest] = (self._now() + entry[1], entry[1])
                    return sums[index]
        return 0

    def _parts(self, body: dict[str, Any], turns: list[Turn]) -> list[_Part]:
        """Return the prefix, step by step; each digest covers everything before it."""
        chain = hashlib.sha256(str(body["model"]).encode())
        system = body.get("system") or []
        parts = [self._part(chain, "tool", tool) for tool in body.get("tools") or []]
        parts += [self._part(chain, "system", block) for block in ([{"type": "text", "text": system}] if isinstance(system, str) else system)]
        # Forcing a tool or changing the thinking settings keeps tools and system cached and loses the messages.
        chain.update(_canonical([body.get("tool_choice"), body.get("thinking")]))
        parts += [self._part(chain, turn.role, block) for turn in turns for block in turn.content]
        return parts

    def _part(self, chain: Any, role: str, block: dict[str, Any]) -> _Part:
        mark = block.get("cache_control") or _nested_mark(block)
        content = _canonical([role, _unmarked(block)])
        chain.update(content)
        lifetime = LIFETIMES_S[mark.get("ttl", "5m")] if mark else None
        key = hashlib.sha256(content).digest()
        if key not in self._counted:
            self._counted[key] = _BLOCK_OVERHEAD + self._block(block)
        return _Part(chain.copy().digest(), self._counted[key], lifetime)

    def _block(self, block: Any) -> int:
        if isinstance(block, str):
            return self._count(block)
        if block.get("type") in {"image", "document"}:
            from memflush_jupyter.context import media

            return media.block_tokens(block) or IMAGE_TOKENS
        if block.get("type") == "text":
            return self._count(block["text"])
        if block.get("type") == "tool_result":
            content = block.get("content") or ""
            return self._count(block["tool_use_id"]) + (self._count(content) if isinstance(content, str) else sum(self._block(part) for part in content))
        return self._count(_canonical(_unmarked(block)).decode("utf-8"))


def _nested_mark(block: dict[str, Any]) -> dict[str, Any] | None:
    content = block.get("content")
    parts = content if isinstance(content, list) else []
    return next((part["cache_control"] for part in parts if isinstance(part, dict) and part.get("cache_control")), None)


def _unmarked(block: dict[str, Any]) -> dict[str, Any]:
    bare = {name: value for name, value in block.items() if name != "cache_control"}
    if isinstance(bare.get("content"), list):
        bare["content"] = [_unmarked(part) if isinstance(part, dict) else part for part in bare["content"]]
    return bare


def _canonical(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode("utf-8", "replace")
