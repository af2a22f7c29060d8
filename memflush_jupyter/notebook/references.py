"""Finding ``{name}``, ``{name.attr}``, ``{In[n]}``, ``{Out[n]}`` and ``{Err[n]}`` in a prompt, and nothing else that has braces.

A prompt is prose, and may hold code: fences, inline code, f-strings, JSON, LaTeX, sets, templates of other languages. Braces there
are not ours. A pure function of the text: one pass, so what is put in is never looked at again.
"""

from __future__ import annotations

import ast
import re
import textwrap
import warnings
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, cast

Head = Literal["name", "In", "Out", "Err"]

_REFERENCE = re.compile(r"\{(?:(?P<head>In|Out|Err)\[(?P<number>[0-9]{1,7})\]|(?P<name>[^\W\d]\w*))(?P<path>(?:\.[^\W\d]\w*)*)\}")
_NOT_BEFORE = "{\\$#%@^"
"""A brace after one of these belongs to a template, a shell, LaTeX, or was escaped by the person."""
_SINGLE_LETTER_INDEX = re.compile(r"(?:^|[^\w])[A-Za-z]_\Z")
_FENCE = re.compile(r"^(?P<indent> {0,3})(?P<mark>`{3,}|~{3,})[^\n`]*$")
_MAX_CHARS = 100_000
"""Longer prompts are pasted data; nothing is filled in there."""

_MASKS = tuple(
    re.compile(pattern, flags)
    for pattern, flags in (
        (r"(?<!`)(`+)(?!`)(?:(?!\n[ \t]*\n).)+?(?<!`)\1(?!`)", re.DOTALL),  # inline code
        (r"\$\$.+?\$\$|\\\[.+?\\\]|\\\(.+?\\\)", re.DOTALL),
        (r"\\begin\{(\w+\*?)\}.{0,4000}?\\end\{\1\}", re.DOTALL),
        (r"(?<![\w$\\])\$(?=[^\s$])[^$\n]*?(?<=[^\s\\])\$(?!\d)", 0),
        (r"\\[A-Za-z]+\*?(?:\[[^\]\n]*\])?(?:\{[^{}\n]*\})+", 0),
        (r"(?<![\w])(?:[fF][rRbB]?|[rR][fF])(?P<q>\"\"\"|''').*?(?:(?P=q)|\Z)", re.DOTALL),
        (r"(?<![\w])(?:[fF][rRbB]?|[rR][fF])\"(?:[^\"\\\n]|\\.)*(?:\"|$)", re.MULTILINE),
        (r"(?<![\w])(?:[fF][rRbB]?|[rR][fF])'(?:[^'\\\n]|\\.)*(?:'|$)", re.MULTILINE),
        (r"(?P<q>\"\"\"|''')(?:(?!(?P=q)).)*(?P=q)\s*\.format(?:_map)?\(", re.DOTALL),
        (r"\"(?:[^\"\\\n]|\\.)*\"\s*\.format(?:_map)?\(|'(?:[^'\\\n]|\\.)*'\s*\.format(?:_map)?\(", 0),
        (r"^[ \t]*(?:>>>|\.\.\.|!|%%?\w|In \[\d*\]:|\$ ).*$", re.MULTILINE),  # sessions, shell lines and magics
        (r"<[A-Za-z/][^<>\n]*>", 0),  # a tag with its attributes
        (r"^[ \t]*:{3,}[ \t]*\{[^\n]*|\{[\w:.-]+\}(?=`)", re.MULTILINE),  # directives and roles of MyST
    )
)


@dataclass(frozen=True, slots=True)
class Reference:
    """One pair of braces that may be filled: where it stands, and what it names."""

    start: int
    end: int
    head: Head
    name: str
    number: int
    path: tuple[str, ...]

    @property
    def label(self) -> str:
        """What stands between the braces."""
        base = self.name if self.head == "name" else f"{self.head}[{self.number}]"
        return ".".join([base, *self.path])


def find(prompt: str) -> list[Reference]:
    """The references of a prompt, in order. Whether what they name exists is not known here."""
    if "{" not in prompt or len(prompt) > _MAX_CHARS:
        return []
    matches = [match for match in _REFERENCE.finditer(prompt) if not _taken(prompt, match)]
    if not matches or is_code(prompt):
        return []
    masked = _Spans([*_fences(prompt), *_code_paragraphs(prompt), *_nested(prompt), *(match.span() for mask in _MASKS for match in mask.finditer(prompt))])
    return [_reference(match) for match in matches if not masked.cover(match.start(), match.end())]


