"""The face's parts that need no kernel: arguments, background thread, capture, errors, variables, transformer, approval."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memflush_jupyter.errors import ConfigError, MemflushError, ModelError
from memflush_jupyter.notebook import headless
from memflush_jupyter.notebook.approval import AskPerson, make_approver
from memflush_jupyter.notebook.arguments import HelpAsked, choose
from memflush_jupyter.notebook.background import BackgroundWorker
from memflush_jupyter.notebook.capture import BoundedText, tidy
from memflush_jupyter.notebook.describe import MAX_CHARS, describe_variables
from memflush_jupyter.notebook.extension import await_agent
from memflush_jupyter.notebook.failure import as_cell_error, render_failure
from memflush_jupyter.notebook.interrupts import Interrupts
from memflush_jupyter.notebook.kernel_tools import RunPython, unfence
from memflush_jupyter.notebook.magics import agent, memory


def test_cell_options_are_understood():
    given_ = agent.cell_parser().parse("-m local/qwen --new --approve auto --max-rounds 3 --no-memory --format json")
    assert (given_.model, given_.new, given_.approve, given_.max_rounds, given_.memory, given_.format) == ("local/qwen", True, "auto", 3, False, "json")
    assert agent.cell_parser().parse("").memory is None


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("--modle x", "Did you mean --model?"),
        ("--approve maybe", "invalid choice"),
        ("--max-rounds 0", "--max-rounds"),
        ("--max-rounds x", "--max-rounds"),
        ("-m 'x", "quote is not closed"),
    ],
)
def test_wrong_options_are_told_in_a_sentence(line, words):
    with pytest.raises(ConfigError, match=words):
        agent.cell_parser().parse(line)


@pytest.mark.parametrize(
    "parser", [agent.cell_parser(), *agent.parsers().values(), *memory.parsers().values(), memory.cell_parser()], ids=lambda parser: parser.prog
)
def test_every_magic_and_subcommand_has_help(parser):
    with pytest.raises(HelpAsked, match=parser.prog.replace("%", "%")):
        parser.parse("--help")


def test_unknown_subcommand_names_the_nearest():
    with pytest.raises(ConfigError, match="Did you mean `%agent status`"):
        choose("%agent", "sttus", agent.COMMANDS)
    with pytest.raises(ConfigError, match="There are: status, show"):
        choose("%agent", "zzzzz", agent.COMMANDS)


def test_overviews_name_every_subcommand():
    assert all(f"%agent {name}" in agent.overview() for name in agent.COMMANDS)
    assert all(f"%memory {name}" in memory.overview() for name in memory.COMMANDS)


def test_only_the_agent_cell_is_awaited():
    call = "get_ipython().run_cell_magic('agent', '', 'hi\\n')\n"
    assert await_agent([call]) == [f"await {call}"]
    for other in (["x = 1\n"], ["get_ipython().run_cell_magic('time', '', 'x')\n"], [], [f"  {call}"]):
        assert await_agent(other) == other


def test_loading_imports_nothing_heavy():
    """Start-up is a goal: neither the SDK nor SQLAlchemy nor a data library at ``%load_ext``."""
    code = (
        "import sys, IPython\n"
        "before = set(sys.modules)\n"
        "import memflush_jupyter, memflush_jupyter.notebook.extension, memflush_jupyter.config, memflush_jupyter.events\n"
        "heavy = {'anthropic', 'httpx2', 'sqlalchemy', 'alembic', 'tiktoken', 'pandas', 'matplotlib', 'detect_secrets', 'markdown_it', 'unittest.mock'}\n"
        "print(sorted(heavy & (set(sys.modules) - before)))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


# -- the background thread ------------------------------------------------------------------------------------------------------


@pytest.fixture
def worker():
    made = BackgroundWorker()
    yield made
    made.shutdown()


def test_background_runs_coroutines_on_one_thread_of_its_own(worker):
    async def where():
        return threading.current_thread().name, threading.get_ident(), threading.current_thread().daemon

    first, second = worker.submit(where).result(5), worker.run(where)
    assert first == second
    assert first[0] == "memflush-background"
    assert first[1] != threading.get_ident()
    assert first[2] is True


def test_background_failure_is_logged_and_never_printed(worker, capfd, caplog):
    """P10"""

    async def fail():
        raise ValueError("broken")

    future = worker.submit(fail)
    with pytest.raises(ValueError, match="broken"):
        future.result(5)
    assert worker.submit(lambda: asyncio.sleep(0, "alive")).result(5) == "alive"
    assert capfd.readouterr() == ("", "")
    assert "broken" in caplog.text


def test_background_shutdown_cancels_what_runs_and_ends_the_thread(worker):
    began, ended = threading.Event(), threading.Event()

    async def wait():
        began.set()
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()

    worker.submit(wait)
    assert began.wait(5)
    assert worker.busy
    worker.shutdown()
    assert ended.wait(5)
    worker.shutdown()
    with pytest.raises(MemflushError, match="was stopped"):
        worker.submit(wait)


def test_background_wait_can_be_interrupted(worker):
    """P10: ``%agent flush`` waiting for the model."""
    ended = threading.Event()

    async def wait():
        threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()

    with pytest.raises(KeyboardInterrupt):
        worker.run(wait)
    assert ended.wait(5)


# -- interrupts -----------------------------------------------------------------------------------------------------------------


async def test_interrupt_cancels_the_turn_while_it_waits():
    """P10"""
    interrupts = Interrupts()
    before = signal.getsignal(signal.SIGINT)
    threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(asyncio.CancelledError):
        async with interrupts.watch():
            await asyncio.sleep(60)
    interrupts.settle()
    assert interrupts.requested
    assert signal.getsignal(signal.SIGINT) is before


async def test_after_an_interrupted_turn_of_a_kernel_a_further_press_does_nothing_until_the_cell_has_its_reply():
    """P10: the kernel sets its handler back then; a turn that comes before that one does not pile a handler on a handler."""
    interrupts = Interrupts(kernel=True)
    before = signal.getsignal(signal.SIGINT)
    try:
        for _ in range(2):
            interrupts.begin()
            threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
            with pytest.raises(asyncio.CancelledError):
                async with interrupts.watch():
                    await asyncio.sleep(60)
            interrupts.settle()
            os.kill(os.getpid(), signal.SIGINT)
            await asyncio.sleep(0)
            assert signal.getsignal(signal.SIGINT).before is before
    finally:
        signal.signal(signal.SIGINT, before)


async def test_interrupt_raises_in_synchronous_code_and_leaves_no_handler_across_an_await():
    """P10"""
    interrupts = Interrupts()
    seen = []

    async def code():
        seen.append(signal.getsignal(signal.SIGINT))
        await asyncio.sleep(0)
        try:
            os.kill(os.getpid(), signal.SIGINT)
            while True:
                pass
        except KeyboardInterrupt:
            return "stopped"

    async with interrupts.watch():
        watching = signal.getsignal(signal.SIGINT)
        assert await interrupts.drive(code()) == "stopped"
        assert signal.getsignal(signal.SIGINT) == watching
    assert interrupts.requested
    assert seen[0] != watching


async def test_driven_coroutine_behaves_like_an_awaited_one():
    interrupts = Interrupts()

    async def fails():
        await asyncio.sleep(0)
        raise ValueError("mine")

    async def catches():
        try:
            await asyncio.wait_for(asyncio.sleep(60), 0.01)
        except TimeoutError:
            return await asyncio.sleep(0, "caught")

    assert await interrupts.drive(catches()) == "caught"
    with pytest.raises(ValueError, match="mine"):
        await interrupts.drive(fails())


async def test_a_failing_tick_does_not_end_the_turn():
    interrupts = Interrupts()
    called = []

    def tick():
        called.append(1)
        raise ValueError

    async with interrupts.watch():
        interrupts.on_tick = tick
        while len(called) < 2:
            await asyncio.sleep(0.05)


# -- capture, errors, variables -------------------------------------------------------------------------------------------------


@given(st.lists(st.text(max_size=30)), st.integers(2, 40))
def test_bounded_text_keeps_head_and_tail_and_counts_the_rest(pieces, limit):
    text = BoundedText(limit)
    for piece in pieces:
        text.write(piece)
    whole, half = "".join(pieces), limit // 2
    if len(whole) <= 2 * half:
        assert text.value() == whole
    else:
        assert text.omitted == len(whole) - 2 * half
        assert text.value().startswith(whole[:half])
        assert text.value().endswith(whole[-half:])


def test_text_is_tidied_as_a_terminal_shows_it():
    assert tidy("\x1b[31mred\x1b[0m\r\nx") == "red\nx"
    assert tidy("10%\r50%\r100%\ndone") == "100%\ndone"
    assert tidy("50%\r") == "50%"


def test_fences_are_taken_off():
    assert unfence("```python\nx = 1\n```") == "x = 1"
    assert unfence("  ```\nx\n```  ") == "x"
    assert unfence("x = '```'") == "x = '```'"


def test_errors_of_ours_are_sentences():
    assert str(as_cell_error(ModelError("No key is set."))) == "No key is set."
    told = str(as_cell_error(ZeroDivisionError("x"), "memory/.memflush/errors.log"))
    assert told.startswith("Something in memflush-jupyter went wrong (ZeroDivisionError: x). The details are in memory/.memflush/errors.log.")
    assert as_cell_error(ModelError("No key."))._render_traceback_() == ["No key."]


def test_agent_errors_name_notes_causes_and_broken_messages():
    class OddError(Exception):
        def __str__(self):
            raise ValueError

    try:
        try:
            {}["a"]
        except KeyError as cause:
            error = ValueError("b")
            error.add_note("try c")
            raise error from cause
    except ValueError as caught:
        text = render_failure(caught, "")
    assert text.splitlines()[-3:] == ["ValueError: b", "try c", "(caused by KeyError: 'a')"]
    assert render_failure(OddError(), "") == "OddError: (its message cannot be shown)"
    assert render_failure(SystemExit(), "") == "SystemExit: 0 (the kernel goes on)"


def test_variables_are_described_without_running_their_code():
    class Bad:
        __slots__ = ()

        def __repr__(self):
            raise AssertionError("ran")

        def __len__(self):
            raise AssertionError("ran")

    class Loud(str):
        __slots__ = ()

        def __repr__(self):
            raise AssertionError("ran")

    text = describe_variables({"a": Bad(), "b": [Bad()], "c": {"k": Bad()}, "d": Loud("x"), "e": 2**20000, "f": b"x" * 999, "sys": sys, "_p": 1})
    assert text.splitlines()[:4] == [
        "a: test_face_parts.Bad object",
        "b: list of 1: test_face_parts.Bad object",
        "c: dict of 1: 'k': test_face_parts.Bad object",
        "d: test_face_parts.Loud object",
    ]
    assert text.splitlines()[4] == "e: int of 20001 bits"
    assert [line.partition(":")[0] for line in text.splitlines()] == ["a", "b", "c", "d", "e", "f"]


def test_variables_are_bounded():
    text = describe_variables({f"name{i}": "x" * 500 for i in range(100)})
    assert len(text) < MAX_CHARS + 1000
    assert "more: name40" in text or "left out for length" in text
    assert describe_variables({}) == "The kernel holds no variables yet."


# -- approval -------------------------------------------------------------------------------------------------------------------


class FakeShell:
    kernel = object()
    user_ns = MappingProxyType({})

    def __init__(self, allow_stdin):
        self._allow = allow_stdin

    def get_parent(self):
        return {"content": {"allow_stdin": self._allow}, "metadata": {"cellId": "c1"}}


@pytest.mark.parametrize(
    ("policy", "present", "kind"), [("", True, "AskPerson"), ("", False, "Never"), ("ask", False, "Never"), ("auto", False, "Always"), ("deny", True, "Never")]
)
def test_policy_asks_where_a_person_is_and_denies_headless_unless_declared(policy, present, kind):
    assert type(make_approver(policy, FakeShell(present), set(), lambda *_: None)).__name__ == kind


@pytest.mark.parametrize(
    ("answer", "allowed", "reason"),
    [
        ("y", True, ""),
        ("Yes", True, ""),
        ("a", True, ""),
        ("n", False, "The person declined to run run_python."),
        ("", False, "The person declined to run run_python."),
        ("use a table", False, "The person declined to run run_python and said: use a table"),
    ],
)
async def test_answers_are_understood(monkeypatch, answer, allowed, reason):
    async def ask(ip, prompt):
        return answer

    monkeypatch.setattr("memflush_jupyter.notebook.approval.ask", ask)
    shown, always = [], set()
    person = AskPerson(FakeShell(True), always, lambda name, given_: shown.append((name, given_)))
    approval = await person.decide(RunPython(None), {"code": "x"})
    assert (approval.allowed, approval.reason) == (allowed, reason)
    assert shown == [("run_python", {"code": "x"})]
    assert always == ({"run_python"} if answer == "a" else set())


async def test_always_is_not_asked_again():
    person = AskPerson(FakeShell(True), {"run_python"}, lambda *_: pytest.fail("shown"))
    assert (await person.decide(RunPython(None), {"code": "x"})).allowed


async def test_a_kernel_that_cannot_ask_denies_with_a_sentence():
    person = AskPerson(FakeShell(True), set(), lambda *_: None)
    approval = await person.decide(RunPython(None), {"code": "x"})
    assert not approval.allowed
    assert "nobody is here to approve it" in approval.reason


def test_front_end_and_cell_are_told_from_the_request(monkeypatch):
    assert headless.front(FakeShell(True)) == "live"
    assert headless.front(FakeShell(False)) == "headless"
    assert headless.front(object()) == "terminal"
    assert headless.cell_id(FakeShell(True)) == "c1"
    assert headless.cell_id(object()) is None
    monkeypatch.setenv("JPY_SESSION_NAME", "work/a.ipynb")
    assert headless.notebook_path(FakeShell(True)) == "work/a.ipynb"
