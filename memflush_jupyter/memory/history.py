"""What files were before they changed: one preimage a change, kept under ``.memflush/history`` until a person forgets it (P3)."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final

from memflush_jupyter.errors import MemoryFileError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from memflush_jupyter.clock import Clock

_ID: Final = re.compile(r"h\d{6,}")


@dataclass(frozen=True, slots=True)
class Entry:
    """One preimage. ``existed`` is False when the change created the file; ``reason`` is ``edit``, ``dream``, ``conflict``, …."""

    id: str
    name: str
    at: datetime
    reason: str
    existed: bool


class History:
    """The preimages of one memory folder. Writers hold the folder's lock.

    Args:
        folder: where entries are kept, one folder each, numbered in order.
        clock: dates them.
    """

    def __init__(self, folder: Path, *, clock: Clock) -> None:
        self._folder = folder
        self._clock = clock

    def save(self, name: str, data: bytes | None, reason: str) -> Entry:
        """Keep the bytes of a file (``None``: it did not exist) before a change.

        Raises:
            MemoryFileError: it cannot be written; then the change must not happen.
        """
        number = max((int(path.name[1:]) for path in self._paths()), default=0) + 1
        entry = Entry(f"h{number:06d}", name, self._clock.now(), reason, data is not None)
        meta = {"name": name, "at": entry.at.isoformat(), "reason": reason, "existed": entry.existed}
        scratch = self._folder / "unfinished"
        try:
            shutil.rmtree(scratch, ignore_errors=True)  # a killed process left it
            scratch.mkdir(parents=True)
            (scratch / "meta.json").write_text(json.dumps(meta), encoding="utf-8")
            (scratch / "data").write_bytes(data or b"")
            scratch.rename(self._folder / entry.id)
        except OSError as error:
            raise MemoryFileError(f"The history of memory/{name} cannot be kept ({error.strerror}), so the file was not changed.") from error
        return entry

    def entries(self, name: str | None = None) -> list[Entry]:
        """Return the entries, newest first; of one file with its canonical name. Damaged ones are left out."""
        found = []
        for path in sorted(self._paths(), key=lambda path: int(path.name[1:]), reverse=True):
            with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
                meta = json.loads((path / "meta.json").read_text(encoding="utf-8"))
                if name is None or meta["name"] == name:
                    found.append(Entry(path.name, meta["name"], datetime.fromisoformat(meta["at"]), meta["reason"], meta["existed"]))
        return found

    def read(self, entry_id: str) -> bytes:
        """Return the bytes of a preimage.

        Raises:
            MemoryFileError: there is no such entry.
        """
        if _ID.fullmatch(entry_id):
            with contextlib.suppress(OSError):
                return (self._folder / entry_id / "data").read_bytes()
        raise MemoryFileError(f"There is no entry {entry_id!r} in the history of the memory files.")

    def rewrite(self, change: Callable[[str, bytes], bytes]) -> list[str]:
        """Pass every preimage through ``change(name, data)`` and keep the result: forgetting (G9). Returns the ids that changed."""
        changed = []
        for entry in self.entries():
            data = self.read(entry.id)
            fresh = change(entry.name, data)
            if fresh != data:
                self._overwrite(entry.id, fresh)
                changed.append(entry.id)
        return changed

    def _overwrite(self, entry_id: str, data: bytes) -> None:
        scratch = self._folder / "unfinished"
        try:
            shutil.rmtree(scratch, ignore_errors=True)
            scratch.mkdir()
            (scratch / "data").write_bytes(data)
            (scratch / "data").replace(self._folder / entry_id / "data")
            scratch.rmdir()
        except OSError as error:
            raise MemoryFileError(f"The history entry {entry_id} cannot be rewritten ({error.strerror}); it still holds what was to be forgotten.") from error

    def _paths(self) -> list[Path]:
        if not self._folder.is_dir():
            return []
        return [path for path in self._folder.iterdir() if _ID.fullmatch(path.name)]
