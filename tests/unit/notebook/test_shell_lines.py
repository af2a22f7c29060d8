"""Shell lines of agent code: their output, their status, and that an interrupt at any instant ends them (P10)."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from types import SimpleNamespace

import pytest

from memflush_jupyter.notebook.shell import run_line

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")


@pytest.fixture
def ip():
    """What of an IPython shell a line needs."""
    return SimpleNamespace(user_ns={}, var_expand=lambda command, depth: command)


def line_with(press, ip, command):
    """A line that is interrupted by what the thread ``press`` does."""
    press.start()
    run_line(ip, command)


def gone(folder):
    """Whether the command that wrote its process number there ends; one that nobody has collected yet has ended."""
    until = time.monotonic() + 10
    while time.monotonic() < until:
        try:
            os.kill(int((folder / "pid").read_text()), 0)
        except (FileNotFoundError, ValueError, ProcessLookupError):
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
def test_an_interrupt_at_any_instant_ends_the_line_and_what_it_started(ip, tmp_path, after_ms):
    """P10: also while the process is only starting."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(after_ms / 1000, lambda: os.kill(os.getpid(), signal.SIGINT))
    started = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            line_with(timer, ip, f"sh -c 'echo $$ > {tmp_path}/pid; exec sleep 30'")
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - started < 10
    assert gone(tmp_path)


def test_a_command_that_takes_no_notice_of_an_interrupt_is_killed(ip, tmp_path):
    before = signal.signal(signal.SIGINT, signal.default_int_handler)

    def press():
        while not (tmp_path / "pid").exists():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)

    try:
        with pytest.raises(KeyboardInterrupt):
            line_with(threading.Thread(target=press), ip, f"trap '' INT TERM; echo $$ > {tmp_path}/pid; while :; do sleep 1; done")
    finally:
        signal.signal(signal.SIGINT, before)
    assert gone(tmp_path)  # a second press does not wait for the end, and does not keep it from coming
