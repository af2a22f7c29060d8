"""C5, C13, P7: how sure the floor is of a sentence, what two lines share, and what names a secret, at their edges."""

from __future__ import annotations

import pytest

from memflush_jupyter.memory import redaction_assigned as assigned
from memflush_jupyter.memory import redaction_detectors as detectors
from memflush_jupyter.memory import salience_grammar as grammar
from memflush_jupyter.memory import salience_judges as judges
from memflush_jupyter.memory.limits import covered, nothing_new
from memflush_jupyter.memory.redaction import Redactor, _lowered
from memflush_jupyter.memory.redaction_stream import _context
from memflush_jupyter.memory.salience_verbs import VERBS
from memflush_jupyter.memory.similarity import tokens


@pytest.mark.parametrize(
    ("text", "confidence"),
    [
        ("penguins are birds", 0.6),
        ("The penguins are birds", 0.7),
        ("Penguins are birds", 0.7),
        ("It was quite cold", 0.0),
        ("I am quite cold", 0.5),
        ("the penguins of Torgersen are birds", 0.85),
        ("the 12 penguins are birds", 0.8),
        ("the 12 penguins of Torgersen are birds", 0.85),
        ("企鹅是鸟类动物", 0.72),
        ("企鹅是鸟", 0.6),
        ("企鹅很冷很冷", 0.6),
        ("two words", 0.0),
        ("the same plot for them", 0.0),
    ],
)
def test_each_sign_makes_a_statement_surer_by_what_it_is_worth(text, confidence):
    """C13."""
    assert grammar.statement_confidence(text) == pytest.approx(confidence)


def test_a_known_subject_is_no_vague_one():
    """C13."""
    assert grammar.statement_confidence("It was quite cold", known_subject=True) == pytest.approx(0.6)


@pytest.mark.parametrize(
    ("text", "states"), [("penguins shed all", False), ("penguins waxed all", True), ("waxed for penguins", False), ("penguins bred all", False)]
)
def test_a_word_in_ed_behind_the_first_states_something(text, states):
    """C13: shorter ones are other words."""
    assert grammar.has_verb(text) is states


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("plot the mass", True),
        ("please plot the mass", True),
        ("plot", True),
        ("plot shows a trend", False),
        ("sample 12 was frozen", False),
        ("use 12 bins", True),
        ("show 12 rows", True),
        ("sample size was limited", False),
        ("sample the rows that are new", True),
        ("the mass is high", False),
    ],
)
def test_a_request_is_told_from_a_noun(text, asked):
    """C13."""
    assert grammar.is_request(text) is asked


@pytest.mark.parametrize(("text", "worthy"), [("甲乙丙丁", True), ("甲乙丙", False), ("一二三\u9fff", True), ("one two three", True), ("one two", False)])
def test_three_words_or_four_characters_can_stand_alone(text, worthy):
    """C13."""
    assert grammar.worth(text) is worthy


@pytest.mark.parametrize(
    ("text", "opens"),
    [("Remember the following:", True), ("Remember:", True), ("记住：", True), ("Remember the following.", False), ("Remember the column q7 is odd:", False)],
)
def test_a_line_that_ends_in_a_colon_opens_a_list(text, opens):
    """C13."""
    assert judges.opens_a_list_to_remember(text) is opens


