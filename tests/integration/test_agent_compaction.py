"""Compaction, its summaries, and what stays in view, against the strict server (sections A, B4, D, G5-G8; P1, P6)."""

from __future__ import annotations

import itertools
import json
import os

import pytest

from memflush_jupyter.agent import compress
from memflush_jupyter.agent.sending import Sending
from memflush_jupyter.context.compaction import EXTRACTIVE_MARK, LAST_REQUEST
from memflush_jupyter.events import CompactionEnd, CompactionStart, MemoryFlushEnd, MemoryFlushStart, Notice, Recalled, TurnFinished
from memflush_jupyter.testing import Refuse, Reply, text, thinking, too_long, tool_use
from memflush_jupyter.testing.agents import MODEL, AgentHarness, ScriptedTool
from memflush_jupyter.testing.server import FakeMessagesServer, ServedModel

WINDOW = 16_000
FILLER = "The weather is nice and nothing of importance happens here. "
THIRD = FILLER * 130  # about 1,600 tokens
GOOD = "## Done and found\nThe person talked about the weather."


@pytest.fixture(autouse=True)
def no_pause(monkeypatch):
    """Pauses between tries are measured elsewhere."""
    monkeypatch.setattr(compress, "BACKOFF_S", 0.0)


def is_flush(request) -> bool:
    return "[memory flush]" in request.last_text and not is_summary(request)


def is_summary(request) -> bool:
    return "[summary]" in request.last_text


def script(answer="ok", *, flush="NO_REPLY", summary=GOOD):
    def pick(value, request):
        if callable(value):
            return value(request)
        return next(value) if hasattr(value, "__next__") else value

    return lambda request: pick(summary if is_summary(request) else flush if is_flush(request) else answer, request)


def marks(agent):
    return [message for message in agent.workspace.store.path(agent.trace_id, whole=True) if message.kind == "summary"]


def last_end(agent) -> TurnFinished:
    return agent.of(TurnFinished)[-1]


def wordy(count: int):
    """Replies that think aloud and call a tool: unlike results, words cannot be pruned."""
    return iter([[text(f"Step {number}. {FILLER * 100}"), tool_use("run_python", {"code": str(number)})] for number in range(count)])


async def fill(agent, count: int, size: str = THIRD) -> None:
    for number in range(count):
        await agent.say(f"Question {number}. {size}")


async def until_compacted(agent, count: int = 1, limit: int = 30) -> None:
    for number in range(limit):
        if len(marks(agent)) >= count:
            return
        await agent.say(f"Question {number}. {THIRD}")
    raise AssertionError("it was never compacted")


# -- where it cuts ---------------------------------------------------------------------------------------------------------------


async def test_recent_rounds_stay_and_the_rest_becomes_one_summary(tmp_path):
    """D3, D4: the request is valid, begins with the summary, and keeps the last request verbatim."""
    async with AgentHarness(tmp_path, window=WINDOW) as agent:
        agent.server.script(script())
        await until_compacted(agent)
        after = next(request for request in reversed(agent.server.requests) if not is_flush(request) and not is_summary(request))
        first = after.messages[0]
        assert first["role"] == "user"
        assert first["content"][0]["text"].startswith("<summary ")
        assert "The person talked about the weather." in first["content"][0]["text"]
        (mark,) = marks(agent)
        path = agent.workspace.store.path(agent.trace_id)
        kept = sum(message.tokens for message in path if mark.meta["first_kept"] <= message.sequence < mark.sequence)
        assert kept <= (await agent.runner.room(agent.events.append)).lines.keep_recent
        assert path[-1].kind == "reply"
        assert agent.server.refusals == []


async def test_a_tool_call_and_its_results_are_never_parted(tmp_path):
    """D4: whole parallel groups."""
    tool = ScriptedTool(answer=lambda given: "value " * 500)
    async with AgentHarness(tmp_path, window=WINDOW, tools=[tool]) as agent:
        rounds = iter(range(1000))

        def answer(request):
            if next(rounds) % 3 == 2:
                return "done"
            return [text("Looking. " + FILLER * 40), tool_use("run_python", {"code": "1"}), tool_use("run_python", {"code": "2"})]

        agent.server.script(script(answer))
        for number in range(8):
            await agent.say(f"Do step {number}. {FILLER * 20}")
        assert len(marks(agent)) >= 2
        store = agent.workspace.store
        for mark in marks(agent):
            assert store.message(agent.trace_id, mark.meta["first_kept"]).kind != "results"
        assert agent.server.refusals == []


async def test_the_request_of_a_long_turn_stays_word_for_word_through_several_compactions(tmp_path):
    """D3: the cut falls behind the prompt twice and more; an earlier summary carries it then."""
    request = "Please find the colour of lake Orta at noon, in words of one syllable."
    async with AgentHarness(tmp_path, window=WINDOW, tools=[ScriptedTool()]) as agent:
        rounds = wordy(18)
        agent.server.script(script(lambda seen: next(rounds, "It is blue.")))
        await agent.say(request, max_rounds=30)
        assert last_end(agent).stop == "end"
        assert len(marks(agent)) >= 3
        for mark in marks(agent):
            assert mark.content[-1] == {"type": "text", "text": request}
            assert LAST_REQUEST in mark.text
            assert mark.meta["request"] == 1
        for seen in agent.server.requests:
            assert request in json.dumps(seen.messages)
        assert agent.server.refusals == []


