"""Side branches that share the flush's request, against the strict server: each succeeds or fails by its own calls (section 6, C4, C10, C12, E3)."""

from __future__ import annotations

import json

import pytest

from memflush_jupyter.agent import compress
from memflush_jupyter.errors import TraceError
from memflush_jupyter.testing import Refuse, Reply, tool_use
from memflush_jupyter.testing.agents import AgentHarness, ScriptedTool

FILLER = "The weather is nice and nothing of importance happens here. " * 60
NOTE = tool_use("memory_write", {"notes": ["The deadline is 14 March."]})
FINDING = tool_use("upload_knowledge", {"title": "Gaps at noon", "body": "The logger drops every noon reading.", "kind": "experience", "tags": ["logger"]})
VERDICT = tool_use("evaluate_knowledge", {"verdicts": [{"id": "k1", "verdict": "helpful", "reason": "It named the cause."}]})


@pytest.fixture(autouse=True)
def no_pause(monkeypatch):
    monkeypatch.setattr(compress, "BACKOFF_S", 0.0)


def harness(tmp_path, **options):
    tools = [ScriptedTool(name) for name in ("upload_knowledge", "evaluate_knowledge")]
    return AgentHarness(tmp_path, window=16_000, keep_recent_tokens=400, flush_floor=False, tools=tools, **options)


def is_side(request):
    return any(mark in json.dumps(request.messages[-1]) for mark in ("[side work]", "[memory flush]", "[knowledge extraction]", "[knowledge evaluation]"))


async def compacted(agent, *answers):
    """Two turns, knowledge that was shown in them, and a compaction; return its side requests."""
    left = list(answers)

    def script(request):
        if "[summary]" in request.last_text:
            return "## Done and found\nWords were said."
        return (left.pop(0) if left else "NO_REPLY") if is_side(request) else "ok"

    agent.server.script(script)
    await agent.say("The logger drops every noon reading. " + FILLER)
    await agent.say("The deadline is 14 March. " + FILLER)
    agent.workspace.store.log(agent.trace_id, "query", {"query": "logger", "sources": ["k1"]})
    assert await (await agent.runner.room(agent.events.append)).compact("manual")
    assert agent.server.refusals == [] or answers == (REFUSED,)
    return [request for request in agent.server.requests if is_side(request)]


REFUSED = Refuse(400, "invalid_request_error", "refused for no reason")


async def test_one_request_saves_notes_findings_and_verdicts(tmp_path):
    async with harness(tmp_path) as agent:
        store = agent.workspace.store
        requests = await compacted(agent, Reply([NOTE, FINDING, VERDICT]))
        assert len(requests) == 1
        assert "The deadline is 14 March." in agent.memory_text
        kinds = {parcel.kind: parcel.payload for parcel in store.to_deliver(limit=10)}
        assert kinds["upload"]["title"] == "Gaps at noon"
        assert kinds["upload"]["origin"] == "user", "who said it goes along: what rests on a tool's output must wait for a person (P8)"
        assert kinds["verdict"]["entry"] == "k1"
        assert "noon" in store.message(agent.trace_id, kinds["upload"]["sequence"]).text, "a finding names the message it rests on"
        assert {row.branch: row.state for row in store.sides(agent.trace_id)} == dict.fromkeys(["flush", "extraction", "knowledge_eval", "compression"], "done")


async def test_the_main_path_never_sees_a_side_branch(tmp_path):
    """C10"""
    async with harness(tmp_path) as agent:
        await compacted(agent, Reply([NOTE, FINDING, VERDICT]))
        await agent.say("Go on.")
        sent = json.dumps(agent.server.requests[-1].messages)
        assert "[side work]" not in sent
        assert "Gaps at noon" not in sent


async def test_a_branch_without_its_call_fails_alone(tmp_path):
    async with harness(tmp_path) as agent:
        store = agent.workspace.store
        await compacted(agent, Reply([NOTE]), "NO_REPLY")
        assert "The deadline is 14 March." in agent.memory_text
        assert [parcel.kind for parcel in store.to_deliver(limit=10)] == []
        states = {row.branch: row.state for row in store.sides(agent.trace_id)}
        assert states["flush"] == "done"
        assert states["knowledge_eval"] == "failed", "its verdict is still owed"


async def test_a_request_that_fails_loses_no_branch_and_compaction_goes_on(tmp_path):
    """P2"""
    async with harness(tmp_path) as agent:
        store = agent.workspace.store
        await compacted(agent, REFUSED)
        assert store.trace(agent.trace_id).compaction_count == 1
        assert store.to_deliver(limit=10) == []
        assert {row.state for row in store.sides(agent.trace_id) if row.branch in {"extraction", "knowledge_eval"}} <= {"queued", "failed", "done"}


async def test_apart_each_branch_has_a_request_and_its_own_tool(tmp_path):
    async with harness(tmp_path, fuse_side_branches=False) as agent:
        requests = await compacted(agent, Reply([NOTE, FINDING]), Reply([FINDING, NOTE]), Reply([VERDICT]))
        marks = [
            next(mark for mark in ("[memory flush]", "[knowledge extraction]", "[knowledge evaluation]") if mark in json.dumps(r.messages[-1]))
            for r in requests
        ]
        assert list(dict.fromkeys(marks)) == ["[memory flush]", "[knowledge extraction]", "[knowledge evaluation]"]
        assert agent.memory_text.count("The deadline is 14 March.") == 1
        assert len([parcel for parcel in agent.workspace.store.to_deliver(limit=10) if parcel.kind == "upload"]) == 1


async def test_without_the_tools_nothing_of_it_runs(tmp_path):
    async with AgentHarness(tmp_path, window=16_000, keep_recent_tokens=400) as agent:
        requests = await compacted(agent, Reply([NOTE]))
        assert all("[side work]" not in json.dumps(request.messages) for request in requests)
        assert {row.branch for row in agent.workspace.store.sides(agent.trace_id)} <= {"flush", "compression"}


async def test_a_queue_that_cannot_be_written_raises_nothing_and_later_all_is_saved(tmp_path, monkeypatch):
    """P2: the flush failed, the messages stay uncovered, and nothing of it counts as done."""
    async with harness(tmp_path) as agent:
        store = agent.workspace.store
        agent.server.script(lambda request: Reply([NOTE]) if is_side(request) else "ok")
        await agent.say("The deadline is 14 March.")

        def full(*_args, **_more):
            raise TraceError("The disk is full.")

        with monkeypatch.context() as patch:
            patch.setattr(type(store), "begin_sides", full)
            patch.setattr(type(store), "end_side", full)
            result = await (await agent.runner.room(agent.events.append)).flush_now()
        assert result is not None
        assert result.outcome == "failed"
        assert store.trace(agent.trace_id).flushed_through is None
        again = await (await agent.runner.room(agent.events.append)).flush_now()
        assert again is not None
        assert again.outcome == "saved"
        assert agent.memory_text.count("The deadline is 14 March.") == 1
