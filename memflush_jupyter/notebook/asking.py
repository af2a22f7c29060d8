"""One question to the person and the line they answer.

``input()`` would stall the kernel's loop and swallow interrupts, so the question goes out on the kernel's stdin channel and
the answer is polled for. That channel is ipykernel's private ground: where it is not as expected, the answer is "no" with a reason.
"""

from __future__ import annotations

import asyncio
import builtins
import contextlib
import logging
import signal
import sys
from typing import Any, NoReturn

from memflush_jupyter.notebook.headless import in_kernel
from memflush_jupyter.notebook.signals import raising_sigint

POLL_S = 0.05

_log = logging.getLogger("memflush_jupyter")
_read_line = builtins.input
"""As it was when this was loaded: agent code may put another one in its place."""


class CannotAskError(Exception):
    """There is no way to put a question to a person here."""


async def ask(ip: Any, prompt: str) -> str:
    """Put a question to the person and wait for the line they answer.

    Raises:
        CannotAskError: the front end takes no input, or the kernel is not one we know how to ask through.
    """
    if not in_kernel(ip):
        try:
            return _ask_in_terminal(prompt)
        except KeyboardInterrupt:
            await interrupted()
    kernel = ip.kernel
    if not getattr(kernel, "_allow_stdin", False):
        raise CannotAskError("nobody is here to approve it (this front end takes no input).")
    try:
        ident, question = _send(kernel, prompt)
    except Exception as error:
        _log.warning("The approval question could not be sent", exc_info=True)
        raise CannotAskError("the approval question could not be put to the person.") from error
    while True:
        await asyncio.sleep(POLL_S)
        reply = _receive(kernel)
        if reply is not None and _answers(reply, ident, question):
            return str(reply[1].get("content", {}).get("value", ""))


def _ask_in_terminal(prompt: str) -> str:
    with raising_sigint():
        try:
            _drop_typed_ahead()
            return _read_line(prompt)
        except EOFError:
            return ""


async def interrupted() -> NoReturn:
    """End the turn after an interrupt that came while the person was typing, when the turn's own handler stood aside.

    It gets the signal now, so that the turn knows that it was the person, and the cancellation arrives here.

    Raises:
        asyncio.CancelledError: always, unless nothing but Python's own handler is there.
    """
    signal.raise_signal(signal.SIGINT)
    for _ in range(3):
        await asyncio.sleep(0)
    raise asyncio.CancelledError


def _drop_typed_ahead() -> None:
    """Forget what was typed before the question was there: it cannot be its answer."""
    try:
        import termios
    except ImportError:  # not on Windows
        return
    with contextlib.suppress(termios.error, OSError, ValueError):
        if sys.stdin.isatty():
            termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


def _send(kernel: Any, prompt: str) -> tuple[list[bytes], str]:
    """Put the question; return whom it went to and its id."""
    while _receive(kernel) is not None:
        pass  # answers to questions that were given up
    ident = kernel._parent_ident["shell"]  # noqa: SLF001 - no public way exists
    sent = kernel.session.send(kernel.stdin_socket, "input_request", {"prompt": prompt, "password": False}, kernel.get_parent("shell"), ident=ident)
    return [ident] if isinstance(ident, bytes) else list(ident), str(sent["header"]["msg_id"])


def _answers(reply: tuple[list[bytes], dict[str, Any]], ident: list[bytes], question: str) -> bool:
    """Whether a reply is the asked person's, and to this question rather than to an earlier one that still stood on their screen."""
    sender, message = reply
    if ident and sender[:1] != ident[:1]:
        return False
    parent = message.get("parent_header") or {}
    return parent.get("msg_type") != "input_request" or parent.get("msg_id") == question


def _receive(kernel: Any) -> tuple[list[bytes], dict[str, Any]] | None:
    import zmq

    sender, reply = kernel.session.recv(kernel.stdin_socket, zmq.NOBLOCK)
    return None if reply is None else (list(sender or []), reply)
