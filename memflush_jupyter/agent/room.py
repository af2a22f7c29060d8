"""Keeps one conversation within its window: the flow "estimate → gate → flush → prune → compact" of the design, in one place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memflush_jupyter.agent import view
from memflush_jupyter.agent.branches import SideJob
from memflush_jupyter.agent.compress import Compression, Summary
from memflush_jupyter.agent.flush import Flush, FlushResult
from memflush_jupyter.agent.lock import FlushLock
from memflush_jupyter.agent.sending import Sending
from memflush_jupyter.context import compaction, gate, pruning
from memflush_jupyter.events import BudgetChanged, CompactionEnd, CompactionStart, Notice, PhaseChanged

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memflush_jupyter.agent.parts import AgentParts
    from memflush_jupyter.events import Event
    from memflush_jupyter.trace.models import Block, Message

OVERFLOW_KEEPS = 4
"""After an overflow at most this part of the conversation is kept: the turn has one more try (D7)."""
_DROPPED = "Earlier messages were dropped from view to make room. They are stored: memory_search finds them, read_message shows them."


class Room(Sending):
    """The window of one conversation under one model: what is decided about it, and done."""

    # -- before a call ---------------------------------------------------------------------------------------------------------

    async def make(self) -> str | None:
        """Make room before a model call; return a sentence when that is not possible and the turn has to end."""
        self.prune()
        decision = self._decide()
        if not decision.compact:
            return None
        config = self._parts.config
        if config.compaction == "off":
            if decision.flush:
                await self._flush(decision.reason)
            if self.fits():
                return None
            return (
                f"The context is full ({self.used():,} of {self._info.window:,} tokens) and compaction is off. "
                "Set `MemFlush.compaction = 'summary'`, run `%agent compact`, or begin anew with `%agent new`."
            )
        flushed = await self._flush(decision.reason) if decision.flush else None
        if not await self.compact("threshold", flushed=flushed) or self.used() >= self.lines.compaction_line:
            return self._stuck()
        return None

    def _stuck(self) -> str | None:
        used = self.used()
        if used < self.lines.compaction_line:
            return None
        if self.fits():  # the reply still fits into the reserve
            self._explain(used)
            return None
        largest = max(self.sent, key=lambda message: message.tokens, default=None)
        size = f" The largest message holds {largest.tokens:,} tokens." if largest is not None else ""
        return (
            f"There is no room left: {used:,} tokens stand in a window of {self._info.window:,} (of them {self.frame.prefix:,} fixed), "
            f"and a compaction cannot change that.{size} Put large inputs into files or variables, or choose a model with a larger window."
        )

    def _explain(self, used: int) -> None:
        """Say once a cycle why the context stays above the compaction line (D9)."""
        if self._explained != self._conversation.trace.compaction_count:
            self._explained = self._conversation.trace.compaction_count
            self._emit(
                Notice(
                    f"The context cannot be brought below the compaction line now: {used:,} tokens are in use, the line is at {self.lines.compaction_line:,}. "
                    "The last round and the request it answers are always kept; the answer uses the reserve.",
                    "warning",
                )
            )

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
        if not decision.flush:
            return
        parts = self._parts
        if parts.awaits_flush or not parts.config.flush_background or parts.background is None:
            await self._flush(decision.reason)
            return
        job = self._job(decision.reason, background=True)
        cut = self._cut()
        parts.background(lambda own, emit: _ahead(own, emit, job, cut))

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
        result = await Flush(self._parts, self._emit).run(self._job(reason, last_chance=last_chance))
        self._conversation.refresh()
        return result

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

    def _cut(self, reason: str = "") -> compaction.Cut:
        keep = self.lines.keep_recent
        if reason == "overflow":  # the window is smaller than we believe, so that what the lines would keep may be too much
            keep = min(keep, max(0, self.used() - self.frame.prefix) // OVERFLOW_KEEPS)
        return compaction.choose_cut(self.sent, keep_recent=keep, count=lambda message: message.tokens)

    async def compact(self, reason: str, *, flushed: FlushResult | None = None) -> bool:
        """Replace the older part of the path by a summary; return whether anything was replaced (D3–D6, D9)."""
        if self._compacted and reason != "manual":
            return False
        cut = self._cut(reason)
        if cut.empty:
            return False
        flushed, uncovered = await self._top_up(cut, flushed)
        before = self.used()
        trace = self._conversation.trace
        self._emit(PhaseChanged("compacting"))
        self._emit(BudgetChanged(self.budget("compacting")))
        self._emit(CompactionStart(trace.id, reason, before))
        end = CompactionEnd(trace.id, "failed", before, before, 0, "it did not finish; the history is as it was")
        try:
            summary, cut = await self._summary(cut, reason, flushed)
            meta: dict[str, Any] = {
                "first_kept": cut.kept[0].sequence if cut.kept else trace.head,
                "removed": [cut.removed[0].sequence, cut.removed[-1].sequence],
                "source": summary.source,
                "reason": reason,
                "faults": list(summary.faults),
                "uncovered": uncovered,
                "turns": sum(message.meta.get("turns", 0) if message.kind == "summary" else message.kind == "prompt" for message in cut.removed),
            }
            request, meta["request"] = self._last_request(cut)
            content = compaction.summary_message(summary.text, last_request=request)
            size = self._parts.counter(self._info.id).blocks(content)
            self._parts.store.record_compaction(trace.id, content=content, tokens=size, meta=meta)
            self._begin_cycle()
            end = CompactionEnd(trace.id, summary.source, before, self.used(), len(cut.going), uncovered)
        finally:
            self._emit(end)
        self._emit(BudgetChanged(self.budget("waiting")))
        return True

    def _begin_cycle(self) -> None:
        self._conversation.reload()
        self._pruned = pruning.PruneState(limit=self._parts.config.prune_result_chars)
        self._compacted = True
        self._logged = None
        self._build(fresh=True)

    async def _summary(self, cut: compaction.Cut, reason: str, flushed: FlushResult | None) -> tuple[Summary, compaction.Cut]:
        if self._parts.config.compaction == "drop":
            previous = next((message.text for message in cut.removed if message.kind == "summary"), "")
            return Summary(previous if previous.startswith(_DROPPED) else _DROPPED, "drop"), cut
        ready = self._prepared() if reason != "overflow" else None
        if ready is not None:
            return ready
        return await Compression(self._parts).summarise(self._job(reason), cut, branch=flushed.branch if flushed is not None else None), cut

    def _prepared(self) -> tuple[Summary, compaction.Cut] | None:
        """A summary made ahead, if what it leaves standing still keeps the context below the flush line."""
        sent = self.sent
        # Only one of this cycle counts, and its messages come after the last summary: a long conversation is not read through.
        begun = max((message.sequence for message in sent if message.kind == "summary"), default=0)
        ready = self._parts.store.latest_of_branch(self._conversation.trace_id, "prepared", after=begun)
        if ready is None or ready.meta.get("cycle") != self._conversation.trace.compaction_count:
            return None
        first = ready.meta["first_kept"]
        at = next((index for index, message in enumerate(sent) if message.sequence == first and message.kind != "summary"), None)
        if at is None or ready.meta["head"] not in {message.sequence for message in sent}:
            return None
        older = compaction.Cut(at, sent[:at], sent[at:])
        left = self.frame.prefix + self._parts.counter(self._info.id).text(ready.text) + sum(message.tokens for message in older.kept)
        if left >= self.lines.flush_line:
            return None
        return Summary(ready.text, ready.meta["source"]), older

    def _last_request(self, cut: compaction.Cut) -> tuple[list[Block] | None, int | None]:
        """The person's last request, word for word, when the cut would take it away (D3), and its sequence.

        In a long turn the request may stand in an earlier summary already; that one's ``meta`` says which message it was.
        """
        if any(message.kind == "prompt" for message in cut.kept):
            return None, None
        asked = next((message.sequence for message in reversed(cut.removed) if message.kind == "prompt"), None)
        if asked is None:
            asked = next((message.meta.get("request") for message in cut.removed if message.kind == "summary"), None)
        if asked is None:
            return None, None
        whole = self._parts.store.message(self._conversation.trace_id, asked)
        aside = set(whole.meta.get("aside", ()))
        return [block for index, block in enumerate(whole.content) if index not in aside], asked


async def _ahead(parts: AgentParts, emit: Callable[[Event], None], job: SideJob, cut: compaction.Cut) -> None:
    """On the background thread: the flush, then the summary of the part that would go, so that no turn waits for either."""
    result = await Flush(parts, emit).run(job)
    if cut.empty or not cut.kept or parts.config.compaction != "summary" or result.outcome in {"skipped", "failed"}:
        return
    summary = await Compression(parts).summarise(job, cut, branch=result.branch)
    meta: dict[str, Any] = {"cycle": job.compaction_count, "first_kept": cut.kept[0].sequence, "head": job.head, "source": summary.source}
    content = [{"type": "text", "text": summary.text}]
    parts.store.append(job.trace, role="assistant", kind="reply", content=content, parent=job.head, branch="prepared", meta=meta)
