"""Rows B1-B7: when a flush runs, and the reason for every decision."""

import dataclasses
from dataclasses import replace
from typing import get_args

import pytest

from memflush_jupyter.context.gate import REASONS, Decision, GateState, Reason, decide, topup
from memflush_jupyter.context.window import lines

LINES = lines(18_400, 2_400)  # flush at 6,400, compaction at 10,400
AT_LINE = GateState(used=6_400, lines=LINES)


@pytest.mark.parametrize(
    ("used", "expected"),
    [
        (0, Decision("skip", "below_line", compact=False)),
        (6_399, Decision("skip", "below_line", compact=False)),
        (6_400, Decision("flush", "flush_line", compact=False)),
        (6_401, Decision("flush", "flush_line", compact=False)),
        (10_399, Decision("flush", "flush_line", compact=False)),
        (10_400, Decision("flush", "flush_line", compact=True)),
        (50_000, Decision("flush", "flush_line", compact=True)),
    ],
)
def test_both_lines_are_inclusive(used, expected):
    """A2, B1."""
    assert decide(replace(AT_LINE, used=used)) == expected
    assert expected.flush is (expected.action == "flush")


@pytest.mark.parametrize(
    ("unflushed", "force", "expected"),
    [
        (2 * 1024**2 - 1, 2 * 1024**2, "below_line"),
        (2 * 1024**2, 2 * 1024**2, "transcript_bytes"),
        (1, 1, "transcript_bytes"),
        (10**9, 0, "below_line"),
        (0, 0, "below_line"),
        (10**9, -1, "below_line"),
    ],
)
def test_unflushed_bytes_force_a_flush_and_zero_switches_that_off(unflushed, force, expected):
    """B1."""
    decision = decide(GateState(used=100, lines=LINES, unflushed_bytes=unflushed, force_bytes=force))
    assert decision.reason == expected
    assert decision.flush is (expected == "transcript_bytes")
    assert decision.compact is False


def test_the_forced_size_is_two_mebibytes_by_default():
    """B1."""
    assert decide(GateState(used=0, lines=LINES, unflushed_bytes=2_097_152)).reason == "transcript_bytes"
    assert decide(GateState(used=0, lines=LINES, unflushed_bytes=2_097_151)).reason == "below_line"


@pytest.mark.parametrize(
    ("flushed_at", "count", "fires"),
    [(None, 0, True), (0, 0, False), (0, 1, True), (1, 1, False), (None, 1, True), (1, 2, True), (2, 1, True)],
)
def test_a_flush_fires_once_per_cycle_and_none_is_not_zero(flushed_at, count, fires):
    """B3: 0 == 0 means flushed in this cycle, None means never."""
    decision = decide(replace(AT_LINE, memory_flush_compaction_count=flushed_at, compaction_count=count))
    assert decision.flush is fires
    assert decision.reason == ("flush_line" if fires else "already_flushed")


@pytest.mark.parametrize("count", range(4))
def test_a_flush_fires_in_every_cycle_not_in_every_second(count):
    """B3: the count is compared before it is incremented."""
    before = None if count == 0 else count - 1
    assert decide(replace(AT_LINE, memory_flush_compaction_count=before, compaction_count=count)).flush


SKIPS = [
    ({"memory_on": False}, "memory_off"),
    ({"enabled": False}, "disabled"),
    ({"sub_agent": True}, "sub_agent"),
    ({"heartbeat": True}, "heartbeat"),
    ({"writable": False}, "read_only"),
    ({"failures": 3}, "failures"),
    ({"failures": 4}, "failures"),
    ({"failures": 1, "max_failures": 1}, "failures"),
    ({"has_new": False}, "nothing_new"),
    ({"locked": True}, "locked"),
    ({"memory_flush_compaction_count": 0}, "already_flushed"),
]


@pytest.mark.parametrize(("changes", "reason"), SKIPS)
@pytest.mark.parametrize("used", [6_400, 10_400])
def test_each_hindrance_skips_with_its_own_reason_and_compaction_goes_on(changes, reason, used):
    """B5, B6; P2: compaction does not wait for a flush that cannot run."""
    assert decide(replace(AT_LINE, used=used, **changes)) == Decision("skip", reason, compact=used == 10_400)


