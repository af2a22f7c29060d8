"""One connection to the store's file: opened, brought to the present schema, and its two kinds of transactions.

Promises: every writing transaction begins immediate, so that a read followed by an update never loses another writer's
update. ``synchronous=NORMAL`` with a write-ahead log: what was committed survives a kill of the process at any instant; a power
cut may take the last commits with it, never the file (``FULL`` waits for the disk each time and keeps those too).
"""

from __future__ import annotations

import sqlite3
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

from sqlalchemy import create_engine
from sqlalchemy.pool import StaticPool

from memflush_jupyter.errors import TraceError
from memflush_jupyter.trace import faults, schema

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sqlalchemy import Connection

Synchronous = Literal["NORMAL", "FULL"]


class Database:
    """A SQLite file (``None``: in memory, gone when closed) behind one connection and one lock: threads may share it."""

    def __init__(self, path: Path | None, *, busy_timeout_s: float = 5.0, synchronous: Synchronous = "NORMAL") -> None:
        self.path = path
        self.name = str(path) if path is not None else "in memory"
        self._timeout = busy_timeout_s
        self._lock = threading.RLock()
        self._begun: Connection | None = None
        if path is not None:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise TraceError(f"The folder {path.parent} for the trace store cannot be made ({error.strerror or error}).") from error
        with faults.as_sentences(self.name):
            self._raw = sqlite3.connect(
                str(path) if path is not None else ":memory:", timeout=busy_timeout_s, isolation_level=None, check_same_thread=False, cached_statements=256
            )
            engine = create_engine("sqlite+pysqlite://", creator=lambda: self._raw, poolclass=StaticPool)
            try:
                self._prepare(synchronous)
                self._connection = engine.connect()
                self._bring_to_revision()
            except BaseException:
                self._raw.close()
                raise

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """One writing transaction: all of it is committed when the block ends, none of it when the block raises.

        Inside another one of this thread it is a part of that: committed with it, undone alone when only this block raises.
        """
        with self._lock:
            if self._begun is not None:
                with self._begun.begin_nested():
                    yield self._begun
                return
            with self._transaction("BEGIN IMMEDIATE") as connection:
                try:
                    self._begun = connection
                    yield connection
                finally:
                    self._begun = None

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """One consistent view for several reads; never waits for a writer. Inside a writing transaction of this thread: what that has written."""
        with self._lock:
            if self._begun is not None:
                yield self._begun
                return
            with self._transaction("BEGIN") as connection:
                yield connection

    def close(self) -> None:
        """Close the file. Closing twice is harmless."""
        with self._lock, faults.as_sentences(self.name):
            self._connection.close()
            self._raw.close()

    def maintain(self, *statements: str) -> None:
        """Run statements that must stand outside of a transaction (VACUUM, checkpoints)."""
        with self._lock, faults.as_sentences(self.name):
            for statement in statements:
                self._raw.execute(statement).fetchall()

    def size(self) -> int:
        """Bytes of the file, its log included; 0 in memory."""
        if self.path is None:
            return 0
        parts = (self.path, self.path.with_name(self.path.name + "-wal"))
        return sum(part.stat().st_size for part in parts if part.exists())

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[Connection]:
        with self._lock, faults.as_sentences(self.name):
            connection = self._usable()
            with connection.begin():
                connection.exec_driver_sql(begin)
                yield connection

    def _usable(self) -> Connection:
        # An interrupt can land inside a roll-back and leave a transaction open; it is ended here, before anything new begins.
        if self._connection.closed:
            raise TraceError(f"The trace store {self.name} is closed. Open it again.")
        if self._connection.in_transaction():
            self._connection.rollback()
        if self._raw.in_transaction:
            self._raw.rollback()
        return self._connection

    def _prepare(self, synchronous: Synchronous) -> None:
        self._raw.execute("PRAGMA secure_delete = ON")  # a forgotten line is overwritten, not only unlinked (G9)
        if self.path is not None:
            self._use_log()
        self._raw.execute(f"PRAGMA synchronous = {synchronous}")
        self._raw.execute("PRAGMA cache_size = -16000")
        self._raw.execute("PRAGMA temp_store = MEMORY")

    def _use_log(self) -> None:
        # Two processes that switch at once are told "locked" without waiting, so the waiting is done here. Where a file
        # system has no shared memory SQLite answers with another mode: slower and as safe, so it is not an error.
        deadline = time.monotonic() + self._timeout
        while True:
            try:
                if str(self._raw.execute("PRAGMA journal_mode").fetchone()[0]) != "wal":
                    self._raw.execute("PRAGMA journal_mode = WAL")
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() >= deadline:
                    raise
                time.sleep(0.02)
            else:
                return

    def _bring_to_revision(self) -> None:
        found = self._revision()
        if found is None:
            with self.write() as connection:
                if self._revision() is None:
                    schema.create(connection)
            found = self._revision()
        if found != schema.REVISION:
            from memflush_jupyter.trace import migrations

            migrations.upgrade(self, found or "")

    def _revision(self) -> str | None:
        """The store's revision, empty before the first one; ``None`` for an empty file."""
        tables = {str(name) for (name,) in self._raw.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if not tables:
            return None
        if "alembic_version" not in tables or (len(tables) > 1 and "traces" not in tables):
            raise TraceError(f"The file {self.name} is a database of another program, not a trace store. Choose another place for it.")
        row = self._raw.execute("SELECT version_num FROM alembic_version").fetchone()
        return str(row[0]) if row else ""
