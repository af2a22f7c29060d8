"""What goes to a model and what comes back, as frozen data: the language between the client and the agent."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memflush_jupyter.models.pricing import Price
    from memflush_jupyter.trace.models import Block, Usage, WireMessage

_UNTRUSTED_STOPS = frozenset({"max_tokens", "model_context_window_exceeded", "refusal", "pause_turn"})


@dataclass(frozen=True)
class ModelRequest:
    """One request. ``model`` is an id such as ``anthropic/NAME``; ``max_tokens`` limits the reply, in tokens.

    ``purpose`` (``turn``, ``flush``, ``compression``, …) is only ever told to the offline model, never to a real server.
    """

    model: str
    system: list[Block]
    tools: list[dict[str, Any]]
    messages: list[WireMessage]
    max_tokens: int
    purpose: str = "turn"


@dataclass(frozen=True)
class TextPiece:
    """A piece of the reply's text. ``index`` is the content block it belongs to."""

    text: str
    index: int = 0


@dataclass(frozen=True)
class ThinkingPiece:
    """A piece of the model's thinking."""

    text: str
    index: int = 0


@dataclass(frozen=True)
class ToolPiece:
    """The model began to write a tool call; its input is complete only in the reply."""

    index: int
    name: str | None = None


@dataclass(frozen=True)
class Retry:
    """The request failed before anything arrived; try number ``attempt`` + 1 follows after ``wait_s`` seconds."""

    attempt: int
    wait_s: float
    sentence: str


@dataclass(frozen=True)
class ModelReply:
    """What the model answered.

    ``fault`` is a sentence when the stream was lost, cut or malformed: ``content`` is then what arrived, and no tool call
    in it may run (D11). ``from_text`` says that the tool calls were written as text (C7). ``dropped`` names block types
    that cannot be kept because this version does not know them.
    """

    content: list[Block]
    stop_reason: str | None
    usage: Usage
    model: str
    fault: str | None = None
    from_text: bool = False
    dropped: tuple[str, ...] = field(default=())

    @property
    def trustworthy(self) -> bool:
        """Whether the reply is whole, so that its tool calls may run (D11)."""
        return self.fault is None and self.stop_reason is not None and self.stop_reason not in _UNTRUSTED_STOPS

    @property
    def text(self) -> str:
        """The text blocks, joined by blank lines."""
        return "\n\n".join(block["text"] for block in self.content if block.get("type") == "text")

    @property
    def tool_calls(self) -> list[Block]:
        """The ``tool_use`` blocks, in order; ask ``trustworthy`` before running any."""
        return [block for block in self.content if block.get("type") == "tool_use"]


@dataclass(frozen=True)
class ModelInfo:
    """What is known of a model. Sizes in tokens.

    ``window_source`` says where the window comes from (A3): ``config``, ``models-api``, ``server``, ``table`` or
    ``default`` (then ``warning`` is a sentence for the person). ``nearby``: the server is on this machine, so nobody is paid.
    """

    id: str
    window: int
    window_source: str
    max_output: int
    vision: bool
    price: Price | None
    offline: bool
    warning: str | None = None
    nearby: bool = False


Piece = TextPiece | ThinkingPiece | ToolPiece | Retry | ModelReply
"""What ``ModelClient.stream`` yields; the last one is always the only ``ModelReply``."""
