"""Taking what is to be forgotten out of other texts: conversations say in their words what a memory file says in a line (G9). Pure."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from memflush_jupyter.memory.forget import matcher_of_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memflush_jupyter.memory.forget import Line

FORGOTTEN: Final = "[forgotten]"

_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])")
_MARKER: Final = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+")
_SHORTEST: Final = 12
"""A forgotten line of fewer characters is not looked for inside other lines: "yes" stands in many."""


def rewriter(pattern: str, lines: Sequence[Line]) -> tuple[Callable[[str], str], str]:
    """Return what rewrites a text without the forgotten, and a lower-case word that stands in every text it changes (empty: none known).

    A sentence that matches the pattern, or that says what one of ``lines`` says, becomes ``[forgotten]``; where only a whole line
    matches, the whole line does. A pattern that names a place or a note stands for its lines alone.
    """
    by_pattern = matcher_of_text(pattern)
    said = [_bare(line.text) for line in lines]
    told = [flat for text in said if len(flat := _flat(text)) >= _SHORTEST]
    equal = {_flat(text) for text in said}

    def matches(text: str) -> bool:
        if by_pattern is not None and by_pattern(text):
            return True
        flat = _flat(_bare(text))
        return flat in equal or any(one in flat for one in told)

    def rewrite(text: str) -> str:
        whole = text.splitlines(keepends=True)
        fresh = [_line(line, matches) for line in whole]
        if fresh == whole and len(whole) > 1 and matches(" ".join(text.split())):  # the words stand over the end of a line
            for number, (first, second) in enumerate(pairwise(whole)):
                if matches(f"{first} {second}"):
                    fresh[number : number + 2] = [_gone(first), _gone(second)]
        return "".join(fresh)

    words = [] if by_pattern is None or pattern.strip().startswith("/") else re.findall(r"[a-z0-9]{3,}", _flat(pattern))
    hint = max(words, key=len, default="")
    return rewrite, hint if all(hint in flat for flat in equal) else ""


def _gone(line: str) -> str:
    return FORGOTTEN + line[len(line.rstrip("\r\n")) :]


def _line(line: str, matches: Callable[[str], bool]) -> str:
    body = line.rstrip("\r\n")
    if not body.strip() or not matches(body):
        return line
    marker = _MARKER.match(body)
    start = marker.end() if marker else 0
    pieces: list[str] = []
    position = start
    for end in [*(found.start() for found in _SENTENCE.finditer(body, start)), len(body)]:
        pieces.append(body[position:end])
        position = end
    fresh = [_kept(piece, matches) for piece in pieces]
    said = "".join(fresh) if fresh != pieces else FORGOTTEN
    return body[:start] + said + line[len(body) :]


def _kept(piece: str, matches: Callable[[str], bool]) -> str:
    return f"{piece[: len(piece) - len(piece.lstrip())]}{FORGOTTEN}" if piece.strip() and matches(piece) else piece


def _bare(text: str) -> str:
    return _MARKER.sub("", text, count=1).strip()


def _flat(text: str) -> str:
    return " ".join(text.casefold().split())
