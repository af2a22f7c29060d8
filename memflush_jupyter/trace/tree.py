"""The message tree: appending, walking from a head to the root, moving the head. Every function works in the caller's transaction.

A parent's sequence is always smaller than its children's, so a walk can stop as soon as it is below what is wanted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from sqlalchemy import bindparam, select, text, update

from memflush_jupyter.errors import TraceError
from memflush_jupyter.trace import index, records
from memflush_jupyter.trace.schema import messages, traces

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, Row

    from memflush_jupyter.trace.models import Block, Kind, Message, Role

# From a message towards the root, no further than a sequence: the primary key serves each step.
_WALK = text(
    """
    WITH RECURSIVE walk (sequence, parent) AS (
        SELECT sequence, parent FROM messages WHERE trace = :trace AND sequence = :head AND sequence >= :lowest
        UNION ALL
        SELECT messages.sequence, messages.parent FROM walk JOIN messages ON messages.trace = :trace AND messages.sequence = walk.parent
        WHERE walk.parent >= :lowest
    )
    SELECT sequence FROM walk
    """
)
_WALK_ROWS = text(
    """
    WITH RECURSIVE walk (sequence, parent) AS (
        SELECT sequence, parent FROM messages WHERE trace = :trace AND sequence = :head AND sequence >= :lowest
        UNION ALL
        SELECT messages.sequence, messages.parent FROM walk JOIN messages ON messages.trace = :trace AND messages.sequence = walk.parent
        WHERE walk.parent >= :lowest
    )
    SELECT messages.* FROM walk JOIN messages ON messages.trace = :trace AND messages.sequence = walk.sequence ORDER BY messages.sequence
    """
)
# Plain SQL for the driver where each append and each resume passes: compiling these as expressions costs more than running them.
_TRACE = f"SELECT {', '.join(traces.c.keys())} FROM traces WHERE id = ?"  # noqa: S608 - the names are our own
_TRACE_AND_MARK = (
    f"SELECT {', '.join(f'traces.{column.name}' for column in traces.c)}, messages.mark AS head_mark"  # noqa: S608 - as above
    " FROM traces LEFT JOIN messages ON messages.trace = traces.id AND messages.sequence = traces.head WHERE traces.id = ?"
)
_TRACES_BY_PREFIX = text("SELECT id FROM traces WHERE substr(id, 1, length(:prefix)) = :prefix ORDER BY number LIMIT 3")
_MESSAGE = text("SELECT * FROM messages WHERE trace = :trace AND sequence = :sequence")
_PLACE = "SELECT mark, branch FROM messages WHERE trace = ? AND sequence = ?"
_INSERT = """
    INSERT INTO messages (trace, sequence, parent, mark, on_path, role, kind, branch, tokens, usage, stop_reason, cell_id, created_at, meta, content)
    VALUES (:trace, :sequence, :parent, :mark, :on_path, :role, :kind, :branch, :tokens, :usage, :stop_reason, :cell_id, :created_at, :meta, :content)
    """
_NO_SEQUENCE = 2**63
_ADVANCE = "UPDATE traces SET head = ?, last_sequence = ?, updated_at = ? WHERE id = ?"


def trace_row(connection: Connection, trace_id: str) -> Row[Any]:
    """The row of a trace by its id or a prefix that only it has.

    Raises:
        TraceError: there is none, or the prefix fits several.
    """
    row = connection.exec_driver_sql(_TRACE, (trace_id,)).first()
    if row is not None:
        return row
    fitting = [str(found) for (found,) in connection.execute(_TRACES_BY_PREFIX, {"prefix": trace_id})] if trace_id else []
    if len(fitting) > 1:
        raise TraceError(f"The id {trace_id!r} fits several traces ({', '.join(fitting[:2])}, …). Give more of it.")
    if not fitting:
        raise TraceError(f"There is no trace {trace_id!r} in this store. '%agent list' shows those that are there.")
    return connection.exec_driver_sql(_TRACE, (fitting[0],)).one()


def row_to_append(connection: Connection, trace_id: str) -> Row[Any]:
    """The row of a trace with ``head_mark``, the latest summary on the path of its head: one query where each message passes.

    Raises:
        TraceError: as :func:`trace_row`.
    """
    row = connection.exec_driver_sql(_TRACE_AND_MARK, (trace_id,)).first()
    return row if row is not None else connection.exec_driver_sql(_TRACE_AND_MARK, (trace_row(connection, trace_id).id,)).one()


def message_row(connection: Connection, trace: str, sequence: int) -> Row[Any]:
    """The row of one message.

    Raises:
        TraceError: the trace has no such message.
    """
    # A model may ask for any number; beyond what SQLite can hold the driver would answer with an error of its own.
    row = connection.execute(_MESSAGE, {"trace": trace, "sequence": sequence}).first() if 0 < sequence < _NO_SEQUENCE else None
    if row is None:
        raise TraceError(f"Trace {trace} has no message {sequence}.")
    return row


def append(
    connection: Connection,
    trace: Row[Any],
    *,
    role: Role,
    kind: Kind,
    content: list[Block],
    parent: int | Literal["head"] | None,
    branch: str,
    tokens: int,
    usage: str | None,
    stop_reason: str | None,
    cell_id: str | None,
    now: str,
    meta: dict[str, Any],
) -> tuple[int, int | None]:
    """Insert a message with its index row; on ``main`` the head moves to it. Returns its sequence and its parent's.

    ``trace`` is what :func:`row_to_append` gave in this transaction.
    """
    sequence = int(trace.last_sequence) + 1
    follows = trace.head if parent == "head" else parent
    main = branch == "main"
    mark = trace.head_mark if follows == trace.head else _mark(connection, trace.id, follows, main=main)
    if main and follows != trace.head:
        turn(connection, trace, follows, now)
    inserted = connection.exec_driver_sql(
        _INSERT,
        {
            "trace": trace.id,
            "sequence": sequence,
            "parent": follows,
            "mark": sequence if kind == "summary" else mark,
            "on_path": main,
            "role": role,
            "kind": kind,
            "branch": branch,
            "tokens": tokens,
            "usage": usage,
            "stop_reason": stop_reason,
            "cell_id": cell_id,
            "created_at": now,
            "meta": records.dump(meta) if meta else "{}",
            "content": records.dump(content),
        },
    )
    if index.indexed(kind, branch):
        index.add(connection, index.message_row(inserted.lastrowid), index.said_by(content, meta))
    connection.exec_driver_sql(_ADVANCE, (sequence if main else trace.head, sequence, now, trace.id))
    return sequence, follows


def walk(connection: Connection, trace: str, head: int | None, *, lowest: int = 0) -> list[int]:
    """The sequences from ``head`` towards the root that are at least ``lowest``, newest first."""
    if head is None:
        return []
    return [int(sequence) for (sequence,) in connection.execute(_WALK, {"trace": trace, "head": head, "lowest": lowest})]


def rows(connection: Connection, trace: str, head: int | None, *, lowest: int = 0) -> Sequence[Row[Any]]:
    """The messages on the way from the root to ``head`` with a sequence of at least ``lowest``, oldest first."""
    if head is None:
        return []
    return connection.execute(_WALK_ROWS, {"trace": trace, "head": head, "lowest": lowest}).all()


def mark_of(connection: Connection, trace: str, head: int) -> int | None:
    """The latest summary on the path of ``head``."""
    return _mark(connection, trace, head)


def in_order(mark: int, found: Sequence[Message], first_kept: int | None) -> list[Message]:
    """The summary first, then what it kept, then what came after: ``found`` is a stretch of a path, oldest first."""
    summary = next(message for message in found if message.sequence == mark)
    kept = [message for message in found if first_kept is not None and first_kept <= message.sequence < mark]
    return [summary, *kept, *(message for message in found if message.sequence > mark)]


def rewind(connection: Connection, trace: Row[Any], sequence: int | None, now: str) -> None:
    """Move the head to a message of the main branch, or before the first."""
    if sequence is not None and message_row(connection, trace.id, sequence).branch != "main":
        raise TraceError(f"Message {sequence} of trace {trace.id} is on a side branch; the conversation cannot be rewound to it.")
    turn(connection, trace, sequence, now)


def turn(connection: Connection, trace: Row[Any], sequence: int | None, now: str) -> None:
    """Let the main path end at ``sequence``.

    Turning to a branch that was left earlier, ``flushed_through`` goes back to where the branches part: later messages of that branch
    may have been left before a flush saw them, and must not count as covered (P1).
    """
    values: dict[str, Any] = {"head": sequence, "updated_at": now}
    fork = _move(connection, trace.id, trace.head, sequence)
    if fork != sequence and trace.flushed_through is not None and (fork is None or fork < trace.flushed_through):
        values["flushed_through"] = fork
    connection.execute(update(traces).where(traces.c.id == trace.id).values(**values))


def _mark(connection: Connection, trace: str, sequence: int | None, *, main: bool = False) -> int | None:
    if sequence is None:
        return None
    place = connection.exec_driver_sql(_PLACE, (trace, sequence)).first()
    if place is None:
        raise TraceError(f"Trace {trace} has no message {sequence}.")
    if main and place.branch != "main":
        raise TraceError(f"Message {sequence} of trace {trace} is on a side branch; the conversation cannot go on from it.")
    return None if place.mark is None else int(place.mark)


def _move(connection: Connection, trace: str, old: int | None, new: int | None) -> int | None:
    """Set ``on_path`` for the main path to end at ``new``; return the last message both paths share."""
    gained: list[int] = []
    step = new
    while step is not None:
        row = connection.execute(select(messages.c.parent, messages.c.on_path).where(messages.c.trace == trace, messages.c.sequence == step)).one()
        if row.on_path:
            break
        gained.append(step)
        step = row.parent
    fork = step
    lost = walk(connection, trace, old, lowest=(fork or 0) + 1)
    _set_on_path(connection, trace, lost, on_path=False)
    _set_on_path(connection, trace, gained, on_path=True)
    return fork


def _set_on_path(connection: Connection, trace: str, sequences: Sequence[int], *, on_path: bool) -> None:
    if sequences:
        connection.execute(
            update(messages).where(messages.c.trace == trace, messages.c.sequence == bindparam("at")).values(on_path=on_path),
            [{"at": sequence} for sequence in sequences],
        )
