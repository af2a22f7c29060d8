from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from memflush_jupyter.clock import FixedClock
from memflush_jupyter.trace.store import TraceStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def clock():
    return FixedClock("2026-01-15T09:00", "Europe/Berlin")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory" / ".memflush" / "store.sqlite3"


@pytest.fixture
def store(path, clock) -> Iterator[TraceStore]:
    opened = TraceStore.open(path, clock=clock)
    yield opened
    opened.close()


@pytest.fixture
def trace(store) -> str:
    return store.create_trace(identity="me", notebook="a.ipynb", model="offline/analyst").id


@pytest.fixture
def say(store, trace):
    """Append a message of one text block and return its sequence."""

    def append(text: str, *, role="user", kind="prompt", **more) -> int:
        return store.append(more.pop("trace", trace), role=role, kind=kind, content=[{"type": "text", "text": text}], **more).sequence

    return append
