"""What goes from a trace to the knowledge hub: queued with the effect it belongs to, delivered when the hub can be reached (section 5, P4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

from memflush_jupyter.errors import MemflushError

if TYPE_CHECKING:
    from memflush_jupyter.trace.store import TraceStore

Kind = Literal["upload", "verdict"]

AT_ONCE: Final = 100
"""Parcels that one delivery takes along."""


class RefusedError(MemflushError):
    """The hub is there and will never take this parcel; the sentence says why."""


class Hub(Protocol):
    """What a delivery needs of the hub. Both may be called again with the same ``key``, and then change nothing.

    They raise ``RefusedError`` for a parcel that can never be taken, and another ``MemflushError`` where the hub is away.
    """

    def upload(self, *, key: str, **finding: Any) -> object:
        """Take a finding."""
        ...

    def verdict(self, *, key: str, **judged: Any) -> object:
        """Take a verdict."""
        ...


@dataclass(frozen=True, slots=True)
class Delivered:
    """How a delivery went: ``done`` parcels arrived, ``refused`` never will; ``failure`` says why the next one has to wait."""

    done: int = 0
    failure: str = ""
    refused: int = 0


def queue(store: TraceStore, kind: Kind, payload: dict[str, Any], *, key: str, trace: str) -> bool:
    """Have something go to the hub, once by its key; to be called in the transaction of its effect. ``False``: it was queued before."""
    return store.send_out(kind, payload, key=key, trace=trace)


def deliver(store: TraceStore, hub: Hub) -> Delivered:
    """Deliver what waits, in its order. A hub that is away ends it, and all that waits stays; what it refuses blocks nothing behind it.

    A kill between the hub's write and the mark has the parcel delivered again; by its key the hub knows it.
    """
    done = refused = 0
    for parcel in store.to_deliver(limit=AT_ONCE):
        try:
            (hub.upload if parcel.kind == "upload" else hub.verdict)(key=parcel.key, **parcel.payload)
        except RefusedError as error:
            store.refused(parcel.number, str(error))
            refused += 1
        except MemflushError as error:
            store.not_delivered(parcel.number, str(error))
            return Delivered(done, str(error), refused)
        else:
            store.delivered(parcel.number)
            done += 1
    return Delivered(done, "", refused)
