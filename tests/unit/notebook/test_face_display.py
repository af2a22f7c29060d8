"""What a turn shows: the same segments live, headless and in a terminal (P9), in forms that survive everywhere."""

from __future__ import annotations

import io
import random
import re

import pytest

from memflush_jupyter.events import (
    Budget,
    BudgetChanged,
    CompactionEnd,
    MemoryFlushEnd,
    MemoryFlushStart,
    Notice,
    PhaseChanged,
    Recalled,
    Retrying,
    TextDelta,
    TextDiscarded,
    TextDone,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    TurnStarted,
)
from memflush_jupyter.notebook.display import gauge, render, terminal, tool_calls
from memflush_jupyter.notebook.display.transcript import Transcript
from memflush_jupyter.notebook.display.view import HeadlessView, LiveView, ResultView, TerminalView

BUDGET = Budget(
    window=16384,
    used=5432,
    flush_line=8192,
    compaction_line=12288,
    segments={"system": 400, "tools": 900, "memory": 0, "summary": 0, "conversation": 3000, "results": 1132, "recall": 0},
    last_flush="2026-01-15 09:00",
)
FLUSHED = MemoryFlushEnd("f", "t", 2, "saved", "threshold", "memory/2026-01-15.md", ["a <b>", "c"])


class Page:
    """A front end: keeps outputs as a saved notebook would."""

    def __init__(self):
        self.outputs = []
        self.updates = 0
        self.cleared = False

    def publish(self, data, metadata=None, *, transient=None, update=False):
        name = (transient or {}).get("display_id")
        if update:
            self.updates += 1
            for output in self.outputs:
                if output["id"] == name:
                    output.update(data=data, metadata=metadata)
            return
        if self.cleared:
            self.outputs.clear()
            self.cleared = False
        self.outputs.append({"id": name, "data": data, "metadata": metadata})

    def clear_output(self, wait=False):
        self.cleared = wait
        if not wait:
            self.outputs.clear()

    @property
    def data(self):
        return [output["data"] for output in self.outputs]

    @property
    def plain(self):
        return [data["text/plain"] for data in self.data]


def a_turn():
    figure = {"image/png": "aGk=", "text/plain": "<Figure>", "metadata": {"image/png": {"width": 10}, "memflush_line": 2}}
    return [
        TurnStarted("4be1aa", 1, "offline/analyst"),
        Recalled(
            [{"ref": "4be1#12", "origin": "user", "date": "2026-01-01", "text": "sigma is 3"}, {"ref": "9f00#3", "origin": "tool", "date": "", "text": "x"}]
        ),
        PhaseChanged("waiting"),
        TextDelta(0, "Let me "),
        TextDelta(0, "look."),
        TextDone(0, "Let me look."),
        BudgetChanged(BUDGET),
        ToolStarted("a", "run_python", {"code": "df.plot()\nplt.show()"}),
        PhaseChanged("approval"),
        ToolFinished("a", "run_python", {"code": "df.plot()\nplt.show()"}, "1", False, [figure]),
        MemoryFlushStart("f", "t", "threshold", False),
        FLUSHED,
        CompactionEnd("t", "model", 9300, 3100, 14),
        TextDelta(1, "It is **1**."),
        TextDone(1, "It is **1**."),
        BudgetChanged(BUDGET),
        TurnFinished("4be1aa", "end"),
    ]


EXPECTED = [
    "▸ recalled 2 earlier passages",
    "Let me look.",
    "▸ run_python · 2 lines · ok",
    "<Figure>",
    "Figure 1 · line 1: df.plot()",
    "memory: 2 notes saved to memory/",
    "context: 14 earlier messages replaced by a summary (9,300 → 3,100 tokens); all stay in the trace",
    "It is **1**.",
    "context 5,432 of 16,384 tokens (33%) · flush at 8,192 · compaction at 12,288",
]


