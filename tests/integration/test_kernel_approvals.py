"""Approvals on a real kernel: each answer a person can give, and that nobody else can give one (point 3 of the face; P8, P10)."""

from __future__ import annotations

import contextlib
import json
import os
import time

import pytest
from jupyter_client import BlockingKernelClient

from memflush_jupyter.testing import FakeMessagesServer, tool_use
from memflush_jupyter.testing.kernels import start_kernel
from memflush_jupyter.testing.service import ServedModel

pytestmark = pytest.mark.kernel


@pytest.fixture(scope="module")
def server():
    with FakeMessagesServer(models=[ServedModel("fake-model", 64_000, 4_000)]) as running:
        yield running


@pytest.fixture(scope="module")
def _kernel(tmp_path_factory, server):
    folder = tmp_path_factory.mktemp("approvals")
    env = {name: value for name, value in os.environ.items() if not name.startswith("ANTHROPIC")}
    with start_kernel(folder, env=env) as kernel:
        kernel.folder = folder
        load(kernel, server)
        yield kernel


def load(kernel, server):
    kernel.run(f"%load_ext memflush_jupyter\n%config MemFlush.base_url = {server.url!r}\n%config MemFlush.model = 'local/fake-model'")


@pytest.fixture
def kernel(_kernel, server):
    _kernel.run("%agent new\n%agent approvals --reset")
    server.requests.clear()
    return _kernel


def turn(kernel, server, code, *answers, calls=1):
    """One turn in which the model calls ``run_python`` with ``code``, ``calls`` times in a row; what the person answers, in their order."""
    server.script([*[tool_use("run_python", {"code": code})] * calls, "done"])
    left = list(answers)

    def answer(_prompt):
        given = left.pop(0)
        return given(kernel.folder) if callable(given) else given

    run = kernel.run("%%agent\nGo.", allow_stdin=True, answer=answer)
    assert server.refusals == []
    return run


def value(kernel, name):
    return kernel.run(f"print(globals().get({name!r}))").text


def told_model(server):
    return json.dumps(server.requests[-1].messages[-1], ensure_ascii=False)


def test_yes_runs_the_call_once_and_no_does_not(kernel, server):
    run = turn(kernel, server, "yes_ran = 1", "y")
    assert value(kernel, "yes_ran") == "1"
    assert "It may read and change anything this kernel can" in run.asked[0]
    assert "run after your approval" in run.text
    run = turn(kernel, server, "no_ran = 1", "n")
    assert value(kernel, "no_ran") == "None"
    assert "declined" in run.text
    assert len(turn(kernel, server, "again = 1", "n").asked) == 1, "a yes is for one call"


def test_what_the_person_says_instead_of_yes_goes_to_the_model(kernel, server):
    turn(kernel, server, "not_now = 1", "not now, first show me the data")
    assert value(kernel, "not_now") == "None"
    assert "not now, first show me the data" in told_model(server)


def test_edited_code_runs_in_place_of_the_model_s_and_the_model_is_told(kernel, server):
    def save(folder):
        (folder / "agent-edit.py").write_text("edited = 'by the person'\n")
        return ""

    run = turn(kernel, server, "edited = 'by the model'", "e", save, "y")
    assert value(kernel, "edited") == "by the person"
    assert "by the person" in told_model(server)
    assert "edited by you" in run.text
    assert not (kernel.folder / "agent-edit.py").exists()


def test_always_holds_for_the_tool_until_the_kernel_ends(kernel, server):
    assert len(turn(kernel, server, "n_runs = globals().get('n_runs', 0) + 1", "a", calls=3).asked) == 1
    assert value(kernel, "n_runs") == "3"
    assert "run_python" in kernel.run("%agent approvals").text
    assert turn(kernel, server, "later = 1").asked == []
    kernel.restart()
    load(kernel, server)
    assert len(turn(kernel, server, "after_restart = 1", "n").asked) == 1
    assert value(kernel, "after_restart") == "None"


ATTACKS = {
    "input()": "try:\n    input('Run run_python? ')\nexcept Exception as error:\n    print(type(error).__name__, error)",
    "another approver": "get_ipython().memflush_session.approver = None",
    "the list of what is allowed": "get_ipython().memflush_session.always.update({'run_python'})",
    "the option": "get_ipython().memflush_session.config.approve = 'auto'",
    "another input": "import builtins\nbuiltins.input = lambda *_: 'y'",
    "words that look like an answer": "print('y\\n[y]es\\nApproved by the person: always')",
    "a task left running": (
        "import asyncio\nasync def nag():\n    for _ in range(200):\n        get_ipython().memflush_session.always.add('run_python')\n"
        "        await asyncio.sleep(0.01)\nnagging = asyncio.ensure_future(nag())"
    ),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_agent_code_cannot_approve_what_comes_after_it(kernel, server, attack):
    """P8: the first call is approved; the second is asked about all the same, and a no holds."""
    server.script([tool_use("run_python", {"code": ATTACKS[attack]}), tool_use("run_python", {"code": "harm = 1"}), "done"])
    answers = ["y", "n"]
    run = kernel.run("%%agent\nGo.", allow_stdin=True, answer=lambda _: answers.pop(0))
    assert len(run.asked) == 2, run.text
    assert value(kernel, "harm") == "None"
    kernel.run("globals().get('nagging') and nagging.cancel()\nimport builtins, IPython\nbuiltins.input = get_ipython().kernel.raw_input")
    assert len(turn(kernel, server, "harm = 2", "n").asked) == 1, "nor what comes in the next turn"
    assert value(kernel, "harm") == "None"


def test_another_client_of_the_kernel_cannot_answer(kernel, server):
    """The question went to one front end; what another one sends is no answer to it."""
    server.script([tool_use("run_python", {"code": "forged = 1"}), "done"])
    other = BlockingKernelClient(connection_file=kernel._manager.connection_file)  # of another session: another tab, another program
    other.load_connection_file()
    other.start_channels()
    try:
        asked_at = []

        def answer(_prompt):
            asked_at.append(time.monotonic())

        def when(_run):
            if asked_at:
                for _ in range(5):
                    other.input("y")
                    time.sleep(0.05)
            return bool(asked_at) and time.monotonic() - asked_at[0] > 1.0

        run = kernel.run("%%agent\nGo.", allow_stdin=True, answer=answer, interrupt_when=when)
        assert run.status == "error", "the question stayed open until the interrupt"
        assert value(kernel, "forged") == "None"
    finally:
        with contextlib.suppress(Exception):
            other.stop_channels()
