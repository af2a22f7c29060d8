"""What happens during a turn, as small frozen events: the one language between the agent and every face."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Phase = Literal["idle", "waiting", "thinking", "streaming", "tools", "approval", "flushing", "compacting", "retrying"]

FlushOutcome = Literal["saved", "silent", "floor", "failed", "cancelled", "skipped"]


@dataclass(frozen=True, slots=True)
class Budget:
    """How full the context is. All sizes in tokens.

    ``segments`` are disjoint and ordered: ``system``, ``tools``, ``memory``, ``summary``, ``conversation``, ``results``, ``recall``.
    ``flush_line`` and ``compaction_line`` are absolute positions in the window (A2). ``cost_usd`` is ``None`` when no price is known.
    ``shortened`` blocks of the context are sent shorter than they are stored, which saves ``shortened_tokens`` (D1).
    ``audit_score``: the share of what the last compaction removed that summary, memory or tail still hold, 0-1.
    """

    window: int
    used: int
    flush_line: int
    compaction_line: int
    segments: dict[str, int]
    cached_share: float | None = None
    cost_usd: float | None = None
    phase: Phase = "idle"
    approximate: bool = False
    window_source: str = "config"
    last_flush: str | None = None
    turn: int = 0
    compactions: int = 0
    shortened: int = 0
    shortened_tokens: int = 0
    audit_score: float | None = None


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """A turn begins; ``sequence`` names the person's message."""

    trace: str
    sequence: int
    model: str


@dataclass(frozen=True, slots=True)
class PhaseChanged:
    """The runner now does something else; a face may show it."""

    phase: Phase


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the reply's text (markdown). ``block`` counts text blocks in the turn from 0."""

    block: int
    text: str


@dataclass(frozen=True, slots=True)
class TextDone:
    """A text block is complete; ``text`` is the whole of it, as stored."""

    block: int
    text: str


@dataclass(frozen=True, slots=True)
class TextDiscarded:
    """A text block that was being streamed turned out partial or silent and is not part of the answer (D11, C6)."""

    block: int
    reason: str


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    """A piece of the model's thinking; shown at most as "thinking…"."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """A tool call is about to run. ``input`` is the parsed input."""

    id: str
    name: str
    input: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """A tool call ended. ``text`` is what the model reads; ``displays`` are mime bundles for the person, in order."""

    id: str
    name: str
    input: dict[str, Any]
    text: str
    is_error: bool
    displays: list[dict[str, Any]] = field(default_factory=list)
    decision: str = ""
    """``approved``, ``edited``, ``declined`` or ``not run`` (nobody could be asked); empty: nobody was asked, and it ran."""


@dataclass(frozen=True, slots=True)
class ToolProgress:
    """A running tool tells how far it is, in a few words."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Recalled:
    """Earlier messages or notes that ride with this prompt (G5). Items: ``{"ref", "origin", "date", "text"}``."""

    items: list[dict[str, str]]


@dataclass(frozen=True, slots=True)
class Retrying:
    """The server could not answer yet; the next try follows after ``wait_s`` seconds. ``sentence`` says why."""

    attempt: int
    wait_s: float
    sentence: str


@dataclass(frozen=True, slots=True)
class Notice:
    """One line for the person. ``level``: ``info``, ``warning`` or ``error``."""

    text: str
    level: Literal["info", "warning", "error"] = "info"


@dataclass(frozen=True, slots=True)
class MemoryFlushStart:
    """A flush begins (C15). ``flush`` pairs it with its end."""

    flush: str
    trace: str
    reason: str
    background: bool


@dataclass(frozen=True, slots=True)
class MemoryFlushEnd:
    """The flush ended: exactly one per start (C15). ``saved`` counts notes; ``file`` is ``memory/NAME`` or ``None``."""

    flush: str
    trace: str
    saved: int
    outcome: FlushOutcome
    reason: str
    file: str | None
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class CompactionStart:
    """A compaction begins. ``tokens`` stand in the context before it."""

    trace: str
    reason: str
    tokens: int


@dataclass(frozen=True, slots=True)
class CompactionEnd:
    """A compaction ended. ``source``: ``model``, ``extractive``, ``drop`` or ``failed``."""

    trace: str
    source: str
    tokens_before: int
    tokens_after: int
    removed_messages: int
    reason: str = ""


@dataclass(frozen=True, slots=True)
class BudgetChanged:
    """The gauge has new figures."""

    budget: Budget


@dataclass(frozen=True, slots=True)
class TurnFinished:
    """The turn is over. ``stop``: ``end``, ``max_rounds``, ``interrupted``, ``error``, ``limit`` or ``full``."""

    trace: str
    stop: str
    sentence: str = ""
    rounds: int = 0


Event = (
    TurnStarted
    | PhaseChanged
    | TextDelta
    | TextDone
    | TextDiscarded
    | ThinkingDelta
    | ToolStarted
    | ToolFinished
    | ToolProgress
    | Recalled
    | Retrying
    | Notice
    | MemoryFlushStart
    | MemoryFlushEnd
    | CompactionStart
    | CompactionEnd
    | BudgetChanged
    | TurnFinished
)
