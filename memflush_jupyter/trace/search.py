"""Asking the full-text index: a question's rarest terms choose the candidates, more of its terms rank them.

Plain BM25 over every term of a question reads every message that holds any of them: a tenth of a second in a large store. Here only
messages with one of the rarest terms are ranked (about ``ENOUGH_CANDIDATES`` of them), by the BM25 of those terms and of further ones
that are cheap enough to weigh; the benchmark prints what that costs in evidence. When even the rarest term is everywhere, only the most
recent messages are looked through.
"""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import bindparam, select, text

from memflush_jupyter.trace import fulltext, index, records
from memflush_jupyter.trace.models import SearchHit
from memflush_jupyter.trace.schema import messages, notes

if TYPE_CHECKING:
    from collections.abc import Collection, Container, Generator, Sequence
    from datetime import tzinfo

    from sqlalchemy import Connection, Select

MOST_TERMS: Final = 8
"""Terms of a question that count, the rarest ones."""
FEW_CANDIDATES: Final = 200
"""With fewer candidates than this the next rarest term adds its messages."""
ENOUGH_CANDIDATES: Final = 600
"""With this many candidates no further term adds its messages."""
MOST_CANDIDATES: Final = 1000
"""Messages that are ranked, at most, whatever the question."""
MOST_POSTINGS: Final = 20_000
"""Occurrences of all ranking terms together, at most: BM25 counts each term's messages anew for every question."""

_GROWTH: Final = 4
_MOST_AT_ONCE: Final = 2000
"""Matches are looked at in batches that grow: mostly the first is enough, and where it is not, many follow."""

_LAST_ROW = text("SELECT max((SELECT coalesce(max(id), 0) * 2 FROM messages), (SELECT coalesce(max(number), 0) * 2 + 1 FROM notes))")
_COUNT = text("SELECT count(*), max(rowid) FROM (SELECT rowid FROM search_index WHERE search_index MATCH :match LIMIT :most)")
_RECENT = text("SELECT min(rowid) FROM (SELECT rowid FROM search_index WHERE search_index MATCH :match ORDER BY rowid DESC LIMIT :most)")
_MATCH = text("SELECT rowid, -rank FROM search_index WHERE search_index MATCH :match AND rowid >= :first ORDER BY rank")
_PLACES = text(
    """
    SELECT messages.id, messages.trace, messages.sequence, messages.kind, traces.identity FROM messages JOIN traces ON traces.id = messages.trace
    WHERE messages.on_path AND messages.id IN (SELECT value FROM json_each(:numbers))
    """
)
_MESSAGES: Select[Any] = select(messages).where(messages.c.id.in_(bindparam("numbers", expanding=True)))
_NOTE_PLACES = text(
    """
    SELECT notes.number, notes.trace, notes.sequence, notes.origin, traces.identity FROM notes LEFT JOIN traces ON traces.id = notes.trace
    WHERE notes.state <> 'retired' AND notes.number IN (SELECT value FROM json_each(:numbers))
    """
)
_NOTES: Select[Any] = select(notes).where(notes.c.number.in_(bindparam("numbers", expanding=True)))


@dataclass(frozen=True, slots=True)
class Restriction:
    """Whose, whence and what not: see ``TraceStore.search``."""

    identity: str | None
    exclude: Container[tuple[str, int]]
    origins: Collection[str] | None

    def allows(self, origin: str, trace: str | None, sequence: int | None, owner: str | None) -> bool:
        """Whether a hit may be shown. A note without a trace belongs to whoever opens the store."""
        if self.identity is not None and owner is not None and owner != self.identity:
            return False
        if self.origins is not None and origin not in self.origins:
            return False
        return trace is None or sequence is None or (trace, sequence) not in self.exclude


def search(connection: Connection, query: str, *, limit: int, only: Restriction, zone: tzinfo | None) -> list[SearchHit]:
    """The best hits, best first."""
    chosen: list[tuple[int, float]] = []
    with closing(_matches(connection, query, max(1, limit))) as batches:
        for batch in batches:
            allowed = _allowed(connection, [row for row, _ in batch], only)
            chosen += [place for place in batch if place[0] in allowed]
            if len(chosen) >= limit:
                break
    found = _load(connection, dict(chosen[:limit]), zone)
    return [found[row] for row, _ in chosen[:limit]]


