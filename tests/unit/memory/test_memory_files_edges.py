"""C3, G4, P3: refusals of the memory folder in full, and what must survive bytes that are no text."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from memflush_jupyter.clock import FixedClock
from memflush_jupyter.errors import MemoryFileError
from memflush_jupyter.memory import files, forget, history, names, paths
from memflush_jupyter.memory.files import MemoryFolder


@pytest.fixture
def folder(tmp_path: Path) -> MemoryFolder:
    made = MemoryFolder(tmp_path / "memory", clock=FixedClock("2026-11-30T09:00"), declared={"taste.md": "what is liked"})
    made.ensure()
    return made


def fails(call) -> str:
    with pytest.raises(MemoryFileError) as caught:
        call()
    return str(caught.value)


def test_what_is_private_lies_where_the_docs_say(folder: MemoryFolder) -> None:
    """G4: another version of the program finds the same history, journal and locks."""
    folder.replace("taste.md", "one", base_hash=None)
    folder.append("taste.md", "two")
    assert sorted(path.relative_to(folder.private).as_posix() for path in folder.private.rglob("*")) == [
        ".gitignore",
        "history",
        "history/h000001",
        "history/h000001/data",
        "history/h000001/meta.json",
        "locks",
        "locks/files.lock",
        "tmp",
    ]
    seen = []
    folder.append_built("taste.md", lambda text: seen.append(text) or "")
    assert seen == ["one\ntwo\n"]


def test_an_append_under_way_is_noted_by_name(folder: MemoryFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """P4: whoever takes the lock next finds which file to complete."""
    begun = []
    monkeypatch.setattr(files.writing.Journal, "begin", lambda journal, *record: begun.append((journal.path, *record)))
    folder.append("memory/topics/plots.md", "- one")
    assert begun == [(folder.private / "append.json", "topics/plots.md", 0, b"- one\n")]


def test_what_was_appended_is_returned_also_where_it_is_no_text(folder: MemoryFolder) -> None:
    """G3."""
    (folder.root / "taste.md").write_bytes(b"a\xff\n")
    assert folder.append_built("taste.md", lambda text: f"{text}b\n") == "a\udcff\nb\n"
    assert folder.read_bytes("taste.md") == b"a\xff\na\xff\nb\n"


def test_a_new_file_of_text_that_cannot_be_written_shows_it(folder: MemoryFolder) -> None:
    """G3: a lone surrogate becomes a question mark, no error."""
    folder.replace("taste.md", "a\ud800b", base_hash=None)
    assert folder.read_bytes("taste.md") == b"a?b"


def test_a_folder_that_cannot_be_made_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """G4."""
    made = MemoryFolder(tmp_path / "memory", clock=FixedClock("2026-11-30T09:00"), declared={})

    def refuse(*_args: object, **_options: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", refuse)
    sentence = (
        f"The memory folder {tmp_path / 'memory'} cannot be written: the folder or file is read-only here. Nothing was changed; "
        "change its permissions or set c.MemFlush.memory_dir to another folder."
    )
    assert fails(made.ensure) == sentence
    with pytest.raises(MemoryFileError) as caught, made.locked():
        pass
    assert str(caught.value) == sentence


def test_locks_that_a_file_system_lacks_are_named(folder: MemoryFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """G4."""

    def refuse(**_: object) -> None:
        raise NotImplementedError

    monkeypatch.setattr(folder._lock, "acquire", refuse)
    with pytest.raises(MemoryFileError) as caught, folder.locked():
        pass
    assert str(caught.value) == f"The memory folder {folder.root} cannot be written: the system says: files cannot be locked on this file system."


def test_a_path_that_cannot_be_looked_at_says_why(folder: MemoryFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """C3, G4."""

    def refuse(_: Path) -> os.stat_result:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "lstat", refuse)
    assert fails(lambda: paths.walk(folder.root, "taste.md", for_write=False)) == "memory/taste.md cannot be read: this user has no permission for it."


def test_the_kinds_of_file_that_are_refused(folder: MemoryFolder) -> None:
    """C3."""
    (folder.root / "topics").mkdir()
    (folder.root / "topics.md").mkdir()
    (folder.root / "Taste.md").write_text("x")
    (folder.root / "file").write_text("x")
    os.mkfifo(folder.root / "pipe.md")
    walk = paths.walk
    assert fails(lambda: walk(folder.root, "topics", for_write=False)) == "memory/topics is a folder; name a file in it."
    assert fails(lambda: walk(folder.root, "topics.md", for_write=True)) == "memory/topics.md is a folder; name a file in it."
    assert fails(lambda: walk(folder.root, "pipe.md", for_write=True)) == "memory/pipe.md is not an ordinary file, so it is neither read nor written."
    assert fails(lambda: walk(folder.root, "file/x.md", for_write=True)) == "memory/file/x.md is not an ordinary file, so it is neither read nor written."
    assert fails(lambda: walk(folder.root, "notes.txt", for_write=True)) == "memory/notes.txt is no markdown file; memory files end in '.md'."
    assert walk(folder.root, "notes.txt", for_write=False) == folder.root / "notes.txt"
    assert walk(folder.root, "NEW.MD", for_write=True) == folder.root / "NEW.MD"
    assert walk(folder.root, "none/deep/x.md", for_write=True) == folder.root / "none/deep/x.md"
    assert fails(lambda: walk(folder.root, "taste.md", for_write=True)) == (
        "memory/taste.md differs from Taste.md only in case or accents, which on many systems is the same file; use the name Taste.md."
    )
    assert fails(lambda: walk(folder.root, "TOPICS/x.md", for_write=True)).endswith("use the name topics.")
    assert walk(folder.root, "taste.md", for_write=False) == folder.root / "taste.md"


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("", "The name of the memory file is empty; name one such as 'memory/MEMORY.md'."),
        (" ", "The name of the memory file is empty; name one such as 'memory/MEMORY.md'."),
        ("a\nb.md", "'a\\nb.md' contains a control character; use an ordinary file name such as 'topics/plots.md'."),
        ("a\u2028b.md", "'a\\u2028b.md' contains a control character; use an ordinary file name such as 'topics/plots.md'."),
        ("a\u2029b.md", "'a\\u2029b.md' contains a control character; use an ordinary file name such as 'topics/plots.md'."),
        ("a\ud800b.md", "'a\\ud800b.md' contains a control character; use an ordinary file name such as 'topics/plots.md'."),
        ("a\\b.md", "'a\\\\b.md' contains a backslash; separate folders in memory by '/'."),
        ("/etc/x.md", "'/etc/x.md' is an absolute path; name memory files relative to the memory folder, such as 'memory/MEMORY.md'."),
        ("~/x.md", "'~/x.md' is an absolute path; name memory files relative to the memory folder, such as 'memory/MEMORY.md'."),
        ("c:x.md", "'c:x.md' is an absolute path; name memory files relative to the memory folder, such as 'memory/MEMORY.md'."),
        ("memory", "'memory' names the memory folder itself; name a file in it, such as 'memory/MEMORY.md'."),
        ("./", "'./' names the memory folder itself; name a file in it, such as 'memory/MEMORY.md'."),
        ("a/../b.md", "'a/../b.md' leaves the memory folder by '..'; only files inside it can be used."),
        ("a/.b.md", "'a/.b.md' is hidden; files and folders that begin with a dot are not memory."),
        (" a.md", "' a.md' begins or ends with a blank or ends with a dot, which some systems drop; choose another name."),
        ("a./b.md", "'a./b.md' begins or ends with a blank or ends with a dot, which some systems drop; choose another name."),
        ("a?.md", "'a?.md' cannot be a file name on every system; use letters, digits, '-' and '_'."),
        ("nul.md", "'nul.md' cannot be a file name on every system; use letters, digits, '-' and '_'."),
        ("1/2/3/4/5/6/7/8/9.md", "'1/2/3/4/5/6/7/8/9.md' lies too deep: at most 8 folders inside one another are used in memory."),
        ("x" * 201, f"'{'x' * 75}…' is too long a name: at most 200 bytes; choose a shorter one."),
    ],
)
def test_each_refused_name_has_its_sentence(name: str, sentence: str) -> None:
    """C3."""
    assert fails(lambda: names.canonical(name)) == sentence


@pytest.mark.parametrize("name", ["x" * 200, "1/2/3/4/5/6/7/8.md", "é.md", "memo.md", "con-1.md", "a b.md", "notes"])
def test_a_name_just_within_the_rules_is_kept(name: str) -> None:
    """C3."""
    assert names.canonical(name) == name


def test_a_long_name_is_shown_on_one_line() -> None:
    """C3: 80 characters with their quotes are shown whole, one more is cut to 78."""
    assert names._short("x" * 78) == "'" + "x" * 78 + "'"
    assert names._short("x" * 79) == "'" + "x" * 75 + "…'"
    assert names._short("ä\n") == "'\\xe4\\n'"
    assert names._short("ä") == "'ä'"


def test_the_folders_own_name_alone_is_a_file_in_it() -> None:
    """C3: only with something behind it is it a prefix."""
    assert names.canonical("notes", folder="notes") == "notes"
    assert names.canonical("notes/a.md", folder="notes") == "a.md"


def test_what_to_forget_must_be_said(folder: MemoryFolder) -> None:
    """G9."""
    assert fails(lambda: forget.candidates(folder, " ")) == (
        "Say what to forget: a line such as 'taste.md:12', a note such as 'mf:8f2c', or words that stand in it."
    )
    assert fails(lambda: forget.candidates(folder, "/(/")).startswith("/(/ is not a regular expression that can be read: ")


def test_a_history_that_cannot_be_written_says_what_that_means(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """P3, G9."""
    kept = history.History(tmp_path / "history", clock=FixedClock("2026-11-30T09:00"))
    kept.save("taste.md", b"secret", "edit")

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", refuse)
    assert fails(lambda: kept.save("taste.md", b"x", "edit")) == (
        "The history of memory/taste.md cannot be kept (No space left on device), so the file was not changed."
    )
    assert fails(lambda: kept.rewrite(lambda _name, _data: b"")) == (
        "The history entry h000001 cannot be rewritten (No space left on device); it still holds what was to be forgotten."
    )
    assert fails(lambda: kept.read("h000009")) == "There is no entry 'h000009' in the history of the memory files."
    assert kept.read("h000001") == b"secret"
