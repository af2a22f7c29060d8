"""The body of a request, as bytes: built once per request and shared by its retries."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from memflush_jupyter.models.caching import mark_last, mark_messages, mark_tools
from memflush_jupyter.models.streaming import clean_surrogates_deep

if TYPE_CHECKING:
    from memflush_jupyter.models.endpoints import Endpoint
    from memflush_jupyter.models.pieces import ModelRequest
    from memflush_jupyter.trace.models import WireMessage

_TAIL = 65_536


def build_body(request: ModelRequest, endpoint: Endpoint) -> dict[str, Any]:
    """Return the body as JSON data. Messages stand last, so that the bodies of two requests differ at their ends."""
    body: dict[str, Any] = {"model": endpoint.wire_model, "max_tokens": request.max_tokens, "stream": True}
    if request.tools:
        body["tools"] = mark_tools(request.tools) if endpoint.cache else request.tools
    system = [block for block in request.system if block.get("type") != "text" or str(block.get("text", "")).strip()]
    if system:
        body["system"] = (mark_last(system) if endpoint.cache else None) or system
    body["messages"] = mark_messages(request.messages) if endpoint.cache else request.messages
    return body


def encode(value: Any) -> bytes:
    """Return a value as UTF-8 JSON. Lone surrogates, which UTF-8 has no form for, become U+FFFD."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(clean_surrogates_deep(value), ensure_ascii=False, separators=(",", ":")).encode("utf-8")


class BodyEncoder:
    """Encodes the bodies of one conversation's requests; a message that the last request held is not encoded again.

    Messages are known by identity: whoever sends one again must not have changed it in place.
    """

    def __init__(self) -> None:
        self._known: dict[int, tuple[WireMessage, list[int], bytes]] = {}

    def encode(self, body: dict[str, Any]) -> bytes:
        """Return the same bytes as :func:`encode`."""
        fixed = encode({name: value for name, value in body.items() if name != "messages"})
        known: dict[int, tuple[WireMessage, list[int], bytes]] = {}
        parts: list[bytes] = []
        for message in body["messages"]:
            content = message["content"]
            blocks = [id(content)] if isinstance(content, str) else list(map(id, content))
            entry = self._known.get(id(message))
            if entry is None or entry[0] is not message or entry[1] != blocks:
                entry = (message, blocks, encode(message))
            known[id(message)] = entry
            parts.append(entry[2])
        self._known = known
        return b'%b,"messages":[%b]}' % (fixed[:-1], b",".join(parts))


def seed_of(content: bytes) -> str:
    """Return a short text that differs between two requests of one conversation, from the end of the body and its length."""
    return hashlib.blake2b(content[-_TAIL:] + str(len(content)).encode(), digest_size=16).hexdigest()


def tool_ids(request: ModelRequest) -> set[str]:
    """Return the ids of all tool calls in the conversation."""
    return {
        str(block.get("id"))
        for message in request.messages
        if message["role"] == "assistant" and not isinstance(message["content"], str)
        for block in message["content"]
        if block.get("type") == "tool_use"
    }
