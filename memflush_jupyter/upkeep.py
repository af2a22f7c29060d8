"""``memflush gc``: what nobody will ask for again leaves the disk (G9). Memory files and conversations are never touched."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from memflush_jupyter.clock import make_clock
from memflush_jupyter.errors import MemoryFileError
from memflush_jupyter.memory.files import MemoryFolder
from memflush_jupyter.memory.redaction import Redactor
from memflush_jupyter.trace.store import TraceStore

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from memflush_jupyter.clock import Clock
    from memflush_jupyter.config import MemFlush

HISTORY_DAYS: Final = 90
"""Preimages of changed files are kept for this many days, unless told otherwise."""

_SCRATCH_AGE_S: Final = 3600.0


@dataclass(frozen=True, slots=True)
class Item:
    """One kind of leftover: how many, and their size in bytes (``None``: known only afterwards)."""

    what: str
    count: int
    size: int | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """What was removed, or would be. ``won``: bytes that the disk got back."""

    items: tuple[Item, ...]
    won: int


def collect(folder: Path, config: MemFlush, *, environ: Mapping[str, str], history_days: int = HISTORY_DAYS, dry_run: bool = False) -> Report:
    """Remove the leftovers of the memory of ``folder``; with ``dry_run`` only look.

    Those are: preimages older than ``history_days`` days, what killed processes left half-written, locks of ended processes,
    conversations in which nothing was ever said, and the free pages of the store.

    Raises:
        MemflushError: there is no memory here, or it cannot be written.
    """
    clock = make_clock(config.clock, config.timezone)
    memory = MemoryFolder(folder / config.memory_dir, clock=clock, declared=config.memory_files)
    if not memory.private.is_dir():
        raise MemoryFileError(f"There is no memory in {memory.root}. Run this in a notebook's folder, or name one.")
    before = _size(memory.private)
    items = _files(memory, clock, history_days, dry_run=dry_run)
    if memory.store_path.exists():
        items += _store(memory, clock, environ, dry_run=dry_run)
    return Report(tuple(item for item in items if item.count), 0 if dry_run else max(0, before - _size(memory.private)))


def describe(report: Report, *, dry_run: bool) -> str:
    """The report in lines for a person."""
    if not report.items:
        return "Nothing to remove."
    lines = [
        f"{'would remove' if dry_run else 'removed'} {item.count} {item.what}{'' if item.size is None else f', {item.size:,} bytes'}" for item in report.items
    ]
    return "\n".join(lines if dry_run else [*lines, f"{report.won:,} bytes less on the disk"])


def _files(memory: MemoryFolder, clock: Clock, history_days: int, *, dry_run: bool) -> list[Item]:
    oldest = clock.now() - timedelta(days=history_days)
    history = memory.private / "history"
    old = [history / entry.id for entry in memory.history.entries() if entry.at < oldest]
    scratch = [path for path in (history / "unfinished", *_inside(memory.private / "tmp"), *memory.private.glob(".probe-*")) if _left_over(path)]
    items = [Item("old preimages in the history", len(old), sum(map(_size, old))), Item("half-written files", len(scratch), sum(map(_size, scratch)))]
    if not dry_run:
        with memory.locked():
            for path in [*old, *scratch]:
                if path.is_dir():
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    path.unlink(missing_ok=True)
    return items


def _store(memory: MemoryFolder, clock: Clock, environ: Mapping[str, str], *, dry_run: bool) -> list[Item]:
    store = TraceStore.open(memory.store_path, clock=clock, redact=Redactor(environ))
    try:
        left = store.leftovers(remove=not dry_run)
        items = [Item("conversations without a message", left.traces), Item("records of deleted conversations", left.settings)]
        items += [Item("locks of ended processes", left.locks), Item("free pages of the store", left.pages, left.pages * left.page_size)]
        if not dry_run:
            store.gc()
        return items
    finally:
        store.close()


def _inside(folder: Path) -> list[Path]:
    return list(folder.iterdir()) if folder.is_dir() else []


def _left_over(path: Path) -> bool:
    """Tell what a killed process left from what one is writing now: it is an hour old."""
    import time

    return path.exists() and time.time() - path.stat().st_mtime > _SCRATCH_AGE_S


def _size(path: Path) -> int:
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return sum(file.stat().st_size for file in files)
