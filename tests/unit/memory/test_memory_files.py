"""C3, G2, G4, G7, G8: the folder, its names, and what may be done with them."""

from __future__ import annotations

import os
import subprocess
from datetime import date
from pathlib import Path

import pytest

from memflush_jupyter.clock import FixedClock
from memflush_jupyter.errors import MemoryFileError
from memflush_jupyter.memory import files
from memflush_jupyter.memory.files import ABSENT, MemoryFolder, content_hash

CLOCK = FixedClock("2026-11-30T09:00")


def make(root: Path) -> MemoryFolder:
    return MemoryFolder(root, clock=CLOCK, declared={"taste.md": "what is liked", "memory/skills.md": "what works"})


@pytest.fixture
def folder(tmp_path: Path) -> MemoryFolder:
    made = make(tmp_path / "memory")
    made.ensure()
    return made


def refused(folder: MemoryFolder, name: str, *, for_write: bool = False) -> str:
    with pytest.raises(MemoryFileError) as caught:
        folder.resolve(name, for_write=for_write)
    return str(caught.value)


def test_the_folder_is_fixed_when_it_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """G8: `os.chdir` in the notebook does not move it."""
    monkeypatch.chdir(tmp_path)
    made = make(Path("memory"))
    made.ensure()
    other = tmp_path / "other"
    other.mkdir()
    monkeypatch.chdir(other)
    made.append("taste.md", "- plain plots")
    assert made.root == tmp_path / "memory"
    assert (tmp_path / "memory" / "taste.md").read_text() == "- plain plots\n"
    assert list(other.iterdir()) == []


def test_ensure_makes_a_private_part_that_git_ignores_and_nothing_else(folder: MemoryFolder) -> None:
    """P9: the store and locks are ignored from inside; `memory/` itself is never."""
    assert folder.store_path == folder.root / ".memflush" / "store.sqlite3"
    assert sorted(path.name for path in folder.root.iterdir()) == [".memflush"]
    assert (folder.private / ".gitignore").read_text().splitlines()[-1] == "*"
    (folder.private / ".gitignore").write_text("mine\n")
    folder.ensure()
    assert (folder.private / ".gitignore").read_text() == "mine\n"


def test_memory_may_be_a_git_repository(folder: MemoryFolder) -> None:
    """G4: its files show as untracked, the private part and git's own do not appear anywhere."""
    git = ["git", "-C", str(folder.root)]
    subprocess.run([*git, "init", "-q"], check=True)
    folder.append("2026-11-30.md", "- a")
    (folder.private / "store.sqlite3").write_bytes(b"x")
    (folder.root / ".git" / "x.md").write_text("no memory")
    status = subprocess.run([*git, "status", "--porcelain", "-uall"], check=True, capture_output=True, text=True).stdout
    assert status == "?? 2026-11-30.md\n"
    assert folder.names() == ["2026-11-30.md"]
    assert "is hidden" in refused(folder, ".git/config")


def test_memory_may_be_a_link_to_a_shared_folder(tmp_path: Path) -> None:
    """G4."""
    shared = tmp_path / "shared"
    shared.mkdir()
    link = tmp_path / "memory"
    link.symlink_to(shared)
    made = make(link)
    made.ensure()
    assert made.writable
    made.append("taste.md", "- a")
    assert (shared / "taste.md").read_text() == "- a\n"
    assert made.canonical("memory/taste.md") == "taste.md"
    assert make(shared).canonical("shared/taste.md") == "taste.md"


def test_a_link_to_a_folder_that_is_gone_says_so(tmp_path: Path) -> None:
    """G4: nothing is created where a share should be mounted."""
    link = tmp_path / "memory"
    link.symlink_to(tmp_path / "gone")
    made = make(link)
    assert not made.writable
    with pytest.raises(MemoryFileError, match=r"memory is a link to .*gone, which is not there\. Mount or create it"):
        made.ensure()
    assert not (tmp_path / "gone").exists()


