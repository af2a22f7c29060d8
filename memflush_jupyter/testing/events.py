"""A reply as the stream of events that the Messages API sends."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memflush_jupyter.testing.replies import Reply
    from memflush_jupyter.trace.models import Usage

Event = dict[str, Any]


def usage_dict(usage: Usage) -> dict[str, int]:
    """Return usage in the API's words."""
    return {
        "input_tokens": usage.input,
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read,
        "output_tokens": usage.output,
    }


def message(reply: Reply, *, message_id: str, model: str, usage: Usage) -> Event:
    """Return the whole message, for a request that does not stream."""
    return {
        "id": message_id,
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": reply.blocks,
        "stop_reason": reply.stop,
        "stop_sequence": None,
        "usage": usage_dict(usage),
    }


def stream(reply: Reply, *, message_id: str, model: str, usage: Usage) -> Iterator[Event]:
    """Yield the events of a streamed message, a ``ping`` included."""
    if reply.events is not None:
        yield from reply.events
        return
    empty = {**message(reply, message_id=message_id, model=model, usage=usage), "content": [], "stop_reason": None}
    empty["usage"] = {**usage_dict(usage), "output_tokens": 1}
    yield {"type": "message_start", "message": empty}
    yield {"type": "ping"}
    blocks = reply.blocks
    last_call = max((index for index, block in enumerate(blocks) if block.get("type") == "tool_use"), default=-1)
    for index, block in enumerate(blocks):
        yield from _block(index, block, reply, raw=reply.raw_input if index == last_call else None)
    yield {"type": "message_delta", "delta": {"stop_reason": reply.stop, "stop_sequence": None}, "usage": usage_dict(usage)}
    yield {"type": "message_stop"}


def _block(index: int, block: Event, reply: Reply, *, raw: str | None) -> Iterator[Event]:
    kind = block.get("type")
    start: Event = dict(block)
    deltas: list[Event] = []
    if kind == "text":
        start["text"] = ""
        deltas = [{"type": "text_delta", "text": piece} for piece in pieces(block["text"], reply.delta_chars)]
    elif kind == "thinking":
        start |= {"thinking": "", "signature": ""}
        deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(block["thinking"], reply.delta_chars)]
        deltas.append({"type": "signature_delta", "signature": block.get("signature", "")})
    elif kind == "tool_use":
        start["input"] = {}
        whole = json.dumps(block["input"], ensure_ascii=False) if raw is None else raw
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in ["", *pieces(whole, reply.delta_chars)]]
    yield {"type": "content_block_start", "index": index, "content_block": start}
    for delta in deltas:
        yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}


def pieces(value: str, size: int) -> list[str]:
    """Cut a text into pieces of ``size`` characters."""
    return [value[start : start + size] for start in range(0, len(value), max(1, size))]


def encode(event: Event) -> bytes:
    """Return one event as it goes over the wire."""
    return f"event: {event.get('type', 'message')}\ndata: {json.dumps(event, ensure_ascii=True)}\n\n".encode()