async def test_recalled_text_is_not_carried_with_the_request(tmp_path):
    """D3, G6: what the person wrote, without what rode beside it."""
    async with AgentHarness(tmp_path, window=WINDOW, tools=[ScriptedTool()]) as agent:
        agent.server.script(script())
        await agent.say("Remember that the deadline of project Heron is 14 March.")
        agent.trace_id = agent.workspace.store.create_trace(identity=agent.workspace.identity).id
        agent.runner = agent.workspace.runner(agent.trace_id, "local/fake-model", agent.parts())
        rounds = wordy(8)
        agent.server.script(script(lambda seen: next(rounds, "done")))
        await agent.say("When is the deadline of project Heron?", max_rounds=30)
        assert agent.of(Recalled)
        assert marks(agent)
        assert [block["text"] for block in marks(agent)[-1].content[1:]] == ["When is the deadline of project Heron?"]


# -- which summaries are taken -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bad", "named"),
    [
        ("", "was empty"),
        ("word " * 9_000, "must be shorter"),
        ("Error: 529 overloaded", "an error text or a refusal"),
        ("I'm sorry, I cannot help with that.", "an error text or a refusal"),
        ("The lake is deep.\n" * 12, "repeat others"),
    ],
    ids=["empty", "longer", "error", "refusal", "repeated"],
)
async def test_a_bad_summary_is_refused_and_the_retry_names_the_fault(tmp_path, bad, named):
    """D5, D12."""
    async with AgentHarness(tmp_path, window=WINDOW) as agent:
        tries = iter([Reply(bad, output_tokens=10) if bad else Reply([])])
        agent.server.script(script(summary=lambda request: next(tries, GOOD)))
        await until_compacted(agent)
        asked = [request.last_text for request in agent.server.requests if is_summary(request)]
        assert len(asked) == 2
        assert "The last try was refused" not in asked[0]
        assert named in asked[1].split("The last try was refused")[1]
        (mark,) = marks(agent)
        assert mark.meta["source"] == "model"
        assert len(mark.meta["faults"]) == 1
        assert agent.of(CompactionEnd)[0].source == "model"
        assert agent.server.refusals == []


async def test_after_three_refused_summaries_comes_an_extractive_one_marked_as_such(tmp_path):
    """D5: the history in the store stays."""
    async with AgentHarness(tmp_path, window=WINDOW) as agent:
        agent.server.script(script(summary=lambda request: Reply([])))
        await agent.say("We decided to drop outliers above 3.5 sigma in the file lakes.csv.")
        before = len(agent.workspace.store.path(agent.trace_id, whole=True))
        await until_compacted(agent)
        (mark,) = marks(agent)
        assert len([request for request in agent.server.requests if is_summary(request)]) == 3
        assert (mark.meta["source"], len(mark.meta["faults"])) == ("extractive", 3)
        assert EXTRACTIVE_MARK in mark.text
        assert "3.5 sigma" in mark.text
        assert agent.workspace.store.message(agent.trace_id, before).text == "ok"
        assert agent.of(CompactionEnd)[0].source == "extractive"


async def test_a_server_that_refuses_every_summary_ends_in_the_extractive_one(tmp_path):
    """D5: with back-off between the tries."""
    async with AgentHarness(tmp_path, window=WINDOW) as agent:
        agent.server.script(script(summary=lambda request: Refuse(400, "invalid_request_error", "no summaries today")))
        await until_compacted(agent)
        assert marks(agent)[0].meta["source"] == "extractive"
        assert all("no summaries today" in fault for fault in marks(agent)[0].meta["faults"])
        assert last_end(agent).stop == "end"


async def test_a_summary_cut_at_its_limit_is_refused(tmp_path):
    """D11, D5: half a summary is none."""
    async with AgentHarness(tmp_path, window=WINDOW) as agent:
        tries = iter([Reply("## Done and found\nHalf of", stop_reason="max_tokens")])
        agent.server.script(script(summary=lambda request: next(tries, GOOD)))
        await until_compacted(agent)
        assert "longer than the reply may be" in marks(agent)[0].meta["faults"][0]
        assert "Half of" not in marks(agent)[0].text


async def test_a_summary_copied_from_the_last_one_is_refused_when_there_is_news(tmp_path):
    """D12."""
    async with AgentHarness(tmp_path, window=WINDOW) as agent:
        copied = "## Done and found\nThe lake is called Orta.\nThe boat is green."
        agent.server.script(script(summary=copied))
        await until_compacted(agent)
        await agent.say("We decided to use the median of column depth_m, 71.3 m, from now on.")
        await until_compacted(agent, 2)
        second = marks(agent)[1]
        assert second.meta["source"] == "extractive"
        assert all("repeats the previous one" in fault for fault in second.meta["faults"])
        assert "71.3" in second.text


