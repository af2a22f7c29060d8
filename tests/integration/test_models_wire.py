"""The client over real HTTP against the strict server: what the SDK leaves unraised or half-done is caught (D11, D7, A3)."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from memflush_jupyter.clock import FixedClock
from memflush_jupyter.config import MemFlush
from memflush_jupyter.errors import ModelError
from memflush_jupyter.models.client import ModelClient, ModelReply, ModelRequest, Retry, TextPiece, ToolPiece
from memflush_jupyter.testing import (
    Break,
    Drop,
    FakeMessagesServer,
    Refuse,
    Reply,
    bad_key,
    internal_error,
    no_credit,
    no_model,
    overloaded,
    rate_limited,
    text,
    thinking,
    too_large,
    too_long,
    tool_use,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

SECRET = "sk-ant-test-0123456789abcdef"  # noqa: S105 - opens nothing
TOOLS = [
    {"name": "f", "description": "d", "input_schema": {"type": "object", "properties": {"a": {"type": "integer"}}}},
    {"name": "memory_write", "input_schema": {"type": "object", "properties": {"notes": {"type": "array"}}, "required": ["notes"]}},
]
CLAUDE, LOCAL = "anthropic/claude-sonnet-4-5", "local/fake-model"


@pytest.fixture(scope="module")
def running() -> Iterator[FakeMessagesServer]:
    with FakeMessagesServer() as server:
        yield server


@pytest.fixture
def server(running: FakeMessagesServer) -> FakeMessagesServer:
    running.requests.clear()
    running.paths.clear()
    running.answers.clear()
    running.models_api = True
    running.script([])
    return running


def make_client(url: str, **options: Any) -> ModelClient:
    options = {"max_retry_wait_s": 0.01, "request_timeout_s": 10.0, **options}
    config = MemFlush(base_url=url, **options)
    return ModelClient(config, clock=FixedClock("2026-01-15T09:00"), environ={"ANTHROPIC_API_KEY": SECRET, "ANTHROPIC_BASE_URL": url})


@pytest.fixture
async def impatient(server: FakeMessagesServer) -> AsyncIterator[ModelClient]:
    """A client that takes 0.2 s without a byte for silence."""
    client = make_client(server.url, request_timeout_s=0.2)
    yield client
    await client.aclose()


@pytest.fixture
async def client(server: FakeMessagesServer) -> AsyncIterator[ModelClient]:
    client = make_client(server.url)
    yield client
    await client.aclose()


def request(model: str = CLAUDE, *messages: Any, tools: Any = TOOLS, **more: Any) -> ModelRequest:
    return ModelRequest(model, [text("Be brief.")], tools, list(messages) or [{"role": "user", "content": [text("hi")]}], 100, **more)


async def collect(client: ModelClient, asked: ModelRequest) -> tuple[list[Any], ModelReply]:
    *pieces, reply = [piece async for piece in client.stream(asked)]
    assert isinstance(reply, ModelReply)
    return pieces, reply


async def failure(client: ModelClient, asked: ModelRequest | None = None) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await collect(client, asked or request())
    return caught.value


async def test_reply_streams_and_ends_with_one_reply(server: FakeMessagesServer, client: ModelClient) -> None:
    server.script([Reply([thinking("hm"), text("Hello there"), tool_use("f", {"a": 1}, id="t1")], delta_chars=6)])
    pieces, reply = await collect(client, request())
    assert [piece.text for piece in pieces if isinstance(piece, TextPiece)] == ["Hello ", "there"]
    assert pieces[-1] == ToolPiece(2, "f")
    assert [block["type"] for block in reply.content] == ["thinking", "text", "tool_use"]
    assert reply.trustworthy
    assert reply.usage.output > 0
    assert server.refusals == []


async def test_reply_can_be_sent_back_as_it_is(server: FakeMessagesServer, client: ModelClient) -> None:
    """P6: signed thinking and tool calls included."""
    server.script([Reply([thinking("hm"), tool_use("f", {"a": 1})]), "done"])
    _, reply = await collect(client, request())
    results = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": reply.tool_calls[0]["id"], "content": "ok"}]}
    await collect(client, request(CLAUDE, {"role": "user", "content": [text("hi")]}, {"role": "assistant", "content": reply.content}, results))
    assert server.refusals == []


async def test_key_goes_as_bearer_and_purpose_never_leaves(server: FakeMessagesServer, client: ModelClient) -> None:
    server.script(["ok"])
    await collect(client, request(purpose="flush"))
    headers = server.requests[0].headers
    assert headers["authorization"] == f"Bearer {SECRET}"
    assert not any("memflush" in name for name in headers)
    assert set(server.requests[0].body) == {"model", "max_tokens", "stream", "tools", "system", "messages"}


async def test_claudes_key_is_never_sent_to_a_local_server(server: FakeMessagesServer, client: ModelClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """P7: the SDK would take it from the environment."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", SECRET)
    server.script(["ok"])
    await collect(client, request(LOCAL))
    assert SECRET not in str(server.requests[0].headers)


