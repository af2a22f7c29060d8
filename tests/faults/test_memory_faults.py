"""P3, P4: kills, full disks, other writers and read-only folders. What is acknowledged stays, what fails changes nothing."""

from __future__ import annotations

import errno
import os
import re
import signal
import stat
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from memflush_jupyter.clock import FixedClock
from memflush_jupyter.errors import MemoryFileError
from memflush_jupyter.memory import writing
from memflush_jupyter.memory.daily import append_notes, render_note, written_ids
from memflush_jupyter.memory.files import ABSENT, MemoryFolder

ROOT = Path(__file__).resolve().parents[2]
DAY = "2026-11-30.md"

PRELUDE = """
import os, sys, signal
from pathlib import Path
from memflush_jupyter.clock import FixedClock
from memflush_jupyter.errors import MemoryFileError
from memflush_jupyter.memory import writing
from memflush_jupyter.memory.daily import append_notes, render_note
from memflush_jupyter.memory.files import MemoryFolder
folder = MemoryFolder(Path(sys.argv[1]), clock=FixedClock("2026-11-30T09:00"), declared={"taste.md": "x"})
def note(identity, text="text"):
    return render_note(identity, text, "4be1", 1, "agent")
"""


def start(script: str, *arguments: object, privileged: bool = True) -> subprocess.Popen[str]:
    code = PRELUDE + ("" if privileged else DROP) + textwrap.dedent(script)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.Popen([sys.executable, "-c", code, *map(str, arguments)], stdout=subprocess.PIPE, text=True, env=environment)


def finished(process: subprocess.Popen[str]) -> str:
    with process:
        out, _ = process.communicate(timeout=60)
    return out


def make(root: Path) -> MemoryFolder:
    return MemoryFolder(root, clock=FixedClock("2026-11-30T09:00"), declared={"taste.md": "x"})


def note(identity: str, text: str = "text") -> str:
    return render_note(identity, text, "4be1", 1, "agent")


@pytest.fixture
def folder(tmp_path: Path) -> MemoryFolder:
    made = make(tmp_path / "memory")
    made.ensure()
    return made


# -- kills -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.0, 0.01, 0.4, 0.99, 1.0])
@pytest.mark.parametrize("existing", [None, b"# mine\r\nno newline at the end"])
def test_a_kill_in_the_middle_of_an_append_leaves_whole_lines(folder: MemoryFolder, share: float, existing: bytes | None) -> None:
    """P4, C9: the next writer completes what was begun; what never began is written again by its ledger, once."""
    if existing is not None:
        (folder.root / DAY).write_bytes(existing)
    killed = start(
        """
        whole = os.write
        def torn(descriptor, data):
            if os.fstat(descriptor).st_ino == marked["inode"]:
                whole(descriptor, bytes(data)[: int(len(data) * float(sys.argv[2]))])
                os.kill(os.getpid(), signal.SIGKILL)
            return whole(descriptor, data)
        marked = {"inode": None}
        undo = writing._write_or_undo
        def mark(descriptor, size, payload):
            marked["inode"] = os.fstat(descriptor).st_ino
            return undo(descriptor, size, payload)
        writing._write_or_undo = mark
        os.write = torn
        append_notes(folder, [note("a", "the first note"), note("b", "the second note")])
        """,
        folder.root,
        share,
    )
    finished(killed)
    assert killed.returncode == -signal.SIGKILL
    again = make(folder.root)
    again.ensure()
    append_notes(again, [note("a", "the first note"), note("b", "the second note"), note("c", "the third note")])
    data = again.read_bytes(DAY)
    assert data.startswith(existing or b"# 2026-11-30")
    assert re.findall(r"- the \w+ note <!-- mf:(\w)", data.decode()) == ["a", "b", "c"]
    assert data.count(b"- the") == 3
    assert written_ids(again, "abc") == dict.fromkeys("abc", DAY)
    assert not (again.private / "append.json").exists()


def test_what_another_program_wrote_after_a_torn_append_is_not_touched(folder: MemoryFolder) -> None:
    """P3, P4: a record that no longer fits the file's end is dropped."""
    (folder.root / DAY).write_bytes(b"mine\n- the fi")
    folder._journal.begin(DAY, 5, b"- the first\n")
    (folder.root / DAY).write_bytes(b"mine\n- the fixed\n")
    folder.ensure()
    assert folder.read_bytes(DAY) == b"mine\n- the fixed\n"
    assert not (folder.private / "append.json").exists()


