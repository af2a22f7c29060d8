"""A tool call in the cell: one quiet line that opens to highlighted code, folded output, tables, and errors told as the agent's."""

from __future__ import annotations

import html
import re

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from memflush_jupyter.events import ToolFinished, ToolStarted
from memflush_jupyter.notebook.display import figures
from memflush_jupyter.notebook.display.tool_calls import fenced, tool_call, undated
from memflush_jupyter.notebook.display.tracebacks import told
from memflush_jupyter.notebook.display.transcript import Transcript

CODE = "import math\ndef f(x):\n    return 1 / x\nf(0)\nprint('done')"
FAILED = "starting\nTraceback:\n  line 4: f(0)\n  line 3 in f: return 1 / x\nZeroDivisionError: division by zero"


def test_code_is_fenced_as_python_and_output_as_text():
    shown = tool_call("run_python", {"code": "x = 1\nx"}, "ok", "1\n")["text/markdown"]
    assert "<summary>run_python · 2 lines · ok</summary>" in shown
    assert "\n\n```python\nx = 1\nx\n```\n\n" in shown
    assert "\n\n```text\n1\n```\n\n" in shown
    assert shown.endswith("\n\n</blockquote></details>")


def test_error_of_agent_code_is_drawn_as_the_kernel_draws_it_and_marked():
    shown = tool_call("run_python", {"code": CODE}, "error", FAILED, is_error=True)
    assert shown["text/plain"] == "▸ run_python · 5 lines · ZeroDivisionError: division by zero"
    assert "Error in code that the agent ran" in shown["text/markdown"]
    assert "```text\nstarting\n```" in shown["text/markdown"]
    found = told(FAILED, CODE)
    assert found is not None
    assert found.before == "starting"
    assert found.text.splitlines() == [
        "-" * 48,
        "ZeroDivisionError Traceback (most recent call last)",
        "Agent's code, line 4",
        "       2 def f(x):",
        "       3     return 1 / x",
        "----> 4 f(0)",
        "       5 print('done')",
        "Agent's code, line 3, in f",
        "       1 import math",
        "       2 def f(x):",
        "----> 3     return 1 / x",
        "       4 f(0)",
        "       5 print('done')",
        "",
        "ZeroDivisionError: division by zero",
    ]
    assert html.unescape(re.sub(r"<[^>]*>", "", found.markup)) == found.text


def test_syntax_error_and_refusal_have_their_forms():
    found = told("SyntaxError: invalid syntax (line 1)\n  1 +\n     ^", "1 +")
    assert found is not None
    assert found.text == "SyntaxError: invalid syntax (line 1)\n  1 +\n     ^"
    assert told("The person declined to run run_python.", "x") is None
    refused = tool_call("run_python", {"code": "x"}, "error", "The person declined to run run_python.", is_error=True)
    assert refused["text/plain"] == "▸ run_python · 1 line · error"


def test_frames_of_libraries_are_named_without_their_paths():
    found = told("Traceback:\n  line 1: pd.read_csv('x')\n  pandas/common.py:880 in get_handle\nFileNotFoundError: no x", "pd.read_csv('x')")
    assert found is not None
    assert "pandas/common.py:880 in get_handle" in found.text.splitlines()


def test_long_output_shows_its_head_and_folds_the_rest():
    shown = tool_call("run_python", {"code": "x"}, "ok", "\n".join(f"row {number}" for number in range(100)))["text/markdown"]
    assert "<summary>80 more lines</summary>" in shown
    assert shown.index("row 19\n```") < shown.index("80 more lines") < shown.index("row 20")
    assert "more lines" not in tool_call("run_python", {"code": "x"}, "ok", "\n".join("abc"))["text/markdown"]


def test_table_that_is_the_whole_output_is_shown_once_and_as_a_table():
    table = {"text/html": "<style>x</style>\n\n<table>\n\n  <tr><td>$5</td></tr></table>", "text/plain": "   price\n0  $5"}
    shown = tool_call("run_python", {"code": "df"}, "ok", "   price\n0  $5\n", tables=[table])["text/markdown"]
    assert "<table>\n<tr><td>&#36;5</td></tr></table>" in shown
    assert "```text" not in shown
    assert "<style" not in shown
    both = tool_call("run_python", {"code": "df"}, "ok", "hello\n   price\n0  $5\n", tables=[table])["text/markdown"]
    assert "```text\nhello" in both
    assert "<table>" in both


