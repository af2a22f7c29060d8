"""The items of a conversation: each once, from the message that said it first, and the sentence around it (D13)."""

from __future__ import annotations

import pytest

from memflush_jupyter.context.audit_extract import LONGEST_SENTENCE, extract, lexicon, sentence_at, stated
from memflush_jupyter.context.audit_sources import Part


def prose(text, sequence=1, origin="user"):
    return Part("prose", text, origin, "t", sequence)


def code(text, sequence=1):
    return Part("code", text, "agent", "t", sequence)


def output(text, sequence=1):
    return Part("output", text, "tool", "t", sequence)


def read(*parts):
    return [(one.kind, one.text, one.part.sequence) for one in extract(parts)]


def test_a_sentence_gives_items_of_every_kind():
    body = "Ask Ilse Marquardt about `depth_m` in raw/a.csv: 12.5 kg on 3 March."
    assert read(prose(body)) == [
        ("path", "raw/a.csv", 1),
        ("column", "depth_m", 1),
        ("date", "3 March", 1),
        ("number", "12.5 kg", 1),
        ("name", "Ilse Marquardt", 1),
    ]


def test_nothing_in_a_path_or_a_date_is_read_again():
    assert read(prose("see data_2019/run_12.5.csv")) == [("path", "data_2019/run_12.5.csv", 1)]
    assert read(prose("on 2026-01-20 and 5 March 2026")) == [("date", "2026-01-20", 1), ("date", "5 March 2026", 1)]


@pytest.mark.parametrize(
    ("first", "again"),
    [
        ("It is 10 mg.", "It is 0.01 g."),
        ("due 2026-03-03", "due 3 March 2026"),
        ("ask Ilse Marquardt", "ask ILSE MARQUARDT"),
        ("see ./a.csv", "see a.csv"),
        ("the `mass_g` one", "the mass_g one"),
        ("Never overwrite the calibration files.", "Never overwrite the calibration files!"),
    ],
)
def test_the_same_item_is_kept_once_and_from_the_first_message(first, again):
    found = read(prose(first, 1), prose(again, 2))
    assert {one[2] for one in found} == {1}
    assert len(found) == 1


def test_what_a_person_said_comes_before_the_same_from_others():
    assert read(prose("It is 10 mg.", 1, "agent"), prose("It is 10 mg.", 2)) == [("number", "10 mg", 2)]
    assert read(prose("It is 10 mg.", 1), prose("It is 10 mg.", 2, "agent")) == [("number", "10 mg", 1)]
    assert read(prose("It is 10 mg.", 1, "agent"), output("it: 10 mg", 2)) == [("number", "10 mg", 1)]


def test_of_code_the_paths_columns_and_variables_are_items_but_no_numbers_or_names():
    cells = (code("sales = pd.read_csv('raw/a.csv')\nLimit = 12.5", 1), code("sales['margin'] = 2019", 2))
    assert read(*cells) == [("path", "raw/a.csv", 1), ("variable", "sales", 1), ("column", "margin", 2)]


def test_prose_calls_a_variable_what_the_code_assigns():
    found = read(code("big_table = 1", 1), prose("`big_table` and `small_table`", 2))
    assert found == [("variable", "big_table", 2), ("column", "small_table", 2)]


def test_of_output_numbers_dates_and_paths_are_items_but_no_names_and_columns():
    found = read(output("mean `mass_g` of Ilse Marquardt: 12.5 kg in a.csv on 2026-01-02"))
    assert [one[:2] for one in found] == [("path", "a.csv"), ("date", "2026-01-02"), ("number", "12.5 kg")]


def test_words_as_numbers_are_items_where_they_have_a_unit():
    assert read(prose("drop beyond three sigma")) == [("number", "three sigma", 1)]
    assert read(prose("用十公斤的样本"))[0][:2] == ("number", "十公斤")


def test_a_decision_an_order_and_a_wish_are_items_with_their_message():
    found = read(prose("We decided to drop the Zadar buoys.", 4), prose("Never overwrite the calibration files.", 5), prose("   ", 6))
    assert ("decision", "We decided to drop the Zadar buoys.", 4) in found
    assert ("constraint", "Never overwrite the calibration files.", 5) in found


