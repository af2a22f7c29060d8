r"""A memory file as lines with a meaning, without loss: what is not changed keeps its bytes (G3).

Block structure comes from a CommonMark parser, so that a ``#`` in a code fence is no heading; the text itself is never rebuilt from
it. Lines end where CommonMark says they do, at ``\n``, ``\r\n`` or ``\r``, and nowhere else.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from markdown_it import MarkdownIt
    from markdown_it.token import Token

Kind = Literal["blank", "text", "heading", "bullet", "code", "html", "table", "front"]

BOM: Final = "\ufeff"

_LINE: Final = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_FRONT_END: Final = re.compile(r"(?:---|\.\.\.)[ \t]*")
_HTML_HEADING: Final = re.compile(r" {0,3}<h([1-6])(?:\s[^>]*)?>(.*?)(?:</h\1\s*>|$)", re.IGNORECASE | re.DOTALL)
_MARKER: Final = re.compile(r"[ \t>]*(?:[-+*]|\d{1,9}[.)])(?:[ \t]+|$)")
_TAG: Final = re.compile(r"<[^>]*>")
_KINDS: Final[dict[str, Kind]] = {"heading_open": "heading", "fence": "code", "code_block": "code", "html_block": "html", "table_open": "table"}
_HTML_ENDS: Final = (
    (re.compile(r" {0,3}<!--"), "-->"),
    (re.compile(r" {0,3}<\?"), "?>"),
    (re.compile(r" {0,3}<!\[CDATA\["), "]]>"),
    (re.compile(r" {0,3}<![A-Za-z]"), ">"),
    (re.compile(r" {0,3}<script", re.IGNORECASE), "</script>"),
    (re.compile(r" {0,3}<style", re.IGNORECASE), "</style>"),
    (re.compile(r" {0,3}<textarea", re.IGNORECASE), "</textarea>"),
    (re.compile(r" {0,3}<pre", re.IGNORECASE), "</pre>"),
)


@dataclass(frozen=True, slots=True)
class Line:
    """One line: ``number`` from 0, ``raw`` with its ending, ``kind`` by the block it belongs to (the innermost)."""

    number: int
    raw: str
    kind: Kind

    @property
    def body(self) -> str:
        """The line without its ending."""
        return self.raw.rstrip("\r\n")


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and all lines up to the next heading of any level or form; ``level`` 0 is what stands before the first.

    ``start`` and ``end`` are line numbers from 0, the end excluded. ``body_start`` is the first line after the heading.
    ``path`` holds the titles of the headings above it, outermost first.
    """

    level: int
    title: str
    start: int
    body_start: int
    end: int
    path: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Bullet:
    """A list item's own lines (``start`` to ``end``, end excluded): a list nested in it is not part of it. ``depth`` is 0 at the left."""

    start: int
    end: int
    depth: int
    text: str


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed text. ``"".join(line.raw for line in document.lines())`` is the text, character for character."""

    _lines: tuple[Line, ...]
    _sections: tuple[Section, ...]
    _bullets: tuple[Bullet, ...]
    _starts: frozenset[int]

    @property
    def text(self) -> str:
        """The text as it was given."""
        return "".join(line.raw for line in self._lines)

    def lines(self) -> list[Line]:
        """Return all lines in order."""
        return list(self._lines)

    def sections(self) -> list[Section]:
        """Return the sections: together they are the whole document, in order, without overlap."""
        return list(self._sections)

    def bullets(self) -> list[Bullet]:
        """Return the list items of all depths, in order of their first line."""
        return list(self._bullets)

    def blocks(self, start: int, end: int) -> list[tuple[int, int]]:
        """Divide lines ``start`` to ``end`` where an outermost paragraph, list item, table, fence … begins; together they are the whole."""
        cuts = [start, *(number for number in range(start + 1, end) if number in self._starts), end]
        return [(first, last) for first, last in pairwise(cuts) if first < last]

    def slice(self, start: int, end: int) -> str:
        """Return the text of lines ``start`` to ``end``, the end excluded."""
        return "".join(line.raw for line in self._lines[start:end])

    def bodies(self, numbers: Iterable[int]) -> str:
        """Return these lines in the given order, each ended by a line feed."""
        return "".join(f"{self._lines[number].body}\n" for number in numbers)

    def remove_lines(self, numbers: Collection[int]) -> Document:
        """Return the document without these lines; every other line keeps its bytes."""
        gone = frozenset(numbers)
        return parse("".join(line.raw for line in self._lines if line.number not in gone))

    def replace_line(self, number: int, body: str) -> Document:
        """Return the document with another text in one line, which keeps its ending; every other line keeps its bytes."""
        return parse("".join(body + line.raw[len(line.body) :] if line.number == number else line.raw for line in self._lines))


def split_lines(text: str) -> list[str]:
    """Split into lines with their endings; joined they are the text."""
    return _LINE.findall(text)


def newline(text: str) -> str:
    r"""Return the line ending a text uses most: ``"\r\n"`` or ``"\n"``."""
    pairs = text.count("\r\n")
    return "\r\n" if pairs > text.count("\n") - pairs else "\n"


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable("table")
    parser.core.ruler.enableOnly(["normalize", "block"])  # inline structure is of no interest here and takes most of the time
    return parser


def _tokens(text: str) -> list[Token]:
    return _parser().parse(text)


def parse(text: str) -> Document:
    """Read a text's structure. Any text is a document; nothing is an error."""
    raw = split_lines(text)
    front = _front_matter(raw)
    kinds: list[Kind] = ["blank" if not line.strip() else "text" for line in raw]
    kinds[:front] = ["front"] * front
    tokens = _tokens("".join(raw[front:]).removeprefix(BOM))
    headings: list[tuple[int, str, int, int]] = []
    starts: set[int] = set()
    for index, token in enumerate(tokens):
        if token.map is None:
            continue
        start, end = token.map[0] + front, min(token.map[1] + front, len(raw))
        kind = _KINDS.get(token.type)
        if kind is not None:
            kinds[start:end] = [kind] * (end - start)
        if token.type == "list_item_open" and token.level == 1:
            starts.add(start)
        if token.level:
            continue
        if not token.type.endswith("list_open"):
            starts.add(start)
        if token.type == "heading_open":
            headings.append((int(token.tag[1:]), tokens[index + 1].content.strip(), start, end))
        elif token.type == "html_block" and (heading := _HTML_HEADING.match(token.content)) is not None:
            headings.append((int(heading[1]), _TAG.sub("", heading[2]).strip(), start, start + 1))
    bullets = list(_bullets(tokens, raw, front))
    for bullet in bullets:
        kinds[bullet.start] = "bullet"
    lines = tuple(Line(number, line, kind) for number, (line, kind) in enumerate(zip(raw, kinds, strict=True)))
    return Document(lines, tuple(_sections(headings, len(raw))), tuple(bullets), frozenset(starts))


