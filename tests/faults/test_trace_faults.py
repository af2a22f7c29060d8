"""The store under kills, full disks, locks, damage and several writers (P4, B6): nothing acknowledged is lost, and every failure is a sentence."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from memflush_jupyter.clock import FixedClock
from memflush_jupyter.errors import TraceError
from memflush_jupyter.trace import ledger
from memflush_jupyter.trace.store import TraceStore

CLOCK = FixedClock("2026-01-15T09:00")

WRITER = """
import sys
from pathlib import Path
from memflush_jupyter.clock import FixedClock
from memflush_jupyter.trace.store import TraceStore
store = TraceStore.open(Path(sys.argv[1]), clock=FixedClock("2026-01-15T09:00"))
print("ready", flush=True)
for number in range(int(sys.argv[4])):
    sequence = store.append(sys.argv[2], role="user", kind="prompt", content=[{"type": "text", "text": f"{sys.argv[3]} number{number}"}]).sequence
    print(sequence, number, flush=True)
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "store.sqlite3"


@pytest.fixture
def store(path):
    opened = TraceStore.open(path, clock=CLOCK, busy_timeout_s=0.1)
    yield opened
    opened.close()


def say(store, trace, text):
    return store.append(trace, role="user", kind="prompt", content=[{"type": "text", "text": text}]).sequence


def writer(path, trace, name, count) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", WRITER, str(path), trace, name, str(count)], stdout=subprocess.PIPE, text=True)


def assert_whole(store, trace) -> None:
    """The tree, the index and the file agree with each other."""
    raw = sqlite3.connect(store._database.path)
    assert raw.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    raw.execute("INSERT INTO search_index (search_index) VALUES ('integrity-check')")
    count, last = raw.execute("SELECT count(*), max(sequence) FROM messages WHERE trace = ?", (trace,)).fetchone()
    indexed = raw.execute("SELECT count(*) FROM search_index").fetchone()[0]
    raw.close()
    assert store.trace(trace).last_sequence == (last or 0) == count
    assert indexed == count


def test_kill_at_any_moment_loses_no_acknowledged_message(path):
    """P4: what append returned is there, whatever happens to the process after."""
    store = TraceStore.open(path, clock=CLOCK)
    trace = store.create_trace(identity="me").id
    told: dict[int, str] = {}
    for round_number in range(3):
        process = writer(path, trace, f"round{round_number}", 100_000)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        lines = [process.stdout.readline() for _ in range(20 + 13 * round_number)]
        process.send_signal(signal.SIGKILL)
        lines += process.stdout.read().splitlines()
        process.wait()
        process.stdout.close()
        for line in lines:
            sequence, _, number = line.strip().partition(" ")
            if number:
                told[int(sequence)] = f"round{round_number} number{number}"
        kept = {message.sequence: message.text for message in store.path(trace, whole=True)}
        assert told.items() <= kept.items()
        assert len(kept) <= len(told) + round_number + 1  # at most the one that was committed while the kill came
    assert_whole(store, trace)
    store.close()


