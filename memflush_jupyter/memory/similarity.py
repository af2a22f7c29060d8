"""Whether one remembered line says anything that another does not (C5).

Two lines say the same when, after normalisation, the same things stand in the same order: content words, numbers with
their units, dates, comparison signs, negations, exceptions and the exact spelling of code identifiers. Only what never
carries meaning is dropped: articles, the copula, "that", politeness, lead-ins such as "remember that", markup and
sentence marks. When in doubt both lines stay: a later consolidation can merge two lines, nothing can bring one back.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from memflush_jupyter.memory import sentences

_TOKEN = re.compile(
    r"(?P<tick>\x00)|(?P<number>(?<![A-Za-z_\d])[-−+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\d_])|(?<![\w.])[-−+]?\.\d+)"
    r"|(?P<word>[^\W\d_][\w]*(?:['’][^\W\d_]+)*|_\w+|\d\w*)"
    r"|(?P<sign><=|>=|==|!=|=>|->|[<>≤≥=≠≈±+\-−–—*/^~%‰$€£¥&|@#?:.!])"
    r"|(?P<other>[^\s\w,;()\[\]{}\"'“”‘’«»<>，。；、！？：（）【】《》「」…·•])"
)
_DROPPED = frozenset(
    [
        *("a", "an", "the", "of", "is", "are", "am", "be", "been", "being", "that", "which", "and", "please", "also", "kindly"),
    ]
)
_SHORT_WORDS = frozenset(
    ["am", "an", "as", "at", "be", "by", "do", "go", "he", "if", "in", "is", "it", "me", "my", "no", "of", "on", "or", "so", "to", "up", "us", "we"]
)
_CHINESE_DROPPED = frozenset("的请吧啊呀哦喔嘛")
_LEAD_IN = re.compile(
    r"^(?:[-*•+]\s+|\d+[.)]\s+|(?:please\s+)?(?:remember|note|keep in mind|don'?t forget|bear in mind)(?:\s*[:,]\s*|\s+that\s+)|(?:for the record|fyi|"
    r"note to self|noted|note|reminder|actually|ok|okay|well)[,:]\s*"
    r"|请?(?:你)?(?:记住|记得|注意|记一下|记下)[：:，,]?)+",
    re.IGNORECASE,
)
_SPEAKER = re.compile(r"^(?:the )?(?:user|person|analyst)\b(?!')|^i\b(?!')", re.IGNORECASE)
_CONTRACTIONS = (
    (re.compile(r"\bcan(?:no|['’])t\b", re.IGNORECASE), "can not"),
    (re.compile(r"\bwon['’]t\b", re.IGNORECASE), "will not"),
    (re.compile(r"\bshan['’]t\b", re.IGNORECASE), "shall not"),
    (re.compile(r"n['’]t\b", re.IGNORECASE), " not"),
    (re.compile(r"\b(it|that|he|she|there|what)['’]s\b", re.IGNORECASE), r"\1 is"),
    (re.compile(r"['’]re\b", re.IGNORECASE), " are"),
    (re.compile(r"['’]m\b", re.IGNORECASE), " am"),
    (re.compile(r"['’]ll\b", re.IGNORECASE), " will"),
    (re.compile(r"['’]ve\b", re.IGNORECASE), " have"),
)
_UNIT_FORMS = {
    "%": ("percent", "pct"),
    "kg": ("kilogram", "kilograms", "kilogramme", "kilogrammes"),
    "g": ("gram", "grams", "gramme", "grammes"),
    "mg": ("milligram", "milligrams"),
    "mm": ("millimetre", "millimetres", "millimeter", "millimeters"),
    "cm": ("centimetre", "centimetres", "centimeter", "centimeters"),
    "km": ("kilometre", "kilometres", "kilometer", "kilometers"),
    "s": ("second", "seconds", "secs"),
    "min": ("minute", "minutes", "mins"),
    "h": ("hour", "hours", "hr", "hrs"),
}
_UNITS = {form: unit for unit, forms in _UNIT_FORMS.items() for form in forms}
_KEEP_S = frozenset(
    [
        *("is", "as", "us", "this", "was", "has", "does", "its", "yes", "less", "news", "always", "perhaps", "across", "basis", "series"),
        *("species", "status", "bias"),
    ]
)
_QUALIFIERS = frozenset(
    [
        *("not", "no", "never", "nor", "none", "without", "except", "unless", "excluding", "but", "however", "although", "though", "only", "if", "when"),
        *("where", "while", "whenever", "until", "till", "before", "after", "instead", "rather", "than", "otherwise", "unlike", "besides", "apart"),
        *("almost", "nearly", "about", "roughly", "or", "either", "neither", "maybe", "perhaps", "might", "may", "could", "would", "should", "for"),
        *("during", "since", "per"),
    ]
)
_CHINESE_QUALIFIERS = re.compile(r"不|没|无|非|别|未|除|但|如果|若|只|仅|之前|之后|以前|以后|或|例外|否则|当|时")
_CLAUSE = re.compile(r"[.;:!](?=\s|$)|,\s|[，。；：！]|\s[-–—]+\s|\(|\)")
_CODE_SPAN = re.compile(r"(?<!`)`{1,3}([^`\n]{1,200})`{1,3}")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)


def nothing_new(new: str, old: str) -> bool:
    """Tell whether ``new`` and ``old`` say the same, each nothing that the other lacks (C5). Symmetric."""
    return tokens(new) == tokens(old)


def covered(candidate: str, lines: Iterable[str]) -> bool:
    """Tell whether some line already says what ``candidate`` says: as a whole, or as a clause that nothing qualifies.

    A line with an exception, a condition or a negation beside the clause does not cover it: the rule is another one.
    """
    wanted = tokens(candidate)
    return bool(wanted) and any(wanted == tokens(line) or _holds_clause(wanted, line) for line in lines)


@lru_cache(maxsize=4096)
def tokens(text: str) -> tuple[str, ...]:
    """Return what ``text`` says as normalised tokens, in order. Equal tuples say the same."""
    text = _plain(text)
    found: list[str] = []
    first, in_code = True, False
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup
        raw = match.group()
        if kind == "tick":
            in_code = not in_code
            continue
        if kind == "number":
            found.append(_number(raw))
        elif kind == "word":
            found += [raw] if in_code else _word(raw, first=first)
        elif kind == "sign":
            found += _sign(text, match)
        else:
            found.append(raw)
        first = False
    return tuple(_joined_units(found))


def _plain(text: str) -> str:
    text = _fold_width(text.strip())
    text = _COMMENT.sub("", text)
    text = _CODE_SPAN.sub(lambda m: f" \x00{m[1]}\x00 ", text)
    text = re.sub(r"\*\*|__(?=\w)|(?<=\w)__(?=\W|$)", "", text)
    for pattern, replacement in _CONTRACTIONS:
        text = pattern.sub(replacement, text)
    text = _LEAD_IN.sub("", text.strip())
    return _SPEAKER.sub("user", text, count=1)


def _fold_width(text: str) -> str:
    """Turn full-width ASCII into ASCII; anything else stays (NFKC would turn m² into m2)."""
    if text.isascii():
        return text
    return text.translate(_WIDTH)


_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F) if chr(code) not in "，。；：！？（）"} | {0x3000: 0x20}


def _number(raw: str) -> str:
    raw = raw.replace(",", "").replace("−", "-").removeprefix("+")
    if "e" in raw.lower():
        return raw.lower()
    if "." in raw:
        raw = raw.rstrip("0").rstrip(".")
    sign, digits = ("-", raw[1:]) if raw.startswith("-") else ("", raw)
    return sign + ("0" + digits if digits.startswith(".") else digits)


def _word(raw: str, *, first: bool) -> list[str]:
    if not raw.isascii() and any("\u3040" <= c <= "\u9fff" for c in raw):
        return _chinese(raw)
    if _is_code(raw) and not (raw == "A" and first):
        return [raw]
    lowered = raw.lower().replace("’", "'")
    if not (first or raw.islower()) and lowered not in _DROPPED:
        return [raw]
    if lowered in _DROPPED:
        return []
    return [_UNITS.get(lowered) or _stem(lowered)]


def _is_code(raw: str) -> bool:
    """Identifiers keep their case: an underscore, a digit, a capital inside, all capitals, or a single letter."""
    if len(raw) == 1:
        return raw not in "aI"
    if len(raw) == 2 and raw.istitle():  # noqa: PLR2004 - "Df" is a name, "It" is a word
        return raw.lower() not in _SHORT_WORDS
    return "_" in raw or any(c.isdigit() for c in raw) or (not raw.islower() and not raw.istitle())


def _chinese(raw: str) -> list[str]:
    found: list[str] = []
    for piece in re.findall(r"[\u3040-\u9fff]|[^\u3040-\u9fff]+", raw):
        if len(piece) == 1 and "\u3040" <= piece <= "\u9fff":
            if piece not in _CHINESE_DROPPED:
                found.append(piece)
        else:
            found += tokens(piece)
    return found


def _stem(word: str) -> str:
    """Fold the plural and the third person; nothing else."""
    if len(word) <= 3 or word in _KEEP_S or not word.endswith("s") or word.endswith(("ss", "us", "is", "'s")):  # noqa: PLR2004 - gas, bus
        return word
    if word.endswith("ies") and len(word) > 4:  # noqa: PLR2004 - dies, ties
        return word[:-3] + "y"
    return word[:-1]


def _sign(text: str, match: re.Match[str]) -> list[str]:
    raw = match.group().replace("−", "-").replace("–", "-").replace("—", "-")
    before = text[match.start() - 1 : match.start()]
    after = text[match.end() : match.end() + 1]
    if raw in {".", ":", "!"} and not (before.isalnum() and after.isalnum()):
        return []
    if raw == "-" and (not before or before.isspace()) and (not after or after.isspace()):
        return []
    if raw == "*" and (not before or before.isspace() or not after or after.isspace()) and not (before.isspace() and after.isspace()):
        return []
    return [raw]


def _joined_units(found: list[str]) -> list[str]:
    """Read ``percentage points`` as one unit, so that it never equals percent."""
    joined: list[str] = []
    for token in found:
        if token == "point" and joined and joined[-1] in {"percentage", "%"}:  # noqa: S105 - a word of prose
            joined[-1] = "pp"
        elif token == "cent" and joined and joined[-1] == "per":  # noqa: S105 - a word of prose
            joined[-1] = "%"
        else:
            joined.append(token)
    return joined


def _holds_clause(wanted: tuple[str, ...], line: str) -> bool:
    if len(line) < len(wanted):
        return False
    for sentence in sentences.split(line):
        clauses = [part for part in _CLAUSE.split(sentence) if part and part.strip()]
        if tokens(sentence) == wanted:
            return not _qualified(line.replace(sentence, ""))
        for index, clause in enumerate(clauses):
            if tokens(clause) == wanted:
                return not any(_qualified(other) for position, other in enumerate(clauses) if position != index)
    return False


def _qualified(clause: str) -> bool:
    words = tokens(clause)
    return any(word in _QUALIFIERS for word in words) or bool(_CHINESE_QUALIFIERS.search(clause))
