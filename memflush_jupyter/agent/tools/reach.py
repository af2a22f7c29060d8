"""Which files the file tools may read: the notebook's folder and ``allowed_paths``, and nothing that a link, a name or a race leads to beyond."""

from __future__ import annotations

import asyncio
import errno
import os
import stat
import threading
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeVar

from memflush_jupyter.errors import ToolInputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

T = TypeVar("T")

PRIVATE = ".memflush"
_HIDDEN = {"__pycache__", "node_modules"}
_CHANGED = (errno.ELOOP, errno.ENOTDIR)
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _NO_FOLLOW
_FILE = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | _NO_FOLLOW
_BY_PARTS = os.open in os.supports_dir_fd and bool(_NO_FOLLOW)


class Reach:
    """The folders the file tools may read. Links are followed, then checked; what is opened is what was checked."""

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
            outside = self._root(path) is None
            there = outside or path.exists()
        except (OSError, RuntimeError, ValueError) as error:
            raise ToolInputError(f"{given!r} is not a path that can be read here.") from error
        if outside:
            raise ToolInputError(f"{given!r} lies outside the notebook's folder. The person can add its folder to `MemFlush.allowed_paths`.")
        if _private(path):
            raise ToolInputError(f"{given!r} is the agent's own store, which no file tool reads; memory_search and read_message do.")
        if not there:
            near = ", ".join(sorted(entry.name for entry in self.folder.iterdir() if not entry.name.startswith("."))[:12])
            raise ToolInputError(f"There is no {given!r}. The notebook's folder holds: {near or 'nothing'}.")
        if not (path.is_file() or path.is_dir()):
            raise ToolInputError(f"{given!r} is a device or a pipe, not a file.")
        return path

    def open(self, path: Path) -> BinaryIO:
        """Open a file that :meth:`resolve` or :meth:`walk` gave.

        Part by part and past no link, so that what was put in its place since is not read.

        Raises:
            ToolInputError: it is no longer what it was.
            OSError: it cannot be read.
        """
        descriptor = self._descriptor(path.resolve(), _FILE)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise ToolInputError(f"{self.shown(path)} is a device or a pipe, not a file.")
        return os.fdopen(descriptor, "rb")

    def entries(self, path: Path) -> list[tuple[str, bool, int | None]]:
        """The visible names in a folder, whether each is a folder, and its size in bytes; folders first.

        Raises:
            ToolInputError: it is no longer what it was.
            OSError: it cannot be listed.
        """
        if not _BY_PARTS or os.listdir not in os.supports_fd:
            return sorted(((entry.name, entry.is_dir(), _size(entry)) for entry in path.iterdir() if not entry.name.startswith(".")), key=_order)
        descriptor = self._descriptor(path, _FOLDER)
        try:
            found: list[tuple[str, bool, int | None]] = []
            for name in os.listdir(descriptor):  # noqa: PTH208 - of an open folder, so that no other is listed
                if name.startswith("."):
                    continue
                try:
                    status = os.stat(name, dir_fd=descriptor)
                    found.append((name, stat.S_ISDIR(status.st_mode), status.st_size))
                except OSError:
                    found.append((name, False, None))
            return sorted(found, key=_order)
        finally:
            os.close(descriptor)

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

    def _root(self, path: Path) -> Path | None:
        return next((root for root in self._roots if path == root or root in path.parents), None)

    def _is_ours(self, path: Path) -> bool:
        try:
            real = path.resolve() if path.is_symlink() else path
            return path.is_file() and self._root(real) is not None and not _private(real)
        except (OSError, RuntimeError):  # a link that leads to itself
            return False

    def _descriptor(self, path: Path, flags: int) -> int:
        root = self._root(path)
        if root is None or _private(path):
            raise ToolInputError(f"{path.name!r} changed while it was being read, and now leads out of the folder.")
        if not _BY_PARTS:
            return os.open(path, flags)
        parts = path.relative_to(root).parts
        at = -1
        try:
            at = os.open(root, flags if not parts else _FOLDER)
            for number, part in enumerate(parts, start=1):
                inner = os.open(part, flags if number == len(parts) else _FOLDER, dir_fd=at)
                os.close(at)
                at = inner
        except OSError as error:
            if at >= 0:
                os.close(at)
            if error.errno in _CHANGED:
                raise ToolInputError(f"{self.shown(path)} changed while it was being read; try again.") from error
            raise
        return at


async def aside(work: Callable[[threading.Event], T]) -> T:
    """Run ``work`` on a thread. The event it gets is set when nobody waits any more (an interrupt, ``tool_timeout_s``): then it should end."""
    over = threading.Event()
    try:
        return await asyncio.to_thread(work, over)
    finally:
        over.set()


def _private(path: Path) -> bool:
    # Some file systems take names in any case for the same.
    return any(part.casefold() == PRIVATE for part in path.parts)


def _order(entry: tuple[str, bool, int | None]) -> tuple[bool, str]:
    return not entry[1], entry[0]


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None