# -- what the SDK leaves half-done (D11) -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (Break("cut", 4), "was lost"),
        (Break("close", 4), "closed the stream before the message was complete"),
        (Break("stall", 4), "sent nothing for 0.2 seconds"),
        (Break("error", 4), "overloaded"),
        (Break("garbage", 4), "not JSON"),
    ],
)
async def test_stream_that_breaks_gives_what_arrived_and_a_fault(server: FakeMessagesServer, impatient: ModelClient, broken: Break, words: str) -> None:
    server.script([Reply("Hello there, friend", broken=broken, delta_chars=5)])
    pieces, reply = await collect(impatient, request())
    assert [piece.text for piece in pieces] == ["Hello", " ther"]
    assert reply.content == [text("Hello ther")]
    assert reply.fault is not None
    assert words in reply.fault
    assert not reply.trustworthy
    assert len(server.requests) == 1


@pytest.mark.parametrize("kind", ["cut", "close", "stall", "error", "garbage"])
async def test_no_call_in_a_broken_stream_is_trusted(server: FakeMessagesServer, impatient: ModelClient, kind: Any) -> None:
    """The whole input has arrived, and still."""
    server.script([Reply([tool_use("f", {"a": 123456}, id="t1")], broken=Break(kind, 4), delta_chars=100)])
    _, reply = await collect(impatient, request())
    assert reply.tool_calls[0]["input"] == {"a": 123456}
    assert not reply.trustworthy


async def test_end_without_message_stop_is_noticed(server: FakeMessagesServer, client: ModelClient) -> None:
    server.script([Reply("Hi", broken=Break("close", 5))])
    _, reply = await collect(client, request())
    assert reply.stop_reason == "end_turn"
    assert reply.fault is not None


async def test_malformed_tool_json_is_a_fault_not_an_exception(server: FakeMessagesServer, client: ModelClient) -> None:
    server.script([Reply([tool_use("f", id="t1")], raw_input='{"a": oops}')])
    _, reply = await collect(client, request())
    assert reply.fault == "The input of the call to f is not valid JSON."


async def test_call_truncated_by_max_tokens_is_not_trusted(server: FakeMessagesServer, client: ModelClient) -> None:
    server.script([Reply([tool_use("f", id="t1")], raw_input='{"a": 123}', stop_reason="max_tokens")])
    _, reply = await collect(client, request())
    assert (reply.fault, reply.trustworthy, reply.tool_calls[0]["input"]) == (None, False, {"a": 123})


async def test_ids_that_repeat_in_the_conversation_are_replaced(server: FakeMessagesServer, client: ModelClient) -> None:
    """P6: small servers count from zero in each reply."""
    server.script([[tool_use("f", id="call_0")], [tool_use("f", id="call_0"), tool_use("f", id="call_0")], "done"])
    messages: list[dict[str, Any]] = [{"role": "user", "content": [text("hi")]}]
    for _ in range(3):
        _, reply = await collect(client, request(CLAUDE, *messages))
        results = [{"type": "tool_result", "tool_use_id": block["id"], "content": "ok"} for block in reply.tool_calls]
        messages += [{"role": "assistant", "content": reply.content}, {"role": "user", "content": results}]
    assert server.refusals == []


async def test_server_that_does_not_stream_is_understood(server: FakeMessagesServer, client: ModelClient) -> None:
    message = {"type": "message", "model": "m", "content": [text("Hello")], "stop_reason": "end_turn", "usage": {"input_tokens": 1, "output_tokens": 1}}
    server.answers["/v1/messages"] = message
    pieces, reply = await collect(client, request())
    assert (pieces, reply.text, reply.trustworthy) == ([TextPiece("Hello", 0)], "Hello", True)


async def test_answer_that_is_no_messages_api_is_explained(server: FakeMessagesServer, client: ModelClient) -> None:
    server.script([Refuse(200, raw="<html>", headers={"content-type": "text/html"})])
    error = await failure(client)
    assert error.kind == "invalid"
    assert "text/html" in str(error)


