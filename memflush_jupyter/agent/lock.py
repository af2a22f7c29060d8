"""The lock that keeps two flushes of one trace apart, in one process or two (B6), and that a killed kernel does not hold for long (P4)."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import platform
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

from memflush_jupyter.errors import MemflushError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from memflush_jupyter.trace.store import TraceStore

LONGEST_S = 330.0
"""No flush takes longer than this many seconds: 300 of the model's, and the writing."""
STALE_S = 60.0
"""A lock without a heartbeat for this many seconds was left by a kill, a crash of the machine or a code that stopped the thread."""
HEARTBEAT_S = 5.0
_POLL_S = 0.1

_PROCESS = uuid.uuid4().hex[:8]


class FlushLock:
    """One flush's claim on a trace; other ``work`` on it has a claim of its own."""

    def __init__(self, store: TraceStore, trace: str, work: str = "flush") -> None:
        self._store = store
        self._name = f"{work}:{trace}"
        self._owner = f"{_machine()}/{os.getpid()}/{_PROCESS}/{uuid.uuid4().hex[:8]}"

    def take(self) -> bool:
        """Take the lock, or say that it is still held; ``False``: another flush has it."""
        return self._store.acquire(self._name, self._owner, stale_after_s=STALE_S, gone=gone)

    def release(self) -> None:
        """Let go of it."""
        with contextlib.suppress(MemflushError):  # then it goes stale by itself
            self._store.release(self._name, self._owner)

    @contextlib.asynccontextmanager
    async def held(self) -> AsyncIterator[bool]:
        """Hold the lock for a block, with a heartbeat; the value says whether it was free."""
        if not self.take():
            yield False
            return
        heart = asyncio.ensure_future(self._beat())
        try:
            yield True
        finally:
            heart.cancel()
            self.release()

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT_S)
            with contextlib.suppress(MemflushError):
                self.take()

    async def wait(self) -> bool:
        """Wait until no flush of the trace runs; ``False`` when none ended in the longest time that one takes."""
        for _ in range(int(LONGEST_S / _POLL_S) + 1):
            if self.take():
                self.release()
                return True
            await asyncio.sleep(_POLL_S)
        return False


def gone(owner: str) -> bool:
    """Whether the process that took a lock is known to have ended; one on another machine never is."""
    machine, _, rest = owner.partition("/")
    pid, _, process = rest.partition("/")
    if machine != _machine() or not pid.isdigit():
        return False
    if int(pid) == os.getpid():
        return process.partition("/")[0] != _PROCESS  # an earlier process had this number
    if os.name != "posix":  # elsewhere the question itself would end the process
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


def _machine() -> str:
    """This start of this machine or container: process numbers mean something only within it."""
    parts = [platform.node()]
    with contextlib.suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii"))
    with contextlib.suppress(OSError):
        parts.append(str(Path("/proc/self/ns/pid").readlink()))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:8]
