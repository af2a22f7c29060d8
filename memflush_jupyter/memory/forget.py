"""Forgetting is a person's right: lines leave the files and the history alike, after a list and a yes (G9).

The caller retires the notes' rows and removes them from the search index: ``Forgotten.ids`` says which.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from memflush_jupyter.errors import MemoryFileError
from memflush_jupyter.memory import names as rules
from memflush_jupyter.memory import provenance
from memflush_jupyter.memory.document import parse, split_lines
from memflush_jupyter.memory.writing import content_hash

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from memflush_jupyter.memory.files import MemoryFolder

_PLACE: Final = re.compile(r"(?P<file>.+\.md):(?P<number>\d{1,9})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Line:
    """Something that would be forgotten: a line, or a bullet with its continuation lines.

    ``number`` is the first line, counted from 1; ``raw`` its bytes as text (undecodable ones escaped); ``text`` what a person
    reads. ``where`` is ``history`` for what stands in no file any more, only in the preimages of changes: ``number`` is then 0.
    """

    file: str
    number: int
    raw: str
    text: str
    note: str | None
    where: Literal["file", "history"] = "file"


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What was forgotten: how many lines of which files (canonical names), the note ids, and the history entries cleaned."""

    lines: int
    files: tuple[str, ...]
    ids: tuple[str, ...]
    history: tuple[str, ...] = field(default=())


def candidates(folder: MemoryFolder, pattern: str) -> list[Line]:
    """Return what a pattern finds, in all memory files and in the history, for the person to say yes or no to. Nothing changes.

    A pattern is ``FILE:NUMBER`` (a line, from 1), ``mf:ID`` (a note), ``/REGEX/`` (over a line's text), or words as they stand in it,
    whatever their case and spacing.

    Raises:
        MemoryFileError: the pattern is empty, or its regular expression cannot be read.
    """
    place = _PLACE.fullmatch(pattern.strip())
    if place is not None:
        name, number = folder.canonical(place["file"]), int(place["number"])
        return [line for line in _units(name, folder.read_bytes(name)) if line.number <= number < line.number + len(split_lines(line.raw))]
    matches = _matcher(pattern)
    found = [line for name in folder.names() for line in _units(name, folder.read_bytes(name)) if matches(line)]
    known = {(line.file, line.raw.strip()) for line in found}
    for entry in folder.history.entries():
        for line in _units(entry.name, folder.history.read(entry.id)):
            if matches(line) and (line.file, line.raw.strip()) not in known:
                known.add((line.file, line.raw.strip()))
                found.append(Line(line.file, 0, line.raw, line.text, line.note, "history"))
    return found


def matcher_of_text(pattern: str) -> Callable[[str], bool] | None:
    """Return what tells whether a text holds the words or the expression of a pattern; ``None`` where it names a line or a note.

    Raises:
        MemoryFileError: the pattern is empty, or its regular expression cannot be read.
    """
    wanted = pattern.strip()
    if wanted.startswith("mf:") or _PLACE.fullmatch(wanted):
        return None
    matches = _matcher(wanted)
    return lambda text: matches(Line("", 0, text, text, None))


def _matcher(pattern: str) -> Callable[[Line], bool]:
    wanted = pattern.strip()
    if not wanted:
        raise MemoryFileError("Say what to forget: a line such as 'taste.md:12', a note such as 'mf:8f2c', or words that stand in it.")
    if wanted.startswith("mf:"):
        return lambda line: line.note == wanted[3:]
    if len(wanted) > 2 and wanted.startswith("/") and wanted.endswith("/"):  # noqa: PLR2004 - the two slashes
        try:
            expression = re.compile(wanted[1:-1], re.IGNORECASE)
        except re.error as error:
            raise MemoryFileError(f"{wanted} is not a regular expression that can be read: {error}.") from error
        return lambda line: expression.search(line.text) is not None
    words = _flat(wanted)
    return lambda line: words in _flat(line.text)


def _flat(text: str) -> str:
    return " ".join(text.casefold().split())


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _units(name: str, data: bytes) -> Iterator[Line]:
    """Give the lines of a file, each bullet as one with the lines that continue it; blank lines are left out."""
    document = parse(_text(data))
    bullets = {bullet.start: bullet.end for bullet in document.bullets()}
    number = 0
    lines = document.lines()
    while number < len(lines):
        end = bullets.get(number, number + 1)
        raw = document.slice(number, end)
        if raw.strip():
            source = provenance.parse(raw)
            seen = raw.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
            yield Line(name, number + 1, raw, " ".join(provenance.strip(seen).split()), None if source is None else source.id)
        number = end


def forget(folder: MemoryFolder, lines: Sequence[Line]) -> Forgotten:
    """Remove lines that ``candidates`` listed from their files and from every preimage. No preimage of this is kept.

    Every other line keeps its bytes.

    Raises:
        MemoryFileError: a file changed since the list was shown, so that a line is no longer there; then nothing was forgotten.
    """
    ids = tuple(dict.fromkeys(line.note for line in lines if line.note))
    with folder.locked():
        changes = {name: _without_listed(folder, name, [line for line in lines if line.file == name and line.where == "file"]) for name in _files(lines)}
        for name, (base, data) in changes.items():
            folder.replace_built(name, data, base_hash=base, preimage=False)
        texts = {(line.file, line.raw.strip()) for line in lines}
        cleaned = folder.history.rewrite(lambda name, data: _without_any(name, data, texts, ids))
    return Forgotten(len(lines), tuple(changes), ids, tuple(cleaned))


def _files(lines: Sequence[Line]) -> list[str]:
    return list(dict.fromkeys(line.file for line in lines if line.where == "file"))


def _without_listed(folder: MemoryFolder, name: str, listed: Sequence[Line]) -> tuple[str, bytes]:
    """Return the hash of a file and its bytes without the listed lines."""
    data = folder.read_bytes(name)
    raw = split_lines(_text(data))
    gone: set[int] = set()
    for line in listed:
        own = split_lines(line.raw)
        start = line.number - 1
        if raw[start : start + len(own)] != own:
            raise MemoryFileError(f"{rules.logical(name)} changed since the list was made, so nothing was forgotten. Look at it again and repeat the command.")
        gone.update(range(start, start + len(own)))
    return content_hash(data), _joined(raw, gone)


def _joined(raw: Sequence[str], gone: Collection[int]) -> bytes:
    return "".join(line for number, line in enumerate(raw) if number not in gone).encode("utf-8", "surrogateescape")


def _without_any(name: str, data: bytes, texts: Collection[tuple[str, str]], notes: Collection[str]) -> bytes:
    """Return a preimage without the forgotten: the same line, or another wording of the same note."""
    raw = split_lines(_text(data))
    gone: set[int] = set()
    for line in _units(name, data):
        if (name, line.raw.strip()) in texts or line.note in notes:
            gone.update(range(line.number - 1, line.number - 1 + len(split_lines(line.raw))))
    return _joined(raw, gone)
