"""The trace store: every message that was ever said, committed before it is acted upon.

One SQLite file, shared by kernels and threads. Each method is one transaction; writing ones begin immediate. Every text is cleaned before it
is written (``clean``: secrets redacted, lone surrogates and NUL replaced), and what the methods return is what was written. All
methods raise ``TraceError`` with a sentence when a thing does not exist or the file cannot be used.
"""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import fields
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Literal, Self

from sqlalchemy import delete, func, insert, select, update

from memflush_jupyter.errors import TraceError
from memflush_jupyter.trace import cognition, index, ledger, records, tree
from memflush_jupyter.trace.clean import Cleaner
from memflush_jupyter.trace.cognition import CognitionEvent
from memflush_jupyter.trace.database import Database, Synchronous
from memflush_jupyter.trace.models import Message, Note, Trace
from memflush_jupyter.trace.schema import INDEX_VERSION, cognition_events, locks, messages, notes, settings, traces

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Container, Sequence
    from pathlib import Path

    from sqlalchemy import Connection, Row

    from memflush_jupyter.clock import Clock
    from memflush_jupyter.trace.models import Block, Kind, Role, SearchHit, Usage

ERROR_CHARACTERS: Final = 200
"""Stored length of a flush's failure (C8)."""

_OWN_COLUMNS = {
    "id": "it names the trace",
    "head": "use rewind()",
    "last_sequence": "only append() moves it",
    "created_at": "it is history",
    "updated_at": "it is set by itself",
}
_CHANGEABLE = tuple(column.name for column in fields(Trace) if column.name not in _OWN_COLUMNS)
_ID_LENGTH = 8


def unredacted(text: str) -> str:
    """The redaction of a store that was opened without one: none."""
    return text


