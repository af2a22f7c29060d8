"""The store's side of what is to reach the knowledge hub: written with its effect, delivered afterwards, once by its key (P4)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import insert, select, update

from memflush_jupyter.trace import records
from memflush_jupyter.trace.base import StoreBase
from memflush_jupyter.trace.schema import outbox

if TYPE_CHECKING:
    from sqlalchemy import Row


@dataclass(frozen=True, slots=True)
class Parcel:
    """Something for the hub. ``key`` is the same for the same thing, however often it is queued; ``attempts`` to deliver it have failed."""

    number: int
    key: str
    trace: str | None
    kind: str
    payload: dict[str, Any]
    attempts: int = 0
    last_error: str | None = None


class Outbox(StoreBase):
    """Queueing parcels, and entering what became of them."""

    def send_out(self, kind: str, payload: dict[str, Any], *, key: str, trace: str | None) -> bool:
        """Queue a parcel, in the transaction of its effect where one is open; ``False``: it is queued or delivered already."""
        with self._database.write() as connection:
            if connection.execute(select(outbox.c.number).where(outbox.c.key == key)).first() is not None:
                return False
            values = {"key": key, "trace": trace, "kind": kind, "payload": records.dump(self._clean.value(payload)), "created_at": self._now()}
            connection.execute(insert(outbox).values(**values))
            return True

    def to_deliver(self, *, limit: int) -> list[Parcel]:
        """Parcels that have not arrived yet, the oldest first."""
        query = select(outbox).where(outbox.c.delivered_at.is_(None)).order_by(outbox.c.number).limit(limit)
        with self._database.read() as connection:
            return [_parcel(row) for row in connection.execute(query)]

    def delivered(self, number: int) -> None:
        """A parcel has arrived."""
        self._mark(number, delivered_at=self._now(), last_error=None)

    def not_delivered(self, number: int, reason: str) -> None:
        """A parcel could not be delivered this time; it stays."""
        self._mark(number, attempts=outbox.c.attempts + 1, last_error=self._clean.text(reason)[:600])

    def refused(self, number: int, reason: str) -> None:
        """A parcel will never be taken: it waits no longer, and the reason stays on record."""
        self._mark(number, delivered_at=self._now(), last_error=self._clean.text(reason)[:600])

    def _mark(self, number: int, **values: Any) -> None:
        with self._database.write() as connection:
            connection.execute(update(outbox).where(outbox.c.number == number).values(**values))


def _parcel(row: Row[Any]) -> Parcel:
    return Parcel(row.number, row.key, row.trace, row.kind, json.loads(row.payload), row.attempts, row.last_error)
