"""The lock between flushes: held while one runs, taken over from a process that is gone, never from one that may be there (B6, P4)."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from memflush_jupyter.agent import lock as locks
from memflush_jupyter.agent.lock import FlushLock, gone
from memflush_jupyter.clock import FixedClock
from memflush_jupyter.trace.store import TraceStore


@pytest.fixture
def store(tmp_path):
    opened = TraceStore.open(tmp_path / "store.sqlite3", clock=FixedClock("2026-01-15T09:00", "UTC"))
    yield opened
    opened.close()


def owner(pid: int, *, machine: str | None = None, process: str = "0" * 8) -> str:
    return f"{machine or locks._machine()}/{pid}/{process}/aaaaaaaa"


def ended_pid() -> int:
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        child.wait()
    return child.pid


async def test_one_flush_at_a_time(store):
    """B6"""
    async with FlushLock(store, "t").held() as first:
        async with FlushLock(store, "t").held() as second:
            assert (first, second) == (True, False)
        async with FlushLock(store, "other").held() as third:
            assert third is True
        assert FlushLock(store, "t").take() is False
    assert FlushLock(store, "t").take() is True


async def test_the_lock_of_a_killed_process_is_taken_over_at_once(store):
    """P4"""
    assert store.acquire("flush:t", owner(ended_pid()), stale_after_s=60)
    assert await FlushLock(store, "t").wait() is True


async def test_a_lock_that_was_taken_over_is_no_longer_ours(store):
    mine = FlushLock(store, "t")
    async with mine.held():
        store.release("flush:t", mine._owner)
        assert FlushLock(store, "t").take()
        assert mine.take() is False


def test_gone_is_said_only_of_processes_that_can_be_known_to_have_ended():
    assert gone(owner(ended_pid()))
    assert gone(owner(os.getpid()))  # an earlier process of the same number
    assert not gone(owner(os.getpid(), process=locks._PROCESS))
    assert not gone(owner(os.getppid()))
    assert not gone(owner(ended_pid(), machine="elsewhere"))
    assert not gone("another")
