"""What an agent is made of: handed over whole, so that the kernel's loop and the background thread each hold their own."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from memflush_jupyter.agent import spending as limits
from memflush_jupyter.agent.spending import Meter, Need, Spending
from memflush_jupyter.context.tokens import TokenCounter
from memflush_jupyter.events import Event
from memflush_jupyter.trace.models import Usage

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
    meter: Meter = field(default_factory=Meter)
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

    def over(self, info: ModelInfo, need: Need) -> str | None:
        """Why no request may go to a model on anybody's behalf any more, as a sentence, or ``None``."""
        return limits.cost_limit(self.config, self.spending, info, need)

    def allowed(self, longest: int, info: ModelInfo, need: Need, *, in_turn: bool = False) -> int:
        """The longest reply that the limits leave, at most ``longest``; ``in_turn``: the turn's own requests, which ``max_turn_tokens`` may cut."""
        caps = [limits.cost_cap(self.config, self.spending, info, need), limits.turn_cap(self.config, self.meter, need) if in_turn else None]
        return max(min([longest, *(cap for cap in caps if cap is not None)]), min(longest, limits.MIN_AFFORDED))

    def count(self, reply: ModelReply, info: ModelInfo, estimated: int) -> None:
        """Count one exchange; what a server does not measure is taken as ``estimated`` and counted here."""
        usage = reply.usage
        read = usage.input + usage.cache_read + usage.cache_write
        if not read or not usage.output:
            output = usage.output or self.counter(info.id).blocks(reply.content)
            usage = Usage(usage.input if read else estimated, usage.cache_read, usage.cache_write, output)
        self._add(usage, info)

    def count_abandoned(self, info: ModelInfo, estimated: int, texts: Sequence[Block] = ()) -> None:
        """Count a request that was given up on the way: it is paid for, though nobody measured it."""
        self._add(Usage(input=estimated, output=self.counter(info.id).blocks(texts)), info)

    def _add(self, usage: Usage, info: ModelInfo) -> None:
        self.spending.add(usage, info)
        self.meter.tokens += usage.total

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
