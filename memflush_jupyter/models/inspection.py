"""Asks a server what it serves, and works out window, reply limit and eyesight of a model from all that is known (A3)."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from memflush_jupyter.models import endpoints, windows
from memflush_jupyter.models.pieces import ModelInfo

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

    from memflush_jupyter.config import MemFlush
    from memflush_jupyter.models.endpoints import Endpoint

_PATIENCE_S = 5.0


@dataclass(frozen=True)
class Report:
    """What a server said. ``api_window`` is the Models API's figure, ``server_window`` a local server's own. In tokens."""

    answered: bool = False
    api_window: int | None = None
    server_window: int | None = None
    max_output: int | None = None
    vision: bool | None = None


def nothing_to_ask(endpoint: Endpoint, config: MemFlush) -> bool:
    """Tell whether the person gave every figure that the server could."""
    return bool(endpoint.window or config.window) and bool(endpoint.max_output) and endpoint.vision is not None


def describe(endpoint: Endpoint, config: MemFlush, report: Report) -> ModelInfo:
    """Put together what is known of a model. Pure; the order of sources is A3's."""
    sources = (
        (endpoint.window or config.window, "config"),
        (report.api_window, "models-api"),
        (report.server_window, "server"),
        (windows.known_window(endpoint.wire_model), "table"),
    )
    window, source = next(((size, name) for size, name in sources if size), (windows.DEFAULT_WINDOW, "default"))
    limit = endpoint.max_output or report.max_output or windows.known_output(endpoint.wire_model) or min(windows.DEFAULT_LOCAL_OUTPUT, window // 4)
    if config.max_output_tokens:
        limit = min(limit, config.max_output_tokens)
    sight = endpoint.vision if endpoint.vision is not None else report.vision
    return ModelInfo(
        id=endpoint.id,
        window=window,
        window_source=source,
        max_output=max(1, min(limit, window)),
        vision=endpoint.kind == "anthropic" if sight is None else sight,
        price=endpoint.price,
        offline=endpoint.kind == "offline",
        warning=_unknown_window(endpoint) if source == "default" else None,
        nearby=endpoints.is_loopback(endpoint.base_url),
    )


def _unknown_window(endpoint: Endpoint) -> str:
    return (
        f"The context window of {endpoint.id} is not known, so {windows.DEFAULT_WINDOW:,} tokens are assumed. "
        f"Set the true one: c.MemFlush.endpoints = {{{endpoint.id!r}: {{'base_url': {endpoint.base_url!r}, 'window': …}}}}."
    )


async def ask(sdk: AsyncAnthropic, endpoint: Endpoint) -> Report:
    """Ask the Models API, then, where it does not tell, the interfaces of llama.cpp, Ollama, vLLM and LM Studio. Never raises."""
    name = endpoint.wire_model
    answer = await _get(sdk, f"/v1/models/{quote(name, safe='')}")
    window, limit, vision = windows.models_api(answer)
    if endpoint.kind == "anthropic" or window:
        return Report(answer is not None, window, None, limit, vision)
    props = await _get(sdk, "/props")
    own, sight = windows.llama_cpp_props(props)
    listed = None if own else await _get(sdk, "/v1/models")
    own = own or windows.model_list(listed, name)
    if own is None:
        running = await _get(sdk, "/api/ps")
        shown = await _post(sdk, "/api/show", {"model": name}) if running is not None else None
        from_show, sight = windows.ollama_show(shown)
        own = windows.ollama_running(running, name) or from_show
    if own is None:
        own = windows.model_list({"data": [await _get(sdk, f"/api/v0/models/{quote(name, safe='')}")]}, name)
    heard = any(item is not None for item in (answer, props, listed)) or own is not None
    return Report(heard, None, own, limit, vision if vision is not None else sight)


async def _get(sdk: AsyncAnthropic, path: str) -> Any:
    return await _answer(sdk.get(path, cast_to=object, options={"timeout": _PATIENCE_S, "max_retries": 0}))


async def _post(sdk: AsyncAnthropic, path: str, body: dict[str, Any]) -> Any:
    return await _answer(sdk.post(path, cast_to=object, body=body, options={"timeout": _PATIENCE_S, "max_retries": 0}))


async def _answer(call: Any) -> Any:
    """Return the decoded JSON object, or ``None``: a server that lacks an interface is ordinary here."""
    try:
        async with asyncio.timeout(_PATIENCE_S):
            answer = await call
    except Exception:  # noqa: BLE001 - whatever goes wrong, the answer is "not told"; the request itself will say why
        return None
    return answer if isinstance(answer, dict) else None
