"""Limits people can trust: each ends the turn with a sentence and a valid trace, before the request where that can be known (point 8 of the face; H, P6)."""

from __future__ import annotations

import asyncio

import pytest

from memflush_jupyter.events import CompactionEnd, MemoryFlushEnd, TurnFinished
from memflush_jupyter.testing import Reply, text, tool_use
from memflush_jupyter.testing.agents import KEY_NAME, MODEL, AgentHarness, ScriptedTool

DOLLAR_A_TOKEN = {"input": 1_000_000, "output": 1_000_000, "cache_read": 1_000_000, "cache_write": 1_000_000}
CHEAP = {"input": 3, "output": 15}


def end_of(events) -> TurnFinished:
    (end,) = [event for event in events if isinstance(event, TurnFinished)]
    return end


def priced(agent: AgentHarness, price, **more) -> None:
    agent.workspace.config.endpoints = {MODEL: {"base_url": agent.server.url, "api_key_env": KEY_NAME, "price": price, **more}}


async def goes_on(agent: AgentHarness) -> None:
    """Without the limit the strict server takes the next request: the trace is valid."""
    agent.workspace.config.max_turn_tokens = agent.workspace.config.max_cost_usd = None
    agent.server.script(["On we go."])
    assert end_of(await agent.say("Go on.")).stop == "end"
    assert agent.server.refusals == []


async def test_max_turn_tokens_ends_the_turn_before_the_request_that_would_pass_it(tmp_path):
    async with AgentHarness(tmp_path, tools=[ScriptedTool()], max_turn_tokens=6_000) as agent:
        agent.server.script(lambda _: [tool_use("run_python", {"code": "1"})])
        end = end_of(await agent.say("Loop."))
        assert end.stop == "limit"
        assert "max_turn_tokens is 6,000" in end.sentence
        assert "`%config MemFlush.max_turn_tokens = " in end.sentence
        assert 3_000 < agent.workspace.spending.tokens <= 6_000
        path = agent.workspace.store.path(agent.trace_id)
        assert path[-1].kind == "results"
        await goes_on(agent)


async def test_a_request_that_is_too_large_by_itself_is_never_sent(tmp_path):
    async with AgentHarness(tmp_path, max_turn_tokens=200) as agent:
        end = end_of(await agent.say("Hello."))
        assert (end.stop, end.rounds, agent.server.requests) == ("limit", 0, [])
        assert "this turn used 0 tokens and the next request holds about" in end.sentence
        await goes_on(agent)


async def test_each_turn_has_its_own_tokens(tmp_path):
    async with AgentHarness(tmp_path, max_turn_tokens=2_000) as agent:
        agent.server.script(["One.", "Two.", "Three."])
        assert [end_of(await agent.say(prompt)).stop for prompt in ("a", "b", "c")] == ["end"] * 3
        assert agent.workspace.spending.tokens > 2_000


async def test_a_reply_is_asked_for_no_longer_than_the_limit_leaves_room_for(tmp_path):
    async with AgentHarness(tmp_path, max_turn_tokens=3_000) as agent:
        agent.server.script(lambda request: Reply("word " * request.body["max_tokens"], stop_reason="max_tokens", output_tokens=request.body["max_tokens"]))
        end = end_of(await agent.say("Tell me everything."))
        assert end.stop == "limit"
        assert "the answer was cut where what is left of it ends (max_turn_tokens is 3,000)" in end.sentence
        assert agent.workspace.spending.tokens <= 3_200
        await goes_on(agent)


async def test_a_call_cut_by_the_limit_is_not_run_and_the_trace_stays_valid(tmp_path):
    """D11"""
    tool = ScriptedTool()
    async with AgentHarness(tmp_path, tools=[tool], max_turn_tokens=3_000) as agent:
        agent.server.script(
            lambda request: Reply(
                [text("word " * 20), tool_use("run_python", {"code": "1"})], stop_reason="max_tokens", output_tokens=request.body["max_tokens"]
            )
        )
        assert end_of(await agent.say("Do it.")).stop == "limit"
        assert tool.calls == []
        await goes_on(agent)


async def test_max_cost_ends_the_turn_and_every_later_one_until_it_is_raised(tmp_path):
    async with AgentHarness(tmp_path, tools=[ScriptedTool()], max_cost_usd=0.05) as agent:
        priced(agent, CHEAP)
        agent.server.script(lambda request: Reply([tool_use("run_python", {"code": "1"})], output_tokens=min(900, request.body["max_tokens"])))
        end = end_of(await agent.say("Loop."))
        assert end.stop == "limit"
        assert "are spent in this kernel" in end.sentence
        assert "max_cost_usd is $0.0500" in end.sentence
        assert 0.03 < agent.workspace.spending.usd <= 0.05
        sent = len(agent.server.requests)
        again = end_of(await agent.say("And now?"))
        assert (again.stop, again.rounds) == ("limit", 0)
        assert len(agent.server.requests) == sent
        await goes_on(agent)


async def test_a_request_that_alone_costs_more_than_is_left_is_never_sent(tmp_path):
    async with AgentHarness(tmp_path, max_cost_usd=5.0) as agent:
        priced(agent, DOLLAR_A_TOKEN)
        end = end_of(await agent.say("Hello."))
        assert (end.stop, agent.server.requests) == ("limit", [])
        assert "$0.00 are spent in this kernel and the next request costs about $" in end.sentence


