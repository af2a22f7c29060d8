"""Importing what a turn needs, on the background thread while the kernel is idle, so that ``%load_ext`` stays fast."""

from __future__ import annotations

import asyncio
import concurrent.futures
import importlib
import logging
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memflush_jupyter.notebook.background import BackgroundWorker

MODULES = ("anthropic", "memflush_jupyter.workspace", "memflush_jupyter.notebook.turn")
IDLE_S = 0.3
"""The kernel counts as idle after this many seconds without a cell."""
PATIENCE_S = 30.0
"""After this many seconds of cells without a pause, preloading begins all the same."""
_POLL_S = 0.1

_log = logging.getLogger("memflush_jupyter")


class Preload:
    """One kernel's preloading. ``begin`` after the loading cell; ``ready`` before a turn."""

    def __init__(self, worker: BackgroundWorker) -> None:
        self._worker = worker
        self._hurry = False
        self._busy_since: float | None = None
        self._idle_since = time.monotonic()
        self._future: concurrent.futures.Future[None] | None = None

    def cell_began(self) -> None:
        """A cell of the person runs: wait with imports."""
        self._busy_since = time.monotonic()

    def cell_ended(self) -> None:
        """The kernel is idle; the first time, begin."""
        self._busy_since = None
        self._idle_since = time.monotonic()
        self.begin()

    def begin(self) -> None:
        """Begin, unless begun."""
        if self._future is None:
            self._future = self._worker.submit(self._load)

    async def ready(self) -> None:
        """Wait until everything is imported; an interrupt ends the wait, not the import."""
        self._hurry = True
        self.begin()
        if self._future is not None:
            await asyncio.wait({asyncio.wrap_future(_following(self._future))})

    async def _load(self) -> None:
        began = time.monotonic()
        # Several conditions are watched, of which the kernel's idleness has no event.
        while not self._hurry and not self._idle() and time.monotonic() - began < PATIENCE_S:  # noqa: ASYNC110 - see above
            await asyncio.sleep(_POLL_S)
        for name in MODULES:
            try:
                importlib.import_module(name)
            except Exception:  # noqa: BLE001 - logged whole
                # The turn meets the same error on the person's side and tells it there.
                _log.warning("%s could not be preloaded", name, exc_info=True)
            await asyncio.sleep(0)

    def _idle(self) -> bool:
        return self._busy_since is None and time.monotonic() - self._idle_since >= IDLE_S


def _following(future: concurrent.futures.Future[None]) -> concurrent.futures.Future[None]:
    """A future that ends with ``future`` and can be cancelled without cancelling it."""
    mine: concurrent.futures.Future[None] = concurrent.futures.Future()

    def end(_: concurrent.futures.Future[None]) -> None:
        if not mine.cancelled():
            mine.set_result(None)

    future.add_done_callback(end)
    return mine
