"""Shell lines (``!command``) of agent code, so that an interrupt at any instant ends them (P10).

IPython runs a shell line through a pseudo-terminal. An interrupt in the milliseconds in which that starts is lost, and the line then runs
to its end. Here another thread starts the process and ends it: signals arrive in the main thread alone, so none can fall between the start of
a process and the place that would know of it.
"""

from __future__ import annotations

import codecs
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
from queue import Empty, SimpleQueue
from typing import Any, Final

STEPS: Final = ((signal.SIGINT, 0.2), (signal.SIGTERM, 0.1), (getattr(signal, "SIGKILL", signal.SIGTERM), 1.0))
"""How a command is ended: each signal in turn, with the seconds it is waited for; well below half a second where the last can be sent."""
POLL_S: Final = 0.05
LINGER_S: Final = 0.2
"""How long output is waited for once the command has ended: what it left in the background may hold its output open for ever."""


def run_line(ip: Any, command: str) -> None:
    """Run one shell line, as ``ip.system`` does: output as it comes, the exit status in ``_exit_code``, negative for a signal.

    Raises:
        OSError: it ends with ``&``; as in IPython that is not offered.
        KeyboardInterrupt: the person, or a time limit, stopped it. The command and what it started have ended.
    """
    if command.rstrip().endswith("&"):
        raise OSError("Background processes not supported.")
    process = _Process([shutil.which("sh") or "/bin/sh", "-c", ip.var_expand(command, depth=1)])
    try:
        ip.user_ns["_exit_code"] = process.show()
    finally:
        process.end()


class _Process:
    """A command with its own session, started, read and ended by threads."""

    def __init__(self, arguments: list[str]) -> None:
        self._arguments = arguments
        self._pieces: SimpleQueue[bytes | int | BaseException] = SimpleQueue()
        self._begun = self._stopped = False
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="memflush-shell", daemon=True)

    def show(self) -> int:
        """Start it, print the output as it comes, and return the status."""
        self._thread.start()
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        while isinstance(piece := self._next(), bytes):
            sys.stdout.write(decoder.decode(piece))
            sys.stdout.flush()
        if isinstance(piece, BaseException):
            raise piece
        sys.stdout.write(decoder.decode(b"", final=True))
        return piece

    def _next(self) -> bytes | int | BaseException:
        while True:
            # Not without a limit: a signal that comes just before the wait begins is noticed only when it ends.
            with contextlib.suppress(Empty):
                return self._pieces.get(timeout=POLL_S)

    def end(self) -> None:
        """End what still runs, and wait for that; a further interrupt does not keep it from ending."""
        self._stopped = True
        if self._begun:
            self._over.wait(sum(seconds for _, seconds in STEPS))

    def _keep(self) -> None:
        self._begun = True
        try:
            if not self._stopped:
                self._pieces.put(self._run())
        except BaseException as error:  # noqa: BLE001 - told where the line was called
            self._pieces.put(error)
        finally:
            self._over.set()

    def _run(self) -> int:
        with subprocess.Popen(  # noqa: S603 - the person approved this command
            self._arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
        ) as process:
            reader = threading.Thread(target=self._read, args=(process.stdout,), name="memflush-shell-output", daemon=True)
            reader.start()
            while process.poll() is None and not self._stopped:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(POLL_S)
            if process.poll() is None:
                _end(process)
            reader.join(LINGER_S)
            process.stdout = None  # the reader closes it, perhaps later: what still writes to it would be waited for here
            return process.returncode

    def _read(self, pipe: Any) -> None:
        with contextlib.suppress(OSError, ValueError), pipe:
            while piece := os.read(pipe.fileno(), 65536):
                self._pieces.put(piece)


def _end(process: subprocess.Popen[bytes]) -> None:
    for number, seconds in STEPS:
        _signal(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
            break
    _signal(process.pid, STEPS[-1][0])  # what it started and did not take with it


def _signal(group: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
