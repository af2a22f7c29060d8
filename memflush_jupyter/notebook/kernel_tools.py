"""The two tools that work on the person's own kernel: ``run_python`` and ``inspect_variables``.

The agent's ``df`` is the person's ``df``. Code runs as a cell does (magics, ``!command`` and top-level ``await`` included), but
outside the history, and its outputs are captured: text for the model, figures for both.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import builtins
import contextlib
import getpass
import os
import re
import sys
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import Any, NoReturn
from unittest.mock import patch

from memflush_jupyter.agent.tools.base import Tool, ToolCall, ToolResult, text_result
from memflush_jupyter.notebook.capture import Bundle, Capture, tidy
from memflush_jupyter.notebook.describe import describe_variables
from memflush_jupyter.notebook.failure import render_failure
from memflush_jupyter.notebook.interrupts import Interrupts
from memflush_jupyter.notebook.shell import run_line

MAX_IMAGES = 4
MAX_IMAGE_BYTES = 3_750_000
"""The Messages API takes images up to 5 MB in base64."""

_IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_FENCE = re.compile(r"\A\s*```[\w+-]*[ \t]*\n(.*?)\n?```\s*\Z", re.DOTALL)


class InKernel:
    """Running something in the live kernel as a cell's code runs: captured, guarded, interruptible, within its time."""

    def __init__(self, ip: Any, interrupts: Interrupts | None = None, *, timeout_s: float | None = None) -> None:
        self._ip = ip
        self._interrupts = interrupts or Interrupts()
        self._timeout_s = timeout_s

    async def _captured(self, execute: Callable[[], Awaitable[BaseException | None]], code: str, call: ToolCall) -> ToolResult:
        """Execute, and tell what came of it; ``code`` is where the lines of an error stand."""
        interrupts = self._interrupts
        interrupts.timed_out = False
        with Capture(self._ip) as capture, _guarded(self._ip, interrupts):
            home, failure = os.getpid(), None
            try:
                failure = await execute()
            finally:
                if os.getpid() != home:
                    _end_child(failure)
        cancelled = isinstance(failure, asyncio.CancelledError) and _cancelling()
        if interrupts.requested or cancelled:
            await interrupts.leave()
        text = tidy(capture.text.value())
        if interrupts.timed_out:
            text = _joined(
                text,
                f"Stopped: the code ran longer than tool_timeout_s = {self._timeout_s:g} seconds. Do less at once, or ask the person to raise it.",
            )
        elif failure is not None:
            text = _joined(text, render_failure(failure, code))
        result = text_result(text, is_error=failure is not None or interrupts.timed_out)
        images = _image_blocks(capture.displays) if call.vision else []
        return ToolResult([*result.content, *images], result.is_error, capture.displays)


class RunPython(InKernel):
    """``run_python{code}``: run code in the live kernel."""

    name = "run_python"
    description = (
        "Run Python in the notebook's live kernel; variables stay, and are shared with the person. Printed text, the last value, errors and figures come back. "
        "Cell syntax works (top-level await, %magics, !commands). input() does not: ask in your reply."
    )
    input_schema: dict[str, Any] = {  # noqa: RUF012 - never changed
        "type": "object",
        "properties": {"code": {"type": "string", "description": "The code of one cell."}},
        "required": ["code"],
    }
    approval = True
    touches = "may read and change anything this kernel can: variables, files, the network"
    parallel = False
    keeps_time = True

    async def run(self, input: dict[str, Any], call: ToolCall) -> ToolResult:  # noqa: A002 - the API's own word
        """Run the code; errors of the code are results, an interrupt cancels the turn."""
        code = unfence(str(input["code"]))
        return await self._captured(lambda: self._execute(code), code, call)

    async def _execute(self, code: str) -> BaseException | None:
        """Run the code as the kernel runs a cell; return its error."""
        ip = self._ip
        try:
            transformed = ip.transform_cell(code)
        except Exception as error:  # noqa: BLE001 - an input transformer of the person's may raise anything
            return error
        cell = ip.run_cell_async(code, store_history=False, transformed_cell=transformed)
        try:
            with self._interrupts.deadline(self._timeout_s):
                result = await self._interrupts.drive(cell)
                # Inline figures are shown by this hook.
                self._interrupts.step(lambda: ip.events.trigger("post_execute"))
        except (KeyboardInterrupt, asyncio.CancelledError) as error:
            return error
        failure: BaseException | None = result.error_before_exec or result.error_in_exec
        return failure


