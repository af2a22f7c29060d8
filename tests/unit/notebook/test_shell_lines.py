"""Shell lines of agent code: their output, their status, and that an interrupt at any instant ends them (P10)."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from memflush_jupyter.notebook.shell import run_line

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")


@pytest.fixture
def ip():
    """What of an IPython shell a line needs."""
    return SimpleNamespace(user_ns={}, var_expand=lambda command, depth: command)


PRESSED = """
import gc, os, signal, sys, threading, time
from types import SimpleNamespace
from memflush_jupyter.notebook.shell import run_line

folder, case = sys.argv[1:]
gc.disable()  # an interrupt inside a finaliser is lost to any code
signal.signal(signal.SIGINT, signal.default_int_handler)
ip = SimpleNamespace(user_ns={}, var_expand=lambda command, depth: command)

def press():
    if case == "ignores":
        while not os.path.exists(folder + "/pid"):
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)
    else:
        time.sleep(float(case))
    os.kill(os.getpid(), signal.SIGINT)

line = "trap '' INT TERM; echo $$ > %s/pid; while :; do sleep 1; done" if case == "ignores" else "sh -c 'echo $$ > %s/pid; exec sleep 30'"
thread = threading.Thread(target=press, daemon=True)
try:
    thread.start()
    run_line(ip, line % folder)
    print("ran on")
except KeyboardInterrupt:
    print("interrupted")
"""


def pressed(folder, case):
    """What came of a line that is interrupted, in a process of its own: no other code of this one takes the interrupt."""
    done = subprocess.run([sys.executable, "-c", PRESSED, str(folder), str(case)], capture_output=True, text=True, timeout=60, check=False)
    return done.stdout.strip() or done.stderr


def gone(folder):
    """Whether the command that wrote its process number there ends; one that nobody has collected yet has ended."""
    until = time.monotonic() + 10
    while time.monotonic() < until:
        try:
            number = int((folder / "pid").read_text())
            os.kill(number, 0)
        except (FileNotFoundError, ValueError, ProcessLookupError):
            return True
        stat = Path(f"/proc/{number}/stat")
        with contextlib.suppress(OSError, IndexError):
            if stat.read_text().rpartition(")")[2].split()[0] in {"Z", "X"}:
                return True
        time.sleep(0.02)
    return False


def test_output_comes_as_it_is_printed_and_the_status_is_kept(ip, capsys):
    run_line(ip, "echo eins; echo zwei >&2; exit 3")
    assert capsys.readouterr().out == "eins\nzwei\n"
    assert ip.user_ns["_exit_code"] == 3


def test_the_status_of_a_killed_command_is_the_signal(ip):
    run_line(ip, "kill -TERM $$")
    assert ip.user_ns["_exit_code"] == -signal.SIGTERM


def test_bytes_that_are_no_text_and_long_outputs_arrive_whole(ip, capsys):
    run_line(ip, f"{sys.executable} -c \"import sys; sys.stdout.buffer.write('ü'.encode() * 400_000 + b'\\xff')\"")
    assert capsys.readouterr().out == "ü" * 400_000 + "�"


def test_a_command_has_no_keyboard(ip, capsys):
    run_line(ip, "cat; echo end")
    assert capsys.readouterr().out == "end\n"


def test_what_a_command_leaves_in_the_background_is_not_waited_for(ip, capsys):
    started = time.monotonic()
    run_line(ip, "sleep 20 & echo $!")
    assert time.monotonic() - started < 10
    os.kill(int(capsys.readouterr().out), signal.SIGKILL)


def test_a_line_that_ends_with_an_ampersand_is_refused_as_ipython_does(ip):
    with pytest.raises(OSError, match="Background"):
        run_line(ip, "sleep 20 &")


@pytest.mark.parametrize("after_ms", [0.0, 0.3, 0.6, 1, 1.5, 2, 3, 4, 6, 8, 12, 20, 60])
def test_an_interrupt_at_any_instant_ends_the_line_and_what_it_started(tmp_path, after_ms):
    """P10: also while the process is only starting."""
    started = time.monotonic()
    assert pressed(tmp_path, after_ms / 1000) == "interrupted"
    assert time.monotonic() - started < 20
    assert gone(tmp_path)


def test_a_command_that_takes_no_notice_of_an_interrupt_is_killed(tmp_path):
    """A second press does not wait for the end, and does not keep it from coming."""
    assert pressed(tmp_path, "ignores") == "interrupted"
    assert gone(tmp_path)
