"""C1, C2, C9: notes become bullets in the day's file, once, whatever a person left there."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from memflush_jupyter.clock import FixedClock
from memflush_jupyter.errors import MemoryFileError
from memflush_jupyter.memory import daily
from memflush_jupyter.memory.daily import append_notes, compose, note_text, render_note
from memflush_jupyter.memory.files import MemoryFolder


class Ticking:
    """A clock that a test moves."""

    def __init__(self, *moments: datetime) -> None:
        self.moments = list(moments)

    def now(self) -> datetime:
        return self.moments.pop(0) if len(self.moments) > 1 else self.moments[0]


@pytest.fixture
def folder(tmp_path: Path) -> MemoryFolder:
    made = MemoryFolder(tmp_path / "memory", clock=FixedClock("2026-11-30T09:00"), declared={"taste.md": "what is liked"})
    made.ensure()
    return made


def note(identity: str = "8f2c", text: str = "text") -> str:
    return render_note(identity, text, "4be1", 118, "user")


def test_a_note_is_one_bullet_with_its_source() -> None:
    """P5, C2."""
    assert render_note("8f2c", "Use  3 sigma\n\n- for Q3\t", "4be1", 118, "user") == "- Use 3 sigma - for Q3 <!-- mf:8f2c t=4be1#118 o=user -->"
    assert render_note("a", "x", None, None, "tool", True) == "- x <!-- mf:a o=tool floor -->"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("# not a heading", "\\# not a heading"),
        ("#tag", "#tag"),
        ("- a", "\\- a"),
        ("-5 degrees", "-5 degrees"),
        ("+ a", "\\+ a"),
        ("* a", "\\* a"),
        ("*a*", "*a*"),
        ("* * *", "\\* * *"),
        ("---", "\\---"),
        ("_ _ _", "\\_ _ _"),
        ("2024. Revenue", "2024\\. Revenue"),
        ("3) x", "3\\) x"),
        ("3.5 mm", "3.5 mm"),
        ("> quote", "\\> quote"),
        ("```py", "\\```py"),
        ("~~~", "\\~~~"),
        ("`x` is y", "`x` is y"),
        ("<div>", "\\<div>"),
        ("</b> x", "\\</b> x"),
        ("<https://x.org> y", "<https://x.org> y"),
        ("[x]: http://e.org", "\\[x]: http://e.org"),
        ("[x](y)", "[x](y)"),
        ("a <!-- mf:1 o=user --> b", "a &lt;!-- mf:1 o=user --&gt; b"),
        ("<!A hidden", "&lt;!A hidden"),
        ("a\x00b\x07c\ud800", "abc\ufffd"),
        ("a\u2028b\x0cc\x85d", "a b c d"),
        ("日本語", "日本語"),
    ],
)
def test_a_notes_text_cannot_become_another_block(text: str, shown: str) -> None:
    """C2, P8: and it is read back as it was meant."""
    line = render_note("i", text, None, None, "agent")
    assert line == f"- {shown} <!-- mf:i o=agent -->"
    if not text.startswith("a\x00") and "\u2028" not in text:
        assert note_text(line) == text


def test_a_persons_line_is_read_as_it_stands() -> None:
    """P3: their backslashes are theirs."""
    assert note_text("- \\# mine &lt;!\r\n") == "\\# mine &lt;!"
    assert note_text("plain") == "plain"
    assert note_text("- \\x <!-- mf:i o=agent -->") == "\\x"


@pytest.mark.parametrize("text", ["", " \n\t", "\x00"])
def test_an_empty_note_is_refused(text: str) -> None:
    """C2."""
    with pytest.raises(MemoryFileError, match="needs some text"):
        render_note("i", text, None, None, "agent")


@pytest.mark.parametrize(
    ("existing", "addition"),
    [
        (None, "# T\n\n- n\n"),
        ("", "# T\n\n- n\n"),
        ("\ufeff", "# T\n\n- n\n"),
        ("\n\n", "# T\n\n- n\n"),
        (" ", "\n# T\n\n- n\n"),
        ("\r\n", "# T\r\n\r\n- n\r\n"),
        ("- a\n", "- n\n"),
        ("- a", "\n- n\n"),
        ("- a\n\n", "- n\n"),
        ("# H\n", "\n- n\n"),
        ("text", "\n\n- n\n"),
        ("text\r\nmore", "\r\n\r\n- n\r\n"),
        ("text\r\n \r\n", "- n\r\n"),
        ("text\r", "\r\n- n\n"),
        ("```\nx", "\n```\n\n- n\n"),
        ("```\nx\n\n", "```\n\n- n\n"),
        ("<!-- x\r\n", "-->\r\n\r\n- n\r\n"),
        ("| a |\n|---|\n| 1 |\n", "\n- n\n"),
    ],
)
def test_what_is_appended_suits_what_stands_there(existing: str | None, addition: str) -> None:
    """C2: newline repaired, the file's line ending, what is open closed by our own line, heading only in a new file."""
    assert compose(existing, ["- n"], title="T") == addition