async def test_overflow_event_after_the_headers_is_an_overflow(server: FakeMessagesServer, client: ModelClient) -> None:
    """D7: llama.cpp sends its headers before it has counted the prompt."""
    words = "request (20000 tokens) exceeds the available context size (16384 tokens), try increasing it"
    server.script([Reply(events=[{"type": "error", "error": {"type": "exceed_context_size_error", "message": words}}])])
    assert (await failure(client)).kind == "overflow"


# -- errors as sentences -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (bad_key(), "bad_key"),
        (no_model("claude-sonnet-4-5"), "unknown_model"),
        (no_credit(), "no_credit"),
        (Refuse(402, "billing_error", "pay"), "no_credit"),
        (too_long(210_000, 200_000), "overflow"),
        (too_large(), "overflow"),
        (Refuse(403, "permission_error", "no"), "bad_key"),
        (Refuse(400, "invalid_request_error", "messages.0: bad"), "invalid"),
    ],
)
async def test_what_cannot_pass_is_raised_at_once(server: FakeMessagesServer, client: ModelClient, answer: Refuse, kind: str) -> None:
    server.script([answer, "never asked for"])
    error = await failure(client)
    assert error.kind == kind
    assert SECRET not in str(error)
    assert len(server.requests) == 1


async def test_strict_servers_own_overflow_is_recognised(server: FakeMessagesServer, client: ModelClient) -> None:
    """D7."""
    error = await failure(client, request(CLAUDE, {"role": "user", "content": [text("word " * 250_000)]}))
    assert error.kind == "overflow"
    assert "does not fit its context window" in str(error)


async def test_no_server_is_said_to_be_no_network() -> None:
    client = make_client("http://127.0.0.1:9", max_retries=0)
    error = await failure(client, request(LOCAL))
    assert error.kind == "no_network"
    assert "No server answers at http://127.0.0.1:9" in str(error)
    await client.aclose()


async def test_silence_before_the_headers_is_a_timeout_and_not_repeated(server: FakeMessagesServer, impatient: ModelClient) -> None:
    server.script([Reply("late", delay_s=2.0), "again"])
    error = await failure(impatient)
    assert (error.kind, len(server.requests)) == ("timeout", 1)


# -- retries -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "first",
    [
        overloaded(),
        internal_error(),
        rate_limited(),
        Refuse(503, "unavailable_error", "Loading model"),
        Drop(),
        Reply("x", broken=Break("cut", 1)),
        Reply("x", broken=Break("close", 0)),
        Reply("x", broken=Break("error", 1)),
    ],
)
async def test_what_may_pass_is_tried_again_while_nothing_has_arrived(server: FakeMessagesServer, client: ModelClient, first: Any) -> None:
    server.script([first, "Hello"])
    pieces, reply = await collect(client, request())
    assert [type(piece) for piece in pieces] == [Retry, TextPiece]
    assert pieces[0].attempt == 1
    assert pieces[0].sentence
    assert reply.text == "Hello"
    assert len(server.requests) == 2


async def test_tries_end(server: FakeMessagesServer) -> None:
    client = make_client(server.url, max_retries=2)
    server.script(lambda _seen: overloaded())
    assert (await failure(client)).kind == "overloaded"
    assert len(server.requests) == 3
    await client.aclose()


async def test_pause_the_server_asks_for_is_capped_and_shown(server: FakeMessagesServer, client: ModelClient) -> None:
    """The SDK would sleep the hour."""
    server.script([rate_limited(3600), "Hello"])
    pieces, _ = await collect(client, request())
    assert pieces[0].wait_s == 0.01
    assert "limit" in pieces[0].sentence


async def test_pause_ends_at_once_when_cancelled(server: FakeMessagesServer) -> None:
    """P10."""
    client = make_client(server.url, max_retry_wait_s=3600.0)
    server.script([rate_limited(3600)])
    paused = asyncio.Event()

    async def turn() -> None:
        async for piece in client.stream(request()):
            assert isinstance(piece, Retry)
            paused.set()

    task = asyncio.create_task(turn())
    await paused.wait()
    began = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - began < 0.5
    await client.aclose()


@pytest.mark.parametrize("delay", ["headers", "events"])
async def test_cancelling_a_stream_leaves_the_client_usable(server: FakeMessagesServer, client: ModelClient, delay: str) -> None:
    """P10: interrupted while waiting or while streaming."""
    server.script([Reply("Hello there, friend", delay_s=5.0 if delay == "headers" else 0.0, event_delay_s=0.1), "again"])
    task = asyncio.create_task(collect(client, request()))
    await asyncio.sleep(0.15)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    _, reply = await collect(client, request())
    assert reply.text == "again"