def test_an_item_of_code_tells_the_line_that_it_stands_in():
    found = extract([code("x = 0\nsales = pd.read_csv('raw/a.csv')\ny = 1")])
    assert [(one.text, one.sentence) for one in found] == [
        ("raw/a.csv", "sales = pd.read_csv('raw/a.csv')"),
        ("sales", "sales = pd.read_csv('raw/a.csv')"),
    ]


def test_several_paths_and_dates_hide_nothing_between_them():
    body = "a.csv has 12.5 kg and b.csv 33.5 km, on 2026-01-02 77.5 mg and on 2026-01-03 99.5 ml"
    assert [one[1] for one in read(prose(body))] == ["a.csv", "b.csv", "2026-01-02", "2026-01-03", "12.5 kg", "33.5 km", "77.5 mg", "99.5 ml"]
    assert all(body[one.start :].startswith(one.text) for one in extract([prose(body)]))


def test_of_a_tools_output_no_order_is_an_item():
    """P8"""
    assert read(output("note: Never overwrite the calibration files.")) == []


def test_items_come_in_the_order_of_their_messages():
    found = read(prose("It is 10 mg.", 1), code("x['a'] = 1", 2), prose("see a.csv", 3), prose("on 2026-01-02", 4))
    assert [one[2] for one in found] == [1, 2, 3, 4]


def test_of_a_summary_numbers_dates_and_names_are_claims():
    found = stated("Ilse Marquardt said 12.5 kg, again 12.5 kg, on 3 March in a.csv with `mass_g`. Never stop.", frozenset())
    assert [(one.kind, one.text) for one in found] == [("date", "3 March"), ("number", "12.5 kg"), ("name", "Ilse Marquardt")]
    assert {(one.part.origin, one.part.kind) for one in found} == {("agent", "prose")}
    assert found[1].sentence.startswith("Ilse Marquardt said 12.5 kg")


def test_words_in_small_letters_are_known_without_their_points():
    assert lexicon(["The boat, (marina) `code`", "“quoted” Zadar"]) == {"boat", "marina", "code", "quoted"}


def test_the_same_words_in_small_letters_elsewhere_make_a_capital_no_name():
    assert read(prose("then the Boat left", 1), prose("a boat is here", 2)) == []
    assert read(prose("then the Boat left", 1), code("boat", 2)) == [("name", "Boat", 1)]


@pytest.mark.parametrize(
    ("text", "word", "sentence"),
    [
        ("One here. Two there. Three.", "Two", "Two there."),
        ("One here. Two there. Three.", "One", "One here."),
        ("One here. Two there. Three.", "Three", "Three."),
        ("line one\nline two\nline three", "two", "line two"),
        ("  indented line  \nnext", "line", "indented line"),
        ("A a. A b. A a. A c.", "A c", "A c."),
        ("line one\nOne here. Two there.\nThree", "Two", "Two there."),
        ("\nOne here. Two there.\nThree\nFour", "One", "One here."),
        ("One here. Two there.\nThree\nFour", "Two", "Two there."),
        ("Go on. It is so. Go on. Here it ends.", "Here", "Here it ends."),
    ],
)
def test_the_sentence_around_a_place_is_found(text, word, sentence):
    assert sentence_at(text, text.index(word)) == sentence


def test_a_very_long_sentence_is_cut_around_the_place():
    words = " ".join(f"word{n}" for n in range(200))
    found = sentence_at(words, words.index("word60 "))
    assert found.startswith("…")
    assert found.endswith("…")
    assert "word60 " in found
    assert len(found) <= LONGEST_SENTENCE + 2
    start = sentence_at(words, 3)
    assert start == words[:LONGEST_SENTENCE].strip() + "…"


def test_a_long_line_before_does_not_move_the_sentence():
    text = "y" * 400 + "\n" + "One here. " * 5 + "Two there. Three."
    assert sentence_at(text, text.index("Two")) == "Two there."
    exact = "z" * (LONGEST_SENTENCE - 1) + "."
    assert sentence_at(exact, 5) == exact


def test_in_an_endless_line_only_its_neighbourhood_is_looked_at():
    line = "x" * 5000 + " here. Next."
    found = sentence_at(line, line.index("here"))
    assert "here" in found or len(found) <= LONGEST_SENTENCE
    assert len(found) <= LONGEST_SENTENCE + 2
