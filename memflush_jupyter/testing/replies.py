"""What a scripted server answers: replies, and the ways in which an answer goes wrong."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Block = dict[str, Any]

StreamFault = Literal["cut", "close", "stall", "error", "garbage"]


@dataclass(frozen=True)
class Refuse:
    """An error before the stream begins: an HTTP status with an error body. ``raw`` replaces the body as it is."""

    status: int
    type: str = "api_error"
    message: str = "Internal server error"
    headers: Mapping[str, str] = field(default_factory=dict)
    raw: str | None = None


@dataclass(frozen=True)
class Drop:
    """The connection is closed before any answer."""


@dataclass(frozen=True)
class Break:
    """The stream goes wrong after ``after`` of its events (``ping`` not counted).

    ``cut``: the connection is lost. ``close``: the stream ends as if all were well. ``stall``: nothing more comes. ``error``: an
    ``error`` event of ``type`` with ``message``, then the end. ``garbage``: an event that is not JSON, then the rest.
    """

    kind: StreamFault
    after: int = 3
    type: str = "overloaded_error"
    message: str = "Overloaded"


@dataclass(frozen=True)
class Reply:
    """One answer.

    ``content`` holds blocks (see :func:`text`, :func:`tool_use`, :func:`thinking`) or is the text itself. Without
    ``stop_reason`` it follows from the content. ``raw_input`` replaces the JSON text of the (last) tool call, to break it.
    ``events`` replaces the whole stream by these events. ``delay_s`` passes before the headers, ``event_delay_s`` between
    events; text and tool input arrive in pieces of ``delta_chars`` characters.
    """

    content: str | Sequence[Block] = ()
    stop_reason: str | None = None
    broken: Break | None = None
    raw_input: str | None = None
    events: Sequence[Block] | None = None
    delay_s: float = 0.0
    event_delay_s: float = 0.0
    delta_chars: int = 24
    output_tokens: int | None = None

    @property
    def blocks(self) -> list[Block]:
        """The content as blocks."""
        if isinstance(self.content, str):
            return [{"type": "text", "text": self.content}] if self.content else []
        return [dict(block) for block in self.content]

    @property
    def stop(self) -> str | None:
        """The stop reason, worked out from the content when none was given."""
        if self.stop_reason is not None:
            return self.stop_reason or None
        return "tool_use" if any(block.get("type") == "tool_use" for block in self.blocks) else "end_turn"


Answer = Reply | Refuse | Drop | str | Block | list[Block]
Script = Sequence[Any] | Callable[[Any], Any]


def as_reply(answer: Any) -> Reply | Refuse | Drop:
    """Turn the short forms (a text, a block, a list of blocks) into a reply."""
    if isinstance(answer, Reply | Refuse | Drop):
        return answer
    if isinstance(answer, str):
        return Reply(answer)
    if isinstance(answer, Mapping):
        return Reply([dict(answer)])
    return Reply([dict(block) for block in answer])


def text(value: str) -> Block:
    """Return a text block."""
    return {"type": "text", "text": value}


def tool_use(name: str, value: dict[str, Any] | None = None, *, id: str | None = None) -> Block:  # noqa: A002 - the block's own word
    """Return a tool call; without ``id`` the server makes one."""
    block: Block = {"type": "tool_use", "name": name, "input": value or {}}
    return block if id is None else {**block, "id": id}


def thinking(value: str) -> Block:
    """Return a thinking block, signed so that the strict server takes it back."""
    return {"type": "thinking", "thinking": value, "signature": sign(value)}


def sign(value: str, model: str = "") -> str:
    """Return the signature this server gives to a thinking text. What it issues is bound to the model: no other takes it back."""
    return "sig_" + hashlib.sha256("\x1f".join(["memflush fake server", *filter(None, [model]), value]).encode("utf-8", "replace")).hexdigest()[:40]


def rate_limited(retry_after: float | str | None = None) -> Refuse:
    """429, with the pause the server asks for."""
    headers = {} if retry_after is None else {"retry-after": str(retry_after)}
    return Refuse(429, "rate_limit_error", "This request would exceed your organization's rate limit", headers)


def overloaded() -> Refuse:
    """529."""
    return Refuse(529, "overloaded_error", "Overloaded")


def internal_error() -> Refuse:
    """500."""
    return Refuse(500, "api_error", "Internal server error")


def bad_key() -> Refuse:
    """401."""
    return Refuse(401, "authentication_error", "invalid x-api-key")


def no_model(name: str) -> Refuse:
    """404."""
    return Refuse(404, "not_found_error", f"model: {name}")


def no_credit() -> Refuse:
    """400, as the API words an empty account."""
    text = "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."
    return Refuse(400, "invalid_request_error", text)


def too_long(tokens: int, maximum: int) -> Refuse:
    """400, the overflow of the window."""
    return Refuse(400, "invalid_request_error", f"prompt is too long: {tokens} tokens > {maximum} maximum")


def too_large() -> Refuse:
    """413."""
    return Refuse(413, "request_too_large", "Request exceeds the maximum size")