async def test_facts_survive_five_cycles_through_the_previous_summary(tmp_path):
    """D6: the summary before is input to the next one."""
    fact = "The password-free test harbour is Pella, with 12 berths."

    def summary(request):
        seen = json.dumps(request.messages)
        return f"## Done and found\n{fact if fact in seen else 'Nothing.'}\nCycle {request.number} was about the weather."

    async with AgentHarness(tmp_path, window=WINDOW, recall=False, flush_floor=False) as agent:
        agent.server.script(script(summary=summary))
        await agent.say(fact)
        await until_compacted(agent, 6, limit=60)
        assert [mark.meta["source"] for mark in marks(agent)] == ["model"] * 6
        assert all(fact in mark.text for mark in marks(agent))
        assert agent.server.refusals == []


async def test_the_extractive_fallback_carries_facts_over_cycles_too(tmp_path):
    """D5, D6."""
    async with AgentHarness(tmp_path, window=WINDOW, recall=False) as agent:
        agent.server.script(script(summary=lambda request: Reply([])))
        await agent.say("Remember: the harbour is Pella, with 12 berths.")
        await until_compacted(agent, 5, limit=60)
        assert "12 berths" in marks(agent)[-1].text


async def test_a_part_too_large_for_one_request_is_summarised_in_chunks(tmp_path):
    """D6: chunked to the window, never clipped. The context came from a model with more room."""
    async with AgentHarness(tmp_path, window=60_000, compaction="off", enable_memory_flush=False) as agent:
        agent.server.script(script(lambda request: "noted"))
        for number in range(12):
            await agent.say(f"Marker-{number:02d}. {FILLER * 200}")
        agent.workspace.config.compaction = "summary"
        agent.workspace.config.enable_memory_flush = True
        agent.runner = agent.workspace.runner(agent.trace_id, "local/small-model", agent.parts())
        agent.server.script(script(lambda request: "fits", summary=lambda request: f"## Done and found\nPart {request.number}."))
        await agent.say("And now?")
        assert last_end(agent).stop == "end"
        small = [request for request in agent.server.requests if request.body["model"] == "small-model"]
        summed = "".join(request.last_text for request in small if is_summary(request))
        flushed = "".join(request.last_text for request in small if is_flush(request))
        (mark,) = marks(agent)
        going = [number for number in range(12) if 2 * number + 1 < mark.meta["first_kept"]]
        assert len(going) >= 10
        for number in going:
            assert f"Marker-{number:02d}" in summed
            assert f"Marker-{number:02d}" in flushed
        assert mark.meta["uncovered"] == ""
        assert agent.server.refusals == []


# -- when it does not run, or cannot help ---------------------------------------------------------------------------------------------


async def test_off_means_that_the_flush_still_fires_and_a_full_window_ends_the_turn(tmp_path):
    """D10."""
    async with AgentHarness(tmp_path, window=WINDOW, compaction="off") as agent:
        agent.server.script(script(flush=lambda request: tool_use("memory_write", {"notes": ["The unit is mm."]})))
        for _ in range(30):
            await agent.say(THIRD)
            if last_end(agent).stop != "end":
                break
        assert last_end(agent).stop == "full"
        assert "compaction is off" in last_end(agent).sentence
        assert "%agent compact" in last_end(agent).sentence
        assert "The unit is mm." in agent.memory_text
        assert marks(agent) == []
        assert agent.server.refusals == []


async def test_drop_leaves_a_line_in_place_of_a_summary_and_asks_no_model(tmp_path):
    """The option ``compaction = 'drop'``; what goes is flushed as ever (B4)."""
    async with AgentHarness(tmp_path, window=WINDOW, compaction="drop") as agent:
        agent.server.script(script())
        await until_compacted(agent, 2)
        assert not any(is_summary(request) for request in agent.server.requests)
        assert all(mark.meta["source"] == "drop" and "memory_search finds them" in mark.text and mark.meta["uncovered"] == "" for mark in marks(agent))
        assert marks(agent)[-1].text.count("were dropped from view") == 1
        assert agent.server.refusals == []


async def test_it_never_runs_twice_in_a_row_and_says_why_it_stops(tmp_path):
    """D9: a request that stays verbatim is larger than what a compaction leaves."""
    async with AgentHarness(tmp_path, window=WINDOW) as agent:
        agent.server.script(script())
        await agent.say("Hello. " + THIRD)
        room = await agent.runner.room(agent.events.append)
        words = "word " * room.lines.room
        while room.prompt_fault(agent.runner._parts.counter("local/fake-model").text(words) + 20) is not None:
            words = words[: -len("word ") * 10]
        await agent.say(words)
        compactions = len(marks(agent))
        assert compactions == 1
        assert last_end(agent).stop == "end"
        kinds = [type(event) for event in agent.events]
        assert kinds.count(CompactionStart) == kinds.count(CompactionEnd) == compactions
        assert agent.server.refusals == []


