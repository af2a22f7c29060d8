"""``memflush doctor`` where a machine is odd: no home, no UTF-8, a broken configuration, a store that is none. It tells, and never breaks."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest


def doctor(folder, *options, unset=(), **given):
    env = {name: value for name, value in os.environ.items() if not name.startswith(("ANTHROPIC", "MEMFLUSH")) and name not in unset}
    run = subprocess.run(
        [sys.executable, "-c", "from memflush_jupyter.cli import main; main()", "doctor", *options],
        cwd=folder,
        env={**env, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path), **given},
        capture_output=True,
        timeout=120,
        check=False,
    )
    told = (run.stdout + run.stderr).decode("utf-8", "replace")
    assert "Traceback" not in told
    return run.returncode, told


ASCII = {"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.mark.parametrize(("unset", "given"), [(("HOME",), {}), ((), ASCII), ((), {"COLUMNS": "20"}), ((), {"TERM": "dumb"})])
def test_without_a_home_utf8_or_a_wide_terminal_everything_is_told(tmp_path, unset, given):
    folder = tmp_path / "Größe 数据"
    folder.mkdir()
    code, told = doctor(folder, unset=unset, **given)
    assert code == 0, told
    assert "Everything is well." in told
    assert list(folder.iterdir()) == []
    code, told = doctor(folder, "--json", unset=unset, **given)
    assert json.loads(told)["ok"] is True


def test_a_configuration_file_that_does_not_parse_is_named_with_its_line(tmp_path):
    profile = tmp_path / "profile_default"
    profile.mkdir()
    (profile / "ipython_config.py").write_text("c.MemFlush.model = (\n")
    code, told = doctor(tmp_path, IPYTHONDIR=str(tmp_path))
    assert code != 0
    assert "ipython_config.py cannot be read: SyntaxError" in told
    assert "line 1" in told


@pytest.mark.parametrize(
    ("made", "part", "hint"),
    [
        (lambda folder: (folder / "memory").touch(), "memory folder", "Move that file away"),
        (lambda folder: (folder / "memory/.memflush/store.sqlite3").mkdir(parents=True), "store", "Move it away"),
        (
            lambda folder: [(folder / "memory/.memflush").mkdir(parents=True), (folder / "memory/.memflush/store.sqlite3").write_text("rubbish")],
            "store",
            "Move it away",
        ),
    ],
)
def test_what_is_in_the_way_is_named_with_how_to_mend_it(tmp_path, made, part, hint):
    made(tmp_path)
    code, told = doctor(tmp_path)
    assert code != 0
    assert any(part in line and not line.startswith("ok") for line in told.splitlines())
    assert hint in told
    assert "1 of 12 parts need a look." in told
