"""Row G5: what a prompt asks about."""

import pytest

from memflush_jupyter.context.stopwords import ASKING, CJK, ENGLISH
from memflush_jupyter.context.terms import WEIGHTS, Term, phrases, query_terms, stem, word_stems


def kinds(prompt):
    return {term.text: term.kind for term in query_terms(prompt)}


def stems(prompt):
    return [term.stem for term in query_terms(prompt)]


@pytest.mark.parametrize(
    "prompt",
    [
        "", "  \n ", "hello", "Hi!", "thanks!", "Thank you", "ok", "OK, go on.", "yes please", "Good, continue", "cool, that looks good",
        "What is it?", "and then?", "Can you tell me?",
        "你好", "谢谢，继续吧", "好的", "请继续", "…", "👍",
    ],
)  # fmt: skip
def test_greetings_and_acknowledgements_ask_about_nothing(prompt):
    """G5: a prompt that needs none gets none."""
    assert query_terms(prompt) == []


@pytest.mark.parametrize(
    "code",
    [
        "```python\nmass = penguins.mean()\n```",
        "```\nnever closed",
        "import pandas as pd\nimport numpy",
        "from pandas import DataFrame",
        "df = pd.read_csv('penguins.csv')",
        "a, b = split(frame)\nx += 1",
        "df.describe()",
        "plt.plot(\n    bill, mass,\n)",
        "for name in names:\n    show(name)\nelse:\n    stop()",
        "%matplotlib inline\n!pip list",
        "@cached\ndef mean(values):\n    return sum(values)",
        "# a comment\nrows[0]['a'] = 3",
        "async def run():\n  await it()",
        "}\n]",
    ],
)
def test_code_asks_about_nothing(code):
    """G5: pure code needs no recall."""
    assert query_terms(code) == []


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("With whom did Allan collaborate", ["allan", "collaborat"]),
        ("for each species compute means", ["spec", "comput", "mean"]),
        ("Explain this:\n```python\nmass = 3\n```", []),
        ("Why is the mass wrong?\n```python\nbill = 3\n```", ["mass", "wrong"]),
        ("df.describe()\nWhat does the skew mean?", ["df.describe", "df", "describ", "skew", "mean"]),
        ("x == 3 holds for penguins", ["3", "hold", "penguin"]),
    ],
)
def test_prose_is_asked_about_also_beside_code(prompt, expected):
    """G5."""
    assert stems(prompt) == expected


def test_names_numbers_and_identifiers_are_told_apart():
    """G5: they say more about what is meant than other words do."""
    assert kinds("Did Nora and the ECB agree on 1,234.5 for bill_length_mm in data/raw.csv by 2024, v2.1 or maxDepth?") == {
        "Nora": "name", "ECB": "name", "1,234.5": "number", "bill_length_mm": "identifier", "bill": "word", "length": "word", "mm": "word",
        "data/raw.csv": "identifier", "data": "word", "raw": "word", "csv": "word", "2024": "number", "v2.1": "identifier", "2.1": "word",
        "maxDepth": "identifier", "max": "word", "Depth": "word",
    }  # fmt: skip
    assert WEIGHTS == {"name": 1.3, "number": 1.3, "identifier": 1.5, "word": 1.0, "cjk": 0.8, "asking": 0.3}
    assert [Term("x", "x", kind).weight for kind in WEIGHTS] == list(WEIGHTS.values())


@pytest.mark.parametrize(
    ("prompt", "kind"),
    [
        ("Penguins swim", "word"),
        ("swim, Penguins", "name"),
        ("Yes. Penguins swim", "word"),
        ("PENGUINS swim", "name"),
        ("swim\nPenguins", "word"),
        ("about “Penguins”", "word"),
        ("(Penguins)", "word"),
    ],
)
def test_a_capital_at_the_start_of_a_sentence_makes_no_name(prompt, kind):
    """G5."""
    assert next(term.kind for term in query_terms(prompt) if term.stem == "penguin") == kind


@pytest.mark.parametrize("prompt", ["What is my name?", "so what was our name", "How should we call it, the name?", "Do you know my name?"])
def test_a_question_about_oneself_is_one_although_its_words_tell_little(prompt):
    """G5."""
    assert "nam" in stems(prompt)
    assert kinds(prompt)["name"] == "asking"


