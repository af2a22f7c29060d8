"""A silent server is noticed; a busy kernel is not mistaken for one."""

from __future__ import annotations

import asyncio
import time

import pytest

from memflush_jupyter.models.watch import SilenceWatch, StalledError


async def test_silence_ends_the_wait() -> None:
    with pytest.raises(StalledError):
        await SilenceWatch(0.08).wait(asyncio.Event().wait())


async def test_answer_in_time_is_handed_on() -> None:
    assert await SilenceWatch(0.2).wait(asyncio.sleep(0.02, "here")) == "here"


async def test_time_in_which_the_loop_was_blocked_is_not_silence() -> None:
    """Code that holds the interpreter makes every read late: that is no failure of the server."""

    async def blocked_then_answers() -> str:
        time.sleep(0.2)  # noqa: ASYNC251 - the person's own code, as far as the loop can tell
        await asyncio.sleep(0.02)
        return "here"

    assert await SilenceWatch(0.08).wait(blocked_then_answers()) == "here"


async def test_cancellation_from_outside_stays_cancellation() -> None:
    """P10: an interrupt must not look like a server that stalled."""
    task = asyncio.create_task(SilenceWatch(5.0).wait(asyncio.Event().wait()))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_each_wait_has_the_whole_limit() -> None:
    watch = SilenceWatch(0.12)
    for _ in range(4):
        await watch.wait(asyncio.sleep(0.05))


async def test_task_can_go_on_after_a_stall() -> None:
    watch = SilenceWatch(0.04)
    with pytest.raises(StalledError):
        await watch.wait(asyncio.Event().wait())
    await asyncio.sleep(0.01)
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0
