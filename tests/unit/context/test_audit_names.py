"""Names in the audit: people, organisations and places, in several scripts, and the ways in which they are written again (D13)."""

from __future__ import annotations

import pytest

from memflush_jupyter.context.audit import Held
from memflush_jupyter.context.audit_names import NameIndex, fold, names
from memflush_jupyter.context.audit_sources import spoken_form


def read(text, small=frozenset()):
    return [one.text for one in names(text, frozenset(small))]


def holds(there, wanted, small=frozenset()):
    (name,) = names(wanted, frozenset(small))
    texts = [there] if isinstance(there, str) else there
    return NameIndex(texts, Held(texts).norm).holds(name)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Please ask Ilse Marquardt about it.", ["Ilse Marquardt"]),
        ("ask Ilse Marquardt's team", ["Ilse Marquardt"]),
        ("ask Ilse Marquardt’s team", ["Ilse Marquardt"]),
        ("Ilse Marquardt knows", ["Ilse Marquardt"]),
        ("as Marquardt said", ["Marquardt"]),
        ("we flew to Zadar today", ["Zadar"]),
        ("by Ludwig van der Berg there", ["Ludwig van der Berg"]),
        ("the University of Zadar offers", ["University of Zadar"]),
        ("from Johnson & Johnson now", ["Johnson & Johnson"]),
        ("with J. R. Tolkien here", ["J. R. Tolkien"]),
        ("with J.R. Tolkien here", ["J.R. Tolkien"]),
        ("with Dr. Anna Kowalska here", ["Dr. Anna Kowalska"]),
        ("for Mr Ferrier it is", ["Mr Ferrier"]),
        ("for Prof. Ferrier it is", ["Prof. Ferrier"]),
        ("by José Núñez in it", ["José Núñez"]),
        ("by Иван Петров in it", ["Иван Петров"]),
        ("by Jean-Luc Picard in it", ["Jean-Luc Picard"]),
        ("by O'Brien in it", ["O'Brien"]),
        ("by McDonald in it", ["McDonald"]),
        ("by Xi in it", ["Xi"]),
        ("by Xi's in it", ["Xi"]),
        ("by Xi’s in it", ["Xi"]),
        ("and Monday's Ferrier", ["Ferrier"]),
        ("and Monday’s Ferrier", ["Ferrier"]),
        ("and D’Angelo too", ["D’Angelo"]),
        ("met Bob van der", ["Bob"]),
        ("met Bob Ferrier The", ["Bob Ferrier"]),
        ("a name that is long before Bob and", ["Bob"]),
        ("Die Firma Ferrier ist da", ["Firma Ferrier"]),
        ("Es ist für Zadar", []),
        ("on Zadar am Meer", ["Zadar", "Meer"]),
        ("by DiCaprio in it", ["DiCaprio"]),
        ("then Ilse Marquardt and Bob Ferrier met", ["Ilse Marquardt", "Bob Ferrier"]),
        ("The Marquardt report", ["Marquardt"]),
        ("This Ilse Marquardt is", ["Ilse Marquardt"]),
        ("In Zadar City, on Tuesday, Ferry", ["Zadar City", "Ferry"]),
        ("- Ilse Marquardt\n- Bob Ferrier", ["Ilse Marquardt", "Bob Ferrier"]),
        ("ask the Acme Corp. Then go", ["Acme Corp"]),
        ("Ilse\u00a0Marquardt came", ["Ilse\u00a0Marquardt"]),
        ("we met Bob. Alice was away", ["Bob"]),
        # German: every noun is a capital, so that only names of several words are told apart
        ("Wir haben mit Ilse Marquardt und der Firma gesprochen", ["Ilse Marquardt"]),
        ("Der Bericht ist für Berlin und wird groß", []),
    ],
)
def test_names_show_by_capitals_where_none_is_needed(text, found):
    assert read(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "Words begin a sentence. Another one does. Penguins do.",
        "- Penguins\n- Islands\n1. Boats\n# Harbours\n> Quotes",
        "on Monday or in March we use Python and Pandas with JSON",
        "a DataFrame, the X and the TTLs3, getMass, bodyMass, a_B, Q3",
        "I think I'm right, and We'll see; so That's it and Don't",
        "the I. and the a",
        "Mr and Dr.",
        "see @Marquardt, x.Marquardt, /Marquardt, $Marquardt, \\Marquardt",
        'Load the file: Plot it! Compare them? (Show all) "Keep" it',
        "",
    ],
)
def test_what_is_capital_for_another_reason_is_no_name(text):
    assert read(text) == []


def test_a_word_that_also_occurs_in_small_letters_is_no_name():
    assert read("then the Boat went on", {"boat"}) == []
    assert read("then the Boat went on") == ["Boat"]
    assert read("then the Boat Marina went on", {"boat"}) == ["Boat Marina"]
    assert read("of the José way", {"jose"}) == []


