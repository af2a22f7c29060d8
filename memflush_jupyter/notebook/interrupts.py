"""Interrupting a turn: within half a second in every phase, and the kernel is as before (P10).

Two signal handlers, each in its place. While the turn *awaits*, SIGINT cancels the turn's task. While *synchronous* agent
code runs, no task can be cancelled: SIGINT raises ``KeyboardInterrupt`` there. The raising handler is installed for one
synchronous step only and never stays across an ``await``, where it would hit the event loop instead of the code.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import logging
import math
import signal
import sys
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Generator, Iterator
from functools import partial
from types import FrameType
from typing import Any, TypeVar

from memflush_jupyter.notebook.signals import Echo, callers_of, in_main_thread, raise_at_next_line

T = TypeVar("T")

TICK_S = 0.1
"""Seconds between two looks at the signal flag: an idle loop notices SIGINT only when it wakes."""

QUIET_S = 0.05
"""An interrupted turn ends when no SIGINT has come for so long: between a cell and its reply the kernel's own handler would lose the reply."""
NOISE_S = 0.3
"""But it waits no longer than this for it."""

AGAIN_S = 0.5
"""Seconds until code that goes on after its time is stopped again."""
PATIENT_TIMES = 2
"""How often code may swallow that before it is also stopped inside its own ``except``."""

_log = logging.getLogger("memflush_jupyter")