async def test_stream_left_early_is_closed(server: FakeMessagesServer, client: ModelClient) -> None:
    server.script([Reply("Hello there, friend", event_delay_s=0.02), "again"])
    stream = client.stream(request())
    await anext(stream)
    await stream.aclose()
    _, reply = await collect(client, request())
    assert reply.text == "again"


async def test_connection_is_used_again(server: FakeMessagesServer, client: ModelClient) -> None:
    server.script(["one", "two", "three"])
    for _ in range(3):
        await collect(client, request())
    http = client._connections[client.resolve(CLAUDE)].sdk._client
    assert len(http._transport._pool.connections) == 1


# -- prompt cache ------------------------------------------------------------------------------------------------------


async def test_growing_conversation_is_served_from_the_cache(server: FakeMessagesServer, client: ModelClient) -> None:
    """Also when one round brings more blocks than the provider's lookback of 20."""
    server.script(lambda seen: [tool_use("f", {"a": index}) for index in range(15)] if seen.number % 3 else "done")
    messages: list[dict[str, Any]] = [{"role": "user", "content": [text("data " * 3000)]}]
    for _ in range(9):
        _, reply = await collect(client, request(CLAUDE, *messages))
        results = [{"type": "tool_result", "tool_use_id": block["id"], "content": "result " * 5} for block in reply.tool_calls]
        messages += [{"role": "assistant", "content": reply.content}, {"role": "user", "content": results or [text("go on")]}]
    assert server.refusals == []
    for before, after in zip(server.requests, server.requests[1:], strict=False):
        assert after.usage.cache_read == before.usage.cache_read + before.usage.cache_write
        assert after.usage.input == 0


async def test_flush_on_the_main_prefix_reads_all_of_it(server: FakeMessagesServer, client: ModelClient) -> None:
    server.script(lambda _seen: "done")
    history = [{"role": "user", "content": [text("figures " * 3000)]}]
    await collect(client, request(CLAUDE, *history))
    extended = [*history, {"role": "assistant", "content": [text("done")]}, {"role": "user", "content": [text("Save what matters.")]}]
    await collect(client, request(CLAUDE, *extended, purpose="flush"))
    main, flush = (seen.usage for seen in server.requests)
    assert flush.cache_read == main.cache_write > 3000


# -- calls written as text (C7) ----------------------------------------------------------------------------------------

WRITTEN = '```json\n{"name": "memory_write", "arguments": {"notes": ["a"]}}\n```'


async def test_call_written_as_text_by_a_local_model_is_understood(server: FakeMessagesServer, client: ModelClient) -> None:
    server.script([Reply(f"I will save this.\n\n{WRITTEN}", delta_chars=3)])
    pieces, reply = await collect(client, request(LOCAL))
    assert "".join(piece.text for piece in pieces if isinstance(piece, TextPiece)).strip() == "I will save this."
    assert (reply.from_text, reply.stop_reason, reply.trustworthy) == (True, "tool_use", True)
    assert [(block["name"], block["input"]) for block in reply.tool_calls] == [("memory_write", {"notes": ["a"]})]


async def test_same_written_call_twice_has_two_ids(server: FakeMessagesServer, client: ModelClient) -> None:
    """P6."""
    server.script([WRITTEN, WRITTEN, "done"])
    messages: list[dict[str, Any]] = [{"role": "user", "content": [text("hi")]}]
    for _ in range(3):
        _, reply = await collect(client, request(LOCAL, *messages))
        results = [{"type": "tool_result", "tool_use_id": block["id"], "content": "ok"} for block in reply.tool_calls]
        messages += [{"role": "assistant", "content": reply.content}, {"role": "user", "content": results}]
    assert server.refusals == []


async def test_json_written_by_claude_is_just_text(server: FakeMessagesServer, client: ModelClient) -> None:
    server.script([WRITTEN])
    pieces, reply = await collect(client, request(CLAUDE))
    assert "".join(piece.text for piece in pieces) == WRITTEN
    assert reply.tool_calls == []


async def test_cut_reply_shows_what_was_held_back(server: FakeMessagesServer, client: ModelClient) -> None:
    server.script([Reply(WRITTEN, broken=Break("close", 5), delta_chars=10)])
    pieces, reply = await collect(client, request(LOCAL))
    assert "".join(piece.text for piece in pieces) == reply.text == WRITTEN[:30]
    assert reply.tool_calls == []


# -- what is known of a model (A3) -------------------------------------------------------------------------------------


