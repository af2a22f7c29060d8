"""The full-text index over messages and notes: one FTS5 table, kept in the transaction of what it indexes.

Row ids: a message has twice its id, a note twice its number plus one. ``search`` asks it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import select, text

from memflush_jupyter.trace import fulltext
from memflush_jupyter.trace.schema import INDEX_VERSION, messages, notes, settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sqlalchemy import Connection

ORIGINS: Final = {"prompt": "user", "reply": "agent", "results": "tool"}
INDEXED_KINDS: Final = frozenset(ORIGINS)
"""Kinds of main-path messages that are indexed: what was said and seen, not what the host or a summary made of it."""

_BATCH: Final = 500
_ADD = "INSERT INTO search_index (rowid, body) VALUES (?, ?)"
_REMOVE = "INSERT INTO search_index (search_index, rowid, body) VALUES ('delete', ?, ?)"


def add(connection: Connection, row: int, said: str) -> None:
    """Index a text."""
    if said:
        connection.exec_driver_sql(_ADD, (row, fulltext.split(fulltext.clipped(said))))


def remove(connection: Connection, row: int, said: str) -> None:
    """Take a text out of the index; it must be the one that was put in."""
    if said:
        connection.exec_driver_sql(_REMOVE, (row, fulltext.split(fulltext.clipped(said))))


def remove_all(connection: Connection, rows: Iterable[tuple[int, str]]) -> None:
    """Take many texts out, as ``remove`` does each."""
    for batch in batched(((row, fulltext.split(fulltext.clipped(said))) for row, said in rows if said), _BATCH):
        connection.exec_driver_sql(_REMOVE, list(batch))


def message_row(number: int) -> int:
    """The index row of a message."""
    return number * 2


def note_row(number: int) -> int:
    """The index row of a note."""
    return number * 2 + 1


def indexed(kind: str, branch: str) -> bool:
    """Whether messages of this kind on this branch are searched."""
    return branch == "main" and kind in INDEXED_KINDS


def said_by(content: list[dict[str, Any]], meta: dict[str, Any]) -> str:
    """The searchable text of a message."""
    return fulltext.searchable(content, meta.get("aside", ()))


def rebuild(connection: Connection) -> None:
    """Make the whole index anew from what is stored, in the caller's transaction."""
    connection.execute(text("INSERT INTO search_index (search_index) VALUES ('delete-all')"))
    stored = connection.execute(select(messages.c.id, messages.c.kind, messages.c.branch, messages.c.content, messages.c.meta))
    for row in stored:
        if indexed(row.kind, row.branch):
            add(connection, message_row(row.id), said_by(json.loads(row.content), json.loads(row.meta)))
    for note in connection.execute(select(notes.c.number, notes.c.text).where(notes.c.state != "retired")):
        add(connection, note_row(note.number), note.text)
    connection.execute(settings.update().where(settings.c.key == "index_version").values(value=INDEX_VERSION))


def batched(rows: Iterable[tuple[int, str]], size: int) -> Iterator[list[tuple[int, str]]]:
    """Give the rows in lists of ``size``."""
    taken: list[tuple[int, str]] = []
    for row in rows:
        taken.append(row)
        if len(taken) == size:
            yield taken
            taken = []
    if taken:
        yield taken


def purge(connection: Connection) -> None:
    """Merge the index so that nothing of a removed text is left in it."""
    connection.execute(text("INSERT INTO search_index (search_index) VALUES ('optimize')"))
