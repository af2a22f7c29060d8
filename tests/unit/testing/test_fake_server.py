"""The fake server does what the script says, over real HTTP."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from memflush_jupyter.testing import (
    Break,
    Drop,
    FakeMessagesServer,
    Reply,
    ServedModel,
    overloaded,
    rate_limited,
    text,
    thinking,
    tool_use,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

HEADERS = {"x-api-key": "test", "anthropic-version": "2023-06-01"}
TOOLS = [{"name": "f", "input_schema": {"type": "object"}}]


@pytest.fixture(scope="module")
def running() -> Iterator[FakeMessagesServer]:
    with FakeMessagesServer(models=["fake-model", "other-model", ServedModel("small", window=60, max_output=20)]) as server:
        yield server


@pytest.fixture
def server(running: FakeMessagesServer) -> FakeMessagesServer:
    running.requests.clear()
    running.answers.clear()
    running.script([])
    return running


def ask(server: FakeMessagesServer, *messages: Any, headers: dict[str, str] = HEADERS, timeout: float = 5.0, **more: Any) -> httpx2.Response:
    body = {"model": "fake-model", "max_tokens": 10, "messages": list(messages) or [{"role": "user", "content": "hi"}], **more}
    with httpx2.Client(timeout=timeout, verify=False) as client:
        return client.post(f"{server.url}/v1/messages", json=body, headers=headers)


def events(response: httpx2.Response) -> list[dict[str, Any]]:
    return [json.loads(line.removeprefix("data: ")) for line in response.text.splitlines() if line.startswith("data: ")]


def test_scripted_text_is_answered_whole(server: FakeMessagesServer) -> None:
    server.script(["Hello"])
    message = ask(server).json()
    assert (message["content"], message["stop_reason"], message["type"]) == ([text("Hello")], "end_turn", "message")
    assert message["usage"]["input_tokens"] > 0
    assert server.unanswered == 0


def test_streamed_answer_has_the_apis_events(server: FakeMessagesServer) -> None:
    server.script([Reply([thinking("hm"), text("Hello you"), tool_use("f", {"a": 1})], delta_chars=4)])
    response = ask(server, stream=True, tools=TOOLS)
    found = events(response)
    assert response.headers["content-type"].startswith("text/event-stream")
    assert [found[0]["type"], found[1]["type"], found[-2]["type"], found[-1]["type"]] == ["message_start", "ping", "message_delta", "message_stop"]
    deltas = [event["delta"] for event in found if event["type"] == "content_block_delta"]
    assert "".join(delta.get("text", "") for delta in deltas) == "Hello you"
    assert json.loads("".join(delta.get("partial_json", "") for delta in deltas)) == {"a": 1}
    assert found[-2]["delta"]["stop_reason"] == "tool_use"


def test_script_may_be_a_function_of_the_request(server: FakeMessagesServer) -> None:
    server.script(lambda seen: f"{seen.number}: {seen.last_text}")
    assert ask(server, {"role": "user", "content": "one"}).json()["content"][0]["text"] == "1: one"
    assert ask(server, {"role": "user", "content": [text("two")]}).json()["content"][0]["text"] == "2: two"


def test_exhausted_script_says_so(server: FakeMessagesServer) -> None:
    response = ask(server)
    assert response.status_code == 400
    assert "no answer scripted for request 1" in response.json()["error"]["message"]


def test_refused_requests_are_kept_with_the_sentence(server: FakeMessagesServer) -> None:
    response = ask(server, temperature=1)
    assert response.status_code == 400
    assert response.json()["error"] == {"type": "invalid_request_error", "message": "temperature: Extra inputs are not permitted"}
    assert server.refusals == ["temperature: Extra inputs are not permitted"]


def test_refusal_uses_up_no_answer(server: FakeMessagesServer) -> None:
    server.script(["Hello"])
    ask(server, temperature=1)
    assert server.unanswered == 1


@pytest.mark.parametrize(
    ("headers", "status"), [({"anthropic-version": "1"}, 401), ({"x-api-key": "k"}, 400), ({"authorization": "Bearer k", "anthropic-version": "1"}, 200)]
)
def test_key_and_version_are_needed(server: FakeMessagesServer, headers: dict[str, str], status: int) -> None:
    server.script(["Hello"])
    assert ask(server, headers=headers).status_code == status


def test_accepted_keys_can_be_set() -> None:
    with FakeMessagesServer(keys=["right"]) as server:
        response = ask(server)
        assert (response.status_code, response.json()["error"]["type"]) == (401, "authentication_error")


def test_unknown_model_is_not_found(server: FakeMessagesServer) -> None:
    response = ask(server, model="nothing")
    assert (response.status_code, response.json()["error"]) == (404, {"type": "not_found_error", "message": "model: nothing"})


@pytest.mark.parametrize(
    ("words", "wanted", "sentence"),
    [
        (100, 10, "prompt is too long: 107 tokens > 60 maximum"),
        (48, 10, "input length and `max_tokens` exceed context limit: 55 + 10 > 60, decrease input length or `max_tokens` and try again"),
        (1, 21, "max_tokens: 21 > 20, which is the maximum allowed number of output tokens for small"),
    ],
)
def test_sizes_are_refused_in_the_apis_words(server: FakeMessagesServer, words: int, wanted: int, sentence: str) -> None:
    ask(server, {"role": "user", "content": "word" + " word" * (words - 1)}, model="small", max_tokens=wanted)
    assert server.refusals == [sentence]


@pytest.mark.parametrize("raw", [b"{", b'{"a": NaN}', b"\xff", b'{"model": "\\ud800"}', b"[]"])
def test_bodies_that_are_not_json_objects_are_refused(server: FakeMessagesServer, raw: bytes) -> None:
    """Lone surrogates included, as in the real one."""
    with httpx2.Client() as client:
        response = client.post(f"{server.url}/v1/messages", content=raw, headers=HEADERS)
    assert response.status_code == 400
    assert len(server.refusals) == 1


def test_thinking_must_come_back_as_it_was(server: FakeMessagesServer) -> None:
    server.script([Reply([thinking("hm"), tool_use("f", id="t1")])])
    content = ask(server, tools=TOOLS).json()["content"]
    question, results = {"role": "user", "content": "hi"}, {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "ok"}]}
    changed = [{**content[0], "thinking": "changed"}, content[1]]
    assert "Invalid `signature`" in ask(server, question, {"role": "assistant", "content": changed}, results, tools=TOOLS).text
    assert "cannot be modified" in ask(server, question, {"role": "assistant", "content": content[1:]}, results, tools=TOOLS).text
    server.script(["done"])
    assert ask(server, question, {"role": "assistant", "content": content}, results, tools=TOOLS).status_code == 200


def test_thinking_belongs_to_the_model_that_signed_it(server: FakeMessagesServer) -> None:
    """Another model refuses it, and does not miss it where it is left out."""
    server.script([Reply([thinking("hm"), tool_use("f", id="t2")]), "done", "done"])
    content = ask(server, tools=TOOLS).json()["content"]
    question, results = {"role": "user", "content": "hi"}, {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t2", "content": "ok"}]}
    assert "Invalid `signature`" in ask(server, question, {"role": "assistant", "content": content}, results, tools=TOOLS, model="other-model").text
    assert ask(server, question, {"role": "assistant", "content": content[1:]}, results, tools=TOOLS, model="other-model").status_code == 200
    assert ask(server, question, {"role": "assistant", "content": content}, results, tools=TOOLS).status_code == 200


def test_enabled_thinking_must_open_the_last_tool_turn(server: FakeMessagesServer) -> None:
    call = {"role": "assistant", "content": [{"type": "tool_use", "id": "own", "name": "f", "input": {}}]}
    results = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "own", "content": "ok"}]}
    response = ask(server, {"role": "user", "content": "hi"}, call, results, tools=TOOLS, thinking={"type": "adaptive"})
    assert "Expected `thinking` or `redacted_thinking`, but found `tool_use`" in response.text


def test_calls_without_an_id_get_ids_of_their_own(server: FakeMessagesServer) -> None:
    server.script([[tool_use("f"), tool_use("f")], tool_use("f")])
    ids = [block["id"] for _ in range(2) for block in ask(server, tools=TOOLS).json()["content"]]
    assert len(set(ids)) == 3


def test_statuses_and_their_headers_are_scripted(server: FakeMessagesServer) -> None:
    server.script([rate_limited(7), overloaded()])
    first, second = ask(server), ask(server)
    assert (first.status_code, first.headers["retry-after"], first.json()["error"]["type"]) == (429, "7", "rate_limit_error")
    assert second.status_code == 529


def test_dropped_connection_has_no_answer(server: FakeMessagesServer) -> None:
    server.script([Drop()])
    with pytest.raises(httpx2.RemoteProtocolError):
        ask(server)


@pytest.mark.parametrize("after", [0, 1, 4])
def test_stream_is_cut_at_any_point(server: FakeMessagesServer, after: int) -> None:
    server.script([Reply("Hello there", broken=Break("cut", after))])
    with pytest.raises(httpx2.RemoteProtocolError):
        ask(server, stream=True)


@pytest.mark.parametrize("after", [0, 1, 2, 3, 5])
def test_stream_is_closed_at_any_point(server: FakeMessagesServer, after: int) -> None:
    server.script([Reply("Hello there", broken=Break("close", after))])
    found = [event for event in events(ask(server, stream=True)) if event["type"] != "ping"]
    assert len(found) == after
    assert all(event["type"] != "message_stop" for event in found)


def test_error_event_comes_in_the_stream(server: FakeMessagesServer) -> None:
    server.script([Reply("Hello there", broken=Break("error", 3))])
    response = ask(server, stream=True)
    assert response.status_code == 200
    assert events(response)[-1] == {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}


def test_stalled_stream_does_not_hinder_stopping() -> None:
    with FakeMessagesServer() as server:
        server.script([Reply("Hello", broken=Break("stall", 1))])
        with pytest.raises(httpx2.ReadTimeout):
            ask(server, stream=True, timeout=0.1)


def test_broken_tool_json_and_raw_events_are_sent_as_scripted(server: FakeMessagesServer) -> None:
    server.script([Reply([tool_use("f", {"a": 1})], raw_input='{"a": '), Reply(events=[{"type": "odd"}])])
    deltas = [event["delta"]["partial_json"] for event in events(ask(server, stream=True, tools=TOOLS)) if event["type"] == "content_block_delta"]
    assert "".join(deltas) == '{"a": '
    assert events(ask(server, stream=True)) == [{"type": "odd"}]


def test_models_are_listed_and_described(server: FakeMessagesServer) -> None:
    with httpx2.Client() as client:
        listed = client.get(f"{server.url}/v1/models").json()
        one = client.get(f"{server.url}/v1/models/small").json()
        missing = client.get(f"{server.url}/v1/models/none")
    assert [model["id"] for model in listed["data"]] == ["fake-model", "other-model", "small"]
    assert (one["max_input_tokens"], one["max_tokens"]) == (60, 20)
    assert missing.status_code == 404


def test_tokens_are_counted_as_they_are_charged(server: FakeMessagesServer) -> None:
    server.script(["Hello"])
    charged = ask(server).json()["usage"]["input_tokens"]
    with httpx2.Client() as client:
        body = {"model": "fake-model", "messages": [{"role": "user", "content": "hi"}]}
        counted = client.post(f"{server.url}/v1/messages/count_tokens", json=body, headers=HEADERS).json()
    assert counted == {"input_tokens": charged}


def test_local_servers_are_played_by_further_answers(server: FakeMessagesServer) -> None:
    server.answers["/props"] = {"n": 1}
    with httpx2.Client() as client:
        assert client.get(f"{server.url}/props").json() == {"n": 1}
        assert client.get(f"{server.url}/nowhere").status_code == 404


def test_cache_use_is_told_with_the_request(server: FakeMessagesServer) -> None:
    long = {"type": "text", "text": "word " * 2000, "cache_control": {"type": "ephemeral"}}
    server.script(lambda _seen: "ok")
    for _ in range(2):
        ask(server, {"role": "user", "content": [long]})
    first, second = (request.usage for request in server.requests)
    assert first.cache_write > 2000
    assert second.cache_read == first.cache_write


async def test_server_works_as_an_asynchronous_context() -> None:
    async with FakeMessagesServer() as server:
        server.script(["Hello"])
        async with httpx2.AsyncClient() as client:
            body = {"model": "fake-model", "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}]}
            assert (await client.post(f"{server.url}/v1/messages", json=body, headers=HEADERS)).status_code == 200
