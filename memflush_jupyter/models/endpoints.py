"""Which server answers for a model id, and with which key: worked out from config and environment alone.

Ids are ``anthropic/NAME``, ``local/NAME`` and ``offline/analyst``; a bare ``claude-…`` is Claude. An entry of the option
``endpoints`` may describe any id, so that Claude and a local flush model work side by side. Keys are only ever named: an
endpoint holds the name of the environment variable, and the client reads it when it connects.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from memflush_jupyter.errors import ConfigError, ModelError
from memflush_jupyter.models.pricing import Price, known_price, price_from_config

if TYPE_CHECKING:
    from memflush_jupyter.config import MemFlush

OFFLINE = "offline/analyst"
ANTHROPIC_URL = "https://api.anthropic.com"
UNNAMED = "default"
"""Model name sent to a server that was given by ``base_url`` alone; llama.cpp ignores it."""

_OPTIONS = frozenset({"base_url", "api_key_env", "model", "window", "max_output", "price", "vision", "text_calls", "cache"})
_SECRET_OPTIONS = frozenset({"api_key", "key", "token", "auth_token", "password", "secret"})
_ENV_NAME = re.compile(r"^[A-Za-z_][A-Za-z0-9_]*$")


@dataclass(frozen=True)
class Endpoint:
    """Where requests for one model id go.

    ``wire_model`` is the name the server knows. ``window`` and ``max_output`` (tokens) are set only when the person set
    them. ``text_calls``: tool calls written as text are understood (C7). ``cache``: prompt-cache breakpoints are sent.
    """

    id: str
    kind: Literal["anthropic", "local", "offline"]
    base_url: str
    wire_model: str
    key_env: str | None = None
    window: int | None = None
    max_output: int | None = None
    price: Price | None = None
    vision: bool | None = None
    text_calls: bool = False
    cache: bool = True


def default_model(config: MemFlush, environ: Mapping[str, str]) -> str:
    """Return the model id of a turn that names none: the option, else Claude when its key is set, else a local server, else offline."""
    if config.model:
        return canonical(config.model)
    if environ.get(config.api_key_env, "").strip():
        return canonical(config.default_claude)
    for name in config.endpoints:
        return canonical(str(name))
    return f"local/{UNNAMED}" if config.base_url else OFFLINE


def canonical(model: str) -> str:
    """Return the full id: ``claude-…`` without a prefix is Anthropic's, ``offline`` alone is the offline analyst."""
    model = model.strip()
    if model == "offline":
        return OFFLINE
    return f"anthropic/{model}" if "/" not in model and model.startswith("claude") else model


def resolve(model: str, config: MemFlush, environ: Mapping[str, str], *, key_needed: bool = True) -> Endpoint:
    """Return the endpoint of a model id.

    Raises:
        ModelError: no such id (``unknown_model``), or its key is not set (``no_key``; not when ``key_needed`` is false).
        ConfigError: the entry in ``endpoints`` cannot be used.
    """
    model = canonical(model)
    provider, _, name = model.partition("/")
    entry = _entry(model, config)
    if provider == "offline":
        if model != OFFLINE:
            raise ModelError(f"The only offline model is {OFFLINE!r}; {model!r} does not exist.", kind="unknown_model")
        return Endpoint(
            OFFLINE,
            "offline",
            "http://offline.invalid",
            "analyst",
            window=_whole(entry, "window", model) or config.window or config.offline_window,
            vision=False,
        )
    if provider == "anthropic" and name:
        return _anthropic(model, name, entry, config, environ, key_needed=key_needed)
    if name and (entry or provider == "local"):
        return _local(model, name, entry, config, environ, key_needed=key_needed)
    raise ModelError(
        f"{model!r} is not a model id. Use 'anthropic/NAME', 'local/NAME' (with c.MemFlush.base_url or an entry in c.MemFlush.endpoints) or {OFFLINE!r}.",
        kind="unknown_model",
    )


def _anthropic(model: str, name: str, entry: Mapping[str, Any], config: MemFlush, environ: Mapping[str, str], *, key_needed: bool) -> Endpoint:
    key_env = _key_env(entry, model) or config.api_key_env
    if key_needed and not environ.get(key_env, "").strip():
        raise ModelError(
            f"There is no key for {model}: the environment variable {key_env} is not set. Set it before Jupyter starts (never write a key in a "
            f"notebook), or use the built-in model with %agent model {OFFLINE}.",
            kind="no_key",
        )
    base_url = normal_url(str(entry.get("base_url") or environ.get("ANTHROPIC_BASE_URL") or ANTHROPIC_URL))
    return _endpoint(model, "anthropic", base_url, str(entry.get("model") or name), key_env, entry)


