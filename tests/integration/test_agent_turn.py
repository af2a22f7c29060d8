"""A turn against the strict server: rounds, tools, faults, limits (points 2 and 4, D7, D8, D10, D11, P6, P10)."""

from __future__ import annotations

import asyncio
import json

import pytest

from memflush_jupyter.agent.tools.base import Approval, Never
from memflush_jupyter.events import Notice, TextDelta, TextDiscarded, TextDone, ToolFinished, TurnFinished
from memflush_jupyter.testing import Break, Refuse, Reply, overloaded, text, thinking, too_long, tool_use
from memflush_jupyter.testing.agents import AgentHarness, ScriptedTool


def finished(events) -> TurnFinished:
    (end,) = [event for event in events if isinstance(event, TurnFinished)]
    assert events[-1] is end
    return end


async def test_an_answer_streams_and_is_stored(tmp_path):
    async with AgentHarness(tmp_path) as agent:
        agent.server.script(["The mean is 3.5 mm."])
        events = await agent.say("What is the mean?")
        assert "".join(event.text for event in events if isinstance(event, TextDelta)).startswith("The mean is")
        assert [event.text for event in events if isinstance(event, TextDone)] == ["The mean is 3.5 mm."]
        assert finished(events).stop == "end"
        path = agent.workspace.store.path(agent.trace_id)
        assert [(m.role, m.kind, m.text) for m in path] == [("user", "prompt", "What is the mean?"), ("assistant", "reply", "The mean is 3.5 mm.")]
        assert path[-1].usage.output > 0
        assert agent.server.refusals == []


async def test_tools_run_and_their_results_go_back(tmp_path):
    tool = ScriptedTool(answer=lambda given: str(eval(given["code"])))
    async with AgentHarness(tmp_path, tools=[tool]) as agent:
        agent.server.script([[text("Let me see."), tool_use("run_python", {"code": "6 * 7"})], "It is 42."])
        events = await agent.say("6 * 7?")
        assert tool.calls == [{"code": "6 * 7"}]
        (done,) = [event for event in events if isinstance(event, ToolFinished)]
        assert (done.text, done.is_error) == ("42", False)
        sent = agent.server.requests[-1].messages
        assert sent[-1]["content"][0]["type"] == "tool_result"
        assert finished(events).rounds == 2
        assert agent.server.refusals == []


async def test_parallel_calls_are_answered_in_order_in_one_message(tmp_path):
    (tmp_path / "a.txt").write_text("alpha")
    async with AgentHarness(tmp_path) as agent:
        agent.server.script([[tool_use("list_files"), tool_use("read_file", {"path": "a.txt"}), tool_use("nonsense")], "done"])
        await agent.say("look")
        results = agent.server.requests[-1].messages[-1]["content"]
        assert [block["type"] for block in results] == ["tool_result"] * 3
        assert "alpha" in json.dumps(results[1])
        assert results[2]["is_error"] is True
        assert "There is no tool 'nonsense'" in json.dumps(results[2])
        assert agent.server.refusals == []


async def test_thinking_goes_back_as_it_came(tmp_path):
    async with AgentHarness(tmp_path) as agent:
        agent.server.script([[thinking("Hmm."), tool_use("list_files")], "done", "again"])
        await agent.say("look")
        await agent.say("more")
        assert agent.server.refusals == []
        assert agent.server.requests[-1].messages[1]["content"][0]["thinking"] == "Hmm."


async def test_thinking_goes_back_to_the_model_that_thought_it_and_to_no_other(tmp_path):
    """P6"""
    async with AgentHarness(tmp_path) as agent:
        agent.server.script([[thinking("Hmm."), tool_use("list_files")], Reply([]), Reply([]), "done", "again"])
        await agent.say("look")
        first = agent.runner
        agent.runner = agent.workspace.runner(agent.trace_id, "local/small-model", agent.parts())
        await agent.say("more")
        agent.runner = first
        await agent.say("and more")
        assert agent.server.refusals == []
        thoughts = [[block["type"] for block in request.messages[1]["content"]] for request in agent.server.requests[-2:]]
        assert thoughts == [["tool_use"], ["thinking", "tool_use"]]


async def test_max_rounds_ends_the_turn_with_a_sentence(tmp_path):
    async with AgentHarness(tmp_path) as agent:
        agent.server.script(lambda request: [tool_use("list_files")])
        end = finished(await agent.say("loop", max_rounds=3))
        assert (end.stop, end.rounds) == ("max_rounds", 3)
        agent.server.script(["ok"])
        assert finished(await agent.say("and now?")).stop == "end"
        assert agent.server.refusals == []


