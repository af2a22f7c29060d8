"""The only three ways a memory file is touched on disk: read, append, replace. Each either happens whole or not at all (P4).

Nothing here follows a symbolic link or opens a device or pipe: what is not an ordinary file is refused (C3).
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from memflush_jupyter.errors import MemoryFileError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_SAFE: Final = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_FULL: Final = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_READ_ONLY: Final = {errno.EROFS, errno.EACCES, errno.EPERM}
_ATTEMPTS: Final = 5


def content_hash(data: bytes) -> str:
    """Return the SHA-256 of a file's bytes in hex: what ``base_hash`` compares."""
    return hashlib.sha256(data).hexdigest()


def refusal(error: OSError, shown: str, verb: str) -> MemoryFileError:
    """Turn what the system said into a sentence. ``verb`` is ``read`` or ``written``."""
    if error.errno in _FULL:
        reason = "the disk (or its quota) is full. Nothing was changed; free some space and try again."
    elif error.errno in _READ_ONLY and verb == "written":
        reason = "the folder or file is read-only here. Nothing was changed; change its permissions or set c.MemFlush.memory_dir to another folder."
    elif error.errno in _READ_ONLY:
        reason = "this user has no permission for it."
    elif error.errno == errno.ELOOP:
        reason = "it is a symbolic link, and memory follows none inside its folder. Put the file itself there."
    else:
        reason = f"the system says: {error.strerror or error}."
    return MemoryFileError(f"{shown} cannot be {verb}: {reason}")


@contextlib.contextmanager
def _opened(path: Path, flags: int, shown: str) -> Iterator[int]:
    descriptor = os.open(path, flags | _SAFE, 0o666)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise MemoryFileError(f"{shown} is not an ordinary file, so it is neither read nor written.")
        yield descriptor
    finally:
        os.close(descriptor)


def read_bytes(path: Path, shown: str) -> bytes:
    """Return the bytes of an ordinary file.

    Raises:
        MemoryFileError: there is none, or it cannot be read.
    """
    try:
        with _opened(path, os.O_RDONLY, shown) as descriptor, os.fdopen(os.dup(descriptor), "rb") as file:
            return file.read()
    except FileNotFoundError as error:
        raise MemoryFileError(f"There is no memory file {shown}.") from error
    except OSError as error:
        raise refusal(error, shown, "read") from error


def read_or_none(path: Path, shown: str) -> bytes | None:
    """Return the bytes of an ordinary file, or ``None`` when there is none."""
    return read_bytes(path, shown) if os.path.lexists(path) else None


@dataclass(frozen=True, slots=True)
class Journal:
    """A note of the append under way, so that a kill in the middle of the write leaves no half line.

    It is written before the file is touched and removed after. Whoever next takes the lock finds it, and completes by appending
    what is missing, provided that the end of the file is still exactly the beginning of what was meant to be written.
    """

    path: Path
    root: Path

    def begin(self, name: str, offset: int, payload: bytes) -> None:
        """Record that ``payload`` is about to be written at ``offset`` of the file."""
        record = {"name": name, "offset": offset, "payload": payload.decode("utf-8", "surrogateescape")}
        with _opened(self.path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, self.path.name) as descriptor:
            _write_all(descriptor, json.dumps(record).encode())

    def end(self) -> None:
        """Forget the record."""
        self.path.unlink(missing_ok=True)

    def recover(self) -> None:
        """Complete an append that a kill interrupted. The caller holds the lock.

        Raises:
            MemoryFileError: it cannot be completed now; the record stays.
        """
        if not self.path.exists():
            return
        try:
            record = json.loads(self.path.read_bytes())
            name, offset, payload = str(record["name"]), int(record["offset"]), record["payload"].encode("utf-8", "surrogateescape")
        except (ValueError, KeyError, TypeError, AttributeError):  # a torn record: its append never began
            self.end()
            return
        try:
            self._complete(self.root / name, name, offset, payload)
            self.end()
        except OSError as error:
            raise refusal(error, name, "written") from error

    @staticmethod
    def _complete(path: Path, name: str, offset: int, payload: bytes) -> None:
        data = read_or_none(path, name) or b""
        written = data[offset:]
        if written and len(written) < len(payload) and payload.startswith(written):
            with _opened(path, os.O_WRONLY | os.O_APPEND, name) as descriptor:
                _write_or_undo(descriptor, len(data), payload[len(written) :])


def append(path: Path, name: str, shown: str, build: Callable[[bytes | None], bytes], journal: Journal) -> bytes:
    """Append what ``build`` makes of the present bytes (``None``: no file), in one write, then fsync (C2). The caller holds the lock.

    Returns what was appended; empty when there was nothing to write, and then nothing is created or touched. When another program
    changes the file between the read and the write, ``build`` is asked again.

    Raises:
        MemoryFileError: the file cannot be written; then it is as it was.
    """
    for _ in range(_ATTEMPTS):
        data = read_or_none(path, shown)
        payload = build(data)
        if not payload:
            return b""
        try:
            if _append_at(path, name, shown, data, payload, journal):
                return payload
        except OSError as error:
            raise refusal(error, shown, "written") from error
    raise MemoryFileError(f"{shown} keeps changing while it is written; close the other program that writes to it and try again.")


def _append_at(path: Path, name: str, shown: str, data: bytes | None, payload: bytes, journal: Journal) -> bool:
    new = data is None
    size = len(data or b"")
    path.parent.mkdir(parents=True, exist_ok=True)
    journal.begin(name, size, payload)
    try:
        with _opened(path, os.O_WRONLY | os.O_APPEND | (os.O_CREAT | os.O_EXCL if new else 0), shown) as descriptor:
            if os.fstat(descriptor).st_size != size:
                return False
            _write_or_undo(descriptor, size, payload)
    except (FileExistsError, FileNotFoundError):
        return False
    except OSError:
        if new and path.stat().st_size == 0:
            path.unlink()
        raise
    finally:
        journal.end()
    if new:
        sync_folder(path.parent)
    return True


def _write_or_undo(descriptor: int, size: int, payload: bytes) -> None:
    """One write; when it comes short (a full disk) the file is cut back to what it was, unless somebody wrote after us."""
    written = 0
    try:
        written = os.write(descriptor, payload)
        if written < len(payload):
            raise OSError(errno.ENOSPC, "the disk is full")  # noqa: TRY301 - the same undo serves both
        os.fsync(descriptor)
    except OSError:
        if os.fstat(descriptor).st_size == size + written:
            os.ftruncate(descriptor, size)
        raise


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def replace(path: Path, shown: str, data: bytes, *, temporary: Path, still: Callable[[], bool]) -> bool:
    """Put ``data`` in the place of the file by an atomic rename. The caller holds the lock.

    ``still`` is asked last before the rename, and says whether the file is still the one the change was made from; when it is not,
    nothing happens and the answer is False. The file's permissions are kept.

    Raises:
        MemoryFileError: the file cannot be written; then it is as it was.
    """
    scratch = temporary / "replacement"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.mkdir(parents=True, exist_ok=True)
        scratch.unlink(missing_ok=True)  # a killed process left it
        with _opened(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, shown) as descriptor:
            _write_all(descriptor, data)
            os.fsync(descriptor)
        if path.exists():
            scratch.chmod(stat.S_IMODE(path.stat().st_mode))
        if not still():
            return False
        scratch.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        raise refusal(error, shown, "written") from error
    else:
        return True
    finally:
        with contextlib.suppress(OSError):
            scratch.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Make a new or renamed entry of the folder durable; a system that cannot sync folders is left as it is."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
