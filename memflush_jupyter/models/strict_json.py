"""JSON that a model wrote, held to what can be sent back to it: Python's own reader takes more (P6, D11)."""

from __future__ import annotations

import json
import math
from typing import Any, Final

DEEPEST: Final = 100
"""Levels of nesting that are taken; no tool needs ten, and every reader of the stored call has a limit of its own."""


def loads(text: str, *, strict: bool = True) -> Any:
    """Read one JSON value; ``strict=False`` lets raw line breaks in strings pass.

    Raises:
        ValueError: it is no JSON, or would not be taken back: a number that is none (``NaN``, ``1e999``), or nesting without end.
    """
    try:
        value = json.loads(text, strict=strict)
    except RecursionError:
        raise ValueError("nested too deep") from None
    return sound(value)


def sound(value: Any) -> Any:
    """Return a decoded value as it is.

    Raises:
        ValueError: it holds a number that JSON has no word for, or is nested too deep.
    """
    level = [value]
    for _ in range(DEEPEST):
        if any(isinstance(item, float) and not math.isfinite(item) for item in level):
            raise ValueError("a number that is none")
        level = [inner for item in level for inner in (item.values() if isinstance(item, dict) else item if isinstance(item, list) else ())]
        if not level:
            return value
    raise ValueError("nested too deep")
