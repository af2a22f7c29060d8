"""The trace store: every message that was ever said, committed before it is acted upon.

One SQLite file, shared by kernels and threads. Each method is one transaction; writing ones begin immediate. Every text is cleaned before it
is written (``clean``: secrets redacted, lone surrogates and NUL replaced), and what the methods return is what was written. All
methods raise ``TraceError`` with a sentence when a thing does not exist or the file cannot be used.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Literal

from sqlalchemy import delete, insert, select, update

from memflush_jupyter.errors import TraceError
from memflush_jupyter.trace import cognition, forgetting, index, ledger, records, tree
from memflush_jupyter.trace.models import Message, Trace
from memflush_jupyter.trace.outbox import Outbox
from memflush_jupyter.trace.remembering import Remembering
from memflush_jupyter.trace.schema import messages, notes, settings, traces
from memflush_jupyter.trace.side_queue import Sides

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, Row

    from memflush_jupyter.trace.models import Block, Kind, Role, Usage

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


class TraceStore(Remembering, Sides, Outbox):
    """Traces, messages, notes and the cognition log of one memory folder. Open with ``open`` or ``in_memory``."""

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
            number = records.key(inserted)
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
            deleted = forgetting.forget_messages(connection, row.id)
            forgetting.forget_beside(connection, row.id)
            connection.execute(update(notes).where(notes.c.trace == row.id).values(trace=None, sequence=None))
            connection.execute(update(traces).where(traces.c.parent_trace == row.id).values(parent_trace=None))
            connection.execute(delete(traces).where(traces.c.id == row.id))
            connection.execute(delete(settings).where(settings.c.key.like(f"%:{row.id}")))  # what was kept beside it, by its id
            index.purge(connection)
        self._database.maintain("PRAGMA wal_checkpoint(TRUNCATE)")
        return deleted

    def append(
        self,
        trace_id: str,
        *,
        role: Role,
        kind: Kind,
        content: list[Block],
        parent: int | Literal["head"] | None = "head",
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

    def extend(
        self,
        trace_id: str,
        *,
        role: Role,
        kind: Kind,
        content: list[Block],
        tokens: int = 0,
        usage: Usage | None = None,
        stop_reason: str | None = None,
        cell_id: str | None = None,
        meta: dict[str, Any] | None = None,
    ) -> tuple[Message, Trace]:
        """Commit a message at the head of the main path; return it and, from the same transaction, the trace's row."""
        with self._database.write() as connection:
            message = self._append(
                connection, trace_id, role=role, kind=kind, content=content, tokens=tokens, usage=usage, stop_reason=stop_reason, cell_id=cell_id, meta=meta
            )
            return message, self._trace(tree.trace_row(connection, message.trace))

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
                return records.messages(tree.rows(connection, row.id, end), self._zone())
            first_kept = json.loads(tree.message_row(connection, row.id, mark).meta).get("first_kept")
            lowest = mark if first_kept is None else min(mark, int(first_kept))
            found = records.messages(tree.rows(connection, row.id, end, lowest=lowest), self._zone())
        return tree.in_order(mark, found, first_kept)

    def uncovered(self, trace_id: str, *, after: int | None) -> list[Message]:
        """Main-path messages with a sequence greater than ``after``, oldest first, whether or not a summary replaced them."""
        with self._database.read() as connection:
            row = tree.trace_row(connection, trace_id)
            return records.messages(tree.rows(connection, row.id, row.head, lowest=0 if after is None else after + 1), self._zone())

    def rewind(self, trace_id: str, sequence: int | None) -> Trace:
        """Move the head to a message of the main branch (``None``: before the first). Nothing is deleted."""
        with self._database.write() as connection:
            row = tree.trace_row(connection, trace_id)
            tree.rewind(connection, row, sequence, self._now())
            return self._trace(tree.trace_row(connection, row.id))

    def latest_of_branch(self, trace_id: str, branch: str, *, after: int = 0) -> Message | None:
        """The newest message of a side branch with a sequence above ``after``; ``None`` when there is none."""
        with self._database.read() as connection:
            row = tree.trace_row(connection, trace_id)
            mine = (messages.c.trace == row.id, messages.c.sequence > after, messages.c.branch == branch)
            found = connection.execute(select(messages).where(*mine).order_by(messages.c.sequence.desc()).limit(1)).first()
            return None if found is None else self._message(found)

    def side_branches(self, trace_id: str) -> list[Message]:
        """Messages of flushes, summaries and other short runs off the main path (C10), oldest first."""
        with self._database.read() as connection:
            row = tree.trace_row(connection, trace_id)
            query = select(messages).where(messages.c.trace == row.id, messages.c.branch != "main").order_by(messages.c.sequence)
            return records.messages(connection.execute(query).all(), self._zone())

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
        """Count a failed flush and keep why, redacted, in at most 200 characters (C8). The caller logs the event."""
        why = self._clean.text(reason)[:ERROR_CHARACTERS]
        with self._database.write() as connection:
            row = tree.trace_row(connection, trace_id)
            failures = row.flush_failures + 1
            connection.execute(update(traces).where(traces.c.id == row.id).values(flush_failures=failures, last_flush_error=why, updated_at=self._now()))
            return self._trace(tree.trace_row(connection, row.id))

    def record_compaction(self, trace_id: str, *, content: list[Block], tokens: int, meta: dict[str, Any]) -> Message:
        """Append the summary and count the compaction in one transaction. A new cycle begins: flush failures start from 0 (C8)."""
        with self._database.write() as connection:
            message = self._append(connection, trace_id, role="user", kind="summary", content=content, tokens=tokens, meta=meta)
            connection.execute(update(traces).where(traces.c.id == message.trace).values(compaction_count=traces.c.compaction_count + 1, flush_failures=0))
            return message

    def _append(
        self,
        connection: Connection,
        trace_id: str,
        *,
        role: Role,
        kind: Kind,
        content: list[Block],
        parent: int | Literal["head"] | None = "head",
        branch: str = "main",
        tokens: int = 0,
        usage: Usage | None = None,
        stop_reason: str | None = None,
        cell_id: str | None = None,
        meta: dict[str, Any] | None = None,
    ) -> Message:
        row = tree.row_to_append(connection, trace_id)
        now = self._now()
        blocks, extra, cell = self._clean.blocks(content), self._clean.value(meta or {}), self._clean.optional(cell_id)
        sequence, follows = tree.append(
            connection, row, role=role, kind=kind, content=blocks, parent=parent, branch=branch, tokens=tokens,
            usage=records.usage_text(usage), stop_reason=stop_reason, cell_id=cell, now=now, meta=extra,
        )  # fmt: skip
        return Message(
            row.id, sequence, follows, role, kind, blocks, branch=branch, tokens=tokens, usage=usage, stop_reason=stop_reason,
            cell_id=cell, created_at=records.moment(now, self._zone()), meta=extra,
        )  # fmt: skip

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

    def _trace(self, row: Row[Any]) -> Trace:
        return records.trace(row, self._zone())

    def _message(self, row: Row[Any]) -> Message:
        return records.message(row, self._zone())


def _free_id(connection: Connection, now: str, number: int) -> str:
    attempt = 0
    while True:
        candidate = hashlib.sha256(f"{now} {number} {attempt}".encode()).hexdigest()[:_ID_LENGTH]
        if connection.execute(select(traces.c.number).where(traces.c.id == candidate)).first() is None:
            return candidate
        attempt += 1
