"""What the model gives in a flush: asked on the main prefix or slim, in a few rounds, with ``memory_write`` alone carried out (C4, C7, C11)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from memflush_jupyter.agent import prompting
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
from memflush_jupyter.agent.tools.base import check_input
from memflush_jupyter.agent.tools.memory_tools import MEMORY_WRITE, MemoryWrite
from memflush_jupyter.errors import ModelError, ToolInputError
from memflush_jupyter.models.client import ModelRequest
from memflush_jupyter.models.silence import is_silent

if TYPE_CHECKING:
    from memflush_jupyter.agent.parts import AgentParts
    from memflush_jupyter.trace.models import Block

_PARTS_OF_WINDOW = (1, 2, 4)
"""A slim flush that a server finds too long is tried again with chunks for half, then a quarter of the window we believed in."""
_REPLY_TOKENS = 1024
"""Room that a flush on the main prefix needs for its notes."""


@dataclass(slots=True)
class Harvest:
    """What the model gave: notes in its own words, and the branch so far, for a summary that rides along (C12)."""

    notes: list[str] = field(default_factory=list)
    reason: str = "notes"
    branch: Continued | None = None
    faults: list[str] = field(default_factory=list)


class Harvester:
    """Asks for notes with one set of parts; ``patience`` is spent over all requests of one flush."""

    def __init__(self, parts: AgentParts, patience: Patience) -> None:
        self._parts = parts
        self._patience = patience

    async def harvest(self, job: SideJob, candidates: list[str]) -> Harvest:
        """The notes of the first configured model that answers.

        Raises:
            ModelError: none did; it is the last one's.
        """
        config = self._parts.config
        models = [config.flush_model or job.model, *(config.flush_fallbacks if config.flush_model else [])]
        failure: ModelError | None = None
        for model in models:
            try:
                if model == job.model:
                    return await self._on_own(job, candidates)
                return await self._slim(replace(job, model=model, info=await self._parts.client.info(model)), candidates)
            except ModelError as error:
                failure = error
        raise failure or ModelError("No model is configured for the flush.")

    async def _on_own(self, job: SideJob, candidates: list[str]) -> Harvest:
        """On the turn's own model: on its prefix where that fits; slim where it does not, or where the server says so (B4)."""
        extra = prompting.FLUSH_INSTRUCTION_TOKENS
        room = min(SIDE_REPLY_TOKENS, reply_room(job.info, job.used + extra, job.guessed + extra))
        if room >= min(_REPLY_TOKENS, job.info.max_output):
            try:
                return await self._on_prefix(job, candidates, room)
            except ModelError as error:
                if error.kind != "overflow":
                    raise
        return await self._slim(job, candidates)

    async def _on_prefix(self, job: SideJob, candidates: list[str], room: int) -> Harvest:
        """The same system prompt, tools and messages as the main path, so that the provider's cache serves the prefix."""
        instruction = prompting.flush_text(self._parts.config, candidates, self._parts.counter(job.model).text)
        request = ModelRequest(
            model=job.model,
            system=job.frame.system,
            tools=job.frame.tools,
            messages=with_instruction(job.wire, [{"type": "text", "text": instruction}]),
            max_tokens=room,
            purpose="flush",
        )
        return await self._rounds(job, request, instruction)

    async def _slim(self, job: SideJob, candidates: list[str]) -> Harvest:
        """Only what was not flushed yet, as a transcript in chunks that fit: for another model, or a context that no longer fits."""
        failure: ModelError | None = None
        for part in _PARTS_OF_WINDOW:
            try:
                return await self._in_chunks(job, candidates, job.info.window // part)
            except ModelError as error:
                if error.kind != "overflow":
                    raise
                failure = error
        raise failure or ModelError("The flush does not fit the model.", kind="overflow")

    async def _in_chunks(self, job: SideJob, candidates: list[str], window: int) -> Harvest:
        config, counter = self._parts.config, self._parts.counter(job.model)
        count = counter.cautious
        tools = [_memory_write_schema(job)]
        instruction = prompting.flush_text(config, candidates, count)
        reply = min(SIDE_REPLY_TOKENS, job.info.max_output, window // 4)
        fixed = counter.tools(tools) + count(instruction) + count(prompting.flush_system_text(config)) + 100
        budget = (window - reply) * (GUESS_MARGIN - 1) // GUESS_MARGIN - fixed
        whole = Harvest()
        for chunk in chunked(transcript(job.uncovered), max(budget, 256), count):
            text = f"<transcript>\n{chunk}\n</transcript>\n\n{instruction}"
            request = ModelRequest(
                model=job.model,
                system=[{"type": "text", "text": prompting.flush_system_text(config)}],
                tools=tools,
                messages=[{"role": "user", "content": [{"type": "text", "text": text}]}],
                max_tokens=reply,
                purpose="flush",
            )
            part = await self._rounds(job, request, instruction)
            whole.notes += part.notes
            whole.faults += part.faults
            whole.reason = part.reason
        return whole

    async def _rounds(self, job: SideJob, request: ModelRequest, instruction: str) -> Harvest:
        parts, config = self._parts, self._parts.config
        harvest = Harvest()
        aside = parts.store.append(
            job.trace,
            role="user",
            kind="instruction",
            content=[{"type": "text", "text": instruction}],
            parent=job.head,
            branch="flush",
            meta={"reason": job.reason},
        )
        for _ in range(config.flush_max_rounds):
            estimated = job.used if request.system is job.frame.system else parts.counter(job.model).messages(request.messages)
            reply = await ask_and_count(parts, request, self._patience, job.info, estimated)
            if reply.fault:
                raise ModelError(reply.fault)
            calls = reply.tool_calls  # also those written as text: the client reads them (C7)
            aside = parts.store.append(
                job.trace,
                role="assistant",
                kind="reply",
                content=reply.content,
                parent=aside.sequence,
                branch="flush",
                usage=reply.usage,
                stop_reason=reply.stop_reason,
            )
            if not calls:
                _without_calls(harvest, reply.text, keep_text=config.flush_text_as_note)
                return harvest
            results = [self._answer(call, harvest, trusted=reply.trustworthy) for call in calls]
            aside = parts.store.append(job.trace, role="user", kind="results", content=results, parent=aside.sequence, branch="flush")
            branch = [*request.messages, {"role": "assistant", "content": reply.content}, {"role": "user", "content": results}]
            added = parts.counter(job.model).blocks(results)
            used = reply.usage.total + added if reply.usage.total else job.info.window
            harvest.branch = Continued(branch, used, added)
            if harvest.notes:
                return harvest
            room = reply_room(job.info, used, added)
            if room < MIN_REPLY_TOKENS:
                break
            request = replace(request, messages=branch, max_tokens=min(request.max_tokens, room))
        harvest.reason = f"no note after {config.flush_max_rounds} rounds"
        return harvest

    def _answer(self, call: Block, harvest: Harvest, *, trusted: bool) -> Block:
        """Execute ``memory_write``, refuse everything else (C4)."""
        name = call["name"]
        if name != MEMORY_WRITE:
            return _result(call, f"{name} is not available while memory is saved; only {MEMORY_WRITE} is.", is_error=True)
        if not trusted:
            return _result(call, "This call was cut off and was not run; call again with fewer or shorter notes.", is_error=True)
        try:
            given = check_input(_WRITE_SHAPE, call["input"])
        except ToolInputError as error:
            return _result(call, str(error), is_error=True)
        notes = [note for note in given["notes"] if note.strip()]
        harvest.notes += notes
        asked = given.get("file")
        if asked and self._parts.memory is not None and asked.removeprefix("memory/") != self._parts.memory.daily_name():
            harvest.faults.append(f"asked for {asked!r}")
            return _result(call, f"Saved to today's file: {asked!r} cannot be chosen in a flush.", is_error=True)
        return _result(call, f"{len(notes)} received." if notes else "No note was given.", is_error=not notes)


class _WriteShape:
    """Only the shape of ``memory_write``, to check a call that the flush itself executes."""

    name = MEMORY_WRITE
    description = ""
    approval = False
    parallel = False
    input_schema: dict[str, Any] = {  # noqa: RUF012 - a constant schema, never changed
        "type": "object",
        "properties": {"notes": {"type": "array", "items": {"type": "string"}}, "file": {"type": "string"}},
        "required": ["notes"],
    }
    run = MemoryWrite.run  # never called: the flush answers the call itself


_WRITE_SHAPE: Any = _WriteShape()


def _memory_write_schema(job: SideJob) -> dict[str, Any]:
    return next(
        (tool for tool in job.frame.tools if tool["name"] == MEMORY_WRITE),
        {"name": MEMORY_WRITE, "description": MemoryWrite.description, "input_schema": _WriteShape.input_schema},
    )


def _without_calls(harvest: Harvest, text: str, *, keep_text: bool) -> None:
    if not text.strip():
        harvest.reason = "empty reply"
    elif is_silent(text):
        harvest.reason = "silent"
    elif keep_text:
        harvest.notes.append(text.strip())
        harvest.reason = "text kept as a note"
    else:
        harvest.reason = "text that is neither call nor silence"


def _result(call: Block, text: str, *, is_error: bool = False) -> Block:
    made: Block = {"type": "tool_result", "tool_use_id": call["id"], "content": [{"type": "text", "text": text}]}
    if is_error:
        made["is_error"] = True
    return made
