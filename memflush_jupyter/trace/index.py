"""The full-text index over messages and notes: one FTS5 table, kept in the transaction of what it indexes.

Row ids: a message has twice its id, a note twice its number plus one. Asking works on the rarest terms first: at most
``MOST_TERMS`` terms, and of a term with more than ``MOST_POSTINGS`` rows only the most recent part is read, so that a question costs
about the same in a large store as in a small one.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import select, text

from memflush_jupyter.trace import fulltext, records
from memflush_jupyter.trace.models import SearchHit
from memflush_jupyter.trace.schema import INDEX_VERSION, messages, notes, settings, traces

if TYPE_CHECKING:
    from collections.abc import Collection, Container, Generator, Sequence
    from datetime import tzinfo

    from sqlalchemy import Connection, Select

MOST_TERMS: Final = 8
MOST_POSTINGS: Final = 8000
_BATCH: Final = 64

_ORIGINS = {"prompt": "user", "reply": "agent", "results": "tool"}
INDEXED_KINDS: Final = frozenset(_ORIGINS)
"""Kinds of main-path messages that are indexed: what was said and seen, not what the host or a summary made of it."""

_ADD = text("INSERT INTO search_index (rowid, body) VALUES (:row, :body)")
_REMOVE = text("INSERT INTO search_index (search_index, rowid, body) VALUES ('delete', :row, :body)")
_COUNT = text("SELECT doc FROM search_vocabulary WHERE term = :term")
_COUNT_PREFIX = text("SELECT sum(doc) FROM search_vocabulary WHERE term >= :term AND term < :term || char(1114111)")
_LAST_ROW = text("SELECT max((SELECT coalesce(max(id), 0) * 2 FROM messages), (SELECT coalesce(max(number), 0) * 2 + 1 FROM notes))")
_MATCH = text("SELECT rowid, -rank FROM search_index WHERE search_index MATCH :match AND rowid >= :first ORDER BY rank")

_MESSAGE: Select[Any] = select(messages, traces.c.identity).join(traces, traces.c.id == messages.c.trace)
_NOTE: Select[Any] = select(notes, traces.c.identity).outerjoin(traces, traces.c.id == notes.c.trace)


class Stemmer:
    """Tells a term's stem as the index has it, by asking the same tokeniser on an index of its own in memory."""

    def __init__(self) -> None:
        self._own = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self._own.execute("CREATE VIRTUAL TABLE t USING fts5(body, content='', tokenize=\"porter unicode61 remove_diacritics 2 categories 'L* N* M* Co'\")")
        self._own.execute("CREATE VIRTUAL TABLE v USING fts5vocab('t', 'instance')")

    def stems(self, terms: Sequence[str]) -> list[str]:
        """The stem of each term, in order; an empty text for a term that the tokeniser drops."""
        found = [""] * len(terms)
        self._own.execute("INSERT INTO t (t) VALUES ('delete-all')")
        self._own.executemany("INSERT INTO t (rowid, body) VALUES (?, ?)", [(number, term.rstrip("*")) for number, term in enumerate(terms, 1)])
        for stem, number in self._own.execute("SELECT term, doc FROM v ORDER BY doc, offset DESC"):
            found[number - 1] = stem
        return found

    def close(self) -> None:
        """Let go of the memory."""
        self._own.close()


def add(connection: Connection, row: int, said: str) -> None:
    """Index a text."""
    if said:
        connection.execute(_ADD, {"row": row, "body": fulltext.split(fulltext.clipped(said))})


def remove(connection: Connection, row: int, said: str) -> None:
    """Take a text out of the index; it must be the one that was put in."""
    if said:
        connection.execute(_REMOVE, {"row": row, "body": fulltext.split(fulltext.clipped(said))})


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


def purge(connection: Connection) -> None:
    """Merge the index so that nothing of a removed text is left in it."""
    connection.execute(text("INSERT INTO search_index (search_index) VALUES ('optimize')"))


