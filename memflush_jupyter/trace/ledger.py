"""The ledger of remembered lines. Every function works in the caller's transaction and keeps the full-text index in step."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, insert, select, update

from memflush_jupyter.errors import TraceError
from memflush_jupyter.trace import index, records
from memflush_jupyter.trace.schema import notes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, Row

    from memflush_jupyter.trace.clean import Cleaner
    from memflush_jupyter.trace.models import Note

STATES = ("pending", "written", "retired")


def add(connection: Connection, added: Sequence[Note], clean: Cleaner, now: str) -> None:
    """Enter notes as ``pending``. A note that is there already with the same text is left alone, so that a retry is harmless.

    Raises:
        TraceError: an id is taken by another text.
    """
    for note in added:
        written = clean.text(note.text)
        present = connection.execute(select(notes.c.text).where(notes.c.id == note.id)).scalar()
        if present is not None:
            if present != written:
                raise TraceError(f"The note id {note.id!r} belongs to another note already; give the new note another id.")
            continue
        inserted = connection.execute(
            insert(notes),
            {
                "id": note.id,
                "file": clean.text(note.file),
                "text": written,
                "trace": note.trace,
                "sequence": note.sequence,
                "origin": note.origin,
                "state": "pending",
                "floor": note.floor,
                "signals": note.signals,
                "queries": records.dump([clean.text(query) for query in note.queries]),
                "created_at": records.stamp(note.created_at) if note.created_at is not None else now,
            },
        )
        index.add(connection, index.note_row(records.key(inserted)), written)


def mark(connection: Connection, ids: Sequence[str], state: str) -> None:
    """Give notes a state; retired ones leave the index, and come back when they are written again.

    Raises:
        TraceError: an unknown state, or a note that is not in the ledger.
    """
    if state not in STATES:
        raise TraceError(f"{state!r} is not a state of a note; use one of {', '.join(STATES)}.")
    for note_id in ids:
        row = _row(connection, note_id)
        if row is None:
            raise TraceError(f"There is no note {note_id!r} in the ledger.")
        if row.state == state:
            continue
        if state == "retired":
            index.remove(connection, index.note_row(row.number), row.text)
        elif row.state == "retired":
            index.add(connection, index.note_row(row.number), row.text)
        connection.execute(update(notes).where(notes.c.number == row.number).values(state=state))


def remove(connection: Connection, ids: Sequence[str]) -> int:
    """Delete notes with their index rows; ids that are not there are passed over. Returns how many were deleted."""
    removed = 0
    for note_id in ids:
        row = _row(connection, note_id)
        if row is None:
            continue
        if row.state != "retired":
            index.remove(connection, index.note_row(row.number), row.text)
        connection.execute(delete(notes).where(notes.c.number == row.number))
        removed += 1
    return removed


def signal(connection: Connection, note_id: str, query: str | None) -> None:
    """Count one more use of a note. A note whose line outlived its ledger row is passed over."""
    row = _row(connection, note_id)
    if row is None:
        return
    queries: list[str] = json.loads(row.queries)
    if query is not None and query not in queries:
        queries.append(query)
    connection.execute(update(notes).where(notes.c.number == row.number).values(signals=row.signals + 1, queries=records.dump(queries)))


def _row(connection: Connection, note_id: str) -> Row[Any] | None:
    return connection.execute(select(notes).where(notes.c.id == note_id)).first()