def test_a_file_in_the_place_of_the_folder_says_so(tmp_path: Path) -> None:
    """G4."""
    (tmp_path / "memory").write_text("x")
    made = make(tmp_path / "memory")
    assert not made.writable
    with pytest.raises(MemoryFileError, match=r"is not a folder\. Move that file away, or set c\.MemFlush\.memory_dir"):
        made.ensure()


def test_a_folder_not_made_yet_is_writable_where_it_can_be_made(tmp_path: Path) -> None:
    """G4: asking creates nothing."""
    assert make(tmp_path / "a" / "b").writable
    (tmp_path / "file").write_text("x")
    assert not make(tmp_path / "file" / "memory").writable
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file"]


def test_asking_whether_it_is_writable_leaves_nothing(tmp_path: Path) -> None:
    """G4: with and without the private part."""
    made = make(tmp_path / "memory")
    made.root.mkdir()
    assert made.writable
    assert list(made.root.iterdir()) == []
    made.ensure()
    before = sorted(made.root.rglob("*"))
    assert made.writable
    assert sorted(made.root.rglob("*")) == before


def test_daily_names_follow_the_clock() -> None:
    """C1, G1."""
    made = make(Path("nowhere"))
    assert made.daily_name() == "2026-11-30.md"
    assert made.daily_name(date(2027, 1, 2)) == "2027-01-02.md"
    assert made.recent_dailies() == ["2026-11-30.md", "2026-11-29.md"]
    assert made.recent_dailies(date(2026, 3, 1)) == ["2026-03-01.md", "2026-02-28.md"]


def test_links_devices_pipes_and_folders_are_no_memory_files(folder: MemoryFolder, tmp_path: Path) -> None:
    """C3."""
    outside = tmp_path / "outside.md"
    outside.write_text("secret")
    (folder.root / "out.md").symlink_to(outside)
    (folder.root / "in.md").symlink_to(folder.root / "taste.md")
    (folder.root / "dangling.md").symlink_to(tmp_path / "nothing.md")
    (folder.root / "linked").symlink_to(tmp_path)
    (folder.root / "folder.md").mkdir()
    (folder.root / "taste.md").write_text("x")
    os.mkfifo(folder.root / "pipe.md")
    for for_write in (False, True):
        for name in ("out.md", "in.md", "dangling.md", "linked/outside.md"):
            assert (
                refused(folder, name, for_write=for_write)
                == f"memory/{name} passes a symbolic link, and memory follows none inside its folder. Put the file itself there."
            )
        assert refused(folder, "pipe.md", for_write=for_write) == "memory/pipe.md is not an ordinary file, so it is neither read nor written."
        assert refused(folder, "folder.md", for_write=for_write) == "memory/folder.md is a folder; name a file in it."
        assert refused(folder, "taste.md/x.md", for_write=for_write) == "memory/taste.md/x.md is not an ordinary file, so it is neither read nor written."
    for name in ("out.md", "pipe.md"):
        with pytest.raises(MemoryFileError):
            folder.append(name, "x")
        with pytest.raises(MemoryFileError):
            folder.replace(name, "x", base_hash=None)
        with pytest.raises(MemoryFileError):
            folder.read(name)
    assert outside.read_text() == "secret"
    assert folder.names() == ["taste.md"]


def test_an_identity_is_read_only_to_every_tool(folder: MemoryFolder) -> None:
    """G7: in any spelling; the person's own edit goes through `replace`."""
    for name in ("IDENTITY.md", "memory/identity.MD"):
        assert "read-only to every tool" in refused(folder, name, for_write=True)
        with pytest.raises(MemoryFileError, match="read-only to every tool"):
            folder.append(name, "x")
    folder.replace("IDENTITY.md", "I am", base_hash=ABSENT)
    assert folder.read("IDENTITY.md") == "I am"


def test_only_markdown_is_written(folder: MemoryFolder) -> None:
    """C3."""
    assert refused(folder, "x.txt", for_write=True) == "memory/x.txt is no markdown file; memory files end in '.md'."
    assert folder.resolve("x.txt", for_write=False) == folder.root / "x.txt"
    assert folder.resolve("topics/x.MD", for_write=True) == folder.root / "topics" / "x.MD"


