"""Forgetting in the store (G9): what a person wants forgotten is taken out of every text that is kept, and out of the index.

The words are replaced where they stand; a message keeps its place, so that the conversation stays valid. Functions work in the
caller's transaction.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import delete, select, text, update

from memflush_jupyter.trace import index, records
from memflush_jupyter.trace.clean import Cleaner
from memflush_jupyter.trace.schema import cognition_events, goals, messages, notes, outbox, settings, side_queue, traces

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sqlalchemy import Column, Connection, Row

_EMPTY: Final = [{"type": "text", "text": "[forgotten]"}]


@dataclass(frozen=True, slots=True)
class Saying:
    """A message that says what is to be forgotten."""

    trace: str
    sequence: int
    kind: str
    text: str


@dataclass(slots=True)
class Scrubbed:
    """What was changed: messages, conversations, and notes that were deleted."""

    messages: int = 0
    traces: set[str] = field(default_factory=set)
    notes: int = 0


def sayings(connection: Connection, rewrite: Callable[[str], str], hint: str = "") -> list[Saying]:
    """The messages that ``rewrite`` would change, oldest first. ``hint``: a lower-case word that stands in each of them."""
    found = []
    cleaner = Cleaner(rewrite)
    for row in _rows(connection, hint):
        content = json.loads(row.content)
        if cleaner.blocks(content) != content:
            said = next((line for line in _lines(content) if rewrite(line) != line), "")
            found.append(Saying(row.trace, row.sequence, row.kind, said))
    return found


def scrub(connection: Connection, rewrite: Callable[[str], str], hint: str = "") -> Scrubbed:
    """Pass every stored text through ``rewrite``; notes that it changes are deleted."""
    done = Scrubbed()
    cleaner = Cleaner(rewrite)
    for row in list(_rows(connection, hint)):
        _message(connection, row, cleaner, done)
    for note in connection.execute(select(notes)).all():
        if rewrite(note.text) != note.text:
            if note.state != "retired":
                index.remove(connection, index.note_row(note.number), note.text)
            connection.execute(delete(notes).where(notes.c.number == note.number))
            done.notes += 1
    _values(connection, cleaner, notes.c.number, notes.c.queries)
    _values(connection, cleaner, cognition_events.c.id, cognition_events.c.data)
    _values(connection, cleaner, traces.c.number, traces.c.meta)
    for column in (traces.c.title, traces.c.last_flush_error, traces.c.notebook):
        _values(connection, cleaner, traces.c.number, column, plain=True)
    for column in (goals.c.title, goals.c.result):
        _values(connection, cleaner, goals.c.number, column, plain=True)
    _values(connection, cleaner, outbox.c.number, outbox.c.payload)
    _values(connection, cleaner, outbox.c.number, outbox.c.last_error, plain=True)
    _values(connection, cleaner, side_queue.c.number, side_queue.c.data)
    _values(connection, cleaner, side_queue.c.number, side_queue.c.reason, plain=True)
    _values(connection, cleaner, settings.c.key, settings.c.value)
    return done


def forget_messages(connection: Connection, trace: str) -> int:
    """Delete the messages of a trace with their index rows; return how many there were."""
    mine = connection.execute(text("SELECT count(*) FROM messages WHERE trace = :trace"), {"trace": trace}).scalar() or 0
    others = connection.execute(text("SELECT count(*) FROM messages WHERE trace <> :trace"), {"trace": trace}).scalar() or 0
    if mine > others:  # fewer rows to put in than to take out, and each costs the same
        connection.execute(delete(messages).where(messages.c.trace == trace))
        index.rebuild(connection)
        return int(mine)
    kinds = ", ".join(f"'{kind}'" for kind in sorted(index.INDEXED_KINDS))
    query = text(f"SELECT id, content, meta FROM messages WHERE trace = :trace AND branch = 'main' AND kind IN ({kinds})")  # noqa: S608 - our own constants
    gone = connection.execute(query, {"trace": trace}).all()
    index.remove_all(connection, ((index.message_row(row.id), index.said_by(json.loads(row.content), json.loads(row.meta))) for row in gone))
    connection.execute(delete(messages).where(messages.c.trace == trace))
    return int(mine)


def forget_beside(connection: Connection, trace: str) -> None:
    """Delete what a trace keeps beside its messages: events, goals, what waits for the hub and the branches still to run."""
    for table in (cognition_events, goals, outbox, side_queue):
        connection.execute(delete(table).where(table.c.trace == trace))


def _rows(connection: Connection, hint: str) -> Iterator[Row[Any]]:
    for row in connection.execute(select(messages).order_by(messages.c.id)):
        if not hint or hint in row.content.lower() or hint in row.meta.lower():
            yield row


def _message(connection: Connection, row: Row[Any], cleaner: Cleaner, done: Scrubbed) -> None:
    content, meta = json.loads(row.content), json.loads(row.meta)
    fresh, extra = cleaner.blocks(content) or list(_EMPTY), cleaner.value(meta)
    if fresh == content and extra == meta:
        return
    if index.indexed(row.kind, row.branch):
        index.remove(connection, index.message_row(row.id), index.said_by(content, meta))
        index.add(connection, index.message_row(row.id), index.said_by(fresh, extra))
    connection.execute(update(messages).where(messages.c.id == row.id).values(content=records.dump(fresh), meta=records.dump(extra)))
    done.messages += fresh != content
    done.traces.add(row.trace)


def _values(connection: Connection, cleaner: Cleaner, key: Column[Any], column: Column[Any], *, plain: bool = False) -> None:
    for name, value in connection.execute(select(key, column)).all():
        if value is None:
            continue
        fresh = cleaner.text(value) if plain else _json(value, cleaner)
        if fresh != value:
            connection.execute(update(column.table).where(key == name).values({column.name: fresh}))


def _json(value: str, cleaner: Cleaner) -> str:
    try:
        parsed = json.loads(value)
    except ValueError:
        return cleaner.text(value)
    fresh = cleaner.value(parsed)
    return value if fresh == parsed else records.dump(fresh)


def _lines(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield from value.splitlines()
    elif isinstance(value, dict):
        for item in value.values():
            yield from _lines(item)
    elif isinstance(value, list):
        for item in value:
            yield from _lines(item)
