"""The audit of a compaction: what is lost is listed with its message, what still stands is not, in whatever notation (D13)."""

from __future__ import annotations

import pytest

from memflush_jupyter.context.audit import LISTED, audit
from memflush_jupyter.trace.models import Message


def message(sequence, kind, *blocks):
    return Message("t", sequence, sequence - 1 or None, "assistant" if kind == "reply" else "user", kind, list(blocks))


def text(body):
    return {"type": "text", "text": body}


def said(body, kind="prompt", sequence=1):
    return [message(sequence, kind, text(body))]


def missing(body, **places):
    return [(item.kind, item.text) for item in audit(said(body), **{"summary": "", **places}).missing]


@pytest.mark.parametrize(
    ("body", "lost"),
    [
        ("The dose was 10 mg.", ("number", "10 mg")),
        ("Mean body mass is 4,201.75 g.", ("number", "4,201.75 g")),
        ("The report is due on 3 March.", ("date", "3 March")),
        ("会议定在2026年1月20日。", ("date", "2026年1月20日")),
        ("Please ask Ilse Marquardt about it.", ("name", "Ilse Marquardt")),
        ("The raw data lie in archive/2024/buoys_7.parquet.", ("path", "archive/2024/buoys_7.parquet")),
        ("The column `salinity_psu` was made from conductivity.", ("column", "salinity_psu")),
        ("We decided to drop the Zadar buoys.", ("decision", "We decided to drop the Zadar buoys.")),
        ("Never overwrite the calibration files.", ("constraint", "Never overwrite the calibration files.")),
        ("I prefer log axes for turbidity charts.", ("instruction", "I prefer log axes for turbidity charts.")),
    ],
)
def test_what_stands_nowhere_any_more_is_listed_with_its_kind_and_message(body, lost):
    found = audit(said(body, sequence=7), summary="Words were said.")
    item = next(item for item in found.missing if (item.kind, item.text) == lost)
    assert (item.trace, item.sequence, item.origin) == ("t", 7, "user")
    assert found.score < 1


@pytest.mark.parametrize(
    ("body", "same"),
    [
        ("The dose was 10 mg.", "a dose of 0.01 g"),
        ("Mean body mass is 4,201.75 g.", "about 4.2 kg"),
        ("It explains 87.3 % of the variance.", "0.873 of the variance"),
        ("The report is due on 3 March.", "due 2026-03-03"),
        ("Please ask Ilse Marquardt about it.", "Marquardt knows"),
        ("The raw data lie in archive/2024/buoys_7.parquet.", "buoys_7.parquet"),
        ("The column `salinity_psu` was made.", "salinity (psu)"),
        ("Never overwrite the calibration files.", "Do not overwrite calibration files"),
    ],
)
@pytest.mark.parametrize("place", ["summary", "memory", "tail", "beside"])
def test_the_same_in_another_notation_is_not_missed_wherever_it_stands(body, same, place):
    value = said(same, "reply", 2) if place == "tail" else same
    assert missing(body, **{place: value}) == []


@pytest.mark.parametrize(
    ("body", "other"),
    [
        ("The dose was 10 mg.", "The dose was 100 mg."),
        ("Mean body mass is 4,201.75 g.", "4,301.75 g"),
        ("The report is due on 3 March.", "due on 3 May"),
        ("Use buoys_7.parquet.", "buoys_8.parquet"),
        ("Never overwrite the calibration files.", "Overwrite the calibration files."),
    ],
)
def test_what_only_looks_alike_is_missed(body, other):
    assert missing(body, summary=other)


def test_talk_without_facts_loses_nothing():
    found = audit(said("Thanks, that looks good. Go on please."), summary="")
    assert (found.checked, found.missing, found.score) == (0, (), 1.0)


def test_what_memory_recall_and_tables_put_there_is_not_asked_for_again():
    """F2, G6: it was said elsewhere, and stands in the store."""
    call = {"type": "tool_use", "id": "c1", "name": "memory_search", "input": {"query": "dose"}}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": [text("- The dose was 77 mg.")]}
    table = {"type": "tool_result", "tool_use_id": "c2", "content": [text("   a      b\n1  12.5  13.5\n2  14.5  15.5")]}
    code = {"type": "tool_use", "id": "c2", "name": "run_python", "input": {"code": "print(1)"}}
    found = audit([message(1, "reply", call, code), message(2, "results", result, table)], summary="")
    assert [item.text for item in found.missing] == []


def test_what_a_summary_says_and_nobody_said_is_listed_and_only_that():
    """D13"""
    found = audit(said("The mean is 4.2 kg, says Ilse Marquardt, on 3 March."), summary="The mean is 9.9 kg (Ilse Marquardt and Bob Ferrier, 3 March 2026).")
    assert {(one.kind, one.text) for one in found.untraceable} == {("number", "9.9 kg"), ("name", "Bob Ferrier")}


def test_the_record_keeps_the_worst_first_and_counts_all():
    body = "Never overwrite the calibration files. " + " ".join(f"Value {n} is {n}.25 kg." for n in range(100, 100 + LISTED + 20))
    data = audit(said(body), summary="").as_data()
    assert data["missing"][0]["kind"] == "constraint"
    assert len(data["missing"]) == LISTED
    assert data["missing_total"] == data["checked"] == 1 + 2 * (LISTED + 20)
    assert data["score"] == 0.0
