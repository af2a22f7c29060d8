"""One daemon thread per kernel with its own event loop, for work between turns: flush, summary, preloading.

A task on the kernel's loop would stall during every synchronous cell of the person. Nothing here prints, warns or displays:
it would land in somebody's cell (P10). Results reach the screen with the next turn.
"""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import contextlib
import logging
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from memflush_jupyter.errors import MemflushError
from memflush_jupyter.notebook.signals import raising_sigint

T = TypeVar("T")

SHUTDOWN_S = 2.0
"""Seconds the kernel's exit waits for running jobs to end after they were cancelled."""
_POLL_S = 0.05

_log = logging.getLogger("memflush_jupyter")


class BackgroundWorker:
    """Runs coroutines beside the kernel. The thread starts with the first job and ends with the kernel."""

    def __init__(self, *, name: str = "memflush-background") -> None:
        self._name = name
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._closed = False
        self._jobs: set[concurrent.futures.Future[Any]] = set()
        atexit.register(self.shutdown)

    @property
    def busy(self) -> bool:
        """Whether a job is running or waiting."""
        return any(not job.done() for job in list(self._jobs))

    def submit(self, factory: Callable[[], Coroutine[Any, Any, T]]) -> concurrent.futures.Future[T]:
        """Start ``factory()`` on the thread's loop; the coroutine is made there, so that what it holds belongs to that thread.

        Raises:
            MemflushError: the worker was shut down.
        """
        loop = self._start()
        future = asyncio.run_coroutine_threadsafe(_made_there(factory), loop)
        self._jobs.add(future)
        future.add_done_callback(self._finished)
        return future

    def run(self, factory: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run ``factory()`` there and wait, interruptible, in synchronous code such as a line magic.

        Raises:
            KeyboardInterrupt: the person interrupted; the job was cancelled.
        """
        future = self.submit(factory)
        with raising_sigint():
            try:
                while True:
                    with contextlib.suppress(concurrent.futures.TimeoutError):
                        return future.result(timeout=_POLL_S)
                    if future.done():
                        return future.result()
            except KeyboardInterrupt:
                future.cancel()
                raise

    def cancel(self, timeout_s: float = SHUTDOWN_S) -> None:
        """Cancel what runs, and wait at most ``timeout_s`` seconds until it has cleaned up after itself."""
        jobs = list(self._jobs)
        for job in jobs:
            job.cancel()
        if jobs and self._loop is not None:
            # A cancelled future counts as done at once; the loop's own tasks end when their clean-up has.
            with contextlib.suppress(concurrent.futures.TimeoutError, concurrent.futures.CancelledError):
                self.submit(_ended).result(timeout_s)

    def shutdown(self, timeout_s: float = SHUTDOWN_S) -> None:
        """Cancel what runs, stop the loop, wait at most ``timeout_s`` seconds. Safe to call twice."""
        with self._lock:
            self._closed = True
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        atexit.unregister(self.shutdown)
        if loop is None or thread is None or not thread.is_alive():
            return
        for job in list(self._jobs):
            job.cancel()
        loop.call_soon_threadsafe(loop.stop)
        if thread is not threading.current_thread():
            thread.join(timeout_s)

    def _finished(self, future: concurrent.futures.Future[Any]) -> None:
        self._jobs.discard(future)
        if not future.cancelled() and (error := future.exception()) is not None:
            _log.warning("A background job failed: %s", error, exc_info=None if isinstance(error, MemflushError) else error)

    def _start(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._closed:
                raise MemflushError("The background thread of this kernel was stopped; `%reload_ext memflush_jupyter` starts it again.")
            if self._loop is None or self._thread is None or not self._thread.is_alive():
                self._loop = asyncio.new_event_loop()
                self._loop.set_exception_handler(_log_only)
                self._thread = threading.Thread(target=_run, args=(self._loop,), name=self._name, daemon=True)
                self._thread.start()
            return self._loop


async def _made_there(factory: Callable[[], Coroutine[Any, Any, T]]) -> T:
    return await factory()


async def _ended() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    if others:
        await asyncio.wait(others, timeout=SHUTDOWN_S)


def _run(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            task.cancel()
        if tasks:
            loop.run_until_complete(asyncio.wait(tasks, timeout=SHUTDOWN_S / 2))
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        loop.close()


def _log_only(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:  # noqa: ARG001 - the handler's signature
    _log.warning("In the background: %s", context.get("message"), exc_info=context.get("exception"))
