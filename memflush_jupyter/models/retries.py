"""When a failed request is tried again, and after how long. Pure; the client does the waiting, so that it shows and can be interrupted."""

from __future__ import annotations

from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from memflush_jupyter.errors import ModelError

RETRIED_KINDS = frozenset({"overloaded", "rate_limited", "timeout", "no_network"})
"""Kinds that may pass by themselves. Overflow, wrong keys, unknown models, credit and refused requests never do; nor does a
server that was silent for the whole allowed time (``timeout`` without a status): that wait is long enough once."""

NEVER_RETRIED = frozenset({400, 401, 402, 403, 404, 413, 422})

_FIRST_WAIT_S = 0.5
_GROWTH = 2.0
_LONGEST_UNASKED_S = 8.0


def may_retry(error: ModelError, attempt: int, *, max_retries: int) -> bool:
    """Tell whether try number ``attempt`` (from 1), which ended in ``error``, is followed by another."""
    silent = error.kind == "timeout" and error.status is None
    return attempt <= max_retries and error.kind in RETRIED_KINDS and error.status not in NEVER_RETRIED and not silent


def wait_seconds(attempt: int, retry_after: float | None, *, cap: float) -> float:
    """Return the pause after try number ``attempt``, in seconds.

    What the server asks for (``retry_after``) is honoured up to ``cap``; otherwise the pause doubles from half a second, to 8 s.
    There is no random part: one notebook is one client, and equal runs stay equal (P9).
    """
    wanted = min(_FIRST_WAIT_S * _GROWTH ** min(attempt - 1, 16), _LONGEST_UNASKED_S) if retry_after is None else retry_after
    return max(0.0, min(wanted, cap))


def retry_after_seconds(headers: Mapping[str, str], now: datetime) -> float | None:
    """Read ``retry-after-ms`` or ``retry-after`` (seconds or an HTTP date); ``None`` when absent or unreadable."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name, "")
        try:
            seconds = float(value) * unit
        except ValueError:
            continue
        return seconds if seconds >= 0 else None
    try:
        moment = parsedate_to_datetime(headers.get("retry-after", ""))
    except (TypeError, ValueError):
        return None
    return None if moment.tzinfo is None else max(0.0, (moment - now).total_seconds())
