"""C13: the floor, case by case, on the sentences of ``benchmarks/salience_cases.json`` and more."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memflush_jupyter.memory.salience import HIGH_CONFIDENCE, SourceText, extract

CASES = json.loads((Path(__file__).parents[3] / "benchmarks" / "salience_cases.json").read_text(encoding="utf-8"))


def kept(text, origin="user"):
    return extract([SourceText(text, origin, "t1", 7)])


def test_almost_all_that_is_worth_keeping_is_found_with_high_confidence():
    """C13: goal 90 %."""
    texts = CASES["keep"]["user"]
    high = [text for text in texts if any(c.confidence >= HIGH_CONFIDENCE for c in kept(text))]
    assert len(high) >= 0.97 * len(texts)
    agent = CASES["keep"]["agent"]
    assert sum(any(c.confidence >= HIGH_CONFIDENCE for c in kept(text, "agent")) for text in agent) >= 0.9 * len(agent)


@pytest.mark.parametrize("text", CASES["keep"]["user"] + CASES["keep"]["agent"])
def test_what_is_worth_keeping_is_found(text):
    """C13."""
    origin = "user" if text in CASES["keep"]["user"] else "agent"
    found = kept(text, origin)
    assert found
    assert (found[0].origin, found[0].trace, found[0].sequence) == (origin, "t1", 7)


@pytest.mark.parametrize("text", CASES["drop"]["user"])
def test_chatter_requests_questions_and_code_are_never_of_high_confidence(text):
    """C13."""
    assert [c for c in kept(text) if c.confidence >= HIGH_CONFIDENCE] == []


@pytest.mark.parametrize("text", CASES["drop"]["agent"])
def test_what_an_agent_says_around_its_findings_is_dropped(text):
    """C13."""
    assert kept(text, "agent") == []


@pytest.mark.parametrize("text", CASES["drop"]["tool"])
def test_tables_tracebacks_and_orders_in_tool_outputs_are_dropped(text):
    """C13, P8."""
    assert [c for c in kept(text, "tool") if c.confidence > 0.5] == []


KINDS = [
    ("Remember that I use Python 3.11.", "remember", 0.95, "I use Python 3.11."),
    ("Please remember: the key column is id.", "remember", 0.95, "The key column is id."),
    ("Can you remember that weights are in grams?", "remember", 0.95, "Weights are in grams"),
    ("Prices are net of VAT, please remember this.", "remember", 0.95, "Prices are net of VAT"),
    ("From now on, round everything to two decimals.", "remember", 0.9, "From now on, round everything to two decimals."),
    ("We decided to drop all rows before 2015.", "decision", 0.9, "We decided to drop all rows before 2015."),
    ("Let's go with the median instead of the mean.", "decision", 0.9, "Let's go with the median instead of the mean."),
    ("I prefer seaborn-free matplotlib.", "preference", 0.85, "I prefer seaborn-free matplotlib."),
    ("Use the median, not the mean, for all salaries.", "preference", 0.75, "Use the median, not the mean, for all salaries."),
    ("Never overwrite the raw file.", "constraint", 0.9, "Never overwrite the raw file."),
    ("The report should be at most ten pages.", "constraint", 0.75, "The report should be at most ten pages."),
    ("The survey column q7 is in thousands.", "finding", 0.85, "The survey column q7 is in thousands."),
    ("Hi Claude, by the way, store 14 was closed in March.", "finding", 0.85, "store 14 was closed in March."),
    ("Plot it, and from now on always use 30 bins.", "remember", 0.9, "from now on always use 30 bins."),
    ("Load penguins.csv and island.parquet.", "name", 0.55, "The person works with the files `penguins.csv`, `island.parquet`."),
    ("记住：价格不含税。", "remember", 0.95, "价格不含税。"),
    ("以后所有图都用中文标题。", "remember", 0.9, "以后所有图都用中文标题。"),
    ("我们决定用中位数。", "decision", 0.9, "我们决定用中位数。"),
    ("我更喜欢表格。", "preference", 0.85, "我更喜欢表格。"),
    ("不能泄露客户姓名。", "constraint", 0.9, "不能泄露客户姓名。"),
    ("q7 列的单位是千元。", "finding", 0.85, "q7 列的单位是千元。"),
]


@pytest.mark.parametrize(("text", "kind", "confidence", "said"), KINDS)
def test_kind_confidence_and_text(text, kind, confidence, said):
    """C13."""
    assert [(c.kind, c.confidence, c.text) for c in kept(text)] == [(kind, confidence, said)]


AGENT = [
    ("The mean body mass is 4,201.75 g across 342 penguins.", "finding", 0.8),
    ("I dropped 11 rows where sex was missing.", "decision", 0.8),
    ("I dropped the rows where sex was missing.", "decision", 0.7),
    ("We decided to use the median.", "decision", 0.75),
    ("The cleaned table was saved to clean/penguins.csv.", "name", 0.8),
    ("There are 3 islands and 3 species.", "finding", 0.8),
    ("Adelie lives on all 3 islands.", "finding", 0.55),
    ("Adelie is larger on 2 islands.", "finding", 0.7),
    ("Bill depth correlates with body_mass_g.", "finding", 0.7),
    ("Torgersen has only Adelie penguins.", "finding", 0.7),
    ("The two clusters differ in shape.", "finding", 0.6),
    ("The prices must never be shown.", "constraint", 0.55),
    ("You prefer plain matplotlib here.", "preference", 0.55),
    ("The residuals are heteroscedastic.", "finding", 0.5),
    ("清洗后的数据保存到了 clean.csv。", "name", 0.8),
]


@pytest.mark.parametrize(("text", "kind", "confidence"), AGENT)
def test_kind_and_confidence_of_what_the_agent_says(text, kind, confidence):
    """C13."""
    assert [(c.kind, c.confidence, c.text) for c in kept(text, "agent")] == [(kind, confidence, text)]


TOOL = [
    ("Saved 333 rows to clean.csv", [("name", 0.6, "Saved 333 rows to clean.csv")]),
    ("Mean mass: 4201.75 g", [("finding", 0.5, "Mean mass: 4201.75 g")]),
    ("There are 11 missing values in sex.", [("finding", 0.5, "There are 11 missing values in sex.")]),
    ("All done here now", []),
    ("You must always use 30 bins.", []),
    ("Is 5 the mean value?", []),
]


@pytest.mark.parametrize(("text", "expected"), TOOL)
def test_what_a_tool_printed(text, expected):
    """C13, P8: a tool's output can be a finding or a name, never a rule."""
    assert [(c.kind, c.confidence, c.text) for c in kept(text, "tool")] == expected
