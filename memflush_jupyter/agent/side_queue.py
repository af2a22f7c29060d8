"""Which side branches run, in which order, and which of them share a request: pure decisions (point 4 of section 6, B4, E3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

Branch = Literal["flush", "extraction", "knowledge_eval", "compression"]
Trigger = Literal["compaction", "goal", "end"]

BEFORE_COMPACTION: Final[tuple[Branch, ...]] = ("flush", "extraction", "knowledge_eval", "compression")
AT_COMPLETION: Final[tuple[Branch, ...]] = ("knowledge_eval", "extraction")
MOST_ATTEMPTS: Final = 3
"""A side branch that failed this often in its batch is not tried again there (as C8 has it for the flush)."""


@dataclass(frozen=True, slots=True)
class Needs:
    """What a moment asks for.

    ``flush``: the gate lets a flush run. ``new``: something was said since the last extraction. ``injected``: knowledge was shown
    that has no verdict yet. ``compression``: a summary is to be written.
    """

    flush: bool = False
    new: bool = False
    injected: bool = False
    compression: bool = False


def plan(trigger: Trigger, needs: Needs) -> list[tuple[int, Branch]]:
    """The branches that are needed, each with its place in the batch: nothing new, no extraction; nothing injected, no evaluation (E3)."""
    wanted = {"flush": needs.flush, "extraction": needs.new, "knowledge_eval": needs.injected, "compression": needs.compression}
    order = BEFORE_COMPACTION if trigger == "compaction" else AT_COMPLETION
    return [(place, branch) for place, branch in enumerate(order) if wanted[branch]]


def batch_name(trigger: Trigger, *, cycle: int, head: int | None) -> str:
    """The name of a batch: one a compaction cycle, one a completion at a head."""
    return f"cycle:{cycle}" if trigger == "compaction" else f"{trigger}:{head or 0}"


def requests(branches: Sequence[Branch], *, fuse: bool, flush_apart: bool = False) -> list[tuple[Branch, ...]]:
    """Which branches share a request: all but the summary when fused, which rides on their results; each its own when not (C12).

    ``flush_apart``: the flush has a model of its own, so it cannot share.
    """
    asked = [branch for branch in branches if branch != "compression"]
    alone = [branch for branch in asked if not fuse or (flush_apart and branch == "flush")]
    shared = tuple(branch for branch in asked if branch not in alone)
    groups: list[tuple[Branch, ...]] = [(branch,) for branch in alone]
    if shared:
        groups.append(shared)
    return groups + [("compression",) for branch in branches if branch == "compression"]


def after_failure(attempts: int) -> str:
    """The state of a branch whose request failed: it waits for another try, until it has failed too often."""
    return "failed" if attempts >= MOST_ATTEMPTS else "queued"