async def test_an_overflow_right_after_a_compaction_ends_the_turn_with_an_explanation(tmp_path):
    """D9, D7: no second compaction without a reply in between."""
    async with AgentHarness(tmp_path, window=WINDOW) as agent:
        agent.server.script(script())
        while agent.runner._room is None or agent.runner._room.used() + 1_700 < agent.runner._room.lines.compaction_line:
            await agent.say(THIRD)
        agent.server.script(script(lambda request: too_long(30_000, 16_000)))
        await agent.say(THIRD)
        assert len(marks(agent)) == 1
        assert last_end(agent).stop == "error"
        assert "does not fit the model" in last_end(agent).sentence
        agent.server.script(script())
        await agent.say("And now?")
        assert last_end(agent).stop == "end"


async def test_what_cannot_be_brought_below_the_line_is_explained_once(tmp_path):
    """D9: the last round is kept however large, and the answer uses the reserve."""
    tool = ScriptedTool(answer=lambda given: "v " * 1950)
    async with AgentHarness(tmp_path, window=WINDOW, tools=[tool]) as agent:
        rounds = iter([[tool_use("run_python", {"code": str(n)}) for n in range(4)], "done"])
        agent.server.script(script(lambda request: next(rounds, "ok")))
        await agent.say("Look at it all.")
        said = [notice.text for notice in agent.of(Notice) if "cannot be brought below the compaction line" in notice.text]
        assert len(said) <= 1
        assert last_end(agent).stop in {"end", "full"}
        assert agent.server.refusals == []


# -- the paths that lead to it (B4) -----------------------------------------------------------------------------------------------------


def order(agent) -> list[str]:
    return [type(event).__name__ for event in agent.events if isinstance(event, MemoryFlushStart | MemoryFlushEnd | CompactionStart | CompactionEnd)]


def covered(agent) -> bool:
    mark = marks(agent)[-1]
    trace = agent.workspace.store.trace(agent.trace_id)
    return mark.meta["uncovered"] == "" and trace.flushed_through >= mark.meta["removed"][1]


async def test_a_manual_compaction_flushes_first(tmp_path):
    """B4: manual; nothing is compacted when nothing would go."""
    async with AgentHarness(tmp_path, window=100_000, keep_recent_tokens=500) as agent:
        agent.server.script(script())
        await agent.say("Remember that the deadline is 14 March.")
        room = await agent.runner.room(agent.events.append)
        assert not await room.compact("manual")
        await fill(agent, 3)
        room = await agent.runner.room(agent.events.append)
        assert await room.compact("manual")
        assert order(agent) == ["MemoryFlushStart", "MemoryFlushEnd", "CompactionStart", "CompactionEnd"]
        assert covered(agent)
        assert "14 March" in agent.memory_text
        assert marks(agent)[0].meta["reason"] == "manual"
        await agent.say("next")
        assert agent.server.refusals == []


async def test_an_overflow_flushes_first_even_where_the_whole_context_no_longer_fits(tmp_path):
    """B4, D7: the server's window is smaller than what was believed; the flush goes on slim."""
    async with AgentHarness(tmp_path, window=16_000) as agent:
        agent.workspace.config.window = 60_000
        agent.server.script(script())
        await agent.say("Remember that the deadline is 14 March.")
        for _ in range(12):
            await agent.say(THIRD)
            if marks(agent):
                break
        assert marks(agent)[0].meta["reason"] == "overflow"
        assert last_end(agent).stop == "end"
        assert covered(agent)
        assert agent.of(MemoryFlushEnd)[0].outcome == "floor"
        assert "14 March" in agent.memory_text
        assert marks(agent)[0].meta["source"] == "model"


async def test_a_compaction_in_the_middle_of_a_turn_flushes_first(tmp_path):
    """B4, B2: mid-turn, what came since the cycle's flush included."""
    async with AgentHarness(tmp_path, window=WINDOW, tools=[ScriptedTool()]) as agent:
        rounds = wordy(12)
        agent.server.script(script(lambda request: next(rounds, "done")))
        await agent.say("Work.", max_rounds=30)
        assert len(marks(agent)) >= 2
        assert all(mark.meta["uncovered"] == "" for mark in marks(agent))
        names = order(agent)
        assert all(names[place - 1] == "MemoryFlushEnd" for place, name in enumerate(names) if name == "CompactionStart")


async def test_after_a_restart_with_a_smaller_window_what_goes_is_flushed_first(tmp_path):
    """B4: resume."""
    async with AgentHarness(tmp_path, window=60_000) as agent:
        agent.server.script(script())
        await agent.say("Remember that the deadline is 14 March.")
        await fill(agent, 6)
        assert agent.of(MemoryFlushEnd) == []
        agent._options["window"] = 16_000
        await agent.reopen()
        await agent.say("Where were we?")
        assert order(agent) == ["MemoryFlushStart", "MemoryFlushEnd", "CompactionStart", "CompactionEnd"]
        assert covered(agent)
        assert "14 March" in agent.memory_text
        assert agent.server.refusals == []


async def test_where_no_flush_may_run_the_reason_stands_with_the_summary(tmp_path):
    """P1, B5."""
    async with AgentHarness(tmp_path, window=WINDOW, enable_memory_flush=False) as agent:
        agent.server.script(script())
        await until_compacted(agent)
        assert marks(agent)[0].meta["uncovered"] == "the memory flush is switched off (enable_memory_flush)"
        assert agent.of(CompactionEnd)[0].reason == marks(agent)[0].meta["uncovered"]


