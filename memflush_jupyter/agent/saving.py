"""What is saved of one conversation before it leaves the context, and when it is over: flush, extraction, evaluation (B, C, E3)."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from memflush_jupyter.agent import view
from memflush_jupyter.agent.branches import SideJob
from memflush_jupyter.agent.compress import Compression
from memflush_jupyter.agent.flush import FlushResult
from memflush_jupyter.agent.lock import FlushLock
from memflush_jupyter.agent.sending import Sending
from memflush_jupyter.agent.side_run import SideRun, queue_completion
from memflush_jupyter.context import gate
from memflush_jupyter.events import BudgetChanged, Notice, PhaseChanged

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memflush_jupyter.agent.branches import Continued
    from memflush_jupyter.agent.parts import AgentParts
    from memflush_jupyter.agent.side_queue import Trigger
    from memflush_jupyter.context import compaction
    from memflush_jupyter.events import Event
    from memflush_jupyter.trace.models import Message


class Saving(Sending):
    """The side branches of one conversation under one model: which are due, and run."""

    @abstractmethod
    def _cut(self, reason: str = "") -> compaction.Cut:
        """What a compaction would take away now."""

    # -- what is due -----------------------------------------------------------------------------------------------------------

    def _state(self) -> gate.GateState:
        parts, trace, config = self._parts, self._conversation.trace, self._parts.config
        uncovered = self._uncovered()
        size = self._bytes(uncovered) if config.force_flush_transcript_bytes else 0
        return gate.GateState(
            used=self.used(),
            lines=self.lines,
            compaction_count=trace.compaction_count,
            memory_flush_compaction_count=trace.memory_flush_compaction_count,
            unflushed_bytes=size,
            force_bytes=int(config.force_flush_transcript_bytes),
            enabled=config.enable_memory_flush,
            writable=parts.memory is not None and parts.memory.writable,
            sub_agent=trace.kind == "agent_call",
            heartbeat=trace.kind == "heartbeat",
            memory_on=parts.writer is not None,
            has_new=bool(uncovered),
            failures=trace.flush_failures,
            max_failures=config.flush_max_failures,
        )

    def _bytes(self, uncovered: Sequence[Message]) -> int:
        """Size of the messages that no flush has covered (B1); each is measured once."""
        known = self._sizes
        self._sizes = {message.sequence: known.get(message.sequence) or view.size(message) for message in uncovered}
        return sum(self._sizes.values())

    def _decide(self) -> gate.Decision:
        decision = gate.decide(self._state())
        if (decision.compact or decision.flush or self.used() >= self.lines.flush_line) and decision.reason != self._logged:
            self._logged = decision.reason
            data = {"action": decision.action, "reason": decision.reason, "compact": decision.compact, "used": self.used()}
            self._parts.store.log(self._conversation.trace_id, "gate", data)
        return decision

    def _uncovered(self) -> list[Message]:
        through = self._conversation.trace.flushed_through
        known = [message for message in self._conversation.messages if message.kind != "summary" and (through is None or message.sequence > through)]
        first = self._conversation.messages[0] if self._conversation.messages else None
        if first is not None and first.kind == "summary" and (through is None or through < first.meta.get("first_kept", 0) - 1):
            return self._parts.store.uncovered(self._conversation.trace_id, after=through)
        return known

    # -- after a turn ----------------------------------------------------------------------------------------------------------

    async def settle(self) -> None:
        """After a turn: flush when the soft line is crossed, in the background where nothing has to wait for it."""
        self._conversation.refresh()
        self.prune()
        decision = self._decide()
        goals = self._done_goals()
        if not decision.flush and not goals:
            return
        parts = self._parts
        if parts.awaits_flush or not parts.config.flush_background or parts.background is None:
            if decision.flush:
                await self._flush(decision.reason)
            if goals:
                await self.complete("goal", goals=goals)
            return
        job, cut = self._job(decision.reason, background=True), self._cut()
        parts.background(lambda own, emit: _later(own, emit, job, cut if decision.flush else None, goals))

    # -- flush and compaction --------------------------------------------------------------------------------------------------

    def _job(self, reason: str, *, background: bool = False, last_chance: bool = False) -> SideJob:
        trace = self._conversation.trace
        return SideJob(
            trace=trace.id,
            head=trace.head,
            model=self._info.id,
            info=self._info,
            frame=self.frame,
            context=tuple(self.sent),
            uncovered=tuple(self._uncovered()),
            wire=self.wire(),
            used=self.used(),
            guessed=self.guessed(),
            room=self.lines.room,
            compaction_count=trace.compaction_count,
            reason=reason,
            background=background,
            last_chance=last_chance,
        )

    async def flush_now(self, reason: str = "manual") -> FlushResult | None:
        """``%agent flush``: save what was not covered yet, whatever the lines say; ``None`` when there is nothing or it may not run."""
        self._conversation.refresh()
        decision = gate.topup(
            self._state(), going=[message.sequence for message in self._uncovered()], flushed_through=self._conversation.trace.flushed_through
        )
        if not decision.flush:
            self._emit(Notice(f"Nothing was saved: {gate.REASONS[decision.reason]}."))
            return None
        return await self._flush(reason)

    async def _flush(self, reason: str, *, last_chance: bool = False) -> FlushResult:
        self._emit(PhaseChanged("flushing"))
        self._emit(BudgetChanged(self.budget("flushing")))
        outcome = await SideRun(self._parts, self._emit).before_compaction(self._job(reason, last_chance=last_chance), flush=True)
        self._conversation.refresh()
        result = outcome.flush or FlushResult("failed", reason="the queue of side branches cannot be used")
        return replace(result, branch=outcome.branch)

    async def _top_up(self, cut: compaction.Cut, flushed: FlushResult | None) -> tuple[FlushResult | None, str]:
        """Flush what is about to go and is not covered yet (B4); return the flush and, where it stays uncovered, the reason (P1)."""
        going = [message.sequence for message in cut.going]
        while True:
            trace = self._conversation.refresh()
            decision = gate.topup(self._state(), going=going, flushed_through=trace.flushed_through)
            if not decision.flush:
                return flushed, "" if decision.reason == "nothing_new" else gate.REASONS[decision.reason]
            result = await self._flush(decision.reason if flushed is None else "topup", last_chance=True)
            if result.outcome != "skipped":
                covered = gate.topup(self._state(), going=going, flushed_through=self._conversation.trace.flushed_through).reason == "nothing_new"
                return result, "" if covered else result.reason
            # A flush of this trace is running, in the background or in another process: wait for it, then look again.
            if not await FlushLock(self._parts.store, trace.id).wait():
                return result, result.reason

    async def _look_back(self, cut: compaction.Cut) -> Continued | None:
        """Extraction and evaluation of what is about to go, where no flush carried them (B4, E3); the branch that a summary may ride on."""
        trace = self._conversation.trace
        if self._parts.writer is None or trace.kind != "main":
            return None
        job = self._job("compaction")
        return (await SideRun(self._parts, self._emit).before_compaction(job, flush=False, going=[message.sequence for message in cut.going])).branch

    def _done_goals(self) -> list[str]:
        trace = self._conversation.trace
        return self._parts.store.done_goals(trace.id) if self._parts.writer is not None and trace.kind == "main" else []

    async def complete(self, trigger: Trigger, *, goals: Sequence[str] = (), cold: bool = False) -> None:
        """The end of a goal or of the conversation: what is pending is judged, then what was found out is kept, by the completion prompt.

        ``cold``: the conversation lies so far back that no cache holds it.
        """
        if self._parts.writer is None:
            return
        trace = self._conversation.refresh()
        rows = queue_completion(self._parts.store, self._parts.config, trace.id, trigger, goals=goals)
        if rows:
            await SideRun(self._parts, self._emit).at_completion(replace(self._job(trigger), cold=cold), trigger, rows)


async def _later(parts: AgentParts, emit: Callable[[Event], None], job: SideJob, cut: compaction.Cut | None, goals: Sequence[str]) -> None:
    """On the background thread: what is due after a turn, so that no turn waits for it; ``cut`` is what would go, where a flush is due."""
    if cut is not None:
        await _ahead(parts, emit, job, cut)
    if goals and parts.writer is not None:
        rows = queue_completion(parts.store, parts.config, job.trace, "goal", goals=goals)
        await SideRun(parts, emit).at_completion(job, "goal", rows)


async def _ahead(parts: AgentParts, emit: Callable[[Event], None], job: SideJob, cut: compaction.Cut) -> None:
    """On the background thread: the flush, then the summary of the part that would go, so that no turn waits for either."""
    outcome = await SideRun(parts, emit).before_compaction(job, flush=True)
    result = outcome.flush or FlushResult("failed")
    if cut.empty or not cut.kept or parts.config.compaction != "summary" or result.outcome in {"skipped", "failed"}:
        return
    summary = await Compression(parts).summarise(job, cut, branch=outcome.branch)
    meta: dict[str, Any] = {"cycle": job.compaction_count, "first_kept": cut.kept[0].sequence, "head": job.head, "source": summary.source}
    content = [{"type": "text", "text": summary.text}]
    parts.store.append(job.trace, role="assistant", kind="reply", content=content, parent=job.head, branch="prepared", meta=meta)
