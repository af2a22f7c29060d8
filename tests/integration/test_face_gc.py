"""G9: `memflush gc` takes leftovers from the disk, says what and how much, and touches neither memory nor conversations."""

from __future__ import annotations

import os
import time
from datetime import timedelta

from click.testing import CliRunner

from memflush_jupyter.cli import main
from memflush_jupyter.clock import FixedClock, SystemClock
from memflush_jupyter.config import MemFlush
from memflush_jupyter.upkeep import collect, describe
from memflush_jupyter.workspace import Workspace


def memory(tmp_path, **options):
    return Workspace.open(MemFlush(**options), tmp_path, environ={})


def filled(tmp_path):
    """A memory with a conversation, an old and a new preimage, and what a killed kernel left."""
    space = Workspace.open(MemFlush(), tmp_path, environ={})
    kept = space.store.create_trace(identity=space.identity)
    space.store.append(kept.id, role="user", kind="prompt", content=[{"type": "text", "text": "kept " * 50}])
    gone = space.store.create_trace(identity=space.identity)
    for _ in range(40):
        space.store.append(gone.id, role="user", kind="prompt", content=[{"type": "text", "text": "gone " * 2000}])
    space.store.delete_trace(gone.id)
    space.store.set_setting(f"memory_seen:{gone.id}", "{}")
    space.store.acquire("flush:x", "nobody", stale_after_s=1)
    space.close()
    old = Workspace.open(MemFlush(), tmp_path, clock=FixedClock((SystemClock().now() - timedelta(days=200)).strftime("%Y-%m-%dT%H:%M")), environ={})
    old.store.create_trace(identity=old.identity)
    old.memory.replace("taste.md", "- one\n", base_hash=None)
    old.memory.replace("taste.md", "- two " + "x" * 5000 + "\n", base_hash=None)
    old.close()
    new = memory(tmp_path)
    new.memory.replace("taste.md", "- three\n", base_hash=None)
    new.close()
    left = tmp_path / "memory/.memflush/history/unfinished"
    left.mkdir()
    (left / "data").write_bytes(b"half")
    os.utime(left, (time.time() - 7200,) * 2)
    return kept


def test_leftovers_are_told_and_then_removed_and_the_rest_stays(tmp_path):
    """G9."""
    kept = filled(tmp_path)
    before = {path: path.read_bytes() for path in (tmp_path / "memory").glob("*.md")}
    told = CliRunner().invoke(main, ["gc", str(tmp_path), "--dry-run"])
    assert told.exit_code == 0, told.output
    assert "would remove 2 old preimages in the history" in told.output
    assert "would remove 1 half-written files, 4 bytes" in told.output
    assert "would remove 1 conversations without a message" in told.output
    assert "would remove 1 records of deleted conversations" in told.output
    assert "free pages of the store" in told.output
    space = memory(tmp_path)
    assert len(space.memory.history.entries()) == 3
    space.close()
    done = CliRunner().invoke(main, ["gc", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert done.output.count("removed ") == told.output.count("would remove ")
    assert int(done.output.split(" bytes less")[0].split("\n")[-1].replace(",", "")) > 100_000
    space = memory(tmp_path)
    assert [entry.reason for entry in space.memory.history.entries()] == ["edit"]
    assert [trace.id for trace in space.store.traces()] == [kept.id]
    assert len(space.store.path(kept.id)) == 1
    space.close()
    assert {path: path.read_bytes() for path in (tmp_path / "memory").glob("*.md")} == before
    assert CliRunner().invoke(main, ["gc", str(tmp_path)]).output == "Nothing to remove.\n"


def test_what_is_being_written_now_and_recent_history_stay(tmp_path):
    """P4."""
    space = memory(tmp_path)
    space.memory.replace("taste.md", "- one\n", base_hash=None)
    (space.memory.private / "history/unfinished").mkdir()
    report = collect(tmp_path, MemFlush(), environ={}, history_days=90)
    assert report.items == ()
    assert describe(report, dry_run=False) == "Nothing to remove."
    assert (space.memory.private / "history/unfinished").is_dir()
    assert collect(tmp_path, MemFlush(), environ={}, history_days=0).items[0].count == 1
    space.close()


def test_a_folder_without_memory_is_told_so_and_nothing_is_made(tmp_path):
    """A sentence, no traceback."""
    result = CliRunner().invoke(main, ["gc", str(tmp_path)])
    assert result.exit_code == 1
    assert "There is no memory in" in result.output
    assert list(tmp_path.iterdir()) == []
