"""The one door to every model: Claude, a local server, or the offline analyst, through the same SDK client.

The SDK signs, addresses and sends; what it leaves unraised or half-done is caught here (D11), and its retries are replaced by
ones that are capped, shown and ended at once by cancellation. ``anthropic`` is imported at the first connection.
"""

from __future__ import annotations

import asyncio
import itertools
import os
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memflush_jupyter.errors import ModelError
from memflush_jupyter.models import endpoints, faults, inspection, retries, wire
from memflush_jupyter.models import request as requests
from memflush_jupyter.models.pieces import ModelInfo, ModelReply, ModelRequest, Piece, Retry, TextPiece, ThinkingPiece, ToolPiece
from memflush_jupyter.models.pricing import Price
from memflush_jupyter.models.streaming import ReplyBuilder
from memflush_jupyter.models.textstream import TextCallReader
from memflush_jupyter.models.watch import SilenceWatch, StalledError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping

    import httpx2
    from anthropic import AsyncAnthropic

    from memflush_jupyter.clock import Clock
    from memflush_jupyter.config import MemFlush
    from memflush_jupyter.models.endpoints import Endpoint

__all__ = ["ModelClient", "ModelInfo", "ModelReply", "ModelRequest", "Piece", "Price", "Retry", "TextPiece", "ThinkingPiece", "ToolPiece"]

_CONNECT_TIMEOUT_S = 10.0
_LOCAL_KEEPALIVE_S = 1.0
"""Servers on this machine drop idle connections early, and a new one costs nothing."""
_NO_KEY = "not-needed"


