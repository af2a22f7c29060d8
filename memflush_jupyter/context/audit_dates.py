"""Dates and times of day as people write them: equal dates in different notations are one (the audit of a compaction)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memflush_jupyter.context.audit_units import unit_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_MONTHS = [
    "january jan januar janvier enero gennaio janeiro января январь",
    "february feb februar février fevrier febrero febbraio fevereiro февраля февраль",
    "march mar märz maerz mars marzo março марта март",
    "april apr avril abril aprile апреля апрель",
    "may mai mayo maggio maio мая май",
    "june jun juni juin junio giugno junho июня июнь",
    "july jul juli juillet julio luglio julho июля июль",
    "august aug août aout agosto августа август",
    "september sep sept septembre septiembre settembre setembro сентября сентябрь",
    "october oct oktober okt octobre octubre ottobre outubro октября октябрь",
    "november nov novembre noviembre novembro ноября ноябрь",
    "december dec dezember dez décembre decembre diciembre dicembre dezembro декабря декабрь",
]
_MONTH_OF = {name: number for number, names in enumerate(_MONTHS, 1) for name in names.split()}
_MONTH = "|".join(sorted(_MONTH_OF, key=len, reverse=True))
_YEAR = r"(?:1[5-9]|20|21)\d\d"
_ORDINAL = r"(?:st|nd|rd|th|er|º|\.)?"

_NUMERIC = re.compile(
    rf"(?<![\w/.-])(?:(?P<y1>{_YEAR})(?P<s1>[-/.])(?P<m1>\d\d?)(?P=s1)(?P<d1>\d\d?)(?!\d|[-/.]\d)"
    rf"|(?P<a>\d\d?)(?P<s2>[-/.])(?P<b>\d\d?)(?P=s2)(?P<y2>{_YEAR}|(?<=/)\d\d)(?!\d|[-/.]\d)"
    rf"|(?P<y3>{_YEAR})-(?P<m3>0[1-9]|1[0-2])(?![\d-])"
    rf"|(?P<q1>[1-4]) ?Q ?(?P<yq1>{_YEAR})|Q(?P<q2>[1-4])[ /,-]{{0,2}}(?:of )?(?P<yq2>{_YEAR})|(?P<yq3>{_YEAR})[ /-]?Q(?P<q3>[1-4]))(?!\w*[_\\])",
    re.ASCII,
)
_NAMED = re.compile(
    rf"(?<![\w])(?:(?P<d1>\d\d?){_ORDINAL}(?:\s+(?:of|de))?[\s-]+(?P<m1>{_MONTH})\b\.?(?:,?[\s-]+(?:de\s+|of\s+)?(?P<y1>{_YEAR})(?!\d))?"
    rf"|(?P<m2>{_MONTH})\b\.?\s+(?P<d2>\d\d?)(?:st|nd|rd|th)?(?!\d|[.:,]\d|\s?%)(?:,?\s+(?P<y2>{_YEAR})(?!\d))?"
    rf"|(?P<m3>{_MONTH})\b\.?,?\s+(?:de\s+|of\s+)?(?P<y3>{_YEAR})(?!\d))",
    re.IGNORECASE,
)
_EAST = re.compile(
    r"(?:(?P<y1>\d{4})\s?[年년]\s?)?(?P<m1>1[0-2]|0?[1-9])\s?[月월](?!份?内)(?:\s?(?P<d1>3[01]|[12]\d|0?[1-9])\s?[日号號일])?|(?P<y2>\d{4})\s?[年년](?P<q>第?[一二三四1-4]季度)?"
)
_CLOCK = re.compile(
    r"(?<![\w:.])(?P<h>[01]?\d|2[0-4]):(?P<m>[0-5]\d)(?::[0-5]\d(?:\.\d+)?)?(?![\d:])(?:\s?(?P<half>[ap])\.?m\b)?|(?<![\w:.,])(?P<h2>1[0-2]|[1-9])\s?(?P<half2>[ap])\.?m\b",
    re.IGNORECASE,
)
# Where a text is worth a closer look: each begins with a character class, so that the rest is passed over quickly.
_NUMERIC_HINT = re.compile(r"\d[-/.]\d\d?[-/.]\d|\d-[01]\d|[1-4] ?Q|Q[1-4]")
_PREFIXES = "|".join(sorted({name[:3] for names in _MONTHS for name in names.split()}))
_DAY_FIRST = re.compile(rf"\d{_ORDINAL}[\s-]+(?:of |de )?(?:{_PREFIXES})")
_MONTH_FIRST = re.compile(rf"(?:{_PREFIXES})[^\W\d_]{{0,7}}\.?,?\s+(?:de |of )?\d")
_CLOCK_HINT = re.compile(r"\d:[0-5]\d|\d\s?[apAP]\.?[mM]")
_EAST_HINT = re.compile(r"[月월年년]")
_YEAR_HINT = re.compile(r"1[5-9]\d\d|2[01]\d\d")
_BEFORE, _AFTER = 16, 48
_BARE_YEAR = re.compile(rf"(?<![\w.,:/@#$€£+-])(?<!\d )(?P<y>{_YEAR})(?![\d.,:/%_\w-]*\d)(?![\w%$€_\\/])")
_UNIT_CHARS = 28
_DAYS, _MONTH_COUNT, _NOON = 31, 12, 12
_CENTURY = 2000
_QUARTER = 20
_QUARTERS = {"一": 1, "二": 2, "三": 3, "四": 4}


@dataclass(frozen=True, slots=True)
class Moment:
    """A date, a part of one, or a time of day, as it stands in a text. ``readings``: what it may mean, each ``(year, month, day)``.

    A month above 12 is a quarter: 21 is the first. A time of day is ``(None, -hour, minute)``.
    """

    text: str
    readings: tuple[tuple[int | None, int | None, int | None], ...]
    start: int
    end: int


def moments(text: str) -> Iterator[Moment]:
    """Yield the dates and times of ``text``; none overlaps another."""
    taken: list[tuple[int, int]] = []
    for finder in (_numeric, _named, _east, _clock, _bare_year):
        for moment in finder(text):
            if not any(start < moment.end and moment.start < end for start, end in taken):
                taken.append((moment.start, moment.end))
                yield moment


class MomentIndex:
    """The dates of some texts, to be looked for in any notation."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._known = frozenset(reading for text in texts for moment in moments(text) for reading in moment.readings)

    def holds(self, moment: Moment) -> bool:
        """Tell whether a date stands in one of the texts: all that is said of it, or the day and month where the year went without saying."""
        return any(_agree(reading, known) for reading in moment.readings for known in self._known)


