"""The window comes from config, Models API, the server's own report, a table, or 32k with a warning, in this order (A3)."""

from __future__ import annotations

from typing import Any

import pytest

from memflush_jupyter.config import MemFlush
from memflush_jupyter.models import windows
from memflush_jupyter.models.endpoints import Endpoint
from memflush_jupyter.models.inspection import Report, describe, nothing_to_ask
from memflush_jupyter.models.pricing import cost, known_price
from memflush_jupyter.trace.models import Usage


def local(name: str = "mystery", **options: Any) -> Endpoint:
    return Endpoint(f"local/{name}", "local", "http://127.0.0.1:1", name, **options)


FULL = Report(True, api_window=1000, server_window=2000, max_output=300)


@pytest.mark.parametrize(
    ("endpoint", "config", "report", "expected"),
    [
        (local("qwen2.5", window=500), MemFlush(window=700), FULL, (500, "config")),
        (local("qwen2.5"), MemFlush(window=700), FULL, (700, "config")),
        (local("qwen2.5"), MemFlush(), FULL, (1000, "models-api")),
        (local("qwen2.5"), MemFlush(), Report(True, server_window=2000), (2000, "server")),
        (local("qwen2.5"), MemFlush(), Report(), (32_768, "table")),
        (local(), MemFlush(), Report(), (32_768, "default")),
    ],
)
def test_sources_are_asked_in_order(endpoint: Endpoint, config: MemFlush, report: Report, expected: tuple[int, str]) -> None:
    found = describe(endpoint, config, report)
    assert (found.window, found.window_source) == expected
    assert (found.warning is not None) == (expected[1] == "default")


def test_unknown_window_warns_with_what_to_set() -> None:
    warning = describe(local(), MemFlush(), Report()).warning
    assert warning is not None
    assert "32,768 tokens are assumed" in warning
    assert "'window'" in warning


def test_reply_limit_comes_from_endpoint_api_table_or_a_modest_default() -> None:
    assert describe(local(max_output=99), MemFlush(), FULL).max_output == 99
    assert describe(local(), MemFlush(), FULL).max_output == 300
    assert describe(Endpoint("anthropic/c", "anthropic", "u", "claude-3-haiku-20240307"), MemFlush(), Report()).max_output == 4096
    assert describe(Endpoint("anthropic/c", "anthropic", "u", "claude-sonnet-4-5"), MemFlush(), Report()).max_output == 64_000
    assert describe(local(), MemFlush(), Report()).max_output == 4096
    assert describe(local(window=8000), MemFlush(), Report()).max_output == 2000
    assert describe(local(), MemFlush(max_output_tokens=50), FULL).max_output == 50


def test_eyesight_is_asked_and_only_claude_is_presumed_to_see() -> None:
    assert describe(local(vision=True), MemFlush(), Report(vision=False)).vision
    assert describe(local(), MemFlush(), Report(vision=True)).vision
    assert not describe(local(), MemFlush(), Report()).vision
    assert describe(Endpoint("anthropic/c", "anthropic", "u", "claude-x"), MemFlush(), Report()).vision


def test_server_is_not_asked_when_everything_is_configured() -> None:
    assert nothing_to_ask(local(window=1, max_output=1, vision=False), MemFlush())
    assert not nothing_to_ask(local(window=1), MemFlush())


def test_models_api_answer_is_read() -> None:
    answer = {"max_input_tokens": 200_000, "max_tokens": 64_000, "capabilities": {"image_input": {"supported": True}}}
    assert windows.models_api(answer) == (200_000, 64_000, True)
    assert windows.models_api({"id": "x"}) == (None, None, None)
    assert windows.models_api(None) == (None, None, None)