def search(
    connection: Connection,
    stemmer: Stemmer,
    query: str,
    *,
    identity: str | None,
    limit: int,
    exclude: Container[tuple[str, int]],
    origins: Collection[str] | None,
    zone: tzinfo | None,
) -> list[SearchHit]:
    """The best hits, best first; see ``TraceStore.search``."""
    hits: list[SearchHit] = []
    with closing(_matches(connection, stemmer, query)) as matches:
        for row, score in matches:
            if len(hits) >= limit:
                break
            hit = _hit(connection, row, score, identity=identity, exclude=exclude, origins=origins, zone=zone)
            if hit is not None:
                hits.append(hit)
    return hits


def _matches(connection: Connection, stemmer: Stemmer, query: str) -> Generator[tuple[int, float]]:
    chosen = _rarest(connection, stemmer, fulltext.query_terms(query))
    if not chosen:
        return
    first = 0
    if chosen[0][0] > MOST_POSTINGS:
        # Even the rarest term is everywhere: only the most recent part is looked through.
        chosen = chosen[:1]
        last = int(connection.execute(_LAST_ROW).scalar_one())
        first = int(last * (1 - MOST_POSTINGS / chosen[0][0]))
    match = " OR ".join(_quoted(term) for _, term in chosen)
    # An unfinished statement would keep its view of the file open, so it is closed whatever happens.
    with closing(connection.execute(_MATCH, {"match": match, "first": first})) as result:
        while batch := result.fetchmany(_BATCH):
            yield from ((int(row), float(score)) for row, score in batch)


def _rarest(connection: Connection, stemmer: Stemmer, terms: list[str]) -> list[tuple[int, str]]:
    counted: list[tuple[int, int, str]] = []
    seen: set[str] = set()
    for order, (term, stem) in enumerate(zip(terms, stemmer.stems(terms), strict=True)):
        if not stem or stem in seen:
            continue
        seen.add(stem)
        count = int(connection.execute(_COUNT_PREFIX if term.endswith("*") else _COUNT, {"term": stem}).scalar() or 0)
        if count:
            counted.append((count, order, term))
    counted.sort()
    chosen = [(count, term) for count, _, term in counted[:MOST_TERMS] if count <= MOST_POSTINGS]
    return chosen or [(count, term) for count, _, term in counted[:1]]


def _quoted(term: str) -> str:
    inner = term.rstrip("*").replace('"', '""')
    return f'"{inner}"*' if term.endswith("*") else f'"{inner}"'


def _hit(
    connection: Connection,
    row: int,
    score: float,
    *,
    identity: str | None,
    exclude: Container[tuple[str, int]],
    origins: Collection[str] | None,
    zone: tzinfo | None,
) -> SearchHit | None:
    found = _note(connection, row, score, zone) if row % 2 else _message(connection, row, score, zone)
    if found is None:
        return None
    hit, owner = found
    # A note without a trace belongs to whoever opens the store.
    if identity is not None and owner is not None and owner != identity:
        return None
    if origins is not None and hit.origin not in origins:
        return None
    if hit.trace is not None and hit.sequence is not None and (hit.trace, hit.sequence) in exclude:
        return None
    return hit


def _message(connection: Connection, row: int, score: float, zone: tzinfo | None) -> tuple[SearchHit, str] | None:
    stored = connection.execute(_MESSAGE.where(messages.c.id == row // 2)).first()
    if stored is None or not stored.on_path:
        return None
    said = said_by(json.loads(stored.content), json.loads(stored.meta))
    hit = SearchHit("message", stored.trace, stored.sequence, None, said, score, _ORIGINS[stored.kind], records.moment(stored.created_at, zone))
    return hit, stored.identity


def _note(connection: Connection, row: int, score: float, zone: tzinfo | None) -> tuple[SearchHit, str | None] | None:
    stored = connection.execute(_NOTE.where(notes.c.number == row // 2)).first()
    if stored is None or stored.state == "retired":
        return None
    hit = SearchHit("note", stored.trace, stored.sequence, stored.id, stored.text, score, stored.origin, records.moment(stored.created_at, zone))
    return hit, stored.identity
