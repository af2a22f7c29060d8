"""Tool calls of one reply: each answered exactly once, whatever happens (P6, D11)."""

from __future__ import annotations

import asyncio

import pytest

from memflush_jupyter.agent.calls import CUT_OFF, CallRunner
from memflush_jupyter.agent.tools.base import Always, Approval, Never, ToolResult, text_result
from memflush_jupyter.events import ToolFinished, ToolStarted


class Probe:
    def __init__(self, name, act, *, parallel=False, approval=False):
        self.description = ""
        self.input_schema = {"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"]}
        self.name, self.act, self.parallel, self.approval = name, act, parallel, approval

    async def run(self, given, call):
        answer = self.act(given["code"])
        return await answer if asyncio.iscoroutine(answer) else answer


def call(name, code="1", number="a"):
    return {"type": "tool_use", "id": number, "name": name, "input": {"code": code}}


async def run(tools, calls, *, approver=None, timeout_s=None, trusted=True, vision=True, events=None, redact=str):
    runner = CallRunner(tools, approver or Always(), (events if events is not None else []).append, timeout_s=timeout_s, redact=redact)
    return await runner.run(calls, trace="t", sequence=1, cell_id=None, vision=vision, trusted=trusted)


def said(block):
    return block["content"][0]["text"]


async def test_neighbours_that_may_run_side_by_side_do_and_answers_keep_their_order():
    together = asyncio.Barrier(2)

    async def meet(code):
        await together.wait()
        return text_result(code)

    events = []
    tools = [Probe("side", meet, parallel=True), Probe("alone", text_result)]
    results = await run(tools, [call("side", "1", "a"), call("side", "2", "b"), call("alone", "3", "c")], events=events)
    assert [(block["tool_use_id"], said(block)) for block in results] == [("a", "1"), ("b", "2"), ("c", "3")]
    assert [event.id for event in events if isinstance(event, ToolStarted)] == ["a", "b", "c"]
    assert sorted(event.id for event in events if isinstance(event, ToolFinished)) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("error", "sentence"),
    [(ValueError("no"), "probe failed: ValueError: no"), (TimeoutError(), "probe timed out.")],
)
async def test_a_failing_tool_is_an_error_result_never_an_exception(error, sentence):
    def fail(code):
        raise error

    (block,) = await run([Probe("probe", fail)], [call("probe")])
    assert (said(block), block["is_error"]) == (sentence, True)


async def test_a_tool_that_takes_too_long_is_stopped_with_a_sentence():
    (block,) = await run([Probe("probe", lambda code: asyncio.sleep(30))], [call("probe")], timeout_s=0.05)
    assert said(block) == "probe did not finish within tool_timeout_s = 0.05 seconds and was stopped."


async def test_an_unknown_tool_and_a_wrong_input_are_answered_with_help():
    results = await run(
        [Probe("run_python", text_result)], [call("run_pythn"), {**call("run_python"), "input": {"cod": "1"}}, {**call("run_python"), "input": 3}]
    )
    assert "Did you mean 'run_python'?" in said(results[0])
    assert "Did you mean 'code'?" in said(results[1])
    assert "not int" in said(results[2])
    assert all(block["is_error"] for block in results)


async def test_calls_that_cannot_be_trusted_do_not_run():
    """D11."""
    ran = []
    (block,) = await run([Probe("probe", ran.append)], [call("probe")], trusted=False)
    assert (said(block), block["is_error"], ran) == (CUT_OFF, True, [])


async def test_a_denied_call_says_why_and_an_edited_one_runs_as_edited():
    class Editor:
        async def decide(self, tool, given):
            return Approval(allowed=True, input={"code": "edited"})

    (denied,) = await run([Probe("probe", text_result, approval=True)], [call("probe")], approver=Never())
    (edited,) = await run([Probe("probe", text_result, approval=True)], [call("probe")], approver=Editor())
    assert denied["is_error"]
    assert [block["text"] for block in edited["content"]] == ["[The person edited this call before it ran. What ran:]\nedited\n[What it gave:]", "edited"]


class Person:
    def __init__(self, given):
        self.given = given

    async def decide(self, tool, given):
        return Approval(allowed=True, input=self.given, asked=True)


@pytest.mark.parametrize(("given", "decision", "ran"), [(None, "approved", "1"), ({"code": "edited"}, "edited", "edited")])
@pytest.mark.parametrize("end", ["raises", "too long", "interrupted"])
async def test_the_person_s_word_is_kept_where_the_tool_then_fails_or_is_interrupted(given, decision, ran, end):
    """P6, P10: the line in the cell and the model still say what was decided and what ran."""
    begun = asyncio.Event()

    async def work(code):
        begun.set()
        if end == "raises":
            raise ValueError(code)
        await asyncio.sleep(30)

    events = []
    limit = 0.05 if end == "too long" else None
    task = asyncio.ensure_future(run([Probe("probe", work, approval=True)], [call("probe")], approver=Person(given), timeout_s=limit, events=events))
    await begun.wait()
    if end == "interrupted":
        task.cancel()
        with pytest.raises(asyncio.CancelledError) as caught:
            await task
        ((block,),) = caught.value.args
    else:
        (block,) = await task
    (finished,) = [event for event in events if isinstance(event, ToolFinished)]
    assert (finished.decision, finished.input["code"], finished.is_error, block["is_error"]) == (decision, ran, True, True)
    assert said(block).startswith("[The person edited this call") == (decision == "edited")


async def test_an_interrupt_keeps_what_is_done_also_within_a_parallel_group():
    """P10: one answer a call; nothing done is lost."""
    done = asyncio.Event()

    async def work(code):
        if code == "slow":
            done.set()
            await asyncio.sleep(30)
        return text_result(code)

    tools = [Probe("side", work, parallel=True), Probe("alone", text_result)]
    calls = [call("alone", "first", "a"), call("side", "fast", "b"), call("side", "slow", "c"), call("alone", "never", "d")]
    task = asyncio.ensure_future(run(tools, calls))
    await done.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError) as caught:
        await task
    (results,) = caught.value.args
    assert [block["tool_use_id"] for block in results] == ["a", "b", "c", "d"]
    assert [said(block) for block in results[:2]] == ["first", "fast"]
    assert all("Interrupted by the person" in said(block) for block in results[2:])


async def test_results_are_never_empty_images_become_words_for_a_blind_model_and_displays_are_redacted():
    """P6, P7."""
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    result = ToolResult([{"type": "text", "text": " "}, image], displays=[{"text/html": "secret", "image/png": "secret"}])
    events = []
    (seen,) = await run([Probe("probe", lambda code: result)], [call("probe")], events=events, redact=lambda text: text.replace("secret", "[redacted]"))
    (blind,) = await run([Probe("probe", lambda code: result)], [call("probe")], vision=False)
    (empty,) = await run([Probe("probe", lambda code: ToolResult([]))], [call("probe")])
    assert seen["content"] == [image]
    assert said(blind) == "[an image, shown to the person]"
    assert said(empty) == "(no output)"
    (finished,) = [event for event in events if isinstance(event, ToolFinished)]
    assert finished.displays == [{"text/html": "[redacted]", "image/png": "secret"}]
