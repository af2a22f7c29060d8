"""Random conversations: every request that leaves is valid (P6), and nothing leaves the context unflushed without a reason on record (P1).

What happens is drawn: prompts and results of all sizes, parallel calls, thinking, images, malformed and cut replies, refusals and
overflows, interrupts after any event, restarts, rewinds, manual and forced compactions, background flushes, two runners on one trace.
"""

from __future__ import annotations

import asyncio
import base64
import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memflush_jupyter.agent import compress
from memflush_jupyter.agent.tools.base import ToolResult
from memflush_jupyter.events import CompactionEnd, CompactionStart, MemoryFlushEnd, MemoryFlushStart, TurnFinished
from memflush_jupyter.testing import Break, Drop, Refuse, Reply, overloaded, text, thinking, too_long, tool_use
from memflush_jupyter.testing.agents import MODEL, AgentHarness, ScriptedTool
from memflush_jupyter.testing.server import FakeMessagesServer, ServedModel

WORDS = ["The weather is nice. ", "depth_m = 71.3 ", "x1y2z3 ", "Wir wählten 12 Häfen. ", "数据很好。", '{"a": [1, 2, 3]} ', "🐧 ", "\n\n- item\n"]
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + (300).to_bytes(4, "big") + (200).to_bytes(4, "big") + b"\x08\x02\0\0\0" + b"0" * 20).decode()

