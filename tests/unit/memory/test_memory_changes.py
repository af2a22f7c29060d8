"""G2: what is told of memory files that another hand changed. Pure."""

from __future__ import annotations

import pytest

from memflush_jupyter.memory.changes import CLOSE, OPEN, Change, Seen, carried, compare, lines_of, own_lines, render

NONE: dict[str, frozenset[str]] = {}


def seen(text: str | None, *, mark: str = "", gone: bool = False) -> Seen:
    return Seen(mark or str(text), None if text is None else lines_of(text), gone)


def words(text: str) -> int:
    return len(text.split())


@pytest.mark.parametrize(
    ("before", "after", "changes"),
    [
        ({}, {}, []),
        ({"a.md": seen("x")}, {"a.md": seen("x")}, []),
        ({"a.md": seen("x")}, {"a.md": seen("y")}, [Change("a.md", "edited", ("y",), ("x",))]),
        ({"a.md": seen("x\ny")}, {"a.md": seen("y\nx")}, []),
        ({"a.md": seen("x\n\ny")}, {"a.md": seen(" x \ny")}, []),
        ({"a.md": seen("x\nx")}, {"a.md": seen("x")}, [Change("a.md", "edited", (), ("x",))]),
        ({"a.md": seen("x")}, {"a.md": seen("x\nz\nx")}, [Change("a.md", "edited", ("x", "z"), ())]),
        ({"a.md": seen("1\n2\n3")}, {"a.md": seen("3\n4\n5")}, [Change("a.md", "edited", ("4", "5"), ("1", "2"))]),
        ({"a.md": seen(None, mark="1")}, {"a.md": seen(None, mark="2")}, [Change("a.md", "edited")]),
        ({"a.md": seen(None, mark="1")}, {"a.md": seen("y")}, [Change("a.md", "edited")]),
        ({"a.md": seen("y")}, {"a.md": seen(None, mark="2")}, [Change("a.md", "edited")]),
        ({}, {"a.md": seen("x\n\ny")}, [Change("a.md", "new", ("x", "y"))]),
        ({}, {"a.md": seen("")}, []),
        ({}, {"a.md": seen("# a")}, []),
        ({}, {"topics/b.md": seen("# b\n# topics/b")}, [Change("topics/b.md", "new", ("# topics/b",))]),
        ({}, {"a.md": seen(None, mark="1")}, [Change("a.md", "new")]),
        ({"a.md": seen("x")}, {}, [Change("a.md", "gone")]),
        ({"a.md": seen("x"), "b.md": seen("y")}, {"c.md": seen("x"), "b.md": seen("y")}, [Change("c.md", "renamed", was="a.md")]),
        ({"a.md": seen("x"), "b.md": seen("x")}, {"c.md": seen("x")}, [Change("c.md", "renamed", was="a.md"), Change("b.md", "gone")]),
        ({"a.md": seen("x"), "b.md": seen("x")}, {"c.md": seen("x"), "b.md": seen("x")}, [Change("c.md", "renamed", was="a.md")]),
        ({"a.md": seen("x", gone=True)}, {"a.md": seen("x")}, [Change("a.md", "back")]),
        ({"a.md": seen("x", gone=True)}, {"a.md": seen("y")}, [Change("a.md", "new", ("y",))]),
        ({"a.md": seen("x", gone=True)}, {}, []),
        ({"a.md": seen("x", gone=True)}, {"b.md": seen("x")}, [Change("b.md", "new", ("x",))]),
        ({"a.md": seen("- x\n- y")}, {"a.md": seen("- y\n- [forgotten]")}, [Change("a.md", "edited", ("- [forgotten]",), ("- x",))]),
        ({"a.md": seen("- [forgotten]\n- y", mark="1")}, {"a.md": seen("- y")}, []),
    ],
)
def test_changes_between_two_looks(before, after, changes):
    """G2: lines as a multiset, in the order of their file; a forgotten line's going is no news (G9)."""
    assert compare(before, after, NONE) == changes


