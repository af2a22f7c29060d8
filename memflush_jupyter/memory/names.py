"""Which names a memory file may have. Pure rules on text; the file system is asked in ``files.py``.

A *logical* name is what people and models see: ``memory/taste.md``, whatever the folder is called on disk. A *canonical* name is
the same without the prefix: ``taste.md``, ``topics/plots.md``. The rules are those of every system a shared folder may travel to,
so that a name made here is the same file there (C3).
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from memflush_jupyter.errors import MemoryFileError

PREFIX: Final = "memory"
PRIVATE: Final = ".memflush"
IDENTITY: Final = "IDENTITY.md"
MEMORY: Final = "MEMORY.md"
DREAMS: Final = "DREAMS.md"
TOPICS: Final = "topics"

MAX_PART_BYTES: Final = 200
"""Longest file or folder name in UTF-8 bytes: file systems allow 255, and temporary names need some of it."""

MAX_DEPTH: Final = 8

_DAILY: Final = re.compile(r"\d{4}-\d{2}-\d{2}\.md")
_DRIVE: Final = re.compile(r"[A-Za-z]:")
_DEVICE: Final = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.IGNORECASE)
_FORBIDDEN: Final = frozenset('<>:"|?*')


def fold(name: str) -> str:
    """Return what two names share that are one file on a system blind to case and to Unicode composition."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def is_daily(name: str) -> bool:
    """Tell whether a canonical name is that of a daily file, ``YYYY-MM-DD.md``."""
    return _DAILY.fullmatch(name) is not None


def logical(name: str) -> str:
    """Return the name as people and models see it: ``memory/taste.md``."""
    return f"{PREFIX}/{name}"


def canonical(name: str, *, folder: str = PREFIX) -> str:
    """Return the name inside the memory folder, without ``memory/`` (or the folder's own name) in front.

    Raises:
        MemoryFileError: the name is not one that a memory file may have (C3).
    """
    _check_text(name)
    parts = [part for part in name.split("/") if part not in {"", "."}]
    if len(parts) > 1 and parts[0] in {PREFIX, folder}:
        parts = parts[1:]
    if not parts or parts == [PREFIX]:
        raise MemoryFileError(f"{name!r} names the memory folder itself; name a file in it, such as 'memory/MEMORY.md'.")
    if len(parts) > MAX_DEPTH:
        raise MemoryFileError(f"{_short(name)} lies too deep: at most {MAX_DEPTH} folders inside one another are used in memory.")
    for part in parts:
        _check_part(name, part)
    return "/".join(parts)


def _check_text(name: str) -> None:
    if not name.strip():
        raise MemoryFileError("The name of the memory file is empty; name one such as 'memory/MEMORY.md'.")
    if any(unicodedata.category(character) in {"Cc", "Cs", "Zl", "Zp"} for character in name):
        raise MemoryFileError(f"{_short(name)} contains a control character; use an ordinary file name such as 'topics/plots.md'.")
    if "\\" in name:
        raise MemoryFileError(f"{_short(name)} contains a backslash; separate folders in memory by '/'.")
    if name.startswith(("/", "~")) or _DRIVE.match(name):
        raise MemoryFileError(f"{_short(name)} is an absolute path; name memory files relative to the memory folder, such as 'memory/MEMORY.md'.")


def _check_part(name: str, part: str) -> None:
    if part == "..":
        raise MemoryFileError(f"{_short(name)} leaves the memory folder by '..'; only files inside it can be used.")
    if part.startswith("."):
        raise MemoryFileError(f"{_short(name)} is hidden; files and folders that begin with a dot are not memory.")
    if len(part.encode()) > MAX_PART_BYTES:
        raise MemoryFileError(f"{_short(name)} is too long a name: at most {MAX_PART_BYTES} bytes; choose a shorter one.")
    if part != part.strip() or part.endswith("."):
        raise MemoryFileError(f"{_short(name)} begins or ends with a blank or ends with a dot, which some systems drop; choose another name.")
    if _FORBIDDEN.intersection(part) or _DEVICE.fullmatch(part):
        raise MemoryFileError(f"{_short(name)} cannot be a file name on every system; use letters, digits, '-' and '_'.")


def _short(name: str) -> str:
    shown = ascii(name) if not name.isprintable() else repr(name)
    return shown if len(shown) <= 80 else f"{shown[:76]}…'"  # noqa: PLR2004 - one line of a message
