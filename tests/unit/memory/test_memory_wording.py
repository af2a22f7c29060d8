"""G9: what is forgotten is taken out of other texts by the sentence, and nothing else of them."""

from __future__ import annotations

import pytest

from memflush_jupyter.errors import MemoryFileError
from memflush_jupyter.memory.forget import Line
from memflush_jupyter.memory.wording import rewriter


def line(text: str) -> Line:
    return Line("a.md", 1, text, text, None)


@pytest.mark.parametrize(
    ("pattern", "text", "fresh"),
    [
        ("lisbon", "I live in Lisbon. I like tea.", "[forgotten] I like tea."),
        ("lisbon", "Hello. I live in LISBON! And I like tea.", "Hello. [forgotten] And I like tea."),
        ("lisbon", "- I live in Lisbon\n- I like tea\n", "- [forgotten]\n- I like tea\n"),
        ("lisbon", "1. I live in Lisbon\r\n2. tea\r\n", "1. [forgotten]\r\n2. tea\r\n"),
        ("lisbon", "nothing of it", "nothing of it"),
        ("in  lisbon", "I live in   Lisbon", "[forgotten]"),
        ("in lisbon", "I live in\nLisbon\nsince 2019", "[forgotten]\n[forgotten]\nsince 2019"),
        ("lisbon. tea", "I live in Lisbon. Tea is good.", "[forgotten]"),
        ("里斯本", "我住在里斯本。我喜欢茶。", "[forgotten]我喜欢茶。"),
        ("/lis.on/", "I live in Lisbon. I like tea.", "[forgotten] I like tea."),
        ("/^I live/", "I live. I like tea.", "[forgotten] I like tea."),
    ],
)
def test_sentences_that_match_are_replaced_and_the_rest_stays(pattern, text, fresh):
    """G9."""
    rewrite, _ = rewriter(pattern, [])
    assert rewrite(text) == fresh
    assert rewrite(fresh) == fresh


@pytest.mark.parametrize("pattern", ["a.md:1", "mf:ab12"])
def test_a_place_or_a_note_stands_for_its_lines_alone(pattern):
    """G9."""
    rewrite, hint = rewriter(pattern, [line("- Ana's phone is 555-0101."), line("- yes")])
    assert hint == ""
    assert rewrite("Ana's phone is 555-0101. Call her.") == "[forgotten] Call her."
    assert rewrite("* Ana's  phone is 555-0101.") == "* [forgotten]"
    assert rewrite("I say yes to a.md:1 and mf:ab12.") == "I say yes to a.md:1 and mf:ab12."
    assert rewrite("- yes\n- yes, please") == "- [forgotten]\n- yes, please"


@pytest.mark.parametrize(
    ("pattern", "lines", "hint"),
    [
        ("my Lisbon flat", [], "lisbon"),
        ("my Lisbon flat", ["my lisbon flat is small"], "lisbon"),
        ("/lisbon/", [], ""),
        ("里斯本", [], ""),
        ("a b", [], ""),
    ],
)
def test_the_hint_stands_in_every_text_that_is_changed(pattern, lines, hint):
    """G9: so that few messages have to be read."""
    assert rewriter(pattern, [line(text) for text in lines])[1] == hint


def test_a_pattern_that_cannot_be_read_says_so():
    """G9."""
    with pytest.raises(MemoryFileError, match="is not a regular expression"):
        rewriter("/(/", [])
