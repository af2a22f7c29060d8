"""`memflush demo`: a fresh folder, the notebook and its page, and a text that says what was remembered."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import pytest
from click.testing import CliRunner
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

import memflush_jupyter
from memflush_jupyter.cli import main
from memflush_jupyter.demo import DemoResult, describe, fresh_folder, last_exchange, last_gauge, memory_files, quickstart, run_demo
from memflush_jupyter.errors import ConfigError, MemflushError

REMEMBERS = """\
import os, sys, pathlib
pathlib.Path("memory/.memflush").mkdir(parents=True)
pathlib.Path("memory/2026-01-15.md").write_text("# 2026-01-15\\n\\n- Bills are in mm.\\n")
pathlib.Path("memory/.memflush/inner.md").write_text("not for people")
print(sys.executable, os.environ.get("ANTHROPIC_API_KEY", "no key"), sep="\\n")
"""
SHOWS_A_GAUGE = """\
from IPython.display import display
display({"text/plain": "context 4,000 of 16,384 tokens (24%)", "text/html": "<div></div>"}, raw=True)
"""


def write(path: Path, *sources: str) -> Path:
    nbformat.write(new_notebook(cells=[new_code_cell(source) for source in sources]), path)
    return path


@pytest.mark.kernel
def test_demo_runs_the_notebook_in_a_fresh_folder_without_any_key(tmp_path: Path) -> None:
    source = write(tmp_path / "stub.ipynb", REMEMBERS, SHOWS_A_GAUGE)
    result = run_demo(tmp_path / "out", source=source, environ={"ANTHROPIC_API_KEY": "sk-ant-not-for-the-demo", "PATH": ""})
    assert result.folder == tmp_path / "out"
    assert result.notebook == tmp_path / "out" / "stub.ipynb"
    executed = nbformat.read(result.notebook, as_version=4)
    assert executed.cells[0].outputs[0].text == f"{sys.executable}\nno key\n"
    assert all(cell.outputs == [] for cell in nbformat.read(source, as_version=4).cells)
    assert result.memory == {"memory/2026-01-15.md": "# 2026-01-15\n\n- Bills are in mm.\n"}
    assert result.gauge == "context 4,000 of 16,384 tokens (24%)"
    assert (result.question, result.answer) == (None, None)
    page = result.html.read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert "no key" in page


@pytest.mark.kernel
def test_demo_says_in_a_sentence_which_cell_failed_and_keeps_what_ran(tmp_path: Path) -> None:
    source = write(tmp_path / "stub.ipynb", "print('before')", "# the second\n1 / 0", "print('after')")
    runner = CliRunner()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("memflush_jupyter.demo.quickstart", lambda: source)
        result = runner.invoke(main, ["demo", "--output", str(tmp_path / "out")])
    assert result.exit_code == 1
    message = f"The demo stopped at cell 2 ('# the second'): ZeroDivisionError: division by zero. The notebook as far as it ran is in {tmp_path / 'out'}."
    assert message in " ".join(result.stderr.split("\n"))
    executed = nbformat.read(tmp_path / "out" / "stub.ipynb", as_version=4)
    assert executed.cells[0].outputs[0].text == "before\n"
    assert executed.cells[2].outputs == []


@pytest.mark.kernel
def test_demo_says_when_a_cell_takes_too_long_or_the_kernel_dies(tmp_path: Path) -> None:
    slow = write(tmp_path / "slow.ipynb", "import time\ntime.sleep(30)")
    with pytest.raises(MemflushError, match="took longer than 1 s"):
        run_demo(tmp_path / "out", source=slow, timeout_s=1)
    dead = write(tmp_path / "dead.ipynb", "import os\nos._exit(1)")
    with pytest.raises(MemflushError, match="its kernel ended before the notebook did"):
        run_demo(tmp_path / "out", source=dead)


@pytest.mark.kernel
@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent the POSIX way")
def test_demo_ends_with_a_sentence_at_ctrl_c(tmp_path: Path) -> None:
    source = write(tmp_path / "stub.ipynb", "open('started', 'w').close()", "import time\ntime.sleep(60)")
    code = "import sys\nfrom pathlib import Path\nimport memflush_jupyter.demo as demo\nfrom memflush_jupyter.cli import main\n"
    code += "source = Path(sys.argv.pop())\ndemo.quickstart = lambda: source\nmain()"
    command = [sys.executable, "-c", code, "demo", "--output", str(tmp_path / "out"), str(source)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not (tmp_path / "out" / "started").exists() and process.poll() is None:
        time.sleep(0.05)
    time.sleep(0.2)  # The second cell is then on its way; an interrupt between the two would do as well.
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    assert errors.splitlines()[-1] == f"Error: The demo was interrupted. The notebook as far as it ran is in {tmp_path / 'out'}."
    assert (tmp_path / "out" / "stub.ipynb").exists()


def test_demo_never_touches_a_folder_that_is_there(tmp_path: Path) -> None:
    wanted = tmp_path / "memflush-demo"
    wanted.mkdir()
    (tmp_path / "memflush-demo-2").write_text("a file in the way")
    assert fresh_folder(wanted) == tmp_path / "memflush-demo-3"
    assert list(wanted.iterdir()) == []
    assert fresh_folder(tmp_path / "deep" / "er") == tmp_path / "deep" / "er"


def test_demo_says_when_no_folder_can_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"cannot be made \(Not a directory\)\. Choose another one with --output\."):
        fresh_folder(tmp_path / "file" / "demo")


def test_demo_says_when_a_notebook_cannot_be_read(tmp_path: Path) -> None:
    broken = tmp_path / "broken.ipynb"
    broken.write_text("{")
    for path in (broken, tmp_path / "missing.ipynb"):
        with pytest.raises(ConfigError, match="cannot be read"):
            run_demo(tmp_path / "out", source=path)
    assert not (tmp_path / "out").exists()


def test_demo_finds_the_last_question_its_answer_and_the_last_gauge() -> None:
    def shown(kind: str, text: str | list[str]) -> nbformat.NotebookNode:
        return new_output("display_data", data={kind: text})

    first = new_code_cell("%%agent\nLoad it.", outputs=[shown("text/plain", "context about 1 of 9 tokens"), shown("text/markdown", "Loaded.")])
    last = new_code_cell(
        "%%agent --max-rounds 3\nWhich unit\nhas the bill?\n",
        outputs=[shown("text/markdown", "Let me see."), shown("text/markdown", ["In ", "mm."]), shown("text/plain", "context 2 of 9 tokens (22%)")],
    )
    notebook = new_notebook(cells=[first, new_markdown_cell("%%agent"), last, new_code_cell("%budget")])
    assert last_exchange(notebook) == ("Which unit\nhas the bill?", "In mm.")
    assert last_gauge(notebook) == "context 2 of 9 tokens (22%)"
    assert last_exchange(new_notebook(cells=[new_code_cell("%%agent\nHello")])) == ("Hello", None)
    assert last_gauge(new_notebook()) is None


def test_demo_describes_memory_gauge_answer_and_where_things_lie(tmp_path: Path) -> None:
    folder = tmp_path / "my demo"
    result = DemoResult(
        folder,
        folder / "n.ipynb",
        folder / "n.html",
        {"memory/2026-01-15.md": "- Bills are in mm.\n"},
        "context about 1 of 9 tokens",
        "Which unit?",
        "Millimetres.",
    )
    text = describe(result)
    order = [
        "memory/2026-01-15.md",
        "- Bills are in mm.",
        "context about 1 of 9 tokens",
        "Which unit?",
        "Millimetres.",
        f"notebook   {folder / 'n.ipynb'}",
        f'"{folder / "n.html"}"',
    ]
    places = [text.index(part) for part in order]
    assert places == sorted(places)
    bare = describe(DemoResult(folder, folder / "n.ipynb", folder / "n.html"))
    assert "Nothing was saved to memory/ in this run." in bare
    assert "question" not in bare


def test_demo_reads_no_memory_where_there_is_none(tmp_path: Path) -> None:
    assert memory_files(tmp_path) == {}


def test_demo_notebook_comes_with_the_package() -> None:
    assert quickstart().name == "01-quickstart.ipynb"


def test_cli_tells_its_version_and_commands() -> None:
    runner = CliRunner()
    assert runner.invoke(main, ["--version"]).output == f"memflush, version {memflush_jupyter.__version__}\n"
    help_text = runner.invoke(main, ["-h"]).output
    assert "demo" in help_text
    assert runner.invoke(main, ["demo", "--timeout", "0"]).exit_code == 2