async def test_a_denied_tool_is_answered_with_the_reason(tmp_path):
    tool = ScriptedTool()
    tool.approval = True
    async with AgentHarness(tmp_path, tools=[tool], approver=Never()) as agent:
        agent.server.script([[tool_use("run_python", {"code": "1"})], "Then not."])
        events = await agent.say("run")
        assert tool.calls == []
        (done,) = [event for event in events if isinstance(event, ToolFinished)]
        assert "nobody is here to approve it" in done.text


async def test_an_edited_input_is_what_runs(tmp_path):
    class Editor:
        async def decide(self, tool, input):
            return Approval(allowed=True, input={"code": "2"})

    tool = ScriptedTool()
    tool.approval = True
    async with AgentHarness(tmp_path, tools=[tool], approver=Editor()) as agent:
        agent.server.script([[tool_use("run_python", {"code": "1"})], "ok"])
        await agent.say("run")
        assert tool.calls == [{"code": "2"}]


@pytest.mark.parametrize("kind", ["cut", "close", "error", "garbage"])
async def test_a_lost_stream_is_asked_for_again_and_never_sent_as_if_whole(tmp_path, kind):
    """D11."""
    async with AgentHarness(tmp_path) as agent:
        agent.server.script([Reply("The first half and the second half", broken=Break(kind, after=3), delta_chars=8), "The whole."])
        events = await agent.say("tell me")
        assert finished(events).stop == "end"
        assert [event.text for event in events if isinstance(event, TextDone)] == ["The whole."]
        assert any(isinstance(event, TextDiscarded | Notice) for event in events)
        assert "first half" not in json.dumps(agent.server.requests[-1].body)
        assert agent.server.refusals == []


async def test_a_tool_call_in_a_cut_message_is_not_run(tmp_path):
    """D11: truncated JSON parses as a smaller call."""
    tool = ScriptedTool()
    async with AgentHarness(tmp_path, tools=[tool]) as agent:
        agent.server.script([Reply([tool_use("run_python", {"code": "123456"})], stop_reason="max_tokens", raw_input='{"code": "123'), "sorry"])
        events = await agent.say("run")
        assert tool.calls == []
        assert finished(events).stop == "end"
        assert agent.server.refusals == []


@pytest.mark.parametrize("raw", ['{"code": NaN}', '{"code": 1e999}', '{"code": ' + "[" * 5000 + "]" * 5000 + "}"])
async def test_a_call_that_json_cannot_say_again_is_not_sent_back(tmp_path, raw):
    """P6, D11: Python's reader takes ``NaN``; a server refuses each later request that holds it."""
    tool = ScriptedTool()
    async with AgentHarness(tmp_path, tools=[tool]) as agent:
        agent.server.script([Reply([tool_use("run_python", {"code": "1"})], raw_input=raw), "Done.", "Here."])
        assert finished(await agent.say("Go.")).stop == "end"
        assert finished(await agent.say("Still there?")).stop == "end"
        assert tool.calls == []
        assert agent.server.refusals == []


async def test_a_model_that_is_always_cut_ends_the_turn(tmp_path):
    async with AgentHarness(tmp_path) as agent:
        agent.server.script(lambda request: Reply("half a sentence that goes on", broken=Break("cut", after=3)))
        end = finished(await agent.say("tell me"))
        assert end.stop == "error"
        assert "3 times" in end.sentence


async def test_an_overloaded_server_is_tried_again_visibly(tmp_path):
    from memflush_jupyter.events import Retrying

    async with AgentHarness(tmp_path) as agent:
        agent.server.script([overloaded(), overloaded(), "here"])
        events = await agent.say("hello")
        assert len([event for event in events if isinstance(event, Retrying)]) == 2
        assert finished(events).stop == "end"


async def test_an_error_ends_the_turn_with_its_sentence_and_the_trace_goes_on(tmp_path):
    async with AgentHarness(tmp_path) as agent:
        agent.server.script([Refuse(400, "invalid_request_error", "nope"), "better"])
        end = finished(await agent.say("one"))
        assert end.stop == "error"
        assert "nope" in end.sentence
        assert finished(await agent.say("two")).stop == "end"
        assert agent.server.refusals == []


async def test_overflow_compacts_and_tries_once_more(tmp_path):
    """D7."""
    async with AgentHarness(tmp_path) as agent:
        agent.server.script(lambda request: "A long answer. " * 400)
        for number in range(8):
            await agent.say(f"question {number} " + "word " * 2000)
        answers = iter([too_long(300_000, 200_000)])

        def script(request):
            if "[memory flush]" in request.last_text:
                return "NO_REPLY"
            if "[summary]" in request.last_text:
                return "## Done and found\nMany questions were asked."
            return next(answers, "fits now")

        agent.server.script(script)
        events = await agent.say("one more")
        assert finished(events).stop == "end"
        assert agent.workspace.store.trace(agent.trace_id).compaction_count == 1
        assert [event.text for event in events if isinstance(event, TextDone)] == ["fits now"]


