"""The pre-compaction memory flush: a side branch that saves durable notes to the daily file (section C of the behaviours)."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from memflush_jupyter.agent import prompting
from memflush_jupyter.agent.answering import Asked, Harvest
from memflush_jupyter.agent.branches import Patience
from memflush_jupyter.agent.harvest import Harvester
from memflush_jupyter.agent.lock import FlushLock
from memflush_jupyter.agent.notes import Draft, attribute, sources
from memflush_jupyter.errors import LimitError, MemflushError
from memflush_jupyter.events import MemoryFlushEnd, MemoryFlushStart
from memflush_jupyter.memory import limits, salience

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memflush_jupyter.agent.branches import Continued, SideJob
    from memflush_jupyter.agent.parts import AgentParts
    from memflush_jupyter.events import Event, FlushOutcome

FLOOR_NOTES = 20


@dataclass(frozen=True, slots=True)
class FlushResult:
    """How a flush ended. ``branch`` continues the request's messages where its results can ride with the next instruction.

    ``harvest``: what the model gave for the branches that shared the request; ``None`` where it gave nothing (``failure`` says why).
    """

    outcome: FlushOutcome
    saved: int = 0
    file: str | None = None
    reason: str = ""
    notes: list[str] = field(default_factory=list)
    branch: Continued | None = None
    harvest: Harvest | None = None
    failure: str = ""


class Flush:
    """Runs flushes with one set of parts. ``emit`` gets one ``MemoryFlushStart`` and exactly one ``MemoryFlushEnd`` each (C15)."""

    def __init__(self, parts: AgentParts, emit: Callable[[Event], None]) -> None:
        self._parts = parts
        self._emit = emit
        self._patience = Patience(parts.config.flush_timeout_s, parts.config.flush_total_timeout_s)

    async def run(self, job: SideJob, beside: Asked | None = None) -> FlushResult:
        """Flush what ``job.uncovered`` holds; never raises but for cancellation. ``beside``: the request is shared with other branches."""
        flush_id = f"{job.trace}:{job.compaction_count}:{job.head}"
        self._emit(MemoryFlushStart(flush_id, job.trace, job.reason, job.background))
        result = FlushResult("cancelled", reason="interrupted")
        try:
            result = await self._locked(job, beside or Asked())
        except MemflushError as error:  # the store itself cannot be used: not even the failure can be recorded (P2)
            result = FlushResult("failed", reason=self._parts.redact(str(error))[:600])
        except asyncio.CancelledError:
            with contextlib.suppress(MemflushError):
                self._log(job, result)
            raise
        finally:
            self._emit(MemoryFlushEnd(flush_id, job.trace, result.saved, result.outcome, result.reason, result.file, list(result.notes)))
        return result

    async def _locked(self, job: SideJob, asked: Asked) -> FlushResult:
        lock = FlushLock(self._parts.store, job.trace)
        async with lock.held() as free:
            return await self._flush(job, asked, lock) if free else self._skipped(job)

    def _skipped(self, job: SideJob, reason: str = "another flush of this trace is running") -> FlushResult:
        result = FlushResult("skipped", reason=reason)
        self._log(job, result)
        return result

    async def _flush(self, job: SideJob, asked: Asked, lock: FlushLock) -> FlushResult:
        assert self._parts.writer is not None  # noqa: S101 - the gate skips a run without memory
        candidates = salience.extract(sources(job.uncovered))
        self._patience.spent_s = 0.0
        try:
            asked = replace(asked, candidates=tuple(candidate.text for candidate in candidates))
            harvest = await Harvester(self._parts, self._patience).harvest(job, asked)
            failure = ""
        except LimitError as error:
            if not job.last_chance:  # no failure of the model's: once the person raises the limit, it is asked again
                return self._skipped(job, str(error))
            harvest, failure = Harvest(), str(error)
        except MemflushError as error:
            harvest, failure = Harvest(), str(error)
        except Exception as error:  # noqa: BLE001 - whatever goes wrong in a flush, the turn goes on (P2)
            harvest, failure = Harvest(), f"{type(error).__name__}: {error}"
        try:
            # Where this thread was held up for so long that another flush took over, that one writes.
            result = self._write(job, harvest, candidates, failure) if lock.take() else self._skipped(job)
        except (MemflushError, OSError) as error:
            result = self._failed(job, failure or str(error))
        return replace(result, harvest=None if failure else harvest, failure=failure)

    def _write(self, job: SideJob, harvest: Harvest, candidates: Sequence[salience.Candidate], failure: str) -> FlushResult:
        parts, config = self._parts, self._parts.config
        assert parts.writer is not None  # noqa: S101 - as above
        row = parts.store.trace(job.trace)
        final = job.last_chance or row.flush_failures + 1 >= config.flush_max_failures
        if failure and not (config.flush_floor and final):
            return self._failed(job, failure)
        drafts = [Draft(note, *attribute(note, job.uncovered)) for note in limits.clean_notes(harvest.notes, prompt_sentences=prompting.own_sentences(config))]
        kept = parts.writer.write(job.trace, drafts, limit=config.flush_max_notes)
        floor_ids: list[str] = []
        texts, file = list(kept.texts), kept.file
        if config.flush_floor:
            lines = parts.writer.lines()
            missed = [one for one in candidates if one.confidence >= salience.HIGH_CONFIDENCE and not limits.covered(one.text, lines)]
            floor = parts.writer.write(job.trace, [Draft(one.text, one.sequence, one.origin, floor=True) for one in missed], limit=FLOOR_NOTES)
            floor_ids, file = floor.ids, file or floor.file
            texts += floor.texts
        outcome: FlushOutcome = "saved" if kept.ids else "floor" if floor_ids else "silent"
        said = harvest.reason if harvest.notes or not harvest.useful else "nothing to store"
        reason = "; ".join(filter(None, [f"failed: {failure}" if failure else said, *harvest.faults]))
        event = {
            "outcome": outcome, "reason": reason, "trigger": job.reason, "saved": len(kept.ids) + len(floor_ids), "floor": len(floor_ids),
            "known": kept.known, "file": file, "through": job.head, "cycle": job.compaction_count, "prompt": f"flush@{prompting.load('flush').version}",
        }  # fmt: skip
        parts.store.record_flush(job.trace, compaction_count=job.compaction_count, flushed_through=job.head, notes=[*kept.ids, *floor_ids], event=event)
        if failure:
            parts.store.record_flush_failure(job.trace, reason=failure)
        return FlushResult(outcome, len(kept.ids) + len(floor_ids), file, reason, texts, harvest.branch)

    def _failed(self, job: SideJob, failure: str) -> FlushResult:
        self._parts.store.record_flush_failure(job.trace, reason=failure)
        result = FlushResult("failed", reason=self._parts.redact(failure)[:600])
        self._log(job, result)
        return result

    def _log(self, job: SideJob, result: FlushResult) -> None:
        data = {"outcome": result.outcome, "reason": result.reason[:600], "trigger": job.reason, "through": job.head, "cycle": job.compaction_count}
        self._parts.store.log(job.trace, "flush", data)
