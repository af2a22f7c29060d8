"""Dates and times in the audit: what is read as one, what it means, and when two are the same (D13)."""

from __future__ import annotations

import pytest

from memflush_jupyter.context.audit_dates import MomentIndex, moments


def read(text):
    return [(one.text, one.readings) for one in moments(text)]


def holds(there, wanted):
    (moment,) = moments(wanted)
    return MomentIndex([there]).holds(moment)


@pytest.mark.parametrize(
    ("written", "readings"),
    [
        # numeric, year first
        ("2026-03-09", [(2026, 3, 9)]),
        ("2026/3/9", [(2026, 3, 9)]),
        ("2026.03.09", [(2026, 3, 9)]),
        ("1500-12-31", [(1500, 12, 31)]),
        ("2026-03", [(2026, 3, None)]),
        ("2026-12", [(2026, 12, None)]),
        # numeric, year last: with points the day comes first, else it may be either
        ("9.3.2026", [(2026, 3, 9)]),
        ("9/3/2026", [(2026, 3, 9), (2026, 9, 3)]),
        ("9-3-2026", [(2026, 3, 9), (2026, 9, 3)]),
        ("9/3/26", [(2026, 3, 9), (2026, 9, 3)]),
        ("25/3/2026", [(2026, 3, 25)]),
        ("21/3/2026", [(2026, 3, 21)]),
        ("3/25/2026", [(2026, 3, 25)]),
        ("5/5/2026", [(2026, 5, 5)]),
        ("12/12/05", [(2005, 12, 12)]),
        ("1/1/2026", [(2026, 1, 1)]),
        # quarters: 21 is the first
        ("Q1 2026", [(2026, 21, None)]),
        ("Q4/2025", [(2025, 24, None)]),
        ("Q2, 2025", [(2025, 22, None)]),
        ("Q3 of 2025", [(2025, 23, None)]),
        ("2025 Q3", [(2025, 23, None)]),
        ("2025Q2", [(2025, 22, None)]),
        ("2025-Q4", [(2025, 24, None)]),
        ("3Q 2025", [(2025, 23, None)]),
        ("1Q2025", [(2025, 21, None)]),
        # named months, in the languages of Europe
        ("3 March 2026", [(2026, 3, 3)]),
        ("3rd of March, 2026", [(2026, 3, 3)]),
        ("1st Jan. 2026", [(2026, 1, 1)]),
        ("22nd Sept", [(None, 9, 22)]),
        ("March 3, 2026", [(2026, 3, 3)]),
        ("March 3rd", [(None, 3, 3)]),
        ("MARCH 3", [(None, 3, 3)]),
        ("march 3", [(None, 3, 3)]),
        ("March 2026", [(2026, 3, None)]),
        ("Dec. 2026", [(2026, 12, None)]),
        ("May of 2026", [(2026, 5, None)]),
        ("3. März 2026", [(2026, 3, 3)]),
        ("1er août 2026", [(2026, 8, 1)]),
        ("5 de mayo de 2026", [(2026, 5, 5)]),
        ("5º de maio", [(None, 5, 5)]),
        ("12 settembre", [(None, 9, 12)]),
        ("7 января 2026", [(2026, 1, 7)]),
        ("3-Mar-2026", [(2026, 3, 3)]),
        ("31 December", [(None, 12, 31)]),
        # Chinese, Japanese, Korean
        ("2026年1月20日", [(2026, 1, 20)]),
        ("2026年12月31日", [(2026, 12, 31)]),
        ("3月5日", [(None, 3, 5)]),
        ("2026年3月", [(2026, 3, None)]),
        ("2026年", [(2026, None, None)]),
        ("2026年第三季度", [(2026, 23, None)]),
        ("2026年一季度", [(2026, 21, None)]),
        ("2026年第4季度", [(2026, 24, None)]),
        ("2026년 5월 7일", [(2026, 5, 7)]),
        ("10月9號", [(None, 10, 9)]),
        # times of day: the hour as a negative number, since no month is
        ("14:30", [(None, -14, 30)]),
        ("9:05", [(None, -9, 5)]),
        ("23:59:59", [(None, -23, 59)]),
        ("2:30 pm", [(None, -14, 30)]),
        ("2:30 p.m", [(None, -14, 30)]),
        ("11:15 PM", [(None, -23, 15)]),
        ("12:15 am", [(None, 0, 15)]),
        ("12:15 pm", [(None, -12, 15)]),
        ("9:15 am", [(None, -9, 15)]),
        ("12 am", [(None, 0, 0)]),
        ("5pm", [(None, -17, 0)]),
        ("11 am", [(None, -11, 0)]),
        # a year by itself
        ("2019", [(2019, None, None)]),
        ("1999", [(1999, None, None)]),
    ],
)
@pytest.mark.parametrize("frame", ["{}", "It was {} there.", "Before that, (see {}) it changed, and so on for a long while, as told.", "结果，{}。"])
def test_a_date_is_read_with_all_that_it_may_mean(written, readings, frame):
    text = frame.format(written)
    (moment,) = moments(text)
    assert moment.text == written
    assert list(moment.readings) == readings
    assert text[moment.start : moment.end].rstrip(". ") == written.rstrip(". ")
    assert moment.start == text.index(written)