async def test_window_comes_from_the_models_api_and_is_asked_once(server: FakeMessagesServer, client: ModelClient) -> None:
    first = await client.info(CLAUDE)
    assert (first.window, first.window_source, first.max_output, first.vision) == (200_000, "models-api", 64_000, True)
    assert first.price is not None
    assert await client.info("claude-sonnet-4-5") is first
    assert server.paths == ["GET /v1/models/claude-sonnet-4-5"]


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ({"/props": {"default_generation_settings": {"n_ctx": 16384}, "modalities": {"vision": True}}}, (16384, "server", True)),
        ({"/v1/models": {"data": [{"id": "x.gguf", "meta": {"n_ctx": 4096}}]}}, (4096, "server", False)),
        ({"/v1/models": {"data": [{"id": "fake-model", "max_model_len": 8192}]}}, (8192, "server", False)),
        ({"/api/ps": {"models": [{"name": "fake-model:latest", "context_length": 9000}]}, "/api/show": {}}, (9000, "server", False)),
        ({"/api/ps": {"models": []}, "/api/show": {"parameters": "num_ctx 12000", "capabilities": ["vision"]}}, (12000, "server", True)),
        ({"/api/v0/models/fake-model": {"id": "fake-model", "loaded_context_length": 7000}}, (7000, "server", False)),
        ({}, (32_768, "default", False)),
    ],
)
async def test_window_comes_from_a_local_servers_own_report(server: FakeMessagesServer, client: ModelClient, answers: Any, expected: Any) -> None:
    server.models_api = False
    server.answers.update(answers)
    info = await client.info(LOCAL)
    assert (info.window, info.window_source, info.vision) == expected
    assert (info.warning is not None) == (expected[1] == "default")


async def test_configured_window_wins_and_a_dead_server_is_asked_again_later() -> None:
    client = make_client("http://127.0.0.1:9", window=5000)
    info = await client.info(LOCAL)
    assert (info.window, info.window_source) == (5000, "config")
    assert client._infos == {}
    await client.aclose()


# -- other wires -------------------------------------------------------------------------------------------------------


class Canned(httpx2.AsyncBaseTransport):
    """Answers every request with one stream."""

    def __init__(self) -> None:
        self.seen: list[httpx2.Request] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.seen.append(request)
        body = (
            b'event: content_block_delta\ndata: {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "canned"}}\n\n'
            b'event: message_delta\ndata: {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}\n\n'
            b'event: message_stop\ndata: {"type": "message_stop"}\n\n'
        )
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=body, request=request)


@pytest.mark.parametrize("name", ["anthropic", CLAUDE])
async def test_transport_replaces_the_network_and_needs_no_key(name: str) -> None:
    canned = Canned()
    client = ModelClient(MemFlush(), clock=FixedClock("2026-01-15T09:00"), environ={}, transports={name: canned})
    _, reply = await collect(client, request())
    assert (reply.text, str(canned.seen[0].url)) == ("canned", "https://api.anthropic.com/v1/messages")
    await client.aclose()


async def test_offline_model_is_told_the_purpose() -> None:
    canned = Canned()
    client = ModelClient(MemFlush(), clock=FixedClock("2026-01-15T09:00"), environ={}, transports={"offline": canned})
    assert client.default_model() == "offline/analyst"
    await collect(client, request("offline/analyst", purpose="flush"))
    assert canned.seen[0].headers["x-memflush-purpose"] == "flush"
    info = await client.info("offline/analyst")
    assert (info.window, info.window_source, info.offline, info.vision) == (16384, "config", True, False)
    await client.aclose()


async def test_key_that_no_header_can_hold_is_a_wrong_key() -> None:
    client = ModelClient(MemFlush(), clock=FixedClock("2026-01-15T09:00"), environ={"ANTHROPIC_API_KEY": "schlüssel"})
    error = await failure(client)
    assert error.kind == "bad_key"
    assert "schlüssel" not in str(error)


def test_client_may_be_used_on_one_loop_after_another(server: FakeMessagesServer) -> None:
    """A shell door runs one loop per command."""
    client = make_client(server.url)
    server.script(["one", "two"])

    async def once() -> str:
        _, reply = await collect(client, request())
        await client.aclose()
        return reply.text

    assert [asyncio.run(once()), asyncio.run(once())] == ["one", "two"]


async def test_nothing_of_a_request_is_lost_on_the_way(server: FakeMessagesServer, client: ModelClient) -> None:
    server.script(["ok"])
    strange = "é😀 \u2028 \x00\x1f \ud800 end"
    await collect(client, request(CLAUDE, {"role": "user", "content": [text(strange)]}))
    assert server.requests[0].last_text == strange.replace("\ud800", "\ufffd")
    assert server.refusals == []