def test_own_lines_are_no_news_when_they_come_and_are_when_they_go():
    """G2: only where the file says that they came from this conversation."""
    text = "- mine <!-- mf:a1 t=4be1#1 o=user -->\n- theirs <!-- mf:a2 t=5555#1 o=user -->\n- by hand\n- old <!-- mf:a3 o=agent -->"
    own = {"a.md": own_lines(text, "4be1")}
    assert own == {"a.md": frozenset({"- mine"})}
    assert compare({}, {"a.md": seen(text)}, own) == [Change("a.md", "new", ("- theirs", "- by hand", "- old"))]
    assert compare({"a.md": seen("")}, {"a.md": seen(text)}, own) == [Change("a.md", "edited", ("- theirs", "- by hand", "- old"))]
    assert compare({"a.md": seen("- mine")}, {"a.md": seen("")}, own) == [Change("a.md", "edited", (), ("- mine",))]
    assert compare({}, {"a.md": seen("- mine")}, own) == []
    assert compare({}, {"b.md": seen("- mine")}, own) == [Change("b.md", "new", ("- mine",))]


def test_what_is_carried_on_knows_what_went():
    """G2: so that a file that comes again is known."""
    before = {"a.md": seen("x"), "b.md": seen("y"), "c.md": seen("z", gone=True)}
    assert carried(before, {"b.md": seen("w")}) == {"a.md": Seen("x", None, gone=True), "b.md": seen("w"), "c.md": Seen("z", None, gone=True)}
    assert carried({"a.md": seen("x", gone=True)}, {"a.md": seen("x")}) == {"a.md": seen("x")}


def test_the_note_shows_lines_where_they_fit():
    """G2."""
    changes = [
        Change("a.md", "edited", ("- one",), ("- two",)),
        Change("b.md", "new", ("- b",)),
        Change("c.md", "gone"),
        Change("d.md", "back"),
        Change("e.md", "renamed", was="f.md"),
    ]
    assert render(changes, count=words).splitlines() == (
        [
            OPEN,
            "memory/a.md was edited (+ added, - removed):",
            "+ - one",
            "- - two",
            "memory/b.md is new (+ added, - removed):",
            "+ - b",
            "memory/c.md was deleted: what it said no longer holds.",
            "memory/d.md is there again, as it was.",
            "memory/f.md is now memory/e.md.",
            CLOSE,
        ]
    )
    assert render([], count=words) == ""


def test_what_does_not_fit_is_counted_the_largest_first():
    """G2: never over the budget."""
    small, large = Change("a.md", "edited", ("- one two",)), Change("b.md", "edited", tuple(f"- line {n}" for n in range(40)), ("- x", "- y"))
    both = render([large, small], count=words, budget=40)
    assert both.splitlines()[1:-1] == [
        'memory/b.md was edited (40 lines added, 2 lines removed): read_file path="memory/b.md"',
        "memory/a.md was edited (+ added, - removed):",
        "+ - one two",
    ]
    fitting = words(both)
    assert render([large, small], count=words, budget=fitting) == both
    assert 'memory/a.md was edited (1 line added): read_file path="memory/a.md"' in render([large, small], count=words, budget=fitting - 1)
    assert render([large, small], count=words, budget=25).splitlines()[1:-1] == ['2 memory files changed: list_files path="memory", then read_file']


def test_long_lines_are_cut_and_our_own_tag_in_them_is_harmless():
    """G2, P8: at 240 characters."""
    shown = render([Change("a.md", "new", ("x" * 240, "y" * 241, "a </memory_changed> <MEMORY_CHANGED x"))], count=lambda _: 1).splitlines()
    assert shown[2:5] == [f"+ {'x' * 240}", f"+ {'y' * 240}…", "+ a &lt;/memory_changed> &lt;MEMORY_CHANGED x"]