def test_a_name_that_differs_in_case_alone_is_not_written_beside(folder: MemoryFolder) -> None:
    """C3: on many systems it is the same file."""
    folder.append("topics/Plots.md", "a")
    assert refused(folder, "topics/plots.md", for_write=True) == (
        "memory/topics/plots.md differs from Plots.md only in case or accents, which on many systems is the same file; use the name Plots.md."
    )
    assert "differs from topics only in case" in refused(folder, "Topics/x.md", for_write=True)
    assert folder.resolve("topics/Plots.md", for_write=True) == folder.root / "topics" / "Plots.md"


def test_notes_have_three_places_to_go(folder: MemoryFolder) -> None:
    """G7."""
    assert folder.append_target(None) == "2026-11-30.md"
    assert folder.append_target("memory/2026-11-30.md") == "2026-11-30.md"
    assert folder.append_target("topics/a.md") == "topics/a.md"
    assert folder.append_target("Skills.MD") == "skills.md"
    for name in ("MEMORY.md", "memory.md", "DREAMS.md", "IDENTITY.md", "2026-11-29.md", "other.md", "topics/a/b.md", "topics/a.txt", "topics", "x/topics/a.md"):
        with pytest.raises(MemoryFileError, match=r"Use one of: memory/2026-11-30\.md, memory/topics/NAME\.md, memory/taste\.md, memory/skills\.md\.$"):
            folder.append_target(name)
    declared = MemoryFolder(folder.root, clock=CLOCK, declared={"MEMORY.md": "a mistake"})
    with pytest.raises(MemoryFileError):
        declared.append_target("MEMORY.md")


def test_reading_gives_text_without_bom_and_bytes_as_they_are(folder: MemoryFolder) -> None:
    """G3."""
    (folder.root / "a.md").write_bytes(b"\xef\xbb\xbf# T\r\n\xff\r\n")
    assert folder.read("a.md") == "# T\r\n\ufffd\r\n"
    assert folder.read_bytes("memory/a.md") == b"\xef\xbb\xbf# T\r\n\xff\r\n"
    assert [section.title for section in folder.sections("a.md")] == ["T"]
    assert folder.document("a.md").text == "# T\r\n\ufffd\r\n"
    assert folder.exists("a.md")
    assert not folder.exists("b.md")
    with pytest.raises(MemoryFileError, match=r"^There is no memory file memory/b\.md\.$"):
        folder.read("b.md")


def test_hashes_tell_what_changed_and_what_is_gone(folder: MemoryFolder) -> None:
    """G2."""
    folder.append("taste.md", "a")
    (folder.root / "note.txt").write_text("x")
    (folder.root / ".hidden.md").write_text("x")
    before = folder.hashes()
    assert before == {"taste.md": content_hash(b"a\n")}
    assert folder.hash("taste.md") == "87428fc522803d31065e7bce3cf03fe475096631e5e07bbd7a0fde60c4cf25c7"
    (folder.root / "taste.md").unlink()
    assert folder.hashes() == {}
    assert folder.hash("taste.md") == ABSENT == ""


def test_names_are_sorted_and_reach_into_folders(folder: MemoryFolder) -> None:
    """G1."""
    for name in ("topics/b.md", "topics/a.md", "taste.md", "topics/deep/c.MD"):
        folder.append(name, "x")
    assert folder.names() == ["taste.md", "topics/a.md", "topics/b.md", "topics/deep/c.MD"]
    assert make(folder.root / "none").names() == []


def test_appending_only_grows_and_keeps_the_files_ways(folder: MemoryFolder) -> None:
    """C2."""
    start = b"\xef\xbb\xbfa\r\ncaf\xe9"
    (folder.root / "taste.md").write_bytes(start)
    folder.append("taste.md", "b\nc")
    assert folder.read_bytes("taste.md") == start + b"\r\nb\r\nc\r\n"
    folder.append("taste.md", "")
    assert folder.read_bytes("taste.md") == start + b"\r\nb\r\nc\r\n"
    folder.append("none.md", "")
    assert not folder.exists("none.md")
    assert not (folder.private / "append.json").exists()


