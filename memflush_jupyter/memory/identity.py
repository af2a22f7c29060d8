"""Whose memory a folder is: a name kept in the folder itself, so that it stays the same when the folder is moved or copied."""

from __future__ import annotations

import contextlib
import hashlib
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from memflush_jupyter.memory.files import MemoryFolder

FILE: Final = "identity"
_NAME: Final = re.compile(r"[A-Za-z0-9][\w.-]{0,79}")
_OF_A_FOLDER: Final = "folder-"


def by_path(root: Path) -> str:
    """The name a folder has by its place: that of earlier versions, and where nothing can be written."""
    return f"{_OF_A_FOLDER}{hashlib.sha256(str(root).encode()).hexdigest()[:12]}"


def of_folder(memory: MemoryFolder, known: Iterable[str]) -> str:
    """Return the folder's name, and keep it in ``.memflush/identity`` when it is not there yet.

    ``known``: the names under which conversations are stored in this folder, the latest first. A store from before names were kept
    goes on under the name it has: that of its place, else (the folder was moved since) the latest that was made from a place.
    """
    kept = _read(memory.private / FILE)
    if kept:
        return kept
    place = by_path(memory.root)
    names = [name for name in known if name.startswith(_OF_A_FOLDER)]
    chosen = place if place in names or not names else names[0]
    with contextlib.suppress(OSError), (memory.private / FILE).open("x", encoding="utf-8") as file:
        file.write(f"{chosen}\n")
    return _read(memory.private / FILE) or chosen


def _read(path: Path) -> str:
    try:
        found = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""
    return found if _NAME.fullmatch(found) else ""
