"""The compression side branch: the summary that replaces what leaves the context (D5, D6, D12)."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memflush_jupyter.agent import prompting
from memflush_jupyter.agent.branches import (
    GUESS_MARGIN,
    MIN_REPLY_TOKENS,
    SIDE_REPLY_TOKENS,
    Continued,
    Patience,
    ask_and_count,
    chunked,
    reply_room,
    transcript,
)
from memflush_jupyter.agent.notes import sources, spoken_text
from memflush_jupyter.agent.parts import with_instruction
from memflush_jupyter.context import compaction
from memflush_jupyter.errors import LimitError, MemflushError, ModelError
from memflush_jupyter.memory import salience
from memflush_jupyter.models.client import ModelRequest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memflush_jupyter.agent.branches import SideJob
    from memflush_jupyter.agent.parts import AgentParts
    from memflush_jupyter.trace.models import Block, Message, WireMessage

TRIES = 3
BACKOFF_S = 0.5
SUMMARY_SHARE = 0.35
"""A summary is asked for, and made, in at most this share of what it replaces."""
MIN_SUMMARY_TOKENS = 120
MAX_SUMMARY_TOKENS = 3000
ROOM_SHARE = 8
"""A summary takes at most this part of the room between prefix and compaction line, so that ordinary turns fit behind it."""
_WORDS_PER_TOKEN = 0.6
_INSTRUCTION_TOKENS = 500


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary that was accepted. ``source``: ``model`` or ``extractive``; ``faults`` names the tries that were refused."""

    text: str
    source: str
    faults: tuple[str, ...] = ()


class Compression:
    """Writes summaries with one set of parts."""

    def __init__(self, parts: AgentParts) -> None:
        self._parts = parts
        self._patience = Patience(parts.config.flush_timeout_s, parts.config.flush_total_timeout_s)

    async def summarise(self, job: SideJob, cut: compaction.Cut, *, branch: Continued | None = None) -> Summary:
        """Return a summary of what ``cut`` removes; after three refused tries the extractive one, so that it cannot fail.

        ``branch`` is a flush's continuation of the same request: its results ride along with the instruction (C12).
        """
        count = self._parts.counter(job.model).text
        removed = list(cut.removed)
        previous = next((message.text for message in reversed(removed) if message.kind == "summary"), "")
        replaced = sum(message.tokens for message in removed)
        budget = max(MIN_SUMMARY_TOKENS, min(MAX_SUMMARY_TOKENS, int(replaced * SUMMARY_SHARE), job.room // ROOM_SHARE))
        salient = salient_items(removed)
        faults: list[str] = []
        self._patience.spent_s = 0.0
        for attempt in range(TRIES):
            try:
                text = await self._ask(job, cut, branch, budget, previous, faults[-1] if faults else "")
                fault = compaction.accept_summary(text, previous=previous, replaced_tokens=replaced, count=count, salient=salient)
            except LimitError as error:
                faults.append(str(error))
                break
            except MemflushError as error:
                text, fault = "", str(error)
                if attempt + 1 < TRIES:
                    await asyncio.sleep(BACKOFF_S * 2**attempt)
            if fault is None:
                return Summary(text.strip(), "model", tuple(faults))
            faults.append(fault)
        text = compaction.extractive(removed, previous=previous, budget=budget, count=count, candidates=salient)
        return Summary(text, "extractive", tuple(faults))

    async def _ask(self, job: SideJob, cut: compaction.Cut, branch: Continued | None, budget: int, previous: str, fault: str) -> str:
        """On the flush's branch, else on the main prefix, else slim: the first that fits, also by the server's word."""
        bases = [branch] if branch is not None else []
        for base in [*bases, Continued(job.wire, job.used, job.guessed)]:
            room = min(SIDE_REPLY_TOKENS, reply_room(job.info, base.used + _INSTRUCTION_TOKENS, base.guessed + _INSTRUCTION_TOKENS))
            if room < max(budget, MIN_REPLY_TOKENS):
                continue
            try:
                return await self._on_prefix(job, cut, base.wire, room, budget, fault)
            except ModelError as error:
                if error.kind != "overflow":
                    raise
        return await self._slim(job, cut, budget, previous, fault)

    async def _on_prefix(self, job: SideJob, cut: compaction.Cut, wire: Sequence[WireMessage], room: int, budget: int, fault: str) -> str:
        instruction = prompting.compression_text(self._parts.config, kept=_beginning(cut.kept), max_words=int(budget * _WORDS_PER_TOKEN), fault=fault)
        request = ModelRequest(
            model=job.model,
            system=job.frame.system,
            tools=job.frame.tools,
            messages=with_instruction(wire, [_text(instruction)]),
            max_tokens=room,
            purpose="compression",
        )
        return await self._reply(job, request, instruction)

    async def _slim(self, job: SideJob, cut: compaction.Cut, budget: int, previous: str, fault: str) -> str:
        """A transcript in chunks that fit, each with the summary so far: nothing is clipped (D6)."""
        config, count = self._parts.config, self._parts.counter(job.model).cautious
        system = prompting.load("compression_slim").text
        instruction = prompting.compression_text(config, kept="", max_words=int(budget * _WORDS_PER_TOKEN), fault=fault)
        reply = min(SIDE_REPLY_TOKENS, job.info.max_output, job.info.window // 4)
        reserved = max(budget, count(previous))
        fixed = count(system) + count(instruction) + reserved + 100
        room = max(256, (job.info.window - reply) * (GUESS_MARGIN - 1) // GUESS_MARGIN - fixed)
        summary = compaction.summary_text(previous)
        for chunk in chunked(transcript([message for message in cut.removed if message.kind != "summary"]), room, count):
            if count(summary) > reserved:
                raise MemflushError("the summary of a part was so long that the next part did not fit beside it.")
            before = f"The summary of what came before:\n{summary}\n\n" if summary else ""
            text = f"{before}<transcript>\n{chunk}\n</transcript>\n\n{instruction}"
            request = ModelRequest(
                model=job.model,
                system=[_text(system)],
                tools=[],
                messages=[{"role": "user", "content": [_text(text)]}],
                max_tokens=reply,
                purpose="compression",
            )
            summary = await self._reply(job, request, instruction)
        return summary

    async def _reply(self, job: SideJob, request: ModelRequest, instruction: str) -> str:
        parts = self._parts
        aside = parts.store.append(
            job.trace, role="user", kind="instruction", content=[_text(instruction)], parent=job.head, branch="compression", meta={"reason": job.reason}
        )
        estimated = job.used if request.system is job.frame.system else parts.counter(job.model).messages(request.messages)
        reply = await ask_and_count(parts, request, self._patience, job.info, estimated)
        parts.store.append(
            job.trace,
            role="assistant",
            kind="reply",
            content=reply.content,
            parent=aside.sequence,
            branch="compression",
            usage=reply.usage,
            stop_reason=reply.stop_reason,
        )
        if reply.fault:
            raise MemflushError(reply.fault)
        if reply.stop_reason == "max_tokens":
            raise MemflushError("the summary was longer than the reply may be.")
        return reply.text


def salient_items(messages: Sequence[Message]) -> list[str]:
    """The lines a summary should not lose, best first."""
    return [candidate.text for candidate in salience.extract(sources(messages))]


def _beginning(kept: Sequence[Message]) -> str:
    text = next((spoken_text(message).strip() for message in kept if spoken_text(message).strip()), "")
    return " ".join(text.split())[:80].replace('"', "'")


def _text(text: str) -> Block:
    return {"type": "text", "text": text}
