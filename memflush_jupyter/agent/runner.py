"""One turn: the person's prompt, then rounds of model and tool calls until the model stops."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

from memflush_jupyter.agent import recalling, spending
from memflush_jupyter.agent.calls import CallRunner
from memflush_jupyter.agent.conversation import Conversation
from memflush_jupyter.agent.elsewhere import Elsewhere
from memflush_jupyter.agent.room import Room
from memflush_jupyter.agent.sending import with_the_last_word
from memflush_jupyter.agent.showing import Showing
from memflush_jupyter.agent.telling import without_secrets
from memflush_jupyter.agent.toolset import tools_for
from memflush_jupyter.errors import MemflushError, ModelError
from memflush_jupyter.events import (
    BudgetChanged,
    Notice,
    PhaseChanged,
    Recalled,
    TurnFinished,
    TurnStarted,
)
from memflush_jupyter.models.client import ModelReply, ModelRequest

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from memflush_jupyter.agent.parts import AgentParts
    from memflush_jupyter.events import Event
    from memflush_jupyter.models.client import ModelInfo
    from memflush_jupyter.trace.models import Block

LOST_REPLIES = 2
"""How often a reply that was lost on the way is asked for again in one turn (D11)."""
_END = object()


class AgentRunner:
    """Runs turns of one trace with one model. ``run_turn`` yields events; ``turn`` is the same with a callback."""

    def __init__(self, parts: AgentParts, trace_id: str, model: str) -> None:
        self._parts = parts
        self._model = model
        self.conversation = Conversation(parts.store, trace_id, lambda: parts.counter(model))
        self._elsewhere = Elsewhere(parts, trace_id, model)
        self._room: Room | None = None
        self._emit: Callable[[Event], None] = lambda _event: None
        self._blocks = 0
        self._capped = False

    async def run_turn(self, prompt: list[Block], *, cell_id: str | None = None, max_rounds: int | None = None) -> AsyncIterator[Event]:
        """Yield what happens; cancelling the iteration cancels the turn."""
        queue: asyncio.Queue[Any] = asyncio.Queue()
        task = asyncio.ensure_future(self.turn(prompt, queue.put_nowait, cell_id=cell_id, max_rounds=max_rounds))
        task.add_done_callback(lambda _task: queue.put_nowait(_END))
        try:
            while (event := await queue.get()) is not _END:
                yield event
            await task
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await task

    async def turn(
        self,
        prompt: list[Block],
        emit: Callable[[Event], None],
        *,
        cell_id: str | None = None,
        max_rounds: int | None = None,
        beside: Sequence[Block] = (),
    ) -> TurnFinished:
        """Run one turn; every event goes to ``emit`` at once, the last one is returned too.

        ``beside``: blocks that follow the prompt as data, such as values of variables; nothing is learned from them (P8).

        A ``MemflushError`` ends the turn with its sentence; cancellation leaves a valid, resumable trace and is raised again.
        """
        self._parts.redact.renew()
        self._emit = lambda event: emit(without_secrets(event, self._parts.redact))
        self._blocks = 0
        self._parts.meter.tokens = 0
        finished = TurnFinished(self.conversation.trace_id, "interrupted", "Interrupted. The conversation is kept; go on with another %%agent cell.")
        try:
            finished = await self._turn(prompt, cell_id, max_rounds or self._parts.config.max_rounds, beside)
        except MemflushError as error:
            finished = TurnFinished(self.conversation.trace_id, "error", self._parts.redact(str(error)))
        finally:
            if self._room is not None:
                emit(BudgetChanged(self._room.budget()))
            emit(finished)
        return finished

    async def room(self, emit: Callable[[Event], None]) -> Room:
        """The conversation's window, for ``%agent flush``, ``%agent compact`` and ``%budget``."""
        self._emit = lambda event: emit(without_secrets(event, self._parts.redact))
        self.conversation.refresh()
        room = await self._ready()
        room.prune()  # one that has sent nothing yet would take every result for as large as it is stored
        return room

    def _tell(self, event: Event) -> None:
        self._emit(event)

    # -- the turn --------------------------------------------------------------------------------------------------------------

    async def _ready(self) -> Room:
        if self._room is None:
            info = await self._parts.client.info(self._model)
            if info.warning:
                self._emit(Notice(info.warning, "warning"))
            if self._parts.writer is not None and self._parts.memory is not None and self._parts.memory.writable:
                self._parts.writer.recover()
            self._info: ModelInfo = info
            self._tools = tools_for(self._parts, self._model, self.conversation, self._in_context)
            self._room = Room(self._parts, self.conversation, info, self._tools, self._tell)
            redact = self._parts.redact
            timeout_s = self._parts.config.tool_timeout_s
            self._calls = CallRunner(self._tools, self._parts.approver, self._tell, timeout_s=timeout_s, redact=redact, renew=redact.renew)
        return self._room

    async def _turn(self, prompt: list[Block], cell_id: str | None, max_rounds: int, beside: Sequence[Block]) -> TurnFinished:
        self.conversation.refresh()
        room = await self._ready()
        size = self._parts.counter(self._model).blocks([*prompt, *beside])
        fault = room.prompt_fault(size)
        if fault:
            raise MemflushError(fault)
        memory = self._room.frame.system[-1]["text"] if self._room is not None else ""
        recalled, items = recalling.beside(self._parts, self._model, self.conversation.trace_id, prompt, memory, self._in_context())
        news, told = self._elsewhere.news(self.conversation.messages, self.conversation.trace.compaction_count)
        meta: dict[str, Any] = {"model": self._model, **told}
        aside = [*news, *recalled]
        if aside or beside:
            first = len(aside) + len(prompt)
            meta["aside"] = [*range(len(aside)), *range(first, first + len(beside))]
        if recalled:
            meta["recall_tokens"] = self._parts.counter(self._model).blocks(recalled)
        message = self.conversation.add("user", "prompt", [*aside, *prompt, *beside], cell_id=cell_id, meta=meta)
        room.asked()
        self._emit(TurnStarted(self.conversation.trace_id, message.sequence, self._model))
        if items:
            self._emit(Recalled(items))
        finished = await self._rounds(room, cell_id, max_rounds)
        await room.settle()
        self._elsewhere.settle(self.conversation.messages)
        return finished

    async def _rounds(self, room: Room, cell_id: str | None, max_rounds: int) -> TurnFinished:
        trace = self.conversation.trace_id
        lost = 0
        for number in range(1, max_rounds + 1):
            limit = self._limit(room)
            if limit is None:
                full = await room.make()
                if full:
                    return TurnFinished(trace, "full", full, number - 1)
                limit = self._limit(room)  # making room may have cost something
            if limit:
                return TurnFinished(trace, "limit", limit, number - 1)
            reply, meta = await self._ask(room)
            if reply.fault:
                lost += 1
                self._partial(reply.content, reply.fault)
                if lost > LOST_REPLIES:
                    return TurnFinished(trace, "error", f"{reply.fault} This happened {lost} times; the conversation is kept, try again later.", number)
                self._emit(Notice(f"{reply.fault} Asking again.", "warning"))
                continue
            calls = reply.tool_calls
            stored = self.conversation.add("assistant", "reply", reply.content, usage=reply.usage, stop_reason=reply.stop_reason, cell_id=cell_id, meta=meta)
            room.replied()
            self._emit(BudgetChanged(room.budget("tools" if calls else "idle")))
            if calls:
                await self._run_calls(calls, stored.sequence, cell_id, trusted=reply.trustworthy)
            elif reply.stop_reason != "pause_turn":
                if reply.stop_reason == "max_tokens" and self._capped:
                    return TurnFinished(trace, "limit", spending.cut_short(self._parts.config), number)
                return TurnFinished(trace, "end", self._ending(reply), number)
        return TurnFinished(trace, "max_rounds", f"Stopped after {max_rounds} rounds. Say “go on” in another %%agent cell, or raise --max-rounds.", max_rounds)

    @staticmethod
    def _ending(reply: ModelReply) -> str:
        if reply.stop_reason == "max_tokens":
            return "The answer was cut at the model's output limit. Say “go on” for the rest."
        if reply.stop_reason == "refusal":
            return "The model declined to answer."
        return "" if reply.text.strip() else "The model returned an empty answer."

    def _limit(self, room: Room) -> str | None:
        """Why no further request may be sent in this turn, or ``None``."""
        parts, need = self._parts, room.need()
        return spending.turn_limit(parts.config, parts.meter, need) or parts.over(self._info, need)

    async def _run_calls(self, calls: list[Block], sequence: int, cell_id: str | None, *, trusted: bool) -> None:
        self._emit(PhaseChanged("tools"))
        try:
            results = await self._calls.run(
                calls, trace=self.conversation.trace_id, sequence=sequence, cell_id=cell_id, vision=self._info.vision, trusted=trusted
            )
        except asyncio.CancelledError as error:
            if error.args and isinstance(error.args[0], list):
                self.conversation.add("user", "results", error.args[0], cell_id=cell_id, meta={"interrupted": True})
            raise
        self.conversation.add("user", "results", results, cell_id=cell_id)

    # -- the model -------------------------------------------------------------------------------------------------------------

    async def _ask(self, room: Room) -> tuple[ModelReply, dict[str, Any]]:
        """One request and what its total measures; when the server says that it is too long, compact and try once more (D7)."""
        try:
            return await self._stream(room)
        except ModelError as error:
            if error.kind != "overflow":
                raise
            self._emit(Notice("The server says that the context is too long; compacting it.", "warning"))
            if not await room.compact("overflow"):
                raise MemflushError(self._too_large(room, error)) from error
        try:
            return await self._stream(room)
        except ModelError as error:
            raise (MemflushError(self._too_large(room, error)) if error.kind == "overflow" else error) from error

    @staticmethod
    def _too_large(room: Room, error: ModelError) -> str:
        largest = max(room.sent, key=lambda message: message.tokens)
        return (
            f"The request does not fit the model even after compaction ({error}). The largest message is number {largest.sequence} "
            f"({largest.kind}, about {largest.tokens:,} tokens). Put large inputs into files, or set `MemFlush.window` to the server's real size."
        )

    async def _stream(self, room: Room) -> tuple[ModelReply, dict[str, Any]]:
        wire = with_the_last_word(room.wire(), room.sent[-1])
        longest = room.max_tokens()
        allowed = self._parts.allowed(longest, self._info, room.need(), in_turn=True)
        self._capped = allowed < longest
        request = ModelRequest(self._model, room.frame.system, room.frame.tools, wire, allowed, "turn")
        estimated, asked = room.used(), room.asked_with(room.sent[-1].sequence)
        self._emit(PhaseChanged("waiting"))
        showing = Showing(self._emit, self._parts.redact, self._blocks)
        try:
            reply = await self._consume(request, showing)
        except BaseException as error:
            partial = showing.partial()
            self._keep_partial(partial, error)
            if partial or not isinstance(error, MemflushError):
                self._parts.count_abandoned(self._info, estimated, partial)
            raise
        finally:
            self._blocks = showing.blocks
        showing.close(reply)
        self._blocks = showing.blocks
        self._parts.count(reply, self._info, estimated)
        read = reply.usage.input + reply.usage.cache_read + reply.usage.cache_write
        if read:
            room.cached_share = reply.usage.cache_read / read
            self._parts.learn(self._model, estimated, read)
        return reply, asked

    async def _consume(self, request: ModelRequest, showing: Showing) -> ModelReply:
        async with contextlib.aclosing(self._parts.client.stream(request)) as pieces:
            async for piece in pieces:
                if isinstance(piece, ModelReply):
                    return piece
                showing.show(piece)
        raise ModelError("The model's answer ended without a reply.")

    def _keep_partial(self, texts: list[Block], error: BaseException) -> None:
        """What had arrived stays in the trace as partial, and is never sent as if whole (D11)."""
        if texts:
            fault = "interrupted" if isinstance(error, asyncio.CancelledError | KeyboardInterrupt | GeneratorExit) else str(error)
            self._partial(texts, fault)

    def _partial(self, content: list[Block], fault: str) -> None:
        self.conversation.add_aside("partial", "assistant", "partial", content, parent=self.conversation.trace.head, meta={"fault": fault})

    # -- recall ----------------------------------------------------------------------------------------------------------------

    def _in_context(self) -> set[tuple[str, int]]:
        return {(message.trace, message.sequence) for message in (self._room.sent if self._room is not None else self.conversation.messages)}
