"""The offline model under the SDK's own client (issue point 3, P6, P9)."""

from __future__ import annotations

import anthropic
import httpx2
import pytest

from memflush_jupyter.models.faults import Served, from_status
from memflush_jupyter.models.offline.transport import OfflineTransport

TOOLS = [
    {"name": "inspect_variables", "description": "look", "input_schema": {"type": "object", "properties": {}}},
    {"name": "memory_write", "description": "save", "input_schema": {"type": "object", "properties": {}}, "cache_control": {"type": "ephemeral"}},
]
SYSTEM = [{"type": "text", "text": "You analyse data. " * 30, "cache_control": {"type": "ephemeral"}}]


def words(text):
    return len(text.split())


@pytest.fixture
async def client():
    transport = OfflineTransport(2000, count=words)
    async with httpx2.AsyncClient(transport=transport) as http:
        yield anthropic.AsyncAnthropic(api_key="none", base_url="http://offline.invalid", http_client=http, max_retries=0)


async def stream(client, text, **more):
    async with client.messages.stream(model="analyst", max_tokens=500, messages=[{"role": "user", "content": text}], **more) as events:
        kinds = [event.type async for event in events]
        return kinds, await events.get_final_message()


async def test_a_stream_opens_and_closes_every_block_and_ends_with_message_stop(client):
    kinds, message = await stream(client, "describe the data", tools=TOOLS)
    assert kinds[0] == "message_start"
    assert kinds[-1] == "message_stop"
    assert "message_delta" in kinds
    assert kinds.count("content_block_start") == kinds.count("content_block_stop") == 2
    assert kinds.count("input_json") >= 1
    assert message.stop_reason == "tool_use"
    assert [block.type for block in message.content] == ["text", "tool_use"]
    assert message.content[1].input == {}


async def test_streamed_and_plain_answers_are_the_same(client):
    _, streamed = await stream(client, "help")
    plain = await client.messages.create(model="analyst", max_tokens=500, messages=[{"role": "user", "content": "help"}])
    assert streamed.content[0].text == plain.content[0].text
    assert (streamed.id, streamed.usage.output_tokens) == (plain.id, plain.usage.output_tokens)
    assert plain.usage.output_tokens == words(plain.content[0].text)


async def test_tool_input_survives_streaming_in_pieces(client):
    note = "the “Größe” column is in cm, not 英寸; " * 12
    _, message = await stream(client, f"remember that {note}", tools=TOOLS)
    assert message.content[0].name == "memory_write"
    assert message.content[0].input["notes"][0].startswith("The “Größe” column is in cm, not 英寸;")


async def test_the_second_request_reads_the_marked_prefix_from_the_cache(client):
    _, first = await stream(client, "hello", system=SYSTEM, tools=TOOLS)
    _, second = await stream(client, "thanks", system=SYSTEM, tools=TOOLS)
    assert first.usage.cache_read_input_tokens == 0
    assert first.usage.cache_creation_input_tokens == second.usage.cache_read_input_tokens > 90
    assert second.usage.cache_creation_input_tokens == 0
    assert second.usage.input_tokens == first.usage.input_tokens  # one word each


async def test_a_changed_system_prompt_is_not_read_from_the_cache(client):
    await stream(client, "hello", system=SYSTEM)
    _, other = await stream(client, "hello", system=[{**SYSTEM[0], "text": "Something else."}])
    assert other.usage.cache_read_input_tokens == 0


async def test_without_a_breakpoint_nothing_is_cached(client):
    for _ in range(2):
        _, message = await stream(client, "hello")
        assert (message.usage.cache_read_input_tokens, message.usage.cache_creation_input_tokens) == (0, 0)


async def test_counting_tokens_gives_what_the_request_then_measures(client):
    counted = await client.messages.count_tokens(model="analyst", system=SYSTEM, tools=TOOLS, messages=[{"role": "user", "content": "hello"}])
    _, message = await stream(client, "hello", system=SYSTEM, tools=TOOLS)
    usage = message.usage
    assert counted.input_tokens == usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens


async def test_the_models_endpoint_gives_the_window(client):
    """A3: the window comes from the Models API."""
    assert (await client.models.retrieve("analyst")).max_input_tokens == 2000
    assert [model.id async for model in client.models.list()] == ["analyst"]


async def test_a_prompt_beyond_the_window_is_refused_with_both_sizes(client):
    with pytest.raises(anthropic.BadRequestError, match=r"prompt is too long: \d+ tokens > 2000 maximum"):
        await client.messages.create(model="analyst", max_tokens=10, messages=[{"role": "user", "content": "word " * 2001}])


async def test_what_is_not_served_is_refused_as_the_api_refuses(client):
    with pytest.raises(anthropic.NotFoundError):
        await client.models.retrieve("claude")
    with pytest.raises(anthropic.BadRequestError, match="at least one message"):
        await client.messages.create(model="analyst", max_tokens=10, messages=[])


async def test_the_purpose_header_selects_the_side_branch(client):
    message = await client.messages.create(
        model="analyst",
        max_tokens=100,
        tools=TOOLS,
        messages=[{"role": "user", "content": "Save what matters."}],
        extra_headers={"x-memflush-purpose": "flush"},
    )
    assert message.content[0].text == "NO_REPLY"


async def test_the_same_requests_give_the_same_bytes():
    """P9: outputs are the same on any run."""
    bodies = []
    for _ in range(2):
        async with httpx2.AsyncClient(transport=OfflineTransport(count=words)) as http:
            body = {"model": "analyst", "max_tokens": 100, "stream": True, "tools": TOOLS, "messages": [{"role": "user", "content": "describe df"}]}
            bodies.append((await http.post("http://offline.invalid/v1/messages", json=body)).content)
    assert bodies[0] == bodies[1]


async def test_a_fault_of_the_offline_model_is_told_as_its_own_and_not_as_a_server_that_is_away(client, monkeypatch, caplog):
    """P10: the person reads what failed and what to do; the log has the rest."""

    def fail(*_):
        raise KeyError("column")

    monkeypatch.setattr("memflush_jupyter.models.offline.transport.respond", fail)
    with pytest.raises(anthropic.BadRequestError) as caught:
        await stream(client, "describe the data")
    served = Served("offline/analyst", "http://offline.invalid", local=True)
    sentence = str(from_status(400, "invalid_request_error", caught.value.body["error"]["message"], served))
    assert sentence.startswith("The offline model refused the request. It said: It failed on this request (KeyError)")
    assert "offline.invalid" not in sentence
    assert "The offline model failed" in caplog.text
