"""What a request costs, from a dated table.

The table holds Anthropic's public list prices in US dollars per million tokens as published on
``https://www.anthropic.com/pricing`` (API section) in November 2025, for prompts of the standard length class and cache
writes with the five-minute lifetime. Prices change: an endpoint's ``price`` option overrides the table, and a model that is
not in it has no known cost rather than a guessed one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memflush_jupyter.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memflush_jupyter.trace.models import Usage

PRICES_AS_OF = "2025-11-30"
"""The day the table was last checked, for ``%budget`` and the documentation."""

_MILLION = 1_000_000
_WRITE_FACTOR = 1.25
_READ_FACTOR = 0.1


@dataclass(frozen=True)
class Price:
    """US dollars per million tokens."""

    input: float
    output: float
    cache_read: float
    cache_write: float


def _list_price(per_input: float, per_output: float) -> Price:
    # Cache reads cost a tenth and five-minute writes 1.25 times the input price throughout the list.
    return Price(per_input, per_output, round(per_input * _READ_FACTOR, 4), round(per_input * _WRITE_FACTOR, 4))


# Longest prefix wins, so that a new minor version is priced like its family only when the list says so.
_TABLE: dict[str, Price] = {
    "claude-opus-4-5": _list_price(5.0, 25.0),
    "claude-opus-4-1": _list_price(15.0, 75.0),
    "claude-opus-4-0": _list_price(15.0, 75.0),
    "claude-opus-4-2025": _list_price(15.0, 75.0),
    "claude-3-opus": _list_price(15.0, 75.0),
    "claude-sonnet-4-5": _list_price(3.0, 15.0),
    "claude-sonnet-4-0": _list_price(3.0, 15.0),
    "claude-sonnet-4-2025": _list_price(3.0, 15.0),
    "claude-3-7-sonnet": _list_price(3.0, 15.0),
    "claude-3-5-sonnet": _list_price(3.0, 15.0),
    "claude-haiku-4-5": _list_price(1.0, 5.0),
    "claude-3-5-haiku": _list_price(0.8, 4.0),
    "claude-3-haiku": Price(0.25, 1.25, 0.03, 0.3),
}


def known_price(model: str) -> Price | None:
    """Return the list price of a model id (with or without ``anthropic/``), or ``None`` when the table has none."""
    prefix, slash, rest = model.partition("/")
    if slash and prefix != "anthropic":
        return None
    name = rest if slash else model
    matches = [key for key in _TABLE if name == key or name.startswith((key + "-", key + "@")) or (key.endswith("-2025") and name.startswith(key))]
    return _TABLE[max(matches, key=len)] if matches else None


def price_from_config(value: Mapping[str, Any]) -> Price:
    """Read an endpoint's ``price``: ``{"input": 3, "output": 15}`` and, when they differ from the usual factors, ``cache_read`` and ``cache_write``.

    Raises:
        ConfigError: a number is missing, negative or not a number.
    """
    unknown = set(value) - {"input", "output", "cache_read", "cache_write"}
    if unknown or not {"input", "output"} <= set(value):
        raise ConfigError("A price needs 'input' and 'output' and may have 'cache_read' and 'cache_write', in US dollars per million tokens.")
    numbers: dict[str, float] = {}
    for name, amount in value.items():
        if isinstance(amount, bool) or not isinstance(amount, int | float) or amount < 0:
            raise ConfigError(f"The price {name!r} must be a number of US dollars per million tokens, not {amount!r}.")
        numbers[name] = float(amount)
    usual = _list_price(numbers["input"], numbers["output"])
    return Price(usual.input, usual.output, numbers.get("cache_read", usual.cache_read), numbers.get("cache_write", usual.cache_write))


def cost(usage: Usage, model: str, price: Price | None = None) -> float | None:
    """Return what ``usage`` cost in US dollars, by ``price`` if given, else by the table; ``None`` when no price is known."""
    rate = price or known_price(model)
    if rate is None:
        return None
    dollars = usage.input * rate.input + usage.output * rate.output + usage.cache_read * rate.cache_read + usage.cache_write * rate.cache_write
    return dollars / _MILLION
