"""What SIGINT does to code that has not begun (P10)."""

from __future__ import annotations

import pytest

from memflush_jupyter.notebook.interrupts import Interrupts


def test_code_does_not_begin_after_an_interrupt() -> None:
    """P10: the cancellation arrives at the next wait, and synchronous code has none."""
    interrupts = Interrupts()
    interrupts.requested = True
    began = []
    with pytest.raises(KeyboardInterrupt):
        interrupts.step(lambda: began.append(1))
    assert began == []
    interrupts.step(lambda: began.append(2), begins=False)  # clean-up of code that was stopped goes on
    assert began == [2]


async def test_a_coroutine_that_may_not_begin_is_closed() -> None:
    """P10: no warning of a coroutine that was never awaited lands in a later cell."""
    interrupts = Interrupts()
    interrupts.requested = True

    async def code() -> None:
        raise AssertionError

    coroutine = code()
    with pytest.raises(KeyboardInterrupt):
        await interrupts.drive(coroutine)
    assert coroutine.cr_frame is None
