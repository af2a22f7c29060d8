"""How large a model's context window and replies are (A3): what each kind of server reports, and what is known of models.

Order: the person's own figure, the Models API (``max_input_tokens``), the local server's own report, this table, 32,768 with a
warning. The readers are pure: they take a decoded answer and return tokens or ``None``.
"""

from __future__ import annotations

import re
from typing import Any

DEFAULT_WINDOW = 32_768
DEFAULT_LOCAL_OUTPUT = 4_096
OLLAMA_DEFAULT_CONTEXT = 4_096
"""Ollama loads a model with this context unless told otherwise, whatever the model was trained for, and truncates silently."""

# Documented windows; the first pattern that is found in the model's name wins.
_WINDOWS: tuple[tuple[str, int], ...] = (
    (r"claude", 200_000),
    (r"qwen3-coder", 262_144),
    (r"qwen3.*2507", 262_144),
    (r"qwen3", 40_960),
    (r"qwen2\.5.*1m", 1_010_000),
    (r"qwen2\.5", 32_768),
    (r"qwq", 131_072),
    (r"llama-?(?:3\.[1-3]|4)", 131_072),
    (r"llama-?3", 8_192),
    (r"llama-?2|codellama", 4_096),
    (r"smollm2", 8_192),
    (r"smollm3", 65_536),
    (r"gpt-oss", 131_072),
    (r"mistral-(?:nemo|small|large)|ministral|devstral|magistral", 131_072),
    (r"mi[sx]tral", 32_768),
    (r"gemma-?3n", 32_768),
    (r"gemma-?3.*\b(?:270m|1b)", 32_768),
    (r"gemma-?3", 131_072),
    (r"gemma", 8_192),
    (r"phi-?3.*128k|phi-?4-mini", 131_072),
    (r"phi-?4", 16_384),
    (r"phi-?3", 4_096),
    (r"deepseek-(?:r1|v3|coder-v2)", 131_072),
    (r"granite-?(?:3\.[1-9]|4)", 131_072),
    (r"glm-?4\.[56]", 131_072),
    (r"command-r", 131_072),
)
_OUTPUTS: tuple[tuple[str, int], ...] = (
    (r"claude-3-(?:haiku|opus|sonnet)", 4_096),
    (r"claude-3-5", 8_192),
    (r"claude-opus-4-(?:0|1|2025)", 32_000),
    (r"claude", 64_000),
)


def known_window(model: str) -> int | None:
    """Return the documented window of a model by its name, in tokens."""
    return _first(_WINDOWS, model)


def known_output(model: str) -> int | None:
    """Return the documented longest reply of a model by its name, in tokens."""
    return _first(_OUTPUTS, model)


def _first(table: tuple[tuple[str, int], ...], model: str) -> int | None:
    name = model.lower()
    return next((size for pattern, size in table if re.search(pattern, name)), None)


def models_api(answer: Any) -> tuple[int | None, int | None, bool | None]:
    """Read ``GET /v1/models/NAME`` of the Models API: window, longest reply, and whether images are understood."""
    if not isinstance(answer, dict):
        return None, None, None
    return _tokens(answer.get("max_input_tokens")), _tokens(answer.get("max_tokens")), _image_input(answer.get("capabilities"))


def _image_input(capabilities: Any) -> bool | None:
    image = capabilities.get("image_input") if isinstance(capabilities, dict) else None
    supported = image.get("supported") if isinstance(image, dict) else image
    return supported if isinstance(supported, bool) else None


def llama_cpp_props(answer: Any) -> tuple[int | None, bool | None]:
    """Read llama.cpp's ``GET /props``: the context of one slot, and whether images are understood."""
    if not isinstance(answer, dict):
        return None, None
    settings = answer.get("default_generation_settings")
    modalities = answer.get("modalities")
    window = _tokens(settings.get("n_ctx")) if isinstance(settings, dict) else None
    vision = modalities.get("vision") if isinstance(modalities, dict) else None
    return window, vision if isinstance(vision, bool) else None


def model_list(answer: Any, model: str) -> int | None:
    """Read ``GET /v1/models`` of llama.cpp (``meta.n_ctx``), vLLM (``max_model_len``), LM Studio or the Models API."""
    entries = answer.get("data") if isinstance(answer, dict) else None
    entries = [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    named = [entry for entry in entries if entry.get("id") == model]
    for entry in named or (entries if len(entries) == 1 else []):
        meta = entry.get("meta")
        found = [meta.get("n_ctx")] if isinstance(meta, dict) else []
        found += [entry.get(name) for name in ("max_input_tokens", "max_model_len", "loaded_context_length", "context_length", "max_context_length")]
        for value in found:
            tokens = _tokens(value)
            if tokens:
                return tokens
    return None


def ollama_running(answer: Any, model: str) -> int | None:
    """Read Ollama's ``GET /api/ps``: the context the model is loaded with."""
    entries = answer.get("models") if isinstance(answer, dict) else None
    for entry in entries if isinstance(entries, list) else []:
        if isinstance(entry, dict) and model in {entry.get("name"), entry.get("model"), str(entry.get("name")).removesuffix(":latest")}:
            return _tokens(entry.get("context_length"))
    return None


def ollama_show(answer: Any) -> tuple[int | None, bool | None]:
    """Read Ollama's ``POST /api/show``: ``num_ctx`` of the model file, else Ollama's default within what the model was trained for."""
    if not isinstance(answer, dict):
        return None, None
    capabilities = answer.get("capabilities")
    vision = "vision" in capabilities if isinstance(capabilities, list) else None
    match = re.search(r"^\s*num_ctx\s+(\d+)", str(answer.get("parameters") or ""), re.MULTILINE)
    if match:
        return _tokens(int(match.group(1))), vision
    info = answer.get("model_info")
    trained = next((_tokens(value) for key, value in info.items() if str(key).endswith(".context_length")), None) if isinstance(info, dict) else None
    return (min(trained, OLLAMA_DEFAULT_CONTEXT) if trained else None), vision


def _tokens(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