def test_copy_button_leaves_no_element_where_it_cannot_work():
    """P9: without the attribute, as in an untrusted notebook, nothing of it is left."""
    shown = tool_call("run_python", {"code": "x"}, "ok", "1")["text/markdown"]
    handler = re.search(r' ontoggle="([^"]*)"', shown)
    assert handler is not None
    assert "clipboard" in handler[1]
    rest = shown.replace(handler[0], "")
    assert "clipboard" not in rest
    assert not re.search(r"<(?:button|input|script)", rest)
    assert "ontoggle" not in tool_call("read_file", {"path": "a"}, "ok", "1")["text/markdown"]


def test_dollars_outside_code_are_no_mathematics():
    shown = tool_call("memory_write", {"notes": ["costs $5 or $6"]}, "ok", "saved")["text/markdown"]
    assert "$" not in shown.partition("```")[0]


@given(st.text(alphabet="`~ab<>&$\n| #-*'\"\\", max_size=80), st.text(alphabet="`~ab<>&$\n| #-*'\"\\", max_size=80))
def test_no_code_or_output_breaks_out_of_its_fence(code, output):
    shown = tool_call("run_python", {"code": code}, "ok", output)["text/markdown"]
    tokens = MarkdownIt().parse(shown)
    assert {token.type for token in tokens} <= {"html_block", "fence"}
    markup = "".join(token.content for token in tokens if token.type == "html_block")
    assert markup.count("<details") == markup.count("</details>")


@given(st.text(alphabet="`~a\n", max_size=60))
def test_fence_holds_exactly_what_it_was_given(text):
    tokens = MarkdownIt().parse(fenced(text, "text"))
    assert [token.type for token in tokens] == ["fence"]
    assert tokens[0].content.rstrip("\n") == text.rstrip("\n")


def test_memory_tools_show_no_dates_or_ids_where_outputs_must_not_change():
    """P9"""
    text = "1 saved to memory/2026-12-01.md.\n- [4be1f2#12 user 2026-12-01] We take 2007."
    assert undated("memory_search", text) == "1 saved to memory/.\n- [message 12 user] We take 2007."
    assert undated("run_python", text) == text
    transcript = Transcript(dated=False)
    transcript.add(ToolFinished("a", "memory_write", {"notes": ["x"]}, text, False))
    assert "2026" not in str(transcript.segments[0].bundle)


def figure_turn(code, line=0):
    figure = {"image/png": "aGk=", "text/plain": "<Figure>", "metadata": {"image/png": {"width": 10}, "memflush_line": line}}
    transcript = Transcript(dated=False)
    transcript.add(ToolStarted("a", "run_python", {"code": code}))
    transcript.add(ToolFinished("a", "run_python", {"code": code}, "", False, [figure]))
    return [segment.bundle for segment in transcript.segments[1:]]


def test_figure_has_a_caption_with_the_line_that_made_it_and_a_description():
    code = "fig, ax = plt.subplots()\nax.scatter(x, y)\nax.set_title('t')\nplt.show()\nax.hist(z)"
    shown, caption = figure_turn(code, 4)
    assert caption["text/plain"] == "Figure 1 · line 2: ax.scatter(x, y)"
    assert shown["metadata"] == {"image/png": {"width": 10, "alt": "Figure 1 · line 2: ax.scatter(x, y)"}}
    assert figure_turn(code)[1]["text/plain"] == "Figure 1 · line 5: ax.hist(z)"


def test_figure_whose_line_nobody_knows_gets_no_caption():
    assert [list(bundle) for bundle in figure_turn("draw_it()")] == [["image/png", "text/plain", "metadata"]]


def test_metadata_of_our_own_is_not_saved():
    assert figures.clean({"text/html": "x", "metadata": {"memflush_line": 3}}) == {"text/html": "x"}