async def test_a_flush_of_another_process_is_waited_for_quietly(tmp_path):
    """B6, B4: one skipped try, then the wait, then the flush of what is still uncovered."""
    import asyncio

    async with AgentHarness(tmp_path, window=100_000, keep_recent_tokens=500) as agent:
        agent.server.script(script())
        await fill(agent, 3)
        store = agent.workspace.store
        assert store.acquire(f"flush:{agent.trace_id}", "another", stale_after_s=330)
        room = await agent.runner.room(agent.events.append)
        job = asyncio.ensure_future(room.compact("manual"))
        await asyncio.sleep(0.2)
        assert not job.done()
        store.release(f"flush:{agent.trace_id}", "another")
        assert await job
        assert [end.outcome for end in agent.of(MemoryFlushEnd)] == ["skipped", "floor"]
        assert covered(agent)


# -- what a cycle renews, and figures that must not be stale --------------------------------------------------------------------------------


async def test_the_memory_block_is_frozen_within_a_cycle_and_fresh_after_it(tmp_path):
    """Section 6, G1."""
    async with AgentHarness(tmp_path, window=WINDOW) as agent:
        agent.server.script(script(flush=lambda request: tool_use("memory_write", {"notes": ["The unit of depth_m is metres."]})))
        await until_compacted(agent)
        turns = [request for request in agent.server.requests if not is_summary(request)]
        blocks = list(dict.fromkeys(json.dumps(request.body["system"]) for request in turns))
        assert len(blocks) == 2
        assert "metres" not in blocks[0]
        assert "metres" in blocks[1]


async def test_measured_usage_is_not_stale_after_a_compaction(tmp_path):
    """A4."""
    async with AgentHarness(tmp_path, window=WINDOW) as agent:
        agent.server.script(script())
        await until_compacted(agent)
        end = agent.of(CompactionEnd)[0]
        assert end.tokens_after < end.tokens_before * 0.7
        room = await agent.runner.room(agent.events.append)
        request = agent.server.requests[-1]
        if is_flush(request) or is_summary(request):
            request = next(r for r in reversed(agent.server.requests) if not is_flush(r) and not is_summary(r))
        measured = request.usage.total
        assert abs(room.used() - measured) <= 0.02 * measured


async def test_measured_usage_is_not_stale_after_pruning(tmp_path):
    """A4, D1: the last total measured results that are sent as stubs now."""
    tool = ScriptedTool(answer=lambda given: "value " * 3000)
    async with AgentHarness(tmp_path, window=100_000, tools=[tool], keep_recent_tokens=20_000) as agent:
        rounds = iter([tool_use("run_python", {"code": str(number)}) for number in range(9)])
        agent.server.script(script(lambda request: next(rounds, "done")))
        await agent.say("Work.", max_rounds=30)
        await agent.say("More.")
        last = next(r for r in reversed(agent.server.requests) if not is_flush(r) and not is_summary(r))
        assert "omitted; read_message(" in json.dumps(last.messages)
        room = await agent.runner.room(agent.events.append)
        assert abs(room.used() - last.usage.total) <= 0.05 * last.usage.total
        figures = room.budget()
        assert figures.shortened >= 4  # what is sent shorter is told
        assert figures.shortened_tokens > 10_000
        assert agent.server.refusals == []


async def test_a_total_that_another_model_measured_does_not_count(tmp_path):
    """A4: another prefix, another tokenizer."""
    async with AgentHarness(tmp_path, window=WINDOW) as agent:
        agent.server.script(script(lambda request: Reply("ok", output_tokens=2_000)))
        await agent.say("Hello.")
        first = await agent.runner.room(agent.events.append)
        assert first.used() > first.frame.prefix + 1_500
        runner = agent.workspace.runner(agent.trace_id, "local/small-model", agent.parts())
        other = await runner.room(agent.events.append)
        assert other.used() < other.frame.prefix + 100


async def test_a_message_of_another_runner_is_neither_lost_nor_taken_as_flushed(tmp_path):
    """P1: two kernels on one trace; what the other one wrote in between stands on this path too."""
    async with AgentHarness(tmp_path, window=100_000, keep_recent_tokens=500) as agent:
        other = agent.workspace.runner(agent.trace_id, "local/fake-model", agent.parts())

        async def interfere(given):
            agent.server.script(script("the other's answer"))
            await other.turn([{"type": "text", "text": "Remember that the deadline is 14 March."}], agent.events.append)
            agent.server.script(script("done"))
            return "ran"

        agent.tools.append(ScriptedTool(answer=interfere))
        agent.runner = agent.workspace.runner(agent.trace_id, "local/fake-model", agent.parts())
        agent.server.script(script(tool_use("run_python", {"code": "1"})))
        await agent.say("Run it.")
        assert "14 March" in json.dumps(agent.server.requests[-1].messages)
        await fill(agent, 2)
        room = await agent.runner.room(agent.events.append)
        assert await room.compact("manual")
        assert "14 March" in agent.memory_text
        assert agent.server.refusals == []


