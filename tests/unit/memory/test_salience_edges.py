"""C13: names in code, prose beside code, and signs in two languages, at their edges."""

from __future__ import annotations

import pytest

from memflush_jupyter.memory import salience_names as found
from memflush_jupyter.memory import salience_text as prose
from memflush_jupyter.memory.extractive import Spoken, choose, rank
from memflush_jupyter.memory.salience import _join
from memflush_jupyter.memory.salience_signs import ORDERS
from memflush_jupyter.memory.salience_text import Passage, line_kind, passages


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ('df = pd.read_csv("a.csv")', [("Variable `df` holds what was read from the file `a.csv`.", 0.65)]),
        ('sales.to_csv("b.csv")', [("The file `b.csv` was written from `sales`.", 0.7)]),
        ('plt.savefig("c.png")', [("The file `c.png` was written.", 0.7)]),
        ('ax.figure.savefig("c.png")', [("The file `c.png` was written from `figure`.", 0.7)]),
        ("sales['margin'] = sales.a - sales.b", [("Column `margin` of `sales` is `sales.a - sales.b`.", 0.6)]),
        ("cutoff = 3.5", [("Variable `cutoff` is `3.5`.", 0.6)]),
        ("tmp = 3.5", []),
        ("cutoff = f(1,", []),
        ("cutoff = 1 + \\", []),
        ("cutoff = [1, 2", []),
        ("cutoff = {1: 2", []),
        ("cutoff = 1,", []),
        ("cutoff = [1, 2]", [("Variable `cutoff` is `[1, 2]`.", 0.6)]),
        ("cutoff == 3", []),
        (">>> cutoff = 4", [("Variable `cutoff` is `4`.", 0.6)]),
    ],
)
def test_a_line_of_code_says_what_a_name_holds(code, said):
    assert found.names([code]) == said


def test_the_last_value_of_a_name_or_column_counts_and_others_stay():
    lines = ["low = 1", "d['a'] = d.x", "d['b'] = d.y", "low = 2", "d['a'] = d.z"]
    assert [sentence for sentence, _ in found.names(lines)] == [
        "Column `b` of `d` is `d.y`.",
        "Variable `low` is `2`.",
        "Column `a` of `d` is `d.z`.",
    ]


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("slope = 49.7 g per mm of flipper length.", "prose"),
        ("rate = 较高的组是阿德利企鹅 每年都测量 结果很稳定。", "prose"),
        ("rate = compute(all, of, this)...", "code"),
        ("x = 1.", "code"),
        ("import all of these things now.", "code"),
        ("print all of these things now.", "prose"),
        ("| a | b |", "skip"),
        ("-----", "skip"),
        ("## Heading", "skip"),
        ("1.0  2.0  3.0", "skip"),
        ("ValueError: bad", "skip"),
        ("a,b,c", "skip"),
        ("species    Adelie    Gentoo", "skip"),
        ("mean    4201.75", "skip"),
        ("mean 4201.75", "skip"),
        ("for row in rows:", "code"),
    ],
)
def test_each_line_has_one_kind(line, kind):
    assert line_kind(line) == kind


def test_wrapped_lines_are_one_paragraph_and_a_blank_line_ends_it():
    long = "The survey column q7 is in thousands of euros for all"
    assert passages(f"{long}\nyears since then") == [Passage("prose", f"{long} years since then")]
    assert passages(f"{long}\n2019 to 2021") == [Passage("prose", f"{long} 2019 to 2021")]
    assert passages(f"{long}\n\nyears since then") == [Passage("prose", long), Passage("prose", "years since then")]
    assert passages(f"{long}\nYears since then") == [Passage("prose", long), Passage("prose", "Years since then")]
    assert passages("short line\nyears since then") == [Passage("prose", "short line"), Passage("prose", "years since then")]
    assert passages("short line\n  years since then") == [Passage("prose", "short line years since then")]
    assert passages("- a bullet\n  goes on") == [Passage("bullet", "a bullet goes on")]


@pytest.mark.parametrize(("before", "text", "goes_on"), [("x" * 50, "a", True), ("x" * 49, "a", False), ("x" * 50, "A1", False), ("x" * 50, "9A", True)])
def test_a_line_of_fifty_characters_was_wrapped(before, text, goes_on):
    assert prose._continues(before, text, indented=False) is goes_on


def test_a_bullet_knows_what_introduces_it():
    assert passages("**Keep in mind:**\n- teal\n- wide\nThat is all.\n- other") == [
        Passage("prose", "**Keep in mind:**"),
        Passage("bullet", "teal", "**Keep in mind:"),
        Passage("bullet", "wide", "**Keep in mind:"),
        Passage("prose", "That is all."),
        Passage("bullet", "other"),
    ]
    assert passages("Rules：\n- 甲\n\n## Next\n- 乙") == [Passage("prose", "Rules："), Passage("bullet", "甲", "Rules："), Passage("bullet", "乙")]


def test_sentences_are_joined_as_their_language_does():
    assert _join("记住这些。", "颜色用青色。") == "记住这些。颜色用青色。"
    assert _join("Keep this.", "Use teal.") == "Keep this. Use teal."
    assert _join("的A", "b") == "的A b"


def test_signs_are_counted_in_both_languages():
    assert ORDERS.count("always and never") == 2
    assert ORDERS.count("必须 and never") == 2
    assert ORDERS.count("必须，以后") == 2
    assert ORDERS.count("plain") == 0


def test_a_ranked_sentence_keeps_its_speaker_and_place():
    """D5."""
    ranked = rank([Spoken("We decided to drop 12 outliers.", "user"), Spoken("The mean of `df` is 4201.75 g then.", "agent")])
    assert [(sentence.origin, sentence.position) for sentence in ranked] == [("user", 0), ("agent", 1)]
    assert [sentence.line() for sentence in choose(ranked, budget=100, count=len)] == [
        "- Person: We decided to drop 12 outliers.",
        "- Assistant: The mean of `df` is 4201.75 g then.",
    ]


def test_chinese_is_not_too_short_for_want_of_blanks():
    """D5: two characters count as a word."""
    (sentence,) = rank([Spoken("我们决定删除异常值。", "user")])
    assert sentence.score == pytest.approx(1.0 + 0.8 + 0.6)
    (short,) = rank([Spoken("删除异常。", "user")])
    assert short.score == pytest.approx(1.0 + 0.8 + 0.6 - 0.8)
