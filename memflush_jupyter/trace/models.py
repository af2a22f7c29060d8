"""The plain data of a trace: what the rooms above hand to each other. No SQL, no model client.

A trace is a tree of messages. ``(trace, sequence)`` names a message; ``parent`` is the sequence it follows; the
trace's ``head`` is the last message of the main path. Content blocks are those of the Messages API, as dictionaries:
``{"type": "text", "text": …}``, ``tool_use``, ``tool_result``, ``thinking``, ``redacted_thinking``, ``image``, ….
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

Block = dict[str, Any]
"""One content block of the Messages API, exactly as it goes over the wire."""

WireMessage = dict[str, Any]
"""``{"role": "user" | "assistant", "content": [Block, …]}`` as it is sent."""

Role = Literal["user", "assistant"]

Kind = Literal["prompt", "reply", "results", "summary", "instruction", "partial"]
"""What a message is.

``prompt``: the person's message (may carry recall and notices as extra text blocks marked in ``meta``).
``reply``: an assistant message. ``results``: the tool results that answer it (role user).
``summary``: a compaction mark (role user): replaces all before ``meta["first_kept"]`` on its path.
``instruction``: the host's own message on a side branch. ``partial``: a cut reply, kept but never sent (D11).
"""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one exchange as the server measured them."""

    input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0

    @property
    def total(self) -> int:
        """All tokens that stand in the context after the exchange (A4)."""
        return self.input + self.cache_read + self.cache_write + self.output


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a trace. ``tokens`` is the estimate for this message alone; ``usage`` only on replies."""

    trace: str
    sequence: int
    parent: int | None
    role: Role
    kind: Kind
    content: list[Block]
    branch: str = "main"
    tokens: int = 0
    usage: Usage | None = None
    stop_reason: str | None = None
    cell_id: str | None = None
    created_at: datetime | None = None
    meta: dict[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The text blocks, joined by blank lines; tool calls, results, thinking and images are left out."""
        return "\n\n".join(block["text"] for block in self.content if block.get("type") == "text")

    @property
    def spoken(self) -> str:
        """The text without what the host put beside it, such as recalled passages."""
        beside = set(self.meta.get("aside", ()))
        return "\n\n".join(block["text"] for index, block in enumerate(self.content) if index not in beside and block.get("type") == "text")


@dataclass(frozen=True, slots=True)
class Trace:
    """One conversation's row. Counters follow ``behaviours.md`` B3, B4, B5, C8, C9."""

    id: str
    identity: str
    notebook: str
    model: str
    created_at: datetime
    updated_at: datetime
    title: str = ""
    head: int | None = None
    last_sequence: int = 0
    compaction_count: int = 0
    flushed_through: int | None = None
    memory_flush_at: datetime | None = None
    memory_flush_compaction_count: int | None = None
    flush_failures: int = 0
    last_flush_error: str | None = None
    reflected_at: int | None = None
    parent_trace: str | None = None
    kind: str = "main"
    meta: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Note:
    """One remembered line and where it came from (P5). ``state``: ``pending`` → ``written`` → ``retired`` (C9)."""

    id: str
    file: str
    text: str
    trace: str | None
    sequence: int | None
    origin: Literal["user", "agent", "tool"]
    state: Literal["pending", "written", "retired"] = "pending"
    floor: bool = False
    signals: int = 0
    queries: list[str] = field(default_factory=list)
    created_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class SearchHit:
    """One full-text hit. ``score`` is positive, larger is better (negated BM25). ``source``: ``message`` or ``note``."""

    source: Literal["message", "note"]
    trace: str | None
    sequence: int | None
    note: str | None
    text: str
    score: float
    origin: str
    created_at: datetime | None
