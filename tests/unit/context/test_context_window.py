"""Rows A1-A3, B7, D3 and the second half of D8: where the lines lie."""

import dataclasses

import pytest

from memflush_jupyter.context.window import DEFAULT_WINDOW, KNOWN_WINDOWS, Lines, choose_window, lines, prompt_fault, window_warning


@pytest.mark.parametrize(
    ("free", "reserve", "soft"),
    [
        (8_000, 4_000, 2_000),
        (16_000, 8_000, 4_000),
        (24_000, 16_000, 4_000),
        (27_999, 19_999, 4_000),
        (28_000, 20_000, 4_000),
        (28_001, 20_000, 4_000),
        (32_000, 20_000, 4_000),
        (200_000, 20_000, 4_000),
        (1_000_000, 20_000, 4_000),
        (15_999, 8_000, 3_999),
        (16_001, 8_001, 4_000),
        (1, 1, 0),
        (3, 2, 0),
        (1_000, 500, 250),
    ],
)
def test_reserve_and_soft_follow_the_table(free, reserve, soft):
    """A1."""
    for prefix in (0, 2_345):
        found = lines(free + prefix, prefix)
        assert (found.reserve, found.soft) == (reserve, soft)
        assert found.warnings == ()


def test_lines_are_absolute_positions_in_the_window():
    """A2."""
    found = lines(18_400, 2_400)
    assert found == Lines(window=18_400, prefix=2_400, reserve=8_000, soft=4_000, flush_line=6_400, compaction_line=10_400, keep_recent=3_466, warnings=())
    assert found.room == 8_000


def test_lines_of_the_offline_window_leave_room_for_two_turns():
    """A1: at 16k the flush line lies behind two ordinary turns of some 1,500 tokens, and so much is free after a compaction."""
    found = lines(16_384, 2_200)
    assert (found.reserve, found.soft, found.flush_line, found.compaction_line, found.keep_recent) == (7_092, 3_546, 5_746, 9_292, 3_097)
    assert found.flush_line - found.prefix >= 3_000
    assert found.room - found.keep_recent >= 3_000 + 800


def test_lines_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        lines(8_000, 0).reserve = 1


@pytest.mark.parametrize(
    ("configured", "floor", "reserve"),
    [
        (5_000, 20_000, 20_000),
        (30_000, 20_000, 30_000),
        (5_000, 0, 5_000),
        (5_000, 6_000, 6_000),
        (None, 0, 20_000),
        (None, 25_000, 25_000),
        (0, 0, 0),
        (-5, -5, 0),
        (92_000, 0, 92_000),
    ],
)
def test_of_reserve_and_floor_the_larger_wins(configured, floor, reserve):
    """A1."""
    found = lines(100_000, 0, reserve_tokens=configured, reserve_tokens_floor=floor)
    assert found.reserve == reserve
    assert found.warnings == ()


@pytest.mark.parametrize("asked", [{"reserve_tokens": 92_001}, {"reserve_tokens_floor": 92_001}])
def test_the_cap_holds_for_reserve_and_floor_alike_and_names_both_numbers(asked):
    """A1: the cap is E - min(8000, E/2)."""
    found = lines(100_000, 0, **asked)
    assert found.reserve == 92_000
    assert found.warnings == ("A reserve of 92,001 tokens does not fit in the 100,000 that are free; 92,000 are reserved.",)


def test_the_default_floor_is_capped_without_a_warning():
    """A1: on a small window the default of 20,000 is scaled, which is nothing to warn about."""
    assert lines(8_000, 0, reserve_tokens=3_000).warnings == ()
    assert lines(8_000, 0, reserve_tokens=3_000).reserve == 4_000


@pytest.mark.parametrize(
    ("configured", "soft", "warned"),
    [(0, 0, False), (1, 1, False), (6_000, 6_000, False), (6_001, 6_000, True), (150_000, 6_000, True), (-1, 0, True)],
)
def test_soft_tokens_are_clamped_so_that_a_round_fits_before_the_flush_line(configured, soft, warned):
    """A1, B7: people set 150000, an absolute size, and it never fired."""
    found = lines(28_000, 0, soft_tokens=configured)
    assert found.soft == soft
    assert found.flush_line == found.compaction_line - soft
    assert bool(found.warnings) is warned
    if warned:
        expected = f"memory_flush_soft_tokens is headroom below the compaction line, not an absolute size: {configured:,} does not fit, {soft:,} is used."
        assert found.warnings == (expected,)


