"""What every text goes through before it is written: secrets out (P7), characters that no file or server takes replaced.

Lone surrogates and NUL characters become U+FFFD (the replacement character): UTF-8 cannot hold the former, and SQLite,
PostgreSQL and the Messages API each trip over the latter. Halves of a surrogate pair that belong together are joined.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from memflush_jupyter.trace.models import Block

# Protocol fields of a block: never text of a person, a model or a tool, and a changed id would break the pairing of calls and results.
_PROTOCOL = frozenset({"type", "id", "tool_use_id", "media_type", "cache_control", "signature", "is_error"})


def storable(text: str) -> str:
    """Replace what cannot be stored; any other text comes back as it is."""
    if "\x00" in text:
        text = text.replace("\x00", "\ufffd")
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


class Cleaner:
    """Applies ``redact`` and ``storable`` to texts, JSON values and content blocks."""

    def __init__(self, redact: Callable[[str], str]) -> None:
        self._redact = redact
        # The names of fields come again with every message; a few are remembered.
        self._name = lru_cache(maxsize=256)(self.text)

    def text(self, text: str) -> str:
        """Clean one text."""
        return storable(self._redact(storable(text))) if text else text

    def optional(self, text: str | None) -> str | None:
        """Clean a text that may be missing."""
        return None if text is None else self.text(text)

    def value(self, value: Any) -> Any:
        """Clean a JSON value through and through, keys included; what JSON does not know becomes its text."""
        if isinstance(value, str):
            return self.text(value)
        if value is None or isinstance(value, (bool, int, float)):
            return value
        if isinstance(value, dict):
            return {self._name(str(key)): self.value(item) for key, item in value.items()}
        if isinstance(value, (list, tuple, set, frozenset)):
            return [self.value(item) for item in value]
        return self.text(str(value))

    def blocks(self, content: list[Block]) -> list[Block]:
        """Clean content blocks.

        Thinking is signed: altered, the server would refuse it, so a thinking block that holds a secret is left out as a whole.
        Base64 data of images and documents is kept as it is.
        """
        return [self._block(block) for block in content if not self._tainted(block)]

    def _tainted(self, block: Block) -> bool:
        thinking = block.get("thinking") if block.get("type") == "thinking" else None
        return isinstance(thinking, str) and self.text(thinking) != thinking

    def _block(self, block: Block) -> Block:
        if block.get("type") in {"thinking", "redacted_thinking"}:
            return dict(block)
        return {storable(key): self._field(key, item) for key, item in block.items()}

    def _field(self, key: str, item: Any) -> Any:
        if key in _PROTOCOL:
            return storable(item) if isinstance(item, str) else item
        if key == "source" and isinstance(item, dict) and item.get("type") == "base64":
            return dict(item)
        if key == "content" and isinstance(item, list):
            return [self._block(inner) if isinstance(inner, dict) else self.value(inner) for inner in item]
        return self.value(item)