@pytest.mark.parametrize(
    "record", [b"", b"{", b"[]", b'{"name": "x.md"}', b'{"name": "x.md", "offset": 0, "payload": 3}', b'{"name": "x.md", "offset": "z", "payload": ""}']
)
def test_a_torn_record_means_that_nothing_was_begun(folder: MemoryFolder, record: bytes) -> None:
    """P4."""
    (folder.private / "append.json").write_bytes(record)
    folder.append("taste.md", "a")
    assert folder.names() == ["taste.md"]
    assert not (folder.private / "append.json").exists()


def test_a_torn_append_is_completed_byte_by_byte(folder: MemoryFolder) -> None:
    """P4: also one cut within a character; a whole one is not doubled; one that never began creates nothing."""
    payload = "- 図 é\n".encode()
    for written in range(1, len(payload) + 1):
        (folder.root / DAY).write_bytes(b"x\n" + payload[:written])
        folder._journal.begin(DAY, 2, payload)
        folder.ensure()
        assert folder.read_bytes(DAY) == b"x\n" + payload
    folder._journal.begin("taste.md", 0, payload)
    folder.ensure()
    assert not folder.exists("taste.md")


def test_a_kill_during_a_replacement_leaves_the_old_file(folder: MemoryFolder) -> None:
    """P4: and the next replacement works."""
    folder.append("taste.md", "old")
    killed = start(
        """
        writing.os.fsync = lambda descriptor: os.kill(os.getpid(), signal.SIGKILL)
        folder.replace("taste.md", "new", base_hash=None)
        """,
        folder.root,
    )
    finished(killed)
    assert killed.returncode == -signal.SIGKILL
    assert folder.read("taste.md") == "old\n"
    assert folder.names() == ["taste.md"]
    folder.replace("taste.md", "newer\n", base_hash=None)
    assert folder.read("taste.md") == "newer\n"
    assert list((folder.private / "tmp").iterdir()) == []


# -- many writers ------------------------------------------------------------------------------------------------------


def test_ten_processes_append_at_once_and_nothing_is_lost_or_mixed(folder: MemoryFolder) -> None:
    """P4: every note stands there once, whole, in its process's order."""
    script = """
        for number in range(12):
            append_notes(folder, [note(f"{sys.argv[2]}x{number}", f"from {sys.argv[2]} " + "w" * 300)])
        """
    processes = [start(script, folder.root, number) for number in range(10)]
    for process in processes:
        finished(process)
        assert process.returncode == 0
    lines = folder.read(DAY).splitlines()
    assert lines[:2] == ["# 2026-11-30", ""]
    seen = [re.fullmatch(r"- from (\d+) w{300} <!-- mf:\1x(\d+) t=4be1#1 o=agent -->", line) for line in lines[2:]]
    assert all(seen)
    order = [(int(found[1]), int(found[2])) for found in seen if found]
    assert sorted(order) == [(process, number) for process in range(10) for number in range(12)]
    assert all([number for process, number in order if process == one] == list(range(12)) for one in range(10))