@pytest.mark.parametrize(
    ("text", "back"), [("Remember that.", True), ("Remember that?", False), ("记住这个。", True), ("记住这个？", False), ("Remember that:", False)]
)
def test_a_bare_remember_points_back(text, back):
    """C13: unless it asks, or something follows."""
    assert judges.points_back(text) is back


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("The column q7 is in thousands, please remember this.", "The column q7 is in thousands"),
        ("Can you remember that the column q7 is in thousands?", "The column q7 is in thousands"),
        ("Remember that x is in thousands", "x is in thousands"),
        ("Remember that the df is in thousands", "The df is in thousands"),
    ],
)
def test_what_is_to_be_remembered_stands_alone(text, kept):
    """C13."""
    found = judges.judge_user(text)
    assert found is not None
    assert (found.text, found.kind, found.confidence) == (kept, "remember", 0.95)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1E5 rows", "1e5 rows"),
        ("5.50 kg", "5.5 kilograms"),
        ("5.0 kg", "5 kg"),
        ("+5 kg", "5 kg"),
        ("3,000 rows", "3000 rows"),
        (".5 kg", "0.5 kg"),
        ("a set of cups", "a set of cup"),
        ("the cities", "the city"),
        ("the classes", "the classe"),
        ("keep x−y", "keep x-y"),
        ("keep x–y", "keep x-y"),
        ("keep x—y", "keep x-y"),
        ("– keep", "keep"),
        ("keep - this", "keep this"),
        ("keep *this* one", "keep this one"),
        ("keep **this** one", "keep this one"),
        ("keep `df` here", "keep df here"),
        ("it rose 5 percentage points", "it rose 5 pp"),
        ("it rose 5 percentage points then", "it rose 5 pp then"),
        ("it rose 5 per cent", "it rose 5 %"),
        ("the file. Then more", "the file Then more"),
        ("it’s kept", "it's kept"),
        ("A plot of it", "plot of it"),
        ("我们的数据", "我们数据"),
        ("5，000 keep", "5，000 keep"),
    ],
)
def test_forms_of_the_same_say_the_same(one, other):
    """C5."""
    assert nothing_new(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a - b", "a -b"),
        ("a- b", "a b"),
        ("a * b", "a b"),
        ("this a*b", "this ab"),
        ("-5 kg", "5 kg"),
        ("v1.20 is used", "v1.2 is used"),
        ("100 rows", "1 rows"),
        ("gas is used", "ga is used"),
        ("bus is used", "bu is used"),
        ("the boss is used", "the bos is used"),
        ("the analysis", "the analysi"),
        ("the ties", "the ty"),
        ("use A here", "use here"),
        ("5 percentage rows", "5 pp rows"),
        ("data.csv here", "datacsv here"),
        ("at 10:30 here", "at 1030 here"),
        ("Df here", "df here"),
        ("use It here", "use Id here"),
    ],
)
def test_what_may_differ_in_meaning_stays_apart(one, other):
    """C5: when in doubt both stay."""
    assert not nothing_new(one, other)


def test_tokens_are_plain_and_in_order():
    """C5."""
    assert tokens("Remember that the User's dose is 10.0 milligrams, not 5!") == ("User's", "dose", "10", "mg", "not", "5")
    assert tokens("x <!-- mf:a o=user --> y") == ("x", "y")


def test_a_sentence_beside_another_is_covered_unless_that_qualifies_it():
    """C5."""
    assert covered("Drop outliers.", ["Use teal. Drop outliers."])
    assert not covered("Drop outliers.", ["Drop outliers. Not in Q3."])
    assert covered("Drop outliers.", ["Drop outliers, use teal."])
    assert not covered("Drop outliers.", ["Drop outliers, except in Q3."])


def kinds(text):
    return [(text[start:end], kind) for start, end, kind in assigned.assigned(text, text.lower())]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("token = abc123def456", [("abc123def456", "token")]),
        ("tokens = abc123def456", []),
        ("pwds = abc123def456", []),
        ("passwords = abc123def456", [("abc123def456", "password")]),
        ("secret = abc123def456", [("abc123def456", "secret")]),
        ("mypasswd = abc123def456", [("abc123def456", "password")]),
        ("mytoken = abc123def456", [("abc123def456", "token")]),
        ("mysecret = abc123def456", [("abc123def456", "secret")]),
        ("compass = abc123def456", []),
        ("myPass = abc123def456", [("abc123def456", "password")]),
        ("my2pass = abc123def456", [("abc123def456", "password")]),
        ("my_pass = abc123def456", [("abc123def456", "password")]),
        ("myCredential = abc123def456", [("abc123def456", "secret")]),
        ("mycredential = abc123def456", []),
        ("sort_key = abc123def456", []),
        ("apiKey = abc123def456", [("abc123def456", "secret")]),
        ("myapi_key = abc123def456", [("abc123def456", "secret")]),
        ("signing.key = abc123def456", [("abc123def456", "secret")]),
        ("x['token'] = abc123def456", [("abc123def456", "token")]),
        ("token = abc123def456 and secret = abc123def457", [("abc123def456", "token"), ("abc123def457", "secret")]),
    ],
)
def test_a_name_announces_a_secret_or_does_not(text, found):
    """P7."""
    assert sorted(kinds(text)) == sorted(found)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("the token is abc123def456.", [("abc123def456", "secret")]),
        ("the password is abc1!", [("abc1", "password")]),
        ("the api key is 'abc123def456'), ok", [("abc123def456", "secret")]),
        ("密码是abc123。", [("abc123", "password")]),
    ],
)
def test_what_is_told_in_passing_ends_before_its_punctuation(text, found):
    """P7."""
    assert [(text[start:end], kind) for start, end, kind in assigned.spoken(text, text.lower())] == found