def _local(model: str, name: str, entry: Mapping[str, Any], config: MemFlush, environ: Mapping[str, str], *, key_needed: bool) -> Endpoint:
    base_url = str(entry.get("base_url") or config.base_url)
    if not base_url:
        raise ModelError(
            f"No server is known for {model}. Set c.MemFlush.base_url = 'http://127.0.0.1:8080', or an entry with 'base_url' in c.MemFlush.endpoints.",
            kind="unknown_model",
        )
    key_env = _key_env(entry, model)
    if key_needed and key_env and not environ.get(key_env, "").strip():
        raise ModelError(f"There is no key for {model}: the environment variable {key_env}, named in c.MemFlush.endpoints, is not set.", kind="no_key")
    return _endpoint(model, "local", normal_url(base_url), str(entry.get("model") or name), key_env, entry)


def _endpoint(model: str, kind: Literal["anthropic", "local"], base_url: str, wire_model: str, key_env: str | None, entry: Mapping[str, Any]) -> Endpoint:
    price = entry.get("price")
    vision = entry.get("vision")
    return Endpoint(
        model,
        kind,
        base_url,
        wire_model,
        key_env,
        window=_whole(entry, "window", model),
        max_output=_whole(entry, "max_output", model),
        price=price_from_config(price) if isinstance(price, Mapping) else known_price(wire_model) if kind == "anthropic" else None,
        vision=None if vision is None else bool(vision),
        text_calls=bool(entry.get("text_calls", kind == "local")),
        cache=bool(entry.get("cache", True)),
    )


def _entry(model: str, config: MemFlush) -> Mapping[str, Any]:
    entry = config.endpoints.get(model, {})
    if not entry and model.startswith("anthropic/"):
        entry = config.endpoints.get(model.removeprefix("anthropic/"), {})
    if not isinstance(entry, Mapping):
        raise ConfigError(f"The entry of {model!r} in c.MemFlush.endpoints must be a dictionary such as {{'base_url': 'http://127.0.0.1:8080'}}.")
    secret = _SECRET_OPTIONS & set(entry)
    if secret:
        raise ConfigError(
            f"The entry of {model!r} in c.MemFlush.endpoints holds a secret ({min(secret)}). Name its environment variable as 'api_key_env' instead."
        )
    unknown = set(entry) - _OPTIONS
    if unknown:
        raise ConfigError(f"The entry of {model!r} in c.MemFlush.endpoints has an unknown option {min(unknown)!r}; known are {', '.join(sorted(_OPTIONS))}.")
    return entry


def _key_env(entry: Mapping[str, Any], model: str) -> str | None:
    name = entry.get("api_key_env")
    if name is None:
        return None
    if not isinstance(name, str) or not _ENV_NAME.match(name):
        # The value is not repeated: somebody may have put the key itself here.
        raise ConfigError(f"'api_key_env' of {model!r} in c.MemFlush.endpoints must be the name of an environment variable, such as 'MY_KEY'.")
    return name


def _whole(entry: Mapping[str, Any], option: str, model: str) -> int | None:
    value = entry.get(option)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
        raise ConfigError(f"{option!r} of {model!r} in c.MemFlush.endpoints must be a number of tokens above 0, not {value!r}.")
    return value


def normal_url(url: str) -> str:
    """Return the server's root: a scheme is added, a trailing ``/``, ``/v1`` or ``/v1/messages`` is taken off.

    Raises:
        ConfigError: the text is not the address of an HTTP server, or it holds a password.
    """
    url = url.strip()
    if "://" not in url:
        url = f"http://{url}"
    url = re.sub(r"/+(?:v1(?:/messages)?)?/*$", "", url)
    if not re.match(r"^https?://[^\s/@]+(?:/[^\s@]*)?$", url):
        raise ConfigError("base_url must be the address of a server, such as 'http://127.0.0.1:8080', without a name or password in it.")
    return url


def is_loopback(url: str) -> bool:
    """Whether a server's address is on this machine."""
    host = urlsplit(url).hostname or ""
    return host == "localhost" or host.startswith("127.") or host == "::1"
