"""Options and status on a real kernel: the order of places, slips told in sentences, and every part looked at (points 6 and 7 of the face; H)."""

from __future__ import annotations

import json
import os
import re

import pytest

from memflush_jupyter.testing import FakeMessagesServer
from memflush_jupyter.testing.kernels import start_kernel

pytestmark = pytest.mark.kernel

PROFILE = "c = get_config()\nc.MemFlush.max_rounds = 3\nc.MemFlush.recall_tokens = 111\nc.MemFlush.modle = 'x'\n"


@pytest.fixture
def start(tmp_path):
    profile = tmp_path / "ipython" / "profile_default"
    profile.mkdir(parents=True)
    (profile / "ipython_config.py").write_text(PROFILE)
    folder = tmp_path / "work"
    folder.mkdir()

    def begin(**variables):
        env = {name: value for name, value in os.environ.items() if not name.startswith(("ANTHROPIC", "MEMFLUSH"))}
        return start_kernel(folder, env=env | {"IPYTHONDIR": str(tmp_path / "ipython")} | variables)

    begin.folder = folder
    return begin


def source(kernel, name):
    (option,) = json.loads(kernel.run(f"%agent config {name} --json").text)["options"]
    return option["value"], option["source"]


def test_each_place_wins_over_the_next_and_is_named(start):
    with start(MEMFLUSH_RECALL_TOKENS="222", MEMFLUSH_MAX_TURN_TOKNS="9") as kernel:
        kernel.run("%load_ext memflush_jupyter")
        value, place = source(kernel, "max_rounds")
        assert value == "3"
        assert re.fullmatch(r"configuration file \(.*ipython_config\.py\)", place)
        assert source(kernel, "recall_tokens") == ("222", "environment (MEMFLUSH_RECALL_TOKENS)")
        kernel.run("%config MemFlush.recall_tokens = 333")
        assert source(kernel, "recall_tokens") == ("333", "%config")
        assert source(kernel, "prune_result_chars") == ("4000", "default")
        shown = kernel.run("%config MemFlush").text
        assert "Current: 333\n    From: %config" in shown
        # Slips: told once with the first turn, and nothing is set.
        first = kernel.run("%%agent\nWhat can you do?").text
        assert "⚠ c.MemFlush.modle in a configuration file names no option and was ignored. Did you mean c.MemFlush.model?" in first
        assert "⚠ The environment variable MEMFLUSH_MAX_TURN_TOKNS names no option and was ignored. Did you mean MEMFLUSH_MAX_TURN_TOKENS?" in first
        assert "names no option" not in kernel.run("%%agent\nWhat can you do?").text
        for line, sentence in (
            ("%config MemFlush.modle = 'x'", "There is no option MemFlush.modle. Did you mean MemFlush.model?"),
            ("%config MemFlush.modle", "There is no option MemFlush.modle. Did you mean MemFlush.model?"),
            ("%config MemFlush.window = 'big'", "MemFlush.window takes a whole number of at least 1 or None, not 'big'. It stays None."),
            ("%config MemFlush.memory_dir = 'x'", "MemFlush.memory_dir was read before the first turn and stays."),
            ("%agent config modle", "There is no option MemFlush.modle. Did you mean MemFlush.model?"),
            ("%%agent --set modle=x\nhi", "There is no option MemFlush.modle. Did you mean MemFlush.model?"),
            ("%%agent --set max_rounds\nhi", "is not NAME=VALUE"),
        ):
            run = kernel.run(f"{line}\nprint('went on')" if line.startswith("%config") else line)
            assert run.status == "error", line
            assert sentence in run.text
            assert "went on" not in run.text
            assert len(run.text.splitlines()) == 1, run.text
        # A change counts from the next turn on.
        assert "of 16,384 tokens" in kernel.run("%%agent\nWhat can you do?").text
        kernel.run("%config MemFlush.offline_window = 20000")
        assert "of 20,000 tokens" in kernel.run("%%agent\nWhat can you do?").text
        assert "of 30,000 tokens" in kernel.run("%%agent --set offline_window=30000\nWhat can you do?").text
        assert "of 20,000 tokens" in kernel.run("%%agent\nWhat can you do?").text


def test_a_limit_nobody_can_read_lets_nothing_run(start):
    with start(MEMFLUSH_MAX_COST_USD="five") as kernel:
        kernel.run("%load_ext memflush_jupyter")
        run = kernel.run("%%agent\nWhat can you do?")
        assert run.status == "error"
        assert "MEMFLUSH_MAX_COST_USD takes a number of at least 0 or None, not 'five'. Set it with `%config MemFlush.max_cost_usd = …`" in run.text
        kernel.run("%config MemFlush.max_cost_usd = 5")
        assert kernel.run("%%agent\nWhat can you do?").status == "ok"


def test_status_looks_at_every_part_and_makes_nothing(start):
    with start(JPY_SESSION_NAME=str(start.folder / "a.ipynb")) as kernel:
        kernel.run("%load_ext memflush_jupyter")
        assert "Every part is well; `%agent status --all` shows each." not in kernel.run("%agent status").text  # modle is in the profile
        assert "Did you mean c.MemFlush.model?" in kernel.run("%agent status").text
        data = json.loads(kernel.run("%agent status --json", allow_stdin=True).text)
        checks = {check["name"]: check for check in data["checks"]}
        assert data["ok"] is True
        assert checks["notebook"]["seen"] == f"{start.folder / 'a.ipynb'} (told by Jupyter (JPY_SESSION_NAME))"
        assert checks["stdin"]["seen"] == "you can be asked before code runs"
        assert checks["model"]["seen"].startswith("offline/analyst")
        headless = json.loads(kernel.run("%agent status --json").text)
        assert {check["name"]: check for check in headless["checks"]}["stdin"]["state"] == "warning"
        kernel.run("__vsc_ipynb_file__ = '/somewhere/b.ipynb'")
        assert "/somewhere/b.ipynb (told by VS Code)" in kernel.run("%agent status --all").text
        assert list(start.folder.iterdir()) == []
        # What differs from machine to machine is not in the saved outputs of an offline notebook (P9).
        kernel.run("%%agent\nWhat can you do?")
        assert str(start.folder) not in kernel.run("%agent status").text
        everything = kernel.run("%agent status --all").text
        assert "intact, 1 conversation" in everything
        assert "sqlite" in everything


def test_status_names_a_dead_server_and_a_key_that_is_missing(start):
    with FakeMessagesServer() as server:
        address = server.url
    with start(MEMFLUSH_BASE_URL=address, ANTHROPIC_API_KEY_OF_TEAM="sk-ant-api03-" + "a1B2c3D4" * 6) as kernel:
        kernel.run("%load_ext memflush_jupyter")
        kernel.run("%config MemFlush.model = 'local/fake-model'")
        shown = kernel.run("%agent status", allow_stdin=True).text
        assert f"{address} does not answer" in shown
        assert "Start the server, or set MemFlush.base_url to where it runs." in shown
        kernel.run("%config MemFlush.model = 'anthropic/claude-sonnet-4-5'")
        assert "ANTHROPIC_API_KEY is not set" in kernel.run("%agent status", allow_stdin=True).text
        kernel.run("%config MemFlush.api_key_env = 'ANTHROPIC_API_KEY_OF_TEAM'")
        shown = kernel.run("%agent status", allow_stdin=True).text
        assert "ANTHROPIC_API_KEY_OF_TEAM is set" in shown
        assert "sk-ant" not in shown
        assert "61" not in re.search(r"key .*", shown).group(0)