class InspectVariables:
    """``inspect_variables{names?}``: what the kernel holds, without running anything heavy."""

    name = "inspect_variables"
    description = "List the kernel's variables, or describe those named: type, shape, columns with missing values and examples. Runs no code of theirs."
    input_schema: dict[str, Any] = {  # noqa: RUF012 - never changed
        "type": "object",
        "properties": {"names": {"type": "array", "items": {"type": "string"}, "description": "Variables to describe; all when left out."}},
    }
    approval = False
    parallel = False

    def __init__(self, ip: Any, interrupts: Interrupts | None = None) -> None:
        self._ip = ip
        self._interrupts = interrupts or Interrupts()

    async def run(self, input: dict[str, Any], call: ToolCall) -> ToolResult:  # noqa: A002, ARG002 - protocol
        """Describe."""
        names = list(input.get("names") or [])
        try:
            text = self._interrupts.step(lambda: describe_variables(self._ip.user_ns, names, hidden=self._ip.user_ns_hidden))
        except KeyboardInterrupt:
            await self._interrupts.leave()
        return text_result(text)


def kernel_tools(ip: Any, interrupts: Interrupts, *, timeout_s: float | None = None) -> list[Tool]:
    """The tools of a live kernel."""
    return [RunPython(ip, interrupts, timeout_s=timeout_s), InspectVariables(ip, interrupts)]


def unfence(code: str) -> str:
    """Code without the markdown fence that small models put around it."""
    match = _FENCE.match(code)
    return match.group(1) if match else code


@contextlib.contextmanager
def _guarded(ip: Any, interrupts: Interrupts) -> Iterator[None]:
    """While agent code runs: its tracebacks are ours to show, it cannot wait for a keyboard, and cannot end the kernel."""
    home = os.getpid()
    really_exit = os._exit

    def refuse_input(*_: object, **__: object) -> NoReturn:
        raise RuntimeError("input() is not available to agent code: ask the person in your reply and end your turn.")

    def refuse_exit(*_: object, **__: object) -> NoReturn:
        raise RuntimeError("Agent code may not end the person's kernel.")

    def exit_child(status: int) -> NoReturn:
        if os.getpid() != home:
            really_exit(status)
        refuse_exit()

    captured, run = ip.getoutput, ip.system

    def stopped(command: Callable[[], Any]) -> Any:
        # IPython's own ways of running a command swallow KeyboardInterrupt; the code after it must not go on.
        try:
            return command()
        finally:
            if interrupts.requested or interrupts.timed_out:
                raise KeyboardInterrupt

    def getoutput(command: str, split: bool = True, depth: int = 0) -> Any:
        return stopped(lambda: captured(command, split=split, depth=depth + 3))

    def system(command: str) -> Any:
        return stopped(lambda: run(command))

    with (
        patch.object(ip, "_showtraceback", lambda *_: None),
        patch.object(ip, "showtraceback", lambda *_, **__: None),  # of a deep recursion it would be worked out for many seconds
        patch.object(ip, "ask_exit", refuse_exit),
        patch.object(ip, "system", partial(run_line, ip) if os.name == "posix" else system),
        patch.object(ip, "getoutput", getoutput),
        patch.object(builtins, "input", refuse_input),
        patch.object(getpass, "getpass", refuse_input),
        patch.object(sys, "breakpointhook", refuse_input),
        patch.object(os, "_exit", exit_child),
    ):
        yield


def _end_child(failure: BaseException | None) -> None:
    """End a process that the code forked and let run on: as a second kernel it would answer the person's front end and write to the store."""
    status = failure.code if isinstance(failure, SystemExit) else failure is not None
    os._exit(status if isinstance(status, int) else bool(status))


def _cancelling() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _joined(text: str, addition: str) -> str:
    return f"{text.rstrip()}\n{addition}" if text.strip() else addition


def _image_blocks(displays: list[Bundle]) -> list[Bundle]:
    """The images among the displays as blocks for a model that sees; what is too much is named."""
    blocks: list[Bundle] = []
    left_out = 0
    for display in displays:
        kind = next((kind for kind in _IMAGES if kind in display), None)
        if kind is None:
            continue
        encoded = _base64(display[kind])
        if encoded is None or len(blocks) >= MAX_IMAGES or len(encoded) > MAX_IMAGE_BYTES * 4 // 3:
            left_out += 1
            continue
        blocks.append({"type": "image", "source": {"type": "base64", "media_type": kind, "data": encoded}})
    if left_out:
        blocks.append({"type": "text", "text": f"[{left_out} more image(s) were shown to the person only]"})
    return blocks


def _base64(value: Any) -> str | None:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    compact = "".join(str(value).split())
    try:
        base64.b64decode(compact, validate=True)
    except (binascii.Error, ValueError):
        return None
    return compact
