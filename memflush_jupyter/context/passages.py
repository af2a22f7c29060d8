"""The sentences of a found text that answer to a question, and how well they do: a window rather than the whole message (G5)."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from memflush_jupyter.context.terms import word_stems
from memflush_jupyter.memory import sentences

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memflush_jupyter.context.terms import Term

MAX_CHARS = 320
"""Characters of one passage; a longer sentence is cut around what matched."""

NEIGHBOUR_SHARE = 0.4
"""What a term counts that stands only in the sentence before or after."""

NEXT_TO_EACH_OTHER = 0.25
"""What two terms of the question count extra when they stand side by side, as the parts of a name do."""

QUESTION_SHARE = 0.6
"""What a passage that only asks counts: an earlier question is rarely the answer to a later one."""

BEST = 4
"""Passages of one message, at most."""

_UNSEEN = 0.5
_NEAR_CHARS = 400  # of a text, only what stands this near to a match is read
_LETTERS = "0-9A-Za-zÀ-ɏͰ-ԯ"  # of scripts with spaces between words; of others a term may also begin inside a word
_LEANS = re.compile(r"\W*(?:(?:he|she|they|it|this|that|these|those|his|her|their|its|there|also|and|but|so|then)\b|[他她它这那])", re.IGNORECASE)

Held = dict[str, tuple[int, int]]
"""Stems found in a text, each with where its first word begins and ends."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a text. ``score``: the share of the question's weight that it holds, 0-1 (a little above with names whole)."""

    text: str
    score: float
    matched: frozenset[str]


class Question:
    """What is asked, made ready to be looked for in many texts. Weights say how much each term tells once :meth:`weigh` has seen them."""

    def __init__(self, terms: Sequence[Term]) -> None:
        self.terms = terms
        self.weights = {term.stem: term.weight for term in terms}
        words = [_beginning(term) for term in terms if term.kind != "cjk"]
        pairs = [re.escape(term.stem) for term in terms if term.kind == "cjk"]
        self._beside = set(pairwise(term.stem for term in terms))
        # A stem is the beginning of each of its words, so that one scan finds all that are worth a closer look; a pair of
        # characters stands anywhere, also across another pair, hence the look-ahead. Case is ignored in the words alone: for
        # whole ranges of characters that would take the compiler longer than the search.
        looks = []
        if words:
            joined = "|".join(words)
            looks.append(rf"(?<![{_LETTERS}])(?P<word>(?i:{joined})[_'’{_LETTERS}]*)|(?<=[a-z])(?P<part>(?:{_capitals(terms)})[a-z]*)")
        if pairs:
            looks.append(rf"(?=(?P<pair>{'|'.join(pairs)}))")
        self._scan = re.compile("|".join(looks))

    def held(self, text: str) -> Held:
        """Return which of the question's stems ``text`` holds, and where."""
        found: Held = {}
        for match in self._scan.finditer(text):
            pair = match["pair"] if "pair" in self._scan.groupindex else None
            if pair:
                found.setdefault(pair, match.span("pair"))
                continue
            for stem in word_stems(match.group()):
                if stem in self.weights:
                    found.setdefault(stem, match.span())
        return found

    def weigh(self, helds: Sequence[Held]) -> None:
        """Weigh each term by its kind and by how few of the found texts hold it; one that none holds tells half."""
        for term in self.terms:
            holding = sum(1 for held in helds if term.stem in held)
            rarity = 1 + math.log((len(helds) + 1) / (holding + 1)) if holding else _UNSEEN
            self.weights[term.stem] = term.weight * rarity

    def share(self, held: Held) -> float:
        """Return the share of the question's weight in what a text holds, 0-1."""
        return sum(self.weights[stem] for stem in held) / sum(self.weights.values())

    def passages(self, text: str) -> list[Passage]:
        """Return the best one or two passages of ``text``, best first."""
        units = self._units(text)
        helds = [self.held(unit) for unit in units]
        scored = sorted(((self._score(units, helds, index), index) for index, held in enumerate(helds) if held), key=lambda entry: (-entry[0], entry[1]))
        found: list[Passage] = []
        taken: set[int] = set()
        for score, index in scored:
            if len(found) == BEST:
                break
            if index in taken:
                continue
            window = _window(units, index)
            taken.update(window)
            found.append(Passage(_crop(" ".join(units[i] for i in window), units[index], helds[index]), score, frozenset(helds[index])))
        return found

    def _score(self, units: Sequence[str], helds: Sequence[Held], index: int) -> float:
        here = helds[index]
        around = {stem for near in helds[max(0, index - 1) : index + 2] for stem in near} - here.keys()
        gained = sum(self.weights[stem] for stem in here) + NEIGHBOUR_SHARE * sum(self.weights[stem] for stem in around)
        beside = sum(min(self.weights[a], self.weights[b]) for a, b in self._beside if a in here and b in here and _adjoin(units[index], here[a], here[b]))
        told = QUESTION_SHARE if units[index].endswith(("?", "？")) else 1.0
        return told * (gained + NEXT_TO_EACH_OTHER * beside) / sum(self.weights.values())

    def _units(self, text: str) -> list[str]:
        """The sentences of ``text`` near a match, in order."""
        spans: list[tuple[int, int]] = []
        for match in self._scan.finditer(text):
            start, end = max(0, match.start() - _NEAR_CHARS), match.end() + _NEAR_CHARS
            if spans and start <= spans[-1][1]:
                spans[-1] = (spans[-1][0], end)
            else:
                spans.append((start, end))
        return [unit for start, end in spans for unit in sentences.split(_whole_words(text, start, end))]


def _beginning(term: Term) -> str:
    """How the words of a term begin; a number may be written with separators of thousands."""
    if term.stem.isdigit():
        return ",?".join(re.escape(digit) for digit in term.stem)
    return re.escape(term.stem)


def _capitals(terms: Sequence[Term]) -> str:
    return "|".join(re.escape(term.stem[:1].upper() + term.stem[1:]) for term in terms if term.kind != "cjk")


def _adjoin(text: str, one: tuple[int, int], other: tuple[int, int]) -> bool:
    between = text[one[1] : other[0]] if one[1] <= other[0] else "far"
    return len(between) <= 2 and not between.strip(" .,-")  # noqa: PLR2004 - a space, or a point and a space


def _whole_words(text: str, start: int, end: int) -> str:
    """The span without the words cut in two at its ends."""
    while 0 < start < len(text) and not text[start - 1].isspace() and text[start].isalnum() and text[start - 1].isalnum() and text[start].isascii():
        start += 1
    return text[start:end]


def _window(units: Sequence[str], index: int) -> list[int]:
    """The sentence, and the one before it when it leans on that, as long as both are short."""
    if index > 0 and _LEANS.match(units[index]) and len(units[index - 1]) + len(units[index]) < MAX_CHARS:
        return [index - 1, index]
    return [index]


def _crop(window: str, unit: str, held: Held) -> str:
    if len(window) <= MAX_CHARS:
        return window
    start = max(0, min(start for start, _ in held.values()) - MAX_CHARS // 4)
    end = start + MAX_CHARS
    return f"{'…' if start else ''}{unit[start:end].strip()}{'…' if end < len(unit) else ''}"
