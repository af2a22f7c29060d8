"""The figures of ``%budget``: one dictionary by one schema, what the events of a conversation make of it, and the static plot."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from importlib import resources

import jsonschema
import pytest

from memflush_jupyter.errors import ConfigError
from memflush_jupyter.events import Budget, BudgetChanged, CompactionEnd, MemoryFlushEnd, MemoryFlushStart, PhaseChanged, Recalled, TurnFinished, TurnStarted
from memflush_jupyter.notebook.budget_data import FLUSHES, BudgetLog, schema
from memflush_jupyter.notebook.display.history_plot import plot
from memflush_jupyter.notebook.magics import budget

NOW = datetime(2026, 1, 15, 9, tzinfo=UTC)
FIGURES = Budget(
    window=1000, used=400, flush_line=700, compaction_line=800, segments={"system": 100, "conversation": 300}, turn=2, cached_share=0.5,
    shortened=3, shortened_tokens=250,
)  # fmt: skip


def log():
    return BudgetLog(now=lambda: NOW)


def flushed(number, outcome="saved", notes=()):
    return MemoryFlushEnd(f"f{number}", "t", len(notes), outcome, "", "memory/a.md", list(notes))


def checked(found, **options):
    data = found.data(**options)
    jsonschema.validate(data, schema(), format_checker=jsonschema.FormatChecker())
    return data


def test_the_schema_is_one_and_holds_before_the_first_turn():
    jsonschema.Draft202012Validator.check_schema(schema())
    data = checked(log())
    assert (data["version"], data["window"], data["audit_score"], data["history"]) == (1, 0, None, [])
    assert set(data) == set(schema()["required"]) == set(schema()["properties"])


def test_events_of_a_turn_become_figures():
    found = log()
    for event in (TurnStarted("t", 1, "m"), PhaseChanged("tools"), Recalled([{}, {}]), BudgetChanged(FIGURES), MemoryFlushStart("f1", "t", "line", True)):
        found.take(event)
    during = checked(found, max_cost_usd=2.0)
    assert (during["phase"], during["recalled"], during["used"], during["max_cost_usd"]) == ("tools", 2, 400, 2.0)
    assert during["background"] == [{"kind": "flush", "reason": "line", "progress": None}]
    for event in (flushed(1, notes=["the key is K"]), CompactionEnd("t", "model", 900, 300, 12), TurnFinished("t", "end")):
        found.take(event)
    found.turn_over(FIGURES)
    after = checked(found, redact=lambda text: text.replace("K", "***"))
    assert (after["phase"], after["background"], after["pruned"]) == ("idle", [], {"messages": 12, "tokens": 600})
    assert after["shortened"] == {"results": 3, "tokens": 250}
    assert after["history"] == [{"turn": 2, "used": 400, "flushed": True, "compacted": True}]
    assert after["flushes"][0]["notes"] == ["the key is ***"]
    assert after["flushes"][0]["when"] == "2026-01-15T09:00:00+00:00"


def test_dates_are_left_out_where_outputs_must_be_equal_on_any_day():
    """P9"""
    found = log()
    found.take(flushed(1))
    assert checked(found, dated=False)["flushes"][0]["when"] is None


def test_only_the_last_flushes_are_told_and_a_flush_that_saved_nothing_marks_no_turn():
    found = log()
    for number in range(FLUSHES + 3):
        found.take(flushed(number, "silent"))
    found.turn_over(FIGURES)
    data = checked(found)
    assert len(data["flushes"]) == FLUSHES
    assert data["history"][0]["flushed"] is False


def test_another_conversation_begins_empty():
    found = log()
    found.take(BudgetChanged(FIGURES))
    found.turn_over(FIGURES)
    found.forget()
    assert found.data() == log().data()


def test_a_turn_that_broke_off_leaves_no_phase_behind():
    """P10"""
    found = log()
    found.take(PhaseChanged("streaming"))
    found.turn_over(None)
    assert checked(found)["phase"] == "idle"


def test_events_of_the_background_thread_arrive_on_the_kernels_loop():
    found = log()
    seen = []

    async def turn():
        found.watched(seen.append)
        loop = asyncio.get_running_loop()
        where = []
        found.listener = lambda: where.append(asyncio.get_running_loop())
        await asyncio.to_thread(found.beside(seen.append), flushed(1))
        await asyncio.sleep(0)
        return where == [loop]

    assert asyncio.run(turn())
    assert len(seen) == len(found.flushes) == 1


def test_the_plot_says_the_same_in_bars_in_a_table_and_in_text():
    found = log()
    found.take(flushed(1))
    found.turn_over(FIGURES)
    shown = plot(found.data())
    assert shown == plot(found.data())
    assert "turn 2" in shown["text/plain"]
    assert "400  flushed" in shown["text/plain"]
    assert 'role="img"' in shown["text/html"]
    assert "<td>2</td><td>400</td><td>flushed</td>" in shown["text/html"]
    assert "<script" not in shown["text/html"]
    assert "begins with the first" in plot(log().data())["text/plain"]


def test_the_page_module_draws_every_field_and_never_sets_html():
    script = resources.files("memflush_jupyter").joinpath("notebook/display/static/widget.js").read_text(encoding="utf-8")
    undrawn = {name for name in schema()["properties"] if f"data.{name}" not in script}
    assert undrawn <= {"version", "window_source"}
    assert "innerHTML" not in script
    assert "eval" not in script


def test_options_exclude_each_other():
    with pytest.raises(ConfigError, match="not allowed with"):
        budget.parser().parse("--history --json")
