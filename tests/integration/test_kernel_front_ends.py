"""The cell where it is not JupyterLab: VS Code and Colab (emulated by the marks they leave in a kernel), and IPython in a terminal."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pexpect
import pytest

from memflush_jupyter.testing.kernels import start_kernel

pytestmark = pytest.mark.kernel

CSV = "species,mass\n" + "".join(f"{'abc'[i % 3]},{10 + i % 7}\n" for i in range(60))
TURN = "%%agent --approve auto\nLoad data.csv and plot the distribution of mass."
MARKS = {
    "plain": "",
    "vscode": "__vsc_ipynb_file__ = FOLDER + '/analysis.ipynb'",
    "colab": "import sys, types, os; os.environ['COLAB_RELEASE_TAG'] = 'release'; sys.modules['google.colab'] = types.ModuleType('google.colab')",
}


def environment():
    return {name: value for name, value in os.environ.items() if not name.startswith("ANTHROPIC")}


def test_vscode_and_colab_show_the_same_outputs(tmp_path):
    shown = {}
    for name, mark in MARKS.items():
        folder = tmp_path / name
        folder.mkdir()
        (folder / "data.csv").write_text(CSV)
        with start_kernel(folder, env=environment()) as kernel:
            assert kernel.run(mark.replace("FOLDER", repr(str(folder)))).status == "ok"
            kernel.run("%load_ext memflush_jupyter")
            # VS Code and JupyterLab send the cell's id; Colab sends none.
            run = kernel.run(TURN, allow_stdin=True, cell_id=None if name == "colab" else "cell-1")
            assert run.status == "ok", run.text
            shown[name] = [output["data"].get("text/markdown") or output["data"].get("text/html") or output["data"]["text/plain"] for output in run.outputs]
    assert shown["vscode"] == shown["plain"]
    assert shown["colab"] == shown["plain"]
    assert any("Figure 1 · line" in text for text in shown["plain"])


def test_terminal_ipython_tells_the_turn_in_text(tmp_path):
    (tmp_path / "data.csv").write_text(CSV)
    cells = ["%load_ext memflush_jupyter", TURN]
    (tmp_path / "turn.py").write_text(f"for cell in {cells!r}:\n    get_ipython().run_cell(cell)\n")
    run = subprocess.run(
        [sys.executable, "-m", "IPython", "--no-banner", "--colors=NoColor", "turn.py"],
        cwd=tmp_path,
        env={**environment(), "MPLBACKEND": "agg"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert "▸ run_python · 11 lines · ok" in run.stdout
    assert "Loaded `data.csv` as `data`" in run.stdout
    assert "<details" not in run.stdout
    assert "Traceback" not in run.stdout + run.stderr


@pytest.fixture
def terminal(tmp_path):
    """IPython as a person has it before them: through a pseudo-terminal, with the extension loaded."""
    (tmp_path / "data.csv").write_text(CSV)
    env = {**environment(), "TERM": "xterm-256color", "IPYTHONDIR": str(tmp_path / "ipython"), "MPLBACKEND": "agg", "PROMPT_TOOLKIT_NO_CPR": "1"}
    child = pexpect.spawn(
        sys.executable, ["-m", "IPython", "--no-banner", "--colors=NoColor"], cwd=str(tmp_path), env=env, encoding="utf-8", timeout=60, dimensions=(50, 160)
    )
    child.expect(r"In \[1\]")
    child.send("%load_ext memflush_jupyter\r")
    child.expect(r"In \[2\]")
    yield child
    child.close(force=True)


def said(child):
    """What stood on the screen before what was waited for, without the terminal's control sequences."""
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[=>]", "", child.before)


QUESTION = "or say why not: "


@pytest.mark.parametrize(("answer", "outcome"), [("y", "run after your approval"), ("n", "declined"), ("use another file", "declined")])
def test_a_terminal_asks_before_code_runs_and_takes_the_answer(terminal, answer, outcome):
    """P8: what was typed before the question stood there is no answer to it."""
    terminal.send("%%agent --approve ask\rLoad data.csv.")
    terminal.send("\x1b\r")  # Alt and Enter: run it
    terminal.expect(QUESTION)
    shown = said(terminal)
    assert "pd.read_csv" in shown
    assert "It may read and change anything this kernel can" in shown
    terminal.send(f"{answer}\r")
    terminal.expect(r"run_python · \d+ lines · ([^\r\n\x1b]+)")
    assert terminal.match[1].startswith(outcome)
    terminal.expect(r"In \[3\]")
    assert "Traceback" not in said(terminal)


def test_an_interrupt_at_a_terminal_s_question_ends_the_turn_and_nothing_ran(terminal):
    """P10"""
    terminal.send("%%agent --approve ask\rLoad data.csv.\x1b\r")
    terminal.expect(QUESTION)
    terminal.sendintr()
    terminal.expect(r"In \[3\]")
    assert "Traceback" not in said(terminal)
    terminal.send("'data' in globals()\r")
    terminal.expect("False")


def test_tab_completes_at_a_terminal(terminal):
    terminal.send("%agent sta\t")
    terminal.expect("status")
    terminal.send("\r")
    terminal.expect("Every part is well")
