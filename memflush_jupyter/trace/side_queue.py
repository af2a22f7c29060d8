"""The store's side of the queue of side branches: which are to run for a trace, in which order, and what became of each.

A batch belongs to one compaction cycle or one completion of its trace. A row keeps its place in the batch; ``data`` holds ``head``, the
message it is to look back from, and ``through``, the last message a successful run of it covered.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import insert, select, update

from memflush_jupyter.trace import records
from memflush_jupyter.trace.base import StoreBase
from memflush_jupyter.trace.schema import goals, side_queue, traces

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Row

QUEUED: Final = "queued"
DONE: Final = "done"
FAILED: Final = "failed"
SKIPPED: Final = "skipped"


@dataclass(frozen=True, slots=True)
class SideRow:
    """One side branch of a batch. ``state``: ``queued``, ``done``, ``failed`` or ``skipped``; ``attempts`` were begun so far."""

    number: int
    trace: str
    batch: str
    position: int
    branch: str
    state: str
    reason: str = ""
    attempts: int = 0
    data: dict[str, Any] = field(default_factory=dict)

    @property
    def open(self) -> bool:
        """Whether it is still to run."""
        return self.state == QUEUED


class Sides(StoreBase):
    """Queueing side branches, and entering how they ended."""

    def queue_sides(self, trace_id: str, batch: str, branches: Sequence[tuple[int, str]], *, data: dict[str, Any]) -> list[SideRow]:
        """Have ``(position, branch)`` rows in a batch that are to run, and return the batch's open rows in their order.

        A row that is there already is opened again with the new ``data`` (what it covered so far stays). Open rows of the same
        branches in other batches of the trace are closed: this batch looks back over what those would have.
        """
        now, wanted = self._now(), {branch for _, branch in branches}
        with self._database.write() as connection:
            rows = {row.position: row for row in connection.execute(self._of(trace_id, batch=batch))}
            for row in connection.execute(self._of(trace_id, state=QUEUED)).all():
                if row.batch != batch and row.branch in wanted:
                    self._set(row.number, state=SKIPPED, reason=f"left to {batch}")
            for position, branch in branches:
                known = rows.get(position)
                if known is None:
                    values = {"trace": trace_id, "batch": batch, "position": position, "branch": branch, "state": QUEUED, "created_at": now, "updated_at": now}
                    connection.execute(insert(side_queue).values(**values, data=records.dump(self._clean.value(data))))
                else:
                    fresh = {**json.loads(known.data), **data}
                    again = 0 if known.state == DONE else known.attempts
                    self._set(known.number, state=QUEUED, reason="", attempts=again, data=records.dump(self._clean.value(fresh)))
            return [_row(row) for row in connection.execute(self._of(trace_id, batch=batch, state=QUEUED))]

    def sides(self, trace_id: str | None = None, *, batch: str | None = None, state: str | None = None) -> list[SideRow]:
        """The queue's rows in their order; of all traces when ``trace_id`` is ``None``."""
        with self._database.read() as connection:
            return [_row(row) for row in connection.execute(self._of(trace_id, batch=batch, state=state))]

    def begin_sides(self, rows: Sequence[SideRow]) -> None:
        """Count a try of each of these rows, before anything of it is done."""
        with self._database.write() as connection:
            for row in rows:
                connection.execute(
                    update(side_queue)
                    .where(side_queue.c.number == row.number)
                    .values(attempts=side_queue.c.attempts + 1, updated_at=self._now())
                )  # fmt: skip

    def end_side(self, row: SideRow, state: str, reason: str = "", *, through: int | None = None, counted: bool = True) -> bool:
        """Enter how a row ended, if it is still open; ``False``: somebody else has ended it, and nothing may be done for it any more.

        Call it inside :meth:`together` with the effect. ``queued`` leaves it open for another try, with the reason of the last;
        not ``counted``: that one was no try.
        """
        with self._database.write() as connection:
            stored = connection.execute(select(side_queue).where(side_queue.c.number == row.number)).first()
            if stored is None or stored.state != QUEUED:
                return False
            data = json.loads(stored.data)
            if through is not None:
                data["through"] = max(through, data.get("through") or 0)
            attempts = stored.attempts if counted else max(0, stored.attempts - 1)
            self._set(row.number, state=state, attempts=attempts, reason=self._clean.text(reason)[:600], data=records.dump(data))
            return True

    def side_reached(self, trace_id: str, branch: str) -> int | None:
        """The last message that a successful run of this branch covered, in any batch of the trace."""
        query = select(side_queue.c.data).where(side_queue.c.trace == trace_id, side_queue.c.branch == branch)
        with self._database.read() as connection:
            reached = [json.loads(data).get("through") for (data,) in connection.execute(query)]
        return max((value for value in reached if value is not None), default=None)

    def waiting_traces(self, identity: str, prefix: str) -> list[str]:
        """Traces of an identity with open rows in batches whose name begins with ``prefix``, in the order they were queued."""
        query = (
            select(side_queue.c.trace)
            .join(traces, traces.c.id == side_queue.c.trace)
            .where(traces.c.identity == identity, side_queue.c.state == QUEUED, side_queue.c.batch.startswith(prefix, autoescape=True))
            .order_by(side_queue.c.number)
        )
        with self._database.read() as connection:
            return list(dict.fromkeys(str(trace) for (trace,) in connection.execute(query)))

    def done_goals(self, trace_id: str) -> list[str]:
        """Ids of the trace's goals that are done and that no completion has looked back on yet."""
        with self._database.read() as connection:
            done = [str(row.id) for row in connection.execute(select(goals.c.id).where(goals.c.trace == trace_id, goals.c.status == "done"))]
            if not done:
                return []
            batches = connection.execute(select(side_queue.c.data).where(side_queue.c.trace == trace_id, side_queue.c.batch.startswith("goal:")))
            known = {goal for (data,) in batches for goal in json.loads(data).get("goals", ())}
        return [goal for goal in done if goal not in known]

    def _set(self, number: int, **values: Any) -> None:
        with self._database.write() as connection:
            connection.execute(update(side_queue).where(side_queue.c.number == number).values(**values, updated_at=self._now()))

    @staticmethod
    def _of(trace: str | None, *, batch: str | None = None, state: str | None = None) -> Any:
        query = select(side_queue).order_by(side_queue.c.number)
        for column, value in ((side_queue.c.trace, trace), (side_queue.c.batch, batch), (side_queue.c.state, state)):
            if value is not None:
                query = query.where(column == value)
        return query


def _row(row: Row[Any]) -> SideRow:
    return SideRow(row.number, row.trace, row.batch, row.position, row.branch, row.state, row.reason, row.attempts, json.loads(row.data))