def shown(view_class, events, **options):
    page = Page()
    view = view_class(page, Transcript(dated=False, **options))
    for event in events:
        view.handle(event)
    view.finish()
    return page


def test_headless_shows_each_output_once_in_final_form():
    """P9"""
    page = shown(HeadlessView, a_turn())
    assert page.plain == EXPECTED
    assert page.updates == 0


def test_live_ends_with_what_headless_shows():
    """P9"""
    live, headless = shown(LiveView, a_turn()), shown(HeadlessView, a_turn())
    assert live.data == headless.data
    assert live.updates > 0
    assert [output["metadata"] for output in live.outputs] == [output["metadata"] for output in headless.outputs]


def test_live_and_headless_agree_for_random_turns():
    """P9: with discarded texts, texts that end blank, unfinished calls and turns without any figures."""
    chance = random.Random(7)  # noqa: S311 - not for secrets
    for _ in range(200):
        events, block, call = [TurnStarted("t", 1, "m")], 0, 0
        for _ in range(chance.randrange(9)):
            kind = chance.randrange(6)
            if kind == 0:
                events += [TextDelta(block, "some "), TextDelta(block, "text"), TextDone(block, chance.choice(["some text", "other", " "]))]
                block += 1
            elif kind == 1:
                events += [TextDelta(block, "lost"), TextDiscarded(block, "cut")]
                block += 1
            elif kind == 2:
                events.append(ToolStarted(str(call), "read_file", {"path": "a.csv"}))
                if chance.random() < 0.8:
                    events.append(ToolFinished(str(call), "read_file", {"path": "a.csv"}, "text", chance.random() < 0.5))
                call += 1
            elif kind == 3:
                events.append(FLUSHED)
            elif kind == 4:
                events.append(Notice("n", "warning"))
            else:
                events.append(BudgetChanged(BUDGET))
        assert shown(LiveView, events).data == shown(HeadlessView, events).data, events


def test_live_draws_streamed_text_at_most_ten_times_a_second():
    now = [0.0]
    page = Page()
    view = LiveView(page, Transcript(), clock=lambda: now[0])
    for _ in range(100):
        view.handle(TextDelta(0, "x"))
        now[0] += 0.01
    assert page.updates + len(page.outputs) <= 2 * 11
    view.tick()
    view.tick()
    now[0] += 0.2
    view.tick()
    assert page.plain[0] == "x" * 100


def test_live_shows_what_goes_on_below_the_last_output():
    page = Page()
    view = LiveView(page, Transcript())
    view.handle(TextDone(0, "hi"))
    view.handle(BudgetChanged(BUDGET))
    view.handle(PhaseChanged("flushing"))
    assert page.plain[0] == "hi"
    assert page.plain[1] == "Saving important memories… · context 33%"
    view.handle(Retrying(1, 2.0, "The server is overloaded."))
    assert page.plain[1] == "The server is overloaded. Trying again in 2 s. · context 33%"


def test_live_opens_a_call_that_waits_for_a_decision_and_closes_it_after():
    page = Page()
    view = LiveView(page, Transcript())
    view.handle(ToolStarted("a", "run_python", {"code": "danger()"}))
    view.ask("run_python", {"code": "danger()"})
    assert page.data[0]["text/markdown"].startswith("<details open ontoggle=")
    assert "```python\ndanger()\n```" in page.data[0]["text/markdown"]
    view.handle(ToolFinished("a", "run_python", {"code": "danger()"}, "no", True))
    assert page.data[0]["text/markdown"].startswith("<details ontoggle=")
    assert "<summary>run_python · 1 line · error</summary>" in page.data[0]["text/markdown"]


def test_hint_is_shown_while_the_turn_runs_and_not_kept():
    page = Page()
    view = LiveView(page, Transcript(hint="`%agent resume 4be1` goes on."))
    view.handle(BudgetChanged(BUDGET))
    assert "%agent resume 4be1" in page.plain[-1]
    view.finish()
    assert "%agent resume" not in "".join(page.plain)


