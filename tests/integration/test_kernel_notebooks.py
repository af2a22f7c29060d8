"""Notebooks executed as a whole: by nbclient, by ``nbconvert --execute``, again in the same kernel, and two beside each other (P4, P9, B6)."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

from memflush_jupyter.testing.kernels import start_kernel

pytestmark = [pytest.mark.kernel, pytest.mark.filterwarnings("ignore::DeprecationWarning")]

CSV = "species,mass\n" + "".join(f"{'abc'[i % 3]},{10 + i % 7}\n" for i in range(60))
CELLS = [
    "%load_ext memflush_jupyter\n%config MemFlush.approve = 'auto'\n%config MemFlush.clock = '2026-01-15T09:00'",
    "%%agent\nLoad data.csv and plot the distribution of mass.",
    "%%agent\nHow many rows are there? Remember: the lake survey was made in 2007.",
    "%agent flush",
    "%%agent\nWhat is the mean of mass by species?",
    "%budget",
]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "data.csv").write_text(CSV)
    return tmp_path


def execute(folder, cells=CELLS):
    """Run the cells by nbclient; return the notebook and the types of all messages that carried output."""
    notebook = new_notebook(cells=[new_code_cell(cell) for cell in cells])
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    client = NotebookClient(notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(folder)}})
    kinds = []
    original = client.process_message

    def watched(message, cell, index):
        kinds.append(message["msg_type"])
        return original(message, cell, index)

    client.process_message = watched
    client.execute()
    return notebook, kinds


def outputs(notebook):
    return [
        [output.get("text") or {kind: value for kind, value in output["data"].items() if kind != "image/png"} for output in cell.outputs]
        for cell in notebook.cells
    ]


def test_a_headless_run_emits_each_output_once_and_the_next_run_the_same(folder, tmp_path_factory):
    """P9: no updates, and equal outputs in another folder."""
    first, kinds = execute(folder)
    assert "update_display_data" not in kinds
    assert "clear_output" not in kinds
    assert not [output for cell in first.cells for output in cell.outputs if output.output_type == "error"]
    assert all(cell.outputs for cell in first.cells[1:])
    other = tmp_path_factory.mktemp("other")
    (other / "data.csv").write_text(CSV)
    second, _ = execute(other)
    assert outputs(second) == outputs(first)


COMMANDS = [
    *CELLS[:3], "%agent status", "%agent list", "%agent show", "%agent tools", "%agent approvals", "%agent model", "%agent config --changed", "%agent flush",
    "%budget --json", "%budget --history", "%memory list", "%memory show", "%memory search mass", "%agent compact", "%agent export talk.md", "%agent rewind",
    "%agent new", "%%agent\nHello.", "%agent list", "%agent resume", "%memory search lake", "%agent reset", "%agent help", "%memory help",
    "%%memory taste.md\nPlots without grid.", "%memory list",
]  # fmt: skip


def test_every_command_says_the_same_in_another_run_folder_and_time_zone(folder, tmp_path_factory, monkeypatch):
    """P9: also those that name conversations, messages, files and times. `%agent status --all` tells of the machine, and is left out."""
    first, _ = execute(folder, COMMANDS)
    other = tmp_path_factory.mktemp("other")
    (other / "data.csv").write_text(CSV)
    monkeypatch.setenv("TZ", "Pacific/Auckland")
    second, _ = execute(other, COMMANDS)
    for cell, one, two in zip(COMMANDS, outputs(first), outputs(second), strict=True):
        assert one == two, cell
    (data,) = outputs(first)[COMMANDS.index("%budget --json")]
    assert data["application/json"]["phase"] == "idle"  # C15: a flush that a command asked for leaves no phase behind


def test_running_all_again_in_the_same_folder_begins_afresh_with_the_same_shape(folder):
    """Section 6: a new conversation; what memory holds may only show as recall, and as notes already known."""
    first, _ = execute(folder)
    second, _ = execute(folder)
    assert "2007" in (folder / "memory/2026-01-15.md").read_text()
    assert (folder / "memory/2026-01-15.md").read_text().count("lake survey was made in 2007") == 1
    for notebook in (first, second):
        assert "turns                1" not in outputs(notebook)[-1][-1]["text/plain"]
        assert re.search(r"turns +3", outputs(notebook)[-1][-1]["text/plain"])


def test_nbconvert_executes_without_a_question_and_without_approval_denies(folder):
    cells = ["%load_ext memflush_jupyter", CELLS[1]]
    nbformat.write(new_notebook(cells=[new_code_cell(cell) for cell in cells]), folder / "small.ipynb")
    command = [sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", "--output", "done.ipynb", "small.ipynb"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False, env={**os.environ, "PYTHONWARNINGS": "ignore"})
    assert done.returncode == 0, done.stderr
    shown = outputs(nbformat.read(folder / "done.ipynb", as_version=4))[1]
    text = "\n".join(output["text/plain"] for output in shown)
    assert re.search(r"▸ run_python · .* · not run", text)


def test_a_failing_turn_stops_the_run_with_its_sentence(folder):
    """A cell that fails ends *Run All*, as any failing cell does."""
    cells = ["%load_ext memflush_jupyter", "%%agent -m nowhere/x\nhello", "print('not reached')"]
    nbformat.write(new_notebook(cells=[new_code_cell(cell) for cell in cells]), folder / "small.ipynb")
    command = [sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", "--stdout", "small.ipynb"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False, env={**os.environ, "PYTHONWARNINGS": "ignore"})
    assert done.returncode != 0
    assert "nowhere/x" in done.stderr
    assert "memflush_jupyter/notebook" not in done.stderr


def test_two_kernels_on_one_folder_share_memory_and_lose_nothing(folder):
    """B6, P4: both talk, flush and remember at the same time; every note is there once, and each finds the other's."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("ANTHROPIC")}
    facts = {"left": "the boat is called Wilhelmina", "right": "the winch was repaired by Oskar"}

    def work(kernel, name):
        kernel.run(CELLS[0])
        runs = [kernel.run(f"%%agent\nRemember: {facts[name]}.", timeout_s=120)]
        runs += [kernel.run(f"%%agent\nLoad data.csv, take {number}.", timeout_s=120) for number in range(4)]
        runs.append(kernel.run("%agent flush", timeout_s=120))
        return runs

    with start_kernel(folder, env=env) as left, start_kernel(folder, env=env) as right, ThreadPoolExecutor(2) as pool:
        for runs in pool.map(work, [left, right], ["left", "right"]):
            assert [run.status for run in runs] == ["ok"] * 6, [run.text for run in runs if run.status != "ok"]
        text = (folder / "memory/2026-01-15.md").read_text()
        lines = [line.partition(" <!--")[0] for line in text.splitlines() if line.startswith("- ")]
        assert len(lines) == len(set(lines)), text
        for fact in facts.values():
            assert sum(fact.removeprefix("the ") in line for line in lines) == 1, text
        assert text.count("# 2026-01-15") <= 1
        assert "Wilhelmina" in right.run("%memory search Wilhelmina").text
        assert "Oskar" in left.run("%memory search Oskar").text
        assert len(left.run("%agent list").text.splitlines()) == 3