OPENAI = "sk-" + "Zq3vT9kLm2Xw8Rb5Nc7Y" + "T3Blbk" + "FJ" + "d1Hf4Gj6Ps0QaZq3vT9k"


@pytest.mark.parametrize("text", [OPENAI, f"{OPENAI} then {OPENAI}", f"one\n{OPENAI}\nthree {OPENAI}", "x " * 500 + OPENAI, f"cloudant and {OPENAI}"])
def test_each_place_of_a_detected_secret_is_found(text):
    """P7: at the very beginning, twice in a line, in several lines, after another detector's hint."""
    found = list(detectors.detected(text, text.lower()))
    assert {text[start:end] for start, end, _ in found} == {OPENAI}
    assert len({(start, end) for start, end, _ in found}) == text.count(OPENAI)
    assert {kind for _, _, kind in found} == {"OpenAI Token"}


def test_detectors_look_at_the_lines_of_their_hints_alone():
    """P7: at most 400 characters to each side."""
    assert list(detectors._windows("aa\nbb hint cc\ndd", ["hint"])) == [(3, 13)]
    assert list(detectors._windows("hint", ["hint"])) == [(0, 4)]
    assert list(detectors._windows("x" * 500 + "hint" + "y" * 500, ["hint"])) == [(100, 900)]
    assert list(detectors._windows("hint\nhint", ["hint", "none"])) == [(0, 4), (5, 9)]
    assert list(detectors._windows("a\nb\nhint\nc\nd", ["hint"])) == [(4, 8)]
    assert list(detectors._windows("\nhint", ["hint"])) == [(1, 5)]
    assert list(detectors._windows("hint" + "y" * 394 + "hinthint", ["hint"])) == [(0, 400), (0, 406)]
    assert list(detectors._windows("no word of it", ["hint"])) == []


class Short:
    secret_type = "short"  # noqa: S105 - a kind, no password

    def analyze_string(self, text):
        return {word for word in text.split() if word.startswith("s")}


def test_a_group_of_fifteen_characters_is_no_secret_and_one_of_sixteen_is(monkeypatch):
    """P7."""
    monkeypatch.setattr(detectors, "_DETECTORS", (("none", "Nothing", ("absent",)), ("fake", "Short", ("hint",))))
    monkeypatch.setattr(detectors, "import_module", lambda name: type("Module", (), {"Short": Short}) if name == "detect_secrets.plugins.fake" else None)
    text = f"hint {'s' * 15} {'s' * 16}"
    assert list(detectors.detected(text, text)) == [(21, 37, "short")]


def test_a_stream_remembers_whole_words_of_what_it_sent():
    """P7."""
    assert _context("short") == "short"
    long = "first " + "word " * 400
    kept = _context(long)
    assert long.endswith(kept)
    assert kept.startswith("word ")
    assert len(kept) < len(long)
    assert _context("x" * 5_000) == "x" * len(_context("x" * 5_000))


@pytest.mark.parametrize(
    ("forms", "no_forms"),
    [
        ("apply applies applied", "applys applyed"),
        ("enjoy enjoys enjoyed", "enjoies enjoied"),
        ("miss misses missed", "misss"),
        ("match matches matched", "matchs"),
        ("publish publishes published", "publishs"),
        ("go goes", "gos"),
        ("require requires required", "requireed"),
        ("cover covers covered", "coverd coveres"),
        ("studies studied plays played uses used", "study play use"),
    ],
)
def test_verbs_are_known_in_their_forms(forms, no_forms):
    """C13: bases that are as often nouns only where an ending tells."""
    assert VERBS.issuperset(forms.split())
    assert VERBS.isdisjoint(no_forms.split())


def test_letters_whose_small_form_is_longer_move_nothing():
    """P7: what is found in the small text is cut out of the given one."""
    assert _lowered("\u0130 MY_Token") == "\u0130 my_token"
    assert _lowered("MY_Token Ä") == "my_token ä"
    value = "abc123" + "def456"
    assert Redactor({})(f"\u0130\u0130\u0130 TOKEN = {value} end") == "\u0130\u0130\u0130 TOKEN = [redacted: token] end"


def test_without_secrets_in_the_environment_nothing_is_looked_for():
    """P7: an empty pattern would match everywhere."""
    assert Redactor({})._pattern is None
    assert Redactor({})("plain text") == "plain text"