def test_tool_inputs_are_redacted_on_the_screen():
    """P7"""
    page = shown(
        HeadlessView,
        [ToolStarted("a", "t", {"k": ["sk-1"], "o": {"x": "sk-1"}}), ToolFinished("a", "t", {"k": ["sk-1"]}, "", False)],
        redact=lambda t: t.replace("sk-1", "[redacted]"),
    )
    assert "sk-1" not in str(page.data)


def test_unfinished_call_says_interrupted():
    assert shown(HeadlessView, [ToolStarted("a", "run_python", {"code": "x"})]).plain == ["▸ run_python · 1 line · interrupted"]


def test_terminal_prints_plain_text_once():
    out = []
    view = TerminalView(Transcript(dated=False), out.append)
    for event in a_turn():
        view.handle(event)
    view.finish()
    text = "".join(out)
    assert [line for line in text.splitlines() if line.strip()] == EXPECTED


def test_terminal_prints_the_end_of_a_text_that_was_held_back():
    out = []
    view = TerminalView(Transcript(), out.append)
    for event in [TextDelta(0, "I load "), TextDone(0, "I load `data.csv`."), TextDelta(1, "call: {"), TextDone(1, "Other.")]:
        view.handle(event)
    assert "".join(out) == "I load `data.csv`.\n\ncall: {\n\nOther.\n\n"


def test_terminal_with_rich_draws_each_paragraph_when_it_is_complete():
    out = []
    view = TerminalView(Transcript(), out.append, draw=lambda text: f"<{text}>")
    for piece in ["One.\n", "\nTwo", ".\n\n```python\na\n\nb\n", "```\n\n", "End"]:
        view.handle(TextDelta(0, piece))
    view.handle(TextDone(0, "One.\n\nTwo.\n\n```python\na\n\nb\n```\n\nEnd."))
    assert out == ["<One.\n\n>\n", "<Two.\n\n>\n", "<```python\na\n\nb\n```\n\n>\n", "<End.>"]


def test_rich_draws_markdown_for_a_terminal_only():
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    assert terminal.rich_drawer(io.StringIO()) is None
    draw = terminal.rich_drawer(Terminal())
    if draw is not None:  # rich is the person's, not ours
        assert "bold" in draw("**bold**")
        assert "**" not in draw("**bold**")


def test_terminal_tells_the_error_of_agent_code():
    out = []
    view = TerminalView(Transcript(), out.append)
    text = "Traceback:\n  line 1: 1 / 0\nZeroDivisionError: division by zero"
    for event in [ToolStarted("a", "run_python", {"code": "1 / 0"}), ToolFinished("a", "run_python", {"code": "1 / 0"}, text, True)]:
        view.handle(event)
    said = "".join(out)
    assert said.startswith("▸ run_python · 1 line · ZeroDivisionError: division by zero\nError in code that the agent ran:\n")
    assert "----> 1 1 / 0" in said


def test_text_and_json_forms_give_the_answer_once():
    page = Page()
    text = ResultView(page, Transcript(dated=False), "text")
    data = ResultView(page, Transcript(dated=False), "json")
    for event in a_turn():
        text.handle(event)
        data.handle(event)
    text.finish()
    data.finish()
    assert page.data[0] == {"text/plain": "Let me look.\n\nIt is **1**."}
    result = page.data[1]["application/json"]
    assert result["stop"] == "end"
    assert result["tools"] == [{"name": "run_python", "input": {"code": "df.plot()\nplt.show()"}, "output": "1"}]
    assert result["memory"] == ["memory: 2 notes saved to memory/"]


def test_every_output_survives_an_untrusted_notebook_and_carries_plain_text():
    """P9: no svg, no style sheets, no borders, no CSS variables."""
    for data in shown(LiveView, a_turn()).data:
        assert data["text/plain"]
        markup = data.get("text/html", "")
        assert not re.search(r"<svg|<style|<script|var\(|border|class=", markup)
    assert "&lt;b&gt;" in shown(HeadlessView, [FLUSHED]).data[0]["text/html"]


