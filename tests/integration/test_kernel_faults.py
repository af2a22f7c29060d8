"""Things that go wrong around a running kernel: one sentence, no traceback, and the kernel goes on (P4, P10, G4)."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import subprocess
import sys

import pytest

from memflush_jupyter.testing.kernels import start_kernel

pytestmark = [pytest.mark.kernel, pytest.mark.skipif(sys.platform == "win32", reason="POSIX file modes and mounts")]

CELL = "%%agent\nRemember: the lake survey was made in 2007 with 41 stations."
LOAD = "%load_ext memflush_jupyter\n%config MemFlush.approve = 'auto'"


@pytest.fixture(scope="module")
def environment():
    return {name: value for name, value in os.environ.items() if not name.startswith("ANTHROPIC")}


def sentence_or_ok(run):
    """A cell that ended well, or with one sentence; returns what was said."""
    errors = [output for output in run.outputs if output["kind"] == "error"]
    assert len(errors) <= 1
    for error in errors:
        assert len(error["traceback"]) == 1, error["traceback"]
        assert "File " not in error["traceback"][0]
        assert "Traceback" not in error["traceback"][0]
    assert not any("Traceback" in output.get("text", "") for output in run.outputs), run.text
    return errors[0]["traceback"][0] if errors else run.text


def test_a_store_that_another_program_locks(tmp_path, environment):
    with start_kernel(tmp_path, env=environment) as kernel:
        kernel.run(LOAD)
        assert kernel.run(CELL).status == "ok"
        with sqlite3.connect(tmp_path / "memory/.memflush/store.sqlite3", isolation_level=None) as other:
            other.execute("BEGIN EXCLUSIVE")
            run = kernel.run("%%agent\nWhat can you do?", timeout_s=120)
            said = sentence_or_ok(run)
            assert run.status == "error"
            assert "store" in said
            other.execute("ROLLBACK")
        after = kernel.run("%%agent\nWhat can you do?")
        assert after.status == "ok", after.text
        assert kernel.run("print('mine')").text == "mine"


@pytest.mark.parametrize("damage", [b"this is no database at all\n" * 200, b""])
def test_a_store_that_is_no_database(tmp_path, environment, damage):
    private = tmp_path / "memory/.memflush"
    private.mkdir(parents=True)
    (private / "store.sqlite3").write_bytes(damage)
    with start_kernel(tmp_path, env=environment) as kernel:
        kernel.run(LOAD)
        run = kernel.run(CELL)
        said = sentence_or_ok(run)
        if damage:
            assert run.status == "error"
            assert "store.sqlite3" in said
            assert (private / "store.sqlite3").read_bytes() == damage
        else:
            assert run.status == "ok"
        sentence_or_ok(kernel.run("%agent status"))
        sentence_or_ok(kernel.run("%memory list"))
        assert kernel.run("print('mine')").text == "mine"


def test_a_store_that_is_damaged_under_way(tmp_path, environment):
    with start_kernel(tmp_path, env=environment) as kernel:
        kernel.run(LOAD)
        kernel.run(CELL)
        store = tmp_path / "memory/.memflush/store.sqlite3"
        for path in store.parent.glob("store.sqlite3*"):
            path.write_bytes(b"\xff" * max(path.stat().st_size, 8192))
        for line in ("%%agent\nWhat can you do?", "%agent list", "%memory search lake", "%agent flush"):
            sentence_or_ok(kernel.run(line))
        assert kernel.run("print('mine')").text == "mine"


def test_a_memory_folder_removed_under_way(tmp_path, environment):
    with start_kernel(tmp_path, env=environment) as kernel:
        kernel.run(LOAD)
        kernel.run(CELL)
        shutil.rmtree(tmp_path / "memory")
        for line in ("%%agent\nWhat can you do?", "%memory list", "%memory show", "%agent flush", "%budget", "%%memory MEMORY.md\nx", CELL):
            sentence_or_ok(kernel.run(line))
        assert kernel.run("print('mine')").text == "mine"
        kernel.restart()
        kernel.run(LOAD)
        assert kernel.run(CELL).status == "ok"


def test_a_memory_folder_that_is_a_file(tmp_path, environment):
    (tmp_path / "memory").write_text("a file")
    with start_kernel(tmp_path, env=environment) as kernel:
        kernel.run(LOAD)
        for line in (CELL, "%memory list", "%agent list"):
            run = kernel.run(line)
            sentence_or_ok(run)
        assert (tmp_path / "memory").read_text() == "a file"


def _mount(folder, size):
    return subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], check=False, capture_output=True).returncode == 0


@pytest.fixture
def tiny_disk(tmp_path):
    folder = tmp_path / "disk"
    folder.mkdir()
    if not _mount(folder, "12m"):
        pytest.skip("Mounting a small disk needs root.")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=False)


def test_a_disk_that_is_full(tiny_disk, environment):
    with start_kernel(tiny_disk, env=environment) as kernel:
        kernel.run(LOAD)
        assert kernel.run(CELL).status == "ok"
        before = {path.name: path.read_bytes() for path in (tiny_disk / "memory").glob("*.md")}
        with (tiny_disk / "ballast").open("wb") as ballast, contextlib.suppress(OSError):
            while True:
                os.write(ballast.fileno(), b"\0" * 4096)
        large = f"%%agent\n{'a long prompt about nothing. ' * 900}"
        lines = [large, large, CELL, "%agent flush", f"%%memory MEMORY.md\n{'y' * 9000}", "%agent export t.md"]
        runs = [kernel.run(line, timeout_s=120) for line in lines]
        assert any("disk" in sentence_or_ok(run).lower() or "space" in sentence_or_ok(run).lower() for run in runs), [run.text for run in runs]
        assert kernel.run("print('mine')").text == "mine"
        assert all((tiny_disk / "memory" / name).read_bytes().startswith(data) for name, data in before.items())
        (tiny_disk / "ballast").unlink()
        after = kernel.run("%%agent\nWhat can you do?")
        assert after.status == "ok", after.text


def test_a_disk_that_is_read_only(tiny_disk, environment):
    """G4: it works, says what does not, and nothing is kept."""
    (tiny_disk / "memory").mkdir()
    (tiny_disk / "memory/MEMORY.md").write_text("- The boat is called Wilhelmina.\n")
    subprocess.run(["mount", "-o", "remount,ro", str(tiny_disk)], check=True)
    with start_kernel(tiny_disk, env=environment) as kernel:
        kernel.run(LOAD)
        run = kernel.run(CELL)
        assert run.status == "ok", run.text
        assert "nothing of this session is kept" in run.text or "read-only" in run.text, run.text
        assert "Wilhelmina" in kernel.run("%memory show MEMORY.md").text
        for line in ("%agent flush", "%%memory MEMORY.md\nx", "%memory forget Wilhelmina --yes", "%agent export t.md", "%agent list"):
            sentence_or_ok(kernel.run(line))