def test_an_edit_between_read_and_append_is_kept(folder: MemoryFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """P4: another program, which knows no lock, appends at the worst moment."""
    folder.append(DAY, "- first")
    real = writing.read_or_none
    edits = iter([b"no newline"])

    def read_then_edited(path: Path, shown: str) -> bytes | None:
        data = real(path, shown)
        for text in edits:
            with path.open("ab") as file:
                file.write(text)
        return data

    monkeypatch.setattr(writing, "read_or_none", read_then_edited)
    append_notes(folder, [note("a")])
    assert folder.read(DAY) == f"- first\nno newline\n\n{note('a')}\n"


def test_a_file_that_never_rests_is_given_up_with_a_sentence(folder: MemoryFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """P2, P4."""
    real = writing.read_or_none

    def read_then_edited(path: Path, shown: str) -> bytes | None:
        data = real(path, shown)
        with path.open("ab") as file:
            file.write(b"x")
        return data

    monkeypatch.setattr(writing, "read_or_none", read_then_edited)
    with pytest.raises(MemoryFileError, match=r"^memory/taste\.md keeps changing while it is written; close the other program"):
        folder.append("taste.md", "mine")
    assert folder.read_bytes("taste.md") == b"x" * 5


def test_an_edit_just_before_the_rename_wins_and_ours_is_kept(folder: MemoryFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """P4: neither side is lost."""
    folder.append("taste.md", "old")
    path = folder.root / "taste.md"
    real = writing.replace

    def edited_meanwhile(target: Path, shown: str, data: bytes, **options: object) -> bool:
        path.write_text("theirs\n")
        return real(target, shown, data, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(writing, "replace", edited_meanwhile)
    with pytest.raises(MemoryFileError, match="was changed by another program"):
        folder.replace("taste.md", "mine", base_hash=folder.hash("taste.md"))
    assert path.read_text() == "theirs\n"
    assert [(entry.reason, folder.history.read(entry.id)) for entry in folder.history.entries()] == [("conflict", b"mine"), ("edit", b"old\n")]


# -- full disks --------------------------------------------------------------------------------------------------------


def test_a_file_size_limit_stops_an_append_and_leaves_the_file(folder: MemoryFolder) -> None:
    """P4: the real system call comes short, and the file is as it was."""
    folder.append(DAY, "- " + "x" * 4000)
    before = folder.read_bytes(DAY)
    out = finished(
        start(
            """
            import resource
            resource.setrlimit(resource.RLIMIT_FSIZE, (4100, 4100))
            try:
                append_notes(folder, [note("a", "y" * 400), note("b", "z" * 400)])
            except MemoryFileError as error:
                print(error)
            """,
            folder.root,
        )
    )
    assert out == f"memory/{DAY} cannot be written: the disk (or its quota) is full. Nothing was changed; free some space and try again.\n"
    assert folder.read_bytes(DAY) == before
    append_notes(folder, [note("a")])
    assert folder.read_bytes(DAY) == before + f"{note('a')}\n".encode()


@pytest.mark.parametrize("written", [0, 1, 7])
def test_a_new_file_on_a_full_disk_is_not_left_empty(folder: MemoryFolder, monkeypatch: pytest.MonkeyPatch, written: int) -> None:
    """C2, P4."""
    real = os.write

    def full(descriptor: int, data: bytes) -> int:
        if bytes(data).startswith(b"# 2026"):
            if not written:
                raise OSError(errno.ENOSPC, "No space left on device")
            return real(descriptor, bytes(data)[:written])
        return real(descriptor, data)

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(MemoryFileError, match="is full"):
        append_notes(folder, [note("a")])
    assert folder.names() == []
    assert not (folder.private / "append.json").exists()


def test_a_short_write_is_not_cut_back_over_anothers_bytes(folder: MemoryFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """P3: what another program appended in that instant stays."""
    folder.append("taste.md", "- old")
    real = os.write

    def full(descriptor: int, data: bytes) -> int:
        if bytes(data) == b"- new\n":
            count = real(descriptor, b"- ne")
            real(descriptor, b"THEIRS")
            return count
        return real(descriptor, data)

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(MemoryFileError, match="is full"):
        folder.append("taste.md", "- new")
    assert folder.read_bytes("taste.md") == b"- old\n- neTHEIRS"


def test_a_full_disk_stops_a_replacement_and_leaves_the_file(folder: MemoryFolder) -> None:
    """P4."""
    folder.append("taste.md", "old")
    out = finished(
        start(
            """
            import resource
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
            try:
                folder.replace("taste.md", "x" * 5000, base_hash=None)
            except MemoryFileError as error:
                print(error)
            """,
            folder.root,
        )
    )
    assert "taste.md cannot be written: the disk (or its quota) is full" in out
    assert folder.read("taste.md") == "old\n"
    assert list((folder.private / "tmp").iterdir()) == []


def test_a_failed_sync_is_a_failed_append(folder: MemoryFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """P4: not acknowledged, so not there."""
    folder.append("taste.md", "- old")

    def broken(descriptor: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(MemoryFileError, match=r"^memory/taste\.md cannot be written: the system says: Input/output error\.$"):
        folder.append("taste.md", "- new")
    assert folder.read("taste.md") == "- old\n"


# -- who may write -----------------------------------------------------------------------------------------------------


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder that another user can reach: the tests' own are private to this one."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


DROP = """
import filelock
from memflush_jupyter.memory.document import parse
parse("what is imported late is imported now".encode("utf-8-sig").decode("utf-8-sig"))
if os.getuid() == 0:  # for root nothing is read-only
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
"""

READ_ONLY = """
    print(folder.writable)
    for attempt in (lambda: append_notes(folder, [note("a")]), lambda: folder.replace("taste.md", "new", base_hash=None), folder.ensure):
        try:
            attempt()
            print("done")
        except MemoryFileError as error:
            print(error)
    print(folder.read("taste.md").strip(), folder.names())
    """


def test_a_read_only_folder_is_read_and_says_what_it_does_not(public: Path) -> None:
    """G4, B5: reading works; writing says why not and changes nothing."""
    made = make(public / "memory")
    made.ensure()
    made.append("taste.md", "old")
    folders = [made.root, *(path for path in made.root.rglob("*") if path.is_dir())]
    for path in made.root.rglob("*"):
        path.chmod(0o555 if path.is_dir() else 0o444)
    made.root.chmod(0o555)
    try:
        lines = finished(start(READ_ONLY, made.root, privileged=False)).splitlines()
    finally:
        for path in folders:
            path.chmod(0o755)
    assert lines[0] == "False"
    for line in lines[1:3]:
        assert line.endswith(
            "the folder or file is read-only here. Nothing was changed; change its permissions or set c.MemFlush.memory_dir to another folder."
        )
    assert lines[3:] == ["done", "old ['taste.md']"]


def test_a_read_only_folder_without_a_private_part_is_read_too(public: Path) -> None:
    """G4: a folder that somebody else made, mounted read-only."""
    root = public / "memory"
    root.mkdir()
    (root / "taste.md").write_text("old\n")
    root.chmod(0o555)
    try:
        lines = finished(start(READ_ONLY, root, privileged=False)).splitlines()
    finally:
        root.chmod(0o755)
    assert lines[0] == "False"
    assert all("read-only here" in line for line in lines[1:4])
    assert lines[4] == "old ['taste.md']"
    assert [path.name for path in root.iterdir()] == ["taste.md"]


def test_a_single_read_only_file_says_so(public: Path) -> None:
    """G4: the file's permissions hold even where the folder could replace it."""
    made = make(public / "memory")
    made.ensure()
    made.append("taste.md", "old")
    for path in [made.root, *made.root.rglob("*")]:
        path.chmod(0o777 if path.is_dir() else 0o666)
    (made.root / "taste.md").chmod(0o444)
    script = """
        try:
            folder.append("taste.md", "x")
        except MemoryFileError as error:
            print(error)
        """
    assert finished(start(script, made.root, privileged=False)).startswith("memory/taste.md cannot be written: the folder or file is read-only here.")
    assert made.read("taste.md") == "old\n"


def test_a_file_that_may_not_be_read_says_so(public: Path) -> None:
    """G4."""
    made = make(public / "memory")
    made.ensure()
    made.append("taste.md", "old")
    (made.root / "taste.md").chmod(0o200)
    script = """
        try:
            folder.read("taste.md")
        except MemoryFileError as error:
            print(error)
        """
    assert finished(start(script, made.root, privileged=False)) == "memory/taste.md cannot be read: this user has no permission for it.\n"


# -- what is no file ---------------------------------------------------------------------------------------------------


def test_a_link_put_in_place_after_the_check_is_not_followed(folder: MemoryFolder, tmp_path: Path) -> None:
    """C3: the opening itself follows no link and opens no pipe or device."""
    outside = tmp_path / "outside.md"
    outside.write_text("secret")
    link = folder.root / "link.md"
    link.symlink_to(outside)
    pipe = folder.root / "pipe.md"
    os.mkfifo(pipe)
    with pytest.raises(MemoryFileError, match=r"^memory/link\.md cannot be read: it is a symbolic link"):
        writing.read_bytes(link, "memory/link.md")
    with pytest.raises(MemoryFileError, match=r"^memory/link\.md cannot be read: it is a symbolic link"):
        writing.append(link, "link.md", "memory/link.md", lambda data: b"x", folder._journal)
    for path in (pipe, Path(os.devnull)):
        with pytest.raises(MemoryFileError, match=r"^P is not an ordinary file, so it is neither read nor written\.$"):
            writing.read_bytes(path, "P")
    assert outside.read_text() == "secret"
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def _open_files() -> int:
    listing = Path("/proc/self/fd")
    return len(list(listing.iterdir())) if listing.exists() else 0


def test_nothing_is_left_open(folder: MemoryFolder) -> None:
    """P10: a kernel that writes notes all day runs out of nothing."""
    folder.append("taste.md", "a")
    before = _open_files()
    for number in range(20):
        folder.append("taste.md", f"- {number}")
        folder.replace("taste.md", f"{number}", base_hash=None)
        with pytest.raises(MemoryFileError):
            folder.replace("taste.md", "x", base_hash=ABSENT)
    assert _open_files() == before
