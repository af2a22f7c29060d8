"""Retries are capped, honour the server's wish up to the cap, and never repeat what cannot pass."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memflush_jupyter.errors import ModelError
from memflush_jupyter.models.retries import may_retry, retry_after_seconds, wait_seconds

NOW = datetime(2026, 1, 15, 9, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("kind", "status", "expected"),
    [
        ("overloaded", 529, True),
        ("overloaded", 500, True),
        ("overloaded", 200, True),
        ("rate_limited", 429, True),
        ("no_network", None, True),
        ("timeout", 504, True),
        ("timeout", None, False),
        ("invalid", 400, False),
        ("bad_key", 401, False),
        ("bad_key", 403, False),
        ("unknown_model", 404, False),
        ("overflow", 413, False),
        ("overflow", 400, False),
        ("no_credit", 402, False),
        ("other", 200, False),
    ],
)
def test_only_what_may_pass_by_itself_is_tried_again(kind: str, status: int | None, expected: bool) -> None:
    assert may_retry(ModelError("x", kind=kind, status=status), 1, max_retries=4) is expected


def test_tries_are_capped() -> None:
    error = ModelError("x", kind="overloaded", status=529)
    assert [may_retry(error, attempt, max_retries=2) for attempt in (1, 2, 3)] == [True, True, False]
    assert not may_retry(error, 1, max_retries=0)


def test_pauses_double_up_to_eight_seconds() -> None:
    assert [wait_seconds(attempt, None, cap=30.0) for attempt in range(1, 8)] == [0.5, 1.0, 2.0, 4.0, 8.0, 8.0, 8.0]
    assert wait_seconds(10_000, None, cap=30.0) == 8.0


@pytest.mark.parametrize(("asked", "cap", "expected"), [(3.0, 30.0, 3.0), (3600.0, 30.0, 30.0), (0.0, 30.0, 0.0), (-5.0, 30.0, 0.0), (None, 0.1, 0.1)])
def test_wish_of_the_server_is_honoured_up_to_the_cap(asked: float | None, cap: float, expected: float) -> None:
    """The SDK would sleep the hour that a server asks for."""
    assert wait_seconds(1, asked, cap=cap) == expected


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250"}, 0.25),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after-ms": "x", "retry-after": "7"}, 7.0),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "Thu, 15 Jan 2026 09:00:20 GMT"}, 20.0),
        ({"retry-after": "Thu, 15 Jan 2026 08:00:00 GMT"}, 0.0),
    ],
)
def test_retry_after_is_read_in_all_its_forms(headers: dict[str, str], expected: float | None) -> None:
    assert retry_after_seconds(headers, NOW) == expected


@pytest.mark.parametrize("value", ["nan", "inf"])
def test_retry_after_that_is_no_number_of_seconds_is_harmless(value: str) -> None:
    found = retry_after_seconds({"retry-after": value}, NOW)
    assert 0.0 <= wait_seconds(1, found, cap=30.0) <= 30.0