async def test_a_second_overflow_names_what_was_too_large(tmp_path):
    """D7."""
    async with AgentHarness(tmp_path) as agent:
        agent.server.script(lambda request: "ok " * 3000)
        for number in range(8):
            await agent.say(f"question {number} " + "word " * 2000)

        def script(request):
            if "[memory flush]" in request.last_text:
                return "NO_REPLY"
            return "A summary." if "[summary]" in request.last_text else too_long(300_000, 200_000)

        agent.server.script(script)
        end = finished(await agent.say("one more"))
        assert end.stop == "error"
        assert "The largest message is number" in end.sentence


async def test_a_prompt_larger_than_the_room_is_refused_before_sending(tmp_path):
    """D8: with both sizes."""
    async with AgentHarness(tmp_path, window=16_000) as agent:
        end = finished(await agent.say("word " * 30_000))
        assert end.stop == "error"
        assert "tokens" in end.sentence
        assert agent.server.requests == []
        assert agent.workspace.store.path(agent.trace_id) == []


async def test_an_interrupt_while_streaming_keeps_the_trace_resumable(tmp_path):
    """P10, P6."""
    async with AgentHarness(tmp_path) as agent:
        agent.server.script([Reply("a very slow answer " * 20, event_delay_s=0.05)])
        task = asyncio.ensure_future(agent.say("tell me slowly"))
        while not agent.of(TextDelta):
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert agent.of(TurnFinished)[-1].stop == "interrupted"
        agent.server.script(["fine"])
        assert finished(await agent.say("go on")).stop == "end"
        assert "very slow" not in json.dumps(agent.server.requests[-1].body)
        assert agent.server.refusals == []


async def test_an_interrupt_in_a_tool_answers_the_call(tmp_path):
    async def wait(given):
        await asyncio.sleep(30)
        return "never"

    tool = ScriptedTool(answer=wait)
    async with AgentHarness(tmp_path, tools=[tool]) as agent:
        agent.server.script([[tool_use("list_files"), tool_use("run_python", {"code": "x"})]])
        task = asyncio.ensure_future(agent.say("run"))
        while not tool.calls:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        results = agent.workspace.store.path(agent.trace_id)[-1]
        assert results.kind == "results"
        assert ["Interrupted" in json.dumps(block) for block in results.content] == [False, True]
        agent.server.script(["ok"])
        await agent.say("go on")
        assert agent.server.refusals == []


async def test_a_secret_in_prompt_tool_and_reply_reaches_neither_store_nor_events(tmp_path):
    """P7."""
    secret = "sk-" + "ant-api03-" + "A1b2C3d4E5" * 9
    tool = ScriptedTool(answer=lambda given: f"key={secret}")
    async with AgentHarness(tmp_path, tools=[tool]) as agent:
        agent.server.script([[tool_use("run_python", {"code": "print(key)"})], Reply(f"The key is {secret}.", delta_chars=7)])
        await agent.say(f"my key is {secret}")
        assert secret not in repr(agent.events)
        assert secret not in "".join(event.text for event in agent.of(TextDelta))
        assert secret.encode() not in agent.workspace.memory.store_path.read_bytes() + b"".join(
            path.read_bytes() for path in agent.workspace.memory.private.rglob("*") if path.is_file()
        )
        agent.server.script(["ok"])
        await agent.say("and?")
        assert secret not in json.dumps(agent.server.requests[-1].body)


async def test_after_a_restart_the_conversation_goes_on(tmp_path):
    async with AgentHarness(tmp_path) as agent:
        agent.server.script(["one", "two"])
        await agent.say("first")
        await agent.reopen()
        await agent.say("second")
        assert [m["role"] for m in agent.server.requests[-1].messages] == ["user", "assistant", "user"]
        assert agent.server.refusals == []


async def test_without_memory_nothing_of_it_runs(tmp_path):
    """Design 8: --no-memory is an ordinary agent."""
    async with AgentHarness(tmp_path, memory=False) as agent:
        agent.server.script(["hi"])
        await agent.say("hello")
        names = [tool["name"] for tool in agent.server.requests[-1].body["tools"]]
        assert "memory_write" not in names
        assert "memory_search" not in names
        assert agent.workspace.memory.names() == []
