"""The items of a conversation, each once, with the message that said it first (the audit of a compaction)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from memflush_jupyter.context import audit_code as code
from memflush_jupyter.context import audit_names as naming
from memflush_jupyter.context.audit_dates import Moment, moments
from memflush_jupyter.context.audit_names import Name
from memflush_jupyter.context.audit_numbers import Number, is_item, numbers, spelled
from memflush_jupyter.context.audit_sentences import said
from memflush_jupyter.context.audit_sources import Part, spoken_form
from memflush_jupyter.memory import sentences
from memflush_jupyter.memory.salience import SourceText

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Kind = Literal["number", "date", "name", "path", "column", "variable", "decision", "constraint", "instruction"]

LONGEST_SENTENCE = 300
_NUMBER_HINT = re.compile(r"\d|[一二三四五六七八九十]|(?:one|two|three|four|five|six|seven|eight|nine|ten|hundred|half)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Found:
    """An item. ``value`` is what it means where it has notations; ``key`` is equal for equal items."""

    kind: Kind
    text: str
    part: Part
    start: int
    value: Number | Moment | Name | None = None

    @property
    def key(self) -> object:
        """What two mentions of one thing share."""
        value = self.value
        if isinstance(value, Number):
            return ("number", value.value, value.dimension)
        if isinstance(value, Moment):
            return ("date", value.readings)
        if isinstance(value, Name):
            return ("name", value.words)
        if self.kind in {"column", "variable"}:
            return ("identifier", self.text)
        if self.kind == "path":
            return ("path", tuple(code.path_parts(self.text)))
        return (self.kind, spoken_form(self.text))

    @property
    def sentence(self) -> str:
        """The sentence that it stands in."""
        if self.kind in {"decision", "constraint", "instruction"}:
            return self.text
        return sentence_at(self.part.text, self.start)


def extract(parts: Sequence[Part]) -> list[Found]:
    """Return the items of ``parts``, none twice; what a person said comes before the same from others."""
    small = lexicon(part.text for part in parts if part.kind != "code")
    cells = [part for part in parts if part.kind == "code"]
    program = code.Code([part.text for part in cells])
    best: dict[object, Found] = {}
    for part in parts:
        if part.kind == "code":
            for named in code.paths(part.text):
                _keep(best, Found("path", named.text, part, named.start))
        else:
            for found in _of_prose(part, small, set(program.assigned)):
                _keep(best, found)
    for number, named in program.items():
        _keep(best, Found(named.kind, named.text, cells[number], named.start))
    spoken = [SourceText(part.text, part.origin, part.trace, part.sequence) for part in parts if part.kind == "prose" and part.text.strip()]
    for one in said(spoken):
        part = Part("prose", one.text, one.origin, one.trace, one.sequence)
        _keep(best, Found(one.kind, one.text, part, 0))
    return sorted(best.values(), key=lambda found: found.part.sequence)


def stated(text: str, small: frozenset[str]) -> list[Found]:
    """Return the numbers, dates and names of a summary, none twice (D13)."""
    part = Part("prose", text, "agent", "", 0)
    best: dict[object, Found] = {}
    for found in _of_prose(part, small, set()):
        if found.kind in {"number", "date", "name"}:
            _keep(best, found)
    return list(best.values())


def _keep(best: dict[object, Found], found: Found) -> None:
    known = best.get(found.key)
    if known is None or (found.part.origin == "user" and known.part.origin != "user"):
        best[found.key] = found


def _of_prose(part: Part, small: frozenset[str], variables: set[str]) -> Iterator[Found]:
    text = part.text
    spans: list[tuple[int, int]] = []
    for named in code.paths(text):
        spans.append((named.start, named.start + len(named.text)))
        yield Found("path", named.text, part, named.start)
    text = _blanked(text, spans)
    if part.kind == "prose":
        for named in code.spoken_names(text, variables):
            yield Found(named.kind, named.text, part, named.start)
    spans = []
    if _NUMBER_HINT.search(text):
        for moment in moments(text):
            spans.append((moment.start, moment.end))
            yield Found("date", moment.text, part, moment.start, moment)
        text = _blanked(text, spans)
        for number in (*numbers(text), *spelled(text)):
            if is_item(number, text):
                yield Found("number", number.text, part, number.start, number)
    if part.kind == "prose":
        for name in naming.names(text, small):
            yield Found("name", name.text, part, name.start, name)


def _blanked(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """The text with blanks in these places, so that nothing in them is read again."""
    if not spans:
        return text
    pieces: list[str] = []
    at = 0
    for start, end in sorted(spans):
        if start < at:
            continue
        pieces += (text[at:start], "\x1f" * (end - start))
        at = end
    return "".join([*pieces, text[at:]])


def lexicon(texts: Iterable[str]) -> frozenset[str]:
    """The words that occur in small letters."""
    found: set[str] = set()
    for text in texts:
        found.update(text.split())
    return frozenset(word.strip(_EDGES) for word in found if not word[0].isupper())


_EDGES = ".,;:!?()[]{}\"'“”‘’`*_…"


def sentence_at(text: str, start: int) -> str:
    """The sentence around a place, shortened around it where it is very long."""
    begin = max(text.rfind("\n", 0, start) + 1, start - 2 * LONGEST_SENTENCE)
    end = text.find("\n", start)
    line = text[begin : end if end >= 0 else len(text)]
    place = start - begin
    at = 0
    for sentence in sentences.split(line):
        at = line.find(sentence, at)
        if at <= place < at + len(sentence):
            if len(sentence) <= LONGEST_SENTENCE:
                return sentence
            left = max(0, place - at - LONGEST_SENTENCE // 2)
            return f"{'…' if left else ''}{sentence[left : left + LONGEST_SENTENCE].strip()}…"
        at += len(sentence)
    return line.strip()[:LONGEST_SENTENCE]
