"""G9: forgetting is a person's right, in files and history alike."""

from __future__ import annotations

from pathlib import Path

import pytest

from memflush_jupyter.clock import FixedClock
from memflush_jupyter.errors import MemoryFileError
from memflush_jupyter.memory.files import MemoryFolder
from memflush_jupyter.memory.forget import Forgotten, Line, candidates, forget

DAILY = "# Day\r\n\r\n- Ada likes teal <!-- mf:a1 t=4be1#1 o=user -->\r\n- Ada's  phone is 555,\r\n  never call it\r\n- other"


@pytest.fixture
def folder(tmp_path: Path) -> MemoryFolder:
    made = MemoryFolder(tmp_path / "memory", clock=FixedClock("2026-11-30T09:00"), declared={})
    made.ensure()
    (made.root / "2026-11-30.md").write_bytes(DAILY.encode())
    (made.root / "IDENTITY.md").write_bytes("\ufeffWorks for Ada.\n".encode())
    return made


def places(folder: MemoryFolder, pattern: str) -> list[tuple[str, int]]:
    return [(line.file, line.number) for line in candidates(folder, pattern)]


def test_the_list_shows_whole_bullets_without_their_sources(folder: MemoryFolder) -> None:
    """G9: the list before the yes."""
    assert candidates(folder, "phone") == [
        Line("2026-11-30.md", 4, "- Ada's  phone is 555,\r\n  never call it\r\n", "- Ada's phone is 555, never call it", None)
    ]
    assert candidates(folder, "teal") == [Line("2026-11-30.md", 3, "- Ada likes teal <!-- mf:a1 t=4be1#1 o=user -->\r\n", "- Ada likes teal", "a1")]


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("ADA", [("2026-11-30.md", 3), ("2026-11-30.md", 4), ("IDENTITY.md", 1)]),
        ("  555,   NEVER call ", [("2026-11-30.md", 4)]),
        ("mf:a1", [("2026-11-30.md", 3)]),
        ("mf:a", []),
        ("4be1", []),
        (r"/lik\w+ t/", [("2026-11-30.md", 3)]),
        ("/ADA.$/", [("IDENTITY.md", 1)]),
        ("memory/2026-11-30.md:3", [("2026-11-30.md", 3)]),
        ("2026-11-30.md:5", [("2026-11-30.md", 4)]),
        ("2026-11-30.md:6", [("2026-11-30.md", 6)]),
        ("2026-11-30.md:2", []),
        ("2026-11-30.md:99", []),
        ("//", []),
        ("nothing like it", []),
    ],
)
def test_a_pattern_is_a_place_a_note_an_expression_or_words(folder: MemoryFolder, pattern: str, found: list[tuple[str, int]]) -> None:
    """G9."""
    assert places(folder, pattern) == found


@pytest.mark.parametrize(("pattern", "part"), [(" ", "Say what to forget"), ("/(/", "is not a regular expression"), ("none.md:3", "There is no memory file")])
def test_a_pattern_that_cannot_be_used_says_so(folder: MemoryFolder, pattern: str, part: str) -> None:
    """G9."""
    with pytest.raises(MemoryFileError, match=part):
        candidates(folder, pattern)


def test_forgetting_leaves_every_other_byte(folder: MemoryFolder) -> None:
    """G3, G9: no preimage keeps what was forgotten."""
    assert forget(folder, candidates(folder, "ada")) == Forgotten(3, ("2026-11-30.md", "IDENTITY.md"), ("a1",), ())
    assert folder.read_bytes("2026-11-30.md") == b"# Day\r\n\r\n- other"
    assert folder.read_bytes("IDENTITY.md") == b""
    assert folder.history.entries() == []
    assert not any(b"555" in path.read_bytes() for path in folder.root.rglob("*") if path.is_file())


def test_forgetting_reaches_the_history(folder: MemoryFolder) -> None:
    """G9: also an older wording of the same note, or undo would bring it back."""
    folder.replace("2026-11-30.md", DAILY.replace("likes teal", "prefers blue").replace("555", "777"), base_hash=None)
    assert forget(folder, candidates(folder, "prefers blue")) == Forgotten(1, ("2026-11-30.md",), ("a1",), ("h000001",))
    assert folder.history.read("h000001") == b"# Day\r\n\r\n- Ada's  phone is 555,\r\n  never call it\r\n- other"
    gone = candidates(folder, "555")
    assert gone == [Line("2026-11-30.md", 0, "- Ada's  phone is 555,\r\n  never call it\r\n", "- Ada's phone is 555, never call it", None, "history")]
    assert forget(folder, gone) == Forgotten(1, (), (), ("h000001",))
    assert folder.history.read("h000001") == b"# Day\r\n\r\n- other"
    assert candidates(folder, "777")[0].where == "file"


def test_the_same_words_in_another_files_history_stay(folder: MemoryFolder) -> None:
    """G9: only what was listed goes."""
    folder.append("a.md", "- same")
    folder.replace("a.md", "x", base_hash=None)
    folder.append("b.md", "- same")
    listed = [line for line in candidates(folder, "same") if line.file == "b.md"]
    assert forget(folder, listed).history == ()
    assert folder.history.read("h000001") == b"- same\n"
    assert not folder.exists("c.md")


def test_nothing_is_forgotten_when_a_file_changed_since_the_list(folder: MemoryFolder) -> None:
    """P3: a yes holds for what was shown."""
    listed = candidates(folder, "ada")
    (folder.root / "IDENTITY.md").write_text("Works for Bob.\n")
    with pytest.raises(MemoryFileError, match=r"^memory/IDENTITY\.md changed since the list was made, so nothing was forgotten\."):
        forget(folder, listed)
    assert folder.read_bytes("2026-11-30.md") == DAILY.encode()
    assert candidates(folder, "bob")[0].text == "Works for Bob."


def test_forgetting_bytes_that_are_no_text(folder: MemoryFolder) -> None:
    """G3."""
    (folder.root / "a.md").write_bytes(b"caf\xe9 one\nb\xe9 two\n")
    assert candidates(folder, "caf\ufffd")[0].text == "caf\ufffd one"
    forget(folder, candidates(folder, "one"))
    assert folder.read_bytes("a.md") == b"b\xe9 two\n"
