"""The offline model as an HTTP transport: the same client, the same events, and no network.

Serves the part of the Messages API that the product uses. Everything is a function of the request and of the prefixes
cached by earlier ones, so that the same notebook gives the same outputs on any day.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
from typing import TYPE_CHECKING, Any

import httpx2

from memflush_jupyter.models.offline.analyst import respond
from memflush_jupyter.models.offline.prompt_cache import Measured, PromptCache

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

MODEL = "analyst"
MAX_OUTPUT = 4096
_PIECE = re.compile(r"\s*\S+\s*")
_WORDS_A_DELTA = 6
_NOT_FOUND = 404
_TOO_LARGE = 400

_log = logging.getLogger("memflush_jupyter")


class OfflineTransport(httpx2.AsyncBaseTransport):
    """Answers Messages API requests with the rule-based analyst.

    Args:
        window: context window in tokens, as told by the models endpoint and enforced on requests.
        count: tokens of a text. What the client measures is what this says.
    """

    def __init__(self, window: int = 16384, *, count: Callable[[str], int]) -> None:
        self._window = window
        self._count = count
        self._cache = PromptCache(count)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Route a request; unknown paths give the API's own kind of 404."""
        path = request.url.path.removesuffix("/")
        if request.method == "GET" and path.endswith("/v1/models"):
            model = self._model()
            return _json(request, 200, {"data": [model], "first_id": MODEL, "last_id": MODEL, "has_more": False})
        if request.method == "GET" and re.search(rf"/v1/models/(?:offline/)?{MODEL}$", path):
            return _json(request, 200, self._model())
        if request.method == "POST" and path.endswith(("/v1/messages", "/v1/messages/count_tokens")):
            try:
                body = json.loads(await request.aread())
            except ValueError:
                return _error(request, 400, "invalid_request_error", "The request body is not JSON.")
            if not isinstance(body, dict) or not body.get("messages"):
                return _error(request, 400, "invalid_request_error", "messages: at least one message is required")
            if path.endswith("count_tokens"):
                return _json(request, 200, {"input_tokens": self._cache.total(body)})
            return self._answer(request, body)
        return _error(request, _NOT_FOUND, "not_found_error", f"The offline model serves no {request.method} {path}.")

    def _model(self) -> dict[str, Any]:
        return {
            "type": "model",
            "id": MODEL,
            "display_name": "Offline analyst (rule-based, no language model)",
            "created_at": "1970-01-01T00:00:00Z",
            "lifecycle": "active",
            "max_input_tokens": self._window,
            "max_tokens": min(MAX_OUTPUT, self._window),
        }

    def _answer(self, request: httpx2.Request, body: dict[str, Any]) -> httpx2.Response:
        total = self._cache.total(body)
        if total > self._window:
            return _error(request, _TOO_LARGE, "invalid_request_error", f"prompt is too long: {total} tokens > {self._window} maximum")
        measured = self._cache.measure(body)
        try:
            content, stop_reason = respond(body, request.headers.get("x-memflush-purpose", "turn"))
        except Exception as error:  # noqa: BLE001 - it must not look like a server that is away; the log has the rest
            _log.exception("The offline model failed")
            said = f"It failed on this request ({type(error).__name__}), which is a fault of the offline model. Say it in other words, or connect a model."
            return _error(request, 400, "invalid_request_error", said)
        message = self._message(body, content, stop_reason, measured)
        if not body.get("stream"):
            return _json(request, 200, message)
        headers = {"content-type": "text/event-stream; charset=utf-8", "request-id": _request_id(message)}
        return httpx2.Response(200, headers=headers, stream=_Events(events(message)), request=request)

    def _message(self, body: dict[str, Any], content: list[dict[str, Any]], stop_reason: str, measured: Measured) -> dict[str, Any]:
        output = sum(self._count(str(block.get("text") or json.dumps(block.get("input"), ensure_ascii=False))) for block in content)
        seed = json.dumps([len(body["messages"]), content], sort_keys=True, ensure_ascii=False)
        return {
            "id": "msg_" + hashlib.sha256(seed.encode("utf-8", "surrogatepass")).hexdigest()[:24],
            "type": "message",
            "role": "assistant",
            "model": MODEL,
            "content": content,
            "stop_reason": stop_reason,
            "stop_sequence": None,
            "usage": {
                "input_tokens": measured.input,
                "cache_read_input_tokens": measured.cache_read,
                "cache_creation_input_tokens": measured.cache_write,
                "output_tokens": max(1, output),
            },
        }


class _Events(httpx2.AsyncByteStream):
    """Server-sent events as a response body."""

    def __init__(self, source: Iterator[bytes]) -> None:
        self._source = source

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._source:
            yield piece


def events(message: dict[str, Any]) -> Iterator[bytes]:
    """A whole message as the API would stream it: texts in deltas of a few words, tool inputs in pieces of JSON."""
    usage = message["usage"]
    start = {**message, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
    yield _event("message_start", {"message": start})
    for index, block in enumerate(message["content"]):
        if block["type"] == "tool_use":
            opening, deltas = {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": piece} for piece in _json_pieces(block["input"])]
        else:
            opening, deltas = {**block, "text": ""}, [{"type": "text_delta", "text": piece} for piece in _text_pieces(block["text"])]
        yield _event("content_block_start", {"index": index, "content_block": opening})
        for delta in deltas:
            yield _event("content_block_delta", {"index": index, "delta": delta})
        yield _event("content_block_stop", {"index": index})
    yield _event("message_delta", {"delta": {"stop_reason": message["stop_reason"], "stop_sequence": None}, "usage": usage})
    yield _event("message_stop", {})


def _text_pieces(text: str) -> list[str]:
    words = _PIECE.findall(text) or [text]
    return ["".join(words[at : at + _WORDS_A_DELTA]) for at in range(0, len(words), _WORDS_A_DELTA)]


def _json_pieces(value: Any, size: int = 60) -> list[str]:
    text = json.dumps(value, ensure_ascii=False)
    return [text[at : at + size] for at in range(0, len(text), size)]


def _event(name: str, data: dict[str, Any]) -> bytes:
    body = json.dumps({"type": name, **data}, ensure_ascii=False)
    return f"event: {name}\ndata: {body}\n\n".encode("utf-8", "backslashreplace")


def _request_id(message: dict[str, Any]) -> str:
    return "req_" + str(message["id"])[4:]


def _json(request: httpx2.Request, status: int, body: dict[str, Any]) -> httpx2.Response:
    return httpx2.Response(status, json=body, headers={"request-id": "req_offline"}, request=request)


def _error(request: httpx2.Request, status: int, kind: str, sentence: str) -> httpx2.Response:
    return _json(request, status, {"type": "error", "error": {"type": kind, "message": sentence}, "request_id": "req_offline"})