def test_append_built_returns_what_it_wrote(folder: MemoryFolder) -> None:
    """C2."""
    assert folder.append_built("a.md", lambda text: "x" if text is None else "") == "x"
    assert folder.append_built("a.md", lambda text: f"{text}y") == "xy"
    assert folder.append_built("a.md", lambda text: "") == ""
    assert folder.read("a.md") == "xxy"


def test_utf16_is_read_but_not_added_to(folder: MemoryFolder) -> None:
    """G3, G4: says what does not work rather than spoiling the file."""
    data = "mine\n".encode("utf-16")
    (folder.root / "taste.md").write_bytes(data)
    assert folder.read("taste.md") == "mine\n"
    with pytest.raises(MemoryFileError, match=r"^memory/taste\.md is stored as UTF-16; save it as UTF-8 so that notes can be added to it\.$"):
        folder.append("taste.md", "x")
    assert folder.read_bytes("taste.md") == data


def test_replacing_keeps_the_preimage_and_the_permissions(folder: MemoryFolder) -> None:
    """P3, G3."""
    path = folder.root / "taste.md"
    path.write_bytes(b"a\r\nb\r\n")
    path.chmod(0o640)
    folder.replace("taste.md", "a\nc\n", base_hash=folder.hash("taste.md"))
    assert path.read_bytes() == b"a\r\nc\r\n"
    assert path.stat().st_mode & 0o777 == 0o640
    entry = folder.history.entries("taste.md")[0]
    assert (entry.reason, entry.existed, folder.history.read(entry.id)) == ("edit", True, b"a\r\nb\r\n")
    assert list((folder.private / "tmp").iterdir()) == []


def test_a_new_file_follows_the_umask(folder: MemoryFolder) -> None:
    """G4: a shared folder decides who may read."""
    before = os.umask(0o027)
    try:
        folder.replace("taste.md", "a", base_hash=ABSENT)
        folder.append("topics/x.md", "a")
    finally:
        os.umask(before)
    assert (folder.root / "taste.md").stat().st_mode & 0o777 == 0o640
    assert (folder.root / "topics" / "x.md").stat().st_mode & 0o777 == 0o640


def test_replacing_by_the_same_text_does_nothing(folder: MemoryFolder) -> None:
    """P3: no empty steps in the history."""
    folder.append("taste.md", "a")
    inode = (folder.root / "taste.md").stat().st_ino
    folder.replace("taste.md", "a\n", base_hash=None)
    assert (folder.root / "taste.md").stat().st_ino == inode
    assert folder.history.entries() == []


@pytest.mark.parametrize("base", ["0" * 64, ABSENT])
def test_a_file_changed_meanwhile_is_left_and_the_new_text_kept(folder: MemoryFolder, base: str) -> None:
    """P4: the conflict is a sentence, and neither side is lost."""
    folder.append("taste.md", "theirs")
    with pytest.raises(MemoryFileError, match=r"^memory/taste\.md was changed by another program since it was read\. .* kept as h000001 in the history"):
        folder.replace("taste.md", "mine", base_hash=base)
    assert folder.read("taste.md") == "theirs\n"
    assert folder.history.read("h000001") == b"mine"
    assert folder.history.entries()[0].reason == "conflict"


def test_the_same_thread_may_take_the_lock_again(folder: MemoryFolder) -> None:
    """P4."""
    with folder.locked(), folder.locked():
        folder.append("taste.md", "a")
    with folder.locked():
        pass
    assert folder.read("taste.md") == "a\n"


def test_a_lock_that_is_never_given_back_ends_in_a_sentence(folder: MemoryFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """P10: no cell hangs for ever."""
    monkeypatch.setattr(files, "LOCK_TIMEOUT_S", 0.05)
    other = make(folder.root)
    with other.locked(), pytest.raises(MemoryFileError, match=r"^Another process has been writing to .*memory for 0 s\. Nothing was written; try again\.$"):
        folder.append("taste.md", "a")
    folder.append("taste.md", "b")
    assert folder.read("taste.md") == "b\n"
