"""Runs the queue of side branches: asks in as few requests as may be, and enters what each branch gave (section 6, B4, E3).

Every branch succeeds or fails by its own tool calls, and its effect, its event and its state in the queue are one transaction: a kill at
any instant leaves a branch done or still to do, never half done (P4). The head of the main path stays where it is.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from memflush_jupyter.agent import evaluate, extract, prompting
from memflush_jupyter.agent.answering import TOOL_OF, Asked, Harvest
from memflush_jupyter.agent.flush import Flush, FlushResult
from memflush_jupyter.agent.harvest import Harvester, patience_for
from memflush_jupyter.agent.lock import FlushLock
from memflush_jupyter.agent.side_queue import MOST_ATTEMPTS, Needs, after_failure, batch_name, plan, requests
from memflush_jupyter.errors import MemflushError
from memflush_jupyter.trace.side_queue import DONE, FAILED, QUEUED, SKIPPED

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memflush_jupyter.agent.branches import Continued, SideJob
    from memflush_jupyter.agent.parts import AgentParts
    from memflush_jupyter.agent.side_queue import Branch, Trigger
    from memflush_jupyter.config import MemFlush
    from memflush_jupyter.events import Event
    from memflush_jupyter.trace.models import Message
    from memflush_jupyter.trace.side_queue import SideRow
    from memflush_jupyter.trace.store import TraceStore

_FLUSH_STATES = {"saved": DONE, "silent": DONE, "floor": DONE}


@dataclass(frozen=True, slots=True)
class SideOutcome:
    """How the branches of one moment ended. ``branch`` is what a summary may ride on (C12)."""

    flush: FlushResult | None = None
    branch: Continued | None = None


class SideRun:
    """The side branches of one trace, with one set of parts. ``emit`` gets the flush's events."""

    def __init__(self, parts: AgentParts, emit: Callable[[Event], None]) -> None:
        self._parts = parts
        self._store = parts.store
        self._emit = emit

    # -- the two moments ---------------------------------------------------------------------------------------------------------

    async def before_compaction(self, job: SideJob, *, flush: bool, going: Sequence[int] | None = None) -> SideOutcome:
        """Flush (where the gate lets it), extraction, evaluation: those that are needed, in that order.

        ``going``: a compaction is at hand that removes these messages, and the flush has had its turn: what has not looked at them does so now.
        Never raises but for cancellation.
        """
        try:
            rows = self._queue(job, flush=flush, going=going)
        except MemflushError:  # the store cannot be used: the flush says so itself (P2)
            return SideOutcome(await Flush(self._parts, self._emit).run(job) if flush else None)
        return await self._run(rows, job, "compaction")

    async def at_completion(self, job: SideJob, trigger: Trigger, rows: Sequence[SideRow]) -> None:
        """Pending evaluation, then extraction with the completion prompt: the open ``rows`` of a goal or conversation that has ended."""
        async with FlushLock(self._store, job.trace, "completion").held() as free:
            if not free:
                return
            for row in rows:
                if not _offered(cast("Branch", row.branch), job):
                    self._store.end_side(row, SKIPPED, "knowledge is switched off")
            await self._run([row for row in rows if _offered(cast("Branch", row.branch), job)], job, trigger)

    # -- what is needed ------------------------------------------------------------------------------------------------------------

    def _queue(self, job: SideJob, *, flush: bool, going: Sequence[int] | None) -> list[SideRow]:
        batch = batch_name("compaction", cycle=job.compaction_count, head=job.head)
        needs = needed(self._store, self._parts.config, job.trace, job.context)
        reached = self._store.side_reached(job.trace, "extraction")
        new = needs.new and (going is None or any(reached is None or sequence > reached for sequence in going))
        known = {row.branch: row for row in self._store.sides(job.trace, batch=batch)}
        wanted = plan("compaction", Needs(flush=flush, new=new, injected=needs.injected))
        chosen = [
            (place, branch)
            for place, branch in wanted
            if branch == "flush" or (_offered(branch, job) and not _given_up(known.get(branch), job.head, with_flush=flush))
        ]
        if not chosen:
            return []
        rows = self._store.queue_sides(job.trace, batch, chosen, data={"head": job.head})
        return [row for row in rows if row.branch in {branch for _, branch in chosen}]

    # -- running -------------------------------------------------------------------------------------------------------------------

    async def _run(self, rows: Sequence[SideRow], job: SideJob, trigger: Trigger) -> SideOutcome:
        config = self._parts.config
        by_branch = {row.branch: row for row in rows}
        outcome = SideOutcome()
        ordered = [cast("Branch", row.branch) for row in sorted(rows, key=lambda row: row.position)]
        for group in requests(ordered, fuse=config.fuse_side_branches, flush_apart=bool(config.flush_model) and config.flush_model != job.model):
            mine = [by_branch[branch] for branch in group]
            try:
                self._store.begin_sides(mine)
                outcome = await self._group(group, mine, job, trigger, outcome)
            except asyncio.CancelledError:
                self._put_back(mine)
                raise
            except MemflushError as error:
                self._failed(mine, job, trigger, str(error))
        return outcome

    async def _group(self, group: tuple[Branch, ...], rows: Sequence[SideRow], job: SideJob, trigger: Trigger, before: SideOutcome) -> SideOutcome:
        """One request and what comes of it, branch by branch."""
        asked = self._asked(group, job, trigger)
        rest = [row for row in rows if row.branch != "flush"]
        if "flush" in group:
            flushed = await Flush(self._parts, self._emit).run(job, asked)
            self._flushed(next(row for row in rows if row.branch == "flush"), flushed, job)
            if flushed.outcome == "skipped" and flushed.harvest is None:
                self._put_back(rest, flushed.reason)
            elif flushed.harvest is None:
                self._failed(rest, job, trigger, flushed.failure or flushed.reason)
            else:
                self._settle(rest, flushed.harvest, job, trigger)
            return SideOutcome(flushed, flushed.branch)
        job = self._looking_back(job, group)
        try:
            harvest = await Harvester(self._parts, patience_for(self._parts, asked)).harvest(job, asked)
        except MemflushError as error:
            self._failed(rest, job, trigger, str(error))
            return before
        except Exception as error:  # noqa: BLE001 - whatever goes wrong on a side branch, the turn goes on (P2)
            self._failed(rest, job, trigger, f"{type(error).__name__}: {error}")
            return before
        self._settle(rest, harvest, job, trigger)
        return SideOutcome(before.flush, harvest.branch or before.branch)

    def _asked(self, group: tuple[Branch, ...], job: SideJob, trigger: Trigger) -> Asked:
        return Asked(
            branches=group,
            sources=evaluate.describe(self._parts, evaluate.pending(self._store, job.trace)) if "knowledge_eval" in group else (),
            saved=tuple(extract.saved_titles(self._store, job.trace)) if "extraction" in group else (),
            completion=trigger != "compaction",
        )

    def _looking_back(self, job: SideJob, group: tuple[Branch, ...]) -> SideJob:
        """The messages that a transcript would hold: an evaluation looks at all that is in view, an extraction at what is new."""
        if "knowledge_eval" in group:
            return replace(job, uncovered=job.context)
        new = extract.new_messages(job.context, self._store.side_reached(job.trace, "extraction"))
        return replace(job, uncovered=tuple(new) or job.context)

    # -- entering ------------------------------------------------------------------------------------------------------------------

    def _flushed(self, row: SideRow, result: FlushResult, job: SideJob) -> None:
        state = _FLUSH_STATES.get(result.outcome) or (after_failure(row.attempts + 1) if result.outcome == "failed" else QUEUED)
        through = job.head if state == DONE else None
        self._store.end_side(row, state, result.reason, through=through, counted=result.outcome != "skipped")

    def _settle(self, rows: Sequence[SideRow], harvest: Harvest, job: SideJob, trigger: Trigger) -> None:
        for row in rows:
            if row.branch == "extraction":
                self._extracted(row, harvest, job, trigger)
            else:
                self._evaluated(row, harvest, job, trigger)

    def _extracted(self, row: SideRow, harvest: Harvest, job: SideJob, trigger: Trigger) -> None:
        parts, store = self._parts, self._store
        found = extract.usable(parts, harvest.uploads, extract.saved_titles(store, job.trace))
        reason = _why(harvest, "") if not found else "; ".join(harvest.faults)
        # A reply that made other calls and none of these says that there was nothing to find; one that made no sense failed.
        failed = not found and not harvest.useful and harvest.reason not in {"silent", "empty reply"}
        outcome = "uploaded" if found else "failed" if failed else "nothing"
        messages = [message for message in job.context if message.kind != "summary"]
        with store.together():
            if store.end_side(row, FAILED if failed else DONE, reason, through=None if failed else job.head):
                event = {"outcome": outcome, "reason": reason, "trigger": trigger, "through": job.head, "batch": row.batch, "prompt": _prompt(trigger)}
                extract.record(parts, job.trace, found, messages, event=event)

    def _evaluated(self, row: SideRow, harvest: Harvest, job: SideJob, trigger: Trigger) -> None:
        store, identity = self._store, self._parts.identity
        with store.together():
            if not store.end_side(row, DONE if harvest.verdicts else FAILED, "" if harvest.verdicts else _why(harvest, evaluate.NO_VERDICT), through=job.head):
                return
            evaluate.record(store, job.trace, identity, harvest.verdicts, trigger=trigger)
            left = evaluate.pending(store, job.trace)
            if trigger == "end":
                self._neutral(job, left)
            elif not harvest.verdicts:
                reason = _why(harvest, evaluate.NO_VERDICT)
                store.log(job.trace, "evaluation", {"outcome": "failed", "reason": reason, "trigger": trigger, "sources": left})

    def _neutral(self, job: SideJob, sources: Sequence[str]) -> None:
        """The last chance is over: who got no verdict gets one that says so (E3: exactly one each)."""
        given = {source: evaluate.Judged("neutral", evaluate.NO_VERDICT) for source in sources}
        evaluate.record(self._store, job.trace, self._parts.identity, given, trigger="end", by="host")

    def _failed(self, rows: Sequence[SideRow], job: SideJob, trigger: Trigger, reason: str) -> None:
        """A request that did not come back: each of its branches counts the failure alone; after the last try the reason stays on record.

        Where the store cannot be written the rows stay as they are, open for another try: nothing may be raised into the turn (P2).
        """
        said = self._parts.redact(reason)[:600]
        for row in rows:
            state = after_failure(row.attempts + 1)
            with contextlib.suppress(MemflushError), self._store.together():
                if not self._store.end_side(row, state, said) or row.branch == "flush":
                    continue
                event = "extraction" if row.branch == "extraction" else "evaluation"
                self._store.log(job.trace, event, {"outcome": "failed", "reason": said, "trigger": trigger, "batch": row.batch})
                if state == FAILED and row.branch == "knowledge_eval" and trigger == "end":
                    self._neutral(job, evaluate.pending(self._store, job.trace))

    def _put_back(self, rows: Sequence[SideRow], reason: str = "interrupted") -> None:
        """What the person interrupted, or another run was at, was no try."""
        with contextlib.suppress(MemflushError):
            for row in rows:
                self._store.end_side(row, QUEUED, reason, counted=False)


