"""Decisions, constraints and instructions in the audit, and when other words still say them (D13)."""

from __future__ import annotations

import pytest

from memflush_jupyter.context.audit_sentences import SentenceIndex, said, stems
from memflush_jupyter.memory.salience import SourceText


def read(*sources):
    return [
        (one.kind, one.text, one.sequence, one.origin)
        for one in said([SourceText(text, origin, "t", sequence) for sequence, (origin, text) in enumerate(sources, 1)])
    ]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("We decided to drop the Zadar buoys.", "decision"),
        ("Never overwrite the calibration files.", "constraint"),
        ("I prefer log axes for turbidity charts.", "instruction"),
        ("我们决定删除扎达尔的浮标。", "decision"),
        ("不要覆盖校准文件。", "constraint"),
    ],
)
def test_what_a_person_lays_down_is_found_with_its_kind(text, kind):
    assert read(("user", text)) == [(kind, text, 1, "user")]


def test_the_agent_may_put_down_a_decision_and_nothing_else():
    assert [one[0] for one in read(("agent", "We decided to drop the Zadar buoys."))] == ["decision"]
    assert read(("agent", "Never overwrite the calibration files.")) == []
    assert read(("agent", "I prefer log axes for turbidity charts.")) == []
    assert read(("agent", "We decided to drop the Zadar buoys. Never overwrite the calibration files.")) == [
        ("decision", "We decided to drop the Zadar buoys.", 1, "agent")
    ]


def test_the_output_of_a_tool_lays_down_nothing():
    """P8"""
    assert read(("tool", "Never overwrite the calibration files.")) == []
    assert read(("tool", "We decided to drop the Zadar buoys.")) == []


def test_talk_lays_down_nothing():
    assert read(("user", "Thanks, that looks good."), ("user", "Plot the mass by island."), ("user", "What is the mean?")) == []


def test_what_was_said_comes_in_the_order_of_the_messages():
    found = read(
        ("user", "I prefer log axes for turbidity charts."), ("user", "Never overwrite the calibration files."), ("user", "We decided to drop the Zadar buoys.")
    )
    assert [one[2] for one in found] == [1, 2, 3]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The plots were dropped", {"plot", "drop"}),
        ("the of and", set()),
        ("don't", set()),
        ("42 Größen", {"42", "größen"}),
        ("海洋浮标", {"海洋", "洋浮", "浮标"}),
        ("浮", {"浮"}),
        ("必须使用红色", {"红色"}),
        ("红色和线性", {"红色", "线性"}),
        ("부표 데이터", {"부표", "데이", "이터"}),
        ("буй", {"буй"}),
        ("", set()),
    ],
)
def test_what_a_sentence_says_is_the_stems_of_its_telling_words(text, expected):
    assert stems(text) == expected


@pytest.mark.parametrize(
    ("wanted", "there"),
    [
        ("Never overwrite the calibration files.", "Do not overwrite calibration files"),
        ("Never overwrite the calibration files.", "Talk before. Calibration files are never overwritten. Talk after."),
        ("We decided to drop the Zadar buoys.", "Decision: the Zadar buoys are dropped"),
        ("I prefer log axes for turbidity charts.", "Preference: log axes for turbidity charts"),
        ("Plots need log axes, red lines and big fonts.", "Plots need log axes. And red lines, big fonts."),
        ("The report is due on 3 March 2026.", "Report due 2026-03-03"),
        ("The report is due on 3 March.", "the report: due 2026-03-03"),
        ("不要覆盖校准文件。", "校准文件不能覆盖"),
        ("the of", ""),
        ("Files like a.csv stay untouched", "a.csv files stay untouched"),
    ],
)
def test_a_sentence_is_held_where_most_of_its_words_stand_together(wanted, there):
    assert SentenceIndex(["nothing", there]).holds(wanted)


@pytest.mark.parametrize(
    ("wanted", "there"),
    [
        ("Never overwrite the calibration files.", "Overwrite the calibration files."),
        ("Never overwrite the calibration files.", "Never overwrite it."),
        ("Never overwrite the calibration files.", "Calibration. Talk here. Never there. Files."),
        ("We decided to drop the Zadar buoys.", "The Zadar buoys are fine"),
        ("Plots need log axes, red lines and big fonts.", "Plots need log axes. Talk. And red lines, big fonts."),
        ("The report is due on 3 March.", "the report: due 2026-03-04"),
        ("The report is due in March 2026.", "the report: due March 2025"),
        ("We decided to drop the Zadar buoys.", "Zadar  buoys  dropped"),
        ("不要覆盖校准文件。", "覆盖校准文件"),
        ("I prefer log axes for turbidity charts.", ""),
    ],
)
def test_a_sentence_that_says_less_or_the_opposite_does_not_hold_it(wanted, there):
    assert not SentenceIndex([there]).holds(wanted)


def test_the_likeliest_sentences_are_looked_at_however_many_share_a_word():
    crowd = ". ".join(f"Buoys number {n}" for n in range(50))
    assert SentenceIndex([crowd, "Zadar buoys are dropped", crowd]).holds("We decided to drop the Zadar buoys.")
