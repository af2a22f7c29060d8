"""From a canonical name to a path, past nothing that leads elsewhere: no links, no devices, no pipes (C3)."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from memflush_jupyter.errors import MemoryFileError
from memflush_jupyter.memory import names as rules
from memflush_jupyter.memory import writing

if TYPE_CHECKING:
    from pathlib import Path


def walk(root: Path, name: str, *, for_write: bool) -> Path:
    """Return the path of a canonical name under ``root``; it need not exist.

    Raises:
        MemoryFileError: something on the way is a link, or no folder; what is there is no ordinary file; or, for writing, the name is
            no markdown or differs from an existing one in case alone.
    """
    shown = rules.logical(name)
    if for_write and not name.casefold().endswith(".md"):
        raise MemoryFileError(f"{shown} is no markdown file; memory files end in '.md'.")
    path = root
    parts = name.split("/")
    for number, part in enumerate(parts, start=1):
        if for_write:
            _check_case(path, part, shown)
        path /= part
        _check_entry(path, shown, last=number == len(parts))
    return path


def _check_case(folder: Path, part: str, shown: str) -> None:
    if (folder / part).exists() or not folder.is_dir():
        return
    for entry in os.listdir(folder):  # noqa: PTH208 - names only
        if entry != part and rules.fold(entry) == rules.fold(part):
            raise MemoryFileError(f"{shown} differs from {entry} only in case or accents, which on many systems is the same file; use the name {entry}.")


def _check_entry(path: Path, shown: str, *, last: bool) -> None:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    except OSError as error:
        raise writing.refusal(error, shown, "read") from error
    if stat.S_ISLNK(mode):
        raise MemoryFileError(f"{shown} passes a symbolic link, and memory follows none inside its folder. Put the file itself there.")
    if last and stat.S_ISDIR(mode):
        raise MemoryFileError(f"{shown} is a folder; name a file in it.")
    if not (stat.S_ISREG(mode) if last else stat.S_ISDIR(mode)):
        raise MemoryFileError(f"{shown} is not an ordinary file, so it is neither read nor written.")
