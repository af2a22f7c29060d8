"""C2, G3: what is changed takes the file's ways, what is not keeps its bytes."""

from __future__ import annotations

import pytest

from memflush_jupyter.memory.edits import appended, carry_over, decode

BOM = "\ufeff"


@pytest.mark.parametrize(
    ("existing", "text", "expected"),
    [
        (None, "a", "a\n"),
        ("", "a\n", "a\n"),
        (BOM, "a", "a\n"),
        ("x\n", "a\nb", "a\nb\n"),
        ("x", "a", "\na\n"),
        ("x\r\ny", "a\nb\n", "\r\na\r\nb\r\n"),
        ("x\r", "a", "a\n"),
        ("x\n", "a\r\n\r\nb", "a\n\nb\n"),
        ("x", "", ""),
    ],
)
def test_appended_text_stands_on_lines_of_its_own(existing: str | None, text: str, expected: str) -> None:
    """C2: the newline before it is repaired; its endings become the file's."""
    assert appended(existing, text) == expected


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (b"a\r\nb\r\nc\r\n", "a\nB\nc\n", b"a\r\nB\r\nc\r\n"),
        (b"a\nb\rc\r\nd", "a\nb\nc\nd\n", b"a\nb\rc\r\nd"),
        (b"\xef\xbb\xbfa\r\nb", "x\nb", b"\xef\xbb\xbfx\r\nb"),
        (b"\xef\xbb\xbfa\n", "a\nb\n", b"\xef\xbb\xbfa\nb\n"),
        (b"\xef\xbb\xbfa\n", "\ufeffx\n", b"\xef\xbb\xbfx\n"),
        (b"a\n", "\ufeffx\n", b"x\n"),
        (b"caf\xe9\nb\n", "caf\ufffd\nc\n", b"caf\xe9\nc\n"),
        (b"a", "a\nb", b"a\nb"),
        (b"a\nb\n", "b\na\n", b"b\na\n"),
        (b"a\n", "", b""),
        (b"", "a\nb", b"a\nb"),
        (b"a\nb\nc\nd\n", "a\nc\nX\nd\n", b"a\nc\nX\nd\n"),
        (b"same\r\n1\r\nsame\r\n2\r\nsame\r\n", "same\n2\nsame\n", b"same\r\n2\r\nsame\r\n"),
    ],
)
def test_unchanged_lines_keep_their_bytes(old: bytes, new: str, expected: bytes) -> None:
    """G3: BOM, line endings and bytes that are no UTF-8 survive an edit in a cell."""
    assert carry_over(old, new) == expected


def test_large_files_are_edited_quickly_by_their_ends() -> None:
    """G3: a 1 MB file with a small edit."""
    old = b"".join(b"- line %d\r\n" % number for number in range(70_000))
    new = old.decode().replace("\r\n", "\n").replace("- line 40000\n", "- line changed\n- more\n")
    assert carry_over(old, new) == old.replace(b"- line 40000\r\n", b"- line changed\r\n- more\r\n")


def test_any_bytes_have_a_text() -> None:
    """G3, G4."""
    assert decode(b"\xef\xbb\xbfa\xff") == "a\ufffd"
    assert decode("é\n".encode("utf-16")) == "é\n"
