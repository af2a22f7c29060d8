"""Where a remembered line comes from, kept in an HTML comment that renders to nothing (P5).

``- Outliers are dropped above 3 sigma. <!-- mf:8f2c t=4be1#118 o=user -->``: note ``8f2c``, from message 118 of trace ``4be1``, said
by the user. A person may delete the comment: the line is then treated as theirs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final, Literal, cast

from memflush_jupyter.errors import MemoryFileError

Origin = Literal["user", "agent", "tool"]

ORIGINS: Final = ("user", "agent", "tool")

_TOKEN: Final = r"[A-Za-z0-9_.:+-]{1,128}"  # noqa: S105 - a pattern, no password
_SOURCE: Final = rf"(?: t=(?P<trace>{_TOKEN})#(?P<sequence>\d{{1,18}}))? o=(?P<origin>user|agent|tool)"
_COMMENT: Final = re.compile(rf"[ \t]*<!-- mf:(?P<id>{_TOKEN}){_SOURCE}(?P<rest>(?: [\w.]+(?:=[^\s<>]+)?)*) -->")
_VALUE: Final = re.compile(r"[^\s<>]+")
_KEY: Final = re.compile(r"[\w.]+")


@dataclass(frozen=True, slots=True)
class Provenance:
    """The source of one line. ``trace`` and ``sequence`` are ``None`` together, when no message stands behind it.

    ``floor``: found by the extractor rather than written by the model (C13). ``extra``: further ``key=value`` pairs, in order.
    """

    id: str
    trace: str | None
    sequence: int | None
    origin: Origin
    floor: bool = False
    extra: dict[str, str] = field(default_factory=dict)


def render(source: Provenance) -> str:
    """Return the comment for a line's end, without a blank in front.

    Raises:
        MemoryFileError: an identifier holds characters that would break the comment.
    """
    for name in (source.id, source.trace):
        if name is not None and (re.fullmatch(_TOKEN, name) is None or "--" in name):
            raise MemoryFileError(f"{name!r} cannot be kept as the source of a note; identifiers are letters, digits, '_' and single '-'.")
    if (source.trace is None) != (source.sequence is None):
        raise MemoryFileError("A note's source needs both the trace and the sequence of its message, or neither.")
    words = [f"mf:{source.id}"]
    if source.trace is not None:
        words.append(f"t={source.trace}#{source.sequence}")
    words.append(f"o={source.origin}")
    if source.floor:
        words.append("floor")
    for key, value in source.extra.items():
        if _KEY.fullmatch(key) is None or _VALUE.fullmatch(value) is None or "--" in value:
            raise MemoryFileError(f"{key}={value!r} cannot be kept with a note; keys and values are single words.")
        words.append(f"{key}={value}")
    return f"<!-- {' '.join(words)} -->"


def parse(line: str) -> Provenance | None:
    """Return the source of a line, or ``None`` for a line without one: a person's. Of several comments the last counts."""
    found = None
    for found in _COMMENT.finditer(line):  # noqa: B007 - the last one is wanted
        pass
    if found is None:
        return None
    sequence = found["sequence"]
    pairs = [word.partition("=") for word in found["rest"].split()]
    return Provenance(
        id=found["id"],
        trace=found["trace"],
        sequence=None if sequence is None else int(sequence),
        origin=cast("Origin", found["origin"]),
        floor=("floor", "", "") in pairs,
        extra={key: value for key, equals, value in pairs if equals},
    )


def strip(line: str) -> str:
    """Return the line (or text of many lines) without its sources, and otherwise as it is."""
    return _COMMENT.sub("", line)


def ids(text: str) -> set[str]:
    """Return the ids of all notes in a text."""
    return {found["id"] for found in _COMMENT.finditer(text)}
