"""The audit after each compaction, against the strict server: on record with it, in the gauge, and never in its way (D13, P1, P2)."""

from __future__ import annotations

import pytest

from memflush_jupyter.agent import auditing, compress
from memflush_jupyter.events import BudgetChanged, CompactionEnd
from memflush_jupyter.memory import wording
from memflush_jupyter.testing.agents import AgentHarness

FILLER = "The weather is nice and nothing of importance happens here. " * 60


@pytest.fixture(autouse=True)
def no_pause(monkeypatch):
    monkeypatch.setattr(compress, "BACKOFF_S", 0.0)


def script(summary, flush="NO_REPLY"):
    def reply(request):
        if "[summary]" in request.last_text:
            return summary
        return flush if "[memory flush]" in request.last_text else "ok"

    return reply


async def compacted(agent, *prompts):
    for prompt in prompts:
        await agent.say(f"{prompt} {FILLER}")
    await agent.say("And now? " + FILLER)
    room = await agent.runner.room(agent.events.append)
    assert await room.compact("manual")
    return auditing.audits(agent.workspace.store, agent.trace_id)[-1]


async def test_what_no_summary_memory_or_tail_holds_is_on_record_with_its_message(tmp_path):
    async with AgentHarness(tmp_path, window=16_000, keep_recent_tokens=400, flush_floor=False) as agent:
        agent.server.script(script("## Done and found\nThe dose was 10 mg. The mean was 9.9 kg."))
        data = await compacted(agent, "The dose was 10 mg.", "The mean weight was 4,201.75 g at station Kelheim.")
        lost = {(one["kind"], one["text"]) for one in data["audit"]["missing"]}
        assert ("number", "4,201.75 g") in lost
        assert ("number", "10 mg") not in lost
        sequence = next(one["sequence"] for one in data["audit"]["missing"] if one["text"] == "4,201.75 g")
        assert "4,201.75 g" in agent.workspace.store.message(agent.trace_id, sequence).text
        assert [one["text"] for one in data["audit"]["untraceable"]] == ["9.9 kg"]
        assert data["cycle"] == 0


async def test_what_memory_holds_is_not_missed(tmp_path):
    async with AgentHarness(tmp_path, window=16_000, keep_recent_tokens=400) as agent:  # the floor writes what the model does not
        agent.server.script(script("## Done and found\nWords were said."))
        data = await compacted(agent, "Remember that the dose is 10 mg.", "We decided to leave out station Kelheim.")
        assert "10 mg" in agent.memory_text
        assert not {"10 mg", "Kelheim"} & {one["text"] for one in data["audit"]["missing"]}


async def test_the_score_stands_in_the_gauge_and_after_a_restart(tmp_path):
    async with AgentHarness(tmp_path, window=16_000, keep_recent_tokens=400, flush_floor=False) as agent:
        agent.server.script(script("## Done and found\nWords were said."))
        data = await compacted(agent, "The dose was 10 mg.")
        score = data["audit"]["score"]
        assert agent.of(BudgetChanged)[-1].budget.audit_score == score < 1
        await agent.reopen()
        assert (await agent.runner.room(agent.events.append)).budget().audit_score == score


async def test_an_audit_that_fails_hinders_no_compaction(tmp_path, monkeypatch):
    """P2"""

    def broken(*_args, **_more):
        raise RuntimeError("broken")

    monkeypatch.setattr(auditing, "audit", broken)
    async with AgentHarness(tmp_path, window=16_000, keep_recent_tokens=400) as agent:
        agent.server.script(script("## Done and found\nWords were said."))
        data = await compacted(agent, "The dose was 10 mg.")
        assert data["audit"] is None
        assert agent.of(CompactionEnd)[-1].source == "model"


async def test_record_and_summary_are_one_transaction(tmp_path, monkeypatch):
    """P2, P4: where the record cannot be written, the history is as it was."""
    async with AgentHarness(tmp_path, window=16_000, keep_recent_tokens=400) as agent:
        agent.server.script(script("## Done and found\nWords were said."))
        await agent.say("The dose was 10 mg. " + FILLER)
        await agent.say("And now? " + FILLER)
        store = agent.workspace.store
        before = [message.sequence for message in store.path(agent.trace_id)]
        original = type(store).log

        def log(self, trace, event, data):
            if event == auditing.EVENT:
                raise RuntimeError("disk full")
            return original(self, trace, event, data)

        monkeypatch.setattr(type(store), "log", log)
        room = await agent.runner.room(agent.events.append)
        with pytest.raises(RuntimeError):
            await room.compact("manual")
        assert [message.sequence for message in store.path(agent.trace_id)] == before
        assert store.trace(agent.trace_id).compaction_count == 0


async def test_what_is_forgotten_is_gone_from_the_record_of_an_audit_too(tmp_path):
    """G9"""
    async with AgentHarness(tmp_path, window=16_000, keep_recent_tokens=400, flush_floor=False) as agent:
        agent.server.script(script("## Done and found\nWords were said."))
        data = await compacted(agent, "Never tell anybody about Wilhelmina Okafor and her 4,201.75 g.")
        assert "Wilhelmina" in str(data["audit"]["missing"])
        rewrite, hint = wording.rewriter("Wilhelmina", [])
        agent.workspace.store.scrub(rewrite, hint=hint)
        assert "Wilhelmina" not in str(auditing.audits(agent.workspace.store, agent.trace_id))
