"""Options know where they come from, obey one order, and answer a slip with a sentence (H; point 7 of the face)."""

from __future__ import annotations

import re

import pytest
from traitlets.config import Config

from memflush_jupyter.config import MemFlush
from memflush_jupyter.errors import ConfigError
from memflush_jupyter.option_values import from_text

SECTION_H = {
    "enable_memory_flush": True, "memory_flush_soft_tokens": None, "force_flush_transcript_bytes": 2 * 1024**2, "flush_model": "", "flush_fallbacks": [],
    "endpoints": {}, "flush_prompt": "", "flush_system_prompt": "", "flush_timeout_s": 60.0, "flush_floor": True, "flush_background": True,
    "compaction": "summary", "reserve_tokens": None, "reserve_tokens_floor": 20000, "keep_recent_tokens": None, "memory_dir": "memory", "timezone": "",
    "recall_tokens": 600, "memory_tokens": None, "max_rounds": 25, "max_turn_tokens": None, "max_cost_usd": None, "tool_timeout_s": None, "allowed_paths": [],
}  # fmt: skip


def configured(**section) -> MemFlush:
    return MemFlush(config=Config({"MemFlush": section}))


def percent_config(config: MemFlush, **section) -> None:
    config.update_config(Config({"MemFlush": section}))


def test_every_option_of_section_h_is_there_with_its_default():
    """H"""
    config = MemFlush()
    assert {name: getattr(config, name) for name in SECTION_H} == SECTION_H
    assert list(config.memory_files) == ["taste.md", "strategy.md", "skills.md"]
    assert MemFlush(force_flush_transcript_bytes="2mb").force_flush_transcript_bytes == 2 * 1024**2


def test_every_option_says_what_it_is_without_codes_of_ours():
    for name, trait in MemFlush.class_traits(config=True).items():
        assert len(trait.help) > 15, name
        assert trait.help.endswith("."), name
        assert not re.search(r"\b[A-H]\d{1,2}b?\b|\bP\d{1,2}\b", trait.help), name


def test_the_order_is_flag_then_notebook_then_environment_then_file_then_default():
    config = MemFlush()
    assert (config.max_rounds, config.source("max_rounds")) == (25, "default")
    config = configured(max_rounds=3)
    assert (config.max_rounds, config.source("max_rounds")) == (3, "configuration file")
    config.apply_environment({"MEMFLUSH_MAX_ROUNDS": "4"})
    assert (config.max_rounds, config.source("max_rounds")) == (4, "environment (MEMFLUSH_MAX_ROUNDS)")
    percent_config(config, max_rounds=5)
    assert (config.max_rounds, config.source("max_rounds")) == (5, "%config")
    with config.overridden({"max_rounds": "6"}):
        assert (config.max_rounds, config.source("max_rounds")) == (6, "--set")
    assert (config.max_rounds, config.source("max_rounds")) == (5, "%config")


def test_a_flag_is_taken_back_when_the_turn_fails():
    config = MemFlush()

    def turn():
        with config.overridden({"recall": "off", "max_cost_usd": "2"}):
            assert (config.recall, config.max_cost_usd) == (False, 2.0)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        turn()
    assert (config.recall, config.max_cost_usd, config.source("recall")) == (True, None, "default")


def test_a_second_flag_that_does_not_fit_takes_the_first_back():
    config = MemFlush()
    with pytest.raises(ConfigError, match=r"MemFlush\.recall takes True or False, not 'perhaps'"), config.overridden({"max_rounds": "6", "recall": "perhaps"}):
        pytest.fail("the turn ran")
    assert config.max_rounds == 25


def test_setting_the_value_that_stands_already_is_still_told_as_set_there():
    config = MemFlush()
    config.apply_environment({"MEMFLUSH_MAX_ROUNDS": "25"})
    assert config.source("max_rounds") == "environment (MEMFLUSH_MAX_ROUNDS)"


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("modle", "model"), ("max_cost", "max_cost_usd"), ("maxTurnTokens", "max_turn_tokens"), ("tool_timeout", "tool_timeout_s"), ("basurl", "base_url"),
        ("memoryFlush.model", "flush_model"), ("softThresholdTokens", "memory_flush_soft_tokens"), ("userTimezone", "timezone"), ("xyzzy", None),
    ],
)  # fmt: skip
def test_a_misspelt_option_gets_the_nearest_name(name, near):
    assert MemFlush.nearest(name) == near


