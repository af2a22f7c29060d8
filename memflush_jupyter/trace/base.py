"""What every part of the store stands on: opening and closing, the clock, settings kept across runs, locks, upkeep."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final, Self

from sqlalchemy import delete, func, insert, select, update

from memflush_jupyter.trace import index, records
from memflush_jupyter.trace.clean import Cleaner
from memflush_jupyter.trace.database import Database, Synchronous
from memflush_jupyter.trace.schema import INDEX_VERSION, locks, settings, traces

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import tzinfo
    from pathlib import Path

    from sqlalchemy import Connection

    from memflush_jupyter.clock import Clock


def unredacted(text: str) -> str:
    """The redaction of a store that was opened without one: none."""
    return text


_LOCK_AGE_S: Final = 86_400.0


@dataclass(frozen=True, slots=True)
class Leftovers:
    """What can go: conversations without a message, records of deleted ones, locks of ended processes, free pages and their size."""

    traces: int
    settings: int
    locks: int
    pages: int
    page_size: int


class StoreBase:
    """An open store, before it knows of traces and notes."""

    def __init__(self, database: Database, *, clock: Clock, redact: Callable[[str], str] = unredacted, wall: Callable[[], float] = time.time) -> None:
        self._database = database
        self._clock = clock
        self._clean = Cleaner(redact)
        self._wall = wall
        with database.read() as connection:
            version = _setting(connection, "index_version")
        if version != INDEX_VERSION:
            with database.write() as connection:
                index.rebuild(connection)

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        clock: Clock,
        redact: Callable[[str], str] = unredacted,
        busy_timeout_s: float = 5.0,
        synchronous: Synchronous = "NORMAL",
    ) -> Self:
        """Open the store at ``path``, making folder, file and schema as needed.

        ``redact`` is applied to every text that is written. ``busy_timeout_s``: how long to wait for another writer, in seconds.
        ``synchronous``: ``NORMAL`` keeps every commit through a kill, ``FULL`` through a power cut as well.
        """
        return cls(Database(path, busy_timeout_s=busy_timeout_s, synchronous=synchronous), clock=clock, redact=redact)

    @classmethod
    def in_memory(cls, *, clock: Clock, redact: Callable[[str], str] = unredacted) -> Self:
        """A store that ends with the process: for a folder that may not be written to (B5, G4)."""
        return cls(Database(None), clock=clock, redact=redact)

    def close(self) -> None:
        """Close the file; harmless when repeated."""
        self._database.close()

    @contextmanager
    def together(self) -> Iterator[None]:
        """All that is written to the store in the block is one transaction: an effect and the event that tells of it, or neither.

        Nothing may be awaited inside: other threads wait for its end.
        """
        with self._database.write():
            yield

    def get_setting(self, key: str) -> str | None:
        """A value kept across runs, such as a model's token factor (A5)."""
        with self._database.read() as connection:
            return _setting(connection, key)

    def set_setting(self, key: str, value: str) -> None:
        """Keep a value across runs."""
        cleaned = self._clean.text(value)
        with self._database.write() as connection:
            if connection.execute(update(settings).where(settings.c.key == key).values(value=cleaned)).rowcount == 0:
                connection.execute(insert(settings).values(key=key, value=cleaned))

    def acquire(self, name: str, owner: str, *, stale_after_s: float, gone: Callable[[str], bool] | None = None) -> bool:
        """Take the lock ``name``, or refresh it when ``owner`` has it (a heartbeat). Works across processes (B6).

        A lock whose heartbeat is older than ``stale_after_s`` seconds by the machine's clock is taken over, and one whose owner
        is known to have ended (``gone``).
        """
        now = self._wall()
        with self._database.write() as connection:
            row = connection.execute(select(locks).where(locks.c.name == name)).first()
            if row is None:
                connection.execute(insert(locks).values(name=name, owner=owner, heartbeat=now))
                return True
            # A heartbeat from the future (the clock was set back) must not hold the lock until then.
            if row.owner != owner and abs(now - row.heartbeat) <= stale_after_s and not (gone is not None and gone(row.owner)):
                return False
            connection.execute(update(locks).where(locks.c.name == name).values(owner=owner, heartbeat=now))
            return True

    def release(self, name: str, owner: str) -> None:
        """Let go of a lock; one that another owner took over stays theirs."""
        with self._database.write() as connection:
            connection.execute(delete(locks).where(locks.c.name == name, locks.c.owner == owner))

    def leftovers(self, *, remove: bool) -> Leftovers:
        """Count, and with ``remove`` delete, what nobody asks for: conversations a day old in which nothing was said, and stale records."""
        now = self._clock.now()
        with self._database.write() as connection:
            empty = (traces.c.last_sequence == 0, traces.c.updated_at < records.stamp(now - timedelta(days=1)))
            stale = (settings.c.key.like("memory_seen:%"), ~select(traces.c.id).where(settings.c.key == "memory_seen:" + traces.c.id).exists())
            ended = (locks.c.heartbeat < self._wall() - _LOCK_AGE_S,)
            counts = [
                connection.execute(select(func.count()).select_from(table).where(*rule)).scalar() or 0
                for table, rule in ((traces, empty), (settings, stale), (locks, ended))
            ]
            if remove:
                for table, rule in ((traces, empty), (settings, stale), (locks, ended)):
                    connection.execute(delete(table).where(*rule))
            pages, size = (connection.exec_driver_sql(f"PRAGMA {name}").scalar() or 0 for name in ("freelist_count", "page_size"))
        return Leftovers(counts[0], counts[1], counts[2], int(pages), int(size))

    def gc(self) -> int:
        """Merge the index, drop locks older than a day, give free space back to the disk. Returns the bytes won."""
        before = self._database.size()
        with self._database.write() as connection:
            connection.execute(delete(locks).where(locks.c.heartbeat < self._wall() - _LOCK_AGE_S))
            index.purge(connection)
        self._database.maintain("VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)")
        return max(0, before - self._database.size())

    def _now(self) -> str:
        return records.stamp(self._clock.now())

    def _zone(self) -> tzinfo | None:
        return self._clock.now().tzinfo


def _setting(connection: Connection, key: str) -> str | None:
    value = connection.execute(select(settings.c.value).where(settings.c.key == key)).scalar()
    return None if value is None else str(value)
