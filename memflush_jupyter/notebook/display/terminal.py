"""Markdown in a terminal: drawn by rich where it is installed, as plain text elsewhere."""

from __future__ import annotations

import io
import re
import shutil
import sys
from collections.abc import Callable
from typing import Any

Draw = Callable[[str], str]

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})", re.MULTILINE)
MAX_COLUMNS = 100


def complete_blocks(text: str) -> int:
    """How much of a text that is still coming can be drawn: up to the last empty line that is not inside a code fence."""
    end = 0
    position = text.find("\n\n")
    while position >= 0:
        if not _inside_fence(text[: position + 1]):
            end = position + 2
        position = text.find("\n\n", position + 2)
    return end


def _inside_fence(text: str) -> bool:
    opened = ""
    for match in _FENCE.finditer(text):
        mark = match[1]
        if not opened:
            opened = mark
        elif mark[0] == opened[0] and len(mark) >= len(opened):
            opened = ""
    return bool(opened)


def rich_drawer(stream: Any = None) -> Draw | None:
    """A function that draws markdown for the terminal, or ``None``: no terminal, or no rich."""
    target = stream or sys.stdout
    if not getattr(target, "isatty", lambda: False)():
        return None
    try:
        from rich.console import Console
        from rich.markdown import Markdown
    except ImportError:
        return None

    def draw(text: str) -> str:
        drawn = io.StringIO()
        width = min(shutil.get_terminal_size().columns, MAX_COLUMNS)
        Console(file=drawn, force_terminal=True, width=width, color_system="standard").print(Markdown(text))
        return drawn.getvalue()

    return draw