def test_a_misspelt_option_changes_nothing_and_is_told_once_wherever_it_stood():
    config = configured(modle="x", max_rounds=3)
    config.apply_environment({"MEMFLUSH_MODLE": "x", "MEMFLUSH_RECALL": "", "OTHER": "1", "MEMFLUSH_FLUSH_FLOOR": "no"})
    assert (config.model, config.max_rounds, config.recall, config.flush_floor) == ("", 3, True, False)
    assert config.take_faults() == [
        "c.MemFlush.modle in a configuration file names no option and was ignored. Did you mean c.MemFlush.model?",
        "The environment variable MEMFLUSH_MODLE names no option and was ignored. Did you mean MEMFLUSH_MODEL?",
    ]
    assert config.take_faults() == []
    assert len(config.faults) == 2
    with pytest.raises(ConfigError, match=r"There is no option MemFlush.modle. Did you mean MemFlush.model\?"):
        percent_config(config, modle="x")
    with pytest.raises(AttributeError, match=r"There is no option MemFlush.modle. Did you mean MemFlush.model\?"):
        _ = config.modle


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("window", "big", "MemFlush.window takes a whole number of at least 1 or None, not 'big'. It stays None."),
        ("max_rounds", 0, "MemFlush.max_rounds takes a whole number of at least 1, not 0. It stays 25."),
        ("max_cost_usd", -1, "MemFlush.max_cost_usd takes a number of at least 0 or None, not -1. It stays None."),
        ("max_cost_usd", float("nan"), "MemFlush.max_cost_usd cannot be used: nan is not a number to hold to; None means that there is no limit."),
        ("approve", "always", "MemFlush.approve takes one of '', 'ask', 'auto', 'deny', not 'always'. It stays ''."),
        ("recall", "no", "MemFlush.recall takes True or False, not 'no'. It stays True."),
        ("allowed_paths", 3, "MemFlush.allowed_paths takes a list of texts, not 3. It stays []."),
        ("force_flush_transcript_bytes", "much", "MemFlush.force_flush_transcript_bytes cannot be used: 'much' is not a size; write a number"),
        ("clock", "noon", "MemFlush.clock cannot be used: 'noon' is not a date and time; write it like '2026-01-15T09:00'."),
    ],
)
def test_a_wrong_value_gets_a_sentence_and_changes_nothing(name, value, sentence):
    config = MemFlush()
    before = config.fingerprint()
    with pytest.raises(ConfigError) as caught:
        percent_config(config, **{name: value})
    assert str(caught.value).startswith(sentence)
    assert config.fingerprint() == before
    assert config.source(name) == "default"


@pytest.mark.parametrize("key", ["sk-ant-api03-Zm9vYmFy", "sk_live_1234567890abcdef", "A" * 40])
def test_a_key_given_as_the_name_of_its_variable_is_refused_and_never_repeated(key):
    """P7"""
    config = MemFlush()
    with pytest.raises(ConfigError) as caught:
        percent_config(config, api_key_env=key)
    config.apply_environment({"MEMFLUSH_API_KEY_ENV": key})
    assert config.api_key_env == "ANTHROPIC_API_KEY"
    assert key not in str(caught.value) + " ".join(config.take_faults())


def test_a_limit_that_cannot_be_understood_lets_nothing_run_until_it_is_set():
    config = MemFlush()
    config.apply_environment({"MEMFLUSH_MAX_COST_USD": "5 dollars"})
    for _ in range(2):
        with pytest.raises(ConfigError, match=r"MEMFLUSH_MAX_COST_USD takes a number .* not '5 dollars'. Set it with `%config MemFlush.max_cost_usd"):
            config.take_faults()
    percent_config(config, max_cost_usd=5)
    assert config.take_faults() == []


def test_what_is_read_once_cannot_change_afterwards_but_the_same_value_may_be_set_again():
    config = MemFlush(clock="2026-01-15T09:00")
    config.in_use = True
    percent_config(config, clock="2026-01-15T09:00")
    with pytest.raises(ConfigError, match=r"MemFlush\.memory_dir was read before the first turn"):
        percent_config(config, memory_dir="elsewhere")
    assert config.memory_dir == "memory"


def test_variables_hold_lists_dictionaries_and_none(monkeypatch):
    traits = MemFlush.class_traits(config=True)
    monkeypatch.setattr("os.pathsep", ":")
    assert from_text(traits["allowed_paths"], "/data:~/more") == ["/data", "~/more"]
    assert from_text(traits["allowed_paths"], "['/a:b']") == ["/a:b"]
    assert from_text(traits["flush_fallbacks"], "local/a, local/b") == ["local/a", "local/b"]
    assert from_text(traits["endpoints"], '{"local/q": {"window": 8000, "vision": true}}') == {"local/q": {"window": 8000, "vision": True}}
    assert from_text(traits["max_cost_usd"], "none") is None
    assert from_text(traits["recall"], "off") is False
    assert from_text(traits["max_cost_usd"], "0.5") == 0.5
    config = MemFlush()
    config.apply_environment({"MEMFLUSH_ENDPOINTS": "local/q=secret-value"})
    assert config.endpoints == {}
    assert "secret-value" not in config.take_faults()[0]


def test_help_of_percent_config_names_the_source():
    config = MemFlush()
    config.apply_environment({"MEMFLUSH_RECALL_TOKENS": "100"})
    shown = MemFlush.class_get_help(config)
    assert "Current: 100\n    From: environment (MEMFLUSH_RECALL_TOKENS)" in shown
    assert "From: default" in shown


def test_percent_config_of_other_classes_is_none_of_our_business():
    config = MemFlush()
    config.update_config(Config({"InlineBackend": {"figure_format": "svg"}}))
    assert config.source("model") == "default"
