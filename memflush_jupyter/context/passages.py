"""The sentences of a found text that answer to a question, and how well they do: a window rather than the whole message (G5)."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from memflush_jupyter.context import terms as words
from memflush_jupyter.memory import sentences

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from memflush_jupyter.context.terms import Term

MAX_CHARS = 320
"""Characters of one passage; a longer sentence is cut around what matched."""

NEIGHBOUR_SHARE = 0.4
"""What a term counts that stands only in the sentence before or after."""

NEXT_TO_EACH_OTHER = 0.25
"""What two terms of the question count extra when they stand side by side, as the parts of a name do."""

_BEST = 2  # passages of one message
_LONG_TEXT = 20_000
_LEANS = re.compile(r"^(?:\W*)(?:he|she|they|it|this|that|these|those|his|her|their|its|there|also|and|but|so|then|他|她|它|这|那)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a text. ``score``: the share of the question's weight that it holds, 0-1 (a little above with names whole)."""

    text: str
    score: float
    matched: frozenset[str]


def weigh(terms: Sequence[Term], texts: Iterable[str]) -> dict[str, float]:
    """Weigh each term by its kind and by how few of the found texts hold it."""
    sets = [set(words.stems(text[:_LONG_TEXT])) for text in texts]
    weights: dict[str, float] = {}
    for term in terms:
        holding = sum(1 for found in sets if term.stem in found)
        rarity = 1 + math.log((len(sets) + 1) / (holding + 1)) if holding else 1.0
        weights[term.stem] = term.weight * rarity
    return weights


def best(text: str, order: Sequence[str], weights: Mapping[str, float]) -> list[Passage]:
    """Return the best one or two passages of ``text``, best first; ``order`` are the question's stems as they stand in it."""
    total = sum(weights.values())
    if total <= 0:
        return []
    units = _units(text, weights)
    held = [_held(unit, weights) for unit in units]
    pairs = set(pairwise(order))
    scored: list[tuple[float, int]] = []
    for index, here in enumerate(held):
        if not here:
            continue
        around = {stem for near in held[max(0, index - 1) : index + 2] for stem in near} - here.keys()
        gained = sum(weights[stem] for stem in here) + NEIGHBOUR_SHARE * sum(weights[stem] for stem in around)
        beside = sum(min(weights[a], weights[b]) for a, b in pairs if a in here and b in here and here[b] - here[a] == 1)
        scored.append(((gained + NEXT_TO_EACH_OTHER * beside) / total, index))
    scored.sort(key=lambda entry: (-entry[0], entry[1]))
    found: list[Passage] = []
    taken: set[int] = set()
    for score, index in scored:
        if len(found) == _BEST:
            break
        if index in taken:
            continue
        window = _window(units, index)
        taken.update(window)
        found.append(Passage(_crop(" ".join(units[i] for i in window), held[index]), score, frozenset(held[index])))
    return found


def _units(text: str, weights: Mapping[str, float]) -> list[str]:
    """Sentences and lines. In a long text only the lines near a match are looked at."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(text) > _LONG_TEXT:
        sought = re.compile("|".join(re.escape(stem) for stem in weights), re.IGNORECASE)
        near = {index + step for index, line in enumerate(lines) if sought.search(line) for step in (-1, 0, 1)}
        lines = [line for index, line in enumerate(lines) if index in near]
    return [unit for line in lines for unit in sentences.split(line)]


def _held(unit: str, weights: Mapping[str, float]) -> dict[str, int]:
    """The question's stems in a unit, each with its first position."""
    held: dict[str, int] = {}
    for position, stem in enumerate(words.stems(unit)):
        if stem in weights:
            held.setdefault(stem, position)
    return held


def _window(units: Sequence[str], index: int) -> list[int]:
    """The sentence, and the one before it when it leans on that, as long as both are short."""
    if index > 0 and _LEANS.match(units[index]) and len(units[index - 1]) + len(units[index]) < MAX_CHARS:
        return [index - 1, index]
    return [index]


def _crop(text: str, held: Mapping[str, int]) -> str:
    if len(text) <= MAX_CHARS:
        return text
    lowered = text.lower()
    places = [place for place in (lowered.find(stem) for stem in held) if place >= 0]
    start = max(0, min(places, default=0) - MAX_CHARS // 4)
    end = start + MAX_CHARS
    return f"{'…' if start else ''}{text[start:end].strip()}{'…' if end < len(text) else ''}"
