"""Decisions, constraints and instructions, and whether other sentences still say them (the audit of a compaction)."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal

from memflush_jupyter.context.audit_dates import moments
from memflush_jupyter.context.stopwords import CJK, ENGLISH
from memflush_jupyter.context.terms import CJK_RANGE, stem
from memflush_jupyter.memory import salience
from memflush_jupyter.memory import salience_signs as sign

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from memflush_jupyter.memory.salience import Candidate, SourceText

SentenceKind = Literal["decision", "constraint", "instruction"]

KINDS: Final[dict[str, SentenceKind]] = {"decision": "decision", "constraint": "constraint", "remember": "instruction", "preference": "instruction"}
"""What the extractor calls them, and what the audit does."""

LEAST_CONFIDENCE: Final = 0.75
SHARED: Final = 0.6
"""The share of a sentence's words that another must hold to say it again in other words."""

_ASCII_WORD = re.compile(r"[a-z0-9]+(?:'[a-z]+)?")
_WORD = re.compile(rf"[{CJK_RANGE}]+|[^\W_{CJK_RANGE}]+(?:'[a-z]+)?")
_CJK_FILLERS = "所有 全部 一律 统一 必须 务必 应该 应当 使用 采用 利用 每个 每张 每次 任何 需要 不要 不得 禁止 不能 不可 以后 今后 喜欢 偏好 决定".split()
_CJK_STOP = re.compile("|".join(map(re.escape, sorted({*CJK, *_CJK_FILLERS}, key=len, reverse=True))))
_LINE = re.compile(r"[^\n.!?。！？;；]+(?:\.(?=\w)[^\n.!?。！？;；]*)*")
_NEGATED = re.compile(
    r"\b(?:not|no|never|none|neither|nor|without|avoid(?:s|ed|ing)?|exclud\w+|except|forbid\w*|stop|cannot|free|instead|refus\w+|dislik\w+|hates?|rather)\b|n['’]t\b|\bdrop|\bignor|\bskip|\bremov|不|没|无|非|别|勿|未|禁|避免|除",
    re.IGNORECASE,
)
_SAID_OFTEN: Final = frozenset(
    stem(word)
    for word in "please always never must should make sure note remember keep mind prefer like use using user person agent want wish decide agree "
    "we i only also any all".split()
)
_LOOKED_AT: Final = 12
_AGENT_DECIDES = sign.DECISION


@dataclass(frozen=True, slots=True)
class Said:
    """A sentence that decides, forbids or instructs."""

    kind: SentenceKind
    text: str
    trace: str
    sequence: int
    origin: Literal["user", "agent", "tool"]


def said(sources: Sequence[SourceText]) -> Iterator[Said]:
    """Yield what a person laid down, and what the agent put down as decided. A tool's output lays down nothing (P8)."""
    read = [source for source in sources if source.origin == "user" or (source.origin == "agent" and _AGENT_DECIDES.search(source.text))]
    for candidate in sorted(salience.extract(read), key=lambda one: one.sequence):
        kind = KINDS.get(candidate.kind)
        if kind is not None and candidate.confidence >= LEAST_CONFIDENCE and _counts(candidate):
            yield Said(kind, candidate.text, candidate.trace, candidate.sequence, candidate.origin)


def _counts(candidate: Candidate) -> bool:
    return candidate.origin == "user" or (candidate.kind == "decision" and _AGENT_DECIDES.search(candidate.text) is not None)


def stems(text: str) -> frozenset[str]:
    """What a sentence says, as stems of its telling words; of Chinese and its like pairs of characters."""
    lowered = text.lower()
    if text.isascii():
        return frozenset(_telling(word) for word in _ASCII_WORD.findall(lowered)) - {""}
    found: set[str] = set()
    for word in _WORD.findall(lowered):
        if "\u3040" <= word[0] <= "\ud7af" or word[0] >= "\uf900":
            for run in _CJK_STOP.split(word):
                found.update(run[index : index + 2] for index in range(max(len(run) - 1, 1)) if run)
        else:
            found.add(_telling(word))
    found.discard("")
    return frozenset(found)


@lru_cache(maxsize=16_384)
def _telling(word: str) -> str:
    return "" if word in ENGLISH else stem(word)


class SentenceIndex:
    """The sentences of some texts by what they say."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._units: list[str] = []
        self._at: dict[str, list[int]] = {}
        for text in texts:
            for match in _LINE.finditer(text):
                unit = match.group()
                if "  " in unit.strip():  # a row of a table
                    continue
                number = len(self._units)
                self._units.append(unit)
                for one in stems(unit):
                    self._at.setdefault(one, []).append(number)

    def holds(self, text: str) -> bool:
        """Tell whether some sentence (with the one after it) says most of ``text``, and is negated where that is."""
        wanted = stems(text)
        dated, plain = _dated(text)
        telling = (stems(plain) | dated) if dated else wanted
        telling = telling - _SAID_OFTEN or telling
        if not telling:
            return True
        counts: Counter[int] = Counter()
        for one in wanted:
            for number in self._at.get(one, ()):
                counts[number] += 1
        negated = _NEGATED.search(text) is not None
        return any(self._says(number, telling, dated, negated=negated) for number, _ in counts.most_common(_LOOKED_AT))

    def _says(self, number: int, telling: frozenset[str], dated: frozenset[str], *, negated: bool) -> bool:
        unit = self._units[number]
        after = self._units[number + 1] if number + 1 < len(self._units) else ""
        needed = SHARED * len(telling)
        for said_there in (unit, f"{unit} {after}"):
            dates, plain = _dated(said_there) if dated else (frozenset[str](), said_there)
            if dates and not dates & dated:
                continue  # it says another day
            if len(telling & (stems(plain) | dates)) >= needed and (not negated or _NEGATED.search(said_there)):
                return True
        return False


def _dated(text: str) -> tuple[frozenset[str], str]:
    """The dates of a sentence in one notation, and the sentence without them."""
    found: set[str] = set()
    if any(char.isdigit() for char in text):
        for moment in moments(text):
            found.update(f"{month}-{day}" if day is not None else f"{year}-{month}" for year, month, day in moment.readings)
            text = text.replace(moment.text, " ")
    return frozenset(found), text
