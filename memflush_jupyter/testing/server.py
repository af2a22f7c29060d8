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
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from memflush_jupyter.testing import events, replies, validation
from memflush_jupyter.testing.accounting import Accountant, count_cl100k
from memflush_jupyter.testing.refusals import RefusalError
from memflush_jupyter.testing.replies import Drop, Refuse, Reply, as_reply
from memflush_jupyter.trace.models import Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import TracebackType

    from aiohttp import web

MAX_BODY_BYTES = 32 * 1024 * 1024
DEFAULT_MODELS = ("claude-sonnet-4-5", "claude-haiku-4-5", "fake-model")
_START_S = 10.0


@dataclass(frozen=True)
class ServedModel:
    """A model the server has. Sizes in tokens."""

    id: str
    window: int = 200_000
    max_output: int = 64_000
    vision: bool = True


@dataclass
class SeenRequest:
    """One request to ``/v1/messages``, as it came. ``refused`` is the sentence when the server refused it."""

    number: int
    body: dict[str, Any]
    headers: dict[str, str]
    usage: Usage = field(default_factory=Usage)
    refused: str | None = None

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages that were sent."""
        return self.body.get("messages") or []

    @property
    def last_text(self) -> str:
        """The text of the last message, tool results left out."""
        content = self.messages[-1]["content"] if self.messages else ""
        if isinstance(content, str):
            return content
        return "\n\n".join(block["text"] for block in content if block.get("type") == "text")


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
        self.models = {model.id: model for model in served}
        self.keys = None if keys is None else frozenset(keys)
        self.models_api = models_api
        self.answers = dict(answers or {})
        self.requests: list[SeenRequest] = []
        self.paths: list[str] = []
        self.url = ""
        self._accountant = Accountant(count=count, now=now)
        self._count = count
        self._script: Callable[[SeenRequest], Any] | None = None
        self._queue: list[Any] = []
        self._issued: dict[str, list[dict[str, Any]]] = {}
        self._ids = 0
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._stopped: asyncio.Event | None = None

    # -- for the test --------------------------------------------------------------------------------------------------

    def script(self, answers: Any) -> None:
        """Set what is answered next: a list of answers, one a request, or a function of the :class:`SeenRequest`."""
        with self._lock:
            self._script = answers if callable(answers) else None
            self._queue = [] if callable(answers) else list(answers)

    @property
    def refusals(self) -> list[str]:
        """The sentences of all refusals: empty when every request was valid (P6)."""
        return [request.refused for request in self.requests if request.refused is not None]

    @property
    def unanswered(self) -> int:
        """How many scripted answers are left."""
        return len(self._queue)

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
        with self._lock:
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
        seen = SeenRequest(0, {}, {name.lower(): value for name, value in request.headers.items()})
        with self._lock:
            self.requests.append(seen)
            seen.number = len(self.requests)
        try:
            turns, model = await self._admit(request, seen)
        except RefusalError as refusal:
            seen.refused = refusal.message
            raise
        answer = as_reply(self._next(seen))
        if isinstance(answer, Drop):
            assert request.transport is not None
            request.transport.abort()
            return _error(500, "api_error", "dropped")
        if isinstance(answer, Refuse):
            return _refusal(answer)
        if answer.delay_s:
            await asyncio.sleep(answer.delay_s)
        answer = self._with_ids(answer)
        usage = self._accountant.measure(seen.body, turns)
        output = self._output(answer) if answer.output_tokens is None else answer.output_tokens
        seen.usage = Usage(usage.input, usage.cache_read, usage.cache_write, output)
        self._remember(answer)
        message_id = f"msg_fake{seen.number:06d}"
        if not seen.body.get("stream"):
            from aiohttp import web

            return web.json_response(events.message(answer, message_id=message_id, model=model, usage=seen.usage))
        return await self._stream(request, answer, list(events.stream(answer, message_id=message_id, model=model, usage=seen.usage)))

    async def _stream(self, request: web.Request, reply: Reply, planned: list[dict[str, Any]]) -> web.StreamResponse:
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

    async def _admit(self, request: web.Request, seen: SeenRequest) -> tuple[list[validation.Turn], str]:
        validation.check_headers(seen.headers, keys=self.keys)
        seen.body = await _json_body(request)
        turns = validation.check_body(seen.body)
        model = self._model(seen.body["model"])
        self._check_thinking(turns, enabled=(seen.body.get("thinking") or {}).get("type") in {"enabled", "adaptive"})
        self._check_sizes(seen.body, turns, model)
        return turns, model.id

    def _model(self, name: str) -> ServedModel:
        model = self.models.get(name)
        if model is None:
            raise RefusalError(f"model: {name}", status=404, kind="not_found_error")
        return model

    def _check_sizes(self, body: dict[str, Any], turns: list[validation.Turn], model: ServedModel) -> None:
        wanted = body["max_tokens"]
        if wanted > model.max_output:
            raise RefusalError(f"max_tokens: {wanted} > {model.max_output}, which is the maximum allowed number of output tokens for {model.id}")
        tokens = self._accountant.tokens(body, turns)
        if tokens > model.window:
            raise RefusalError(f"prompt is too long: {tokens} tokens > {model.window} maximum")
        if tokens + wanted > model.window:
            raise RefusalError(
                f"input length and `max_tokens` exceed context limit: {tokens} + {wanted} > {model.window}, decrease input length or `max_tokens` and try again"
            )

    def _check_thinking(self, turns: list[validation.Turn], *, enabled: bool) -> None:
        for turn in turns:
            for position, block in enumerate(turn.content):
                if block["type"] == "thinking" and block["signature"] != replies.sign(block["thinking"]):
                    raise RefusalError(f"messages.{turn.index}.content.{position}: Invalid `signature` in `thinking` block")
        assistants = [turn for turn in turns if turn.role == "assistant"]
        latest = assistants[-1] if assistants else None
        calls = [block["id"] for block in latest.content if block["type"] == "tool_use"] if latest else []
        if latest is None or not calls:
            return
        sent = [block for block in latest.content if block["type"] in {"thinking", "redacted_thinking"}]
        issued = [block for tool_id in calls if tool_id in self._issued for block in self._issued[tool_id]]
        if any(tool_id in self._issued for tool_id in calls) and sent != _unique(issued):
            raise RefusalError(
                f"messages.{latest.index}: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. "
                "These blocks must remain as they were in the original response."
            )
        if enabled and latest.content[0]["type"] not in {"thinking", "redacted_thinking"}:
            raise RefusalError(
                f"messages.{latest.index}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{latest.content[0]['type']}`. "
                "When `thinking` is enabled, a final `assistant` message must start with a thinking block."
            )

    def _next(self, seen: SeenRequest) -> Any:
        with self._lock:
            script, queue = self._script, self._queue
            if script is None and queue:
                answer = queue.pop(0)
                return answer(seen) if callable(answer) else answer
        answer = script(seen) if script is not None else None
        return Refuse(400, "invalid_request_error", f"The fake server has no answer scripted for request {seen.number}.") if answer is None else answer

    def _with_ids(self, reply: Reply) -> Reply:
        if reply.events is not None or isinstance(reply.content, str):
            return reply
        content: list[dict[str, Any]] = []
        for block in reply.blocks:
            if block.get("type") == "tool_use" and "id" not in block:
                with self._lock:
                    self._ids += 1
                    block["id"] = f"toolu_fake{self._ids:06d}"
            content.append(block)
        return Reply(**{**reply.__dict__, "content": content})

    def _remember(self, reply: Reply) -> None:
        thoughts = [block for block in reply.blocks if block.get("type") in {"thinking", "redacted_thinking"}]
        for block in reply.blocks:
            if block.get("type") == "tool_use":
                self._issued[str(block.get("id"))] = thoughts

    def _output(self, reply: Reply) -> int:
        texts = [block.get("text") or block.get("thinking") or json.dumps(block.get("input", ""), ensure_ascii=False) for block in reply.blocks]
        return 1 + sum(self._count(value) for value in texts)

    async def _count_tokens(self, request: web.Request) -> web.StreamResponse:
        from aiohttp import web

        validation.check_headers({name.lower(): value for name, value in request.headers.items()}, keys=self.keys)
        body = await _json_body(request)
        turns = validation.check_body(body, counting=True)
        self._model(body["model"])
        return web.json_response({"input_tokens": self._accountant.tokens(body, turns)})

    def _describe(self, name: str) -> web.StreamResponse:
        from aiohttp import web

        if name:
            return web.json_response(_model_json(self._model(name)))
        data = [_model_json(model) for model in self.models.values()]
        return web.json_response({"data": data, "has_more": False, "first_id": data[0]["id"] if data else None, "last_id": data[-1]["id"] if data else None})


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


async def _break(request: web.Request, response: web.StreamResponse, broken: replies.Break) -> bool:
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


def _model_json(model: ServedModel) -> dict[str, Any]:
    return {
        "type": "model",
        "id": model.id,
        "display_name": model.id,
        "created_at": "2025-01-01T00:00:00Z",
        "lifecycle": "active",
        "max_input_tokens": model.window,
        "max_tokens": model.max_output,
        "capabilities": {"image_input": {"supported": model.vision}},
    }


def _unique(blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for block in blocks:
        if block not in found:
            found.append(block)
    return found
