"""The flush on the background thread of a real kernel: beside the person's cells, silent, and safe against a kill (P1, P4, P10, C9)."""

from __future__ import annotations

import json
import os
import re
import time

import pytest

from memflush_jupyter.testing import FakeMessagesServer, Refuse, Reply, tool_use
from memflush_jupyter.testing.kernels import start_kernel
from memflush_jupyter.testing.service import ServedModel

pytestmark = pytest.mark.kernel

NOTE = "The survey of the lakes was made in 2007 with 41 stations."
FILLER = "The weather is nice and nothing of importance happens here. " * 400
"""About 4,800 tokens: beyond the flush line of a 16k window, below its compaction line."""
LONG_CELL = """
import time, sys
_until = time.monotonic() + {seconds}
_ticks = 0
while time.monotonic() < _until:
    time.sleep(0.05)
    _ticks += 1
print("cell done")
"""
SETUP = "%load_ext memflush_jupyter\n%config MemFlush.base_url = {url!r}\n%config MemFlush.model = 'local/fake-model'\n%config MemFlush.flush_floor = False"


@pytest.fixture
def server():
    with FakeMessagesServer(models=[ServedModel("fake-model", 16_000, 4_000)]) as running:
        yield running


@pytest.fixture
def kernel(tmp_path, server):
    env = {name: value for name, value in os.environ.items() if not name.startswith("ANTHROPIC")}
    with start_kernel(tmp_path, env=env) as running:
        assert running.run(SETUP.format(url=server.url)).text == ""
        yield running


def is_flush(request):
    return "[memory flush]" in json.dumps(request.messages[-1:]) and "[summary]" not in request.last_text


def script(server, *, flush, answer="ok"):
    def reply(request):
        if "[summary]" in request.last_text:
            return "## Done and found\nThe weather was talked about."
        return flush if is_flush(request) else answer

    server.script(reply)


def saves(*notes, delay_s=0.0):
    return Reply([tool_use("memory_write", {"notes": list(notes)})], delay_s=delay_s)


def remembered(folder):
    return "\n".join(path.read_text() for path in sorted((folder / "memory").glob("*.md")))


def flushing(server):
    return any(is_flush(request) for request in list(server.requests))


def until(condition, seconds=20.0):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    assert condition()


def test_a_flush_during_a_long_synchronous_cell_finishes_there_and_prints_nowhere(tmp_path, kernel, server):
    script(server, flush=saves(NOTE, delay_s=0.5))
    turn = kernel.run(f"%%agent\n{FILLER}", allow_stdin=True)
    assert turn.status == "ok"
    assert "1 note saved" not in turn.text
    long = kernel.run(LONG_CELL.format(seconds=4), allow_stdin=True)
    assert NOTE in remembered(tmp_path)
    assert [(output["kind"], output["text"]) for output in long.outputs] == [("stream", "cell done\n")]
    after = kernel.run("%%agent\nGo on.", allow_stdin=True)
    assert "memory: 1 note saved to memory/" in after.text
    assert server.refusals == []
    again = kernel.run("%%agent\nAnd on.", allow_stdin=True)
    assert "saved" not in again.text


def test_a_flush_pollutes_no_capture_of_the_person(tmp_path, kernel, server):
    script(server, flush=saves(NOTE, delay_s=0.3))
    kernel.run(f"%%agent\n{FILLER}", allow_stdin=True)
    run = kernel.run(
        "from IPython.utils.capture import capture_output\nimport time, warnings\nwarnings.simplefilter('always')\n"
        "with capture_output() as _c:\n    for _ in range(60):\n        time.sleep(0.05)\n    print('mine')\n"
        "print(repr(_c.stdout), repr(_c.stderr), len(_c.outputs))",
        allow_stdin=True,
    )
    assert run.text == "'mine\\n' '' 0"
    assert NOTE in remembered(tmp_path)


def test_turn_that_comes_while_the_flush_runs_does_not_wait_for_it(tmp_path, kernel, server):
    """Section 6: it waits only if it must compact."""
    script(server, flush=saves(NOTE, delay_s=8))
    kernel.run(f"%%agent\n{FILLER}", allow_stdin=True)
    until(lambda: flushing(server))
    began = time.monotonic()
    assert kernel.run("%%agent\nQuick question.", allow_stdin=True).status == "ok"
    assert time.monotonic() - began < 6
    assert "saving important memories" in kernel.run("%agent status", allow_stdin=True).text
    until(lambda: NOTE in remembered(tmp_path))


def test_a_background_flush_that_fails_shows_one_quiet_line(tmp_path, kernel, server):
    """C8"""
    script(server, flush=Refuse(400, "invalid_request_error", "no flush today"))
    kernel.run(f"%%agent\n{FILLER}", allow_stdin=True)
    quiet = kernel.run(LONG_CELL.format(seconds=2), allow_stdin=True)
    assert [output["text"] for output in quiet.outputs] == ["cell done\n"]
    after = kernel.run("%%agent\nGo on.", allow_stdin=True)
    assert after.status == "ok"
    lines = [text for text in after.plain() if text.startswith("⚠ memory:")]
    assert len(lines) == 1
    assert "no flush today" in lines[0]
    assert remembered(tmp_path) == ""


