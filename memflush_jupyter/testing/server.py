"""A Messages API server on loopback that is as strict as the real one and does what a script says.

::

    with FakeMessagesServer() as server:
        server.script([tool_use("run_python", {"code": "1 + 1"}), "It is 2."])
        ...  # point a client at server.url
        assert server.refusals == []

It refuses what the API refuses (:mod:`.validation`), counts tokens and keeps a prompt cache (:mod:`.accounting`), and answers from
a list or from a function of the request. Needs the extra ``testing`` (aiohttp).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
import time
from typing import TYPE_CHECKING, Any, Self

from memflush_jupyter.testing import events, validation
from memflush_jupyter.testing.accounting import count_cl100k
from memflush_jupyter.testing.refusals import RefusalError
from memflush_jupyter.testing.replies import Break, Drop, Refuse, Reply
from memflush_jupyter.testing.service import MessagesService, SeenRequest, ServedModel, describe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import TracebackType

    from aiohttp import web

__all__ = ["DEFAULT_MODELS", "FakeMessagesServer", "SeenRequest", "ServedModel"]

MAX_BODY_BYTES = 32 * 1024 * 1024
DEFAULT_MODELS = ("claude-sonnet-4-5", "claude-haiku-4-5", "fake-model")
_START_S = 10.0


class FakeMessagesServer:
    """The server. Use it with ``with`` or ``async with``; it runs in a thread of its own.

    Args:
        models: what it serves; names get the default sizes, or ``window`` and ``max_output`` when given.
        keys: accepted keys; ``None`` accepts any that is not empty.
        now: seconds of a clock, for the life of cache entries.
        count: tokens of a text.
        models_api: whether ``/v1/models`` exists.
        answers: further JSON answers by path, such as ``{"/props": {…}}``, to play a local server.
    """

    def __init__(
        self,
        *,
        models: Iterable[str | ServedModel] = DEFAULT_MODELS,
        window: int = 200_000,
        max_output: int = 64_000,
        keys: Iterable[str] | None = None,
        now: Callable[[], float] = time.monotonic,
        count: Callable[[str], int] = count_cl100k,
        models_api: bool = True,
        answers: dict[str, Any] | None = None,
    ) -> None:
        served = [model if isinstance(model, ServedModel) else ServedModel(model, window, max_output) for model in models]
        self.service = MessagesService(models=served, count=count, now=now)
        self.keys = None if keys is None else frozenset(keys)
        self.models_api = models_api
        self.answers = dict(answers or {})
        self.paths: list[str] = []
        self.url = ""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._stopped: asyncio.Event | None = None

    # -- for the test --------------------------------------------------------------------------------------------------

    def script(self, answers: Any) -> None:
        """Set what is answered next: a list of answers, one a request, or a function of the :class:`SeenRequest`.

        An answer is a text, a block, a list of blocks, a :class:`Reply`, :class:`Refuse` or :class:`Drop`, or a function that gives one.
        """
        self.service.script(answers)

    @property
    def models(self) -> dict[str, ServedModel]:
        """What it serves, by name; may be changed while it runs."""
        return self.service.models

    @property
    def requests(self) -> list[SeenRequest]:
        """All requests to ``/v1/messages``, in the order they came."""
        return self.service.requests

    @property
    def refusals(self) -> list[str]:
        """The sentences of all refusals: empty when every request was valid (P6)."""
        return [request.refused for request in self.requests if request.refused is not None]

    @property
    def unanswered(self) -> int:
        """How many scripted answers are left."""
        return self.service.unanswered

    def start(self) -> Self:
        """Start the server and wait until it listens; ``url`` is then set."""
        ready = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(ready,), name="fake-messages-server", daemon=True)
        self._thread.start()
        if not ready.wait(_START_S) or not self.url:
            raise RuntimeError("The fake server did not start; is the extra 'testing' (aiohttp) installed?")
        return self

    def stop(self) -> None:
        """Stop the server; streams that stall are cut."""
        if self._loop is not None and self._stopped is not None:
            self._loop.call_soon_threadsafe(self._stopped.set)
        if self._thread is not None:
            self._thread.join(_START_S)
        self._thread = self._loop = self._stopped = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    async def __aenter__(self) -> Self:
        return await asyncio.to_thread(self.start)

    async def __aexit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        await asyncio.to_thread(self.stop)

    # -- the thread ----------------------------------------------------------------------------------------------------

    def _run(self, ready: threading.Event) -> None:
        try:
            asyncio.run(self._serve(ready))
        finally:
            ready.set()

    async def _serve(self, ready: threading.Event) -> None:
        from aiohttp import web

        self._loop, self._stopped = asyncio.get_running_loop(), asyncio.Event()
        app = web.Application(client_max_size=MAX_BODY_BYTES)
        app.router.add_route("*", "/{path:.*}", self._handle)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.05, handler_cancellation=True)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0][:2]
        self.url = f"http://{host}:{port}"
        ready.set()
        await self._stopped.wait()
        await runner.cleanup()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        from aiohttp import web

        path = request.path.rstrip("/")
        self.paths.append(f"{request.method} {path}")
        if path in self.answers:
            return web.json_response(self.answers[path])
        try:
            if request.method == "POST" and path == "/v1/messages":
                return await self._messages(request)
            if request.method == "POST" and path == "/v1/messages/count_tokens":
                return await self._count_tokens(request)
            if request.method == "GET" and self.models_api and path.startswith("/v1/models"):
                return self._describe(path.removeprefix("/v1/models").strip("/"))
        except RefusalError as refusal:
            return _error(refusal.status, refusal.kind, refusal.message)
        return _error(404, "not_found_error", "Not Found")

    # -- answering -----------------------------------------------------------------------------------------------------

    async def _messages(self, request: web.Request) -> web.StreamResponse:
        from aiohttp import web

        seen = self.service.record({name.lower(): value for name, value in request.headers.items()})
        try:
            validation.check_headers(seen.headers, keys=self.keys)
            seen.body = await _json_body(request)
            turns = self.service.admit(seen)
        except RefusalError as refusal:
            seen.refused = refusal.message
            raise
        answer = self.service.answer(seen, turns)
        if isinstance(answer, Drop):
            assert request.transport is not None
            request.transport.abort()
            return _error(500, "api_error", "dropped")
        if isinstance(answer, Refuse):
            return _refusal(answer)
        if answer.delay_s:
            await asyncio.sleep(answer.delay_s)
        told = {"message_id": f"msg_fake{seen.number:06d}", "model": seen.body["model"]}
        if not seen.body.get("stream"):
            return web.json_response(events.message(answer, **told, usage=seen.usage))
        return await _stream(request, answer, list(events.stream(answer, **told, usage=seen.usage)))

    async def _count_tokens(self, request: web.Request) -> web.StreamResponse:
        from aiohttp import web

        validation.check_headers({name.lower(): value for name, value in request.headers.items()}, keys=self.keys)
        return web.json_response({"input_tokens": self.service.count(await _json_body(request))})

    def _describe(self, name: str) -> web.StreamResponse:
        from aiohttp import web

        if name:
            return web.json_response(describe(self.service.model(name)))
        data = [describe(model) for model in self.models.values()]
        return web.json_response({"data": data, "has_more": False, "first_id": data[0]["id"] if data else None, "last_id": data[-1]["id"] if data else None})


async def _stream(request: web.Request, reply: Reply, planned: list[dict[str, Any]]) -> web.StreamResponse:
    from aiohttp import web

    response = web.StreamResponse(headers={"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache"})
    await response.prepare(request)
    sent = 0
    broken = reply.broken
    with contextlib.suppress(ConnectionError):
        for event in planned:
            if broken is not None and sent == broken.after and await _break(request, response, broken):
                return response
            await response.write(events.encode(event))
            sent += event.get("type") != "ping"
            if reply.event_delay_s:
                await asyncio.sleep(reply.event_delay_s)
        if broken is not None and sent <= broken.after and await _break(request, response, broken):
            return response
        await response.write_eof()
    return response


async def _json_body(request: web.Request) -> dict[str, Any]:
    raw = await _read(request)
    try:
        body = json.loads(raw.decode("utf-8"), parse_constant=_no_constant)
        json.dumps(body, ensure_ascii=False).encode("utf-8")
    except ValueError as error:
        raise RefusalError(f"The request body is not valid JSON: {error}") from error
    return body  # type: ignore[no-any-return]


async def _read(request: web.Request) -> bytes:
    from aiohttp import web

    try:
        return await request.read()
    except web.HTTPRequestEntityTooLarge as error:
        raise RefusalError("Request exceeds the maximum size", status=413, kind="request_too_large") from error


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _error(status: int, kind: str, message: str) -> web.StreamResponse:
    return _refusal(Refuse(status, kind, message))


def _refusal(answer: Refuse) -> web.StreamResponse:
    from aiohttp import web

    if answer.raw is not None:
        return web.Response(status=answer.status, text=answer.raw, headers=dict(answer.headers))
    body = {"type": "error", "error": {"type": answer.type, "message": answer.message}, "request_id": "req_fake"}
    return web.json_response(body, status=answer.status, headers=dict(answer.headers))


async def _break(request: web.Request, response: web.StreamResponse, broken: Break) -> bool:
    """Do what the fault says; return whether the stream is over."""
    if broken.kind == "garbage":
        await response.write(b"event: content_block_delta\ndata: {not json\n\n")
        return False
    if broken.kind == "error":
        await response.write(events.encode({"type": "error", "error": {"type": broken.type, "message": broken.message}}))
    elif broken.kind == "stall":
        await asyncio.Event().wait()
    elif broken.kind == "cut":
        if request.transport is not None:
            # What was written so far is to arrive first.
            await asyncio.sleep(0.02)
            request.transport.abort()
        return True
    await response.write_eof()
    return True
