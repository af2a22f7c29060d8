"""P4, C2, C3, G4: what the three ways of touching a file do when the system or another program gets in between."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from memflush_jupyter.errors import MemoryFileError
from memflush_jupyter.memory import writing
from memflush_jupyter.memory.writing import Journal

READ_ONLY = (
    "memory/a.md cannot be written: the folder or file is read-only here. Nothing was changed; "
    "change its permissions or set c.MemFlush.memory_dir to another folder."
)


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "append.json", tmp_path)


@pytest.mark.parametrize(
    ("error", "verb", "sentence"),
    [
        (
            OSError(errno.ENOSPC, "No space left"),
            "written",
            "memory/a.md cannot be written: the disk (or its quota) is full. Nothing was changed; free some space and try again.",
        ),
        (
            OSError(errno.EACCES, "Permission denied"),
            "written",
            READ_ONLY,
        ),
        (OSError(errno.EACCES, "Permission denied"), "read", "memory/a.md cannot be read: this user has no permission for it."),
        (
            OSError(errno.ELOOP, "Too many links"),
            "read",
            "memory/a.md cannot be read: it is a symbolic link, and memory follows none inside its folder. Put the file itself there.",
        ),
        (OSError(errno.EIO, "Input/output error"), "written", "memory/a.md cannot be written: the system says: Input/output error."),
        (OSError("odd"), "read", "memory/a.md cannot be read: the system says: odd."),
    ],
)
def test_what_the_system_says_becomes_a_sentence(error: OSError, verb: str, sentence: str) -> None:
    """G4."""
    assert str(writing.refusal(error, "memory/a.md", verb)) == sentence


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """C3."""
    with pytest.raises(MemoryFileError) as caught:
        writing.read_bytes(tmp_path / "a.md", "memory/a.md")
    assert str(caught.value) == "There is no memory file memory/a.md."
    assert writing.read_or_none(tmp_path / "a.md", "memory/a.md") is None


def test_a_pipe_is_neither_read_nor_written(tmp_path: Path, journal: Journal) -> None:
    """C3: opening one would wait for ever."""
    os.mkfifo(tmp_path / "a.md")
    with pytest.raises(MemoryFileError) as caught:
        writing.read_bytes(tmp_path / "a.md", "memory/a.md")
    assert str(caught.value) == "memory/a.md is not an ordinary file, so it is neither read nor written."


def test_an_append_is_noted_before_it_is_made(journal: Journal) -> None:
    """P4, G3: bytes that are no text too."""
    journal.begin("a.md", 7, b"- one\xff\n")
    assert json.loads(journal.path.read_bytes()) == {"name": "a.md", "offset": 7, "payload": "- one\udcff\n"}
    journal.end()
    assert not journal.path.exists()
    journal.end()


@pytest.mark.parametrize("written", [b"-", b"- o", b"- one\xff"])
def test_an_interrupted_append_is_completed(tmp_path: Path, journal: Journal, written: bytes) -> None:
    """P4: what is missing follows, once."""
    (tmp_path / "a.md").write_bytes(b"before\n" + written)
    journal.begin("a.md", 7, b"- one\xff\n")
    journal.recover()
    assert (tmp_path / "a.md").read_bytes() == b"before\n- one\xff\n"
    assert not journal.path.exists()


@pytest.mark.parametrize("after", [b"", b"- one\xff\n", b"- two", b"- one\xff\n- two\n"])
def test_nothing_is_completed_where_nothing_or_all_or_something_else_was_written(tmp_path: Path, journal: Journal, after: bytes) -> None:
    """P4: the caller asks again for what never began, and another program's text is left alone."""
    (tmp_path / "a.md").write_bytes(b"before\n" + after)
    journal.begin("a.md", 7, b"- one\xff\n")
    journal.recover()
    assert (tmp_path / "a.md").read_bytes() == b"before\n" + after
    assert not journal.path.exists()