def test_two_failures_are_not_yet_too_many():
    """B5, C8."""
    assert decide(replace(AT_LINE, failures=2)).flush


def test_below_the_line_that_is_the_reason_whatever_else_holds():
    decision = decide(replace(AT_LINE, used=6_399, enabled=False, locked=True))
    assert decision == Decision("skip", "below_line", compact=False)


def test_a_flush_line_at_zero_or_below_never_fires():
    """B5."""
    for flush_line, reason in ((0, "threshold"), (-1, "threshold"), (1, "flush_line")):
        state = GateState(used=10, lines=replace(LINES, flush_line=flush_line))
        assert decide(state).reason == reason


def test_what_a_person_switched_off_is_named_before_what_happened():
    """B5: the reasons have an order, so that the log says what one can act upon."""
    everything = {
        "memory_on": False,
        "enabled": False,
        "sub_agent": True,
        "heartbeat": True,
        "writable": False,
        "failures": 9,
        "locked": True,
        "has_new": False,
    }
    state = replace(AT_LINE, memory_flush_compaction_count=0, **everything)
    order = []
    for name, healthy in [
        ("memory_on", True),
        ("enabled", True),
        ("sub_agent", False),
        ("heartbeat", False),
        ("writable", True),
        ("failures", 0),
        ("memory_flush_compaction_count", None),
        ("has_new", True),
        ("locked", False),
    ]:
        order.append(decide(state).reason)
        state = replace(state, **{name: healthy})
    assert order == ["memory_off", "disabled", "sub_agent", "heartbeat", "read_only", "failures", "already_flushed", "nothing_new", "locked"]
    assert decide(state).flush


@pytest.mark.parametrize(
    ("going", "through", "expected"),
    [
        ([1, 2, 3], None, "topup"),
        ([1, 2, 3], 2, "topup"),
        ([1, 2, 3], 3, "nothing_new"),
        ([1, 2, 3], 9, "nothing_new"),
        ([0], 0, "nothing_new"),
        ([0], None, "topup"),
        ([5, 1], 4, "topup"),
        ([], None, "nothing_new"),
        ([], 3, "nothing_new"),
    ],
)
def test_messages_about_to_go_uncovered_get_a_top_up_flush(going, through, expected):
    """B4."""
    decision = topup(GateState(used=0, lines=LINES), going=going, flushed_through=through)
    assert decision == Decision("flush" if expected == "topup" else "skip", expected, compact=True)


def test_a_top_up_looks_neither_at_the_line_nor_at_the_cycle():
    """B4: whatever path leads to the compaction, and although this cycle's flush ran."""
    state = GateState(used=0, lines=replace(LINES, flush_line=-1), memory_flush_compaction_count=2, compaction_count=2, has_new=False)
    assert topup(state, going=[7], flushed_through=6).flush


@pytest.mark.parametrize(("changes", "reason"), [skip for skip in SKIPS if skip[1] not in {"nothing_new", "already_flushed"}])
def test_a_top_up_is_hindered_by_the_same_things(changes, reason):
    """B4, B5, B6."""
    assert topup(replace(AT_LINE, **changes), going=[7], flushed_through=6) == Decision("skip", reason, compact=True)


def test_covered_messages_need_no_top_up_whatever_hinders_it():
    """P1: there is no reason to record when nothing is lost."""
    assert topup(replace(AT_LINE, enabled=False), going=[7], flushed_through=7).reason == "nothing_new"


def test_every_reason_has_words():
    """B: every decision has a reason code, kept in the cognition log."""
    assert set(REASONS) == set(get_args(Reason))
    assert all(words and not words.endswith(".") for words in REASONS.values())


def test_a_state_is_plain_data_that_cannot_change():
    with pytest.raises(dataclasses.FrozenInstanceError):
        AT_LINE.used = 1