def test_a_kill_while_the_flush_asks_the_model_loses_nothing(tmp_path, server):
    """C9, P4: after the restart the flush runs again; what was said is there once."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("ANTHROPIC")}
    with start_kernel(tmp_path, env=env) as first:
        first.run(SETUP.format(url=server.url))
        script(server, flush=saves(NOTE, delay_s=30))
        first.run(f"%%agent\n{FILLER}", allow_stdin=True)
        until(lambda: flushing(server))
        first.kill()
    assert remembered(tmp_path) == ""
    script(server, flush=saves(NOTE))
    with start_kernel(tmp_path, env=env) as second:
        second.run(SETUP.format(url=server.url))
        assert "1 turn" in second.run("%agent resume", allow_stdin=True).text
        began = time.monotonic()
        # This turn has to compact: it must not wait until the lock of the dead kernel goes stale.
        run = second.run(f"%%agent\n{FILLER}", allow_stdin=True, timeout_s=120)
        assert run.status == "ok", run.text
        assert time.monotonic() - began < 30
        until(lambda: NOTE in remembered(tmp_path))
        second.run("%%agent\nGo on.", allow_stdin=True)
        assert remembered(tmp_path).count(NOTE) == 1
        assert re.search(r"turns +3", second.run("%agent status", allow_stdin=True).text)
    assert server.refusals == []


@pytest.mark.parametrize("moment", ["before the append", "after the append", "after the commit"])
def test_a_kill_at_the_write_neither_loses_nor_doubles_the_note(tmp_path, server, moment):
    """C9"""
    place = {
        "before the append": "import memflush_jupyter.memory.daily as m; target, name = m, 'append_notes'",
        "after the append": "from memflush_jupyter.trace.store import TraceStore as target; name = 'record_flush'",
        "after the commit": "from memflush_jupyter.trace.store import TraceStore as target; name = 'release'",
    }[moment]
    env = {name: value for name, value in os.environ.items() if not name.startswith("ANTHROPIC")}
    script(server, flush=saves(NOTE))
    with start_kernel(tmp_path, env=env) as first:
        first.run(SETUP.format(url=server.url))
        first.run(f"import os, signal\n{place}\nsetattr(target, name, lambda *a, **k: os.kill(os.getpid(), signal.SIGKILL))")
        first._client.execute(f"%%agent\n{FILLER}", allow_stdin=True)
        until(lambda: not first.alive(), 60)
    with start_kernel(tmp_path, env=env) as second:
        second.run(SETUP.format(url=server.url))
        second.run("%agent resume", allow_stdin=True)
        assert second.run("%%agent\nGo on.", allow_stdin=True).status == "ok"
        until(lambda: NOTE in remembered(tmp_path))
        second.run("%agent flush", allow_stdin=True)
        assert remembered(tmp_path).count(NOTE) == 1
    assert server.refusals == []


def test_unload_and_exit_do_not_wait_for_a_flush_that_hangs(tmp_path, kernel, server):
    script(server, flush=saves(NOTE, delay_s=60))
    kernel.run(f"%%agent\n{FILLER}", allow_stdin=True)
    until(lambda: flushing(server))
    run = kernel.run("import time\n_t = time.monotonic()\n%unload_ext memflush_jupyter\nprint(time.monotonic() - _t)")
    assert float(run.text) < 5
    assert kernel.run("import threading\nprint([t.name for t in threading.enumerate() if 'memflush' in t.name])").text == "[]"
    kernel.run("%load_ext memflush_jupyter")
    assert kernel.run(f"%config MemFlush.base_url = {server.url!r}\n%config MemFlush.model = 'local/fake-model'").status == "ok"
    kernel.run("%agent resume", allow_stdin=True)
    server.requests.clear()
    kernel.run("%%agent\nGo on.", allow_stdin=True)
    until(lambda: flushing(server))
    began = time.monotonic()
    kernel._client.execute("exit()")
    until(lambda: not kernel.alive(), 15)
    assert time.monotonic() - began < 10


def test_an_error_nobody_expected_in_the_background_prints_nowhere_and_is_told_in_one_line(tmp_path, kernel, server):
    """P10: neither a traceback nor a log line lands in a cell of the person."""
    script(server, flush=saves(NOTE))
    kernel.run("from memflush_jupyter.agent import side_run as _side\n_side.Flush = lambda *a: 1 / 0")
    kernel.run(f"%%agent\n{FILLER}", allow_stdin=True)
    quiet = kernel.run(LONG_CELL.format(seconds=2), allow_stdin=True)
    assert [output["text"] for output in quiet.outputs] == ["cell done\n"]
    after = kernel.run("%%agent\nGo on.", allow_stdin=True)
    assert sum("In the background: Something in memflush-jupyter went wrong (ZeroDivisionError" in text for text in after.plain()) == 1
    assert not any("Traceback" in text for text in after.plain())
    assert "ZeroDivisionError" in (tmp_path / "memory/.memflush/errors.log").read_text()
