"""The part of the store that remembers: the ledger of notes, the cognition log, and search over both notes and messages."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sqlalchemy import insert, select

from memflush_jupyter.trace import forgetting, index, ledger, records, search, tree
from memflush_jupyter.trace.base import StoreBase
from memflush_jupyter.trace.cognition import CognitionEvent
from memflush_jupyter.trace.schema import cognition_events, notes

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Container, Sequence

    from sqlalchemy import Connection

    from memflush_jupyter.trace.forgetting import Saying, Scrubbed
    from memflush_jupyter.trace.models import Note, SearchHit


class Remembering(StoreBase):
    """Notes, events and search."""

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

    def sayings(self, rewrite: Callable[[str], str], *, hint: str = "") -> list[Saying]:
        """The messages whose text ``rewrite`` would change (G9). ``hint``: a lower-case word that stands in each, so that few are looked at."""
        with self._database.read() as connection:
            return forgetting.sayings(connection, rewrite, hint)

    def scrub(self, rewrite: Callable[[str], str], *, hint: str = "") -> Scrubbed:
        """Pass every stored text through ``rewrite`` for good (G9): messages, titles, events, settings, index; notes it changes are deleted."""
        with self._database.write() as connection:
            done = forgetting.scrub(connection, rewrite, hint)
            index.purge(connection)
        self._database.maintain("PRAGMA wal_checkpoint(TRUNCATE)")
        return done

    def signal_note(self, note_id: str, query: str | None = None) -> None:
        """Count one more use of a note, and the question that led to it (F6). Unknown ids are passed over."""
        with self._database.write() as connection:
            ledger.signal(connection, note_id, self._clean.optional(query))

    def log(self, trace_id: str | None, event: str, data: dict[str, Any]) -> int:
        """Enter an event and return its id."""
        with self._database.write() as connection:
            trace = tree.trace_row(connection, trace_id).id if trace_id is not None else None
            return self._log(connection, trace, event, data)

    def last_event(self, trace_id: str, event: str) -> CognitionEvent | None:
        """The latest event of a kind in a trace; of a long conversation not all need be read for it."""
        query = select(cognition_events).where(cognition_events.c.trace == trace_id, cognition_events.c.event == event)
        with self._database.read() as connection:
            row = connection.execute(query.order_by(cognition_events.c.id.desc()).limit(1)).first()
        return CognitionEvent(row.id, row.trace, row.event, json.loads(row.data), records.moment(row.created_at, self._zone())) if row is not None else None

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
            return search.search(connection, query, limit=limit, only=search.Restriction(identity, exclude, origins), zone=self._zone())

    def _log(self, connection: Connection, trace: str | None, event: str, data: dict[str, Any]) -> int:
        inserted = connection.execute(
            insert(cognition_events).values(trace=trace, event=event, data=records.dump(self._clean.value(data)), created_at=self._now())
        )
        return records.key(inserted)