@pytest.mark.parametrize("prompt", ["Show me.", "list them", "What is the name?", "I like it.", "We need to make it work"])
def test_orders_and_remarks_without_content_ask_about_nothing(prompt):
    """G5."""
    assert query_terms(prompt) == []


def test_each_term_is_asked_once_in_order():
    assert stems("plots of the plot, plotting Adelie plots and Adelie's bills") == ["plot", "adeli", "bill"]


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("Did Nora Fishel sing?", ["Nora Fishel", "Fishel sing"]),
        ("Did Mr. Nora Fishel's sister sing?", ["Mr Nora", "Nora Fishel", "Fishel sister"]),
        ("Above 3 sigma, the Q3 data", ["3 sigma", "Q3 data"]),
        ("the bill length of penguins", []),
        ("Nora, Fishel and The Nora", []),
        ("What Nora told Anna", []),
        ("Nora  Fishel\nNora", []),
        ("Nora猫 Fishel", []),
        ("```\nNora Fishel\n``` Anna Berg Anna Berg", ["Anna Berg", "Berg Anna"]),
        ("Aa Bb Cc Dd Ee Ff Gg", ["Aa Bb", "Bb Cc", "Cc Dd", "Dd Ee"]),
        ("", []),
    ],
)
def test_neighbours_with_a_name_or_a_number_belong_together(prompt, expected):
    """G5."""
    assert phrases(prompt) == expected


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("collaborated", "collaboration"), ("collaborates", "collaborate"), ("photographer", "photography"), ("photographed", "photographs"),
        ("hobby", "hobbies"), ("studied", "studies"),
        ("studying", "study"), ("planned", "planning"), ("plans", "plan"), ("classes", "class"), ("boxes", "box"), ("watches", "watch"),
        ("advocate", "advocacy"),
        ("environment", "environmental"), ("specialist", "specialize"), ("organization", "organizer"), ("organisation", "organised"),
        ("publication", "publicate"), ("quickly", "quick"),
        ("Nora’s", "nora"), ("Nora's", "NORA"), ("1,234", "1234"), ("darkness", "dark"), ("community", "communities"), ("specialized",
        "specialist"), ("analyses", "analysis"), ("professional", "profession"), ("musical", "music"), ("values", "value"),
    ],
)  # fmt: skip
def test_forms_of_a_word_have_one_stem(one, other):
    """G5."""
    assert stem(one) == stem(other)


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("bus", "bus"), ("his", "his"), ("is", "is"), ("gas", "gas"), ("mass", "mass"), ("basis", "basis"), ("status", "status"), ("sing",
        "sing"), ("red", "red"), ("bed", "bed"),
        ("tall", "tall"), ("user", "user"), ("bill_length", "bill_length"), ("3.14", "3.14"), ("Müller", "müller"), ("2024", "2024"),
        ("falling", "fall"), ("passing", "pass"),
        ("running", "run"), ("fee", "fee"), ("they", "the"), ("cement", "cement"), ("lion", "lion"), ("color", "color"),
    ],
)  # fmt: skip
def test_what_is_no_ending_stays(word, expected):
    """G5: short words and names lose nothing that would make them another."""
    assert stem(word) == expected


def test_compound_words_of_a_text_match_by_their_parts_too():
    assert word_stems("bill_length_mm") == ["bill_length_mm", "bill", "length", "mm"]
    assert word_stems("patientId") == ["patientid", "patient", "id"]
    assert word_stems("penguins") == ["penguin"]
    assert word_stems("Penguins") == ["penguin"]
    assert word_stems("ECB") == ["ecb"]


def test_chinese_is_asked_about_in_pairs_without_the_words_of_asking():
    """G5."""
    assert stems("我们之前决定用什么方法去除异常值？") == ["决定", "方法", "除异", "异常", "常值"]
    assert set(kinds("方法是什么").values()) == {"cjk"}
    assert stems("用pandas读取数据") == ["panda", "读取", "取数", "数据"]
    assert stems("猫") == ["猫"]
    assert stems("我的猫") == []


def test_single_letters_are_too_little_but_digits_are_not():
    assert stems("column B or 7") == ["column", "7"]


def test_the_word_lists_hold_what_they_say():
    assert {"the", "what", "thanks", "don't"} <= ENGLISH
    assert not {"mean", "data", "plot", "name", "list"} & ENGLISH
    assert {"name", "like", "list"} <= ASKING
    assert CJK[0] == "为什么"
    assert [len(word) for word in CJK] == sorted((len(word) for word in CJK), reverse=True)