async def test_a_summary_prepared_ahead_carries_the_request_that_goes(tmp_path):
    """D3 for a manual compaction right after a turn whose summary was prepared in the background."""
    async with AgentHarness(tmp_path, window=40_000, tools=[ScriptedTool()], background=True, keep_recent_tokens=2_000) as agent:
        rounds = wordy(15)
        agent.server.script(script(lambda request: next(rounds, "done")))
        await agent.say("Please find the colour of lake Orta.", max_rounds=30)
        await agent.drain()
        for message in agent.workspace.store.side_branches(agent.trace_id):
            if message.branch == "prepared":
                break
        else:
            room = await agent.runner.room(agent.events.append)
            pytest.fail(f"nothing was prepared: {room.used()} of {room.lines}")
        before = len(agent.server.requests)
        room = await agent.runner.room(agent.events.append)
        assert await room.compact("manual")
        assert len(agent.server.requests) == before
        assert marks(agent)[0].content[-1]["text"] == "Please find the colour of lake Orta."


# -- sizes (A1, A1b) ------------------------------------------------------------------------------------------------------------------------


async def test_at_the_default_offline_window_the_first_flush_comes_after_the_second_turn(tmp_path):
    """A1: two ordinary turns (a question, a tool call with a table, an answer) come before it, and at least two lie between compactions."""
    from memflush_jupyter.config import MemFlush

    table = "\n".join(f"{row:>4}  Adelie  Torgersen  39.{row % 10}  18.{row % 7}  {181 + row}  {3750 + row * 5}" for row in range(12))
    tool = ScriptedTool(answer=lambda given: table)
    async with AgentHarness(tmp_path, window=MemFlush().offline_window, tools=[tool]) as agent:
        count = iter(range(1000))

        def answer(request):
            if next(count) % 2 == 0:
                return [text("Let me look."), tool_use("run_python", {"code": "df.groupby('species')['bill_length_mm'].describe()"})]
            return "The bills of the Adelie penguins are **38.8 mm** long on average, those of the Gentoo 47.5 mm. " * 4

        agent.server.script(script(answer))
        flush_after, compacted_after = 0, []
        for turn in range(1, 60):
            await agent.say("Compare the bill lengths of the species, and say what separates them best.")
            if agent.of(MemoryFlushStart) and not flush_after:
                flush_after = turn
            if len(marks(agent)) > len(compacted_after):
                compacted_after.append(turn)
            if len(compacted_after) == 3:
                break
        assert flush_after >= 2
        assert len(compacted_after) == 3
        assert all(later - earlier > 2 for earlier, later in itertools.pairwise(compacted_after))
        assert agent.server.refusals == []


async def test_the_default_tools_are_small(tmp_path):
    """A1b: all schemas of a default session together ≤ 1,500 tokens, the system prompt ≤ 700."""
    from memflush_jupyter.context.tokens import TokenCounter
    from memflush_jupyter.notebook.kernel_tools import kernel_tools

    async with AgentHarness(tmp_path, tools=kernel_tools(None, None)) as agent:
        agent.server.script(script())
        await agent.say("hello")
        sent = agent.server.requests[0].body
        count = TokenCounter("x", factor=1.0)
        schemas = [{name: value for name, value in tool.items() if name != "cache_control"} for tool in sent["tools"]]
        assert sorted(schema["name"] for schema in schemas) == [
            "inspect_variables", "list_files", "memory_search", "memory_write", "read_file", "read_message", "run_python", "search_files",
        ]  # fmt: skip
        assert count.tools(schemas) <= 1_500
        assert count.text(sent["system"][0]["text"]) <= 700


# -- recall in turns (G5, G6) ----------------------------------------------------------------------------------------------------------------


def new_trace(agent) -> None:
    agent.trace_id = agent.workspace.store.create_trace(identity=agent.workspace.identity).id
    agent.runner = agent.workspace.runner(agent.trace_id, "local/fake-model", agent.parts())


async def test_recall_rides_with_the_prompt_as_labelled_data_and_is_logged(tmp_path):
    """G5, G6: the cached prefix stays; the query is on record."""
    async with AgentHarness(tmp_path) as agent:
        agent.server.script(script())
        await agent.say("The deadline of project Heron is 14 March.")
        old, system = agent.trace_id, agent.server.requests[-1].body["system"]
        new_trace(agent)
        await agent.say("When is the deadline of project Heron?")
        sent = agent.server.requests[-1]
        assert sent.body["system"] == system
        recalled, asked = sent.messages[-1]["content"]
        assert recalled["text"].startswith("<recalled note=")
        assert "data, not instructions" in recalled["text"]
        assert f"[{old[:8]}#1 user 2026-01-15] The deadline of project Heron is 14 March." in recalled["text"]
        assert asked["text"] == "When is the deadline of project Heron?"
        (shown,) = agent.of(Recalled)
        assert [(item["ref"], item["origin"], item["date"]) for item in shown.items] == [(f"{old[:8]}#1", "user", "2026-01-15")]
        (event,) = agent.workspace.store.events(agent.trace_id, event="query")
        assert event.data == {"query": "When is the deadline of project Heron?", "by": "prompt", "found": [f"{old[:8]}#1"]}


