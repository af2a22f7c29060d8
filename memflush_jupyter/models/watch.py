"""Notices a server that went silent, without mistaking a busy kernel for one.

A read timeout of the HTTP client counts wall time, also while the person's code holds the interpreter and no byte could have
been taken in. This watch counts in short ticks and leaves out each tick that came late: when the loop's own heartbeat
skipped, silence proves nothing.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable

_T = TypeVar("_T")


class StalledError(Exception):
    """Nothing arrived for the allowed time."""


class SilenceWatch:
    """Ends an await after ``limit_s`` seconds in which the loop ran and nothing came."""

    def __init__(self, limit_s: float) -> None:
        self.limit_s = limit_s
        self._tick = min(0.5, limit_s / 4)
        self._idle = 0.0
        self._due = 0.0
        self._task: asyncio.Task[object] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._fired = False

    async def wait(self, awaitable: Awaitable[_T]) -> _T:
        """Await something that must show a sign of life within the limit.

        Raises:
            StalledError: it did not.
        """
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - only ever awaited
        self._task, self._idle, self._fired = task, 0.0, False
        cancelling = task.cancelling()
        self._schedule()
        try:
            return await awaitable
        except asyncio.CancelledError:
            if self._fired and task.uncancel() <= cancelling:
                raise StalledError from None
            raise
        finally:
            if self._timer is not None:
                self._timer.cancel()
            self._task = None

    def _schedule(self) -> None:
        loop = asyncio.get_running_loop()
        self._due = loop.time() + self._tick
        self._timer = loop.call_at(self._due, self._on_tick)

    def _on_tick(self) -> None:
        if asyncio.get_running_loop().time() - self._due < self._tick:
            self._idle += self._tick
        if self._idle >= self.limit_s - 1e-9 and self._task is not None:
            self._fired = True
            self._task.cancel()
            return
        self._schedule()