def compressing(store: TraceStore, trace: str, *, cycle: int, head: int | None) -> SideRow | None:
    """Enter that a summary is about to be written: the last place of the batch."""
    batch = batch_name("compaction", cycle=cycle, head=head)
    rows = store.queue_sides(trace, batch, plan("compaction", Needs(compression=True)), data={"head": head})
    row = next((row for row in rows if row.branch == "compression"), None)
    store.begin_sides([row] if row is not None else [])
    return row


def needed(store: TraceStore, config: MemFlush, trace: str, messages: Sequence[Message], *, completion: bool = False) -> Needs:
    """What a trace asks for now: is anything new since the last extraction, and does shown knowledge wait for its verdict?"""
    wanted = config.completion_extraction if completion else config.extraction
    new = wanted and bool(extract.new_messages(messages, store.side_reached(trace, "extraction")))
    return Needs(new=new, injected=bool(evaluate.pending(store, trace)))


def queue_completion(store: TraceStore, config: MemFlush, trace: str, trigger: Trigger, *, goals: Sequence[str] = ()) -> list[SideRow]:
    """Have in the queue what the end of a goal or of a conversation asks for; the rows that are open now, none when nothing is needed."""
    row = store.trace(trace)
    if row.head is None or row.kind != "main":
        return []
    branches = plan(trigger, needed(store, config, trace, store.path(trace), completion=True))
    batch = batch_name(trigger, cycle=row.compaction_count, head=row.head)
    before = {known.branch: known for known in store.sides(trace, batch=batch)}
    branches = [(place, branch) for place, branch in branches if branch not in before or before[branch].open]
    data = {"head": row.head, **({"goals": list(goals)} if goals else {})}
    queued = store.queue_sides(trace, batch, branches, data=data) if branches else []
    if trigger == "end":  # what was left over from a compaction that did not come looks back on a conversation that is over
        for left in store.sides(trace, state=QUEUED):
            if left.batch != batch:
                store.end_side(left, SKIPPED, "the conversation has ended")
    return queued


def _offered(branch: Branch, job: SideJob) -> bool:
    """Whether the main path has the branch's tool: without knowledge nothing of it runs."""
    return any(tool["name"] == TOOL_OF[branch] for tool in job.frame.tools)


def _given_up(row: SideRow | None, head: int | None, *, with_flush: bool) -> bool:
    """Whether a branch is not asked again now: it looked back from here already, failed too often, or failed and would need a request of its own."""
    if row is None:
        return False
    if row.state == DONE:
        return row.data.get("head") == head
    return row.state == FAILED and (row.attempts >= MOST_ATTEMPTS or not with_flush)


def _why(harvest: Harvest, otherwise: str) -> str:
    said = "" if harvest.useful else harvest.reason
    return "; ".join(filter(None, [said or otherwise, *harvest.faults]))[:600]


def _prompt(trigger: Trigger) -> str:
    name = "extraction" if trigger == "compaction" else "extraction_completion"
    return f"{name}@{prompting.load(name).version}"