def test_nothing_dated_or_random_reaches_outputs_that_must_not_change():
    """P9"""
    everything = str(shown(HeadlessView, a_turn()).data)
    assert not re.search(r"2026|4be1|9f00", everything)


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (FLUSHED, "memory: 2 notes saved to memory/2026-01-15.md"),
        (MemoryFlushEnd("f", "t", 1, "floor", "", "memory/2026-01-15.md", ["x"]), "memory: 1 note saved to memory/2026-01-15.md (found by rule)"),
        (MemoryFlushEnd("f", "t", 0, "failed", "the disk is full", None), "⚠ memory: nothing was saved: the disk is full"),
        (Notice("careful", "warning"), "⚠ careful"),
        (CompactionEnd("t", "drop", 10, 5, 1), "context: 1 earlier message dropped from view (10 → 5 tokens); all stay in the trace"),
        (TurnFinished("t", "max_rounds", "Stopped after 25 rounds."), "Stopped after 25 rounds."),
    ],
)
def test_each_event_has_its_line(event, line):
    transcript = Transcript()
    transcript.add(event)
    assert [segment.bundle["text/plain"] for segment in transcript.segments] == [line]


@pytest.mark.parametrize(
    "event",
    [
        MemoryFlushEnd("f", "t", 0, "silent", "", None),
        MemoryFlushEnd("f", "t", 0, "skipped", "nothing_new", None),
        MemoryFlushEnd("f", "t", 0, "cancelled", "", None),
        CompactionEnd("t", "failed", 5, 5, 0),
        TurnFinished("t", "error", "told as the cell's error"),
        TextDone(0, "  "),
    ],
)
def test_what_saved_nothing_shows_nothing(event):
    """C6"""
    transcript = Transcript()
    transcript.add(event)
    assert transcript.segments == []


def test_gauge_tells_all_figures_in_text_and_as_divs():
    full = Budget(16384, 16384, 8192, 12288, {"system": 16384}, cached_share=0.876, cost_usd=1.234, approximate=True, compactions=2, last_flush="09:00")
    bundle = gauge.gauge(full)
    assert bundle["text/plain"] == (
        "context about 16,384 of 16,384 tokens (100%) · flush at 8,192 · compaction at 12,288 · 88% from cache · $1.23 · compacted 2× · last flush: 09:00"
    )
    assert "width:100.00%" in bundle["text/html"]
    assert "width:50.00%" in bundle["text/html"]
    assert "width:25.00%" in bundle["text/html"]
    assert ("window", "16,384 (config)") in gauge.figures(full)
    assert gauge.gauge(None, says="Waiting…")["text/plain"] == "Waiting…"
    assert "(0%)" in gauge.describe(Budget(0, 0, 0, 0, {}))


def test_tool_lines_say_what_a_call_is_about():
    def line(name, given):
        return tool_calls.tool_call(name, given, "ok", "out")["text/plain"]

    assert line("run_python", {"code": "a\nb\n"}) == "▸ run_python · 2 lines · ok"
    assert line("read_file", {"path": "data.csv", "start": 3}) == "▸ read_file · data.csv · ok"
    assert line("inspect_variables", {"names": ["df", "n"]}) == "▸ inspect_variables · df, n · ok"
    assert line("memory_write", {"notes": ["x" * 50, "y"]}) == "▸ memory_write · 2 items · ok"
    assert line("list_files", {}) == "▸ list_files · ok"
    assert line("memory_search", {"query": "q" * 90}) == f"▸ memory_search · {'q' * 60}… · ok"


def test_long_outputs_are_shown_by_head_and_tail():
    text = render.shortened("a" * 30_000)
    assert text.startswith("a" * 10_000 + "\n[… 10,000 characters are not shown here")
    assert render.shortened("short") == "short"
