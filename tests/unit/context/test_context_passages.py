"""Row G5: the sentences that answer, rather than the whole message."""

import math

import pytest

from memflush_jupyter.context.passages import BEST, MAX_CHARS, Question
from memflush_jupyter.context.terms import query_terms


def ask(prompt, *texts):
    """A question whose weights are plain: as if nothing else had been found."""
    question = Question(query_terms(prompt))
    if texts:
        question.weigh([question.held(text) for text in texts])
    return question


def best(prompt, text, *others):
    return ask(prompt, text, *others).passages(text)


def test_the_sentence_that_answers_comes_back_not_the_message():
    """G5."""
    text = "We met on Monday. Nora Fishel plays the violin in Geneva. The rest of the day was rain. Lunch was late."
    (found,) = best("Where does Nora Fishel play?", text)
    assert found.text == "Nora Fishel plays the violin in Geneva."
    assert found.matched == {"nora", "fishel", "pla"}


def test_weights_follow_kind_and_rarity():
    """G5: rarest first. A term that nothing holds tells half."""
    question = ask("Did Nora plot penguins or whales?", "nora plots", "she plotted it", "penguins, plots")
    assert question.weights == pytest.approx(
        {"nora": 1.3 * (1 + math.log(4 / 2)), "plot": 1.0 * (1 + math.log(4 / 4)), "penguin": 1 + math.log(4 / 2), "whal": 0.5}
    )


def test_weights_before_weighing_are_those_of_the_kinds():
    assert ask("Nora plots bill_length").weights == {"nora": 1.0, "plot": 1.0, "bill_length": 1.5, "bill": 1.0, "length": 1.0}


def test_the_share_of_a_text_is_what_it_holds_of_the_weight():
    question = ask("swim, Nora and penguins")
    assert question.share({}) == 0
    assert question.share(question.held("Nora")) == pytest.approx(1.3 / 3.3)
    assert question.share(question.held("penguins swam, Nora swims")) == 1


@pytest.mark.parametrize(
    ("prompt", "text", "stems"),
    [
        ("collaborations", "They collaborated.", {"collaborat"}),
        ("penguin", "PENGUINS", {"penguin"}),
        ("penguin", "superpenguin", set()),
        ("pen", "penguins", set()),
        ("penguins’ mass", "the penguin's mass", {"penguin", "mass"}),
        ("bill length", "bill_length_mm", {"bill", "length"}),
        ("bill_length_mm", "the bill's length", {"bill", "length"}),
        ("patient age", "patientAge", {"patient", "age"}),
        ("1234 rows", "1,234 were left", {"1234"}),
        ("1,234 rows", "1234 were left", {"1234"}),
        ("12 rows", "1,234 or 112", set()),
        ("3.14 exactly", "it is 3.14", {"3.14"}),
        ("异常值", "去除异常值", {"异常", "常值"}),
        ("异常 in df", "异常 df", {"异常", "df"}),
        ("用pandas", "先用pandas读取", {"panda"}),
        ("c++ code", "CODE", {"cod"}),
    ],
)
def test_words_are_found_in_all_their_forms(prompt, text, stems):
    """G5."""
    assert set(ask(prompt).held(text)) == stems


def test_the_first_place_of_a_word_is_kept():
    assert ask("penguin").held("A penguin, two penguins") == {"penguin": (2, 9)}


def test_a_term_in_the_neighbouring_sentence_counts_less():
    """G5: pronouns and speakers live next door."""
    question = ask("Nora violin")
    alone = question.passages("Violin is played. Rain fell. Snow fell. Nora left.")
    beside = question.passages("Nora left. Violin is played.")
    assert [(p.text, round(p.score, 4)) for p in alone] == [("Violin is played.", 0.5), ("Nora left.", 0.5)]
    assert [(p.text, round(p.score, 4)) for p in beside] == [("Nora left.", 0.7), ("Violin is played.", 0.7)]


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ("Nora Fishel sang.", 1.125),
        ("Nora. Fishel", None),
        ("Nora K. Fishel sang.", 1.0),
        ("Fishel Nora sang.", 1.0),
        ("Nora-Fishel sang.", 1.125),
        ("Nora and Fishel sang.", 1.0),
    ],
)
def test_the_parts_of_a_name_side_by_side_count_extra(text, score):
    """G5."""
    found = ask("nora fishel").passages(text)[0]
    assert found.score == pytest.approx(score if score is not None else 0.5 + 0.4 * 0.5)


def test_an_earlier_question_is_no_answer():
    """G5."""
    found = ask("Nora violin").passages("Does Nora play the violin? Rain fell. Nora has a violin, we heard.")
    assert [(p.text, round(p.score, 4)) for p in found] == [("Nora has a violin, we heard.", 1.0), ("Does Nora play the violin?", 0.6)]
    assert ask("violin").passages("谁拉violin？")[0].score == pytest.approx(0.6)


def test_a_sentence_that_leans_on_the_one_before_brings_it():
    """G5."""
    for word in ("She", "It", "This", "And then he", "她"):
        text = f"Nora lives in Geneva. {word} plays the violin."
        assert ask("violin").passages(text)[0].text == text
    assert ask("violin").passages("Nora lives in Geneva. Itself a violin.")[0].text == "Itself a violin."
    assert ask("violin").passages("She plays the violin.")[0].text == "She plays the violin."
    long = f"Nora {'x' * (MAX_CHARS - 20)}. She plays the violin."
    assert ask("violin").passages(long)[0].text == "She plays the violin."


def test_several_passages_of_one_message_do_not_overlap():
    text = "Nora sings. She met Nora. Rain fell again. Nora dances. Snow fell. Nora eats. Hail fell. Nora sleeps. Fog came. Nora left."
    found = ask("Nora").passages(text)
    assert [p.text for p in found] == ["Nora sings.", "Nora sings. She met Nora.", "Nora dances.", "Nora eats."][:1] + [p.text for p in found[1:]]
    assert len(found) == BEST == 4
    assert len({p.text for p in found}) == 4


def test_a_long_line_is_cut_around_what_matched():
    """G5: a printed table or JSON line is not sent whole."""
    text = "x " * 500 + "Nora plays. ".replace(". ", " ") + "y " * 500
    (found,) = ask("Nora").passages(text)
    assert found.text.startswith("…x x")
    assert found.text.endswith("y y…")
    assert "Nora plays" in found.text
    assert len(found.text) <= MAX_CHARS + 2
    assert found.text.index("Nora") == MAX_CHARS // 4 + 1
    (first,) = ask("Nora").passages("Nora " + "y" * 500)
    assert first.text == "Nora " + "y" * (MAX_CHARS - 5) + "…"


def test_only_what_stands_near_a_match_is_read():
    """G5: fast also in a result of a megabyte."""
    far = "A fact. " * 40_000
    found = ask("Nora").passages(far + "Nora plays. " + far)
    assert [p.text for p in found] == ["Nora plays."]
    assert ask("Nora").passages(far) == []


def test_a_text_that_holds_nothing_has_no_passage():
    assert ask("Nora").passages("") == []
    assert ask("Nora").passages("Rain fell.") == []
