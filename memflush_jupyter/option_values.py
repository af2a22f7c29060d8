"""The value that a text means for an option, and in words what an option takes."""

from __future__ import annotations

import ast
import json
import os
from typing import TYPE_CHECKING, Any

from traitlets import Bool, Container, Dict, Enum, Float, Int, List, TraitError, Unicode, Union

if TYPE_CHECKING:
    from traitlets import TraitType

_SHOWN_CHARS = 60
_WORDS = {"yes": "true", "on": "true", "no": "false", "off": "false"}


def takes(trait: TraitType[Any, Any]) -> str:
    """What values an option takes, in words."""
    least = getattr(trait, "min", None)
    words = "a value of another kind"
    if isinstance(trait, Union):
        words = " or ".join(takes(part) for part in trait.trait_types)
    elif isinstance(trait, Enum):
        words = "one of " + ", ".join(repr(value) for value in trait.values or ())
    elif isinstance(trait, Bool):
        words = "True or False"
    elif isinstance(trait, Int):
        words = "a whole number"
    elif isinstance(trait, Float):
        words = "a number"
    elif isinstance(trait, Unicode):
        words = "text"
    elif isinstance(trait, List):
        words = "a list of texts"
    elif isinstance(trait, Dict):
        words = "a dictionary"
    words += f" of at least {least:g}" if least is not None else ""
    return f"{words} or None" if trait.allow_none else words


def from_text(trait: TraitType[Any, Any], text: str) -> Any:
    """The value that a variable or a flag means: lists also separated by commas (folders by the path separator), dictionaries also as JSON.

    Raises:
        TraitError: it does not fit.
    """
    text = text.strip()
    if trait.allow_none and text.lower() in {"none", "null"}:
        return None
    if isinstance(trait, Container | Dict):
        if isinstance(trait, List) and not text.startswith("["):
            separator = os.pathsep if trait.metadata.get("paths") else ","
            return [part.strip() for part in text.split(separator) if part.strip()]
        try:
            return ast.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return _json(text)
    if isinstance(trait, Bool):
        text = _WORDS.get(text.lower(), text)
    return trait.from_string(text)


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise TraitError(text) from error


def short(value: Any) -> str:
    """A value as it is shown in a sentence."""
    shown = repr(value)
    return shown if len(shown) <= _SHOWN_CHARS else f"{shown[:_SHOWN_CHARS]}…"
