"""Who answers: the model, its key by name alone, its server, its window and who says so, and the counting of tokens."""

from __future__ import annotations

import asyncio
import json
import threading
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any

from memflush_jupyter.clock import SystemClock
from memflush_jupyter.context import encoding
from memflush_jupyter.context.tokens import UNMEASURED_FACTOR
from memflush_jupyter.doctor import folder
from memflush_jupyter.doctor.report import Check
from memflush_jupyter.errors import MemflushError
from memflush_jupyter.models import endpoints, inspection
from memflush_jupyter.models.client import ModelClient

if TYPE_CHECKING:
    from collections.abc import Callable

    from memflush_jupyter.doctor.examination import Place
    from memflush_jupyter.models.client import ModelInfo
    from memflush_jupyter.models.endpoints import Endpoint

REACH_S = 2.0
"""How long a server may take to answer at all; a running one does so in milliseconds."""
ASK_S = 8.0
_SOURCES = {
    "config": "set by you",
    "models-api": "told by the Models API",
    "server": "told by the server",
    "table": "from the table of known models",
    "default": "assumed: nobody tells",
}
_OFFLINE_SOURCE = "built in"
_NAMES_SHOWN = 5


def look(place: Place) -> list[Check]:
    """Key, model, server and window, each in a row."""
    chosen = place.model or endpoints.default_model(place.config, place.environ)
    try:
        endpoint = endpoints.resolve(chosen, place.config, place.environ, key_needed=False)
    except MemflushError as error:
        return [Check("model", "broken", chosen, str(error))]
    reached, served = _server(endpoint)
    return [
        _key(endpoint, place),
        _model(endpoint, served),
        reached,
        _window(endpoint, place, ask=reached.state == "ok" and endpoint.kind == "local"),
        *_others(endpoint, place),
    ]


def _key(endpoint: Endpoint, place: Place) -> Check:
    name = endpoint.key_env
    if name is None:
        return Check("key", "ok", "none needed")
    return _named_key(name, place)


def _named_key(name: str, place: Place) -> Check:
    value = place.environ.get(name, "")
    if not value.strip():
        return Check("key", "broken", f"{name} is not set", f"Set the environment variable {name} before Jupyter starts; never write a key in a notebook.")
    if not value.strip().isascii() or not value.strip().isprintable() or " " in value.strip():
        return Check("key", "broken", f"{name} is set, but holds characters that no key has", f"Set {name} again, without quotes, spaces or line ends in it.")
    return Check("key", "ok", f"{name} is set")


def _model(endpoint: Endpoint, served: list[str]) -> Check:
    if endpoint.kind == "offline":
        return Check("model", "ok", f"{endpoint.id}: built-in rules, no language model")
    if served and endpoint.wire_model not in {*served, endpoints.UNNAMED} and f"{endpoint.wire_model}:latest" not in served:
        listed = ", ".join(served[:_NAMES_SHOWN])
        return Check(
            "model", "warning", f"{endpoint.id}: the server does not list it", f"It lists {listed}. Set MemFlush.model to 'local/NAME' with one of these."
        )
    return Check("model", "ok", endpoint.id)


def _others(endpoint: Endpoint, place: Place) -> list[Check]:
    """The models of flushes, where they are others."""
    config = place.config
    rows: list[Check] = []
    for name in filter(None, [config.flush_model, *config.flush_fallbacks]):
        if endpoints.canonical(name) == endpoint.id:
            continue
        try:
            other = endpoints.resolve(name, config, place.environ)
        except MemflushError as error:
            rows.append(Check("flush model", "broken", name, str(error)))
        else:
            reached, _ = _server(other)
            rows.append(Check("flush model", reached.state, f"{name}: {reached.seen}", reached.mend))
    return rows


def _server(endpoint: Endpoint) -> tuple[Check, list[str]]:
    """Whether the server answers, by a request that costs nothing and carries no key, and the models it lists."""
    if endpoint.kind == "offline":
        return Check("server", "ok", "none needed"), []
    if endpoint.kind == "anthropic":
        return Check("server", "ok", f"{endpoint.base_url} (not tried: the first turn does)"), []
    opener = urllib.request.build_opener(*([urllib.request.ProxyHandler({})] if endpoints.is_loopback(endpoint.base_url) else []))
    try:
        with opener.open(f"{endpoint.base_url}/v1/models", timeout=REACH_S) as answer:
            names = _listed(answer.read(1_000_000))
    except urllib.error.HTTPError as error:
        error.close()
        return Check("server", "ok", f"{endpoint.base_url} answers"), []
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", error)
        why = (
            f"no answer within {REACH_S:g} s" if isinstance(reason, TimeoutError) else str(getattr(reason, "strerror", None) or reason or type(error).__name__)
        )
        return Check("server", "broken", f"{endpoint.base_url} does not answer ({why})", "Start the server, or set MemFlush.base_url to where it runs."), []
    return Check("server", "ok", f"{endpoint.base_url} answers"), names


def _listed(data: bytes) -> list[str]:
    try:
        entries = json.loads(data).get("data", [])
        return [str(entry["id"]) for entry in entries]
    except (ValueError, AttributeError, KeyError, TypeError):
        return []


def _window(endpoint: Endpoint, place: Place, *, ask: bool) -> Check:
    info = inspection.describe(endpoint, place.config, inspection.Report())
    if ask and not (endpoint.window or place.config.window):
        info = _asked(endpoint, place) or info
    by_person = endpoint.kind == "offline" and not place.config.window
    source = _OFFLINE_SOURCE if by_person else _SOURCES.get(info.window_source, info.window_source)
    seen = f"{info.window:,} tokens, {source}"
    if endpoint.kind == "anthropic" and info.window_source == "table":
        seen += " (the first turn asks the Models API)"
    return Check("window", "warning" if info.warning else "ok", seen, info.warning or "")


def _asked(endpoint: Endpoint, place: Place) -> ModelInfo | None:
    """What the server itself says; on a thread of its own, since a kernel's loop runs already."""
    found: list[ModelInfo] = []

    async def ask() -> None:
        client = ModelClient(place.config, clock=SystemClock(), environ=place.environ)
        try:
            found.append(await asyncio.wait_for(client.info(endpoint.id), ASK_S))
        finally:
            await client.aclose()

    _on_a_thread(lambda: asyncio.run(ask()))
    return found[0] if found else None


def _on_a_thread(work: Callable[[], Any]) -> None:
    def quietly() -> None:
        try:
            work()
        except Exception:  # noqa: BLE001 - not told is an answer: the table or the default then stands in the row
            return

    thread = threading.Thread(target=quietly, name="memflush-doctor", daemon=True)
    thread.start()
    thread.join(ASK_S + 2)


def encodings(place: Place) -> list[Check]:
    """Whether tokens are counted or guessed, and what was learned for the model."""
    try:
        encoding.load()
    except Exception as error:  # noqa: BLE001 - whatever it is, counting goes on by bytes
        return [Check("encodings", "warning", "tokens are estimated from bytes", f"{error} Reinstall memflush-jupyter to count them.")]
    chosen = place.model or endpoints.default_model(place.config, place.environ)
    learned = folder.setting(place, f"factor:{endpoints.canonical(chosen)}")
    if endpoints.canonical(chosen) == endpoints.OFFLINE:
        return [Check("encodings", "ok", "cl100k, exact for the offline model")]
    factor = f"× {float(learned):.2f}, learned from this model" if learned else f"× {UNMEASURED_FACTOR:g} until this model was measured"
    return [Check("encodings", "ok", f"cl100k {factor}")]
