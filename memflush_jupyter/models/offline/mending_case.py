"""A failed cell as the mending rules see it, and what they make of it."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Case:
    """The cell, its error, and what the kernel knows. ``like``: names like the missing one; ``types``: types of the names in the failed line."""

    cell: str
    kind: str
    message: str
    line: int
    like: tuple[str, ...] = ()
    types: Mapping[str, str] = field(default_factory=dict)

    @property
    def lines(self) -> list[str]:
        """The cell's lines."""
        return self.cell.split("\n")

    @property
    def failed_line(self) -> str:
        """The line that failed; empty when it is not known."""
        return self.lines[self.line - 1] if 0 < self.line <= len(self.lines) else ""

    def with_line(self, new: str) -> str:
        """The cell with the failed line replaced."""
        lines = self.lines
        lines[self.line - 1] = new
        return "\n".join(lines)

    @property
    def quoted(self) -> str:
        """The first quoted word of the message; the message itself when it quotes nothing."""
        match = re.search(r"'([^']+)'", self.message) or re.search(r"\"([^\"]+)\"", self.message)
        return match[1] if match else self.message.strip()


@dataclass(frozen=True, slots=True)
class Mended:
    """Why it failed, in a sentence or two, and the corrected cell if there is one. ``did``: what was changed, said only with the cell."""

    why: str
    code: str | None = None
    did: str = ""


def rename(cell: str, old: str, new: str, *, after_dot: bool = False) -> str:
    """Replace a name where it is a name: not in strings or comments. ``after_dot``: only as an attribute, else never as one."""
    lines = cell.split("\n")
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(cell).readline))
    except (tokenize.TokenError, IndentationError, SyntaxError):
        before = r"(?<=\.)" if after_dot else r"(?<![\w.])"
        return re.sub(rf"{before}{re.escape(old)}(?!\w)", lambda _: new, cell)
    found = [
        token.start
        for previous, token in zip([None, *tokens], tokens, strict=False)
        if token.type == tokenize.NAME and token.string == old and (previous is not None and previous.string == ".") == after_dot
    ]
    for row, column in reversed(found):
        line = lines[row - 1]
        lines[row - 1] = line[:column] + new + line[column + len(old) :]
    return "\n".join(lines)


def requote(cell: str, old: str, new: str) -> str:
    """Replace the content of string literals that are exactly ``old``."""
    return re.sub(rf"(['\"]){re.escape(old)}\1", lambda match: f"{match[1]}{new}{match[1]}", cell)