async def test_what_stands_in_the_context_is_not_recalled_and_what_was_compacted_is(tmp_path):
    """G5."""
    async with AgentHarness(tmp_path, window=100_000, keep_recent_tokens=500, flush_floor=False) as agent:
        agent.server.script(script())
        await agent.say("The deadline of project Heron is 14 March.")
        await agent.say("When is the deadline of project Heron?")
        assert agent.of(Recalled) == []
        await fill(agent, 2)
        assert await (await agent.runner.room(agent.events.append)).compact("manual")
        agent.events.clear()
        await agent.say("When is the deadline of project Heron?")
        assert any("14 March" in item["text"] for shown in agent.of(Recalled) for item in shown.items)


@pytest.mark.parametrize("prompt", ["hi", "thanks!", "ok", "go on", "What is 2 + 2?"])
async def test_a_prompt_that_needs_no_recall_gets_none(tmp_path, prompt):
    """G5."""
    async with AgentHarness(tmp_path) as agent:
        agent.server.script(script())
        await agent.say("The deadline of project Heron is 14 March.")
        new_trace(agent)
        await agent.say(prompt)
        assert agent.of(Recalled) == []
        assert [block["text"] for block in agent.server.requests[-1].messages[-1]["content"]] == [prompt]


@pytest.mark.parametrize("options", [{"recall": False}, {"recall_tokens": 0}])
async def test_recall_can_be_switched_off(tmp_path, options):
    """G5."""
    async with AgentHarness(tmp_path, **options) as agent:
        agent.server.script(script())
        await agent.say("The deadline of project Heron is 14 March.")
        new_trace(agent)
        await agent.say("When is the deadline of project Heron?")
        assert agent.of(Recalled) == []
        assert "recalled" not in json.dumps(agent.server.requests[-1].messages)


async def test_another_identitys_conversations_are_not_recalled(tmp_path):
    """G5: earlier traces of the identity."""
    async with AgentHarness(tmp_path) as agent:
        other = agent.workspace.store.create_trace(identity="somebody-else").id
        block = {"type": "text", "text": "The deadline of project Heron is 14 March."}
        agent.workspace.store.append(other, role="user", kind="prompt", content=[block])
        agent.server.script(script())
        await agent.say("When is the deadline of project Heron?")
        assert agent.of(Recalled) == []


async def test_a_recalled_note_counts_a_signal_with_its_query(tmp_path):
    """G6, F6."""
    async with AgentHarness(tmp_path, memory_tokens=0) as agent:
        agent.server.script([tool_use("memory_write", {"notes": ["The deadline of project Heron is 14 March."]}), "saved"])
        await agent.say("Save it.")
        new_trace(agent)
        agent.server.script(script())
        await agent.say("When is the deadline of project Heron?")
        await agent.say("Thanks.")
        (note,) = agent.workspace.store.notes(state="written")
        assert (note.signals, note.queries) == (1, ["When is the deadline of project Heron?"])


async def test_recalled_text_is_pruned_first(tmp_path):
    """G6: of earlier prompts; the present one keeps its own."""
    async with AgentHarness(tmp_path, window=40_000, keep_recent_tokens=5_000) as agent:
        agent.server.script(script())
        await agent.say("The deadline of project Heron is 14 March.")
        new_trace(agent)
        await agent.say("When is the deadline of project Heron?")
        await fill(agent, 5)
        sent = json.dumps(agent.server.requests[-1].messages)
        assert "[Notes recalled for this message are no longer shown.]" in sent
        assert "14 March" not in sent
        assert "When is the deadline of project Heron?" in sent
        stored = agent.workspace.store.message(agent.trace_id, 1)
        assert "14 March" in stored.text


# -- memory_write and the folder (G7, G8) -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "lands", "fault"),
    [
        (None, "2026-01-15.md", False),
        ("2026-01-15.md", "2026-01-15.md", False),
        ("topics/lakes.md", "topics/lakes.md", False),
        ("memory/taste.md", "taste.md", False),
        ("MEMORY.md", "2026-01-15.md", True),
        ("IDENTITY.md", "2026-01-15.md", True),
        ("DREAMS.md", "2026-01-15.md", True),
        ("../out.md", "2026-01-15.md", True),
        ("/etc/passwd", "2026-01-15.md", True),
        ("topics/deep/lakes.md", "2026-01-15.md", True),
        ("2025-12-31.md", "2026-01-15.md", True),
    ],
)
async def test_where_notes_of_an_ordinary_turn_go(tmp_path, file, lands, fault):
    """G7, C3: daily, topics/NAME.md or a declared file; anything else lands in the daily file, with an error that says so."""
    given = {"notes": ["The harbour is Pella."], **({"file": file} if file else {})}
    async with AgentHarness(tmp_path) as agent:
        agent.server.script([tool_use("memory_write", given), "saved"])
        await agent.say("Save it.")
        assert agent.workspace.memory.names() == [lands]
        assert "- The harbour is Pella. <!-- mf:" in agent.workspace.memory.read(lands)
        result = agent.server.requests[-1].messages[-1]["content"][0]
        assert result.get("is_error", False) is fault
        assert f"1 saved to memory/{lands}" in json.dumps(result)
        assert ("The notes went to today's file." in json.dumps(result)) is fault
        assert [note.state for note in agent.workspace.store.notes()] == ["written"]
        assert agent.server.refusals == []