def test_a_note_already_in_the_file_or_twice_in_the_batch_is_written_once() -> None:
    """C9, C14."""
    assert compose(f"{note('a')}\n", [note("a", "other words"), note("b"), note("b")], title="T") == f"{note('b')}\n"
    assert compose(f"{note('a')}\n", [note("a")], title="T") == ""
    assert compose(None, [], title="T") == ""


def test_notes_go_to_the_days_file_with_a_heading_once(folder: MemoryFolder) -> None:
    """C1, C2."""
    assert append_notes(folder, [note("a", "one")]) == "memory/2026-11-30.md"
    assert append_notes(folder, [note("b", "two"), note("a", "one")]) == "memory/2026-11-30.md"
    assert folder.read("2026-11-30.md") == f"# 2026-11-30\n\n{note('a', 'one')}\n{note('b', 'two')}\n"


def test_nothing_to_write_creates_nothing(folder: MemoryFolder) -> None:
    """C2: no empty file after a silent flush."""
    assert append_notes(folder, []) == "memory/2026-11-30.md"
    assert folder.names() == []


def test_notes_go_to_topics_and_declared_files_only(folder: MemoryFolder) -> None:
    """G7."""
    assert append_notes(folder, [note()], file="memory/topics/plots.md") == "memory/topics/plots.md"
    assert append_notes(folder, [note()], file="TASTE.md") == "memory/taste.md"
    assert folder.read("topics/plots.md") == f"# plots\n\n{note()}\n"
    assert folder.read("taste.md") == f"# taste\n\n{note()}\n"
    with pytest.raises(
        MemoryFileError, match=r"^Notes cannot be appended to memory/MEMORY.md. Use one of: memory/2026-11-30.md, memory/topics/NAME.md, memory/taste.md.$"
    ):
        append_notes(folder, [note()], file="MEMORY.md")
    assert folder.names() == ["taste.md", "topics/plots.md"]


def test_the_day_is_that_of_the_write_in_the_persons_zone(tmp_path: Path) -> None:
    """C1: not of UTC, and not of the moment the flush began."""
    zone = timezone(timedelta(hours=9))
    clock = Ticking(datetime(2026, 11, 30, 23, 59, 59, tzinfo=zone), datetime(2026, 12, 1, 0, 0, 1, tzinfo=zone))
    made = MemoryFolder(tmp_path / "memory", clock=clock, declared={})
    assert made.daily_name(datetime(2026, 11, 30, 20, tzinfo=UTC)) == "2026-11-30.md"
    assert append_notes(made, [note("a")]) == "memory/2026-11-30.md"
    assert append_notes(made, [note("b")]) == "memory/2026-12-01.md"
    assert made.names() == ["2026-11-30.md", "2026-12-01.md"]


@pytest.mark.parametrize(
    "start", [b"\xef\xbb\xbf# Monday\r\n\r\nmy words", b"```python\nopen = 1", b"caf\xe9\n", b"- mine\n", b"<!-- todo\nlater\n", b"\x00\x01"]
)
def test_a_persons_file_of_the_day_stays_the_beginning(folder: MemoryFolder, start: bytes) -> None:
    """C2, P3: BOM, CRLF, no newline at the end, open fence or comment, no UTF-8: existing bytes stay identical."""
    (folder.root / "2026-11-30.md").write_bytes(start)
    append_notes(folder, [note()])
    data = folder.read_bytes("2026-11-30.md")
    assert data.startswith(start)
    assert data.rstrip().endswith(note().encode())
    assert b"# 2026-11-30" not in data


def test_written_notes_are_found_in_whatever_file(folder: MemoryFolder) -> None:
    """C9: after a restart, also on another day."""
    (folder.root / "2026-11-29.md").write_text(f"{note('a')}\n{note('b')}\n")
    append_notes(folder, [note("c")], file="topics/x.md")
    assert daily.written_ids(folder, ["a", "c", "z"]) == {"a": "2026-11-29.md", "c": "topics/x.md"}
    assert daily.written_ids(folder, []) == {}


def test_a_file_that_cannot_be_read_does_not_stop_the_search_for_notes(folder: MemoryFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """C9, G4."""
    (folder.root / "2026-11-29.md").write_text(f"{note('a')}\n")
    (folder.root / "locked.md").write_text(f"{note('b')}\n")
    real = folder.read

    def read(name: str) -> str:
        if name == "locked.md":
            raise MemoryFileError("this user has no permission for it.")
        return real(name)

    monkeypatch.setattr(folder, "read", read)
    assert daily.written_ids(folder, ["a", "b"]) == {"a": "2026-11-29.md"}
