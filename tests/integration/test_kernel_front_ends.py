"""The cell where it is not JupyterLab: VS Code and Colab (emulated by the marks they leave in a kernel), and IPython in a terminal."""

from __future__ import annotations

import os
import subprocess
import sys

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
