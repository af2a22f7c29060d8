"""G3: structure is read as Markdown means it; bytes stay as they are."""

from __future__ import annotations

import pytest

from memflush_jupyter.memory import document
from memflush_jupyter.memory.document import Bullet, Section, parse


def kinds(text: str) -> list[str]:
    return [line.kind for line in parse(text).lines()]


def test_lines_end_where_commonmark_says() -> None:
    """G3: lone CR is an ending; form feed, U+2028 and U+0085 are not."""
    assert document.split_lines("a\nb\r\nc\rd\x0ce\u2028f\x85g\x0bh") == ["a\n", "b\r\n", "c\r", "d\x0ce\u2028f\x85g\x0bh"]
    assert document.split_lines("") == []
    assert document.split_lines("\n\r") == ["\n", "\r"]
    assert [line.body for line in parse("a \r\nb").lines()] == ["a ", "b"]


def test_every_form_of_heading_begins_a_section() -> None:
    """F8, G3: ATX, closed ATX, Setext of several lines, indented, HTML; each ends the section before."""
    text = "before\n\n# One #\na\n\nTwo\nlines\n===\nb\n\nThree\n---\n   ### Four\n<h2 class='x'>Fi<b>ve</b></h2>\nc\n"
    assert parse(text).sections() == [
        Section(0, "", 0, 0, 2),
        Section(1, "One", 2, 3, 5),
        Section(1, "Two\nlines", 5, 8, 10),
        Section(2, "Three", 10, 12, 12, ("Two\nlines",)),
        Section(3, "Four", 12, 13, 13, ("Two\nlines", "Three")),
        Section(2, "Five", 13, 14, 15, ("Two\nlines",)),
    ]


@pytest.mark.parametrize(
    "text", ["```\n# no\n```\n", "~~~~ md\n# no\n~~~\n", "<!--\n# no\n-->\n", "    # no\n", "- a\n  # no\n", "> # no\n", "#no\n", "####### no\n"]
)
def test_what_only_looks_like_a_heading_is_none(text: str) -> None:
    """G3."""
    assert [section.level for section in parse(text).sections()] == [0]


def test_front_matter_is_no_section_and_unclosed_it_is_a_rule() -> None:
    """G3."""
    assert kinds("---\ntitle: x\n# y\n---\n# z\n") == ["front", "front", "front", "front", "heading"]
    assert kinds("\ufeff---\r\na: 1\r\n... \r\nb\r\n") == ["front", "front", "front", "text"]
    assert kinds("--- \ntitle\n") == ["text", "text"]
    assert kinds("\n---\na\n---\n") == ["blank", "text", "heading", "heading"]
    assert parse("---\na: 1\n---\n- b\n  c\n").bullets() == [Bullet(3, 5, 0, "b c")]
    assert parse("---\na: 1\n---\nx\n\n## T\n").sections() == [Section(0, "", 0, 0, 5), Section(2, "T", 5, 6, 6)]


def test_lines_know_the_block_they_belong_to() -> None:
    """G3."""
    text = "# H\n\ntext\n\n- a\n  more\n\n```py\nx\n```\n\n| a |\n|---|\n| 1 |\n\n<div>\n</div>\n\n    code\n"
    expected = "heading blank text blank bullet text blank code code code blank table table table blank html html blank code"
    assert kinds(text) == expected.split()
    assert kinds("- ```\n  x\n  ```\n") == ["bullet", "code", "code"]


def test_bullets_end_where_a_nested_list_begins() -> None:
    """G3: a nested list is items of its own, a continued line belongs to its item."""
    text = "- one\n  goes on\n  - two\n    1. three\n\n- four\n* five\n3) six\n"
    assert parse(text).bullets() == [
        Bullet(0, 2, 0, "one goes on"),
        Bullet(2, 3, 1, "two"),
        Bullet(3, 4, 2, "three"),
        Bullet(5, 6, 0, "four"),
        Bullet(6, 7, 0, "five"),
        Bullet(7, 8, 0, "six"),
    ]
    assert parse("- - a\n- \n").bullets() == [Bullet(0, 1, 0, "- a"), Bullet(0, 1, 1, "- a"), Bullet(1, 2, 0, "")]
    assert parse("> - quoted\n").bullets() == [Bullet(0, 1, 0, "quoted")]
    assert parse("- a\n\n  b\n\n\nc\n").bullets() == [Bullet(0, 3, 0, "a b")]


def test_blocks_divide_at_outermost_beginnings() -> None:
    """G1: a list divides into its items, a fence or table stays whole."""
    parsed = parse("# T\na\nb\n\n- x\n  - y\n- z\n\n```\nc\n\nd\n```\n")
    assert parsed.blocks(1, 13) == [(1, 4), (4, 6), (6, 8), (8, 13)]
    assert parsed.blocks(0, 13) == [(0, 1), (1, 4), (4, 6), (6, 8), (8, 13)]
    assert parsed.blocks(2, 2) == []
    assert parsed.bodies([6, 0]) == "- z\n# T\n"


def test_editing_lines_changes_nothing_else() -> None:
    """G3."""
    parsed = parse("\ufeffa\r\nb\rc")
    assert parsed.replace_line(0, "x").text == "x\r\nb\rc"
    assert parsed.replace_line(1, "x").text == "\ufeffa\r\nx\rc"
    assert parsed.replace_line(2, "x").text == "\ufeffa\r\nb\rx"
    assert parsed.remove_lines([0, 2]).text == "b\r"
    assert parsed.slice(1, 3) == "b\rc"


def test_the_usual_line_ending_is_the_more_frequent_one() -> None:
    """C2."""
    assert document.newline("a\r\nb\r\nc\n") == "\r\n"
    assert document.newline("a\r\nb\n") == "\n"
    assert document.newline("a\r\nb\nc\n") == "\n"
    assert document.newline("") == "\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ("", False)),
        ("text", ("", False)),
        ("- item\n", ("", True)),
        ("- item", ("", True)),
        ("- item\n\n", ("", False)),
        ("* item\n", ("", False)),
        ("- item\n  goes on\n", ("", False)),
        ("- item\nlazy\n", ("", False)),
        ("- a\n  - nested\n", ("", False)),
        ("<div>\n- a\n", ("", False)),
        ("```\n- a\n", ("```", False)),
        ("````py\n```\n", ("````", False)),
        ("~~~~~\nx\n~~~~\n", ("~~~~~", False)),
        ("```\nx\n```\n", ("", False)),
        ("- a\n  ```\n  x\n", ("", False)),
        ("> ```\n> x\n", ("", False)),
        ("<!-- x\n", ("-->", False)),
        ("<!-- x -->\n", ("", False)),
        ("<?php\n", ("?>", False)),
        ("<![CDATA[\n", ("]]>", False)),
        ("<!DOCTYPE\n", (">", False)),
        ("<SCRIPT>\n", ("</script>", False)),
        ("<style>\n", ("</style>", False)),
        ("<textarea>\n", ("</textarea>", False)),
        (" <pre>\n\nx", ("</pre>", False)),
        ("<div>\n", ("", False)),
        ("---\na: 1\n---\n```\n", ("```", False)),
        ("\ufeff```\n", ("```", False)),
    ],
)
def test_what_a_person_left_open_is_known(text: str, expected: tuple[str, bool]) -> None:
    """C2: the line that must come before an appended list, and whether a list is going on."""
    assert document.ending(text) == expected
