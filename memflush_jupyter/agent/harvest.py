"""What the model gives on a side branch: asked on the main prefix or slim, in a few rounds, with the tools of its tasks alone (C4, C7, C11)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from memflush_jupyter.agent import prompting
from memflush_jupyter.agent.answering import Answering, Asked, Harvest, schemas, without_calls
from memflush_jupyter.agent.branches import (
    GUESS_MARGIN,
    MIN_REPLY_TOKENS,
    SIDE_REPLY_TOKENS,
    Continued,
    Patience,
    SideJob,
    ask_and_count,
    chunked,
    reply_room,
    transcript,
)
from memflush_jupyter.agent.parts import with_instruction
from memflush_jupyter.errors import MemflushError, ModelError
from memflush_jupyter.models.client import ModelRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    from memflush_jupyter.agent.parts import AgentParts

_PARTS_OF_WINDOW = (1, 2, 4)
"""A slim request that a server finds too long is tried again with chunks for half, then a quarter of the window we believed in."""
_REPLY_TOKENS = 1024
"""Room that a side branch on the main prefix needs for what it saves."""


def patience_for(parts: AgentParts, asked: Asked) -> Patience:
    """How long a request of these branches is waited for: the flush's patience, or that of the longest of the others."""
    config = parts.config
    totals = {"flush": config.flush_total_timeout_s, "extraction": config.extraction_total_timeout_s, "knowledge_eval": config.evaluation_total_timeout_s}
    total = totals["flush"] if "flush" in asked.branches else max(totals[branch] for branch in asked.branches)
    return Patience(config.flush_timeout_s, total)


