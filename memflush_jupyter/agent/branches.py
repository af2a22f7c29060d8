"""Side branches: short runs beside the main path that see its prefix and leave its head where it is.

Here is what they share: asking with a watch on silence, the transcript for a model that cannot ride on the main prefix, and the
record of what was said. ``flush.py`` and ``compress.py`` are the branches themselves.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memflush_jupyter.agent.notes import origin_of, spoken_text
from memflush_jupyter.agent.spending import Need
from memflush_jupyter.errors import LimitError, ModelError
from memflush_jupyter.models.client import ModelReply

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memflush_jupyter.agent.parts import AgentParts, Frame
    from memflush_jupyter.models.client import ModelClient, ModelInfo, ModelRequest
    from memflush_jupyter.trace.models import Message, WireMessage

_TICK_S = 0.1
_LONGEST_TICK_S = 0.5
"""A tick that took longer was a loop held up by other code (a C extension with the lock): that is nobody's silence."""

MIN_REPLY_TOKENS = 256
"""Below this room for a reply nothing useful can be answered."""
ESTIMATE_MARGIN = 16
"""A sixteenth of what is in use is left free beside the reply: estimates err, and a request over the window is refused whole."""
GUESS_MARGIN = 4
"""And a quarter of what is only estimated: what a factor learned on one text says of another."""
SIDE_REPLY_TOKENS = 4096
TRANSCRIPT_RESULT_CHARS = 3000


@dataclass(frozen=True, slots=True)
class SideJob:
    """A side branch's view of the main path: plain data, safe to hand to another thread.

    ``context`` is what stands in the context, ``uncovered`` the messages of the path that no flush has covered yet, ``wire`` the
    request's messages as the main path would send them, ``used`` their tokens with the prefix and ``guessed`` how many of
    them are an estimate, ``head`` the last sequence, ``room`` the tokens between the prefix and the compaction line.
    ``cold``: no cache holds the prefix any more, so that a transcript of what is looked back on costs less.
    """

    trace: str
    head: int | None
    model: str
    info: ModelInfo
    frame: Frame
    context: tuple[Message, ...]
    uncovered: tuple[Message, ...]
    wire: list[WireMessage]
    used: int
    guessed: int
    room: int
    compaction_count: int
    reason: str
    background: bool = False
    last_chance: bool = False
    cold: bool = False


@dataclass(frozen=True, slots=True)
class Continued:
    """A side branch so far, for an instruction that rides on it (C12): its messages, their tokens with the prefix, those estimated."""

    wire: list[WireMessage]
    used: int
    guessed: int


@dataclass(slots=True)
class Patience:
    """How long a side branch waits: ``silence_s`` seconds without a piece, ``total_s`` in all its requests together (C4)."""

    silence_s: float
    total_s: float
    spent_s: float = 0.0


def reply_room(info: ModelInfo, used: int, guessed: int) -> int:
    """Tokens that a reply may have behind ``used`` ones, of which ``guessed`` are an estimate: what the window leaves, less a margin.

    Estimates err, and a request over the window is refused whole. Below ``MIN_REPLY_TOKENS`` the request does not fit.
    """
    margin = max(MIN_REPLY_TOKENS, used // ESTIMATE_MARGIN, guessed // GUESS_MARGIN)
    return min(info.max_output, info.window - used - margin)


async def ask(client: ModelClient, request: ModelRequest, patience: Patience) -> ModelReply:
    """Send a request and return the whole reply.

    Raises:
        ModelError: kind ``timeout`` when ``patience`` is at its end; or as the client raises it.
    """
    heard = asyncio.Event()

    async def consume() -> ModelReply:
        async with contextlib.aclosing(client.stream(request)) as pieces:
            async for piece in pieces:
                heard.set()
                if isinstance(piece, ModelReply):
                    return piece
        raise ModelError("The model's answer ended without a reply.")

    task = asyncio.ensure_future(consume())
    quiet = 0.0
    try:
        while True:
            began = time.monotonic()
            done, _ = await asyncio.wait({task}, timeout=_TICK_S)
            if done:
                return task.result()
            tick = min(time.monotonic() - began, _LONGEST_TICK_S)
            patience.spent_s += tick
            quiet = 0.0 if heard.is_set() else quiet + tick
            heard.clear()
            if quiet > patience.silence_s:
                said = f"The model said nothing for {patience.silence_s:g} seconds; a slow server needs a higher MemFlush.flush_timeout_s."
                raise ModelError(said, kind="timeout")
            if patience.spent_s > patience.total_s:
                raise ModelError(f"The model did not finish within {patience.total_s:g} seconds.", kind="timeout")
    finally:
        if not task.done():
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await task


async def ask_and_count(parts: AgentParts, request: ModelRequest, patience: Patience, info: ModelInfo, estimated: int) -> ModelReply:
    """:func:`ask`, within ``max_cost_usd`` and counted; ``estimated`` is the request in tokens, for a server that does not measure.

    Raises:
        LimitError: the limit is reached; nothing was sent.
        ModelError: as :func:`ask`.
    """
    need = Need(estimated)
    over = parts.over(info, need)
    if over:
        raise LimitError(over)
    request = replace(request, max_tokens=parts.allowed(request.max_tokens, info, need))
    try:
        reply = await ask(parts.client, request, patience)
    except (ModelError, asyncio.CancelledError) as error:
        if not isinstance(error, ModelError) or error.kind == "timeout":
            parts.count_abandoned(info, estimated)
        raise
    parts.count(reply, info, estimated)
    return reply


def transcript(messages: Sequence[Message]) -> list[str]:
    """Each message as one labelled paragraph, without what recall put beside it; long results by head and tail."""
    speakers = {"user": "PERSON", "agent": "ASSISTANT", "tool": "RESULT"}
    parts: list[str] = []
    for message in messages:
        if message.kind == "summary":
            parts.append(f"SUMMARY OF WHAT CAME BEFORE: {message.text}")
            continue
        text = spoken_text(message).strip()
        if not text:
            continue
        origin = origin_of(message)
        if origin == "tool" and len(text) > TRANSCRIPT_RESULT_CHARS:
            half = TRANSCRIPT_RESULT_CHARS // 2
            text = f"{text[:half]}\n[…]\n{text[-half:]}"
        parts.append(f"{speakers[origin]}: {text}")
    return parts


def chunked(parts: Sequence[str], budget: int, count: Callable[[str], int]) -> list[str]:
    """Join paragraphs into as few texts as fit ``budget`` tokens each; a paragraph larger than that is split, never clipped (D6)."""
    chunks: list[str] = []
    current: list[str] = []
    size = 0
    for part in parts:
        for piece in _pieces(part, budget, count):
            tokens = count(piece) + 2
            if current and size + tokens > budget:
                chunks.append("\n\n".join(current))
                current, size = [], 0
            current.append(piece)
            size += tokens
    if current:
        chunks.append("\n\n".join(current))
    return chunks


def _pieces(text: str, budget: int, count: Callable[[str], int]) -> list[str]:
    if count(text) <= budget or len(text) < 2:  # noqa: PLR2004 - one character cannot be split
        return [text]
    middle = len(text) // 2
    cut = text.rfind("\n", 0, middle) + 1 or text.rfind(" ", 0, middle) + 1 or middle
    return [*_pieces(text[:cut], budget, count), *_pieces(text[cut:], budget, count)]
