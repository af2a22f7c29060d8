"""A response of the Messages API as decoded events, whatever the server makes of it."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from memflush_jupyter.errors import ModelError
from memflush_jupyter.models import faults
from memflush_jupyter.models.sse import EventDecoder, ServerEvent
from memflush_jupyter.models.watch import SilenceWatch, StalledError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator

    import httpx2

_DRAIN_S = 0.2
_MALFORMED = "The server sent something in the stream that is not JSON."


async def events(response: httpx2.Response, served: faults.Served, watch: SilenceWatch) -> AsyncGenerator[dict[str, Any] | ModelError]:
    """Yield decoded events; an error, always the last item, is yielded rather than raised: what came before it counts.

    A server that does not stream gives one item, the whole message.
    """
    import httpx2

    decoder = EventDecoder()
    kind = response.headers.get("content-type", "")
    chunks = response.aiter_bytes()
    try:
        if "event-stream" not in kind:
            yield _read_whole(await watch.wait(response.aread()), kind, served)
            return
        while (chunk := await watch.wait(anext(chunks, None))) is not None:
            for event in decoder.feed(chunk):
                decoded = _decode(event, served)
                if decoded is not None:
                    yield decoded
                if isinstance(decoded, dict) and decoded.get("type") == "message_stop":
                    await _drain(chunks)
                    return
    except StalledError:
        yield faults.stalled(served, watch.limit_s)
    except httpx2.HTTPError as error:
        yield faults.lost(served, str(error) or type(error).__name__)


def _decode(event: ServerEvent, served: faults.Served) -> dict[str, Any] | ModelError | None:
    if event.data.strip() == "[DONE]":
        return None
    try:
        data = json.loads(event.data)
    except (ValueError, RecursionError):
        return ModelError(_MALFORMED, kind="other", status=200)
    if event.name == "error" or (isinstance(data, dict) and (data.get("type") == "error" or ("error" in data and "type" not in data))):
        return faults.from_body(200, data, served)
    return data if isinstance(data, dict) else None


def _read_whole(content: bytes, kind: str, served: faults.Served) -> dict[str, Any] | ModelError:
    try:
        data = json.loads(content)
    except (ValueError, RecursionError):
        return faults.not_messages_api(served, kind)
    if isinstance(data, dict) and data.get("type") == "message":
        return data
    if isinstance(data, dict) and "error" in data:
        return faults.from_body(200, data, served)
    return faults.not_messages_api(served, kind)


async def _drain(chunks: AsyncIterator[bytes]) -> None:
    """Read the little that follows ``message_stop``, so that the connection can be used again; never wait long for it."""
    import httpx2

    try:
        async with asyncio.timeout(_DRAIN_S):
            async for _ in chunks:
                pass
    except (TimeoutError, httpx2.HTTPError):
        return
