"""What a turn shows, as a list of segments folded from its events: pure data, the same for every front end (P9)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from memflush_jupyter.events import (
    Budget,
    BudgetChanged,
    CompactionEnd,
    Event,
    MemoryFlushEnd,
    Notice,
    Phase,
    PhaseChanged,
    Recalled,
    Retrying,
    TextDelta,
    TextDiscarded,
    TextDone,
    ToolFinished,
    ToolProgress,
    ToolStarted,
    TurnFinished,
    TurnStarted,
)
from memflush_jupyter.notebook.display import figures, gauge, render, tool_calls

Bundle = dict[str, Any]

FAILED_STOPS = frozenset({"error", "full", "interrupted"})
"""Ends of a turn whose sentence is told as the cell's error, not as a line of the answer."""

_DECIDED = {"approved": "run after your approval", "edited": "edited by you", "declined": "declined", "not run": "not run"}
_UNRUN = frozenset({"declined", "not run"})


@dataclass(eq=False)
class Segment:
    """One output of the cell. ``final``: it will not change any more."""

    kind: str
    bundle: Bundle
    final: bool = True
    text: str = ""
    given: dict[str, Any] = field(default_factory=dict)
    name: str = ""


@dataclass
class Transcript:
    """The segments of one turn, in order, and what the gauge shows.

    ``dated``: file names with dates may be shown; they may not where outputs have to be the same on any day.
    ``redact`` is applied to the tool inputs, which come as the model wrote them (P7).
    """

    dated: bool = True
    redact: Callable[[str], str] = str
    segments: list[Segment] = field(default_factory=list)
    budget: Budget | None = None
    phase: Phase = "idle"
    says: str = ""
    hint: str = ""
    """A line shown while the turn runs, and not kept."""
    trace: str = ""
    finished: TurnFinished | None = None
    changed: set[int] = field(default_factory=set)
    """Places whose segment is new, moved or has another form since the last :meth:`take_changes`."""
    _figures: int = 0
    _texts: dict[int, Segment] = field(default_factory=dict)
    _tools: dict[str, Segment] = field(default_factory=dict)

    def add(self, event: Event) -> None:  # noqa: C901, PLR0912 - one branch an event
        """Take one event in."""
        match event:
            case TurnStarted():
                self.trace = event.trace
            case PhaseChanged():
                self.phase, self.says = event.phase, ""
            case Retrying():
                self.phase, self.says = "retrying", f"{event.sentence} Trying again in {event.wait_s:.0f} s."
            case BudgetChanged():
                self.budget = event.budget
            case Recalled():
                self._append(Segment("recall", render.recalled(event.items, self.trace)))
            case Notice():
                self.line(event.text, event.level)
            case TextDelta():
                self._text(event.block, event.text, done=False)
            case TextDone():
                self._text(event.block, event.text, done=True)
            case TextDiscarded():
                self._discard(self._texts.pop(event.block, None))
            case ToolStarted():
                self._tool_started(event)
            case ToolFinished():
                self._tool_finished(event)
            case ToolProgress():
                self._progress(event)
            case MemoryFlushEnd():
                self._flushed(event)
            case CompactionEnd():
                self._compacted(event)
            case TurnFinished():
                self._finished(event)
            case _:
                pass

    def line(self, text: str, level: str = "info") -> None:
        """Add one line for the person."""
        self._append(Segment("notice", render.line(text, level)))

    def ask(self, name: str, given: dict[str, Any]) -> None:
        """Open the call that is waiting for the person's decision, so that they see what they decide about."""
        waiting = [segment for segment in self._tools.values() if segment.name == name and not segment.final]
        for segment in waiting[-1:]:
            self._change(segment, tool_calls.tool_call(name, self._clean(given), "waiting for your approval", None, opened=True))

    def end(self) -> None:
        """Nothing more comes: settle what is still open, and add the gauge as the last output."""
        for segment in self.segments:
            if not segment.final and segment.kind == "tool":
                self._change(segment, tool_calls.tool_call(segment.name, segment.given, "interrupted", None))
            segment.final = True
        if self.budget is not None:
            self._append(Segment("gauge", self.status(final=True)))

    def status(self, *, final: bool = False) -> Bundle:
        """The gauge as it stands; ``final``: without the words about what goes on."""
        words = "" if final else f"{self.hint} {self.says or gauge.PHASES[self.phase]}".strip()
        return gauge.gauge(self.shown_budget) if final else gauge.status(self.shown_budget, words)

    @property
    def shown_budget(self) -> Budget | None:
        """The figures as they may stand in an output: without the moment of the last flush where dates may not."""
        return self.budget if self.dated or self.budget is None else replace(self.budget, last_flush=None)

    def take_changes(self) -> list[int]:
        """The places that changed since the last call, in order."""
        changes = sorted(place for place in self.changed if place < len(self.segments))
        self.changed.clear()
        return changes

    @property
    def answer(self) -> str:
        """The reply's text."""
        return "\n\n".join(segment.text for segment in self.segments if segment.kind == "text")

    # -- one kind of event each --------------------------------------------------------------------------------------------------

    def _append(self, segment: Segment) -> Segment:
        self.segments.append(segment)
        self.changed.add(len(self.segments) - 1)
        return segment

    def _change(self, segment: Segment, bundle: Bundle) -> None:
        segment.bundle = bundle
        self.changed.add(self.segments.index(segment))

    def _text(self, block: int, text: str, *, done: bool) -> None:
        segment = self._texts.get(block)
        whole = text if done else (segment.text if segment else "") + text
        if not whole.strip():
            if done:
                self._discard(self._texts.pop(block, None))
            elif segment is not None:
                segment.text = whole
            return
        if segment is None:
            segment = self._texts[block] = self._append(Segment("text", {}, final=done))
        segment.text, segment.final = whole, done
        self._change(segment, render.markdown(whole))

    def _discard(self, segment: Segment | None) -> None:
        if segment is None:
            return
        place = self.segments.index(segment)
        self.segments.pop(place)
        self.changed.update(range(place, len(self.segments) + 1))

    def _clean(self, given: dict[str, Any]) -> dict[str, Any]:
        return {key: self._clean_value(value) for key, value in given.items()}

    def _clean_value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.redact(value)
        if isinstance(value, list):
            return [self._clean_value(item) for item in value]
        return self._clean(value) if isinstance(value, dict) else value

    def _tool_started(self, event: ToolStarted) -> None:
        given = self._clean(event.input)
        bundle = tool_calls.tool_call(event.name, given, "running…", None)
        self._tools[event.id] = self._append(Segment("tool", bundle, final=False, given=given, name=event.name))

    def _tool_finished(self, event: ToolFinished) -> None:
        given = self._clean(event.input)
        tables = [shown for shown in event.displays if figures.is_folded(shown)]
        decision = event.decision or _decision(event)
        failed = event.is_error and decision not in _UNRUN
        state = "error" if failed else _DECIDED.get(decision, "ok")
        text = event.text if self.dated else tool_calls.undated(event.name, event.text)
        bundle = tool_calls.tool_call(event.name, given, state, text, is_error=failed, tables=tables)
        segment = self._tools.pop(event.id, None)
        if segment is None:
            segment = self._append(Segment("tool", bundle, name=event.name))
        segment.given, segment.text, segment.final = given, text, True
        self._change(segment, bundle)
        for shown in event.displays:
            if not figures.is_folded(shown):
                self._show(shown, str(given.get("code", "")))

    def _progress(self, event: ToolProgress) -> None:
        for segment in [held for held in self._tools.values() if held.name == event.name and not held.final][-1:]:
            self._change(segment, tool_calls.tool_call(event.name, segment.given, self.redact(event.text), None))

    def _show(self, shown: Bundle, code: str) -> None:
        """A display of the code's, and below a figure the line that made it."""
        if not figures.is_figure(shown):
            self._append(Segment("display", figures.clean(shown)))
            return
        self._figures += 1
        caption = figures.caption(self._figures, shown, code)
        self._append(Segment("display", figures.described(shown, caption)))
        if ":" in caption:
            self._append(Segment("caption", figures.caption_bundle(caption)))

    def _flushed(self, event: MemoryFlushEnd) -> None:
        if event.outcome in {"saved", "floor"} and event.saved:
            bundle = render.memory_saved(event.saved, event.file, event.notes, dated=self.dated, by_rule=event.outcome == "floor")
            self._append(Segment("memory", bundle, text=bundle["text/plain"]))
        elif event.outcome == "failed":
            self.line(f"memory: nothing was saved: {event.reason}", "warning")

    def _compacted(self, event: CompactionEnd) -> None:
        if event.source == "failed" or not event.removed_messages:
            return
        how = {"model": "replaced by a summary", "extractive": "replaced by an extract", "drop": "dropped from view"}.get(event.source, "replaced by a summary")
        count = render.plural(event.removed_messages, "earlier message")
        self._append(
            Segment("compaction", render.line(f"context: {count} {how} ({event.tokens_before:,} → {event.tokens_after:,} tokens); all stay in the trace"))
        )

    def _finished(self, event: TurnFinished) -> None:
        self.finished = event
        self.phase, self.says = "idle", ""
        if event.sentence and event.stop not in FAILED_STOPS:
            self.line(event.sentence)


def _decision(event: ToolFinished) -> str:
    """What was decided about a call of which only the stored result is left."""
    if event.is_error and event.text.startswith(f"The person declined to run {event.name}"):
        return "declined"
    return "not run" if event.is_error and event.text.startswith(f"{event.name} was not run: ") else ""