def test_two_processes_writing_at_once_lose_nothing(path):
    """P4: two kernels at once, on one trace even."""
    store = TraceStore.open(path, clock=CLOCK)
    trace = store.create_trace(identity="me").id
    processes = [writer(path, trace, name, 60) for name in ("left", "right")]
    outputs = [process.communicate(timeout=60)[0].splitlines()[1:] for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    texts = [message.text for message in store.path(trace, whole=True)]
    for name, lines in zip(("left", "right"), outputs, strict=True):
        assert len(lines) == 60
        assert [text for text in texts if text.startswith(name)] == [f"{name} number{number}" for number in range(60)]
    assert len(texts) == 120
    assert_whole(store, trace)
    store.close()


def test_threads_with_a_store_each_and_threads_that_share_one_lose_nothing(path):
    """P4: a kernel's own loop and its background thread."""
    store = TraceStore.open(path, clock=CLOCK)
    trace = store.create_trace(identity="me").id
    barrier = threading.Barrier(4)

    def write(number: int) -> None:
        own = store if number % 2 else TraceStore.open(path, clock=CLOCK)
        barrier.wait()
        for turn in range(25):
            say(own, trace, f"thread{number} turn{turn}")
            own.record_flush_failure(trace, reason="count me")
            own.search(f"turn{turn}", identity="me", limit=2)
            own.path(trace)
        if own is not store:
            own.close()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    assert store.trace(trace).flush_failures == 100
    texts = [message.text for message in store.path(trace)]
    assert len(texts) == 100
    for number in range(4):
        assert [text for text in texts if text.startswith(f"thread{number} ")] == [f"thread{number} turn{turn}" for turn in range(25)]
    assert_whole(store, trace)
    store.close()


def test_reader_does_not_wait_for_a_writer(store, path):
    trace = store.create_trace(identity="me").id
    say(store, trace, "penguin")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert [message.text for message in store.path(trace)] == ["penguin"]
    assert len(store.search("penguin", identity="me")) == 1
    other.execute("ROLLBACK")
    other.close()


def test_locked_store_says_so_and_works_again(store, path):
    trace = store.create_trace(identity="me").id
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    for attempt in (lambda: say(store, trace, "x"), lambda: store.log(trace, "query", {}), lambda: store.acquire("flush", "a", stale_after_s=1)):
        with pytest.raises(TraceError, match="in use by another program"):
            attempt()
    other.execute("ROLLBACK")
    other.close()
    assert say(store, trace, "x") == 1


def test_locked_file_cannot_be_made_a_store_but_the_reason_is_told(path):
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(TraceError, match="in use by another program"):
        TraceStore.open(path, clock=CLOCK, busy_timeout_s=0.1)
    other.execute("ROLLBACK")
    other.close()


def test_full_disk_saves_nothing_says_so_and_keeps_what_was_there(store):
    trace = store.create_trace(identity="me").id
    say(store, trace, "before")
    pages = store._database._raw.execute("PRAGMA page_count").fetchone()[0]
    store._database._raw.execute(f"PRAGMA max_page_count = {pages + 4}")
    before = store.trace(trace)
    with pytest.raises(TraceError, match=r"disk .* is full, so nothing was saved"):
        say(store, trace, "word " * 50_000)
    assert store.trace(trace) == before
    assert [message.text for message in store.path(trace)] == ["before"]
    store._database._raw.execute("PRAGMA max_page_count = 100000")
    say(store, trace, "after")
    assert [message.text for message in store.path(trace)] == ["before", "after"]
    assert_whole(store, trace)


def test_file_size_limit_is_a_sentence_and_no_message_is_half_there(path):
    """A quota: the write fails in the operating system instead of in SQLite."""
    code = f"""
import resource, signal, json
from pathlib import Path
from memflush_jupyter.clock import FixedClock
from memflush_jupyter.errors import TraceError
from memflush_jupyter.trace import ledger
from memflush_jupyter.trace.store import TraceStore
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
store = TraceStore.open(Path({str(path)!r}), clock=FixedClock("2026-01-15T09:00"))
trace = store.create_trace(identity="me").id
done, said = 0, ""
resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, resource.RLIM_INFINITY))
try:
    for done in range(1000):
        store.append(trace, role="user", kind="prompt", content=[{{"type": "text", "text": f"number{{done}} " + "word " * 2000}}])
except TraceError as error:
    said = str(error)
print(json.dumps([trace, done, said]))
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    trace, done, said = json.loads(result.stdout)
    assert "full" in said
    assert 0 < done < 999
    store = TraceStore.open(path, clock=CLOCK)
    assert [message.text.split()[0] for message in store.path(trace, whole=True)] == [f"number{number}" for number in range(done)]
    assert_whole(store, trace)
    store.close()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the administrator may write anywhere")
def test_read_only_folder_is_a_sentence(tmp_path):
    tmp_path.chmod(0o555)
    with pytest.raises(TraceError, match="store"):
        TraceStore.open(tmp_path / "x" / "store.sqlite3", clock=CLOCK)


def test_read_only_database_is_a_sentence_that_says_what_to_do(store):
    """G4: also where the administrator could write anyway."""
    trace = store.create_trace(identity="me").id
    store._database._raw.execute("PRAGMA query_only = ON")
    with pytest.raises(TraceError, match="cannot be written to"):
        say(store, trace, "x")
    assert store.path(trace) == []


def test_folder_that_cannot_be_made_is_a_sentence(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(TraceError, match="cannot be made"):
        TraceStore.open(tmp_path / "file" / "store.sqlite3", clock=CLOCK)
    with pytest.raises(TraceError, match="cannot be opened"):
        TraceStore.open(tmp_path, clock=CLOCK)


@pytest.mark.parametrize("damage", [b"this is no database at all, but a text", b"\x00" * 8192, b"SQLite format 3\x00" + b"\xff" * 8000])
def test_damaged_file_is_a_sentence_and_left_alone(path, damage):
    path.write_bytes(damage)
    with pytest.raises(TraceError, match=r"damaged or not a trace store"):
        TraceStore.open(path, clock=CLOCK)
    assert path.read_bytes() == damage


def test_damage_in_the_middle_is_a_sentence(path):
    store = TraceStore.open(path, clock=CLOCK)
    trace = store.create_trace(identity="me").id
    for number in range(60):
        say(store, trace, f"number{number} " * 200)
    store.close()
    data = bytearray(path.read_bytes())
    for page in range(2, len(data) // 4096):
        data[page * 4096 : page * 4096 + 200] = b"\xde" * 200
    path.write_bytes(data)

    def read() -> None:
        opened = TraceStore.open(path, clock=CLOCK)
        try:
            opened.path(trace)
        finally:
            opened.close()

    with pytest.raises(TraceError, match="damaged"):
        read()


def test_error_in_the_middle_of_a_transaction_leaves_nothing_of_it(store):
    """P2."""
    trace = store.create_trace(identity="me").id

    def fail(_: object) -> str:
        raise RuntimeError("ledger")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ledger.records, "dump", fail)
        with pytest.raises(RuntimeError, match="ledger"):
            store.record_flush(trace, compaction_count=0, flushed_through=1, notes=[], event={})
    assert store.trace(trace).memory_flush_at is None
    assert say(store, trace, "x") == 1


def test_interrupt_in_a_transaction_leaves_the_store_usable(store):
    """P10: a KeyboardInterrupt may come between any two lines."""
    trace = store.create_trace(identity="me").id

    def interrupted() -> None:
        with store._database.write() as connection:
            connection.exec_driver_sql("UPDATE traces SET title = 'half'")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert store.trace(trace).title == ""
    # The worst case: the interrupt came before the roll-back could run.
    store._database._raw.execute("BEGIN IMMEDIATE")
    assert say(store, trace, "x") == 1
    store._database._connection.begin()
    assert say(store, trace, "y") == 2


def test_kill_between_pending_and_written_leaves_the_note_to_be_found(path):
    """C9: after restart the pending row says what to look for."""
    code = f"""
import os, signal
from pathlib import Path
from memflush_jupyter.clock import FixedClock
from memflush_jupyter.trace.models import Note
from memflush_jupyter.trace.store import TraceStore
store = TraceStore.open(Path({str(path)!r}), clock=FixedClock("2026-01-15T09:00"))
trace = store.create_trace(identity="me").id
store.add_notes([Note("n1", "2026-01-15.md", "kept", trace, 1, "user")])
os.kill(os.getpid(), signal.SIGKILL)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -signal.SIGKILL
    store = TraceStore.open(path, clock=CLOCK)
    assert [(note.id, note.text) for note in store.notes(state="pending")] == [("n1", "kept")]
    store.close()