async def test_nothing_may_be_spent_means_nothing(tmp_path):
    async with AgentHarness(tmp_path, max_cost_usd=0.0) as agent:
        priced(agent, CHEAP)
        assert end_of(await agent.say("Hello.")).stop == "limit"
        assert agent.server.requests == []


async def test_a_limit_in_dollars_refuses_a_model_whose_price_nobody_knows(tmp_path):
    async with AgentHarness(tmp_path, max_cost_usd=5.0) as agent:
        agent.workspace.config.endpoints = {
            MODEL: {"base_url": "http://models.example.org", "api_key_env": KEY_NAME, "window": 9000, "max_output": 500, "vision": False}
        }
        end = end_of(await agent.say("Hello."))
        assert end.stop == "limit"
        assert "the price of local/fake-model is not known, so the limit could not be kept" in end.sentence


async def test_a_server_on_this_machine_costs_nothing(tmp_path):
    async with AgentHarness(tmp_path, max_cost_usd=0.0) as agent:
        agent.server.script(["Free."])
        assert end_of(await agent.say("Hello.")).stop == "end"
        assert agent.workspace.spending.usd is None


async def test_flushes_and_summaries_count_in_the_turn_and_in_the_kernel(tmp_path):
    long = "The limit is 7 mm. " * 150
    async with AgentHarness(tmp_path, window=8_000) as agent:
        priced(agent, CHEAP)
        agent.server.script(
            lambda request: "NO_REPLY" if "NO_REPLY" in str(request.messages[-1]) else "Noted. A summary of what was said about the limit of 7 mm."
        )
        for number in range(12):
            await agent.say(f"{number}: {long}")
        assert agent.of(MemoryFlushEnd)
        assert agent.of(CompactionEnd)
        turns = sum(m.usage.total for m in agent.workspace.store.path(agent.trace_id, whole=True) if m.usage is not None)
        sides = sum(m.usage.total for m in agent.workspace.store.side_branches(agent.trace_id) if m.usage is not None)
        assert sides > 0
        assert agent.workspace.spending.tokens == turns + sides
        assert agent.workspace.spending.usd > 0


async def test_background_work_spends_from_the_same_purse(tmp_path):
    async with AgentHarness(tmp_path, window=8_000, background=True) as agent:
        priced(agent, CHEAP)
        agent.server.script(lambda request: "NO_REPLY" if "NO_REPLY" in str(request.messages[-1]) else "Noted.")
        for number in range(6):
            await agent.say(f"{number}: " + "The limit is 7 mm. " * 150)
            before = agent.workspace.spending.tokens
            await agent.drain()
            if agent.workspace.spending.tokens > before:
                break
        assert agent.workspace.spending.tokens > before


async def test_a_flush_after_the_limit_asks_nobody_counts_as_no_failure_and_is_made_up_for_later(tmp_path):
    """B5, P1"""
    async with AgentHarness(tmp_path, window=8_000) as agent:
        priced(agent, CHEAP)
        agent.server.script(lambda _: "Noted.")
        for number in range(2):
            await agent.say(f"{number}: We decided that outliers above 3 sigma are dropped. " + "The series is long. " * 100)
        agent.workspace.config.max_cost_usd = agent.workspace.spending.usd / 2
        sent = len(agent.server.requests)
        room = await agent.runner.room(agent.events.append)
        result = await room.flush_now()
        assert (result.outcome, len(agent.server.requests)) == ("skipped", sent)
        assert "max_cost_usd is" in result.reason
        assert agent.workspace.store.trace(agent.trace_id).flush_failures == 0
        agent.workspace.config.max_cost_usd = None
        agent.server.script([[tool_use("memory_write", {"notes": ["Outliers above 3 sigma are dropped."]})]])
        assert (await room.flush_now()).outcome == "saved"


async def test_a_compaction_by_hand_after_the_limit_costs_nothing_and_loses_nothing(tmp_path):
    """P1: the floor keeps what matters, the extractive summary stands in."""
    async with AgentHarness(tmp_path, window=8_000) as agent:
        priced(agent, CHEAP)
        agent.server.script(lambda _: "Noted.")
        for number in range(2):
            await agent.say(f"{number}: Remember that outliers above 3 sigma are dropped. " + "The series is long. " * 150)
        agent.workspace.config.max_cost_usd = 0.0
        sent = len(agent.server.requests)
        room = await agent.runner.room(agent.events.append)
        await asyncio.wait_for(room.compact("manual"), 10)
        assert len(agent.server.requests) == sent
        (end,) = agent.of(CompactionEnd)
        assert end.source == "extractive"
        assert "3 sigma" in agent.memory_text
        await goes_on(agent)


async def test_an_interrupted_request_is_counted_though_nobody_measured_it(tmp_path):
    async with AgentHarness(tmp_path) as agent:
        priced(agent, CHEAP)
        agent.server.script([Reply("word " * 2000, event_delay_s=0.02)])
        turn = asyncio.ensure_future(agent.say("Talk."))
        while not agent.events or type(agent.events[-1]).__name__ != "TextDelta":
            await asyncio.sleep(0.01)
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn
        assert agent.workspace.spending.tokens > 300
        assert agent.workspace.spending.usd > 0


async def test_a_request_that_never_left_costs_nothing(tmp_path):
    async with AgentHarness(tmp_path, max_retries=0) as agent:
        agent.workspace.config.endpoints = {MODEL: {"base_url": "http://127.0.0.1:9", "window": 8000, "price": CHEAP}}
        assert end_of(await agent.say("Hello.")).stop == "error"
        assert (agent.workspace.spending.tokens, agent.workspace.spending.usd) == (0, None)
