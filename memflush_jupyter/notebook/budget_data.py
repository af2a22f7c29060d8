"""The figures of ``%budget`` as plain data: what happened in this kernel's conversation, and one dictionary that tells it.

``schemas/budget.schema.json`` describes the dictionary. Every face that shows the budget reads it and nothing else.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import resources
from typing import Any

from memflush_jupyter.events import (
    Budget,
    BudgetChanged,
    CompactionEnd,
    CompactionStart,
    Event,
    MemoryFlushEnd,
    MemoryFlushStart,
    PhaseChanged,
    Recalled,
    Retrying,
    TurnFinished,
    TurnStarted,
)

VERSION = 1
FLUSHES = 10
"""How many of the last flushes are told."""
TURNS = 500
"""How many of the last turns the history holds."""

Handler = Callable[[Event], None]


@dataclass
class BudgetLog:
    """What the events of one conversation said about its context."""

    budget: Budget | None = None
    phase: str = "idle"
    recalled: int = 0
    pruned_messages: int = 0
    pruned_tokens: int = 0
    flushes: deque[dict[str, Any]] = field(default_factory=lambda: deque(maxlen=FLUSHES))
    history: deque[dict[str, Any]] = field(default_factory=lambda: deque(maxlen=TURNS))
    running: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Background work by its name."""
    listener: Callable[[], None] | None = None
    """Called on the kernel's loop after each change."""
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    _loop: asyncio.AbstractEventLoop | None = None
    _marks: set[str] = field(default_factory=set)

    def watched(self, handle: Handler) -> Handler:
        """``handle``, with every event taken in here too. To be called on the kernel's loop."""
        self.attach()

        def both(event: Event) -> None:
            self.take(event)
            handle(event)

        return both

    def beside(self, handle: Handler) -> Handler:
        """The same for events of the background thread: they are taken in on the kernel's loop."""

        def both(event: Event) -> None:
            handle(event)
            if self._loop is not None and not self._loop.is_closed():
                with contextlib.suppress(RuntimeError):  # the kernel is ending
                    self._loop.call_soon_threadsafe(self.take, event)

        return both

    def attach(self) -> None:
        """Remember the running loop as the kernel's."""
        with contextlib.suppress(RuntimeError):
            self._loop = asyncio.get_running_loop()

    def take(self, event: Event) -> None:  # noqa: C901 - one branch an event
        """Take one event in."""
        match event:
            case TurnStarted():
                self.phase, self.recalled = "waiting", 0
            case PhaseChanged():
                self.phase = event.phase
            case Retrying():
                self.phase = "retrying"
            case BudgetChanged():
                self.budget = event.budget
            case Recalled():
                self.recalled += len(event.items)
            case MemoryFlushStart() if event.background:
                self.running[event.flush] = {"kind": "flush", "reason": event.reason, "progress": None}
            case MemoryFlushEnd():
                self.running.pop(event.flush, None)
                self._flushed(event)
            case CompactionStart():
                self.phase = "compacting" if self.phase != "idle" else self.phase
            case CompactionEnd():
                self.pruned_messages += event.removed_messages
                self.pruned_tokens += max(event.tokens_before - event.tokens_after, 0)
                self._marks.add("compacted")
            case TurnFinished():
                self.phase = "idle"
            case _:
                return
        self.changed()

    def turn_over(self, budget: Budget | None) -> None:
        """A turn ended, however it ended."""
        self.phase = "idle"
        if budget is not None:
            self.budget = budget
            self.history.append({"turn": budget.turn, "used": budget.used, "flushed": "flushed" in self._marks, "compacted": "compacted" in self._marks})
            self._marks.clear()
        self.changed()

    def settled(self) -> None:
        """Work that no turn asked for is over: nothing goes on that would tell of its end (C15)."""
        self.phase = "idle"
        self.changed()

    def forget(self) -> None:
        """Another conversation begins."""
        self.budget, self.phase, self.recalled, self.pruned_messages, self.pruned_tokens = None, "idle", 0, 0, 0
        self.flushes.clear()
        self.history.clear()
        self._marks.clear()
        self.changed()

    def changed(self) -> None:
        """Tell the listener."""
        if self.listener is not None:
            self.listener()

    def _flushed(self, event: MemoryFlushEnd) -> None:
        turn = self.budget.turn if self.budget is not None else 0
        told = {"when": self.now().isoformat(timespec="seconds"), "turn": turn, "saved": event.saved, "notes": list(event.notes)}
        self.flushes.appendleft({**told, "file": event.file, "outcome": event.outcome, "reason": event.reason})
        if event.outcome in {"saved", "floor"}:
            self._marks.add("flushed")

    def data(self, *, max_cost_usd: float | None = None, busy: bool = False, dated: bool = True, redact: Callable[[str], str] = str) -> dict[str, Any]:
        """The dictionary of ``budget.schema.json``. ``busy``: the background thread works; ``dated``: whether dates may be told."""
        budget = self.budget or Budget(window=0, used=0, flush_line=0, compaction_line=0, segments={}, window_source="unknown")
        background = [dict(job) for job in self.running.values()]
        if busy and not background:
            background.append({"kind": "other", "reason": "", "progress": None})
        flushes = [
            {
                **flush,
                "when": flush["when"] if dated else None,
                "file": flush["file"] if dated else _folder(flush["file"]),
                "notes": [redact(note) for note in flush["notes"]],
                "reason": redact(flush["reason"]),
            }
            for flush in self.flushes
        ]
        return {
            "version": VERSION,
            "window": budget.window,
            "window_source": budget.window_source,
            "used": budget.used,
            "approximate": budget.approximate,
            "segments": [{"kind": kind, "tokens": max(size, 0)} for kind, size in budget.segments.items()],
            "flush_line": budget.flush_line,
            "compaction_line": budget.compaction_line,
            "cached_share": budget.cached_share,
            "cost_usd": budget.cost_usd,
            "max_cost_usd": max_cost_usd,
            "phase": self.phase,
            "turn": budget.turn,
            "compactions": budget.compactions,
            "background": background,
            "flushes": flushes,
            "pruned": {"messages": self.pruned_messages, "tokens": self.pruned_tokens},
            "shortened": {"results": budget.shortened, "tokens": budget.shortened_tokens},
            "recalled": self.recalled,
            "audit_score": budget.audit_score,
            "history": [dict(point) for point in self.history],
        }


def _folder(file: str | None) -> str | None:
    """The folder alone: daily files are named after their day."""
    return f"{file.rpartition('/')[0] or 'memory'}/" if file else file


def schema() -> dict[str, Any]:
    """The JSON schema of :meth:`BudgetLog.data`."""
    text = resources.files("memflush_jupyter").joinpath("schemas/budget.schema.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found