def _agree(reading: tuple[int | None, int | None, int | None], known: tuple[int | None, int | None, int | None]) -> bool:
    (year, month, day), (its_year, its_month, its_day) = reading, known
    if month is not None and month != its_month:
        return False
    if day is not None and day != its_day:
        return False
    return year is None or its_year == year or (its_year is None and day is not None)


def _near(pattern: re.Pattern[str], hint: re.Pattern[str] | list[tuple[int, int]], text: str) -> Iterator[re.Match[str]]:
    """Find a pattern near its hints only, which are places or found by a quicker pattern."""
    start = end = 0
    for begin, stop in hint if isinstance(hint, list) else (match.span() for match in hint.finditer(text)):
        if begin - _BEFORE > end:
            if end:
                yield from pattern.finditer(text, start, end)
            start = max(0, begin - _BEFORE)
        end = min(len(text), stop + _AFTER)
    if end:
        yield from pattern.finditer(text, start, end)


def _moment(match: re.Match[str], *readings: tuple[int | None, int | None, int | None]) -> Iterator[Moment]:
    fitting = tuple(reading for reading in dict.fromkeys(readings) if _possible(reading))
    if fitting:
        yield Moment(match.group().strip().rstrip("."), fitting, match.start(), match.end())


def _possible(reading: tuple[int | None, int | None, int | None]) -> bool:
    _, month, day = reading
    return (month is None or month <= 0 or month > _MONTH_COUNT or 1 <= month <= _MONTH_COUNT) and (
        day is None or (month is not None and month <= 0) or 1 <= day <= _DAYS
    )


def _numeric(text: str) -> Iterator[Moment]:
    for match in _near(_NUMERIC, _NUMERIC_HINT, text):
        if match["y1"]:
            readings: list[tuple[int, int, int | None]] = [(int(match["y1"]), int(match["m1"]), int(match["d1"]))]
        elif match["y2"]:
            year = int(match["y2"]) if len(match["y2"]) > 2 else _CENTURY + int(match["y2"])  # noqa: PLR2004 - a year of two digits
            one, other = int(match["a"]), int(match["b"])
            readings = [(year, other, one)] if match["s2"] == "." else [(year, other, one), (year, one, other)]
        elif match["y3"]:
            readings = [(int(match["y3"]), int(match["m3"]), None)]
        else:
            quarter, its_year = (match["q1"] or match["q2"] or match["q3"]), (match["yq1"] or match["yq2"] or match["yq3"])
            yield from _moment(match, (int(its_year), _QUARTER + int(quarter), None))
            continue
        yield from _moment(match, *((y, m, d) for y, m, d in readings if 1 <= m <= _MONTH_COUNT))


def _named(text: str) -> Iterator[Moment]:
    lowered = text.lower()
    if len(lowered) != len(text):  # a few letters have a longer small form
        lowered = "".join(char.lower() if len(char.lower()) == 1 else char for char in text)
    hints = sorted(match.span() for hint in (_DAY_FIRST, _MONTH_FIRST) for match in hint.finditer(lowered))
    for match in _near(_NAMED, hints, text):
        name = match["m1"] or match["m2"] or match["m3"]
        year, day = match["y1"] or match["y2"] or match["y3"], match["d1"] or match["d2"]
        yield from _moment(match, (int(year) if year else None, _MONTH_OF[name.lower()], int(day) if day else None))


def _east(text: str) -> Iterator[Moment]:
    if text.isascii():
        return
    for match in _near(_EAST, _EAST_HINT, text):
        year = match["y1"] or match["y2"]
        month = int(match["m1"]) if match["m1"] else None
        if match["q"]:
            mark = match["q"].removeprefix("第")[0]
            month = _QUARTER + (_QUARTERS[mark] if mark in _QUARTERS else int(mark))
        if year is None and match["d1"] is None:
            continue  # a month alone, or a number of months
        yield from _moment(match, (int(year) if year else None, month, int(match["d1"]) if match["d1"] else None))


def _clock(text: str) -> Iterator[Moment]:
    for match in _near(_CLOCK, _CLOCK_HINT, text):
        hour, minute = int(match["h"] or match["h2"]), int(match["m"] or 0)
        half = (match["half"] or match["half2"] or "").lower()
        if half == "p" and hour < _NOON:
            hour += _NOON
        elif half == "a" and hour == _NOON:
            hour = 0
        yield from _moment(match, (None, -hour, minute))


def _bare_year(text: str) -> Iterator[Moment]:
    for match in _near(_BARE_YEAR, _YEAR_HINT, text):
        if not unit_of(text[match.end() : match.end() + _UNIT_CHARS]).dimension:
            yield from _moment(match, (int(match["y"]), None, None))