class Harvester:
    """Asks with one set of parts; ``patience`` is spent over all requests of one side branch."""

    def __init__(self, parts: AgentParts, patience: Patience) -> None:
        self._parts = parts
        self._patience = patience

    async def harvest(self, job: SideJob, asked: Asked) -> Harvest:
        """What the first configured model that answers gives. ``flush_model`` counts where a flush is asked for, and only there.

        Raises:
            ModelError: none did; it is the last one's.
        """
        config = self._parts.config
        other = config.flush_model if "flush" in asked.branches else ""
        models = [other or job.model, *(config.flush_fallbacks if other else [])]
        failure: ModelError | None = None
        for model in models:
            try:
                if model == job.model:
                    return await self._on_own(job, asked)
                return await self._slim(replace(job, model=model, info=await self._parts.client.info(model)), asked)
            except ModelError as error:
                failure = error
        raise failure or ModelError("No model is configured for the flush.")

    async def _on_own(self, job: SideJob, asked: Asked) -> Harvest:
        """On the turn's own model: on its prefix where that fits; slim where it does not, where the server says so (B4), or where no cache holds it."""
        instruction = instruction_text(self._parts, asked, self._parts.counter(job.model).text)
        extra = max(prompting.FLUSH_INSTRUCTION_TOKENS, self._parts.counter(job.model).text(instruction))
        room = min(SIDE_REPLY_TOKENS, reply_room(job.info, job.used + extra, job.guessed + extra))
        if not job.cold and room >= min(_REPLY_TOKENS, job.info.max_output):
            try:
                return await self._on_prefix(job, asked, instruction, room)
            except ModelError as error:
                if error.kind != "overflow":
                    raise
        return await self._slim(job, asked)

    async def _on_prefix(self, job: SideJob, asked: Asked, instruction: str, room: int) -> Harvest:
        """The same system prompt, tools and messages as the main path, so that the provider's cache serves the prefix."""
        request = ModelRequest(
            model=job.model,
            system=job.frame.system,
            tools=job.frame.tools,
            messages=with_instruction(job.wire, [{"type": "text", "text": instruction}]),
            max_tokens=room,
            purpose=asked.purpose,
        )
        return await self._rounds(job, asked, request, instruction)

    async def _slim(self, job: SideJob, asked: Asked) -> Harvest:
        """Only what was not looked back on yet, as a transcript in chunks that fit: for another model, or a context that no longer fits."""
        failure: ModelError | None = None
        for part in _PARTS_OF_WINDOW:
            try:
                return await self._in_chunks(job, asked, job.info.window // part)
            except ModelError as error:
                if error.kind != "overflow":
                    raise
                failure = error
        raise failure or ModelError("The flush does not fit the model.", kind="overflow")

    async def _in_chunks(self, job: SideJob, asked: Asked, window: int) -> Harvest:
        counter = self._parts.counter(job.model)
        count = counter.cautious
        tools = schemas(asked, job.frame.tools)
        instruction = instruction_text(self._parts, asked, count)
        system = _slim_system(self._parts, asked)
        reply = min(SIDE_REPLY_TOKENS, job.info.max_output, window // 4)
        fixed = counter.tools(tools) + count(instruction) + count(system) + 100
        budget = (window - reply) * (GUESS_MARGIN - 1) // GUESS_MARGIN - fixed
        whole = Harvest()
        chunks = chunked(transcript(job.uncovered), max(budget, 256), count)
        for number, chunk in enumerate(chunks, 1):
            now = asked if number == len(chunks) else asked.without_evaluation()
            if not now.branches:
                continue
            told = instruction if now is asked else instruction_text(self._parts, now, count)
            request = ModelRequest(
                model=job.model,
                system=[{"type": "text", "text": system}],
                tools=tools if now is asked else schemas(now, job.frame.tools),
                messages=[{"role": "user", "content": [{"type": "text", "text": f"<transcript>\n{chunk}\n</transcript>\n\n{told}"}]}],
                max_tokens=reply,
                purpose=now.purpose,
            )
            whole.take(await self._rounds(job, now, request, told))
        return whole

    async def _rounds(self, job: SideJob, asked: Asked, request: ModelRequest, instruction: str) -> Harvest:
        """Ask until every task got what it needs, or nothing more comes; what was given before a later round failed stays given."""
        harvest, answering, branch = Harvest(), Answering(self._parts, asked), asked.branches[0]
        aside = self._parts.store.append(
            job.trace, role="user", kind="instruction", content=[{"type": "text", "text": instruction}], parent=job.head, branch=branch,
            meta={"reason": job.reason},
        ).sequence  # fmt: skip
        most = _most_rounds(self._parts, asked)
        for _ in range(most):
            try:
                aside, more = await self._round(job, request, harvest, answering, (branch, aside))
            except MemflushError as error:
                if not harvest.useful:
                    raise
                harvest.reason = self._parts.redact(str(error))[:300]
                return harvest
            if not more or (harvest.useful and not harvest.missing(asked)):
                return harvest
            assert harvest.branch is not None  # noqa: S101 - there were calls
            room = reply_room(job.info, harvest.branch.used, harvest.branch.guessed)
            if room < MIN_REPLY_TOKENS:
                break
            request = replace(request, messages=harvest.branch.wire, max_tokens=min(request.max_tokens, room))
        harvest.reason = harvest.reason if harvest.useful else f"no {'note' if asked.branches == ('flush',) else 'call that could be used'} after {most} rounds"
        return harvest

    async def _round(self, job: SideJob, request: ModelRequest, harvest: Harvest, answering: Answering, after: tuple[str, int]) -> tuple[int, bool]:
        """One request and the results of its calls; returns the last message stored, and whether there were calls."""
        parts, (branch, aside) = self._parts, after
        estimated = job.used if request.system is job.frame.system else parts.counter(job.model).messages(request.messages)
        reply = await ask_and_count(parts, request, self._patience, job.info, estimated)
        if reply.fault:
            raise ModelError(reply.fault)
        calls = reply.tool_calls  # also those written as text: the client reads them (C7)
        aside = parts.store.append(
            job.trace, role="assistant", kind="reply", content=reply.content, parent=aside, branch=branch, usage=reply.usage, stop_reason=reply.stop_reason
        ).sequence
        if not calls:
            if not harvest.useful:
                without_calls(harvest, reply.text, keep_text=parts.config.flush_text_as_note and branch == "flush")
            return aside, False
        results = [answering.answer(call, harvest, trusted=reply.trustworthy) for call in calls]
        aside = parts.store.append(job.trace, role="user", kind="results", content=results, parent=aside, branch=branch).sequence
        wire = [*request.messages, {"role": "assistant", "content": reply.content}, {"role": "user", "content": results}]
        added = parts.counter(job.model).blocks(results)
        harvest.branch = Continued(wire, reply.usage.total + added if reply.usage.total else job.info.window, added)
        return aside, True


def instruction_text(parts: AgentParts, asked: Asked, count: Callable[[str], int]) -> str:
    """The instruction of a request: that of each branch, under one heading where there are several."""
    texts = {
        "flush": lambda: prompting.flush_text(parts.config, asked.candidates, count),
        "extraction": lambda: prompting.extraction_text(parts.config, completion=asked.completion, saved=asked.saved),
        "knowledge_eval": lambda: prompting.evaluation_text(parts.config, [source.shown for source in asked.sources], count),
    }
    return prompting.fused_text([texts[branch]() for branch in asked.branches])


def _slim_system(parts: AgentParts, asked: Asked) -> str:
    own = asked.branches == ("flush",) or ("flush" in asked.branches and parts.config.flush_system_prompt)
    return prompting.flush_system_text(parts.config) if own else prompting.load("side_slim").text


def _most_rounds(parts: AgentParts, asked: Asked) -> int:
    config = parts.config
    rounds = {"flush": config.flush_max_rounds, "extraction": config.extraction_max_rounds, "knowledge_eval": config.evaluation_max_rounds}
    return rounds["flush"] if "flush" in asked.branches else max(rounds[branch] for branch in asked.branches)
