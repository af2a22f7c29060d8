"""What the process does on SIGINT, piece by piece: handlers, and a ``KeyboardInterrupt`` that code cannot swallow."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

ECHO_S = 1.0
"""Seconds after an interrupted turn in which a further SIGINT belongs to it."""


def in_main_thread() -> bool:
    """Whether signal handlers can be set from here."""
    return threading.current_thread() is threading.main_thread()


class Echo:
    """A SIGINT handler that takes no notice for ``ECHO_S`` seconds, and then does what the one before it did."""

    def __init__(self, before: Callable[[int, FrameType | None], Any] | int | None) -> None:
        self.before = before
        self._until = time.monotonic() + ECHO_S

    def __call__(self, signum: int, frame: FrameType | None) -> None:
        """Take no notice, or pass it on."""
        if time.monotonic() < self._until or self.before is signal.SIG_IGN:
            return
        (self.before if callable(self.before) else signal.default_int_handler)(signum, frame)


@contextlib.contextmanager
def raising_sigint() -> Iterator[None]:
    """SIGINT raises ``KeyboardInterrupt`` in this synchronous block, whatever handler a cell has installed."""
    if not in_main_thread():
        yield
        return
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)


def raise_at_next_line(*frames: FrameType) -> None:
    """Raise ``KeyboardInterrupt`` again at the next line of one of ``frames``: also inside an ``except: pass``."""

    def stop(_frame: FrameType, event: str, _argument: Any) -> Any:
        if event == "line":
            raise KeyboardInterrupt
        return stop

    sys.settrace(lambda *_: None)  # without one, no frame's own is called
    for frame in frames:
        frame.f_trace = stop


def callers_of(frame: FrameType | None) -> Iterator[FrameType]:
    """The frames of the person's and the agent's code that lead to ``frame``, innermost first: up to our own."""
    while frame is not None and "memflush_jupyter" not in frame.f_code.co_filename:
        yield frame
        frame = frame.f_back
