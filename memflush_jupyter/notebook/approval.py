"""Asking the person whether a tool call may run, inside an awaited cell and without blocking it.

``input()`` would stall the kernel's loop and swallow interrupts, so the question goes out on the kernel's stdin channel and
the answer is polled for. That channel is ipykernel's private ground: where it is not as expected, the answer is "no" with a reason.
"""

from __future__ import annotations

import asyncio
import builtins
import contextlib
import logging
import sys
from collections.abc import Callable
from typing import Any

from memflush_jupyter.agent.tools.base import Always, Approval, Approver, Never, Tool
from memflush_jupyter.notebook.headless import in_kernel, person_present
from memflush_jupyter.notebook.interrupts import raising_sigint

POLL_S = 0.05
QUESTION = "Run {name}? [y]es, [n]o, [a]lways in this conversation, or say what to do instead: "

_log = logging.getLogger("memflush_jupyter")


class CannotAskError(Exception):
    """There is no way to put a question to a person here."""


class AskPerson:
    """The policy ``ask``. ``show`` puts the call before the person; "always" holds for ``conversation``, a set the session keeps."""

    def __init__(self, ip: Any, always: set[str], show: Callable[[str, dict[str, Any]], None], redact: Callable[[str], str] = lambda text: text) -> None:
        self._ip = ip
        self._always = always
        self._show = show
        self._redact = redact

    async def decide(self, tool: Tool, input: dict[str, Any]) -> Approval:  # noqa: A002 - protocol
        """Ask, and wait for the answer; an interrupt cancels the turn."""
        if tool.name in self._always:
            return Approval(allowed=True)
        self._show(tool.name, input)
        try:
            answer = await ask(self._ip, QUESTION.format(name=tool.name))
        except CannotAskError as error:
            return Approval(allowed=False, reason=f"{tool.name} was not run: {error}")
        return self._understood(tool.name, answer.strip())

    def _understood(self, name: str, answer: str) -> Approval:
        word = answer.lower().rstrip(".!")
        if word in {"a", "always"}:
            self._always.add(name)
            return Approval(allowed=True)
        if word in {"y", "yes"}:
            return Approval(allowed=True)
        if word in {"", "n", "no"}:
            return Approval(allowed=False, reason=f"The person declined to run {name}.")
        return Approval(allowed=False, reason=f"The person declined to run {name} and said: {self._redact(answer)}")


def make_approver(
    policy: str, ip: Any, always: set[str], show: Callable[[str, dict[str, Any]], None], redact: Callable[[str], str] = lambda text: text
) -> Approver:
    """The approver for ``policy``; empty means: ask where a person is, else deny. "ask" without a person denies too."""
    if policy == "auto":
        return Always()
    if policy == "deny" or not person_present(ip):
        return Never()
    return AskPerson(ip, always, show, redact)


async def ask(ip: Any, prompt: str) -> str:
    """Put a question to the person and wait for the line they answer.

    Raises:
        CannotAskError: the front end takes no input, or the kernel is not one we know how to ask through.
    """
    if not in_kernel(ip):
        return _ask_in_terminal(prompt)
    kernel = ip.kernel
    if not getattr(kernel, "_allow_stdin", False):
        raise CannotAskError("nobody is here to approve it (this front end takes no input).")
    try:
        _send(kernel, prompt)
    except Exception as error:
        _log.warning("The approval question could not be sent", exc_info=True)
        raise CannotAskError("the approval question could not be put to the person.") from error
    while True:
        await asyncio.sleep(POLL_S)
        reply = _receive(kernel)
        if reply is not None:
            return reply


def _ask_in_terminal(prompt: str) -> str:
    with raising_sigint():
        try:
            _drop_typed_ahead()
            return builtins.input(prompt)
        except EOFError:
            return ""
        except KeyboardInterrupt:
            raise asyncio.CancelledError from None


def _drop_typed_ahead() -> None:
    """Forget what was typed before the question was there: it cannot be its answer."""
    try:
        import termios
    except ImportError:  # not on Windows
        return
    with contextlib.suppress(termios.error, OSError, ValueError):
        if sys.stdin.isatty():
            termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


def _send(kernel: Any, prompt: str) -> None:
    while _receive(kernel) is not None:
        pass  # answers to questions that were given up
    ident = kernel._parent_ident["shell"]  # noqa: SLF001 - no public way exists
    kernel.session.send(kernel.stdin_socket, "input_request", {"prompt": prompt, "password": False}, kernel.get_parent("shell"), ident=ident)


def _receive(kernel: Any) -> str | None:
    import zmq

    _, reply = kernel.session.recv(kernel.stdin_socket, zmq.NOBLOCK)
    if reply is None:
        return None
    return str(reply.get("content", {}).get("value", ""))
