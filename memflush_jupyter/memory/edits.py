"""Texts before and after an edit: what is appended or changed takes the file's ways, what is not keeps its bytes (C2, G3). Pure."""

from __future__ import annotations

import difflib
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from memflush_jupyter.memory.document import BOM, newline, split_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

UTF16_MARKS: Final = (b"\xff\xfe", b"\xfe\xff")


def decode(data: bytes) -> str:
    """Return the text of a file's bytes for people and models: any bytes have one."""
    return data.decode("utf-16" if data.startswith(UTF16_MARKS) else "utf-8-sig", "replace")


def appended(existing: str | None, text: str) -> str:
    """Return what to append to a text so that ``text`` stands on lines of its own, in the text's own line endings."""
    if not text:
        return ""
    ending = newline(existing or "")
    lines = "".join(line.rstrip("\r\n") + ending for line in split_lines(text))
    return lines if not existing or existing == BOM or existing.endswith(("\n", "\r")) else ending + lines


def carry_over(old: bytes, new: str) -> bytes:
    """Return the new text with the bytes of the old file wherever a line is the same (G3).

    What a person edits in a cell has lost the file's BOM, its line endings and bytes that were no UTF-8: unchanged lines take
    theirs from the file, changed lines its usual ending. A blank line after a lone carriage return gets both characters, for a line
    feed alone would only complete the ending before it.
    """
    mark = BOM.encode() if old.startswith(BOM.encode()) else b""
    body = old.removeprefix(mark)
    if not body.startswith(BOM.encode()):
        new = new.removeprefix(BOM)
    kept = [line.encode("utf-8", "surrogateescape") for line in split_lines(body.decode("utf-8", "surrogateescape"))]
    fresh = [line.encode("utf-8", "surrogateescape") for line in split_lines(new)]
    ending = newline(body.decode("utf-8", "replace")).encode()
    taken = dict(_matches([_seen(line) for line in kept], [_seen(line) for line in fresh]))
    result = [kept[taken[number]] if number in taken else _with_ending(line, ending) for number, line in enumerate(fresh)]
    result[:-1] = [line if line.endswith((b"\n", b"\r")) else line + ending for line in result[:-1]]
    return mark + b"".join(b"\r\n" if line == b"\n" and before.endswith(b"\r") else line for before, line in pairwise([b"", *result]))


def _matches(before: list[str], after: list[str]) -> Iterator[tuple[int, int]]:
    """Pair equal lines (new number, old number). What both ends share is paired first: files are large and edits small."""
    shortest = min(len(before), len(after))
    head = next((n for n in range(shortest) if before[n] != after[n]), shortest)
    tail = next((n for n in range(shortest - head) if before[-1 - n] != after[-1 - n]), shortest - head)
    yield from ((number, number) for number in range(head))
    yield from ((len(after) - n, len(before) - n) for n in range(1, tail + 1))
    middle = difflib.SequenceMatcher(None, before[head : len(before) - tail], after[head : len(after) - tail], autojunk=False)
    for block in middle.get_matching_blocks():
        yield from ((head + block.b + n, head + block.a + n) for n in range(block.size))


def _with_ending(line: bytes, ending: bytes) -> bytes:
    body = line.rstrip(b"\r\n")
    return body if body == line else body + ending


def _seen(line: bytes) -> str:
    return line.decode("utf-8", "replace").rstrip("\r\n")
