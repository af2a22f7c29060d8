"""Typing in a real JupyterLab: Tab completes options, names and files in ``%%agent`` cells (G2's face: prompts that know the notebook)."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.browser

SETUP = """%load_ext memflush_jupyter
import pandas as pd
from pathlib import Path
Path('readings_2024.csv').write_text('a,b\\n1,2\\n')
readings = pd.read_csv('readings_2024.csv')"""
OFFERED = """
panel.content.widgets[1].model.sharedModel.getSource() !== TYPED
  || document.querySelector('.jp-Completer:not(.lm-mod-hidden) .jp-Completer-item')
"""


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("%%agent --approve au", "%%agent --approve auto"),
        ("%%agent --max-ro", "%%agent --max-rounds"),
        ("%agent stat", "%agent status"),
        ("%%agent\nLoad readings_2", "%%agent\nLoad readings_2024.csv"),
        ("%%agent\nWhat is the mean of a in {readi", "%%agent\nWhat is the mean of a in {readings"),
    ],
)
def test_tab_completes_options_names_and_files(lab, request, typed, completed):
    folder = lab.root / f"typing-{abs(hash(request.node.name))}"
    folder.mkdir()
    with lab.open(f"{folder.name}/typing.ipynb", [SETUP, typed]) as notebook:
        notebook.run(0)
        notebook.js(
            """
            panel.content.activeCellIndex = 1;
            panel.content.mode = 'edit';
            const editor = panel.content.activeCell.editor;
            editor.focus();
            const lines = editor.model.sharedModel.getSource().split('\\n');
            editor.setCursorPosition({line: lines.length - 1, column: lines[lines.length - 1].length});
            """
        )
        notebook.page.keyboard.press("Tab")
        # One candidate is put in at once; of several the first is taken.
        notebook.until(OFFERED, TYPED=typed)
        if notebook.js("return panel.content.widgets[1].model.sharedModel.getSource();") == typed:
            notebook.page.keyboard.press("Enter")
        notebook.until("panel.content.widgets[1].model.sharedModel.getSource().startsWith(COMPLETED)", COMPLETED=completed)