def _front_matter(raw: list[str]) -> int:
    """Count the lines of YAML front matter; 0 when there is none or it is never closed (then ``---`` is a rule)."""
    if not raw or raw[0].removeprefix(BOM).rstrip() != "---":
        return 0
    return next((number + 1 for number, line in enumerate(raw) if number and _FRONT_END.fullmatch(line.rstrip("\r\n"))), 0)


def _bullets(tokens: list[Token], raw: list[str], front: int) -> list[Bullet]:
    spans: list[list[int]] = []  # start, end, depth
    open_items: list[list[int]] = []
    for token in tokens:
        if token.type == "list_item_open" and token.map is not None:
            open_items.append([token.map[0] + front, token.map[1] + front, len(open_items)])
            spans.append(open_items[-1])
        elif token.type == "list_item_close":
            open_items.pop()
        elif token.type in {"bullet_list_open", "ordered_list_open"} and open_items and token.map is not None:
            item = open_items[-1]
            item[1] = min(item[1], max(token.map[0] + front, item[0] + 1))
    return [_bullet(raw, *span) for span in spans]


def _bullet(raw: list[str], start: int, end: int, depth: int) -> Bullet:
    own = raw[start:end]
    while len(own) > 1 and not own[-1].strip():
        own.pop()
    text = _MARKER.sub("", own[0], count=1) + "".join(own[1:])
    return Bullet(start, start + len(own), depth, " ".join(text.split()))


def _sections(headings: list[tuple[int, str, int, int]], count: int) -> Iterator[Section]:
    first = headings[0][2] if headings else count
    if first:
        yield Section(0, "", 0, 0, first)
    above: list[tuple[int, str]] = []
    for number, (level, title, start, body_start) in enumerate(headings):
        end = headings[number + 1][2] if number + 1 < len(headings) else count
        above = [entry for entry in above if entry[0] < level]
        yield Section(level, title, start, body_start, end, tuple(entry[1] for entry in above))
        above.append((level, title))


def ending(text: str) -> tuple[str, bool]:
    """Return what must follow a text so that a list appended to it is a list: the line that closes it, and whether it is one already.

    A code fence or an HTML block that a person left open would swallow what is appended. The closing line, ``""`` in all but a few
    texts, belongs to what is appended; the person's own bytes stay as they are (C2). The second answer is True when the text ends with
    an item ``- …`` of an outermost list, so that another item joins it without a blank line.
    """
    last = _last_block(text, "")
    if last is not None and last.type in {"fence", "html_block"}:
        last = _last_block(text, _PROBE)
        if last is not None and last.type == "fence":
            return str(last.markup), False
        if last is not None and last.type == "html_block":
            return next((end for begin, end in _HTML_ENDS if begin.match(last.content)), ""), False
        return "", False
    return "", last is not None and last.type == "bullet_list_open" and split_lines(text)[-1].startswith("- ")


_PROBE: Final = "\n\n- probe\n"


def _last_block(text: str, more: str) -> Token | None:
    """Return the last outermost block of a text with something appended, or ``None`` when there is none."""
    raw = split_lines(text.removeprefix(BOM))
    tokens = [token for token in _tokens("".join(raw[_front_matter(raw) :]) + more) if token.level == 0 and token.map is not None]
    return tokens[-1] if tokens else None
