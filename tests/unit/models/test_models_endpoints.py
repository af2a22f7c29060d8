"""Model ids find their server and the name of their key, side by side; keys are only ever named."""

from __future__ import annotations

from typing import Any

import pytest

from memflush_jupyter.config import MemFlush
from memflush_jupyter.errors import ConfigError, ModelError
from memflush_jupyter.models.endpoints import OFFLINE, canonical, default_model, normal_url, resolve
from memflush_jupyter.models.pricing import Price

WITH_KEY = {"ANTHROPIC_API_KEY": "sk-secret"}


def test_without_key_and_endpoint_the_offline_model_answers() -> None:
    assert default_model(MemFlush(), {}) == OFFLINE
    assert default_model(MemFlush(), {"ANTHROPIC_API_KEY": "  "}) == OFFLINE


def test_default_goes_from_option_to_key_to_endpoint_to_base_url() -> None:
    endpoints = {"local/qwen": {"base_url": "http://127.0.0.1:1"}}
    assert default_model(MemFlush(model="local/x", endpoints=endpoints), WITH_KEY) == "local/x"
    assert default_model(MemFlush(endpoints=endpoints), WITH_KEY) == "anthropic/claude-sonnet-4-5"
    assert default_model(MemFlush(endpoints=endpoints), {}) == "local/qwen"
    assert default_model(MemFlush(base_url="http://127.0.0.1:1"), {}) == "local/default"


def test_short_ids_are_completed() -> None:
    assert [canonical(name) for name in ("claude-x", " offline ", "local/a", "gpt")] == ["anthropic/claude-x", OFFLINE, "local/a", "gpt"]


def test_claude_and_a_local_model_stand_side_by_side() -> None:
    config = MemFlush(endpoints={"local/qwen": {"base_url": "http://127.0.0.1:8911/v1/", "model": "qwen2.5", "window": 16384, "api_key_env": "MY_KEY"}})
    claude = resolve("claude-sonnet-4-5", config, {**WITH_KEY, "MY_KEY": "k"})
    local = resolve("local/qwen", config, {**WITH_KEY, "MY_KEY": "k"})
    assert (claude.kind, claude.base_url, claude.wire_model, claude.key_env, claude.text_calls) == (
        "anthropic",
        "https://api.anthropic.com",
        "claude-sonnet-4-5",
        "ANTHROPIC_API_KEY",
        False,
    )
    assert claude.price == Price(3.0, 15.0, 0.3, 3.75)
    assert (local.kind, local.base_url, local.wire_model, local.key_env, local.window, local.text_calls) == (
        "local",
        "http://127.0.0.1:8911",
        "qwen2.5",
        "MY_KEY",
        16384,
        True,
    )
    assert local.price is None


def test_names_with_slashes_and_colons_are_whole_names() -> None:
    config = MemFlush(base_url="127.0.0.1:11434")
    assert resolve("local/Qwen/Qwen2.5:3b", config, {}).wire_model == "Qwen/Qwen2.5:3b"


def test_server_for_claude_can_be_moved() -> None:
    assert resolve("claude-x", MemFlush(), {**WITH_KEY, "ANTHROPIC_BASE_URL": "http://127.0.0.1:9/"}).base_url == "http://127.0.0.1:9"
    config = MemFlush(endpoints={"claude-x": {"base_url": "http://127.0.0.1:8", "api_key_env": "OTHER"}})
    assert resolve("anthropic/claude-x", config, {"OTHER": "k"}).base_url == "http://127.0.0.1:8"


def test_missing_key_is_said_with_the_name_of_the_variable() -> None:
    with pytest.raises(ModelError, match="ANTHROPIC_API_KEY is not set") as caught:
        resolve("claude-x", MemFlush(), {})
    assert caught.value.kind == "no_key"
    config = MemFlush(endpoints={"local/x": {"base_url": "http://127.0.0.1:1", "api_key_env": "MY_KEY"}})
    with pytest.raises(ModelError, match="MY_KEY") as caught:
        resolve("local/x", config, {})
    assert caught.value.kind == "no_key"
    assert resolve("local/x", config, {}, key_needed=False).key_env == "MY_KEY"


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("gpt-4", "is not a model id"),
        ("", "is not a model id"),
        ("offline/other", "only offline model"),
        ("local/x", "base_url"),
        ("anthropic/", "is not a model id"),
    ],
)
def test_unknown_ids_are_said_to_be_unknown(model: str, words: str) -> None:
    with pytest.raises(ModelError, match=words) as caught:
        resolve(model, MemFlush(), WITH_KEY)
    assert caught.value.kind == "unknown_model"


@pytest.mark.parametrize("name", ["api_key", "token", "password", "key"])
def test_secret_in_the_configuration_is_refused_without_repeating_it(name: str) -> None:
    """Secrets are never options."""
    config = MemFlush(endpoints={"local/x": {"base_url": "http://127.0.0.1:1", name: "sk-hush"}})
    with pytest.raises(ConfigError, match="api_key_env") as caught:
        resolve("local/x", config, {})
    assert "sk-hush" not in str(caught.value)


def test_key_in_place_of_the_variable_name_is_refused_without_repeating_it() -> None:
    config = MemFlush(endpoints={"local/x": {"base_url": "http://127.0.0.1:1", "api_key_env": "sk-ant-hush"}})
    with pytest.raises(ConfigError, match="name of an environment variable") as caught:
        resolve("local/x", config, {})
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"base_url": "http://127.0.0.1:1", "windw": 1}, "unknown option 'windw'"),
        ({"base_url": "http://127.0.0.1:1", "window": 0}, "'window'"),
        ({"base_url": "http://127.0.0.1:1", "window": "big"}, "'window'"),
        ({"base_url": "http://127.0.0.1:1", "window": True}, "'window'"),
        ({"base_url": "http://user:pw@127.0.0.1:1"}, "base_url"),
        ({"base_url": "ftp://x"}, "base_url"),
        ("http://127.0.0.1:1", "must be a dictionary"),
        ({"base_url": "http://127.0.0.1:1", "price": {"input": 1}}, "price"),
        ({"base_url": "http://127.0.0.1:1", "price": {"input": 1, "output": -2}}, "price"),
    ],
)
def test_entries_that_cannot_be_used_are_explained(entry: Any, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        resolve("local/x", MemFlush(endpoints={"local/x": entry}), {})


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("http://127.0.0.1:8080/", "http://127.0.0.1:8080"),
        ("http://127.0.0.1:8080/v1", "http://127.0.0.1:8080"),
        ("http://127.0.0.1:8080/v1/messages/", "http://127.0.0.1:8080"),
        ("https://host/anthropic/", "https://host/anthropic"),
        (" localhost:11434 ", "http://localhost:11434"),
    ],
)
def test_addresses_are_brought_to_the_servers_root(given: str, expected: str) -> None:
    assert normal_url(given) == expected


def test_offline_window_comes_from_its_option() -> None:
    assert resolve("offline/analyst", MemFlush(), {}).window == 16384
    assert resolve("offline", MemFlush(offline_window=8000), {}).window == 8000
    assert resolve("offline", MemFlush(window=9000), {}).window == 9000


def test_price_of_an_endpoint_overrides_the_table() -> None:
    config = MemFlush(endpoints={"local/x": {"base_url": "http://127.0.0.1:1", "price": {"input": 2, "output": 4}}})
    assert resolve("local/x", config, {}).price == Price(2.0, 4.0, 0.2, 2.5)