def test_nothing_is_completed_in_a_file_that_is_gone(tmp_path: Path, journal: Journal) -> None:
    """P4."""
    journal.begin("a.md", 0, b"- one\n")
    journal.recover()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "torn", [b"", b"{", b"[]", b'{"name": "a.md"}', b'{"name": "a.md", "offset": 0, "payload": 3}', b'{"name": "a.md", "offset": "x", "payload": "y"}']
)
def test_a_torn_record_is_dropped(tmp_path: Path, journal: Journal, torn: bytes) -> None:
    """P4: its append never began."""
    (tmp_path / "a.md").write_bytes(b"x")
    journal.path.write_bytes(torn)
    journal.recover()
    assert not journal.path.exists()
    assert (tmp_path / "a.md").read_bytes() == b"x"


def test_a_completion_that_fails_is_tried_again_later(tmp_path: Path, journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    """P4: the record stays."""
    (tmp_path / "a.md").write_bytes(b"- o")
    journal.begin("a.md", 0, b"- one\n")
    with monkeypatch.context() as broken:
        broken.setattr(writing.os, "write", _full)
        with pytest.raises(MemoryFileError) as caught:
            journal.recover()
    assert str(caught.value) == "a.md cannot be written: the disk (or its quota) is full. Nothing was changed; free some space and try again."
    assert (tmp_path / "a.md").read_bytes() == b"- o"
    journal.recover()
    assert (tmp_path / "a.md").read_bytes() == b"- one\n"


def _full(*_: object) -> int:
    raise OSError(errno.ENOSPC, "No space left on device")


def _half(descriptor: int, data: bytes, _write=os.write) -> int:
    return _write(descriptor, data[: len(data) // 2])


def append(path: Path, journal: Journal, build) -> bytes:
    return writing.append(path, path.name, f"memory/{path.name}", build, journal)


def test_an_append_makes_the_folders_on_the_way(tmp_path: Path, journal: Journal) -> None:
    """C2."""
    seen = []
    assert append(tmp_path / "topics" / "deep" / "a.md", journal, lambda data: seen.append(data) or b"- one\n") == b"- one\n"
    assert (tmp_path / "topics" / "deep" / "a.md").read_bytes() == b"- one\n"
    assert seen == [None]
    assert not journal.path.exists()


def test_nothing_to_write_makes_nothing(tmp_path: Path, journal: Journal) -> None:
    """C2."""
    assert append(tmp_path / "topics" / "a.md", journal, lambda _: b"") == b""
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_grew_between_read_and_write_is_read_again(tmp_path: Path, journal: Journal) -> None:
    """P4: two programs, no line lost and none doubled."""
    path = tmp_path / "a.md"
    path.write_bytes(b"a\n")
    seen = []

    def build(data: bytes | None) -> bytes:
        seen.append(data)
        if len(seen) == 1:
            path.write_bytes(b"a\nb\n")
        return b"c\n"

    assert append(path, journal, build) == b"c\n"
    assert seen == [b"a\n", b"a\nb\n"]
    assert path.read_bytes() == b"a\nb\nc\n"
    assert not journal.path.exists()


@pytest.mark.parametrize("before", [None, b"a\n"])
def test_a_file_that_comes_or_goes_between_read_and_write_is_read_again(tmp_path: Path, journal: Journal, before: bytes | None) -> None:
    """P4."""
    path = tmp_path / "a.md"
    if before is not None:
        path.write_bytes(before)
    seen = []

    def build(data: bytes | None) -> bytes:
        seen.append(data)
        if len(seen) == 1:
            path.unlink() if before is not None else path.write_bytes(b"b\n")
        return b"c\n"

    assert append(path, journal, build) == b"c\n"
    assert len(seen) == 2
    assert path.read_bytes() == (b"c\n" if before is not None else b"b\nc\n")


def test_a_file_that_never_stands_still_is_given_up_after_five_tries(tmp_path: Path, journal: Journal) -> None:
    """C2."""
    path = tmp_path / "a.md"
    path.write_bytes(b"")
    tries = []

    def build(data: bytes | None) -> bytes:
        tries.append(data)
        path.write_bytes(b"x" * len(tries))
        return b"c\n"

    with pytest.raises(MemoryFileError) as caught:
        append(path, journal, build)
    assert str(caught.value) == "memory/a.md keeps changing while it is written; close the other program that writes to it and try again."
    assert len(tries) == 5
    assert path.read_bytes() == b"xxxxx"


@pytest.mark.parametrize("before", [None, b"", b"a\n"])
@pytest.mark.parametrize("fault", [_full, _half])
def test_a_full_disk_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: bytes | None, fault) -> None:
    """P4: cut back, and no empty new file."""
    path = tmp_path / "a.md"
    if before is not None:
        path.write_bytes(before)

    class Quiet(Journal):
        def begin(self, name: str, offset: int, payload: bytes) -> None:
            pass

    monkeypatch.setattr(writing.os, "write", fault)
    with pytest.raises(MemoryFileError) as caught:
        append(path, Quiet(tmp_path / "append.json", tmp_path), lambda _: b"- one\n")
    assert str(caught.value) == "memory/a.md cannot be written: the disk (or its quota) is full. Nothing was changed; free some space and try again."
    assert (path.read_bytes() if path.exists() else None) == before


def test_a_write_that_comes_short_does_not_cut_what_somebody_wrote_after(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """P4: only our own half line is taken back."""
    path = tmp_path / "a.md"
    path.write_bytes(b"a\n")

    def half_then_other(descriptor: int, data: bytes) -> int:
        written = _half(descriptor, data)
        with path.open("ab") as other:
            other.write(b"other\n")
        return written

    with monkeypatch.context() as broken:
        broken.setattr(writing.os, "write", half_then_other)
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND)
        with pytest.raises(OSError, match="the disk is full") as caught:
            writing._write_or_undo(descriptor, 2, b"- one\n")
        os.close(descriptor)
    assert caught.value.errno == errno.ENOSPC
    assert path.read_bytes() == b"a\n- oother\n"


def test_a_long_text_is_written_whole_though_each_write_comes_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """P4."""
    real = os.write
    monkeypatch.setattr(writing.os, "write", lambda descriptor, data: real(descriptor, bytes(data[:3])))
    assert writing.replace(tmp_path / "a.md", "memory/a.md", b"0123456789", temporary=tmp_path / "tmp", still=lambda: True)
    assert (tmp_path / "a.md").read_bytes() == b"0123456789"


def test_a_replacement_keeps_the_permissions_and_leaves_nothing_beside(tmp_path: Path) -> None:
    """P4."""
    path = tmp_path / "topics" / "deep" / "a.md"
    temporary = tmp_path / "private" / "tmp"
    assert writing.replace(path, "memory/a.md", b"one", temporary=temporary, still=lambda: True)
    path.chmod(0o640)
    (temporary / "replacement").write_bytes(b"left by a kill")
    assert writing.replace(path, "memory/a.md", b"two", temporary=temporary, still=lambda: True)
    assert path.read_bytes() == b"two"
    assert path.stat().st_mode & 0o777 == 0o640
    assert list(temporary.iterdir()) == []


def test_a_file_that_another_program_changed_is_not_replaced(tmp_path: Path) -> None:
    """P3, P4."""
    path = tmp_path / "a.md"
    path.write_bytes(b"theirs")
    assert writing.replace(path, "memory/a.md", b"ours", temporary=tmp_path / "tmp", still=lambda: False) is False
    assert path.read_bytes() == b"theirs"
    assert list((tmp_path / "tmp").iterdir()) == []


def test_a_replacement_that_fails_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """P4."""
    path = tmp_path / "a.md"
    path.write_bytes(b"before")
    monkeypatch.setattr(writing.os, "write", _full)
    with pytest.raises(MemoryFileError) as caught:
        writing.replace(path, "memory/a.md", b"after", temporary=tmp_path / "tmp", still=lambda: True)
    assert str(caught.value) == "memory/a.md cannot be written: the disk (or its quota) is full. Nothing was changed; free some space and try again."
    assert path.read_bytes() == b"before"
    assert list((tmp_path / "tmp").iterdir()) == []