class TraceStore:
    """Traces, messages, notes and the cognition log of one memory folder. Open with ``open`` or ``in_memory``."""

    def __init__(self, database: Database, *, clock: Clock, redact: Callable[[str], str] = unredacted, wall: Callable[[], float] = time.time) -> None:
        self._database = database
        self._clock = clock
        self._clean = Cleaner(redact)
        self._wall = wall
        self._stemmer = index.Stemmer()
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
        self._stemmer.close()
        self._database.close()

    # -- traces --------------------------------------------------------------------------------------------------------

    def create_trace(
        self, *, identity: str, notebook: str = "", model: str = "", kind: str = "main", parent_trace: str | None = None, title: str = ""
    ) -> Trace:
        """Begin an empty trace. Its id follows from the clock and its number, so that a declared clock gives the same ids on each run (P9)."""
        now = self._now()
        with self._database.write() as connection:
            values = {
                "identity": self._clean.text(identity),
                "notebook": self._clean.text(notebook),
                "model": self._clean.text(model),
                "kind": self._clean.text(kind),
                "title": self._clean.text(title),
                "parent_trace": tree.trace_row(connection, parent_trace).id if parent_trace else None,
                "created_at": now,
                "updated_at": now,
            }
            inserted = connection.execute(insert(traces), {"id": "", **values})
            number = int(inserted.inserted_primary_key[0])
            trace_id = _free_id(connection, now, number)
            connection.execute(update(traces).where(traces.c.number == number).values(id=trace_id))
            return self._trace(tree.trace_row(connection, trace_id))

    def trace(self, trace_id: str) -> Trace:
        """The trace with this id, or with this beginning of an id."""
        with self._database.read() as connection:
            return self._trace(tree.trace_row(connection, trace_id))

    def traces(self, identity: str | None = None, *, limit: int = 50) -> list[Trace]:
        """Traces, the one last written to first; of all identities when ``identity`` is ``None``."""
        query = select(traces).order_by(traces.c.updated_at.desc(), traces.c.number.desc()).limit(limit)
        if identity is not None:
            query = query.where(traces.c.identity == identity)
        with self._database.read() as connection:
            return [self._trace(row) for row in connection.execute(query)]

    def update_trace(self, trace_id: str, **columns: Any) -> Trace:
        """Set columns of a trace by the names of ``Trace``'s fields."""
        values = {name: self._column(name, value) for name, value in columns.items()}
        with self._database.write() as connection:
            row = tree.trace_row(connection, trace_id)
            connection.execute(update(traces).where(traces.c.id == row.id).values(**values, updated_at=self._now()))
            return self._trace(tree.trace_row(connection, row.id))

    def delete_trace(self, trace_id: str) -> int:
        """Delete a trace for good: messages, events, index rows, and the links of notes to it. The notes' lines stay the memory files'.

        Freed space in the file is overwritten. Returns the number of messages deleted.
        """
        with self._database.write() as connection:
            row = tree.trace_row(connection, trace_id)
            stored = connection.execute(select(messages).where(messages.c.trace == row.id)).all()
            for message in stored:
                if index.indexed(message.kind, message.branch):
                    index.remove(connection, index.message_row(message.id), index.said_by(json.loads(message.content), json.loads(message.meta)))
            connection.execute(delete(messages).where(messages.c.trace == row.id))
            connection.execute(delete(cognition_events).where(cognition_events.c.trace == row.id))
            connection.execute(update(notes).where(notes.c.trace == row.id).values(trace=None, sequence=None))
            connection.execute(update(traces).where(traces.c.parent_trace == row.id).values(parent_trace=None))
            connection.execute(delete(traces).where(traces.c.id == row.id))
            index.purge(connection)
        self._database.maintain("PRAGMA wal_checkpoint(TRUNCATE)")
        return len(stored)

    # -- messages ------------------------------------------------------------------------------------------------------

    def append(
        self,
        trace_id: str,
        *,
        role: Role,
        kind: Kind,
        content: list[Block],
        parent: int | None | Literal["head"] = "head",
        branch: str = "main",
        tokens: int = 0,
        usage: Usage | None = None,
        stop_reason: str | None = None,
        cell_id: str | None = None,
        meta: dict[str, Any] | None = None,
    ) -> Message:
        """Commit a message after ``parent`` and return it as stored. On ``main`` the head moves to it, on any other branch it stays."""
        with self._database.write() as connection:
            return self._append(
                connection, trace_id, role=role, kind=kind, content=content, parent=parent, branch=branch, tokens=tokens, usage=usage,
                stop_reason=stop_reason, cell_id=cell_id, meta=meta,
            )  # fmt: skip

    def message(self, trace_id: str, sequence: int) -> Message:
        """One message, whole, wherever it stands in the tree."""
        with self._database.read() as connection:
            row = tree.trace_row(connection, trace_id)
            return self._message(tree.message_row(connection, row.id, sequence))

    def path(self, trace_id: str, *, head: int | None = None, whole: bool = False) -> list[Message]:
        """The main path, or the path to ``head``, oldest first.

        ``whole=False`` begins at the latest compaction mark: the summary, then the messages it kept (``meta["first_kept"]``), then the newer
        ones; the rest is not read.
        """
        with self._database.read() as connection:
            row = tree.trace_row(connection, trace_id)
            end = row.head if head is None else head
            if end is None:
                return []
            mark = tree.mark_of(connection, row.id, end)
            if whole or mark is None:
                return [self._message(found) for found in tree.rows(connection, row.id, end)]
            first_kept = json.loads(tree.message_row(connection, row.id, mark).meta).get("first_kept")
            lowest = mark if first_kept is None else min(mark, int(first_kept))
            found = [self._message(item) for item in tree.rows(connection, row.id, end, lowest=lowest)]
        return tree.in_order(mark, found, first_kept)

    def uncovered(self, trace_id: str, *, after: int | None) -> list[Message]:
        """Main-path messages with a sequence greater than ``after``, oldest first, whether or not a summary replaced them."""
        with self._database.read() as connection:
            row = tree.trace_row(connection, trace_id)
            return [self._message(found) for found in tree.rows(connection, row.id, row.head, lowest=0 if after is None else after + 1)]

    def rewind(self, trace_id: str, sequence: int | None) -> Trace:
        """Move the head to a message of the main branch (``None``: before the first). Nothing is deleted."""
        with self._database.write() as connection:
            row = tree.trace_row(connection, trace_id)
            tree.rewind(connection, row, sequence, self._now())
            return self._trace(tree.trace_row(connection, row.id))

    def side_branches(self, trace_id: str) -> list[Message]:
        """Messages of flushes, summaries and other short runs off the main path (C10), oldest first."""
        with self._database.read() as connection:
            row = tree.trace_row(connection, trace_id)
            query = select(messages).where(messages.c.trace == row.id, messages.c.branch != "main").order_by(messages.c.sequence)
            return [self._message(found) for found in connection.execute(query)]

    # -- flush and compaction ------------------------------------------------------------------------------------------

    def record_flush(self, trace_id: str, *, compaction_count: int, flushed_through: int | None, notes: Sequence[str], event: dict[str, Any]) -> Trace:
        """Enter a successful flush in one transaction (C9): its time and cycle, how far it reached, its notes as written, its event.

        ``flushed_through`` never moves backwards; ``None`` leaves it.
        """
        now = self._now()
        with self._database.write() as connection:
            row = tree.trace_row(connection, trace_id)
            reached = [value for value in (row.flushed_through, flushed_through) if value is not None]
            connection.execute(
                update(traces)
                .where(traces.c.id == row.id)
                .values(
                    memory_flush_at=now,
                    memory_flush_compaction_count=compaction_count,
                    flushed_through=max(reached) if reached else None,
                    flush_failures=0,
                    last_flush_error=None,
                    updated_at=now,
                )
            )
            ledger.mark(connection, notes, "written")
            self._log(connection, row.id, cognition.FLUSH, event)
            return self._trace(tree.trace_row(connection, row.id))

    def record_flush_failure(self, trace_id: str, *, reason: str) -> Trace:
        """Count a failed flush and keep why, redacted, in at most 200 characters (C8). Logs a ``flush`` event with outcome ``failed``."""
        why = self._clean.text(reason)[:ERROR_CHARACTERS]
        with self._database.write() as connection:
            row = tree.trace_row(connection, trace_id)
            failures = row.flush_failures + 1
            connection.execute(update(traces).where(traces.c.id == row.id).values(flush_failures=failures, last_flush_error=why, updated_at=self._now()))
            self._log(connection, row.id, cognition.FLUSH, {"outcome": "failed", "reason": why, "failures": failures})
            return self._trace(tree.trace_row(connection, row.id))

    def record_compaction(self, trace_id: str, *, content: list[Block], tokens: int, meta: dict[str, Any]) -> Message:
        """Append the summary and count the compaction in one transaction. A new cycle begins: flush failures start from 0 (C8)."""
        with self._database.write() as connection:
            message = self._append(connection, trace_id, role="user", kind="summary", content=content, tokens=tokens, meta=meta)
            connection.execute(update(traces).where(traces.c.id == message.trace).values(compaction_count=traces.c.compaction_count + 1, flush_failures=0))
            return message

    # -- notes ---------------------------------------------------------------------------------------------------------

    def add_notes(self, notes: Sequence[Note]) -> None:
        """Enter notes as ``pending``, searchable at once. A note that is there already with the same text is left as it is."""
        with self._database.write() as connection:
            ledger.add(connection, notes, self._clean, self._now())

    def notes(self, *, file: str | None = None, state: str | None = None) -> list[Note]:
        """The ledger's notes, oldest first."""
        query = select(notes).order_by(notes.c.number)
        if file is not None:
            query = query.where(notes.c.file == file)
        if state is not None:
            query = query.where(notes.c.state == state)
        with self._database.read() as connection:
            return [records.note(row, self._zone()) for row in connection.execute(query)]

    def has_note(self, note_id: str) -> bool:
        """Whether the id is taken."""
        with self._database.read() as connection:
            return connection.execute(select(notes.c.number).where(notes.c.id == note_id)).first() is not None

    def mark_notes(self, ids: Sequence[str], state: str) -> None:
        """Give notes a state: ``pending``, ``written`` or ``retired`` (no longer found by search)."""
        with self._database.write() as connection:
            ledger.mark(connection, ids, state)

    def delete_notes(self, ids: Sequence[str]) -> int:
        """Forget notes for good (G9): ledger and index rows go, freed space is overwritten. Returns how many there were."""
        with self._database.write() as connection:
            removed = ledger.remove(connection, ids)
            index.purge(connection)
        self._database.maintain("PRAGMA wal_checkpoint(TRUNCATE)")
        return removed

    def signal_note(self, note_id: str, query: str | None = None) -> None:
        """Count one more use of a note, and the question that led to it (F6). Unknown ids are passed over."""
        with self._database.write() as connection:
            ledger.signal(connection, note_id, self._clean.optional(query))

    # -- cognition log -------------------------------------------------------------------------------------------------

    def log(self, trace_id: str | None, event: str, data: dict[str, Any]) -> int:
        """Enter an event and return its id."""
        with self._database.write() as connection:
            trace = tree.trace_row(connection, trace_id).id if trace_id is not None else None
            return self._log(connection, trace, event, data)

    def events(self, trace_id: str | None = None, *, event: str | None = None) -> list[CognitionEvent]:
        """Events, oldest first; of all traces when ``trace_id`` is ``None``."""
        query = select(cognition_events).order_by(cognition_events.c.id)
        with self._database.read() as connection:
            if trace_id is not None:
                query = query.where(cognition_events.c.trace == tree.trace_row(connection, trace_id).id)
            if event is not None:
                query = query.where(cognition_events.c.event == event)
            zone = self._zone()
            return [
                CognitionEvent(row.id, row.trace, row.event, json.loads(row.data), records.moment(row.created_at, zone)) for row in connection.execute(query)
            ]

    # -- settings and locks --------------------------------------------------------------------------------------------

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

    def acquire(self, name: str, owner: str, *, stale_after_s: float) -> bool:
        """Take the lock ``name``, or refresh it when ``owner`` has it (a heartbeat). Works across processes (B6).

        A lock whose heartbeat is older than ``stale_after_s`` seconds by the machine's clock is taken over.
        """
        now = self._wall()
        with self._database.write() as connection:
            row = connection.execute(select(locks).where(locks.c.name == name)).first()
            if row is None:
                connection.execute(insert(locks).values(name=name, owner=owner, heartbeat=now))
                return True
            # A heartbeat from the future (the clock was set back) must not hold the lock until then.
            if row.owner != owner and abs(now - row.heartbeat) <= stale_after_s:
                return False
            connection.execute(update(locks).where(locks.c.name == name).values(owner=owner, heartbeat=now))
            return True

    def release(self, name: str, owner: str) -> None:
        """Let go of a lock; one that another owner took over stays theirs."""
        with self._database.write() as connection:
            connection.execute(delete(locks).where(locks.c.name == name, locks.c.owner == owner))

    # -- full text and upkeep ------------------------------------------------------------------------------------------

    def search(
        self,
        query: str,
        *,
        identity: str | None,
        limit: int = 20,
        exclude: Container[tuple[str, int]] = (),
        origins: Collection[str] | None = None,
    ) -> list[SearchHit]:
        """The best hits for ``query`` among main-path messages and notes, best first (G5).

        ``identity=None`` searches everyone's. ``exclude`` holds ``(trace, sequence)`` pairs, also of notes that came from such a message.
        ``origins`` keeps only ``"user"``, ``"agent"`` or ``"tool"``. Retired notes, side branches, summaries and what was rewound away are not found.
        """
        with self._database.read() as connection:
            return index.search(connection, self._stemmer, query, identity=identity, limit=limit, exclude=exclude, origins=origins, zone=self._zone())

    def gc(self) -> int:
        """Merge the index, drop locks older than a day, give free space back to the disk. Returns the bytes won."""
        before = self._database.size()
        with self._database.write() as connection:
            connection.execute(delete(locks).where(locks.c.heartbeat < self._wall() - 86400))
            index.purge(connection)
        self._database.maintain("VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)")
        return max(0, before - self._database.size())

    # -- within a transaction ------------------------------------------------------------------------------------------

    def _append(
        self,
        connection: Connection,
        trace_id: str,
        *,
        role: Role,
        kind: Kind,
        content: list[Block],
        parent: int | None | Literal["head"] = "head",
        branch: str = "main",
        tokens: int = 0,
        usage: Usage | None = None,
        stop_reason: str | None = None,
        cell_id: str | None = None,
        meta: dict[str, Any] | None = None,
    ) -> Message:
        row = tree.trace_row(connection, trace_id)
        sequence = tree.append(
            connection, row, role=role, kind=kind, content=self._clean.blocks(content), parent=parent, branch=branch, tokens=tokens,
            usage=records.usage_text(usage), stop_reason=stop_reason, cell_id=self._clean.optional(cell_id), now=self._now(),
            meta=self._clean.value(meta or {}),
        )  # fmt: skip
        return self._message(tree.message_row(connection, row.id, sequence))

    def _log(self, connection: Connection, trace: str | None, event: str, data: dict[str, Any]) -> int:
        inserted = connection.execute(
            insert(cognition_events).values(trace=trace, event=event, data=records.dump(self._clean.value(data)), created_at=self._now())
        )
        return int(inserted.inserted_primary_key[0])

    def _column(self, name: str, value: Any) -> Any:
        if name in _OWN_COLUMNS:
            raise TraceError(f"{name!r} of a trace cannot be set: {_OWN_COLUMNS[name]}.")
        if name not in _CHANGEABLE:
            raise TraceError(f"A trace has no column {name!r}. Those that can be set: {', '.join(_CHANGEABLE)}.")
        if name == "meta":
            return records.dump(self._clean.value(value))
        if isinstance(value, datetime):
            return records.stamp(value)
        return self._clean.text(value) if isinstance(value, str) else value

    def _now(self) -> str:
        return records.stamp(self._clock.now())

    def _zone(self) -> Any:
        return self._clock.now().tzinfo

    def _trace(self, row: Row[Any]) -> Trace:
        return records.trace(row, self._zone())

    def _message(self, row: Row[Any]) -> Message:
        return records.message(row, self._zone())


def _setting(connection: Connection, key: str) -> str | None:
    value = connection.execute(select(settings.c.value).where(settings.c.key == key)).scalar()
    return None if value is None else str(value)


def _free_id(connection: Connection, now: str, number: int) -> str:
    attempt = 0
    while True:
        candidate = hashlib.sha256(f"{now} {number} {attempt}".encode()).hexdigest()[:_ID_LENGTH]
        if connection.execute(select(func.count()).select_from(traces).where(traces.c.id == candidate)).scalar_one() == 0:
            return candidate
        attempt += 1
