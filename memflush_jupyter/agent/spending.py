"""What was spent, and what may still be: the limits ``max_turn_tokens`` and ``max_cost_usd``, decided before each request and after it.

A limit holds for all that is asked on the person's behalf: turns, flushes, summaries and background work. Decisions are pure; counts are
kept here, guarded by a lock because the kernel's loop and the background thread spend from one purse.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from memflush_jupyter.models import pricing

if TYPE_CHECKING:
    from memflush_jupyter.config import MemFlush
    from memflush_jupyter.models.client import ModelInfo
    from memflush_jupyter.models.pricing import Price
    from memflush_jupyter.trace.models import Usage

MIN_AFFORDED = 256
"""A reply of fewer tokens is not worth its request: then the limit is reached before it."""
_CENTS = 0.1
_MILLION = 1_000_000


@dataclass(slots=True)
class Spending:
    """US dollars and tokens spent by this kernel; ``usd`` stays ``None`` while no price was known."""

    usd: float | None = None
    tokens: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    def add(self, usage: Usage, info: ModelInfo) -> None:
        """Count one exchange."""
        price = pricing.cost(usage, info.id, info.price)
        with self._lock:
            self.tokens += usage.total
            if price is not None:
                self.usd = (self.usd or 0.0) + price


@dataclass(slots=True)
class Meter:
    """Tokens that one turn has used so far, its flushes and summaries included."""

    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Need:
    """A request that is about to be sent: what it most likely holds, in tokens, and the share of it that the provider's cache may serve."""

    tokens: int = 0
    cached: float = 0.0


def turn_limit(config: MemFlush, meter: Meter, need: Need) -> str | None:
    """Why this turn may send no further request, or ``None``: ``max_turn_tokens`` is used up, or would be before a reply is worth its request."""
    limit = config.max_turn_tokens
    if limit is None or _turn_left(limit, meter, need) >= MIN_AFFORDED:
        return None
    used = f"this turn used {meter.tokens:,} tokens"
    if meter.tokens < limit:
        used += f" and the next request holds about {need.tokens:,} more"
    return f"Stopped at a limit: {used}; max_turn_tokens is {limit:,}. {_raise('max_turn_tokens', str(max(limit, meter.tokens + need.tokens) * 2))}"


def cost_limit(config: MemFlush, spending: Spending, info: ModelInfo, need: Need) -> str | None:
    """Why this kernel may send no further request to a model, or ``None``: ``max_cost_usd`` is spent, would be, or cannot be watched."""
    limit = config.max_cost_usd
    if limit is None or info.offline:
        return None
    price = _price(info)
    if price is None:
        if info.nearby:
            return None
        return (
            f"Nothing was sent: max_cost_usd is {_money(limit)}, and the price of {info.id} is not known, so the limit could not be kept. Give the price in "
            "`MemFlush.endpoints` (as 'price': {'input': 3, 'output': 15}, dollars per million tokens), or take the limit off with "
            "`%config MemFlush.max_cost_usd = None`."
        )
    spent, sent = spending.usd or 0.0, _sent(price, need)
    if limit > 0 and limit - spent - sent >= MIN_AFFORDED * price.output / _MILLION:
        return None
    used = f"{_money(spent)} are spent in this kernel"
    if spent < limit:
        used += f" and the next request costs about {_money(sent)} before its answer"
    return f"Stopped at a limit: {used}; max_cost_usd is {_money(limit)}. {_raise('max_cost_usd', f'{max(limit, spent + sent, 0.01) * 2:.2g}')}"


def turn_cap(config: MemFlush, meter: Meter, need: Need) -> int | None:
    """The longest reply, in tokens, with which the turn most likely stays within ``max_turn_tokens``; ``None``: any."""
    return None if config.max_turn_tokens is None else _turn_left(config.max_turn_tokens, meter, need)


def cost_cap(config: MemFlush, spending: Spending, info: ModelInfo, need: Need) -> int | None:
    """The longest reply, in tokens, with which the kernel most likely stays within ``max_cost_usd``; ``None``: any."""
    price = _price(info)
    if config.max_cost_usd is None or price is None or info.offline or not price.output:
        return None
    return int((config.max_cost_usd - (spending.usd or 0.0) - _sent(price, need)) / price.output * _MILLION)


def _turn_left(limit: int, meter: Meter, need: Need) -> int:
    return limit - meter.tokens - need.tokens


def _sent(price: Price, need: Need) -> float:
    """What a request costs before its answer, most likely: what the cache does not serve is written to it."""
    return need.tokens * (need.cached * price.cache_read + (1 - need.cached) * max(price.input, price.cache_write)) / _MILLION


def cut_short(config: MemFlush) -> str:
    """The sentence for a reply that was cut because no more of it was allowed."""
    limits = [
        f"{name} is {value}"
        for name, value in (
            ("max_turn_tokens", None if config.max_turn_tokens is None else f"{config.max_turn_tokens:,}"),
            ("max_cost_usd", None if config.max_cost_usd is None else _money(config.max_cost_usd)),
        )
        if value is not None
    ]
    name = "max_cost_usd" if config.max_turn_tokens is None else "max_turn_tokens"
    return f"Stopped at a limit: the answer was cut where what is left of it ends ({' and '.join(limits)}). {_raise(name, '…')}"


def _price(info: ModelInfo) -> Price | None:
    return info.price or pricing.known_price(info.id)


def _raise(name: str, value: str) -> str:
    return (
        f"The conversation is kept: raise the limit with `%config MemFlush.{name} = {value}`, or for one turn with `--set`, and go on in another %%agent cell."
    )


def _money(amount: float) -> str:
    return f"${amount:.2f}" if amount >= _CENTS or amount == 0 else f"${amount:.4f}"
