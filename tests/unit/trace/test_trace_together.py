"""Several writes as one transaction: an effect and the event that tells of it, or neither (P4)."""

from __future__ import annotations

import threading

import pytest

from memflush_jupyter.clock import FixedClock
from memflush_jupyter.errors import TraceError
from memflush_jupyter.trace.store import TraceStore


@pytest.fixture
def store(tmp_path):
    opened = TraceStore.open(tmp_path / "store.sqlite3", clock=FixedClock("2026-01-15T09:00", "UTC"))
    yield opened
    opened.close()


def test_all_of_it_is_kept_or_none_of_it(store, tmp_path):
    trace = store.create_trace(identity="i").id
    other = TraceStore.open(tmp_path / "store.sqlite3", clock=FixedClock("2026-01-15T09:00", "UTC"))
    with store.together():
        store.log(trace, "extraction", {"n": 1})
        store.set_setting("a", "1")
        assert store.get_setting("a") == "1"
        assert other.get_setting("a") is None
    assert (other.get_setting("a"), len(other.events(trace))) == ("1", 1)
    with pytest.raises(ValueError, match="stop"), store.together():  # noqa: PT012 - the block is what is tested
        store.log(trace, "extraction", {"n": 2})
        store.set_setting("a", "2")
        raise ValueError("stop")
    assert (store.get_setting("a"), len(store.events(trace))) == ("1", 1)
    other.close()


def test_a_part_that_fails_is_undone_alone(store):
    trace = store.create_trace(identity="i").id
    with store.together():
        store.set_setting("a", "1")
        with pytest.raises(TraceError):
            store.log("no such trace", "extraction", {})
        with pytest.raises(ValueError, match="stop"), store.together():  # noqa: PT012 - the block is what is tested
            store.set_setting("a", "2")
            raise ValueError("stop")
        store.log(trace, "extraction", {})
    assert (store.get_setting("a"), len(store.events(trace))) == ("1", 1)
    store.set_setting("a", "3")
    assert store.get_setting("a") == "3"


def test_another_thread_waits_and_does_not_join(store):
    store.set_setting("a", "0")
    began, seen = threading.Event(), []

    def writes():
        began.wait(5)
        store.set_setting("a", "theirs")
        seen.append(store.get_setting("a"))

    thread = threading.Thread(target=writes)
    thread.start()
    with pytest.raises(ValueError, match="stop"), store.together():  # noqa: PT012 - the block is what is tested
        store.set_setting("a", "ours")
        began.set()
        raise ValueError("stop")
    thread.join(5)
    assert (seen, store.get_setting("a")) == (["theirs"], "theirs")