sizes = st.one_of(st.integers(1, 60), st.integers(200, 900), st.integers(1_500, 4_000))
prose = st.builds(lambda word, size: f"Fact {size}. " + word * (size // max(1, len(word) // 4)), st.sampled_from(WORDS), sizes)
calls = st.lists(
    st.one_of(
        st.builds(lambda size: tool_use("run_python", {"code": f"size={size}"}), sizes),
        st.just(tool_use("run_python", {"code": "image"})),
        st.just(tool_use("run_python", {"wrong": 1})),
        st.just(tool_use("no_such_tool", {"a": 1})),
        st.just(tool_use("list_files")),
        st.just(tool_use("read_message", {"sequence": 1})),
        st.just(tool_use("memory_search", {"query": "weather depth_m"})),
        st.builds(lambda note: tool_use("memory_write", {"notes": [note]}), prose),
    ),
    min_size=1,
    max_size=3,
)
replies = st.one_of(
    prose.map(lambda words: Reply([text(words)])),
    st.builds(lambda words, made: Reply([text(words), *made]), prose, calls),
    calls.map(Reply),
    st.builds(lambda made: Reply([thinking("Let me think."), *made]), calls),
    st.builds(lambda words: Reply([thinking("Let me think."), text(words)]), prose),
    st.just(Reply([thinking("Let me only think.")])),
    st.just(Reply([])),
    st.just(Reply([text("  \n")])),
    prose.map(lambda words: Reply([text(words)], stop_reason="max_tokens")),
    calls.map(lambda made: Reply(made, stop_reason="max_tokens")),
    calls.map(lambda made: Reply([text("Trying."), *made], raw_input='{"code": "1')),
    st.just(Reply([text("paused")], stop_reason="pause_turn")),
    st.just(Reply([text('```json\n{"name": "list_files", "arguments": {}}\n```')])),
)
faults = st.one_of(
    st.builds(
        lambda kind, after: Reply("one two three four five six", broken=Break(kind, after=after)),
        st.sampled_from(["cut", "close", "error", "garbage"]),
        st.integers(1, 4),
    ),
    st.builds(lambda made: Reply([text("Trying."), *made], broken=Break("cut", after=6)), calls),
    st.just(overloaded()),
    st.just(Refuse(400, "invalid_request_error", "refused for no reason")),
    st.just(too_long(99_999, 16_000)),
    st.just(Drop()),
)
flushes = st.one_of(
    st.just("NO_REPLY"),
    st.just("Sure, noted."),
    st.just(Reply([])),
    prose.map(lambda words: tool_use("memory_write", {"notes": [words[:300]]})),
    calls.map(Reply),
)
summaries = st.one_of(st.just("## Done and found\nWords were said."), st.just(Reply([])), prose.map(lambda words: words[:400]), st.just("word " * 4_000))

turns = st.tuples(st.just("turn"), prose, st.lists(st.one_of(replies, replies, replies, faults), min_size=1, max_size=5), st.none() | st.integers(1, 40))
actions = st.one_of(
    turns,
    turns,
    turns,
    turns,
    st.tuples(st.just("reopen")),
    st.tuples(st.just("compact")),
    st.tuples(st.just("flush")),
    st.tuples(st.just("rewind"), st.floats(0, 1)),
    st.tuples(st.just("other"), prose, st.lists(replies, min_size=1, max_size=2)),
    st.tuples(st.just("switch")),
)
plans = st.fixed_dictionaries({
    "window": st.sampled_from([8_000, 12_000, 16_000, 40_000]),
    "background": st.booleans(),
    "compaction": st.sampled_from(["summary", "summary", "summary", "drop", "off"]),
    "memory": st.sampled_from([True, True, True, False]),
    "flush": st.lists(st.one_of(flushes, flushes, flushes, faults), min_size=1, max_size=4),
    "summary": st.lists(st.one_of(summaries, summaries, faults), min_size=1, max_size=4),
    "actions": st.lists(actions, min_size=2, max_size=14),
})  # fmt: skip


@pytest.fixture(scope="module")
def server():
    with FakeMessagesServer(models=[ServedModel("fake-model", 16_000, 4_000), ServedModel("small-model", 8_000, 2_000)], keys=["fake"]) as running:
        yield running


@pytest.fixture(autouse=True, scope="module")
def no_pause():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compress, "BACKOFF_S", 0.0)
        yield


class Tool(ScriptedTool):
    async def run(self, given, call):
        code = given["code"]
        if code == "image":
            return ToolResult([text("A figure."), {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}])
        await asyncio.sleep(0)
        return ToolResult([text("row 1.5 2.5 " * (int(code.removeprefix("size=")) // 3))])


class Play:
    """Plays one drawn plan and checks what must hold at its end."""

    def __init__(self, agent: AgentHarness, plan: dict) -> None:
        self.agent = agent
        self.plan = plan
        self.model = MODEL
        self.asked = 0
        self.side = 0
        self.replies: list = []
        self.faulty = any(isinstance(answer, Refuse | Drop) or (isinstance(answer, Reply) and answer.broken) for answer in plan["flush"])

    def script(self, request):
        if "[summary]" in request.last_text:
            self.side += 1
            return self.plan["summary"][self.side % len(self.plan["summary"])]
        if "[memory flush]" in json.dumps(request.messages[-9:]):
            self.side += 1
            return self.plan["flush"][self.side % len(self.plan["flush"])]
        return self.replies.pop(0) if self.replies else "done"

    async def run(self) -> None:
        for action in self.plan["actions"]:
            await getattr(self, action[0])(*action[1:])
        await self.agent.drain()
        self.replies = []
        await self.agent.say("And at the end?")
        await self.agent.drain()

    async def turn(self, prompt, answers, cancel_after):
        self.replies = list(answers)
        await self._turn(self.agent.runner, prompt, cancel_after)

    async def _turn(self, runner, prompt, cancel_after):
        seen = 0

        def emit(event):
            nonlocal seen
            self.agent.events.append(event)
            seen += 1
            if seen == cancel_after:
                task.cancel()

        task = asyncio.ensure_future(runner.turn([text(prompt)], emit, max_rounds=6))
        try:
            await task
        except asyncio.CancelledError:
            assert cancel_after is not None

    async def other(self, prompt, answers):
        """Another kernel on the same trace, at the same time."""
        self.replies = [*answers, *answers]
        runner = self.agent.workspace.runner(self.agent.trace_id, self.model, self.agent.parts())
        await asyncio.gather(self._turn(self.agent.runner, prompt, None), self._turn(runner, "And the other one? " + prompt, None))

    async def reopen(self):
        await self.agent.drain()
        await self.agent.reopen()
        self.model = MODEL

    async def switch(self):
        self.model = "local/small-model" if self.model == MODEL else MODEL
        self.agent.runner = self.agent.workspace.runner(self.agent.trace_id, self.model, self.agent.parts())

    async def compact(self):
        room = await self.agent.runner.room(self.agent.events.append)
        await room.compact("manual")

    async def flush(self):
        await (await self.agent.runner.room(self.agent.events.append)).flush_now()

    async def rewind(self, where):
        path = self.agent.workspace.store.path(self.agent.trace_id, whole=True)
        prompts = [message for message in path if message.kind == "prompt"]
        if prompts:
            self.agent.workspace.store.rewind(self.agent.trace_id, prompts[int(where * (len(prompts) - 1))].parent)

    # -- what must hold ------------------------------------------------------------------------------------------------------------

    def check(self, first_request: int) -> None:
        agent, store = self.agent, self.agent.workspace.store
        refused = [
            (request.refused, request.body["max_tokens"], request.last_text[-60:]) for request in agent.server.requests[first_request:] if request.refused
        ]
        assert refused == [], refused
        starts, ends = ([event for event in agent.events if isinstance(event, kind)] for kind in (MemoryFlushStart, MemoryFlushEnd))
        assert sorted(event.flush for event in starts) == sorted(event.flush for event in ends), "a flush without its end"
        assert len(agent.of(CompactionStart)) == len(agent.of(CompactionEnd))
        assert agent.of(TurnFinished)[-1].stop in {"end", "full", "error"}
        marks = [message for message in store.path(agent.trace_id, whole=True) if message.kind == "summary"]
        covered = [event.data["through"] for event in store.events(agent.trace_id, event="flush") if event.data["outcome"] in {"saved", "silent", "floor"}]
        for mark in marks:
            if not mark.meta["uncovered"]:
                assert covered, "a summary claims cover, and no flush was recorded"
                assert max(covered) >= mark.meta["removed"][1]
            else:
                assert self.faulty or not self.plan["memory"] or "another flush" in mark.meta["uncovered"], mark.meta["uncovered"]
        last = store.trace(agent.trace_id).last_sequence
        assert [store.message(agent.trace_id, sequence).sequence for sequence in range(1, last + 1)] == list(range(1, last + 1))
        lines = [line.split("<!-- mf:")[0] for line in agent.memory_text.splitlines() if "<!-- mf:" in line]
        ids = [line.split("<!-- mf:")[1].split()[0] for line in agent.memory_text.splitlines() if "<!-- mf:" in line]
        assert len(ids) == len(set(ids))
        assert len(lines) == len(set(lines))
        assert store.notes(state="pending") == []


async def play(server, plan) -> None:
    with tempfile.TemporaryDirectory() as folder:
        server.models["fake-model"] = ServedModel("fake-model", plan["window"], 4_000)
        agent = AgentHarness(
            Path(folder), tools=[Tool()], server=server, background=plan["background"], memory=plan["memory"], compaction=plan["compaction"], max_retries=1
        )
        async with agent:
            first = len(server.requests)
            game = Play(agent, plan)
            server.script(game.script)
            await game.run()
            game.check(first)


@pytest.mark.filterwarnings("ignore:Generating overly large repr")  # drawn results are long
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture])
@given(plan=plans)
def test_every_request_is_valid_and_nothing_leaves_the_context_unrecorded(server, plan):
    """P1, P6, C15: and nothing raises but a cancellation."""
    asyncio.run(play(server, plan))