def test_a_name_knows_its_telling_words_and_its_place():
    text = "then Dr. José van der Berg's boat"
    (name,) = names(text, frozenset())
    assert (name.text, name.words, name.whole) == ("Dr. José van der Berg", ("jose", "berg"), False)
    assert text[name.start :].startswith(name.text)
    (name,) = names("with J. R. Tolkien", frozenset())
    assert name.words == ("j", "r", "tolkien")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("我们在中国海洋大学工作", ["中国海洋大学"]),
        ("数据来自北京气象研究所", ["北京气象研究所"]),
        ("这家公司", []),
        ("王小明负责数据", ["王小明"]),
        ("请找李华说明", ["李华"]),
        ("客户欧阳峰提出", ["欧阳峰"]),
        ("同事张伟建议", ["张伟"]),
        ("王先生来了", ["王"]),
        ("陈博士认为", ["陈"]),
        ("方法是好的", []),
        ("这家公司在中国海洋大学", ["中国海洋大学"]),
        ("方法是，王小明说", ["王小明"]),
        ("王小明说，王小明说", ["王小明", "王小明"]),
        ("高度和温度", []),
        ("時間です", []),
        ("田中さんに聞く", ["田中"]),
        ("スズキ様", ["スズキ"]),
        ("김민수 씨", ["김민수"]),
        ("이영희님", ["이영희"]),
        ("السيد أحمد علي", ["أحمد علي"]),
        ("श्री राम कुमार", ["राम कुमार"]),
    ],
)
def test_names_in_scripts_without_capitals_show_by_family_names_titles_and_endings(text, found):
    assert read(text) == found
    for one in names(text, frozenset()):
        assert one.whole
        assert one.words == (one.text,)
        assert text[one.start :].startswith(one.text)


@pytest.mark.parametrize(
    ("wanted", "there"),
    [
        ("ask Ilse Marquardt", "ILSE MARQUARDT knows"),
        ("ask Ilse Marquardt", "Marquardt, Ilse"),
        ("ask Ilse Marquardt", "told Marquardt"),
        ("ask Ilse Marquardt", "told I. Marquardt"),
        ("ask Ilse Marquardt", "told I Marquardt"),
        ("ask Ilse Marquardt", "told Dr. Marquardt"),
        ("ask Ilse Marquardt", "Mrs Marquardt"),
        ("ask Ilse Marquardt", "Ask Marquardt"),
        ("ask Ilse Marquardt", "The Marquardt report"),
        ("ask Ilse Marquardt", "(Marquardt)"),
        ("ask Ilse Marquardt", "told Ilse-Marquardt"),
        ("ask Ilse Marquardt", "and Ilse. Marquardt"),
        ("ask Ilse Marquardt's", "told Marquardt"),
        ("ask Ilse Anna Marquardt", "Marquardt, Ilse Anna"),
        ("ask Ilse Anna Marquardt", "told Marquardt"),
        ("ask Ilse Marquardt", "Marquardtson and Marquardt"),
        ("ask Ilse Marquardt", "Bob Marquardt, but not Marquardt"),
        ("by José Núñez", "jose nunez"),
        ("with the World Health Organization there", "the WHO says"),
        ("we flew to Zadar", "zadar"),
        ("请找李华说明", "李华的数据"),
        ("with Jean-Luc Picard", "jean luc picard"),
    ],
)
def test_a_name_is_held_in_full_turned_round_by_family_name_or_as_initials(wanted, there):
    assert holds(there, wanted)


@pytest.mark.parametrize(
    ("wanted", "there"),
    [
        ("ask Ilse Marquardt", "Ilse"),
        ("ask Ilse Marquardt", "Bob Marquardt"),
        ("ask Ilse Marquardt", "B. Marquardt"),
        ("ask Ilse Marquardt", "Marquardtson"),
        ("ask Ilse Marquardt", "xMarquardt"),
        ("ask Ilse Marquardt", "marquardt"),
        ("ask Ilse Marquardt", "IM"),
        ("ask Ilse Marquardt", "L. Marquardt"),
        ("ask Ilse Marquardt", "Marquardtson, then Marquardti"),
        ("ask Ilse Anna Marquardt", "told Anna"),
        ("ask Ilse Anna Marquardt", "Marquardt Bob Anna"[10:]),
        ("ask Ilse Anna Marquardt", "Bob Marquardt, Ilse"),
        ("with the World Health Organization there", "WHOLE"),
        ("we flew to Zadar", "Zadarian"),
        ("请找李华说明", "李花"),
        ("we flew to Zadar", ""),
    ],
)
def test_another_name_is_not_held(wanted, there):
    assert not holds(there, wanted)


def test_a_name_is_looked_for_in_all_texts():
    assert holds(["nothing", "told Marquardt"], "ask Ilse Marquardt")
    assert holds(["nothing", "李华"], "请找李华说明")
    assert not holds([], "ask Ilse Marquardt")


@pytest.mark.parametrize(
    ("word", "folded"),
    [("José's", "jose"), ("José’s", "jose"), ("Dr.", "dr"), ("'Núñez'", "nunez"), ("STRASSE", "strasse"), ("Straße", "strasse"), ("Bob", "bob"), ("Ås", "as")],
)
def test_case_accents_genitives_and_points_make_no_other_word(word, folded):
    assert fold(word) == folded


def test_words_are_compared_between_blanks():
    assert spoken_form("Jean-Luc  Picard (captain)") == "jean luc picard captain"
