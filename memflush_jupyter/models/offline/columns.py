"""Which columns a text mentions. Never a guess: when two columns match a phrase equally, both are reported."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memflush_jupyter.models.offline.words import IDLE, Token, pieces, same_word, tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memflush_jupyter.models.offline.schema import Column

_QUOTED = re.compile(r"`([^`\n]+)`|\"([^\"\n]+)\"|'([^'\n]+)'(?!\w)|“([^”\n]+)”|「([^」\n]+)」")
_BEFORE_A_COLUMN = re.compile(
    r"(?:\b(?:of|by|for|column|vs|versus|against|and|per|between|the|over|on|with|from|in|is|each|mean|average|median|sum"
    r"|total|max|maximum|min|minimum|highest|lowest"
    r"|largest|smallest|where|when|predict|plot|regress|compare|describe|histogram|top \d+)|[,(=])\s*$",
    re.IGNORECASE,
)
_AFTER_A_COLUMN = re.compile(r"\s*(?:$|[,.?!;)=<>]|(?:by|per|on|and|or|vs|versus|against|from|for|where|over|is)\b)", re.IGNORECASE)
_JOINING = frozenset({"by", "of", "per", "in", "for", "vs", "versus", "and", "or", "from", "to", "with", "on", "at", "the", "over", "against", "between"})
_MIN_PARTIAL = 3


@dataclass(frozen=True, slots=True)
class Mention:
    """A stretch of text that names a column; with more than one candidate it is ambiguous."""

    start: int
    end: int
    candidates: tuple[Column, ...]

    @property
    def column(self) -> Column:
        """The one candidate."""
        return self.candidates[0]

    @property
    def ambiguous(self) -> bool:
        """Whether several columns match equally well."""
        return len(self.candidates) > 1


def mentions(text: str, columns: Sequence[Column]) -> list[Mention]:
    """The mentions of columns in a text, in order, without overlaps: quoted, then whole names, then by words."""
    found: list[Mention] = []
    for match in _QUOTED.finditer(text):
        name = next(group for group in match.groups() if group is not None)
        exact = [c for c in columns if c.name == name] or [c for c in columns if c.name.casefold() == name.casefold()]
        exact = exact or [c for c in columns if c.name.strip().casefold() == name.strip().casefold()]
        if exact:
            found.append(Mention(match.start(), match.end(), tuple(exact)))
    found += _whole_names(text, columns, found)
    found += _by_words(text, columns, found)
    return sorted(found, key=lambda mention: mention.start)


def _overlaps(start: int, end: int, found: Sequence[Mention]) -> bool:
    return any(start < mention.end and mention.start < end for mention in found)


def _whole_names(text: str, columns: Sequence[Column], before: Sequence[Mention]) -> list[Mention]:
    """Names that stand in the text as they are; the longest first, exact case before any case."""
    found: list[Mention] = []
    folded = text.casefold() if len(text.casefold()) == len(text) else text
    for exact in (True, False):
        for column in sorted(columns, key=lambda c: -len(c.name)):
            name = column.name.strip()
            if not name or (name.isdigit() and len(name) < _MIN_PARTIAL):
                continue
            pattern = (r"(?<![A-Za-z0-9_])" if name[0].isascii() and (name[0].isalnum() or name[0] == "_") else "") + re.escape(
                name if exact else name.casefold()
            )
            pattern += r"(?![A-Za-z0-9_])" if name[-1].isascii() and (name[-1].isalnum() or name[-1] == "_") else ""
            for match in re.finditer(pattern, text if exact else folded):
                if _overlaps(match.start(), match.end(), [*before, *found]) or not _stands_as_column(text, match.start(), match.end(), name):
                    continue
                same = [c for c in columns if (c.name.strip() == name if exact else c.name.strip().casefold() == name.casefold())]
                found.append(Mention(match.start(), match.end(), tuple(same)))
    return found


def _stands_as_column(text: str, start: int, end: int, name: str) -> bool:
    """A column named like an ordinary word (``count``, ``size``, ``mean``) counts only where a column belongs."""
    if name.casefold() not in IDLE and not name.casefold().isdigit():
        return True
    if re.match(r"\s+(?:of|values?|number)\b", text[end:]) or (name.casefold() == "time" and re.search(r"\bover\s+$", text[:start])):
        return False
    if re.match(r"\s+column\b", text[end:]) or re.search(r"\bcolumn\s+$", text[:start]):
        return True
    if name.casefold() in _JOINING:  # before something it joins; a column of that name is quoted, or nothing follows it
        return not text[end:].strip(" .?!") and bool(_BEFORE_A_COLUMN.search(text[:start]))
    if text[start:end] in {"a", "I", "i"} and not _AFTER_A_COLUMN.match(text[end:]):
        return False
    if name.casefold() in {"year", "month", "day", "date", "time", "week", "class", "group", "category", "type", "kind", "value", "name"}:
        return True
    return bool(_BEFORE_A_COLUMN.search(text[:start]))


def _run_length(run: Sequence[Token], words: Sequence[str]) -> int:
    """How many tokens from the start of ``run`` match consecutive words of a name, from its best place."""
    best = 0
    for offset in range(len(words)):
        length = 0
        while length < len(run) and offset + length < len(words) and same_word(run[length].word, words[offset + length]):
            length += 1
        best = max(best, length)
    return best


def _by_words(text: str, columns: Sequence[Column], before: Sequence[Mention]) -> list[Mention]:
    """Mentions by words: ``bill length`` for ``bill_length_mm``; ``mass`` for ``body_mass_g`` if no other has it."""
    words = {column: pieces(column.name) for column in columns}
    everything = tokens(text)
    found: list[Mention] = []
    at = 0
    while at < len(everything):
        run = _free_run(everything[at:], before, text)
        lengths = {column: _run_length(run, words[column]) for column in columns} if run else {}
        best = max(lengths.values(), default=0)
        candidates = [column for column, length in lengths.items() if length == best] if best else []
        if not best or not _enough(run[:best], [words[column] for column in candidates]):
            at += 1
            continue
        whole = [column for column in candidates if len(words[column]) == best]
        found.append(Mention(run[0].start, run[best - 1].end, tuple(whole or candidates)))
        at += best
    return found


def _free_run(rest: Sequence[Token], before: Sequence[Mention], text: str) -> list[Token]:
    """The tokens from here up to an existing mention or a break in the text."""
    run: list[Token] = []
    for token in rest:
        if _overlaps(token.start, token.end, before) or (run and not re.fullmatch(r"[\s_\-./]*", text[run[-1].end : token.start])):
            break
        run.append(token)
    return run


def _enough(run: Sequence[Token], names: Sequence[Sequence[str]]) -> bool:
    """Whether the matched words say enough: not only idle words, digits or very short pieces, unless they are the whole name."""
    joined = "".join(token.word for token in run)
    whole = any(len(name) == len(run) for name in names)
    telling = [token for token in run if token.word not in IDLE and not token.word.isdigit()]
    if not telling:
        return whole and len(run) > 1
    return whole or not joined.isascii() or any(len(token.word) >= _MIN_PARTIAL for token in telling)


def masked(text: str, found: Sequence[Mention]) -> str:
    """The text with each mention replaced by a mark of equal length, so that places still agree."""
    result = text
    for mention in found:
        result = result[: mention.start] + "\x00" * (mention.end - mention.start) + result[mention.end :]
    return result