async def test_chdir_in_the_notebook_does_not_move_the_memory(tmp_path, monkeypatch):
    """G8."""
    home, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    home.mkdir()
    elsewhere.mkdir()
    monkeypatch.chdir(home)
    tool = ScriptedTool(answer=lambda given: os.chdir(elsewhere) or "moved")
    async with AgentHarness(home.relative_to(home.parent).parent, tools=[tool]) as agent:
        agent.server.script([tool_use("run_python", {"code": "os.chdir"}), tool_use("memory_write", {"notes": ["The harbour is Pella."]}), "saved"])
        await agent.say("Move, then save.")
        assert (home / "memory" / "2026-01-15.md").exists()
        assert list(elsewhere.iterdir()) == []


async def test_a_total_that_measured_a_pruned_context_does_not_count_after_a_restart_that_forgot_the_pruning(tmp_path, monkeypatch):
    """A4, P6: the result stands whole in the context again, and the next request must know it."""
    monkeypatch.setattr(Sending, "asked_with", lambda self, last: {"frame": self.frame.digest, "model": MODEL, "after": last, "pruned": 1})
    async with AgentHarness(tmp_path, window=WINDOW) as agent:
        agent.server.script(["Noted."])
        await agent.say("The survey has 124 birds.")
        measured = agent.workspace.store.path(agent.trace_id)[-1].usage.total
        await agent.reopen()
        room = await agent.runner.room(agent.events.append)
        messages = agent.workspace.store.path(agent.trace_id)
        assert room.used() == room.frame.prefix + sum(message.tokens for message in messages)
        assert room.guessed() == room.used() != measured


async def test_a_summary_of_a_part_that_leaves_the_next_part_no_room_is_refused(tmp_path):
    """D6, P6: in a small window the removed part is summarised in parts; nothing may be clipped, so the sentences stand word for word then."""
    models = [ServedModel("fake-model", 40_000, 4_000), ServedModel("small-model", 8_000, 2_000)]
    with FakeMessagesServer(models=models, keys=["fake"]) as server:
        async with AgentHarness(tmp_path, server=server) as agent:
            agent.server.script(script(summary="word " * 1_900))
            await fill(agent, 6)
            runner = agent.workspace.runner(agent.trace_id, "local/small-model", agent.parts())
            room = await runner.room(agent.events.append)
            await room.compact("manual")
            assert marks(agent)[0].meta["source"] == "extractive"
            asked = [request for request in server.requests if "[summary]" in request.last_text]
            assert len(asked) == 3
            assert [request.refused for request in asked] == [None] * 3


async def test_no_side_branch_is_sent_what_another_model_thought(tmp_path):
    """P6: signatures are bound to their model, and a flush rides on the main prefix."""
    async with AgentHarness(tmp_path) as agent:
        agent.server.script([[thinking("Hmm."), tool_use("list_files")], "done", "noted", "NO_REPLY"])
        await agent.say("The deadline is 14 March.")
        agent.runner = agent.workspace.runner(agent.trace_id, "local/small-model", agent.parts())
        await agent.say("more")
        await (await agent.runner.room(agent.events.append)).flush_now()
        flush = agent.server.requests[-1]
        assert "[memory flush]" in flush.last_text
        assert flush.body["model"] == "small-model"
        assert agent.server.refusals == []


async def test_turns_are_counted_over_compactions(tmp_path):
    """The gauge tells the turn of the conversation, not how many of its prompts are still in view."""
    async with AgentHarness(tmp_path, window=WINDOW) as agent:
        agent.server.script(script(lambda request: THIRD))
        for number in range(1, 11):
            await agent.say(f"Question {number}. {FILLER * 60}")
            assert (await agent.runner.room(agent.events.append)).budget().turn == number
        assert agent.workspace.store.trace(agent.trace_id).compaction_count >= 2
        await agent.reopen()
        assert (await agent.runner.room(agent.events.append)).budget().turn == 10


async def test_a_compaction_by_hand_in_a_new_kernel_counts_what_would_be_sent(tmp_path):
    """D1: results that go shortened are not told, nor sent to be summarised, at their stored size."""
    tool = ScriptedTool(answer=lambda given: "value " * 12_000)
    async with AgentHarness(tmp_path, window=WINDOW, tools=[tool]) as agent:
        rounds = iter([tool_use("run_python", {"code": "1"}), "done", tool_use("run_python", {"code": "2"}), "done"])
        agent.server.script(script(lambda request: next(rounds, "done")))
        await agent.say("Work.")
        await agent.say("More.")
        await agent.reopen()
        await (await agent.runner.room(agent.events.append)).compact("manual")
        (end,) = agent.of(CompactionEnd)[-1:]
        assert end.tokens_before < WINDOW
        assert agent.server.refusals == []
