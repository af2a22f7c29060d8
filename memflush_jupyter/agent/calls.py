"""Running the tool calls of one reply: checked, approved, parallel where they may be, each answered exactly once."""

from __future__ import annotations

import asyncio
import difflib
import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from memflush_jupyter.agent.frame import vision_filter
from memflush_jupyter.agent.tools.base import Tool, ToolCall, ToolResult, check_input, text_result
from memflush_jupyter.errors import MemflushError, ToolInputError
from memflush_jupyter.events import PhaseChanged, ToolFinished, ToolStarted
from memflush_jupyter.memory.redaction_values import redacted_bundle

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memflush_jupyter.agent.tools.base import Approver, Decision
    from memflush_jupyter.events import Event
    from memflush_jupyter.trace.models import Block

INTERRUPTED = "Interrupted by the person: this call did not finish."
CUT_OFF = "This call was cut off before it was complete, so it was not run. Call again, with a shorter input if it was long."


@dataclass(slots=True)
class _Word:
    """What was decided about one call, kept apart from its result: it holds also where the tool then fails or is interrupted."""

    decision: Decision = ""
    ran: dict[str, Any] | None = None

    def put_on(self, result: ToolResult) -> ToolResult:
        """The result with the decision, and for an edited call with what ran in its place."""
        return replace(result, content=[*_told_edited(self.ran), *result.content], decision=self.decision, ran=self.ran)


class CallRunner:
    """Runs calls with one set of tools."""

    def __init__(
        self,
        tools: Sequence[Tool],
        approver: Approver,
        emit: Callable[[Event], None],
        *,
        timeout_s: float | None,
        redact: Callable[[str], str],
        renew: Callable[[], None] = lambda: None,
    ) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._approver = approver
        self._emit = emit
        self._timeout_s = timeout_s
        self._redact = redact
        self._renew = renew

    async def run(self, calls: Sequence[Block], *, trace: str, sequence: int, cell_id: str | None, vision: bool, trusted: bool) -> list[Block]:
        """Return one ``tool_result`` block a call, in the order of the calls.

        Calls that may run side by side do, in runs of neighbours. On interruption the calls that did not finish are answered as
        interrupted and the answers so far are attached to the ``CancelledError`` as its only argument, so that nothing done is lost.
        """
        results: dict[int, Block] = {}
        words = [_Word() for _ in calls]

        async def answer(index: int) -> None:
            origin = ToolCall(calls[index]["id"], trace, sequence, cell_id, vision)
            results[index] = self._answer(calls[index], await self._one(calls[index], origin, words[index], trusted=trusted), vision=vision)

        try:
            for group in self._groups(calls):
                for index in group:
                    self._emit(ToolStarted(calls[index]["id"], calls[index]["name"], _as_object(calls[index]["input"])))
                if len(group) == 1:
                    await answer(group[0])
                else:
                    await asyncio.gather(*(answer(index) for index in group))
        except (asyncio.CancelledError, KeyboardInterrupt) as error:
            unfinished = text_result(INTERRUPTED, is_error=True)
            answered = [results.get(index) or self._answer(call, words[index].put_on(unfinished), vision=vision) for index, call in enumerate(calls)]
            raise asyncio.CancelledError(answered) from error
        return [results[index] for index in range(len(calls))]

    def _groups(self, calls: Sequence[Block]) -> list[list[int]]:
        groups: list[list[int]] = []
        together = False
        for index, call in enumerate(calls):
            tool = self._tools.get(call["name"])
            parallel = tool is not None and tool.parallel
            if parallel and together:
                groups[-1].append(index)
            else:
                groups.append([index])
            together = parallel
        return groups

    async def _one(self, call: Block, origin: ToolCall, word: _Word, *, trusted: bool) -> ToolResult:
        if not trusted:
            return text_result(CUT_OFF, is_error=True)
        name = call["name"]
        try:
            return word.put_on(await self._run(self._find(name), call["input"], origin, word))
        except TimeoutError:
            sentence = (
                f"{name} did not finish within tool_timeout_s = {self._timeout_s:g} seconds and was stopped." if self._timeout_s else f"{name} timed out."
            )
        except MemflushError as error:
            sentence = str(error)
        except Exception as error:  # noqa: BLE001 - a tool's fault is the model's to read, never the kernel's to show
            sentence = f"{name} failed: {type(error).__name__}: {error}"
        return word.put_on(text_result(sentence, is_error=True))

    def _find(self, name: str) -> Tool:
        tool = self._tools.get(name)
        if tool is None:
            near = difflib.get_close_matches(name, self._tools, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise ToolInputError(f"There is no tool {name!r}; there are {', '.join(self._tools)}.{hint}")
        return tool

    async def _run(self, tool: Tool, given: Any, origin: ToolCall, word: _Word) -> ToolResult:
        checked = check_input(tool, given)
        if tool.approval:
            self._emit(PhaseChanged("approval"))
            approval = await self._approver.decide(tool, checked)
            if not approval.allowed:
                word.decision = "declined" if approval.asked else "not run"
                return text_result(approval.reason or f"The person did not allow {tool.name}.", is_error=True)
            if approval.input is not None:
                checked = check_input(tool, approval.input)
                word.decision, word.ran = "edited", checked
            elif approval.asked:
                word.decision = "approved"
        self._emit(PhaseChanged("tools"))
        # A tool that runs code on this loop's thread keeps the time itself: a timeout of the loop does not reach what holds it up.
        limit = None if getattr(tool, "keeps_time", False) else self._timeout_s
        return await asyncio.wait_for(tool.run(checked, origin), limit)

    def _answer(self, call: Block, result: ToolResult, *, vision: bool) -> Block:
        self._renew()  # the code may have set a key in the environment
        text = self._redact(result.text)
        self._emit(
            ToolFinished(
                call["id"],
                call["name"],
                _as_object(call["input"]) if result.ran is None else result.ran,
                text,
                result.is_error,
                [redacted_bundle(shown, self._redact) for shown in result.displays],
                result.decision,
            )
        )
        content = vision_filter([block for block in result.content if block.get("type") != "text" or block["text"].strip()], vision=vision)
        block: Block = {"type": "tool_result", "tool_use_id": call["id"], "content": content or [{"type": "text", "text": "(no output)"}]}
        if result.is_error:
            block["is_error"] = True
        return block


def _told_edited(ran: dict[str, Any] | None) -> list[Block]:
    """What the model is told about a call that the person changed: that they did, and what ran in its place."""
    if ran is None:
        return []
    shown = str(ran["code"]) if set(ran) == {"code"} else json.dumps(ran, ensure_ascii=False)
    return [{"type": "text", "text": f"[The person edited this call before it ran. What ran:]\n{shown}\n[What it gave:]"}]


def _as_object(given: Any) -> dict[str, Any]:
    return given if isinstance(given, dict) else {"input": given}
