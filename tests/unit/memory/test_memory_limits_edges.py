"""C4, C14: splitting and cleaning of notes, at the edges."""

from __future__ import annotations

import pytest

from memflush_jupyter.memory.limits import clean_notes, split_note


def test_a_sentence_of_exactly_the_limit_is_left_whole():
    """C4: inclusive."""
    assert split_note("aaaa;bbbbb\ncccc", limit=10) == ["aaaa;bbbbb", "cccc"]
    assert split_note("aaaa;bbbbb\ncccc", limit=9) == ["aaaa;", "bbbbb", "cccc"]


def test_a_part_that_was_said_is_not_repeated_with_a_longer_note():
    """C14: what is new of a note that is split stays, what was there already goes."""
    said = " ".join(["The survey column q7 is in thousands of euros and covers every year"] * 4) + "."
    new = " ".join(["The survey column q8 is in millions of euros and covers every year"] * 4) + "."
    assert clean_notes([said, f"{said} {new}"]) == [said, new]


@pytest.mark.parametrize(
    ("notes", "kept"),
    [
        (["- one fact\n- another fact\n2) a third"], ["one fact", "another fact", "a third"]),
        (["one   fact\nfolded"], ["one fact folded"]),
        (["***", "- ", "<!-- only a comment", "…"], []),
        (["A fact. <!-- mf:a o=user --> Goes on."], ["A fact. Goes on."]),
        (["One fact.", "One fact!"], ["One fact."]),
    ],
)
def test_a_note_is_one_fact_without_markup(notes, kept):
    """C4, C14."""
    assert clean_notes(notes) == kept


def test_what_copies_our_prompts_is_no_note():
    """C14: one sentence of them, or several in a row; with a word of its own it stays."""
    prompts = ["Save what matters.", "Never save secrets."]
    assert clean_notes(["Save what matters.", "Save what matters. Never save secrets.", "Save what matters. Use teal."], prompt_sentences=prompts) == [
        "Save what matters. Use teal.",
    ]


def test_chinese_and_english_are_joined_each_in_its_way():
    """C4: no blank after a Chinese mark, one after an English one."""
    assert split_note("甲乙。丙丁。戊己。", limit=6) == ["甲乙。丙丁。", "戊己。"]
    assert split_note("ab. cd. 甲乙。", limit=11) == ["ab. cd. 甲乙。"]
    assert split_note("ab. 甲乙。cd. ef.", limit=10) == ["ab. 甲乙。cd.", "ef."]
