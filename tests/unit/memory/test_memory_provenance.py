"""P5: every remembered line says where it comes from."""

from __future__ import annotations

import pytest

from memflush_jupyter.errors import MemoryFileError
from memflush_jupyter.memory import provenance
from memflush_jupyter.memory.provenance import Provenance

LINE = "- Outliers are dropped above 3 sigma. <!-- mf:8f2c t=4be1#118 o=user -->"


def test_a_source_is_written_as_the_design_shows() -> None:
    """P5."""
    assert provenance.render(Provenance("8f2c", "4be1", 118, "user")) == "<!-- mf:8f2c t=4be1#118 o=user -->"
    assert provenance.render(Provenance("8f2c", None, None, "agent")) == "<!-- mf:8f2c o=agent -->"
    assert provenance.render(Provenance("a-b", "t_1", 0, "tool", floor=True)) == "<!-- mf:a-b t=t_1#0 o=tool floor -->"
    assert provenance.render(Provenance("a", None, None, "user", floor=True, extra={"score": "0.81", "n": "2"})) == "<!-- mf:a o=user floor score=0.81 n=2 -->"


def test_a_source_is_read_back() -> None:
    """P5."""
    assert provenance.parse(LINE) == Provenance("8f2c", "4be1", 118, "user")
    assert provenance.parse("- x <!-- mf:a o=tool floor score=0.81 -->\r\n") == Provenance("a", None, None, "tool", floor=True, extra={"score": "0.81"})
    assert provenance.parse("- x <!-- mf:a o=tool floor=1 -->") == Provenance("a", None, None, "tool", extra={"floor": "1"})


@pytest.mark.parametrize(
    "line",
    [
        "- a line of the person's",
        "- x <!-- another comment -->",
        "- x <!-- mf: o=user -->",
        "- x <!-- mf:a o=somebody -->",
        "- x <!-- mf:a t=4be1 o=user -->",
        "- x <!-- mf:a t=4be1#x o=user -->",
        "- x <!-- mf:a o=user --",
        "- x <!--mf:a o=user-->",
    ],
)
def test_a_line_without_a_whole_source_is_a_persons(line: str) -> None:
    """P3: deleting or damaging the comment makes the line theirs."""
    assert provenance.parse(line) is None
    assert provenance.strip(line) == line
    assert provenance.ids(line) == set()


def test_of_several_sources_the_last_counts() -> None:
    """P5."""
    assert provenance.parse("- x <!-- mf:a o=user --> <!-- mf:b o=tool -->") == Provenance("b", None, None, "tool")


def test_stripping_leaves_the_text_as_it_is() -> None:
    """G1."""
    assert provenance.strip(LINE) == "- Outliers are dropped above 3 sigma."
    assert provenance.strip(f"a  \n{LINE} and more\r\n\tb") == "a  \n- Outliers are dropped above 3 sigma. and more\r\n\tb"
    assert provenance.ids(f"{LINE}\n- x <!-- mf:b o=tool -->") == {"8f2c", "b"}


@pytest.mark.parametrize(
    ("source", "part"),
    [
        (Provenance("a b", None, None, "user"), "'a b' cannot be kept as the source"),
        (Provenance("", None, None, "user"), "'' cannot be kept"),
        (Provenance("a--b", None, None, "user"), "'a--b' cannot be kept"),
        (Provenance("a", "t>", 1, "user"), "'t>' cannot be kept"),
        (Provenance("a", "t", None, "user"), "both the trace and the sequence"),
        (Provenance("a", None, 1, "user"), "both the trace and the sequence"),
        (Provenance("a", None, None, "user", extra={"k": "a b"}), "k='a b' cannot be kept"),
        (Provenance("a", None, None, "user", extra={"k": "a--b"}), "k='a--b' cannot be kept"),
        (Provenance("a", None, None, "user", extra={"k ": "a"}), "cannot be kept with a note"),
    ],
)
def test_what_would_break_the_comment_is_refused(source: Provenance, part: str) -> None:
    """P5."""
    with pytest.raises(MemoryFileError) as caught:
        provenance.render(source)
    assert part in str(caught.value)
