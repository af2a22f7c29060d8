"""``read_file``, ``list_files``, ``search_files``: what lies in the notebook's folder and the allowed paths, read only."""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memflush_jupyter.agent.tools.base import ToolCall, ToolResult, text_result
from memflush_jupyter.errors import ToolInputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

LINES = 200
"""Lines ``read_file`` shows by default."""
MAX_CHARS = 20_000
"""Characters one result of a file tool holds, at most."""
MAX_ENTRIES = 200
MAX_HITS = 50
MAX_SEARCHED_BYTES = 2 * 1024**2
_HIDDEN = {"__pycache__", "node_modules"}
_TEXT_PROBE = 4096


class Reach:
    """The folders the file tools may read: the notebook's own, and those in ``allowed_paths``. Links are followed, then checked."""

    def __init__(self, folder: Path, allowed: Sequence[str] = ()) -> None:
        self.folder = folder.resolve()
        self._roots = [self.folder, *((self.folder / Path(path).expanduser()).resolve() for path in allowed)]

    def resolve(self, given: str) -> Path:
        """Return the real path.

        Raises:
            ToolInputError: it lies outside, does not exist, or is neither file nor folder.
        """
        if "\0" in given:
            raise ToolInputError("A path cannot hold a NUL character.")
        try:
            path = (self.folder / Path(given).expanduser()).resolve()
            outside = not any(path == root or root in path.parents for root in self._roots)
            there = outside or path.exists()
        except (OSError, RuntimeError, ValueError) as error:
            raise ToolInputError(f"{given!r} is not a path that can be read here.") from error
        if outside or ".memflush" in path.parts:
            raise ToolInputError(f"{given!r} lies outside the notebook's folder. The person can add its folder to `MemFlush.allowed_paths`.")
        if not there:
            near = ", ".join(sorted(entry.name for entry in self.folder.iterdir() if not entry.name.startswith("."))[:12])
            raise ToolInputError(f"There is no {given!r}. The notebook's folder holds: {near or 'nothing'}.")
        if not (path.is_file() or path.is_dir()):
            raise ToolInputError(f"{given!r} is a device or a pipe, not a file.")
        return path

    def shown(self, path: Path) -> str:
        """The path as a person would write it, relative to the notebook where that is shorter."""
        return path.relative_to(self.folder).as_posix() if path == self.folder or self.folder in path.parents else str(path)

    def walk(self, top: Path) -> Iterator[Path]:
        """Files below ``top``, sorted; hidden folders and links that lead out are left out."""
        for root, folders, names in os.walk(top):
            folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _HIDDEN)
            for name in sorted(names):
                path = Path(root, name)
                if self._is_ours(path):
                    yield path

    def _is_ours(self, path: Path) -> bool:
        try:
            return path.is_file() and (not path.is_symlink() or any(root in path.resolve().parents for root in self._roots))
        except (OSError, RuntimeError):  # a link that leads to itself
            return False


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
        return await asyncio.to_thread(self._read, path, max(1, input.get("start") or 1), max(1, input.get("lines") or LINES))

    def _read(self, path: Path, start: int, count: int) -> ToolResult:
        try:
            with path.open("rb") as file:
                if b"\0" in file.read(_TEXT_PROBE):
                    return text_result(f"{self._reach.shown(path)} is not text ({path.stat().st_size:,} bytes). Load it with run_python.", is_error=True)
            taken: list[str] = []
            total = 0
            with path.open(encoding="utf-8", errors="replace", newline=None) as lines:
                for total, line in enumerate(lines, 1):
                    if start <= total < start + count:
                        taken.append(line.rstrip("\n"))
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
            entries = sorted((entry for entry in path.iterdir() if not entry.name.startswith(".")), key=lambda entry: (entry.is_file(), entry.name))
        except OSError as error:
            return text_result(f"{self._reach.shown(path)} cannot be listed: {error.strerror or error}.", is_error=True)
        lines = [f"{entry.name}/" if entry.is_dir() else f"{entry.name}  {_size(entry)}" for entry in entries[:MAX_ENTRIES]]
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
        return await asyncio.to_thread(self._search, input["query"], top)

    def _search(self, query: str, top: Path) -> ToolResult:
        wanted = re.compile(re.escape(query), re.IGNORECASE)
        hits: list[str] = []
        for path in [top] if top.is_file() else self._reach.walk(top):
            for number, line in self._lines(path):
                if wanted.search(line):
                    hits.append(f"{self._reach.shown(path)}:{number}: {line.strip()[:300]}")
                if len(hits) >= MAX_HITS:
                    return text_result(_clip("\n".join(hits))[0] + f"\n… the first {MAX_HITS} hits; narrow the search for the rest.")
        return text_result(_clip("\n".join(hits))[0] if hits else f"No file here holds {query!r}.")

    @staticmethod
    def _lines(path: Path) -> Iterator[tuple[int, str]]:
        try:
            if path.stat().st_size > MAX_SEARCHED_BYTES:
                return
            raw = path.read_bytes()
        except OSError:
            return
        if b"\0" not in raw[:_TEXT_PROBE]:
            yield from enumerate(raw.decode("utf-8", "replace").splitlines(), 1)


def _size(path: Path) -> str:
    try:
        return f"{path.stat().st_size:,} bytes"
    except OSError:
        return "(unreadable)"


def _clip(text: str) -> tuple[str, str]:
    if len(text) <= MAX_CHARS:
        return text, ""
    return text[:MAX_CHARS], f" (the first {MAX_CHARS:,} characters of them)"
