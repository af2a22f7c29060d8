"""Which rows a clause is about: comparisons with numbers and dates, and values of text columns."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memflush_jupyter.models.offline.task import Condition, NeedsValues, Operator, Question
from memflush_jupyter.models.offline.words import IDLE, LABEL_LIKE, NUMBER_WORDS, Token, pieces, same_word, tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memflush_jupyter.models.offline.schema import Column, Frame

MARK = "\ue000"
"""First private-use character: mention number *i* of a clause stands in its text as ``chr(ord(MARK) + i)``."""
_M = "[\ue000-\uf8ff]"
_VALUE = r"(-?\d{4}-\d\d(?:-\d\d)?|-?\d+(?:\.\d+)?)"
_OPERATORS: tuple[tuple[Operator, str], ...] = (
    (">=", r">=|≥|(?:is |are |of )?at least|(?:is |are )?greater than or equal to|(?:is |are )?no less than"),
    ("<=", r"<=|≤|(?:is |are |of )?at most|(?:is |are )?less than or equal to|(?:is |are )?no more than|up to"),
    ("!=", r"!=|≠|(?:is |are )?not(?: equal to)?"),
    (
        ">",
        (
            r">|(?:is |are )?(?:above|over|greater than|more than|larger than|higher than|bigger than|longer than|heavier than"
            r"|exceeds?|exceeding)|(?:is |are )?after"
        ),
    ),
    ("<", r"<|(?:is |are )?(?:below|under|less than|smaller than|lower than|fewer than|shorter than|lighter than)|(?:is |are )?before"),
    ("==", r"==?|equals?(?: to)?|is|are|of exactly"),
)
_TIMES: tuple[tuple[Operator, str], ...] = (
    ("since", r"since|from"),
    ("until", r"until|till|up to"),
    ("after", r"after"),
    ("before", r"before"),
    ("year", r"in|during|for"),
)
_NEGATION = re.compile(
    r"\b(?:excluding|except(?: for)?|without|not|non|other than|ignoring|but no|no|all but|leaving out)[\s-]*(?:the\s+|of\s+)?$", re.IGNORECASE
)


_SURE = re.compile(r"\b(?:only(?: for)?|among|excluding|except(?: for)?|without)\s+(?:the\s+)?$", re.IGNORECASE)
_POINTED = re.compile(r"\b(?:for|just|equals|is)\s+(?:the\s+)?$", re.IGNORECASE)
_NO_VALUES = frozenset(
    """
    a an the each every all it them this that these those me us you my our any both there missing null nulls nan outliers anomalies trend
    trends time rows columns values data correlation distribution mean average median sum total minimum maximum min max standard different
    three two one what which how plot plotting related correlated associated separate only not for in on of by and to with between across
    per over under above below
    """.split()
)
"""Words that follow "for" or "is" in ordinary requests and are no values."""
_NEVER_VALUES = frozenset({"a", "an", "the", "each", "every", "all", "it", "them", "this", "that", "these", "those", "missing", "for"})


@dataclass(frozen=True, slots=True)
class Reading:
    """Filters found, and the words that nothing explains. ``used``: columns that were only named to filter."""

    conditions: tuple[Condition, ...]
    used: frozenset[int]
    unexplained: tuple[str, ...]


def comparisons(text: str, columns: Sequence[Column], frame: Frame) -> tuple[str, list[Condition], set[int]]:
    """Take comparisons such as ``year > 2007`` and ``since 2008`` out of a clause: the rest, the filters, the columns used."""
    found: list[Condition] = []
    used: set[int] = set()

    def column_at(mark: str) -> Column:
        at = ord(mark) - ord(MARK)
        used.add(at)
        return columns[at]

    def between(match: re.Match[str]) -> str:
        found.append(Condition(column_at(match[1]), "between", (match[2], match[3])))
        return " "

    text = re.sub(rf"({_M})\s+(?:is |are )?(?:between|from)\s+{_VALUE}\s+(?:and|to)\s+{_VALUE}", between, text, flags=re.IGNORECASE)
    for operator, words in _OPERATORS:

        def compare(match: re.Match[str], operator: Operator = operator) -> str:
            found.append(Condition(column_at(match[1]), operator, (match[2],)))
            return " "

        text = re.sub(rf"({_M})\s*(?:values?\s+)?(?:{words})\s*{_VALUE}(?![\w.%])(?!\s*(?:sigma|σ|decimals|bins))", compare, text, flags=re.IGNORECASE)

    timed = _time_column(frame)
    if timed is not None:
        for operator, words in _TIMES:

            def period(match: re.Match[str], operator: Operator = operator) -> str:
                found.append(Condition(timed, "==" if operator == "year" and timed.role == "number" else operator, (match[1],)))
                return " "

            text = re.sub(
                rf"\b(?:{words})\s+(?:the (?:year|season)\s+|{_M}\s+)?((?:1[5-9]|20|21)\d\d(?:-\d\d(?:-\d\d)?)?)(?![\w.])", period, text, flags=re.IGNORECASE
            )
    return text, found, used


def _time_column(frame: Frame) -> Column | None:
    """The one column that years in a request can mean; ``None`` when there is none or more than one."""
    timed = time_columns(frame)
    years = [c for c in timed if "year" in pieces(c.name) or c.role != "number"]
    return years[0] if len(years) == 1 else None


def time_columns(frame: Frame) -> list[Column]:
    """Columns that hold time: by dtype, else by name."""
    typed = frame.of_role("time")
    words = {"date", "datetime", "time", "timestamp", "year", "month", "day", "week", "quarter", "日期", "时间", "年份"}
    named = [
        c
        for c in frame.columns
        if c.role in {"number", "text"} and (words & set(pieces(c.name)) or any(w in c.name for w in ("日期", "时间", "年份"))) and "category" not in c.dtype
    ]
    return typed or [c for c in named if c.role == "text" or {"year", "month", "week", "quarter", "day"} & set(pieces(c.name)) or "年份" in c.name]


def values(text: str, frame: Frame, mentioned: Sequence[Column]) -> tuple[list[Condition], list[str]] | Question | NeedsValues:
    """Explain the words left over as values of text columns; what stays unexplained is returned, never guessed."""
    plain = re.sub(_M, "\x00", text)
    everything = tokens(plain)
    unknown = [token for token in everything if token.word not in IDLE and token.word not in NUMBER_WORDS]
    wanted = [*unknown, *_maybe_values(everything, plain)]
    if not wanted:
        return [], []
    if frame.values is None:
        if frame.of_role("text", "flag"):
            return NeedsValues(frame)
        return [], [token.word for token in unknown]
    chosen: dict[tuple[Column, bool], list[str]] = {}
    explained: set[int] = set()
    at = 0
    while at < len(everything):
        length, hits = _hits(everything, at, {token.start for token in wanted}, frame)
        if not hits:
            at += 1
            continue
        hits = [hit for hit in hits if hit[1] in plain] or hits
        hits = [hit for hit in hits if hit[0] in mentioned] or hits
        if len({column.position for column, _ in hits}) > 1:
            places = " and ".join(f"`{column.name}`" for column, _ in hits)
            return Question(f"The value `{hits[0][1]}` occurs in {places}. Which column do you mean?")
        negative = bool(_NEGATION.search(plain[: everything[at].start]))
        for column, value in hits:
            chosen.setdefault((column, negative), []).append(value)
        explained.update(range(at, at + length))
        at += length
    conditions = [Condition(column, "not in" if negative else "in", tuple(dict.fromkeys(found))) for (column, negative), found in chosen.items()]
    return conditions, [token.word for number, token in enumerate(everything) if token in unknown and number not in explained]


def _maybe_values(everything: Sequence[Token], plain: str) -> list[Token]:
    """Words that carry no data as a rule, but may be a value here: "small", or what follows "only for"."""
    found: list[Token] = []
    for token in everything:
        before = plain[: token.start]
        sure = token.word not in _NEVER_VALUES and _SURE.search(before)
        if token.word in LABEL_LIKE or sure or (token.word in IDLE - _NO_VALUES and _POINTED.search(before)):
            found.append(token)
    return found


def _hits(everything: Sequence[Token], at: int, unknown: set[int], frame: Frame) -> tuple[int, list[tuple[Column, str]]]:
    """The values that begin at a word, the longest only; at least one of their words must still want explaining."""
    best = 0
    hits: list[tuple[Column, str]] = []
    columns = {column.name: column for column in frame.columns}
    for name, value in frame.values or ():
        words = [token.word for token in tokens(value)]
        run = everything[at : at + len(words)]
        if name not in columns or not words or len(run) < len(words) or len(words) < best:
            continue
        if all(same_word(token.word, word) for token, word in zip(run, words, strict=True)) and any(token.start in unknown for token in run):
            hits = [*(hits if len(words) == best else []), (columns[name], value)]
            best = len(words)
    return best, hits
