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


def encode(body: dict[str, Any]) -> bytes:
    """Return the body as UTF-8 JSON. Lone surrogates, which UTF-8 has no form for, become U+FFFD."""
    try:
        return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(clean_surrogates_deep(body), ensure_ascii=False, separators=(",", ":")).encode("utf-8")


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
