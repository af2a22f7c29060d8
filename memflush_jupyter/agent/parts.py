"""What an agent is made of: handed over whole, so that the kernel's loop and the background thread each hold their own."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from memflush_jupyter.context.tokens import TokenCounter
from memflush_jupyter.events import Event
from memflush_jupyter.models import pricing

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from memflush_jupyter.agent.notes import NoteWriter
    from memflush_jupyter.agent.tools.base import Approver, Tool
    from memflush_jupyter.clock import Clock
    from memflush_jupyter.config import MemFlush
    from memflush_jupyter.memory.files import MemoryFolder
    from memflush_jupyter.memory.redaction import Redactor
    from memflush_jupyter.models.client import ModelClient, ModelInfo, ModelReply
    from memflush_jupyter.trace.models import Block, WireMessage
    from memflush_jupyter.trace.store import TraceStore

BackgroundJob = Callable[["AgentParts", Callable[[Event], None]], Coroutine[Any, Any, None]]
"""Work for the background thread: called there with that thread's own parts and a sink for its events."""

MAX_REPLY_TOKENS = 16_000
"""A reply is asked for with at most this many tokens, whatever the model could do."""


FACTOR_STEP = 0.01
"""A learned factor is written again when it moved by more than this share: it moves a little with every request."""


@dataclass(slots=True)
class Spending:
    """US dollars and tokens spent by this kernel; ``usd`` stays ``None`` while no price was known."""

    usd: float | None = None
    tokens: int = 0

    def add(self, reply: ModelReply, info: ModelInfo) -> None:
        """Count one exchange."""
        self.tokens += reply.usage.total
        price = pricing.cost(reply.usage, info.id, info.price)
        if price is not None:
            self.usd = (self.usd or 0.0) + price


@dataclass(frozen=True)
class AgentParts:
    """Everything a runner needs. ``memory`` and ``writer`` are ``None`` in a run without memory; then nothing of it runs.

    ``awaits_flush``: the run is headless, offline or replayed, so background work is awaited in the cell (P9).
    ``background`` takes a job that is run on the background thread with that thread's own parts.
    """

    config: MemFlush
    clock: Clock
    store: TraceStore
    client: ModelClient
    identity: str
    folder: Path
    redact: Redactor
    approver: Approver
    memory: MemoryFolder | None = None
    writer: NoteWriter | None = None
    extra_tools: Sequence[Tool] = ()
    awaits_flush: bool = True
    background: Callable[[BackgroundJob], None] | None = None
    spending: Spending = field(default_factory=Spending)
    counters: dict[str, TokenCounter] = field(default_factory=dict)
    saved_factors: dict[str, float] = field(default_factory=dict)

    def counter(self, model: str) -> TokenCounter:
        """The token counter of a model, with the factor learned in earlier runs (A5); the offline model's is fixed at 1 (P9)."""
        known = self.counters.get(model)
        if known is not None:
            return known
        if model.startswith("offline/"):
            made = TokenCounter(model, factor=1.0, learned=False)
        else:
            saved = self.store.get_setting(f"factor:{model}")
            made = TokenCounter(model, factor=float(saved) if saved else None)
            if saved:
                self.saved_factors[model] = float(saved)
        self.counters[model] = made
        return made

    def learn(self, model: str, estimated: int, measured: int) -> None:
        """Let a measured usage correct the estimate of later requests, also in later runs."""
        counter = self.counter(model)
        before = counter.factor
        counter.learn(estimated, measured)
        saved = self.saved_factors.get(model)
        if saved is None and counter.factor == before:
            return
        if saved is None or abs(counter.factor - saved) > FACTOR_STEP * saved:
            self.saved_factors[model] = counter.factor
            self.store.set_setting(f"factor:{model}", f"{counter.factor:.4f}")


@dataclass(frozen=True, slots=True)
class Frame:
    """The fixed prefix of a trace: what stands before the messages in every request until the next compaction.

    Token counts are estimates of each part; ``digest`` changes when anything in it does, so that a measured usage under
    another prefix does not count (A4).
    """

    system: list[Block]
    tools: list[dict[str, Any]]
    system_tokens: int
    memory_tokens: int
    tool_tokens: int
    digest: str

    @property
    def prefix(self) -> int:
        """Tokens of the whole prefix."""
        return self.system_tokens + self.memory_tokens + self.tool_tokens


def with_instruction(wire: Sequence[WireMessage], blocks: Sequence[Block]) -> list[WireMessage]:
    """The messages with ``blocks`` as (part of) the last user message; the given ones stay as they are."""
    if wire and wire[-1]["role"] == "user":
        return [*wire[:-1], {"role": "user", "content": [*wire[-1]["content"], *blocks]}]
    return [*wire, {"role": "user", "content": list(blocks)}]
