"""Kills at chosen and at random instants, full disks, read-only folders, two flushes at once (P1, P2, P4, B5, B6, C9)."""

from __future__ import annotations

import asyncio
import json
import re
import resource
import subprocess
import sys
import time

import pytest

from memflush_jupyter.agent.lock import FlushLock
from memflush_jupyter.events import MemoryFlushEnd, MemoryFlushStart, TurnFinished
from memflush_jupyter.memory.files import MemoryFolder
from memflush_jupyter.testing import Reply, tool_use
from memflush_jupyter.testing.agents import AgentHarness
from memflush_jupyter.testing.server import FakeMessagesServer, ServedModel

FILLER = "The weather is nice and nothing of importance happens here. " * 400

CHILD = """
import asyncio, os, pathlib, signal, sys, types
from memflush_jupyter.agent import notes
from memflush_jupyter.testing.agents import AgentHarness
from memflush_jupyter.trace.store import TraceStore

folder, url, mode, where, number = sys.argv[1:]
left = int(number)

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def watch(holder, name):
    inner = getattr(holder, name)
    def call(*args, **named):
        global left
        left -= 1
        if left == 0 and where == "before":
            die()
        answer = inner(*args, **named)
        if left == 0 and where == "after":
            die()
        return answer
    setattr(holder, name, call)

async def main():
    global left
    agent = AgentHarness(pathlib.Path(folder), window=16_000, flush_floor=False, server=types.SimpleNamespace(url=url))
    agent.open()
    if mode == "event":
        class Events(list):
            def append(self, event):
                global left
                left -= 1
                if left == 0:
                    die()
        agent.events = Events()
    elif mode == "append_notes":
        watch(notes.daily, mode)
    else:
        watch(TraceStore, mode)
    for turn in range(1, 6):
        await agent.runner.turn([{"type": "text", "text": f"Remember that value number {turn} is {turn}.5 mm. " + os.environ["FILLER"]}], agent.events.append)

asyncio.run(main())
"""


def answers(request):
    if "[summary]" in request.last_text:
        return "## Done and found\nValues were named."
    if "[memory flush]" in request.last_text:
        said = sorted(set(re.findall(r"value number (\d+) is", json.dumps(request.messages))))
        return tool_use("memory_write", {"notes": [f"Value {number} is {number}.5 mm." for number in said]})
    return "ok"


@pytest.fixture
def server():
    with FakeMessagesServer(models=[ServedModel("fake-model", 16_000, 4_000), ServedModel("small-model", 8_000, 2_000)], keys=["fake"]) as running:
        running.script(answers)
        yield running


def run_child(folder, server, *what) -> int:
    import os

    environ = {**os.environ, "FILLER": FILLER}
    return subprocess.run([sys.executable, "-c", CHILD, str(folder), server.url, *map(str, what)], env=environ, check=False, timeout=120).returncode


async def go_on(folder, server, **options) -> None:
    """Open what the kill left, talk until a compaction, and look at what is remembered."""
    async with AgentHarness(folder, window=16_000, flush_floor=False, server=server, **options) as agent:
        made = agent.trace_id
        (trace,) = [trace.id for trace in agent.workspace.store.traces() if trace.id != made]
        await agent.workspace.aclose()
        agent.open(trace)
        store = agent.workspace.store
        prompts = [message.text for message in store.path(trace, whole=True) if message.kind == "prompt"]
        said = {number for prompt in prompts for number in re.findall(r"value number (\d+) is", prompt)}
        for _ in range(3):
            await agent.say("Go on. " + FILLER)
            assert agent.of(TurnFinished)[-1].stop == "end"
        assert "skipped" not in [end.outcome for end in agent.of(MemoryFlushEnd)], "the dead one's lock was waited for"
        marks = [message for message in store.path(trace, whole=True) if message.kind == "summary"]
        assert marks
        assert all(mark.meta["uncovered"] == "" for mark in marks)
        remembered = re.findall(r"Value (\d+) is", agent.memory_text)
        assert sorted(remembered) == sorted(said), "lost or doubled"
        ids = re.findall(r"<!-- mf:(\w+)", agent.memory_text)
        assert len(ids) == len(set(ids))
        assert store.notes(state="pending") == []
        assert server.refusals == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mode", "where", "number"),
    [
        ("add_notes", "before", 1),
        ("add_notes", "after", 1),
        ("append_notes", "after", 1),
        ("record_flush", "before", 1),
        ("record_flush", "after", 1),
        ("record_flush", "before", 2),
        ("record_compaction", "after", 1),
        ("append", "after", 4),
        ("event", "-", 9),
        ("event", "-", 23),
        ("event", "-", 37),
    ],
)
async def test_a_kill_around_a_flush_loses_and_doubles_nothing(tmp_path, server, mode, where, number):
    """C9, P4, P6: kill -9 between any two steps; also the dead one's lock is not waited for."""
    assert await asyncio.to_thread(run_child, tmp_path, server, mode, where, number) == -9
    await go_on(tmp_path, server)


