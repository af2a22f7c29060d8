"""What one conversation sends: the prefix, the messages as they are pruned, and how much room that leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memflush_jupyter.agent import auditing, view
from memflush_jupyter.agent import frame as framing
from memflush_jupyter.agent.branches import ESTIMATE_MARGIN, MIN_REPLY_TOKENS, reply_room
from memflush_jupyter.agent.spending import Need
from memflush_jupyter.context import assembly, pruning, tokens, window
from memflush_jupyter.events import Budget, Notice

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memflush_jupyter.agent.conversation import Conversation
    from memflush_jupyter.agent.parts import AgentParts
    from memflush_jupyter.agent.tools.base import Tool
    from memflush_jupyter.agent.view import View
    from memflush_jupyter.events import Event, Phase
    from memflush_jupyter.models.client import ModelInfo
    from memflush_jupyter.trace.models import Message, WireMessage


ANSWERED_ELSEWHERE = "[host] The reply above was given in another window on this conversation. Answer the person's latest request that has no answer yet."
"""Only sent, never stored: what is said when another runner's answer came after this turn's prompt."""


class Sending:
    """The request of one conversation under one model, as it would leave now."""

    def __init__(self, parts: AgentParts, conversation: Conversation, info: ModelInfo, tools: Sequence[Tool], emit: Callable[[Event], None]) -> None:
        self._parts = parts
        self._conversation = conversation
        self._info = info
        self._tools = tools
        self._emit = emit
        self._pruned = pruning.PruneState(limit=parts.config.prune_result_chars)
        self._seen: View | None = None
        self._assembler = assembly.Assembler()
        self._sizes: dict[int, int] = {}
        self._compacted = False  # since the last reply (D9)
        self._explained: int | None = None
        self._logged: str | None = None
        self._warned: set[str] = set()
        self.cached_share: float | None = None
        self.audit_score = auditing.last_score(parts.store, conversation.trace_id) if conversation.trace.compaction_count else None
        self._build()

    # -- what is sent ----------------------------------------------------------------------------------------------------------

    def _build(self, *, fresh: bool = False) -> None:
        block = framing.memory_block(self._parts, self._conversation.trace, self._info.window, self._info.id, fresh=fresh)
        self.frame = framing.build(self._parts, self._info.id, self._tools, block)
        config = self._parts.config
        self.lines = window.lines(
            self._info.window,
            self.frame.prefix,
            reserve_tokens=config.reserve_tokens,
            reserve_tokens_floor=config.reserve_tokens_floor,
            soft_tokens=config.memory_flush_soft_tokens,
            keep_recent=config.keep_recent_tokens,
        )
        for warning in self.lines.warnings:
            if warning not in self._warned:
                self._warned.add(warning)
                self._emit(Notice(warning, "warning"))

    @property
    def sent(self) -> list[Message]:
        """The messages of the path that stand in the context, oldest first, as stored."""
        return self._view().sent

    @property
    def lean(self) -> list[Message]:
        """The same as they are sent: pruned, their tokens less what pruning saves."""
        return self._view().lean

    def _view(self) -> View:
        # Asked for several times a round; a long conversation is walked once per change, and only as far as it grew.
        if self._seen is None or self._seen.version != self._conversation.version or self._seen.pruned is not self._pruned:
            self._seen = view.look(self._conversation.messages, self._conversation.version, self._pruned, self._seen)
        return self._seen

    def wire(self) -> list[WireMessage]:
        """The request's messages: pruned, valid (P6), and without what another model thought: also for a side branch."""
        return own_thinking(self._assembler.wire(self.lean), self._conversation.messages, self._info.id)

    def used(self, pending: int = 0) -> int:
        """Tokens in the context (A4): the last measured usage and the estimate of what came since; ``pending`` is added (B2)."""
        return tokens.used_tokens(self.lean, prefix=self.frame.prefix, pending=pending, stale_through=self._stale_through())

    def guessed(self) -> int:
        """How many of the ``used`` tokens are an estimate that no server has confirmed."""
        measured = next((message for message in reversed(self.lean) if message.usage is not None), None)
        if measured is None or measured.usage is None:
            return self.used()
        renewed = max((message.sequence for message in self.lean if message.kind == "summary"), default=0)
        if measured.sequence <= max(renewed, self._stale_through() or 0):
            return self.used()
        return max(0, self.used() - measured.usage.total)

    def _stale_through(self) -> int | None:
        """The last message whose measured total measured something else than what is sent now (A4).

        That is so after a pruning, after a restart that forgot one, under another prefix or model, and when another runner wrote while the
        reply was on its way: then the reply follows another message on the path than the one it was an answer to.
        """
        lean, stale = self.lean, self._pruned.through
        at = next((index for index in range(len(lean) - 1, 0, -1) if lean[index].usage is not None), None)
        if at is None:
            return stale
        reply, before = lean[at], lean[at - 1].sequence
        own = reply.meta.get("frame") == self.frame.digest and reply.meta.get("after", before) == before and reply.meta.get("pruned") == self._pruned.through
        return stale if own else max(stale or 0, reply.sequence)

    def asked_with(self, last: int) -> dict[str, Any]:
        """What a reply's total measured, to be stored with it: the prefix, the last message sent, and the last pruning (A4)."""
        pruned = {} if self._pruned.through is None else {"pruned": self._pruned.through}
        return {"frame": self.frame.digest, "model": self._info.id, "after": last, **pruned}

    def need(self) -> Need:
        """What a request would hold now, for the limits."""
        return Need(self.used(), self.cached_share or 0.0)

    def max_tokens(self) -> int:
        """Largest reply that may be asked for now."""
        left = reply_room(self._info, self.used(), self.guessed())
        wanted = self._parts.config.max_output_tokens or min(self._info.max_output, max(self.lines.reserve, MIN_REPLY_TOKENS))
        return max(MIN_REPLY_TOKENS, min(wanted, self._info.max_output, left))

    def fits(self) -> bool:
        """Whether a short reply fits beside what is sent, also where the part that no server has counted is somewhat larger than estimated."""
        return self.used() + self.guessed() // ESTIMATE_MARGIN + MIN_REPLY_TOKENS * 2 <= self._info.window

    def replied(self) -> None:
        """A reply arrived: another compaction may follow (D9)."""
        self._compacted = False

    def asked(self) -> None:
        """The person wrote: where a full context would end every further turn at once, a compaction may be tried again."""
        if not self.fits():
            self._compacted = False

    def prompt_fault(self, size: int) -> str | None:
        """Why a prompt of ``size`` tokens cannot be sent at all, or ``None`` (D8)."""
        return window.prompt_fault(size, self.lines)

    def prune(self) -> None:
        """Decide anew what is sent shorter (D1, D2)."""
        self._pruned = pruning.plan(self.sent, counter=self._parts.counter(self._info.id), lines=self.lines, state=self._pruned)

    # -- figures ---------------------------------------------------------------------------------------------------------------

    def budget(self, phase: Phase = "idle") -> Budget:
        """The figures of the gauge."""
        shares = self._view().shares
        counter = self._parts.counter(self._info.id)
        return Budget(
            window=self._info.window,
            used=self.used(),
            flush_line=self.lines.flush_line,
            compaction_line=self.lines.compaction_line,
            segments={
                "system": self.frame.system_tokens, "tools": self.frame.tool_tokens, "memory": self.frame.memory_tokens, "summary": shares.summary,
                "conversation": shares.conversation, "results": shares.results, "recall": shares.recall,
            },
            cached_share=self.cached_share,
            cost_usd=self._parts.spending.usd,
            phase=phase,
            approximate=counter.approximate,
            window_source=self._info.window_source,
            last_flush=self._last_flush(),
            turn=shares.prompts + sum(message.meta.get("turns", 0) for message in self.sent if message.kind == "summary"),
            compactions=self._conversation.trace.compaction_count,
            audit_score=self.audit_score,
            shortened=sum(saved > 0 for saved in self._pruned.saved.values()),
            shortened_tokens=sum(self._pruned.saved.values()),
        )  # fmt: skip

    def _last_flush(self) -> str | None:
        moment = self._conversation.trace.memory_flush_at
        return moment.strftime("%Y-%m-%d %H:%M") if moment is not None else None


def own_thinking(wire: list[WireMessage], messages: Sequence[Message], model: str) -> list[WireMessage]:
    """Leave out thinking that another model signed: its signatures mean nothing to this one."""
    if all(message.meta.get("model", model) == model for message in messages):
        return wire
    foreign = {
        block["signature"]
        for message in messages
        if message.meta.get("model", model) != model
        for block in message.content
        if block.get("type") == "thinking" and "signature" in block
    }
    return [
        {**message, "content": [block for block in message["content"] if block.get("type") != "redacted_thinking" and block.get("signature") not in foreign]}
        if message["role"] == "assistant"
        else message
        for message in wire
    ]


def with_the_last_word(wire: list[WireMessage], last: Message) -> list[WireMessage]:
    """End with the person: another kernel on the conversation may have stored its answer after this turn's prompt (P6).

    A request that ends with an answer asks for that answer to be gone on with, and many models refuse it. Only a reply that paused
    (``pause_turn``) is sent back as it is. ``last`` is the newest message sent.
    """
    if not wire or wire[-1]["role"] != "assistant" or last.stop_reason == "pause_turn":
        return wire
    return [*wire, {"role": "user", "content": [{"type": "text", "text": ANSWERED_ELSEWHERE}]}]