def rough_count(text: str) -> int:
    """Estimate tokens as a third of the UTF-8 bytes (A5), for callers that give no counter of their own."""
    return -(-len(text.encode("utf-8", "replace")) // 3)


@dataclass
class _Connection:
    """An SDK client and the event loop its sockets belong to."""

    sdk: AsyncAnthropic
    loop: asyncio.AbstractEventLoop
    served: faults.Served


class _Failed(Exception):  # noqa: N818 - carries an error, is never seen outside
    """One try failed before any content arrived."""

    def __init__(self, error: ModelError, retry_after: float | None = None) -> None:
        super().__init__(str(error))
        self.error = error
        self.retry_after = retry_after


class ModelClient:
    """Streams replies and knows the models.

    ``transports`` replaces the network for a model id or for a provider (``anthropic``, ``local``, ``offline``): cassettes and
    tests use it, and then no key is needed. ``count`` measures tokens for the offline model. One client serves one event loop
    at a time: when it is used on another, it connects anew.
    """

    def __init__(
        self,
        config: MemFlush,
        *,
        clock: Clock,
        environ: Mapping[str, str] = os.environ,
        transports: Mapping[str, httpx2.AsyncBaseTransport] | None = None,
        count: Callable[[str], int] = rough_count,
    ) -> None:
        self._config = config
        self._clock = clock
        self._environ = environ
        self._transports = dict(transports or {})
        self._count = count
        self._connections: dict[Endpoint, _Connection] = {}
        self._infos: dict[tuple[Endpoint, int | None, int | None], ModelInfo] = {}
        self._encoder = requests.BodyEncoder()

    def default_model(self) -> str:
        """Return the id of the model that answers when none is named."""
        return endpoints.default_model(self._config, self._environ)

    def resolve(self, model: str) -> Endpoint:
        """Return where requests for ``model`` go.

        Raises:
            ModelError: ``unknown_model``, or ``no_key``.
        """
        return endpoints.resolve(model, self._config, self._environ, key_needed=self._transport(model) is None)

    async def info(self, model: str) -> ModelInfo:
        """Return window, limits and price of a model (A3); asked once, then remembered, unless the server could not be reached."""
        endpoint = self.resolve(model)
        # What was asked once is valid as long as the person sets nothing else.
        key = (endpoint, self._config.window, self._config.max_output_tokens)
        known = self._infos.get(key)
        if known is not None:
            return known
        report = inspection.Report()
        if endpoint.kind != "offline" and not inspection.nothing_to_ask(endpoint, self._config):
            report = await inspection.ask(self._connect(endpoint).sdk, endpoint)
        found = inspection.describe(endpoint, self._config, report)
        if report.answered or endpoint.kind == "offline":
            self._infos[key] = found
        return found

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Piece]:
        """Send a request; yield what arrives, and last of all exactly one :class:`ModelReply`.

        Raises:
            ModelError: no answer came, and trying again did not help or would not.
        """
        endpoint = self.resolve(request.model)
        connection = self._connect(endpoint)
        content = self._encoder.encode(requests.build_body(request, endpoint))
        for attempt in itertools.count(1):
            try:
                async with aclosing(self._attempt(request, endpoint, connection, content)) as pieces:
                    async for piece in pieces:
                        yield piece
            except _Failed as failure:
                if not retries.may_retry(failure.error, attempt, max_retries=self._config.max_retries):
                    raise failure.error from None
                wait = retries.wait_seconds(attempt, failure.retry_after, cap=self._config.max_retry_wait_s)
                sentence = str(failure.error)
            else:
                return
            yield Retry(attempt, wait, sentence)
            await asyncio.sleep(wait)

    async def aclose(self) -> None:
        """Close all connections of the running loop."""
        connections, self._connections = list(self._connections.values()), {}
        for connection in connections:
            if connection.loop is asyncio.get_running_loop():
                await connection.sdk.close()

    # -- one try -------------------------------------------------------------------------------------------------------

    async def _attempt(self, request: ModelRequest, endpoint: Endpoint, connection: _Connection, content: bytes) -> AsyncGenerator[Piece]:
        watch = SilenceWatch(self._config.request_timeout_s)
        response = await self._send(request, endpoint, connection, content, watch)
        builder = ReplyBuilder(model=endpoint.wire_model, seed=requests.seed_of(content))
        reader = TextCallReader(request.tools, seed=requests.seed_of(content)) if endpoint.text_calls and request.tools else None
        fault: str | None = None
        try:
            async with aclosing(wire.events(response, connection.served, watch)) as events:
                async for event in events:
                    if isinstance(event, ModelError):
                        fault = str(event)
                        if not builder.started:
                            raise _Failed(event)
                        break
                    shown = builder.whole(event) if event.get("type") == "message" else builder.feed(event)
                    for piece in reader.pass_on(shown) if reader else shown:
                        yield piece
        finally:
            await response.aclose()
        used = requests.tool_ids(request) if builder.has_tool_calls else ()
        reply = builder.reply(fault, used_ids=used)
        if not builder.started and not builder.complete:
            raise _Failed(faults.lost(connection.served, reply.fault or ""))
        if reader is not None:
            for last in reader.finish(reply, used_ids=requests.tool_ids(request)):
                yield last
        else:
            yield reply

    async def _send(self, request: ModelRequest, endpoint: Endpoint, connection: _Connection, content: bytes, watch: SilenceWatch) -> httpx2.Response:
        import anthropic
        import httpx2

        served = connection.served
        headers = {"x-memflush-purpose": request.purpose} if endpoint.kind == "offline" else {}
        call = connection.sdk.post(
            "/v1/messages", cast_to=object, content=content, options={"headers": headers}, stream=True, stream_cls=anthropic.AsyncStream[Any]
        )
        try:
            return (await watch.wait(call)).response
        except anthropic.APIStatusError as error:
            wait = retries.retry_after_seconds(error.response.headers, self._clock.now())
            raise _Failed(faults.from_body(error.status_code, error.body, served), wait) from error
        except anthropic.APIConnectionError as error:
            reached = isinstance(error.__cause__, httpx2.RemoteProtocolError | httpx2.ReadError)
            fault = faults.lost if reached else faults.no_network
            raise _Failed(fault(served, _reason(error))) from error
        except StalledError as error:
            raise _Failed(faults.stalled(served, watch.limit_s)) from error

    # -- connections ---------------------------------------------------------------------------------------------------

    def _transport(self, model: str) -> httpx2.AsyncBaseTransport | None:
        model = endpoints.canonical(model)
        return self._transports.get(model) or self._transports.get(model.partition("/")[0])

    def _connect(self, endpoint: Endpoint) -> _Connection:
        loop = asyncio.get_running_loop()
        connection = self._connections.get(endpoint)
        if connection is None or connection.loop is not loop:
            connection = self._connections[endpoint] = self._open(endpoint, loop)
        return connection

    def _open(self, endpoint: Endpoint, loop: asyncio.AbstractEventLoop) -> _Connection:
        import anthropic
        import httpx2

        transport = self._transport(endpoint.id)
        if transport is None and endpoint.kind == "offline":
            from memflush_jupyter.models.offline.transport import OfflineTransport

            transport = OfflineTransport(endpoint.window or self._config.offline_window, count=self._count)
        secret = self._environ.get(endpoint.key_env, "").strip() if endpoint.key_env else ""
        served = faults.Served(endpoint.id, endpoint.base_url, endpoint.key_env, local=endpoint.kind != "anthropic", secret=secret)
        if not secret.isascii() or not secret.isprintable():
            raise faults.from_status(401, "", "", served)
        nearby = endpoints.is_loopback(endpoint.base_url)
        http = httpx2.AsyncClient(
            transport=transport,
            # Silence is told by the watch, which knows when the kernel was busy; only connecting has a timeout here.
            timeout=httpx2.Timeout(None, connect=_CONNECT_TIMEOUT_S),
            limits=httpx2.Limits(keepalive_expiry=_LOCAL_KEEPALIVE_S) if nearby else httpx2.Limits(),
            follow_redirects=not nearby,
            trust_env=not nearby,
            # Building a certificate store takes 0.1 s, and plain HTTP on this machine has no use for one.
            verify=not (nearby and endpoint.base_url.startswith("http:")),
        )
        # An explicit key, even a placeholder, keeps the SDK from sending Claude's key to a local server.
        sdk = anthropic.AsyncAnthropic(api_key=secret or _NO_KEY, base_url=endpoint.base_url, http_client=http, max_retries=0)
        return _Connection(sdk, loop, served)


def _reason(error: BaseException) -> str:
    cause = error.__cause__
    return str(cause) or type(cause).__name__ if cause is not None else ""
