"""Row D5: sentences of a conversation, ranked by rules."""

import pytest

from memflush_jupyter.memory.extractive import LEAST_SCORE, Sentence, Spoken, choose, rank


def words(text):
    return len(text.split())


def only(text, origin="user"):
    """The score of a sentence that stands alone, or ``None`` when it is chatter."""
    ranked = rank([Spoken(text, origin)])
    return ranked[0].score if ranked else None


def test_a_sentence_says_whose_it_is():
    assert [Sentence("Yes.", origin, 0, 1.0).line() for origin in ("user", "agent", "tool")] == ["- Person: Yes.", "- Assistant: Yes.", "- Result: Yes."]


def test_the_person_counts_more_than_the_agent_and_the_agent_more_than_a_tool():
    text = "plots go with wide margins"
    assert only(text, "user") == pytest.approx(1.0 + 0.6)
    assert only(text, "agent") == pytest.approx(0.7 + 0.6)
    assert only(text, "tool") == pytest.approx(0.2 + 0.6)


@pytest.mark.parametrize(
    ("text", "more"),
    [
        ("plots go with 2 wide margins", 0.5),
        ("plots go with Anna and margins", 0.4),
        ("plots go with `df` and margins", 0.4),
        ("plots go with bill_length and margins", 0.4),
        ("plots go with data.csv and margins", 0.4),
        ("plots always go with wide margins", 0.4),
        ("plots must always go with wide margins", 0.8),
        ("plots must never always go with wide margins", 0.8),
        ("do plots go with wide margins?", -0.5),
        ("plots with margins", -0.8),
        ("plots " + "with wide margins " * 20, -0.4),
        ("plots " + "with wide margins " * 19 + "and more", 0.0),
    ],
)
def test_each_sign_counts_what_it_says(text, more):
    """D5: numbers, names, decisions up; questions, scraps and monsters down. The topic adds 0.6 when a sentence stands alone."""
    assert only(text) == pytest.approx(1.0 + 0.6 + more)


def test_chatter_is_left_out():
    assert rank([Spoken("Ok?", "agent"), Spoken("Go!", "tool"), Spoken("3", "tool"), Spoken("", "user"), Spoken("…!", "user")]) == []
    assert LEAST_SCORE == 0.5


def test_code_and_tables_are_no_sentences():
    texts = [sentence.text for sentence in rank([Spoken("We found 3 groups.\n```python\nmean = 4\n```\n<summary>\nThe mean is 9.\n</summary>", "agent")])]
    assert texts == ["We found 3 groups."]


def test_what_the_conversation_is_about_counts():
    spoken = [Spoken("penguins swim well here", "user"), Spoken("penguins swim well today", "user"), Spoken("bananas taste rather good", "user")]
    assert [sentence.position for sentence in rank(spoken)] == [0, 1, 2]
    scores = {sentence.position: sentence.score for sentence in rank(spoken)}
    assert scores[0] == pytest.approx(1.0 + 0.6 * (2 + 2 + 2 + 1) / (4 * 3), abs=1e-4)
    assert scores[2] == pytest.approx(1.0 + 0.6 * 4 / (4 * 3), abs=1e-4)


def test_chinese_is_ranked_alike():
    ranked = rank([Spoken("今天天气很好。我们决定去掉3个标准差以外的异常值。谢谢。", "user")])
    assert ranked[0].text == "我们决定去掉3个标准差以外的异常值。"
    assert "谢谢。" not in [sentence.text for sentence in ranked if sentence.score > 1.0]


def test_the_best_that_fit_come_back_in_the_order_they_were_said():
    ranked = [
        Sentence("last and best", "user", 9, 3.0),
        Sentence("first", "user", 1, 2.0),
        Sentence("far too long to fit in here", "user", 5, 1.5),
        Sentence("middle", "user", 4, 1.0),
    ]
    assert [s.text for s in choose(ranked, budget=5 + 3 + 3, count=words)] == ["first", "middle", "last and best"]
    assert [s.text for s in choose(ranked, budget=5 + 3 + 2, count=words)] == ["first", "last and best"]
    assert choose(ranked, budget=2, count=words) == []


def test_nothing_is_said_twice_nor_what_is_known():
    ranked = [
        Sentence("The mean is 4.", "user", 0, 3.0),
        Sentence("the mean is 4", "agent", 1, 2.0),
        Sentence("The mean is 5.", "agent", 2, 1.0),
        Sentence("Known thing.", "user", 3, 1.0),
    ]
    assert [s.text for s in choose(ranked, budget=99, count=words, known=["known thing"])] == ["The mean is 4.", "The mean is 5."]
