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


@pytest.mark.parametrize(
    ("body", "there", "held"),
    [
        ("It is 12.5 kg.", "x12.5 kg", False),
        ("It is 12.5 kg.", "-12.5 kg", False),
        ("It is 12.5 kg.", "12.5 kgs", True),  # another word for the unit, and three digits tell enough
        ("It is 12 kg.", "12 kg/m", False),
        ("It is 12 kg.", "(12 kg)", True),
        ("It is 12 kg.", "112 kg, then 12 kg.", True),
        ("It costs $12.", "US$12", True),
        ("It is 12 kg.", "2.12 kg", False),
    ],
)
def test_characters_that_belong_to_another_number_do_not_hold_it(body, there, held):
    assert (missing(body, summary=there) == []) is held


def test_the_score_is_the_share_that_is_still_held():
    found = audit(said("It is 12.5 kg and 33.5 km and 77.5 mg and 99.5 ml."), summary="12.5 kg and 33.5 km and 77.5 mg")
    assert (found.checked, len(found.missing), found.score) == (4, 1, 0.75)


def test_what_was_written_back_afterwards_counts_as_held_in_the_record():
    found = audit(said("It is 12.5 kg and 33.5 km and 77.5 mg and 99.5 ml.", sequence=3), summary="12.5 kg")
    data = found.as_data(recovered=found.missing[:2])
    assert (data["score"], data["score_before"], data["recovered"], data["missing_total"], data["checked"]) == (0.75, 0.25, 2, 3, 4)
    assert [one["recovered"] for one in data["missing"]] == [True, True, False]
    assert data["missing"][0] == {"kind": "number", "text": "33.5 km", "trace": "t", "sequence": 3, "recovered": True}
    assert (data["untraceable"], data["untraceable_total"]) == ([], 0)


def test_the_record_of_nothing_is_whole():
    assert audit([], summary="").as_data() == {
        "score": 1.0,
        "score_before": 1.0,
        "checked": 0,
        "missing": [],
        "missing_total": 0,
        "recovered": 0,
        "untraceable": [],
        "untraceable_total": 0,
    }


def test_scores_are_rounded_to_four_places():
    data = audit(said("It is 12.5 kg and 33.5 km and 77.5 mg."), summary="12.5 kg and 33.5 km").as_data()
    assert (data["score"], data["score_before"]) == (0.6667, 0.6667)


def test_claims_of_a_summary_are_recorded_with_their_sentence_and_all_counted():
    claims = " ".join(f"Value {n} is {n}.25 kg." for n in range(100, 100 + LISTED + 5))
    data = audit(said("Words were said."), summary=claims).as_data()
    assert (len(data["untraceable"]), data["untraceable_total"]) == (LISTED, 2 * (LISTED + 5))
    assert data["untraceable"][0] == {"kind": "number", "text": "100", "sentence": "Value 100 is 100.25 kg."} or data["untraceable"][0]["kind"] == "number"
    assert {"kind": "number", "text": "100.25 kg", "sentence": "Value 100 is 100.25 kg."} in data["untraceable"]


def test_an_item_tells_the_sentence_and_who_said_it():
    (item,) = audit(said("Talk first. It is 12.5 kg there. Talk after.", "reply", 4), summary="").missing
    assert (item.kind, item.text, item.trace, item.sequence, item.origin, item.sentence) == ("number", "12.5 kg", "t", 4, "agent", "It is 12.5 kg there.")


def test_within_a_message_the_record_keeps_the_order_of_weight_then_of_messages():
    body = [
        message(1, "prompt", text("Use `mass_g` from a.csv, says Ilse Marquardt: 12.5 kg.")),
        message(2, "prompt", text("It was 33.5 km on 3 March.")),
        message(3, "prompt", text("We decided to drop the Zadar buoys.")),
    ]
    data = audit(body, summary="").as_data()
    kinds = [one["kind"] for one in data["missing"]]
    assert kinds[:5] == ["decision", "date", "number", "number", "name"]
    assert [one["text"] for one in data["missing"] if one["kind"] == "number"] == ["12.5 kg", "33.5 km"]
    assert kinds[-2:] == ["path", "column"]


def test_a_column_in_words_and_a_decision_word_for_word_are_held():
    assert missing("The `bill_length_mm` one.", summary="bill length (mm)") == []
    assert missing("The `bill_length_mm` one.", summary="bill lengths")
    assert missing("We decided to drop the Zadar buoys.", memory="- we decided to drop the zadar buoys!") == []
    assert missing("See raw/a.csv now.", memory="a.csv") == []
    assert missing("See raw/a.csv now.", memory="b.csv")