async def test_the_lock_of_a_flush_that_cannot_be_asked_after_goes_stale(tmp_path, server):
    """B6: another machine's, on a shared folder."""
    async with AgentHarness(tmp_path, window=16_000, flush_floor=False, server=server) as agent:
        store = agent.workspace.store
        assert store.acquire(f"flush:{agent.trace_id}", "elsewhere/1/abc/def", stale_after_s=330)
        await agent.say("Remember that value number 1 is 1.5 mm. " + FILLER)
        assert [end.outcome for end in agent.of(MemoryFlushEnd)] == ["skipped"]
        store._wall = lambda: time.time() + 400
        await agent.say("Go on.")
        assert [end.outcome for end in agent.of(MemoryFlushEnd)] == ["skipped", "saved"]


async def test_the_lock_of_a_process_that_lives_is_respected(tmp_path, server):
    """B6."""
    async with AgentHarness(tmp_path, window=16_000, server=server) as agent:
        assert FlushLock(agent.workspace.store, agent.trace_id).take()
        await agent.say("Remember that value number 1 is 1.5 mm. " + FILLER)
        assert [end.outcome for end in agent.of(MemoryFlushEnd)] == ["skipped"]


async def test_two_flushes_of_one_trace_at_once_become_one(tmp_path, server):
    """B6: two kernels, each with its own store and client."""
    async with AgentHarness(tmp_path, window=100_000, flush_floor=False, server=server) as agent:
        server.models["fake-model"] = ServedModel("fake-model", 100_000, 4_000)
        await agent.say("Remember that value number 1 is 1.5 mm.")
        twin = agent.workspace.twin()
        other = twin.runner(agent.trace_id, "local/fake-model", twin.parts())
        server.script(lambda request: Reply([tool_use("memory_write", {"notes": ["Value 1 is 1.5 mm."]})], delay_s=0.2))
        rooms = [await runner.room(agent.events.append) for runner in (agent.runner, other)]
        results = await asyncio.gather(*(room.flush_now() for room in rooms))
        await twin.aclose()
        assert sorted(result.outcome for result in results) == ["saved", "skipped"]
        assert agent.memory_text.count("Value 1 is") == 1


async def test_a_full_disk_in_a_flush_fails_it_and_the_next_one_saves_each_note_once(tmp_path, server):
    """P2, C8: neither the store nor the file can grow; afterwards nothing is lost and nothing is doubled."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    async with AgentHarness(tmp_path, window=16_000, flush_floor=False, server=server) as agent:
        events = agent.events

        def emit(event):
            events.append(event)
            if isinstance(event, MemoryFlushStart):
                resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))

        try:
            await agent.runner.turn([{"type": "text", "text": "Remember that value number 1 is 1.5 mm. " + FILLER}], emit)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert [end.outcome for end in agent.of(MemoryFlushEnd)] == ["failed"]
        assert agent.workspace.memory.names() == []
        await agent.reopen()
        await agent.say("Go on.")
        assert agent.of(MemoryFlushEnd)[-1].outcome == "saved"
        assert agent.memory_text.count("Value 1 is") == 1
        assert agent.workspace.store.notes(state="pending") == []
        assert server.refusals == []


async def test_a_file_that_cannot_be_appended_to_leaves_no_note_behind_that_appears_later(tmp_path, server, monkeypatch):
    """P2, C9: only the memory file fails; the store works."""
    from memflush_jupyter.agent import notes
    from memflush_jupyter.errors import MemoryFileError

    async with AgentHarness(tmp_path, window=16_000, flush_floor=False, server=server) as agent:
        with monkeypatch.context() as patch:

            def full(*_args, **_named):
                raise MemoryFileError("The disk is full.")

            patch.setattr(notes.daily, "append_notes", full)
            await agent.say("Remember that value number 1 is 1.5 mm. " + FILLER)
        assert agent.of(MemoryFlushEnd)[-1].outcome == "failed"
        assert agent.workspace.store.trace(agent.trace_id).last_flush_error == "The disk is full."
        assert agent.workspace.store.notes() == []
        await agent.reopen()
        await agent.say("Go on.")
        await agent.reopen()
        await agent.say("And on.")
        assert agent.memory_text.count("Value 1 is") == 1


async def test_a_read_only_memory_is_skipped_with_its_reason_and_compaction_goes_on(tmp_path, server, monkeypatch):
    """B5, P1."""
    monkeypatch.setattr(MemoryFolder, "writable", property(lambda self: False))
    async with AgentHarness(tmp_path, window=16_000, server=server) as agent:
        for number in range(4):
            await agent.say(f"Remember that value number {number} is {number}.5 mm. " + FILLER)
        marks = [message for message in agent.workspace.store.path(agent.trace_id, whole=True) if message.kind == "summary"]
        assert marks
        assert {mark.meta["uncovered"] for mark in marks} == {"the memory folder cannot be written"}
        assert agent.of(MemoryFlushStart) == []
        assert agent.workspace.memory.names() == []
        assert server.refusals == []
