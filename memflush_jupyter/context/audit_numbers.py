"""Numbers as people write them, and whether a text holds one in whatever notation (the audit of a compaction).

``4,201.75 g``, ``4.20175 kg`` and ``4201.75 grams`` are one number, ``87.3 %`` and ``0.873`` too; ``10 mg`` and ``100 mg`` are two. A number
that was rounded to at least two digits and moved by at most two hundredths is still the same number to a reader.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from memflush_jupyter.context.audit_units import CURRENCIES, UNITS, unit_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROUNDED_BY = Decimal("0.02")
"""A rounded number may be off by this share of itself."""

_FEWEST_DIGITS = 2
_TELLING_DIGITS = 3
"""A bare number with fewer digits may stand for anything."""
_LONG = 5
_LOOK_AHEAD = 28
_MOST_DIGITS = 60

_NUMBER = re.compile(
    # It begins with a digit and only then looks back: so that most of a text is passed over quickly.
    r"\d(?<![0-9A-Za-z_À-ɏ@#\\].)(?<!\d[:/.,].)(?:(?<=(?P<first>.)))(?P<rest>\d{0,2}(?P<sep>[,'’_\u00a0\u2009\u202f٬])\d{3}(?:(?P=sep)\d{3})*(?:[.٫]\d+|(?<!,\d{3}),\d+)?"
    r"|\d{0,2}(?:\.\d{3}){2,}(?:,\d+)?|\d{0,2}\.\d{3},\d+|\d*,\d{1,2}(?![\d,])|\d*(?:[.٫]\d+)?)"
    r"(?P<exponent>[eE][-+]?\d{1,3}(?!\w)| ?[×x·*] ?10(?:\^|\*\*)[-−]?\d{1,2})?"
    r"(?![.,:/]?\d)(?![A-Za-z]*[_\\=])"
)
_BEFORE = re.compile(r"(?P<currency>(?:US)?[$€£¥￥₹₽₩] ?)?(?P<sign>(?<![0-9A-Za-z_À-ɏ)\]])[-−+])?(?P<after>[$€£¥￥] ?)?(?P<point>(?<![\w.])\.)?\Z")
_LEADS = frozenset("$€£¥￥₹₽₩-−+. ")
_PLAIN = re.compile(r"\d(?<![\w.,:/@#\\$€£¥￥₹₽₩'’+−-].)(?<![$€£¥￥₹₽₩] .)\d*(?:\.\d+)?(?=[,;)\]]?(?:  |\n|\||\Z|\t| -?\d))")
_SPACED = re.compile(r"(?<![\d.,])\d{1,3}(?: \d{3})+(?![\d.,])")
_SPELLED_VALUES: dict[str, int | Decimal] = {
    **dict(zip("one two three four five six seven eight nine ten eleven twelve".split(), range(1, 13), strict=True)),
    **dict(zip("fifteen twenty thirty forty fifty sixty seventy eighty ninety hundred".split(), (15, 20, 30, 40, 50, 60, 70, 80, 90, 100), strict=True)),
    **dict(zip("一二三四五六七八九十", range(1, 11), strict=True)),
    "两": 2,
    "half": Decimal("0.5"),
}
_SPELLED = re.compile(rf"(?:{'|'.join(sorted((word for word in _SPELLED_VALUES if word.isascii()), key=len, reverse=True))})(?![a-z])")
_SPELLED_EAST = re.compile(_SPELLED.pattern + r"|[一二两三四五六七八九十](?<![一二两三四五六七八九十百千万几第每星期].)(?![一二三四五六七八九十百千万])")
_REFERENCE = re.compile(
    r"(?:\b(?:line|lines|page|pages|pp?\.|figures?|fig\.|tables?|step|steps|cell|cells|section|chapter|version|seed|no\.|nr\.|number|round|message|option"
    r"|question|item|attempt|error|code|status|python|row|index|issue|request|part|task|day|week|level|id)[ :=]*|第\s*|\[\s*)$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Number:
    """A number in a text. ``value`` is in the base of its ``dimension``; ``place`` is the size of its last written digit there."""

    text: str
    value: Decimal
    dimension: str
    place: Decimal
    digits: int
    start: int
    spelled: bool = False
    size: Decimal = Decimal(1)
    """What one of its unit is in the base of the dimension."""

    @property
    def measured(self) -> bool:
        """Whether a unit says what it measures: not a mere count of things, not a member of what may be a list, and not nothing."""
        return bool(self.dimension) and self.dimension[0] not in "#?"


def numbers(text: str) -> Iterator[Number]:
    """Yield the numbers of ``text`` in order; parts of identifiers, versions and clock times are none."""
    for match in _NUMBER.finditer(text):
        yield from _read(match, text)


def spelled(text: str) -> Iterator[Number]:
    """Yield the numbers that are written as words, such as ``three sigma``; ``dimension`` is empty without a unit."""
    lowered = text.lower()
    for match in (_SPELLED if text.isascii() or len(lowered) != len(text) else _SPELLED_EAST).finditer(lowered):
        if lowered[match.start() - 1 : match.start()].isalpha() and match.group().isascii():
            continue
        unit = unit_of(text[match.end() : match.end() + _LOOK_AHEAD])
        word = match.group()
        value = Decimal(_SPELLED_VALUES[word]).scaleb(unit.power) * unit.size
        yield Number(text[match.start() : match.end() + unit.length], value, unit.dimension, unit.size, 1, match.start(), spelled=True)


def is_item(number: Number, text: str) -> bool:
    """Tell whether a reader would miss this number: it has a unit, a fraction or several digits, and is no mere reference."""
    if number.measured:
        return True
    if number.digits > _MOST_DIGITS or number.spelled or number.dimension == "?":
        return False
    if number.digits < _TELLING_DIGITS and not number.dimension and number.place >= 1:
        return False
    if number.dimension and number.digits < _FEWEST_DIGITS:
        return False
    return not _REFERENCE.search(text[max(0, number.start - 16) : number.start])


def _read(match: re.Match[str], text: str) -> Iterator[Number]:
    start, end = match.span()
    raw = match["first"] + match["rest"]
    unit = unit_of(text[end : end + _LOOK_AHEAD])
    start, symbol, sign, point = _before(text, start)
    raw = point + raw
    if match["sep"] is None and raw.count(",") == 1 and "." not in raw and not unit.dimension and not symbol:
        for part in re.finditer(r"\d+", raw):  # a list without blanks
            yield _number(part.group(), Decimal(part.group()), "", Decimal(1), part.group(), match.start() + part.start())
        return
    plain = _plain(raw, match["sep"])
    power = unit.power + _exponent(match["exponent"])
    dimension, size = (CURRENCIES[symbol], Decimal(1)) if symbol else (unit.dimension, unit.size)
    value, place = Decimal(plain), Decimal(1).scaleb(power - len(plain.partition(".")[2]))
    if power:
        value = value.scaleb(power)
    if size != 1:
        value, place = value * size, place * size
    if sign in {"-", "−"}:
        value = -value
    yield _number(text[start : end + unit.length].strip(), value, dimension, place, plain, start, size)
    if match["sep"] == "," and not unit.dimension and not symbol:
        for part in re.finditer(r"\d+(?:\.\d+)?", raw):  # it may have been a list
            yield _number(part.group(), Decimal(part.group()), "?", Decimal(1), part.group(), match.start() + part.start())


def _before(text: str, start: int) -> tuple[int, str, str, str]:
    """What stands before the digits: where the number begins with it, the currency, the sign, and a decimal point."""
    before = _BEFORE.search(text, max(0, start - 6), start) if start and text[start - 1] in _LEADS else None
    if before is None:
        return start, "", "", ""
    return before.start(), (before["currency"] or before["after"] or "").strip(), before["sign"] or "", before["point"] or ""


def _number(text: str, value: Decimal, dimension: str, place: Decimal, plain: str, start: int, size: Decimal = Decimal(1)) -> Number:
    digits = len(plain.replace(".", "").lstrip("0")) or 1
    if place == 1 and digits >= _LONG and plain.endswith("00"):
        place = Decimal(10) ** (len(plain) - len(plain.rstrip("0")))
    return Number(text, value, dimension, place, digits, start, size=size)


def _plain(raw: str, separator: str | None) -> str:
    """The digits as ``Decimal`` reads them."""
    raw = raw.replace("٫", ".")
    if separator:
        return raw.replace(separator, "").replace(",", ".")
    if raw.count(".") > 1 or ("." in raw and "," in raw):
        return raw.replace(".", "").replace(",", ".")
    return raw.replace(",", ".")


def _exponent(written: str | None) -> int:
    if not written:
        return 0
    return int(re.split(r"10(?:\^|\*\*)|[eE]", written)[-1].replace("−", "-"))


class NumberIndex:
    """The numbers of some texts, to be looked for in any notation."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts
        self._values: dict[Decimal, list[Number]] = {}
        self._sorted: list[Decimal] | None = None
        self._words: frozenset[tuple[Decimal, str]] | None = None
        for text in texts:
            for plain in set(_PLAIN.findall(text)):
                self._add(_number(plain, Decimal(plain), "", Decimal(1).scaleb(-len(plain.partition(".")[2])), plain, 0))
            for number in numbers(_PLAIN.sub("\x1f", text)):
                self._add(number)
            for match in _SPACED.finditer(text):
                plain = match.group().replace(" ", "")
                unit = unit_of(text[match.end() : match.end() + _LOOK_AHEAD])
                self._add(_number(plain, Decimal(plain).scaleb(unit.power) * unit.size, unit.dimension, unit.size, plain, match.start()))

    def _add(self, number: Number) -> None:
        known = self._values.setdefault(number.value, [])
        if not any(other.dimension == number.dimension and other.place == number.place for other in known):
            known.append(number)

    def holds(self, number: Number) -> bool:
        """Tell whether this number stands in one of the texts, in any notation, or rounded so that a reader takes it for the same."""
        readings = [(number.value, number.dimension, number.place)]
        if number.dimension == "%":
            readings.append((number.value / 100, "fraction", number.place / 100))
        elif not number.dimension and number.place < 1 and abs(number.value) <= 1:
            readings.append((number.value * 100, "%", number.place * 100))
        if number.size != 1:  # a table has the unit in its heading
            readings.append((number.value / number.size, "bare", number.place / number.size))
        return any(self._near(number, *reading) for reading in readings) or self._as_word(number)

    def _near(self, number: Number, value: Decimal, dimension: str, place: Decimal) -> bool:
        for known in self._values.get(value, ()):
            if _same_kind(number, dimension, known):
                return True
        if self._sorted is None:
            self._sorted = sorted(self._values)
        low, high = sorted((value * (1 - ROUNDED_BY), value * (1 + ROUNDED_BY)))
        for index in range(bisect_left(self._sorted, low), len(self._sorted)):
            if self._sorted[index] > high:
                return False
            for known in self._values[self._sorted[index]]:
                if _rounded(number, value, place, known) and _same_kind(number, dimension, known):
                    return True
        return False

    def _as_word(self, number: Number) -> bool:
        if number.digits > _TELLING_DIGITS:
            return False
        if self._words is None:
            self._words = frozenset((word.value, word.dimension) for text in self._texts for word in spelled(text))
        return (number.value, number.dimension) in self._words or (not number.measured and number.value in {value for value, _ in self._words})


