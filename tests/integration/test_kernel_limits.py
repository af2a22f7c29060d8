"""Limits on a real kernel: the time of a tool whatever the code does, and the tokens of a turn; the kernel and the trace stay as they should (H, P6, P10)."""

from __future__ import annotations

import os
import time

import pytest

from memflush_jupyter.testing import FakeMessagesServer, tool_use
from memflush_jupyter.testing.kernels import start_kernel

pytestmark = pytest.mark.kernel

ENDLESS = {
    "a sleep": "import time\ntime.sleep(60)\nprint('went on')",
    "a busy loop": "while True:\n    pass",
    "an await": "import asyncio\nawait asyncio.sleep(60)\nprint('went on')",
    "awaits in small steps": "import asyncio\nwhile True:\n    await asyncio.sleep(0.01)",
    "a shell command": "!sleep 60\nprint('went on')",
    "a captured shell command": "out = !sleep 60\nprint('went on')",
    "a process": "import subprocess\nsubprocess.run(['sleep', '60'])\nprint('went on')",
    "a cell magic": "%%bash\nsleep 60",
    "a join": "import threading, time\nt = threading.Thread(target=time.sleep, args=(60,), daemon=True)\nt.start()\nt.join()\nprint('went on')",
    "code that swallows interrupts": "import time\nwhile True:\n    try:\n        time.sleep(60)\n    except BaseException:\n        pass",
    "code that swallows cancellation": "import asyncio\nwhile True:\n    try:\n        await asyncio.sleep(60)\n    except BaseException:\n        pass",
}


def answer(request):
    last = request.messages[-1]["content"]
    results = [block for block in last if block["type"] == "tool_result"] if isinstance(last, list) else []
    return "RESULT " + str(results[-1]["content"]) if results else [tool_use("run_python", {"code": request.last_text})]


@pytest.fixture(scope="module")
def server():
    with FakeMessagesServer() as running:
        yield running


@pytest.fixture(scope="module")
def kernel(tmp_path_factory, server):
    env = {name: value for name, value in os.environ.items() if not name.startswith("ANTHROPIC")}
    env |= {"MEMFLUSH_BASE_URL": server.url, "MEMFLUSH_MODEL": "local/fake-model", "MEMFLUSH_APPROVE": "auto", "MEMFLUSH_TOOL_TIMEOUT_S": "0.5"}
    with start_kernel(tmp_path_factory.mktemp("limits"), env=env) as running:
        running.run("%load_ext memflush_jupyter")
        server.script(answer)
        running.run("%%agent\n1 + 1")
        yield running


@pytest.mark.parametrize("case", ENDLESS)
def test_tool_timeout_ends_whatever_the_code_does_and_the_turn_goes_on(kernel, server, case):
    server.script(answer)
    began = time.monotonic()
    run = kernel.run(f"%%agent\n{ENDLESS[case]}", timeout_s=30)
    assert run.status == "ok", run.text
    assert time.monotonic() - began < 15
    assert "RESULT" in run.text
    assert "Stopped: the code ran longer than tool_timeout_s = 0.5 seconds" in run.text
    assert "went on" not in run.text.split("RESULT")[1]
    assert "Interrupted" not in run.text
    assert kernel.run("import sys; print(sys.gettrace(), 6 * 7)").text == "None 42"
    assert server.refusals == []


def test_a_file_tool_is_stopped_too(kernel, server):
    kernel.run("import pathlib\nfor i in range(300): pathlib.Path(f'big{i}.txt').write_text('x' * 1_900_000)")
    server.script([[tool_use("search_files", {"query": "xxxy"})], "Then not."])
    run = kernel.run("%%agent --set tool_timeout_s=0.05\nFind it.", timeout_s=30)
    assert run.status == "ok", run.text
    kernel.run("for i in range(300): pathlib.Path(f'big{i}.txt').unlink()")
    assert "search_files did not finish within tool_timeout_s = 0.05 seconds and was stopped." in str(server.requests[-1].messages)
    assert server.refusals == []


def test_a_turn_that_reaches_its_tokens_ends_in_a_sentence_and_the_next_one_goes_on(kernel, server):
    server.script(lambda _: [tool_use("run_python", {"code": "1"})])
    run = kernel.run("%%agent --new --set max_turn_tokens=5000\nLoop.")
    assert run.status == "ok"
    assert "Stopped at a limit: this turn used" in run.text
    assert "raise the limit with `%config MemFlush.max_turn_tokens = " in run.text
    server.script(["On we go."])
    assert "On we go." in kernel.run("%%agent\nGo on.").text
    assert server.refusals == []


def test_a_cost_limit_holds_for_the_kernel_and_says_how_to_raise_it(kernel, server):
    entry = f"{{'local/fake-model': {{'base_url': {server.url!r}, 'price': {{'input': 3, 'output': 15}}}}}}"
    assert kernel.run(f"%config MemFlush.endpoints = {entry}").status == "ok"
    server.script(lambda _: [tool_use("run_python", {"code": "1"})])
    kernel.run("%config MemFlush.max_cost_usd = 0.02")
    first = kernel.run("%%agent --new\nLoop.")
    assert "max_cost_usd is $0.0200" in first.text
    sent = len(server.requests)
    assert "Stopped at a limit" in kernel.run("%%agent\nAgain.").text
    assert "max_cost_usd is" in kernel.run("%agent flush").text
    assert len(server.requests) == sent
    server.script(["On we go."])
    assert "On we go." in kernel.run("%%agent --set max_cost_usd=none\nGo on.").text
    assert "Stopped at a limit" in kernel.run("%%agent\nAgain.").text
    assert server.refusals == []


def test_files_outside_the_folder_are_read_only_where_the_person_allowed_it(kernel, server, tmp_path):
    """P8: neither a path, a link nor a search leads out of the notebook's folder; ``allowed_paths`` does, from the next turn on."""
    kernel.run("%config MemFlush.max_cost_usd = None")
    (tmp_path / "far.txt").write_text("far away")
    link = kernel.run(f"import os\nos.symlink({str(tmp_path / 'far.txt')!r}, 'link.txt')\nos.getcwd()")
    assert link.status == "ok"

    def turn(name, given, *options):
        server.script([[tool_use(name, given)], "Seen."])
        run = kernel.run(f"%%agent {' '.join(options)}\nRead it.")
        assert run.status == "ok", run.text
        return str(server.requests[-1].messages[-1])

    for path in (str(tmp_path / "far.txt"), "link.txt", "../" * 12 + str(tmp_path / "far.txt").lstrip("/")):
        told = turn("read_file", {"path": path}, "--new")
        assert "lies outside the notebook's folder" in told
        assert "far away" not in told
    assert "lies outside" in turn("list_files", {"path": str(tmp_path)})
    assert "far away" not in turn("search_files", {"query": "far"})
    assert "far away" in turn("read_file", {"path": str(tmp_path / "far.txt")}, f"--set allowed_paths={tmp_path}")
    assert "lies outside" in turn("read_file", {"path": str(tmp_path / "far.txt")})
    kernel.run(f"%config MemFlush.allowed_paths = [{str(tmp_path)!r}]")
    assert "far away" in turn("read_file", {"path": str(tmp_path / "far.txt")})
    kernel.run("%config MemFlush.allowed_paths = []\nos.unlink('link.txt')")
    assert "lies outside" in turn("read_file", {"path": str(tmp_path / "far.txt")})
    assert server.refusals == []