@pytest.mark.parametrize(
    "text",
    [
        "no digits at all",
        "2026-13-45",
        "45/46/2026 is none",
        "32.1.2026",
        "0 March",
        "32 March",
        "version 1.2.2026.4",
        "in 12 months",
        "3 marches",
        "12个月",
        "3月内完成",
        "三月",
        "5月",
        "第3",
        "25:10",
        "14:61",
        "v2:30:10:11",
        "13 pm",
        "0 am",
        "$2019",
        "2019 kg",
        "2019 rows",
        "2019%",
        "2019.5",
        "12,2019",
        "x_2019",
        "2019_x",
        "2019/folder/1",
        "1499",
        "2200",
        "12019",
        "20191",
        "May be 3% more",
        "march 3.5 km",
        "March 3:1",
        "Q5 2026",
        "2026-00",
        "path/2026-03-04/x",
        "a-2026-03-04",
    ],
)
def test_what_is_no_date_is_none(text):
    assert read(text) == []


def test_all_dates_of_a_text_are_found_and_none_twice():
    text = "From 2026-01-02 to 5 March 2026 at 14:30, again on 7 June; the 2019 data and Q3 2024 stay. 会议在3月5日。"
    assert [one[0] for one in read(text)] == ["2026-01-02", "Q3 2024", "5 March 2026", "7 June", "3月5日", "14:30", "2019"]


def test_dates_far_apart_and_close_together_are_all_found():
    filler = "word " * 60
    dates = ["2026-01-02", "2026-01-03", "4.5.2026"]
    assert [one[0] for one in read(f" {filler}".join(dates))] == dates
    assert [one[0] for one in read(" ".join(dates))] == dates
    named = ["3 March", "March 4", "5 May 2026"]
    assert [one[0] for one in read(f" {filler}".join(named))] == named
    assert [one[0] for one in read(f"{filler}{filler}".join(["9:10", "9:11"]))] == ["9:10", "9:11"]
    assert [one[0] for one in read(f"{filler}{filler}".join(["1月2日", "1月3日"]))] == ["1月2日", "1月3日"]
    assert [one[0] for one in read(f"{filler}{filler}".join(["in 2019 it", "in 2020 it"]))] == ["2019", "2020"]


def test_a_letter_whose_small_form_is_longer_moves_no_date():
    assert read("İ İ İ İ İ: 3 March and 2026-01-02") == [("2026-01-02", ((2026, 1, 2),)), ("3 March", ((None, 3, 3),))]


@pytest.mark.parametrize(
    ("wanted", "there"),
    [
        ("3 March 2026", "2026-03-03"),
        ("2026-03-03", "on 3 March"),  # there the year went without saying
        ("3 March", "2026-03-03"),
        ("9/3/2026", "9 March 2026"),
        ("9/3/2026", "September 3, 2026"),
        ("Q3 2025", "2025年第三季度"),
        ("2:30 pm", "14:30"),
        ("2019", "in March 2019"),
        ("2026-03", "3 March 2026"),
    ],
)
def test_the_same_date_in_another_notation_is_held(wanted, there):
    assert holds(there, wanted)


@pytest.mark.parametrize(
    ("wanted", "there"),
    [
        ("3 March 2026", "3 March 2025"),
        ("3 March 2026", "4 March 2026"),
        ("3 March 2026", "3 May 2026"),
        ("3 March 2026", "March 2026"),
        ("3 March", "March 2026"),
        ("March 2026", "on 3 March"),
        ("March 2026", "2026"),
        ("2026", "3 March"),
        ("2:30 pm", "2:30"),
        ("14:30", "14:31"),
        ("Q3 2025", "Q3 2024"),
        ("Q3 2025", "March 2025"),
        ("Q1 2026", "21/3/2026"),
        ("3 March", "no date"),
    ],
)
def test_another_date_is_not_held(wanted, there):
    assert not holds(there, wanted)


def test_a_date_is_looked_for_in_all_texts():
    (moment,) = moments("3 March 2026")
    assert MomentIndex(["nothing", "", "2026-03-03"]).holds(moment)
    assert not MomentIndex([]).holds(moment)
