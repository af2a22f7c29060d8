"""Sentences of English and Chinese prose: where they end, without being fooled by abbreviations, decimals and file names."""

from __future__ import annotations

import re

_ABBREVIATIONS = frozenset(
    [
        *("e.g", "i.e", "cf", "vs", "etc", "approx", "ca", "no", "nr", "fig", "figs", "eq", "eqs", "sec", "ch", "vol", "p", "pp", "ed", "eds"),
        *("dr", "mr", "mrs", "ms", "prof", "st", "jr", "sr", "inc", "ltd", "co", "corp", "dept", "est", "al", "resp", "incl", "excl", "max"),
        *("min", "avg", "std", "jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec", "mon", "tue", "tues"),
        *("wed", "thu", "thur", "thurs", "fri", "sat", "sun", "a.m", "p.m", "u.s", "u.k", "u.n", "e.u", "ph.d", "m.sc", "b.sc"),
    ]
)
_NEVER_END = frozenset(
    [
        *("e.g", "i.e", "cf", "vs", "approx", "ca", "nr", "fig", "figs", "eq", "eqs", "sec", "ch", "vol", "p", "pp", "ed", "eds"),
        *("dr", "mr", "mrs", "ms", "prof", "st"),
    ]
)
"""Abbreviations that something always follows; the others close a sentence when a capital letter follows."""

_BOUNDARY = re.compile(r"[.!?…]+[\"'”’)\]*_`]*(?=\s|$)|[。！？]+[”’」』）)\"]*|(?<=[\u3400-\u9fff])[；;]|[ \t]*\n\s*")
_LAST_WORD = re.compile(r"[^\s(\[\"'“]+$")
_LONGEST_WORD = 40
_LIST_DIGITS = 2
"""Digits that the number of a list item has: ``1. First``."""

_OPENING = " \t\r\n\"'“‘(["


def split(text: str) -> list[str]:
    """Return the sentences of ``text``, stripped, in order; nothing but white space between them is lost.

    A line break always ends a sentence: callers that unwrap paragraphs do so first.
    """
    found: list[str] = []
    start = 0
    for match in _BOUNDARY.finditer(text):
        if not _ends(text, start, match):
            continue
        if sentence := text[start : match.end()].strip():
            found.append(sentence)
        start = match.end()
    if rest := text[start:].strip():
        found.append(rest)
    return found


def _ends(text: str, start: int, match: re.Match[str]) -> bool:
    """Tell whether the mark at ``match`` closes the sentence that began at ``start``."""
    if not match.group().startswith("."):
        return True
    if match.group().startswith("..") and _next(text, match.end()).islower():
        return False
    word_match = _LAST_WORD.search(text, max(start, match.start() - _LONGEST_WORD), match.start())
    word = word_match.group().lower() if word_match else ""
    following = _next(text, match.end())
    if word in _ABBREVIATIONS:
        return word not in _NEVER_END and (following.isupper() or not following)
    if len(word) == 1 and word.isalpha() and word_match and word_match.group().isupper():
        return not following
    if word.isdigit() and len(word) <= _LIST_DIGITS and text[start : match.start()].strip() == word:
        return not following
    return True


def _next(text: str, position: int) -> str:
    while position < len(text) and text[position] in _OPENING:
        position += 1
    return text[position : position + 1]