def is_code(text: str) -> bool:
    """Whether a text is Python: it parses, and it does something. Bare words and ``{name}`` alone parse too, and are prose."""
    bare = textwrap.dedent("\n".join("pass" if re.match(r"[%!]", line) else line for line in _REFERENCE.sub("{x}", text).splitlines()))
    tree = _parsed(bare) or _parsed(f"{bare.rstrip()} pass" if bare.rstrip().endswith(":") else "")
    return tree is not None and any(_acts(statement) for statement in tree.body)


def _parsed(text: str) -> ast.Module | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None


def _acts(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Expr):
        return any(isinstance(node, ast.Call | ast.Subscript | ast.Lambda | ast.Await | ast.JoinedStr | ast.comprehension) for node in ast.walk(statement))
    if isinstance(statement, ast.AnnAssign):  # "columns: {names}" is a sentence
        return statement.value is not None
    return not isinstance(statement, ast.Pass)


def _taken(prompt: str, match: re.Match[str]) -> bool:
    before, after = prompt[max(match.start() - 3, 0) : match.start()], prompt[match.end() : match.end() + 1]
    return after == "}" or (before[-1:] != "" and before[-1] in _NOT_BEFORE) or bool(_SINGLE_LETTER_INDEX.search(before))


def _reference(match: re.Match[str]) -> Reference:
    return Reference(
        match.start(), match.end(), cast("Head", match["head"] or "name"), match["name"] or "", int(match["number"] or 0), tuple(match["path"].split(".")[1:])
    )


class _Spans:
    """Parts of a text, for asking whether a place lies inside one."""

    def __init__(self, spans: list[tuple[int, int]]) -> None:
        merged: list[tuple[int, int]] = []
        for start, end in sorted(spans):
            if merged and start <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
            else:
                merged.append((start, end))
        self._starts = [start for start, _ in merged]
        self._ends = [end for _, end in merged]

    def cover(self, start: int, end: int) -> bool:
        place = bisect_right(self._starts, start) - 1
        return place >= 0 and end <= self._ends[place]


def _lines(text: str) -> Iterator[tuple[int, str]]:
    place = 0
    for line in text.split("\n"):
        yield place, line
        place += len(line) + 1


def _fences(text: str) -> Iterator[tuple[int, int]]:
    """Fenced blocks, an unclosed one to the end, and blocks that are indented as code."""
    opened: tuple[int, str] | None = None
    blank, listed = True, False
    for place, line in _lines(text):
        if opened is not None:
            if re.fullmatch(rf" {{0,3}}{re.escape(opened[1][0])}{{{len(opened[1])},}}[ \t]*", line):
                yield opened[0], place + len(line)
                opened = None
            continue
        fence = _FENCE.match(line)
        if fence:
            opened = (place, fence["mark"])
            continue
        indented = line.startswith(("    ", "\t"))
        if indented and blank and not listed and line.strip():
            yield place, place + len(line)
            continue  # ``blank`` stays: the next indented line goes on with the block
        if not indented and line.strip():
            listed = bool(re.match(r"\s*(?:[-*+]|\d+[.)])\s", line))
        blank = not line.strip()
    if opened is not None:
        yield opened[0], len(text)


def _code_paragraphs(text: str) -> Iterator[tuple[int, int]]:
    """Paragraphs, and single lines, that are Python."""
    start: int | None = None
    for place, line in [*_lines(text), (len(text) + 1, "")]:
        if line.strip():
            start = place if start is None else start
            if "{" in line and is_code(line.strip()):
                yield place, place + len(line)
        elif start is not None:
            paragraph = text[start : max(place - 1, start)]
            if "{" in paragraph and "\n" in paragraph and is_code(paragraph):
                yield start, place
            start = None


def _nested(text: str) -> Iterator[tuple[int, int]]:
    """What stands between two braces that match and are no reference themselves: JSON, dictionaries, templates, ``{{name}}``."""
    opened: list[int] = []
    for match in re.finditer(r"[{}]", text):
        if match[0] == "{":
            opened.append(match.start())
        elif opened:
            start = opened.pop()
            if not _REFERENCE.fullmatch(text, start, match.end()):
                yield start, match.end()
