"""The memory folder and the store in it, looked at without making or changing either."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import subprocess
from typing import TYPE_CHECKING

from memflush_jupyter.clock import FixedClock
from memflush_jupyter.doctor.report import Check
from memflush_jupyter.memory.files import MemoryFolder
from memflush_jupyter.trace.schema import INDEX_VERSION, REVISION

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from memflush_jupyter.doctor.examination import Place

CHECKED_BYTES = 512 * 1024**2
"""A larger store is not read through: that would take minutes."""
_GIT_S = 3.0
_ANY_DAY = FixedClock("2000-01-01T00:00", "UTC")


def _folder(place: Place) -> MemoryFolder:
    return MemoryFolder(place.folder / place.config.memory_dir, clock=_ANY_DAY, declared={})


def memory(place: Place) -> list[Check]:
    """The folder: there, writable, a link, in version control."""
    if not place.config.memory:
        return [Check("memory folder", "ok", "memory is off (MemFlush.memory = False)")]
    given = place.folder / place.config.memory_dir
    root = given.resolve()
    link = f", a link to {root}" if given.is_symlink() else ""
    if given.is_symlink() and not root.exists():
        return [Check("memory folder", "broken", f"{given}{link}, which is not there", "Mount or create what it points to, or remove the link.")]
    if root.exists() and not root.is_dir():
        return [Check("memory folder", "broken", f"{given} is a file", "Move that file away, or set MemFlush.memory_dir to another name.")]
    found = _folder(place)
    if not root.exists():
        if not found.writable:
            return [
                Check("memory folder", "broken", f"{given} cannot be made", f"Make {given.parent} writable, or set MemFlush.memory_dir to a folder that is.")
            ]
        return [Check("memory folder", "ok", f"{given}, made with the first turn")]
    if not os.access(root, os.R_OK | os.X_OK):
        return [Check("memory folder", "broken", f"{given} cannot be read", "Change its permissions so that you can read and enter it.")]
    count = len(found.names())
    seen = f"{given}{link}, {count} file{'' if count == 1 else 's'}{_git(root)}"
    if not found.writable:
        return [
            Check("memory folder", "warning", f"{seen}, read-only", "What it holds is used, nothing is saved. Make it writable, or set MemFlush.memory_dir.")
        ]
    return [Check("memory folder", "ok", seen)]


def _git(root: Path) -> str:
    if not any((parent / ".git").exists() for parent in (root, *root.parents)):
        return ""
    git = shutil.which("git")
    if git is None:
        return ", in a git repository"
    try:
        command = [git, "-C", str(root), "check-ignore", "-q", "2000-01-01.md"]
        ignored = subprocess.run(command, capture_output=True, timeout=_GIT_S, check=False, stdin=subprocess.DEVNULL).returncode == 0  # noqa: S603 - fixed arguments
    except (OSError, subprocess.TimeoutExpired):
        return ", in a git repository"
    return ", in a git repository that ignores it" if ignored else ", in a git repository (notes show up in `git status`)"


def store(place: Place) -> list[Check]:
    """The trace store: size, integrity, schema and index."""
    if not place.config.memory and not _folder(place).store_path.exists():
        return [Check("store", "ok", "none yet")]
    path = _folder(place).store_path
    try:
        size = path.stat().st_size if path.exists() else 0
    except OSError as error:
        return [Check("store", "broken", f"{path} cannot be looked at ({error.strerror})", "Change the permissions of the folder so that you can enter it.")]
    if not size:
        return [Check("store", "ok", f"{path}, made with the first turn")]
    name = f"{path}, {_bytes(size)}"
    away = "Move it away with its -wal and -shm files: the memory files beside it stay as they are, and a new store is made."
    try:
        with _reading(path) as connection:
            tables = {str(row[0]) for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if "alembic_version" not in tables or "traces" not in tables:
                return [Check("store", "broken", f"{name}: a database of another program", "Move it away, or set MemFlush.memory_dir to another folder.")]
            fault = _integrity(connection) if size <= CHECKED_BYTES else ""
            revision = str(connection.execute("SELECT version_num FROM alembic_version").fetchone()[0])
            index = _setting(connection, "index_version")
            traces = int(connection.execute("SELECT count(*) FROM traces").fetchone()[0])
    except sqlite3.DatabaseError as error:
        if "unable to open" in str(error) or "readonly" in str(error) or not os.access(path, os.R_OK):
            return [Check("store", "broken", f"{name}: it cannot be opened", f"Make {path} and its folder readable and writable.")]
        return [Check("store", "broken", f"{name}: damaged ({error})", away)]
    if fault:
        return [Check("store", "broken", f"{name}: damaged ({fault})", away)]
    if revision > REVISION:
        newer = f"{name}: schema {revision}, this version knows {REVISION}"
        return [Check("store", "broken", newer, "It was written by a newer memflush-jupyter: `pip install --upgrade memflush-jupyter`.")]
    checked = "intact" if size <= CHECKED_BYTES else "not checked: very large"
    later = "".join(
        f"; {what} is brought to {now} when it is opened" for what, has, now in (("schema", revision, REVISION), ("index", index, INDEX_VERSION)) if has != now
    )
    seen = f"{name}, {checked}, {traces} conversation{'' if traces == 1 else 's'}, schema {revision}, index {index}{later}"
    if not os.access(path, os.W_OK):
        return [Check("store", "warning", f"{seen}, read-only", "Conversations are not kept. Make the file writable.")]
    return [Check("store", "ok", seen)]


def setting(place: Place, key: str) -> str | None:
    """A setting from the store, or ``None``: none there, or no store."""
    path = _folder(place).store_path
    try:
        if not path.exists():
            return None
        with _reading(path) as connection:
            return _setting(connection, key)
    except (OSError, sqlite3.DatabaseError):
        return None


def _setting(connection: sqlite3.Connection, key: str) -> str | None:
    row = connection.execute("SELECT value FROM settings WHERE key = ?", (key,)).fetchone()
    return str(row[0]) if row else None


def _integrity(connection: sqlite3.Connection) -> str:
    found = str(connection.execute("PRAGMA quick_check(1)").fetchone()[0])
    return "" if found == "ok" else found.splitlines()[0][:120]


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    """The file for reading alone. Without a log beside it nobody writes, and then not even a lock file is made."""
    quiet = "" if path.with_name(path.name + "-wal").exists() else "&immutable=1"
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro{quiet}", uri=True, timeout=2.0)
    try:
        yield connection
    finally:
        connection.close()


def _bytes(size: int) -> str:
    return f"{size / 1024**2:,.1f} MB" if size >= 1024**2 else f"{size / 1024:,.0f} KB"