def test_llama_cpp_props_are_read() -> None:
    props = {"default_generation_settings": {"n_ctx": 16384, "params": {}}, "modalities": {"vision": False}, "total_slots": 4}
    assert windows.llama_cpp_props(props) == (16384, False)
    assert windows.llama_cpp_props({"default_generation_settings": {}}) == (None, None)
    assert windows.llama_cpp_props([]) == (None, None)


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({"id": "m", "meta": {"n_ctx": 16384, "n_ctx_train": 32768}}, 16384),
        ({"id": "m", "max_model_len": 4096}, 4096),
        ({"id": "m", "loaded_context_length": 8192, "max_context_length": 131072}, 8192),
        ({"id": "m", "max_input_tokens": 1}, 1),
        ({"id": "m"}, None),
        ({"id": "m", "max_model_len": True}, None),
    ],
)
def test_model_lists_are_read_in_each_servers_form(entry: dict[str, Any], expected: int | None) -> None:
    assert windows.model_list({"data": [entry, {"id": "other", "max_model_len": 7}]}, "m") == expected


def test_only_model_of_a_server_counts_under_any_name() -> None:
    assert windows.model_list({"data": [{"id": "path/to.gguf", "meta": {"n_ctx": 5}}]}, "default") == 5
    assert windows.model_list({"data": [{"id": "a", "max_model_len": 5}, {"id": "b", "max_model_len": 6}]}, "c") is None
    assert windows.model_list({"data": "x"}, "c") is None


def test_ollama_tells_the_context_the_model_is_loaded_with() -> None:
    running = {"models": [{"name": "qwen2.5:latest", "model": "qwen2.5:latest", "context_length": 8192}]}
    assert windows.ollama_running(running, "qwen2.5") == 8192
    assert windows.ollama_running(running, "other") is None


def test_ollama_model_file_wins_and_training_length_is_not_believed() -> None:
    """Ollama loads 4,096 unless told otherwise and truncates silently: the trained length would lose messages."""
    info = {"model_info": {"qwen2.context_length": 32768}, "capabilities": ["completion", "tools", "vision"]}
    assert windows.ollama_show({**info, "parameters": "stop x\nnum_ctx                        16384"}) == (16384, True)
    assert windows.ollama_show(info) == (4096, True)
    assert windows.ollama_show({"model_info": {"x.context_length": 2048}}) == (2048, None)
    assert windows.ollama_show(None) == (None, None)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("claude-sonnet-4-5", 200_000),
        ("Qwen2.5-Coder-1.5B-Instruct", 32_768),
        ("qwen3:8b", 40_960),
        ("llama3.1:8b", 131_072),
        ("Meta-Llama-3-8B", 8_192),
        ("smollm2:135m", 8_192),
        ("gemma3:1b", 32_768),
        ("gemma-3-27b-it", 131_072),
        ("gpt-oss-20b", 131_072),
        ("mystery", None),
    ],
)
def test_known_models_have_their_documented_window(name: str, expected: int | None) -> None:
    assert windows.known_window(name) == expected


# -- prices ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "per_input", "per_output"),
    [
        ("anthropic/claude-sonnet-4-5", 3.0, 15.0),
        ("claude-sonnet-4-5-20250929", 3.0, 15.0),
        ("claude-sonnet-4-20250514", 3.0, 15.0),
        ("claude-opus-4-5-20251101", 5.0, 25.0),
        ("claude-opus-4-1-20250805", 15.0, 75.0),
        ("claude-opus-4-20250514", 15.0, 75.0),
        ("claude-haiku-4-5", 1.0, 5.0),
        ("claude-3-5-haiku-20241022", 0.8, 4.0),
        ("claude-3-haiku-20240307", 0.25, 1.25),
    ],
)
def test_listed_prices_are_found(model: str, per_input: float, per_output: float) -> None:
    price = known_price(model)
    assert price is not None
    assert (price.input, price.output) == (per_input, per_output)


@pytest.mark.parametrize("model", ["local/claude-sonnet-4-5", "claude-sonnet-9", "claude-sonnet-4-51", "gpt-4", "offline/analyst"])
def test_models_that_are_not_listed_have_no_guessed_price(model: str) -> None:
    assert known_price(model) is None
    assert cost(Usage(1, 1, 1, 1), model) is None


def test_cost_counts_each_kind_of_token_at_its_rate() -> None:
    usage = Usage(input=1_000_000, cache_read=2_000_000, cache_write=400_000, output=100_000)
    assert cost(usage, "claude-sonnet-4-5") == pytest.approx(3.0 + 0.6 + 1.5 + 1.5)
