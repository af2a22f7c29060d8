"""C3, G7: which names a memory file may have."""

from __future__ import annotations

import pytest

from memflush_jupyter.errors import MemoryFileError
from memflush_jupyter.memory import names


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("MEMORY.md", "MEMORY.md"),
        ("memory/MEMORY.md", "MEMORY.md"),
        ("./topics//x.md", "topics/x.md"),
        ("notes/taste.md", "taste.md"),
        ("memory/memory/x.md", "memory/x.md"),
        ("memory.md", "memory.md"),
        ("主题/图.md", "主题/图.md"),
        ("a b.md", "a b.md"),
        ("1/2/3/4/5/6/7/8", "1/2/3/4/5/6/7/8"),
        ("x" * 197 + ".md", "x" * 197 + ".md"),
    ],
)
def test_a_name_is_taken_relative_to_the_folder_with_or_without_prefix(name: str, expected: str) -> None:
    """C3."""
    assert names.canonical(name, folder="notes") == expected


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("", "is empty"),
        ("  ", "is empty"),
        ("memory", "'memory' names the memory folder itself"),
        ("memory/", "names the memory folder itself"),
        (".", "names the memory folder itself"),
        ("../x.md", "'../x.md' leaves the memory folder by '..'"),
        ("topics/../../x.md", "leaves the memory folder by '..'"),
        ("memory/..", "leaves the memory folder by '..'"),
        ("/etc/passwd", "is an absolute path"),
        ("//server/x.md", "is an absolute path"),
        ("~/x.md", "is an absolute path"),
        ("C:x.md", "is an absolute path"),
        ("c:/x.md", "is an absolute path"),
        ("topics\\x.md", "contains a backslash"),
        ("x\0.md", "'x\\x00.md' contains a control character"),
        ("x\n.md", "contains a control character"),
        ("x\u2028.md", "contains a control character"),
        ("x\ud800.md", "contains a control character"),
        (".memflush/store.sqlite3", "is hidden"),
        (".MemFlush/x.md", "is hidden"),
        (".git/config", "is hidden"),
        ("topics/.x.md", "is hidden"),
        ("x" * 198 + ".md", "is too long a name: at most 200 bytes"),
        ("图" * 67 + ".md", "is too long a name"),
        ("1/2/3/4/5/6/7/8/9.md", "lies too deep: at most 8 folders"),
        ("MEMORY.md ", "begins or ends with a blank"),
        ("topics /x.md", "begins or ends with a blank"),
        ("MEMORY.md.", "ends with a dot"),
        ("taste.md:stream", "cannot be a file name on every system"),
        ("what?.md", "cannot be a file name on every system"),
        ("nul.md", "cannot be a file name on every system"),
        ("topics/COM1", "cannot be a file name on every system"),
    ],
)
def test_a_name_that_leads_elsewhere_is_refused_in_a_sentence(name: str, part: str) -> None:
    """C3: `..`, absolute, NUL, hidden, too long, or another file on another system."""
    with pytest.raises(MemoryFileError) as caught:
        names.canonical(name)
    assert part in str(caught.value)
    assert len(str(caught.value)) < 250


def test_a_long_refused_name_is_shown_short() -> None:
    """A message stays one line."""
    with pytest.raises(MemoryFileError, match=r"^'y{75}…' is too long"):
        names.canonical("y" * 300)
    with pytest.raises(MemoryFileError, match=r"^'\.y{77}' is hidden"):
        names.canonical("." + "y" * 77)


def test_case_and_composition_fold_to_one() -> None:
    """C3: what is one file on macOS or Windows is one name here."""
    assert names.fold("É.md") == names.fold("e\u0301.MD")
    assert names.fold("STRASSE.md") == names.fold("straße.md")
    assert names.fold("a.md") != names.fold("b.md")


def test_daily_names_are_dates() -> None:
    """C1."""
    assert names.is_daily("2026-11-30.md")
    assert not any(map(names.is_daily, ["2026-11-30.txt", "x2026-11-30.md", "2026-11-30.md.md", "topics/2026-11-30.md"]))
    assert names.logical("2026-11-30.md") == "memory/2026-11-30.md"
