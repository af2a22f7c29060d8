"""Throw-away copies of a memory folder: a test or a validation run reads and writes the copy, never the original (P9)."""

from __future__ import annotations

import shutil
from pathlib import Path

_LOCKS = ("*.lock", "locks")


def copy_memory(source: Path, target: Path) -> Path:
    """Copy a memory folder with its store and history, without its locks, to ``target`` and return it.

    A store in use is copied with its write-ahead log. A missing ``source`` gives an empty folder; a symlink to a shared
    folder is followed, so that the copy stands alone.

    Raises:
        FileExistsError: ``target`` exists already.
    """
    if not source.is_dir():
        target.mkdir(parents=True)
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copytree(source.resolve(), target, ignore=shutil.ignore_patterns(*_LOCKS))
    return target


def fingerprint(folder: Path) -> dict[str, bytes]:
    """Return the bytes of every file under ``folder`` by its relative name, to tell whether anything changed."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(Path(folder).rglob("*")) if path.is_file()}
