"""From text to the terms of the full-text index, and from a question to its rarest terms.

SQLite's ``porter unicode61`` tokeniser knows neither words without spaces nor identifiers, so text is split here first:

* runs of Chinese, Japanese, Korean, Thai, Lao, Khmer and Burmese characters become overlapping pairs plus the run's last character, so
  that a two-character word is one term and a single character can be looked up as a prefix;
* ``bill_length_mm``, ``billLength``, ``data/raw.csv`` become their parts, and the whole without separators (``billlengthmm``), so that a
  name is found in any spelling convention; the last two pieces of a longer path are a term too (``rawcsv``);
* ``1,234`` becomes ``1234`` and ``3.14`` one term of its own.

``schema.INDEX_VERSION`` must be raised with every change of ``split``.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from memflush_jupyter.trace.models import Block

INDEXED_CHARACTERS: Final = 200_000
"""Of a longer text the first three quarters and the last quarter of this are indexed; the store keeps the whole."""

LONGEST_TERM: Final = 64

_SPACELESS = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3021-\u3029\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u3131-\u318e\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff"
)
_RUN = re.compile(f"[{_SPACELESS}]+")
_SEPARATOR = r"[./\\:@+\-]"


def _special(character: str, start: str) -> re.Pattern[str]:
    """Words that are more than one run of lower-case letters, perhaps capitalised; possessive throughout: linear in any text."""
    plain = r"(?:[^\W\d_][^\W\d_A-Z]*+)?+"
    return re.compile(rf"{start}{plain}(?:(?={character})|(?={_SEPARATOR}++{character})){character}*+(?:{_SEPARATOR}++{character}++)*+")


# Python's \w leaves out combining marks, which would cut Hindi, Arabic or decomposed Latin words.
_MARKS = r"\u0300-\u036f\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0dff\u0f00-\u0fff"
_CHARACTER = rf"[\w{_MARKS}]"
# What no word is made of; the tokeniser's own tables differ from Python's in rare characters, so it is shown none of them.
_NO_WORD = re.compile(rf"[^\w{_MARKS}{_SPACELESS}]+")
_SPECIAL = _special(_CHARACTER, f"(?<!{_CHARACTER})")
_SPECIAL_ASCII = _special(r"\w", r"\b")
_WORD = re.compile(f"{_CHARACTER}+")
# What prose has beyond ASCII, mostly: written plainly first, since ASCII is several times as fast. Nothing of it is part of a word.
_TYPOGRAPHIC: Final = (*((character, " ") for character in "“”‘’„«»—–•≤≥→±×"), ("…", "..."))
_THOUSANDS = re.compile(r"(?<![\w.,])\d{1,3}(?:,\d{3})+(?!\d)")
_DECIMAL = re.compile(r"\d+\.\d+")
_PIECES = re.compile(f"{_SEPARATOR}+")
_PARTS = re.compile(r"[A-Z]+(?![a-z])\d*|[A-Z]?[a-z]+\d*|\d+")
_PHRASE = re.compile(r'"([^"\n]+)"')
_RECALLED = re.compile(r"<recalled\b.*?</recalled>", re.DOTALL)

# Words so common that they say nothing about what is meant; a question made of nothing else finds nothing.
_COMMON: Final = frozenset(
    (
        "a about all also am an and any are as at be been but by can could did do does for from get give had has have he hello her hey hi him "
        "his how i if in into is it its just let like me my no not now of ok okay on or our out please s say said she should show so some t tell "
        "thank thanks that the their them then there these they this those to too up us was we were what when where which who why will with "
        "would yes you your "
        "的 了 是 我 你 他 在 和 有 这 那 吗 呢 吧 什么 怎么"
    ).split()
)


def split(text: str) -> str:
    """Return ``text`` with everything the tokeniser would not understand replaced by terms; words stay as they are, with blanks between."""
    if not text.isascii():
        for character, plain in _TYPOGRAPHIC:
            text = text.replace(character, plain)
    if text.isascii():
        return _without_compounds(text)
    return _NO_WORD.sub(" ", _without_compounds(_RUN.sub(_pairs, unicodedata.normalize("NFKC", text))))


def query_terms(query: str) -> list[str]:
    """The distinct terms of a question, common words left out. A lone character of a spaceless script ends with ``*`` (prefix).

    What stands in double quotes counts as a phrase beside its words: a term with spaces in it.
    """
    query = unicodedata.normalize("NFKC", query)
    found = dict.fromkeys(f"{run}*" for run in _RUN.findall(query) if len(run) == 1)
    # The pair at its end says all that the last character of a longer run could.
    spaced = _RUN.sub(lambda run: _pairs(run)[:-2] if len(run.group()) > 1 else " ", query)
    found.update(dict.fromkeys(word.lower() for word in _WORD.findall(_without_compounds(spaced))))
    phrases = [_WORD.findall(split(phrase).lower()) for phrase in _PHRASE.findall(query)]
    found.update(dict.fromkeys(" ".join(words) for words in phrases if len(words) > 1 and not _COMMON.issuperset(words)))
    return [term for term in found if term.rstrip("*") not in _COMMON]


def _without_compounds(text: str) -> str:
    return " ".join([_known(word) if len(word) < LONGEST_TERM else _replaced(word) for word in text.split()])


def _replaced(word: str) -> str:
    if "," in word:
        word = _THOUSANDS.sub(lambda found: found.group().replace(",", ""), word)
    special = _SPECIAL_ASCII if word.isascii() else _SPECIAL
    return special.sub(lambda found: " ".join(_compound(found.group())), word)


# The same words come up again and again, and looking one up costs a tenth of what the pattern does. A long one is a blob that does not.
_known = lru_cache(maxsize=16_384)(_replaced)


def _pairs(run: re.Match[str]) -> str:
    characters = run.group()
    pairs = [characters[index : index + 2] for index in range(len(characters) - 1)]
    return f" {' '.join(pairs)} {characters[-1]} "


def _compound(word: str) -> Iterator[str]:
    if _DECIMAL.fullmatch(word):
        yield word.replace(".", "d")
        return
    pieces = _PIECES.split(word)
    wholes: dict[str, None] = {}
    for piece in pieces:
        parts = _parts(piece)
        yield from (part[:LONGEST_TERM] for part in parts)
        if len(parts) > 1:
            wholes["".join(parts)] = None
    if len(pieces) > 2 and not pieces[-1].isdigit():  # noqa: PLR2004 - a path of two pieces is the whole itself
        wholes[_joined(pieces[-2:])] = None
    if len(pieces) > 1:
        wholes[_joined(pieces)] = None
    yield from (whole[:LONGEST_TERM] for whole in wholes)


def _parts(piece: str) -> list[str]:
    if len(piece) > 4 * LONGEST_TERM:  # a blob of base64 or the like: one term is enough
        return [piece]
    return _PARTS.findall(piece) if piece.isascii() else [part for part in piece.split("_") if part]


def _joined(pieces: Sequence[str]) -> str:
    return "".join(pieces).replace("_", "")


def searchable(content: Sequence[Block], aside: Iterable[int] = ()) -> str:
    """What a message says, as text: text blocks, the strings of tool inputs, tool results.

    Blocks whose index is in ``aside`` and ``<recalled>`` passages came from memory or the host, not from this message: left out (G6).
    """
    skipped = set(aside)
    parts = [part for index, block in enumerate(content) if index not in skipped for part in _block_texts(block)]
    text = "\n".join(part for part in parts if part)
    return _RECALLED.sub("", text) if "<recalled" in text else text


def clipped(text: str) -> str:
    """The part of a text that is indexed."""
    if len(text) <= INDEXED_CHARACTERS:
        return text
    tail = INDEXED_CHARACTERS // 4
    return f"{text[: INDEXED_CHARACTERS - tail]}\n{text[-tail:]}"


def _block_texts(block: Block) -> Iterator[str]:
    kind = block.get("type")
    if kind == "text":
        yield str(block.get("text", ""))
    elif kind == "tool_use":
        yield from _strings(block.get("input"))
    elif kind == "tool_result":
        inner = block.get("content")
        if isinstance(inner, str):
            yield inner
        elif isinstance(inner, list):
            for item in inner:
                if isinstance(item, dict):
                    yield from _block_texts(item)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)
