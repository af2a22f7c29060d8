"""P3: what was there before a change can be had back."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from memflush_jupyter.clock import FixedClock
from memflush_jupyter.errors import MemoryFileError
from memflush_jupyter.memory.history import Entry, History

NOW = datetime(2026, 11, 30, 9, tzinfo=UTC)


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History(tmp_path / "history", clock=FixedClock(NOW))


def test_entries_are_numbered_and_listed_newest_first(history: History) -> None:
    """P3."""
    first = history.save("a.md", b"1", "edit")
    second = history.save("topics/b.md", None, "dream")
    assert first == Entry("h000001", "a.md", NOW, "edit", True)
    assert second == Entry("h000002", "topics/b.md", NOW, "dream", False)
    assert history.entries() == [second, first]
    assert history.entries("a.md") == [first]
    assert history.entries("none.md") == []
    assert (history.read("h000001"), history.read("h000002")) == (b"1", b"")


def test_an_empty_history_has_no_entries(history: History) -> None:
    """P3."""
    assert history.entries() == []
    assert history.rewrite(lambda name, data: b"") == []


@pytest.mark.parametrize("name", ["h000009", "../a", "h1", "unfinished", ""])
def test_what_is_no_entry_is_not_read(history: History, name: str) -> None:
    """C3."""
    history.save("a.md", b"1", "edit")
    with pytest.raises(MemoryFileError, match=r"^There is no entry .* in the history of the memory files\.$"):
        history.read(name)


def test_numbers_go_on_past_a_million_and_past_what_a_kill_left(history: History, tmp_path: Path) -> None:
    """P4."""
    (tmp_path / "history" / "h999999").mkdir(parents=True)
    (tmp_path / "history" / "unfinished").mkdir()
    (tmp_path / "history" / "unfinished" / "data").write_bytes(b"half")
    assert history.save("a.md", b"1", "edit").id == "h1000000"
    assert history.save("a.md", b"2", "edit").id == "h1000001"
    assert [entry.id for entry in history.entries()] == ["h1000001", "h1000000"]
    assert not (tmp_path / "history" / "unfinished").exists()


def test_a_damaged_entry_is_left_out(history: History, tmp_path: Path) -> None:
    """P4."""
    history.save("a.md", b"1", "edit")
    history.save("a.md", b"2", "edit")
    (tmp_path / "history" / "h000001" / "meta.json").write_text("{")
    assert [entry.id for entry in history.entries()] == ["h000002"]


def test_rewriting_touches_only_what_changes(history: History, tmp_path: Path) -> None:
    """G9."""
    history.save("a.md", b"keep secret", "edit")
    history.save("b.md", b"keep", "edit")
    assert history.rewrite(lambda name, data: data.replace(b" secret", b"") if name == "a.md" else data) == ["h000001"]
    assert history.read("h000001") == b"keep"
    assert sorted(path.name for path in (tmp_path / "history").iterdir()) == ["h000001", "h000002"]


def test_a_history_that_cannot_be_kept_stops_the_change(tmp_path: Path) -> None:
    """P3: no change without a preimage."""
    (tmp_path / "history").write_text("a file")
    with pytest.raises(MemoryFileError, match=r"^The history of memory/a\.md cannot be kept \(.+\), so the file was not changed\.$"):
        History(tmp_path / "history", clock=FixedClock(NOW)).save("a.md", b"1", "edit")
