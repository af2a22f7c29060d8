"""Keeps one conversation within its window: the flow "estimate → gate → flush → prune → compact" of the design, in one place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memflush_jupyter.agent import auditing
from memflush_jupyter.agent.compress import Compression, Summary
from memflush_jupyter.agent.flush import FlushResult
from memflush_jupyter.agent.saving import Saving
from memflush_jupyter.agent.side_run import compressing
from memflush_jupyter.context import compaction, pruning
from memflush_jupyter.events import BudgetChanged, CompactionEnd, CompactionStart, Notice, PhaseChanged

if TYPE_CHECKING:
    from memflush_jupyter.agent.branches import Continued
    from memflush_jupyter.trace.models import Block

OVERFLOW_KEEPS = 4
"""After an overflow at most this part of the conversation is kept: the turn has one more try (D7)."""
_DROPPED = "Earlier messages were dropped from view to make room. They are stored: memory_search finds them, read_message shows them."


class Room(Saving):
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

    # -- compaction ------------------------------------------------------------------------------------------------------------

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
        branch = await self._look_back(cut) or (flushed.branch if flushed is not None else None)
        before = self.used()
        trace = self._conversation.trace
        self._emit(PhaseChanged("compacting"))
        self._emit(BudgetChanged(self.budget("compacting")))
        self._emit(CompactionStart(trace.id, reason, before))
        end = CompactionEnd(trace.id, "failed", before, before, 0, "it did not finish; the history is as it was")
        try:
            row = compressing(self._parts.store, trace.id, cycle=trace.compaction_count, head=trace.head)
            summary, cut = await self._summary(cut, reason, branch)
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
            kept = {name: meta[name] for name in ("source", "reason", "removed", "uncovered")}
            event = {"cycle": trace.compaction_count, **kept, "audit": auditing.findings(self._parts, cut, summary.text, beside=_words(request))}
            with self._parts.store.together():
                self._parts.store.record_compaction(trace.id, content=content, tokens=size, meta=meta)
                self._parts.store.log(trace.id, auditing.EVENT, event)
                if row is not None:
                    self._parts.store.end_side(row, "done", summary.source, through=cut.removed[-1].sequence)
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
        self.audit_score = auditing.last_score(self._parts.store, self._conversation.trace_id)
        self._build(fresh=True)

    async def _summary(self, cut: compaction.Cut, reason: str, branch: Continued | None) -> tuple[Summary, compaction.Cut]:
        if self._parts.config.compaction == "drop":
            previous = next((message.text for message in cut.removed if message.kind == "summary"), "")
            return Summary(previous if previous.startswith(_DROPPED) else _DROPPED, "drop"), cut
        ready = self._prepared() if reason != "overflow" else None
        if ready is not None:
            return ready
        return await Compression(self._parts).summarise(self._job(reason), cut, branch=branch), cut

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


def _words(blocks: list[Block] | None) -> str:
    return "\n".join(str(block.get("text", "")) for block in blocks or ())
