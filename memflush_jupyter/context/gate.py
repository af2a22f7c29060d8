"""Whether to flush now, and why: one pure decision on plain numbers (B1-B7). Each decision has a reason code for the log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memflush_jupyter.context.window import Lines

Reason = Literal[
    "flush_line",
    "transcript_bytes",
    "topup",
    "disabled",
    "memory_off",
    "read_only",
    "heartbeat",
    "sub_agent",
    "threshold",
    "failures",
    "nothing_new",
    "already_flushed",
    "below_line",
    "locked",
]

REASONS: dict[str, str] = {
    "flush_line": "the context reached the flush line",
    "transcript_bytes": "the unflushed transcript reached the forced size",
    "topup": "messages are about to leave the context and no flush covered them yet",
    "disabled": "the memory flush is switched off (enable_memory_flush)",
    "memory_off": "memory is switched off for this turn",
    "read_only": "the memory folder cannot be written",
    "heartbeat": "this is a scheduled run",
    "sub_agent": "this is a sub-agent's trace",
    "threshold": "the flush line would lie at or below zero",
    "failures": "flushes failed too often in this cycle",
    "nothing_new": "nothing is new since the last flush",
    "already_flushed": "this cycle's flush has already run",
    "below_line": "the context is below the flush line",
    "locked": "another flush is running",
}
"""What each reason code means, in words for the audit and the status line."""


@dataclass(frozen=True, slots=True)
class GateState:
    """All that the decision looks at. Sizes in tokens, but for the two that say bytes.

    ``used`` already counts the pending message and new tool results (B2). ``memory_flush_compaction_count`` is ``None``
    before the first flush, which differs from 0 (B3). ``has_new``: messages exist that no flush covered. ``failures``
    counts within this cycle. ``locked``: another flush holds the lock (B6).
    """

    used: int
    lines: Lines
    compaction_count: int = 0
    memory_flush_compaction_count: int | None = None
    unflushed_bytes: int = 0
    force_bytes: int = 2 * 1024**2
    enabled: bool = True
    writable: bool = True
    heartbeat: bool = False
    sub_agent: bool = False
    memory_on: bool = True
    has_new: bool = True
    failures: int = 0
    max_failures: int = 3
    locked: bool = False


@dataclass(frozen=True, slots=True)
class Decision:
    """``compact`` says whether the compaction line is reached; it does not depend on whether a flush runs (P2)."""

    action: Literal["flush", "skip"]
    reason: Reason
    compact: bool

    @property
    def flush(self) -> bool:
        """Whether a flush is to run."""
        return self.action == "flush"


def decide(state: GateState) -> Decision:
    """Decide before a model call, and after a turn, whether a flush runs (B1-B3, B5-B7)."""
    compact = state.used >= state.lines.compaction_line
    trigger = _trigger(state)
    if trigger is None:
        return Decision("skip", "below_line", compact)
    reason = _barred(state) or _first(
        (state.lines.flush_line <= 0, "threshold"),
        (state.memory_flush_compaction_count == state.compaction_count, "already_flushed"),
        (not state.has_new, "nothing_new"),
        (state.locked, "locked"),
    )
    return Decision("flush", trigger, compact) if reason is None else Decision("skip", reason, compact)


def topup(state: GateState, *, going: Iterable[int], flushed_through: int | None) -> Decision:
    """Decide, once a compaction is certain, whether the messages ``going`` need a flush first (B4).

    Neither the lines nor "once per cycle" hold here: a message that leaves uncovered would be lost silently (P1).
    With reason ``locked`` the caller waits for the running flush and asks again.

    Args:
        state: as for :func:`decide`.
        going: sequences of the messages that the compaction removes.
        flushed_through: the last sequence that a flush covered; ``None``: none yet.
    """
    covered = all(flushed_through is not None and sequence <= flushed_through for sequence in going)
    reason = _first((covered, "nothing_new")) or _barred(state) or _first((state.locked, "locked"))
    if reason is not None:
        return Decision("skip", reason, compact=True)
    return Decision("flush", "topup", compact=True)


def _barred(state: GateState) -> Reason | None:
    """Why no flush may run at all in this cycle (B5), in the order in which a person would want to know."""
    return _first(
        (not state.memory_on, "memory_off"),
        (not state.enabled, "disabled"),
        (state.sub_agent, "sub_agent"),
        (state.heartbeat, "heartbeat"),
        (not state.writable, "read_only"),
        (state.failures >= state.max_failures, "failures"),
    )


def _first(*rules: tuple[bool, Reason]) -> Reason | None:
    return next((reason for holds, reason in rules if holds), None)


def _trigger(state: GateState) -> Reason | None:
    if state.used >= state.lines.flush_line:
        return "flush_line"
    if 0 < state.force_bytes <= state.unflushed_bytes:
        return "transcript_bytes"
    return None
