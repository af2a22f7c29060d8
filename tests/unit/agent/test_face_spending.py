"""Limits as decisions on plain numbers: before a request, after it, and how long its answer may be (point 8 of the face; H)."""

from __future__ import annotations

import threading

import pytest

from memflush_jupyter.agent.spending import MIN_AFFORDED, Meter, Need, Spending, cost_cap, cost_limit, cut_short, turn_cap, turn_limit
from memflush_jupyter.config import MemFlush
from memflush_jupyter.models.client import ModelInfo
from memflush_jupyter.models.pricing import Price
from memflush_jupyter.trace.models import Usage

PRICE = Price(input=3.0, output=15.0, cache_read=0.3, cache_write=3.75)


def info(price=PRICE, name="local/x", **more) -> ModelInfo:
    return ModelInfo(name, 200_000, "config", 8_000, vision=False, price=price, offline=False, **more)


@pytest.mark.parametrize(
    ("used", "next_tokens", "stops"),
    [
        (0, 0, False),
        (0, 10_000 - MIN_AFFORDED, False),
        (0, 10_001 - MIN_AFFORDED, True),
        (9_744, 0, False),
        (9_745, 0, True),
        (10_000, 0, True),
        (20_000, 5, True),
    ],
)
def test_a_turn_stops_before_it_would_pass_its_tokens(used, next_tokens, stops):
    assert bool(turn_limit(MemFlush(max_turn_tokens=10_000), Meter(used), Need(next_tokens))) is stops


def test_the_sentence_names_what_was_used_what_comes_the_limit_and_how_to_raise_it():
    assert turn_limit(MemFlush(max_turn_tokens=10_000), Meter(9_000), Need(2_000)) == (
        "Stopped at a limit: this turn used 9,000 tokens and the next request holds about 2,000 more; max_turn_tokens is 10,000. The conversation is kept: "
        "raise the limit with `%config MemFlush.max_turn_tokens = 22000`, or for one turn with `--set`, and go on in another %%agent cell."
    )
    assert turn_limit(MemFlush(), Meter(10**9), Need(10**9)) is None


def test_dollars_are_counted_at_what_the_request_will_cost_without_its_answer_too():
    config = MemFlush(max_cost_usd=1.0)
    least = MIN_AFFORDED * 15 / 1e6
    assert cost_limit(config, Spending(0.9), info(), Need(0)) is None
    assert cost_limit(config, Spending(1.0 - least - 1e-9), info(), Need(0)) is None
    assert "$1.00 are spent in this kernel; max_cost_usd is $1.00" in str(cost_limit(config, Spending(1.0), info(), Need(0)))
    # 100,000 tokens: written to the cache 0.375, read from it 0.03.
    assert "the next request costs about $0.38 before its answer" in str(cost_limit(config, Spending(0.7), info(), Need(100_000)))
    assert cost_limit(config, Spending(0.7), info(), Need(100_000, cached=1.0)) is None
    assert cost_limit(MemFlush(max_cost_usd=0.0), Spending(None), info(), Need(0)) is not None


def test_who_is_paid_nothing_has_no_limit_and_who_may_be_paid_unknown_sums_is_refused():
    config = MemFlush(max_cost_usd=0.0)
    assert cost_limit(config, Spending(), info(price=None, nearby=True), Need(10**6)) is None
    assert cost_limit(config, Spending(), ModelInfo("offline/analyst", 1, "config", 1, vision=False, price=None, offline=True), Need(10**6)) is None
    assert "the price of local/x is not known" in str(cost_limit(config, Spending(), info(price=None), Need(0)))
    assert "is spent" not in str(cost_limit(MemFlush(max_cost_usd=5.0), Spending(), info(price=None, name="anthropic/claude-sonnet-4-5"), Need(0)))
    assert cost_limit(MemFlush(max_cost_usd=5.0), Spending(), info(price=None, name="anthropic/claude-sonnet-4-5"), Need(0)) is None


def test_an_answer_may_be_as_long_as_the_limits_leave():
    assert turn_cap(MemFlush(max_turn_tokens=10_000), Meter(4_000), Need(5_000)) == 1_000
    assert turn_cap(MemFlush(), Meter(4_000), Need(5_000)) is None
    assert cost_cap(MemFlush(max_cost_usd=1.0), Spending(0.55), info(), Need(40_000)) == pytest.approx(20_000, abs=1)
    assert cost_cap(MemFlush(max_cost_usd=1.0), Spending(0.55), info(price=None), Need(40_000)) is None
    assert "(max_turn_tokens is 10,000 and max_cost_usd is $1.00)" in cut_short(MemFlush(max_turn_tokens=10_000, max_cost_usd=1.0))


def test_two_threads_spend_from_one_purse_and_lose_nothing():
    purse = Spending()
    threads = [threading.Thread(target=lambda: [purse.add(Usage(input=1, output=1), info()) for _ in range(2_000)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert purse.tokens == 16_000
    assert purse.usd == pytest.approx(8_000 * 18 / 1e6)