def _same_kind(number: Number, dimension: str, known: Number) -> bool:
    """Whether two numbers of the same size may be the same: equal units, or none where the digits alone tell enough."""
    if dimension == known.dimension:
        return True
    if dimension == "bare":
        return known.dimension == "" and number.digits >= _TELLING_DIGITS
    if dimension == "fraction":
        return known.dimension in {"", "?"} and known.place < 1
    if known.dimension == "%" or (dimension == "%" and number.dimension == "%"):
        return dimension == "%" and known.dimension in {"", "?"} and number.digits >= _TELLING_DIGITS
    counts = {"", "?"}
    bare = known.dimension in counts or known.dimension.startswith("#")
    if not number.measured:
        return bare or number.digits >= _TELLING_DIGITS
    return bare and number.digits >= _TELLING_DIGITS


def _rounded(number: Number, value: Decimal, place: Decimal, known: Number) -> bool:
    """Whether one of the two is the other, rounded: to a whole number only where it had a fraction or is long."""
    coarse = max(place, known.place)
    if place == known.place or min(number.digits, known.digits) < _FEWEST_DIGITS:
        return False
    return abs(value - known.value) * 2 <= coarse


__all__ = ["UNITS", "Number", "NumberIndex", "is_item", "numbers", "spelled"]
