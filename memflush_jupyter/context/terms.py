"""What a prompt asks about: its words without the small ones, with names, numbers and identifiers told apart (G5)."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from memflush_jupyter.context.stopwords import ASKING, CJK, ENGLISH

if TYPE_CHECKING:
    from collections.abc import Sequence

TermKind = Literal["name", "number", "identifier", "word", "cjk", "asking"]

WEIGHTS: dict[TermKind, float] = {"name": 1.3, "number": 1.3, "identifier": 1.5, "word": 1.0, "cjk": 0.8, "asking": 0.3}
"""How much a term says about what is meant, beside how rare it is."""

CJK_RANGE = "\u3400-\u9fff\uf900-\ufaff\u3040-\u30ff\uac00-\ud7af"
_TOKEN = re.compile(rf"\d+(?:[.,]\d+)+(?!\w)|[{CJK_RANGE}]+|[^\W_{CJK_RANGE}](?:[\w.\-/:@'’]*[^\W_{CJK_RANGE}])?")
_CJK_STOP = re.compile("|".join(CJK))
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-zß-ÿ]+|\d+(?:[.,]\d+)*|[^\W\d_A-Za-z]+", re.UNICODE)
_SENTENCE_START = re.compile(r"(?:^|[.!?:;。！？\n\"“(\[]\s*)$")
_OF_ONESELF = re.compile(r"\b(?:i|my|mine|we|our)\b.*\?|\b(?:what|who|which|when|where|how)\b.*\b(?:i|my|we|our)\b", re.IGNORECASE)
_MOST_PHRASES = 4
_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_CODE_LINE = re.compile(
    r"""
    \s{2,}\S                                                      # the body of a block
  | [%!@#]                                                        # magics, shell, decorators, comments
  | import\s[\w., ]+$ | from\s[\w.]+\simport\b
  | (?:def|class|for|while|with|if|elif|else|try|except|finally|async)\b.*:$
  | [\w.\[\]'"]+(?:\s*,\s*[\w.]+)*\s*[-+*/]?=[^=]              # assignments
  | [\w.]+\((?:.*\))?\s*$                                           # calls
  | [)\]}]
    """,
    re.VERBOSE,
)


_PLURALS = (("ies", "y"), ("ied", "y"), ("sses", "ss"), ("shes", "sh"), ("ches", "ch"), ("xes", "x"))
_INFLECTIONS = (("ing", "", 3), ("ed", "", 3), ("ly", "", 4), ("er", "", 4), ("or", "", 5), ("al", "", 5))
_DERIVATIONS = (
    ("ization", "", 4), ("isation", "", 4), ("ication", "icat", 3), ("ation", "at", 4), ("ion", "", 4), ("acy", "at", 4), ("ize", "", 5),
    ("ise", "", 5), ("iz", "", 5),
    ("is", "", 5), ("ist", "", 5), ("ment", "", 5), ("ness", "", 4), ("ity", "", 4),
)  # fmt: skip
"""What English words lose, what they get for it, and how many letters must stand before; one of each kind."""


@dataclass(frozen=True, slots=True)
class Term:
    """One thing a prompt asks about. ``stem`` is what it is compared by."""

    text: str
    stem: str
    kind: TermKind

    @property
    def weight(self) -> float:
        """How much it says, from its kind alone."""
        return WEIGHTS[self.kind]


def query_terms(prompt: str) -> list[Term]:
    """Return the distinct terms of a prompt in its order; empty when it asks about nothing that could be found again.

    Code in fences, and prompts that are code throughout, ask about nothing; neither do greetings, acknowledgements and
    orders such as "show me". A question about oneself ("What is my name?") asks, though its words tell little.
    """
    prose = _FENCE.sub(" ", prompt)
    lines = [line for line in prose.splitlines() if line.strip()]
    if not lines or all(_CODE_LINE.match(line) for line in lines):
        return []
    found: dict[str, Term] = {}
    for match in _TOKEN.finditer(prose):
        for term in _terms(match.group(), at_start=_SENTENCE_START.search(prose, 0, match.start()) is not None):
            found.setdefault(term.stem, term)
    told = [term for term in found.values() if term.kind != "asking"]
    return list(found.values()) if told or _OF_ONESELF.search(prose) else []


def phrases(prompt: str) -> list[str]:
    """Return up to four pairs of neighbouring words of which one is a name or a number, such as ``Nora Fishel`` or ``3 sigma``."""
    prose = _FENCE.sub(" ", prompt)
    found: dict[str, None] = {}
    for one, other in pairwise(_TOKEN.finditer(prose)):
        words = [one.group().removesuffix("'s"), other.group().removesuffix("'s")]
        small = any(word.lower() in ENGLISH or word.lower() in ASKING or _is_cjk(word) for word in words)
        if not small and prose[one.end() : other.start()] in {" ", ". "} and any(word[0].isupper() or word[0].isdigit() for word in words):
            found[" ".join(words)] = None
    return list(found)[:_MOST_PHRASES]


def word_stems(word: str) -> list[str]:
    """Return the stem of a word of a text, and those of its parts when it is a compound such as ``bill_length_mm``."""
    found = [stem(word)]
    if not word.isalpha() or not word[1:].islower():
        parts = _PART.findall(word)
        if len(parts) > 1:
            found += [stem(part) for part in parts]
    return found


@functools.lru_cache(maxsize=16_384)
def stem(word: str) -> str:
    """Strip the common English endings, so that ``collaborated`` and ``collaboration`` are one; other words only get lower case."""
    word = word.lower().replace("’", "'").removesuffix("'s").rstrip("'.:-/")
    if not word.isascii() or not word.isalpha() or len(word) <= 3:  # noqa: PLR2004 - short words have no ending to lose
        return word.replace(",", "") if word[:1].isdigit() else word
    for ending, new in _PLURALS:
        if word.endswith(ending):
            word = word.removesuffix(ending) + new
            break
    else:
        if word.endswith("s") and not word.endswith(("ss", "us", "is")):
            word = word[:-1]
    return _bare(_without(_without(word, _INFLECTIONS), _DERIVATIONS))


def _without(word: str, endings: Sequence[tuple[str, str, int]]) -> str:
    for ending, new, least in endings:
        if word.endswith(ending) and len(word) - len(ending) >= least:
            word = word.removesuffix(ending) + new
            doubled = word[-1] == word[-2] and word[-1] not in "lsz"
            return word[:-1] if doubled else word
    return word


def _bare(word: str) -> str:
    return word[:-1] if len(word) > 3 and word[-1] in "ey" else word  # noqa: PLR2004 - as above


def _terms(token: str, *, at_start: bool) -> list[Term]:
    if _is_cjk(token):
        runs = [run for run in _CJK_STOP.split(token) if run]
        return [Term(pair, pair, "cjk") for run in runs if len(run) > 1 or run == token for pair in _pairs(run)]
    token = token.removesuffix("'s").removesuffix("’s")
    if token.lower().replace("’", "'") in ENGLISH or (len(token) == 1 and not token.isdigit()):
        return []
    kind = _kind(token, at_start=at_start)
    found = [Term(token, stem(token), kind)]
    if kind == "identifier":  # people also write a column's name in words
        found += [Term(part, stem(part), "word") for part in _PART.findall(token) if len(part) > 1 and part.lower() not in ENGLISH]
    return found


def _kind(token: str, *, at_start: bool) -> TermKind:
    if token.lower() in ASKING:
        return "asking"
    if token[0].isdigit():
        return "number"
    if re.search(r"[_/@:]|\w\.\w|[a-z][A-Z]", token):
        return "identifier"
    if token[0].isupper() and not (at_start and token[1:].islower()):
        return "name"
    return "word"


def _is_cjk(token: str) -> bool:
    return re.match(f"[{CJK_RANGE}]", token) is not None


def _pairs(run: str) -> list[str]:
    return [run[index : index + 2] for index in range(len(run) - 1)] or [run]