def _matches(connection: Connection, query: str, size: int) -> Generator[list[tuple[int, float]]]:
    terms = _rarest(connection, fulltext.query_terms(query))
    if not terms:
        return
    chosen = _choosing(terms)
    match = _expression([term for _, term in terms[: _ranking(terms, chosen)]], chosen)
    first = 0
    if terms[0][0] > MOST_CANDIDATES:
        first = int(connection.execute(_RECENT, {"match": _quoted(terms[0][1]), "most": MOST_CANDIDATES}).scalar_one())
    # An unfinished statement would keep its view of the file open, so it is closed whatever happens.
    with closing(connection.execute(_MATCH, {"match": match, "first": first})) as result:
        while batch := result.fetchmany(size):
            yield [(int(row), float(score)) for row, score in batch]
            size = min(size * _GROWTH, _MOST_AT_ONCE)


def _choosing(terms: Sequence[tuple[int, str]]) -> int:
    """How many of the terms, rarest first, choose the candidates."""
    total, chosen = terms[0][0], 1
    for count, _ in terms[1:]:
        room = ENOUGH_CANDIDATES if total >= FEW_CANDIDATES else MOST_CANDIDATES
        if total + count > room:
            break
        total, chosen = total + count, chosen + 1
    return chosen


def _expression(terms: Sequence[str], chosen: int) -> str:
    choosing = " OR ".join(map(_quoted, terms[:chosen]))
    if chosen == len(terms):
        return choosing
    return f"({choosing}) AND ({' OR '.join(map(_quoted, terms))})"


def _ranking(terms: Sequence[tuple[int, str]], chosen: int) -> int:
    """How many of the terms, rarest first, rank the candidates: those that choose, and further ones while they are cheap to weigh."""
    total, ranking = sum(count for count, _ in terms[:chosen]), chosen
    for count, _ in terms[chosen:]:
        total += count
        if total > MOST_POSTINGS:
            break
        ranking += 1
    return ranking


def _rarest(connection: Connection, terms: list[str]) -> list[tuple[int, str]]:
    last = int(connection.execute(_LAST_ROW).scalar_one())
    counted = [(_count(connection, term, last), order, term) for order, term in enumerate(terms)]
    return [(count, term) for count, _, term in sorted(counted)[:MOST_TERMS] if count]


def _count(connection: Connection, term: str, last: int) -> int:
    """In how many rows a term stands; counted up to a limit, and from there on estimated by how densely it stands so far."""
    count, reached = connection.execute(_COUNT, {"match": _quoted(term), "most": ENOUGH_CANDIDATES + 1}).one()
    return int(count) if count <= ENOUGH_CANDIDATES else max(int(count), int(count) * last // int(reached))


def _quoted(term: str) -> str:
    return f'"{term[:-1]}"*' if term.endswith("*") else f'"{term}"'


def _allowed(connection: Connection, rows: Sequence[int], only: Restriction) -> set[int]:
    """Which rows of the index may be shown: found out before any text is read, since in one long conversation most hits are still in the context."""
    numbers = json.dumps([row // 2 for row in rows if row % 2 == 0])
    found = {
        index.message_row(number)
        for number, trace, sequence, kind, owner in connection.execute(_PLACES, {"numbers": numbers})
        if only.allows(index.ORIGINS[kind], trace, sequence, owner)
    }
    numbers = json.dumps([row // 2 for row in rows if row % 2])
    if len(numbers) > len("[]"):
        found |= {
            index.note_row(number)
            for number, trace, sequence, origin, owner in connection.execute(_NOTE_PLACES, {"numbers": numbers})
            if only.allows(origin, trace, sequence, owner)
        }
    return found


def _load(connection: Connection, scores: dict[int, float], zone: tzinfo | None) -> dict[int, SearchHit]:
    """What rows of the index stand for."""
    found: dict[int, SearchHit] = {}
    numbers = [row // 2 for row in scores if row % 2 == 0]
    for stored in connection.execute(_MESSAGES, {"numbers": numbers}) if numbers else ():
        row, said = index.message_row(stored.id), index.said_by(json.loads(stored.content), json.loads(stored.meta))
        origin, moment = index.ORIGINS[stored.kind], records.moment(stored.created_at, zone)
        found[row] = SearchHit("message", stored.trace, stored.sequence, None, said, scores[row], origin, moment)
    numbers = [row // 2 for row in scores if row % 2]
    for stored in connection.execute(_NOTES, {"numbers": numbers}) if numbers else ():
        row, moment = index.note_row(stored.number), records.moment(stored.created_at, zone)
        found[row] = SearchHit("note", stored.trace, stored.sequence, stored.id, stored.text, scores[row], stored.origin, moment)
    return found
