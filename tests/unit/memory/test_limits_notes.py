"""C4, C14: how long a note may be, and what a model's notes come to."""

from __future__ import annotations

import pytest

from memflush_jupyter.memory.limits import MAX_NOTES, NOTE_LIMIT, clean_notes, split_note


def test_the_limits_are_those_of_the_behaviours():
    """C4."""
    assert (NOTE_LIMIT, MAX_NOTES) == (500, 20)


def test_a_note_within_the_limit_stays_one():
    """C4: exactly at the limit too."""
    assert split_note("  A fact.  ") == ["A fact."]
    assert split_note("x" * 500) == ["x" * 500]
    assert split_note(" \n ") == []


def test_a_longer_note_is_split_at_sentences_and_nothing_is_lost():
    """C4: never cut."""
    sentences = [f"Sentence number {i} says that column c_{i} has {i}.5 percent missing values, e.g. in 2024." for i in range(30)]
    pieces = split_note(" ".join(sentences))
    assert all(len(piece) <= 500 for piece in pieces)
    assert " ".join(pieces) == " ".join(sentences)
    assert all(piece.startswith("Sentence number") for piece in pieces)
    assert all(piece.endswith("in 2024.") for piece in pieces)
    assert len(pieces) == 6


def test_sentences_are_packed_as_long_as_they_fit():
    """C4: exactly the limit fits, one more does not."""
    assert split_note("Aaaa. Bbbb. Cccc.", limit=11) == ["Aaaa. Bbbb.", "Cccc."]
    assert split_note("Aaaa. Bbbb. Cccc.", limit=10) == ["Aaaa.", "Bbbb.", "Cccc."]


def test_one_long_sentence_is_split_at_clauses_then_between_words():
    """C4."""
    assert split_note("one two three, four five six; seven eight", limit=16) == ["one two three,", "four five six;", "seven eight"]
    assert split_note("one two three four five", limit=9) == ["one two", "three", "four five"]
    assert split_note("abcdefghij", limit=4) == ["abcd", "efgh", "ij"]


def test_chinese_is_split_at_its_own_marks_and_joined_without_blanks():
    """C4."""
    pieces = split_note("第一句话说明数据来源。" * 100)
    assert all(len(piece) <= 500 and piece.endswith("。") for piece in pieces)
    assert "".join(pieces) == "第一句话说明数据来源。" * 100
    assert split_note("甲乙丙，丁戊己；庚辛壬。", limit=5) == ["甲乙丙，", "丁戊己；", "庚辛壬。"]
    assert split_note("甲乙丙。丁戊。", limit=6) == ["甲乙丙。", "丁戊。"]
    assert split_note("甲乙丙丁戊己庚", limit=3) == ["甲乙丙", "丁戊己", "庚"]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("The mean is 3.14 mm. See data.csv for Dr. Who, e.g. row 5. Done!", ["The mean is 3.14 mm.", "See data.csv for Dr. Who, e.g. row 5.", "Done!"]),
        ("We met at 9 a.m. Then we left.", ["We met at 9 a.m.", "Then we left."]),
        ("Ask J. Smith. He knows.", ["Ask J. Smith.", "He knows."]),
        ("Really?! Yes… maybe. OK", ["Really?!", "Yes…", "maybe.", "OK"]),
        ('He said "stop." Then left.', ['He said "stop."', "Then left."]),
        ("一句。两句！三句？“四句。”五句", ["一句。", "两句！", "三句？", "“四句。”", "五句"]),
        ("a\nb\n\nc", ["a", "b", "c"]),
        ("Wait... for it. Now.", ["Wait... for it.", "Now."]),
        ("1. First item. Second.", ["1. First item.", "Second."]),
        ("Use v2.0.1 of x.y.z. Then go.", ["Use v2.0.1 of x.y.z.", "Then go."]),
        ("There were 12. Then none.", ["There were 12.", "Then none."]),
        ("", []),
    ],
)
def test_sentences_end_where_they_end(text, parts):
    """C4: abbreviations, decimals and file names do not end a sentence."""
    from memflush_jupyter.memory.sentences import split

    assert split(text) == parts


def test_lines_repeated_within_one_reply_count_once():
    """C14."""
    assert clean_notes(["A fact.", "a fact", "- A fact", "Another fact."]) == ["A fact.", "Another fact."]
    assert clean_notes(["Use 10 mg.", "Use 100 mg."]) == ["Use 10 mg.", "Use 100 mg."]


def test_notes_that_equal_a_sentence_of_our_own_prompts_are_dropped():
    """C14."""
    prompt = ["Save what matters.", "Never save secrets."]
    assert clean_notes(["Save what matters", "never save secrets. Save what matters.", "A fact."], prompt_sentences=prompt) == ["A fact."]
    assert clean_notes(["Save what matters. A fact."], prompt_sentences=prompt) == ["Save what matters. A fact."]


def test_a_note_of_several_bullets_becomes_several_notes():
    """C4, C14."""
    assert clean_notes(["- one fact\n- two facts\n  wrapped\n3. three facts"]) == ["one fact", "two facts wrapped", "three facts"]


def test_marks_comments_and_empty_notes_are_cleaned_away():
    """C14: a copied provenance comment is no part of the note."""
    assert clean_notes(["", "  ", "---", "* A fact. <!-- mf:8f2c t=4be1#118 o=user -->", "**"]) == ["A fact."]
    assert clean_notes([]) == []


def test_long_notes_are_split_after_cleaning():
    """C4."""
    notes = clean_notes([" ".join(f"Column c{i} is numeric and has values." for i in range(30))])
    assert [len(note) <= 500 for note in notes] == [True] * len(notes)
    assert len(notes) == 3