class Interrupts:
    """What SIGINT does to one turn. ``requested`` tells afterwards that the person asked to stop.

    ``kernel``: a kernel runs the cell, and sets its own handler back once the cell has its reply.
    """

    def __init__(self, *, kernel: bool = False) -> None:
        self._kernel = kernel
        self.requested = False
        self.timed_out = False
        self.on_tick: Callable[[], None] = _nothing
        self._armed = False
        self._swallowed = 0
        self._pressed_at = -math.inf
        self._task: asyncio.Task[Any] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def begin(self) -> None:
        """Forget what an earlier turn left."""
        self.requested = self.timed_out = False
        self.on_tick = _nothing

    def settle(self) -> None:
        """The cancellation was taken: the cell's task goes on as an ordinary one."""
        task = asyncio.current_task()
        while task is not None and task.cancelling() > 0:
            task.uncancel()

    @contextlib.asynccontextmanager
    async def watch(self) -> AsyncIterator[None]:
        """Cancel the current task on SIGINT until the block ends; ``on_tick`` is called about ten times a second."""
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.current_task()
        ticker = self._loop.create_task(self._tick())
        try:
            with self._handled():
                try:
                    yield
                finally:
                    self._task = None
                    await self._quiet()
        finally:
            ticker.cancel()

    async def _quiet(self) -> None:
        """Wait until whoever pressed several times has done so."""
        latest = time.monotonic() + NOISE_S
        while (now := time.monotonic()) < min(self._pressed_at + QUIET_S, latest):  # noqa: ASYNC110 - a signal handler can set no event safely
            await asyncio.sleep(min(self._pressed_at + QUIET_S, latest) - now)

    @contextlib.contextmanager
    def _handled(self) -> Iterator[None]:
        if not in_main_thread():
            yield
            return
        previous = signal.signal(signal.SIGINT, self._on_signal)
        if isinstance(previous, Echo):
            previous = previous.before
        try:
            yield
        finally:
            # Until the kernel sets its own handler back, a further SIGINT would spoil the sentence that is shown. Nobody else would set it back.
            signal.signal(signal.SIGINT, Echo(previous) if self._kernel and self.requested else previous)

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(TICK_S)
            try:
                self.on_tick()
            except Exception:  # noqa: BLE001 - logged whole; the turn goes on
                _log.exception("The display of a turn could not be refreshed")

    def cancel(self) -> None:
        """End the turn as an interrupt does; callable from any thread."""
        self.requested = True
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._cancel_task)

    def _cancel_task(self) -> None:
        if self._task is not None and not self._task.done():
            self._task.cancel()

    def _on_signal(self, signum: int, frame: FrameType | None) -> None:  # noqa: ARG002 - a signal handler's signature
        self._pressed_at = time.monotonic()
        self.cancel()

    def _raise_signal(self, signum: int, frame: FrameType | None) -> None:  # noqa: ARG002 - as above
        self._pressed_at = time.monotonic()
        if not self._armed:
            self.cancel()
            return
        if not self.timed_out:
            self.requested = True
        elif self._swallowed < PATIENT_TIMES:
            self._swallowed += 1
        else:
            raise_at_next_line(*callers_of(frame))
        raise KeyboardInterrupt

    def step(self, advance: Callable[[], T], *, begins: bool = True) -> T:
        """Run one synchronous step so that SIGINT raises ``KeyboardInterrupt`` inside it.

        ``begins``: nothing of it ran yet. Then an interrupt that came a moment before, while the turn did not wait, stops it here: its
        cancellation arrives only at the next wait, and there may be none.
        """
        if not in_main_thread():
            return advance()
        previous = signal.signal(signal.SIGINT, self._raise_signal)
        try:
            # Two nested blocks: an interrupt that lands in the inner clean-up still finds the handler restored.
            try:
                self._armed = True
                if begins and self.requested:
                    raise KeyboardInterrupt
                return advance()
            finally:
                self._armed = False
        finally:
            signal.signal(signal.SIGINT, previous)
            if self._swallowed:
                sys.settrace(None)

    def drive(self, coroutine: Coroutine[Any, Any, T]) -> Awaitable[T]:
        """Await ``coroutine`` so that each of its synchronous stretches can be interrupted."""
        return _Driven(self, coroutine)

    def throw(self, coroutine: Coroutine[Any, Any, T], error: BaseException) -> Any:
        """Raise ``error`` where ``coroutine`` waits. One that swallowed it often enough is left where it stands, and never goes on."""
        if self.timed_out and self._swallowed >= PATIENT_TIMES:
            # Never collected, not at exit either: Python would run its `except` again, and it might not come back.
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(coroutine))
            raise KeyboardInterrupt
        return coroutine.throw(error)

    @contextlib.contextmanager
    def deadline(self, seconds: float | None) -> Iterator[None]:
        """End what runs in the block, with ``timed_out`` set, when it takes longer than ``seconds``.

        Synchronous code gets a ``KeyboardInterrupt``, code that awaits is cancelled; again and again for code that swallows them. The
        block may not await after what it guards has ended: then every cancellation has arrived, and none is left in the task.
        """
        if seconds is None or not in_main_thread():
            yield
            return
        over = threading.Event()
        cancels: list[None] = []
        task = _running_task()
        loop = task.get_loop() if task is not None else None

        def cancel() -> None:
            if task is not None and not over.is_set() and not task.done():
                self.timed_out = True
                cancels.append(None)
                self._swallowed = len(cancels) - 1
                task.cancel()

        def watch() -> None:
            pause = seconds
            while not over.wait(pause):
                pause = AGAIN_S
                if self._armed:
                    self._time_out()
                elif loop is not None:
                    loop.call_soon_threadsafe(cancel)

        self._swallowed = 0
        threading.Thread(target=watch, name="memflush-deadline", daemon=True).start()
        try:
            yield
        finally:
            over.set()
            for _ in cancels:
                if task is not None:
                    task.uncancel()

    def _time_out(self) -> None:
        ident = threading.main_thread().ident
        if ident is not None and hasattr(signal, "pthread_kill"):
            self.timed_out = True
            signal.pthread_kill(ident, signal.SIGINT)

    async def leave(self) -> None:
        """Leave a tool after an interrupt: cancels the turn's task and lets the cancellation arrive here.

        Raises:
            asyncio.CancelledError: always. It is delivered by the loop, so that no second one waits in the clean-up.
        """
        self.requested = True
        self._cancel_task()
        for _ in range(3):
            await asyncio.sleep(0)
        raise asyncio.CancelledError


class _Driven:
    """An awaitable that advances a coroutine by guarded steps and hands each of its waits to the loop unguarded."""

    def __init__(self, interrupts: Interrupts, coroutine: Coroutine[Any, Any, Any]) -> None:
        self._interrupts = interrupts
        self._coroutine = coroutine

    def __await__(self) -> Generator[Any, Any, Any]:
        advance: Callable[[], Any] = partial(self._coroutine.send, None)
        begins = True
        while True:
            try:
                waited_for = self._interrupts.step(advance, begins=begins)
            except StopIteration as stop:
                return stop.value
            except KeyboardInterrupt:
                self._coroutine.close()  # where it did not begin; otherwise it is closed already
                raise
            begins = False
            try:
                advance = partial(self._coroutine.send, (yield waited_for))
            except BaseException as error:  # noqa: BLE001 - whatever is thrown in belongs to the coroutine
                advance = partial(self._interrupts.throw, self._coroutine, error)


def _running_task() -> asyncio.Task[Any] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None


def _nothing() -> None:
    """Nobody wants to be called."""