@pytest.mark.parametrize(("free", "largest"), [(2_000, 500), (7_998, 1_999), (8_000, 2_000), (10_000, 3_000), (2_002, 500)])
def test_in_a_small_window_half_of_the_room_is_kept_for_the_round(free, largest):
    """A1."""
    assert lines(free, 0, soft_tokens=100_000).soft == largest


def test_soft_tokens_beyond_half_of_the_window_warn():
    """H: more than half of the window is allowed where it fits, but somebody may have meant an absolute size."""
    assert lines(200_000, 0, soft_tokens=100_000).warnings == ()
    found = lines(200_000, 0, soft_tokens=100_001)
    assert found.soft == 100_001
    assert found.warnings == (
        "memory_flush_soft_tokens is headroom below the compaction line: 100,001 is more than half of the window of 200,000, so the flush fires very early.",
    )


@pytest.mark.parametrize(
    ("window", "prefix", "keep"),
    [(200_000, 0, 20_000), (80_000, 0, 20_000), (79_997, 0, 19_999), (50_000, 0, 10_000), (8_000, 0, 1_333), (8_000, 4_000, 1_000), (8_000, 6_000, 500)],
)
def test_keep_recent_is_a_third_of_what_is_not_reserved(window, prefix, keep):
    """D3: min(20000, (W - reserve)/3), and never more than half of the room, so that a compaction has something to remove."""
    assert lines(window, prefix).keep_recent == keep


@pytest.mark.parametrize(
    ("configured", "keep", "warned"), [(0, 0, False), (10_000, 10_000, False), (4_000, 4_000, False), (90_001, 90_000, True), (-3, 0, True)]
)
def test_a_configured_keep_recent_is_clamped_to_half_of_the_room(configured, keep, warned):
    """D3, D9."""
    found = lines(200_000, 0, keep_recent=configured)
    assert found.keep_recent == keep
    expected = (f"keep_recent_tokens of {configured:,} would leave a compaction nothing to remove: {keep:,} are kept.",) if warned else ()
    assert found.warnings == expected


def test_a_prefix_that_fills_the_window_is_said():
    """A1."""
    found = lines(8_000, 8_000)
    assert (found.reserve, found.soft, found.compaction_line, found.room) == (0, 0, 8_000, 0)
    assert found.warnings == ("The fixed prefix of 8,000 tokens leaves no room in the window of 8,000: shorten the memory or choose a larger model.",)
    assert lines(8_000, 9_000).room == 0
    assert lines(8_000, 7_999).warnings == ()


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ((1, 2, 3), (1, "config")),
        ((None, 2, 3), (2, "models-api")),
        ((0, 2, 3), (2, "models-api")),
        ((None, None, 3), (3, "server")),
        ((None, 0, 1), (1, "server")),
        ((None, None, None), (200_000, "table")),
    ],
)
def test_the_window_comes_from_whoever_knows_best(known, expected):
    """A3."""
    assert choose_window(*known, "anthropic/claude-sonnet-4-5") == expected


@pytest.mark.parametrize(
    ("model", "window"),
    [
        ("anthropic/claude-2.1", 100_000),
        ("claude-instant-1", 100_000),
        ("anthropic/Claude-Opus-4", 200_000),
        ("local/deepseek-chat", 131_072),
        ("x/y/kimi-k2", 131_072),
        ("glm-4.5", 131_072),
    ],
)
def test_known_models_have_their_published_window(model, window):
    """A3."""
    assert choose_window(None, None, None, model) == (window, "table")
    assert len(KNOWN_WINDOWS) == 6


def test_an_unknown_model_gets_32k_with_a_warning():
    """A3."""
    window, source = choose_window(None, None, None, "local/not-claude")
    assert (window, source) == (DEFAULT_WINDOW, "default") == (32_768, "default")
    assert (
        window_warning("local/not-claude", window, source)
        == "The context window of local/not-claude is not known; 32,768 tokens are assumed. Set c.MemFlush.window to the real size."
    )
    for told in ("config", "models-api", "server", "table"):
        assert window_warning("local/x", window, told) is None


def test_a_prompt_larger_than_the_room_is_refused_with_both_sizes():
    """D8: at the compaction line there is no room left, one token below there is."""
    sizes = lines(18_400, 2_400)
    assert prompt_fault(7_999, sizes) is None
    assert prompt_fault(8_000, sizes) == (
        "This prompt is about 8,000 tokens, and at most 7,999 fit in the window of 18,400. "
        "Put the long part in a file or a variable and let the agent read it in pieces."
    )
    assert "at most 0 fit" in prompt_fault(1, lines(8_000, 9_000))
