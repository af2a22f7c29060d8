"""``read_file``, ``list_files``, ``search_files``: what lies in the notebook's folder and the allowed paths, read only."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING, Any

from memflush_jupyter.agent.tools.base import ToolCall, ToolResult, text_result
from memflush_jupyter.agent.tools.reach import Reach, aside
from memflush_jupyter.errors import ToolInputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from threading import Event

__all__ = ["ListFiles", "Reach", "ReadFile", "SearchFiles"]

LINES = 200
"""Lines ``read_file`` shows by default."""
MAX_CHARS = 20_000
"""Characters one result of a file tool holds, at most."""
MAX_ENTRIES = 200
MAX_HITS = 50
MAX_SEARCHED_BYTES = 2 * 1024**2
_TEXT_PROBE = 4096
_LONGEST_LINE = 1_000_000
"""A line that is longer counts as several: a file without line ends is not taken into memory whole."""


class ReadFile:
    """Reads a text file by lines."""

    name = "read_file"
    description = "Read a text file in the notebook's folder (memory/ included), by lines. Load data files with run_python."
    approval = False
    parallel = True
    input_schema: dict[str, Any] = {  # noqa: RUF012 - a constant schema, never changed
        "type": "object",
        "properties": {"path": {"type": "string"}, "start": {"type": "integer", "description": "First line, from 1."}, "lines": {"type": "integer"}},
        "required": ["path"],
    }

    def __init__(self, reach: Reach) -> None:
        self._reach = reach

    async def run(self, input: dict[str, Any], call: ToolCall) -> ToolResult:  # noqa: A002, ARG002 - protocol
        """Return the lines, with where they stand in the file."""
        path = self._reach.resolve(input["path"])
        if path.is_dir():
            return text_result(f"{input['path']!r} is a folder; list_files shows what is in it.", is_error=True)
        start, count = max(1, input.get("start") or 1), max(1, input.get("lines") or LINES)
        return await aside(lambda over: self._read(path, start, count, over))

    def _read(self, path: Path, start: int, count: int, over: Event) -> ToolResult:
        try:
            taken: list[str] = []
            total = 0
            with self._reach.open(path) as file:
                if b"\0" in file.read(_TEXT_PROBE):
                    return text_result(f"{self._reach.shown(path)} is not text ({path.stat().st_size:,} bytes). Load it with run_python.", is_error=True)
                file.seek(0)
                lines = io.TextIOWrapper(file, encoding="utf-8", errors="replace", newline=None)
                for total, line in enumerate(iter(lambda: lines.readline(_LONGEST_LINE), ""), 1):
                    if start <= total < start + count:
                        taken.append(line.rstrip("\n"))
                    if over.is_set():
                        break
        except OSError as error:
            return text_result(f"{self._reach.shown(path)} cannot be read: {error.strerror or error}.", is_error=True)
        text, cut = _clip("\n".join(taken))
        head = f"{self._reach.shown(path)}, lines {start}–{start + len(taken) - 1} of {total}" if taken else f"{self._reach.shown(path)} has {total} lines"
        return text_result(f"{head}{cut}\n{text}")


class ListFiles:
    """Lists a folder."""

    name = "list_files"
    description = "List a folder, by default the notebook's own, with sizes."
    approval = False
    parallel = True
    input_schema: dict[str, Any] = {"type": "object", "properties": {"path": {"type": "string"}}, "required": []}  # noqa: RUF012 - a constant

    def __init__(self, reach: Reach) -> None:
        self._reach = reach

    async def run(self, input: dict[str, Any], call: ToolCall) -> ToolResult:  # noqa: A002, ARG002 - protocol
        """Return one entry a line, folders with a slash."""
        path = self._reach.resolve(input.get("path") or ".")
        if path.is_file():
            return text_result(f"{self._reach.shown(path)}  {path.stat().st_size:,} bytes")
        try:
            entries = await aside(lambda _over: self._reach.entries(path))
        except OSError as error:
            return text_result(f"{self._reach.shown(path)} cannot be listed: {error.strerror or error}.", is_error=True)
        lines = [f"{name}/" if folder else f"{name}  {_bytes(size)}" for name, folder, size in entries[:MAX_ENTRIES]]
        if len(entries) > MAX_ENTRIES:
            lines.append(f"… and {len(entries) - MAX_ENTRIES} more")
        return text_result("\n".join(lines) or f"{self._reach.shown(path)} is empty.")


class SearchFiles:
    """Finds text in files."""

    name = "search_files"
    description = "Find lines that hold a text (case-insensitive) in the files of a folder."
    approval = False
    parallel = True
    input_schema: dict[str, Any] = {  # noqa: RUF012 - a constant schema, never changed
        "type": "object",
        "properties": {"query": {"type": "string"}, "path": {"type": "string"}},
        "required": ["query"],
    }

    def __init__(self, reach: Reach) -> None:
        self._reach = reach

    async def run(self, input: dict[str, Any], call: ToolCall) -> ToolResult:  # noqa: A002, ARG002 - protocol
        """Return ``path:line: text`` for each hit."""
        if not input["query"].strip():
            return text_result("search_files needs a text to look for.", is_error=True)
        top = self._reach.resolve(input.get("path") or ".")
        return await aside(lambda over: self._search(input["query"], top, over))

    def _search(self, query: str, top: Path, over: Event) -> ToolResult:
        wanted = re.compile(re.escape(query), re.IGNORECASE)
        hits: list[str] = []
        for path in [top] if top.is_file() else self._reach.walk(top):
            if over.is_set():
                break
            for number, line in self._lines(path):
                if wanted.search(line):
                    hits.append(f"{self._reach.shown(path)}:{number}: {line.strip()[:300]}")
                if len(hits) >= MAX_HITS:
                    return text_result(_clip("\n".join(hits))[0] + f"\n… the first {MAX_HITS} hits; narrow the search for the rest.")
        return text_result(_clip("\n".join(hits))[0] if hits else f"No file here holds {query!r}.")

    def _lines(self, path: Path) -> Iterator[tuple[int, str]]:
        try:
            with self._reach.open(path) as file:
                raw = file.read(MAX_SEARCHED_BYTES + 1)
        except (OSError, ToolInputError):
            return
        if len(raw) > MAX_SEARCHED_BYTES:
            return
        if b"\0" not in raw[:_TEXT_PROBE]:
            yield from enumerate(raw.decode("utf-8", "replace").splitlines(), 1)


def _bytes(size: int | None) -> str:
    return "(unreadable)" if size is None else f"{size:,} bytes"


def _clip(text: str) -> tuple[str, str]:
    if len(text) <= MAX_CHARS:
        return text, ""
    return text[:MAX_CHARS], f" (the first {MAX_CHARS:,} characters of them)"
