"""The memory folder: names become paths, and files are read and written so that nothing a person wrote is lost (C2, C3, G3, G4, G8)."""

from __future__ import annotations

import contextlib
import os
import stat
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from memflush_jupyter.errors import MemoryFileError
from memflush_jupyter.memory import names as rules
from memflush_jupyter.memory import writing
from memflush_jupyter.memory.document import parse
from memflush_jupyter.memory.edits import UTF16_MARKS, appended, carry_over, decode
from memflush_jupyter.memory.history import History
from memflush_jupyter.memory.paths import walk
from memflush_jupyter.memory.writing import content_hash

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from datetime import datetime

    from filelock import BaseFileLock

    from memflush_jupyter.clock import Clock
    from memflush_jupyter.memory.document import Document, Section

__all__ = ["ABSENT", "MemoryFolder", "content_hash", "decode"]

ABSENT: Final = ""
"""The ``base_hash`` of a file that does not exist."""

LOCK_TIMEOUT_S: Final = 20.0
"""How long a writer waits for another one, in seconds: a write takes milliseconds, so that more means a hung process."""

_IGNORE: Final = "# The store, the locks and the history are this machine's own. The memory files beside this folder are yours to commit.\n*\n"


class MemoryFolder:
    """One folder of memory files.

    Args:
        root: the folder; made absolute, with links followed, here and now: later changes of the working directory do not move it (G8).
        clock: says which day it is (C1).
        declared: semantic files and what each is for; notes may be appended to these.
    """

    def __init__(self, root: Path, *, clock: Clock, declared: Mapping[str, str]) -> None:
        self._given = Path(os.path.abspath(root))  # noqa: PTH100 - absolute, but with the link still there, to speak of
        self.root = self._given.resolve()
        self.private = self.root / rules.PRIVATE
        self.store_path = self.private / "store.sqlite3"
        self.clock = clock
        self.declared = {rules.canonical(name, folder=self._given.name): purpose for name, purpose in declared.items()}
        self.history = History(self.private / "history", clock=clock)
        self._journal = writing.Journal(self.private / "append.json", self.root)
        self._lock = _lock(self.private / "locks" / "files.lock")

    # -- the folder ----------------------------------------------------------------------------------------------------

    def ensure(self) -> None:
        """Create what is missing of the folder and its private part; complete an append that a kill interrupted.

        Raises:
            MemoryFileError: it cannot be made or used here, and why (G4).
        """
        self._check_root()
        try:
            self.private.mkdir(parents=True, exist_ok=True)
            ignore = self.private / ".gitignore"
            if not ignore.exists():
                ignore.write_text(_IGNORE, encoding="utf-8", newline="\n")
            (self.private / "locks").mkdir(exist_ok=True)
        except OSError as error:
            raise writing.refusal(error, f"The memory folder {self._given}", "written") from error
        if os.access(self.private, os.W_OK):
            with self.locked():
                pass

    def _check_root(self) -> None:
        if self._given.is_symlink() and not self.root.exists():
            raise MemoryFileError(f"The memory folder {self._given} is a link to {self.root}, which is not there. Mount or create it, or remove the link.")
        if self.root.exists() and not self.root.is_dir():
            raise MemoryFileError(f"The memory folder {self._given} is not a folder. Move that file away, or set c.MemFlush.memory_dir to another name.")

    @property
    def writable(self) -> bool:
        """Whether notes can be written here: the permissions say so, and a file can really be made (G4, B5)."""
        if not self.root.is_dir():
            parent = next(folder for folder in self.root.parents if folder.exists())
            return not os.path.lexists(self._given) and parent.is_dir() and os.access(parent, os.W_OK | os.X_OK)
        if not os.access(self.root, os.W_OK | os.X_OK):
            return False
        probe = (self.private if self.private.is_dir() else self.root) / f".probe-{os.getpid()}"
        try:
            probe.touch()
            probe.unlink()
        except OSError:
            return False
        return True

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder's write lock, across threads and processes; the same thread may take it again. Readers need none.

        Raises:
            MemoryFileError: another process does not give it back, or locks cannot be used here.
        """
        from filelock import Timeout

        try:
            (self.private / "locks").mkdir(parents=True, exist_ok=True)
            self._lock.acquire(timeout=LOCK_TIMEOUT_S)
        except Timeout as error:
            raise MemoryFileError(f"Another process has been writing to {self._given} for {LOCK_TIMEOUT_S:.0f} s. Nothing was written; try again.") from error
        except (OSError, NotImplementedError) as error:
            failure = error if isinstance(error, OSError) else OSError("files cannot be locked on this file system")
            raise writing.refusal(failure, f"The memory folder {self._given}", "written") from error
        try:
            self._journal.recover()
            yield
        finally:
            self._lock.release()

    # -- names ---------------------------------------------------------------------------------------------------------

    def daily_name(self, moment: datetime | date | None = None) -> str:
        """Return the daily file of a moment in the clock's zone; of now without one (C1)."""
        day = self.clock.now() if moment is None else moment
        return f"{day:%Y-%m-%d}.md"

    def recent_dailies(self, today: date | None = None) -> list[str]:
        """Return the names of today's and yesterday's daily file, whether they exist or not (G1)."""
        day = today or self.clock.now().date()
        return [self.daily_name(day), self.daily_name(day - timedelta(days=1))]

    def canonical(self, name: str) -> str:
        """Return the name inside the folder: ``memory/taste.md`` and ``taste.md`` are both ``taste.md`` (C3)."""
        return rules.canonical(name, folder=self._given.name)

    def resolve(self, name: str, *, for_write: bool) -> Path:
        """Return the path of a memory file, which need not exist.

        Raises:
            MemoryFileError: the name leaves the folder, is hidden, passes a symbolic link, is no ordinary file, or, for writing, is
                read-only to tools (``IDENTITY.md``), no markdown, or differs from an existing file in case alone (C3, G7).
        """
        inside = self.canonical(name)
        if for_write and rules.fold(inside) == rules.fold(rules.IDENTITY):
            raise MemoryFileError(f"{rules.logical(rules.IDENTITY)} says who this agent is; it is written by hand and read-only to every tool.")
        return walk(self.root, inside, for_write=for_write)

    def append_target(self, name: str | None) -> str:
        """Return the canonical name that notes for ``name`` go to: today's file (``None`` or by name), ``topics/NAME.md`` or a declared one (G7).

        Raises:
            MemoryFileError: notes cannot be appended there, with what can be used instead.
        """
        if name is None:
            return self.daily_name()
        inside = self.canonical(name)
        if rules.fold(inside) not in {rules.fold(fixed) for fixed in (rules.IDENTITY, rules.MEMORY, rules.DREAMS)}:
            if inside == self.daily_name():
                return inside
            for declared in self.declared:
                if rules.fold(inside) == rules.fold(declared):
                    return declared
            folder, _, file = inside.partition("/")
            if folder == rules.TOPICS and file.endswith(".md") and "/" not in file:
                return inside
        choices = ", ".join(rules.logical(choice) for choice in (self.daily_name(), f"{rules.TOPICS}/NAME.md", *self.declared))
        raise MemoryFileError(f"Notes cannot be appended to {rules.logical(inside)}. Use one of: {choices}.")

    def names(self) -> list[str]:
        """Return the canonical names of all memory files, sorted; links, hidden files and what is no markdown are not among them."""
        found: list[str] = []
        for folder, folders, files in os.walk(self.root):
            folders[:] = sorted(entry for entry in folders if not entry.startswith("."))
            for file in files:
                path = Path(folder, file)
                if not file.startswith(".") and file.casefold().endswith(".md") and stat.S_ISREG(path.lstat().st_mode):
                    found.append(path.relative_to(self.root).as_posix())
        return sorted(found)

    def exists(self, name: str) -> bool:
        """Tell whether there is a memory file of this name.

        Raises:
            MemoryFileError: something is there that cannot be one (C3).
        """
        return os.path.lexists(self.resolve(name, for_write=False))

    # -- reading -------------------------------------------------------------------------------------------------------

    def read_bytes(self, name: str) -> bytes:
        """Return a file's bytes.

        Raises:
            MemoryFileError: there is no such file, or it cannot be read.
        """
        path = self.resolve(name, for_write=False)
        return writing.read_bytes(path, rules.logical(self.canonical(name)))

    def read(self, name: str) -> str:
        """Return a file's text for people and models: without BOM, and with U+FFFD for bytes that are no UTF-8."""
        return decode(self.read_bytes(name))

    def document(self, name: str) -> Document:
        """Return a file's parsed text; its line numbers are those of ``read``."""
        return parse(self.read(name))

    def sections(self, name: str) -> list[Section]:
        """Return a file's sections, in order: together they are the whole file."""
        return self.document(name).sections()

    def hash(self, name: str) -> str:
        """Return the hash to give as ``base_hash`` later; ``ABSENT`` when there is no such file."""
        path = self.resolve(name, for_write=False)
        data = writing.read_or_none(path, rules.logical(self.canonical(name)))
        return ABSENT if data is None else content_hash(data)

    def hashes(self) -> dict[str, str]:
        """Return the hash of every memory file by canonical name: what changed since is the difference of two such maps (G2)."""
        return {name: self.hash(name) for name in self.names()}

    # -- writing -------------------------------------------------------------------------------------------------------

    def append(self, name: str, text: str) -> None:
        """Append text as lines of their own: a missing newline before it is repaired, its line endings become the file's (C2).

        Raises:
            MemoryFileError: the file is not one that may be written, or cannot be; then it is as it was.
        """
        self.append_built(name, lambda existing: appended(existing, text))

    def append_built(self, name: str, build: Callable[[str | None], str]) -> str:
        """Append what ``build`` makes of the file's present text (``None``: no file), under the lock, in one write, then fsync (C2).

        Returns what was appended; ``""`` when there was nothing to write, and then nothing was created.
        """
        path = self.resolve(name, for_write=True)
        inside = self.canonical(name)
        shown = rules.logical(inside)

        def payload(data: bytes | None) -> bytes:
            if data is not None and data.startswith(UTF16_MARKS):
                raise MemoryFileError(f"{shown} is stored as UTF-16; save it as UTF-8 so that notes can be added to it.")
            text = None if data is None else data.decode("utf-8", "surrogateescape")
            return build(text).encode("utf-8", "surrogateescape")

        with self.locked():
            written = writing.append(path, inside, shown, payload, self._journal)
        return written.decode("utf-8", "surrogateescape")

    def replace(self, name: str, text: str, *, base_hash: str | None) -> None:
        """Give a file a person's new text; unchanged lines keep their bytes, and what was there goes to the history (G3).

        ``base_hash`` is the hash of the file the text was made from (``ABSENT``: there was none); ``None`` asks for no check.

        Raises:
            MemoryFileError: the file changed meanwhile, or cannot be written. It is as it was, and the text is in the history.
        """
        self.replace_built(name, lambda old: text.encode("utf-8", "replace") if old is None else carry_over(old, text), base_hash=base_hash)

    def replace_built(
        self, name: str, build: Callable[[bytes | None], bytes] | bytes, *, base_hash: str | None, reason: str = "edit", preimage: bool = True
    ) -> None:
        """Replace a file's bytes by what ``build`` makes of them, by an atomic rename under the lock; the preimage goes to the history."""
        inside = self.canonical(name)
        shown = rules.logical(inside)
        path = walk(self.root, inside, for_write=True)
        with self.locked():
            old = writing.read_or_none(path, shown)
            data = build if isinstance(build, bytes) else build(old)
            if base_hash is not None and base_hash != (ABSENT if old is None else content_hash(old)):
                self._conflict(inside, data)
            if data == old:
                return
            if preimage:
                self.history.save(inside, old, reason)
            if not writing.replace(path, shown, data, temporary=self.private / "tmp", still=lambda: writing.read_or_none(path, shown) == old):
                self._conflict(inside, data)

    def _conflict(self, inside: str, data: bytes) -> None:
        entry = self.history.save(inside, data, "conflict")
        raise MemoryFileError(
            f"{rules.logical(inside)} was changed by another program since it was read. It is left as it is, and your text is kept as "
            f"{entry.id} in the history; read the file again and repeat the edit.",
        )


def _lock(path: Path) -> BaseFileLock:
    from filelock import FileLock

    return FileLock(path, mode=0o666)  # the umask decides: a folder may be shared by a group
