"""Approvals: what is asked, how a call is edited before it runs, and that nothing but the person can give one (P10)."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from memflush_jupyter.agent.tools.base import Always, Never
from memflush_jupyter.config import MemFlush
from memflush_jupyter.events import ToolFinished, ToolStarted
from memflush_jupyter.notebook.approval import AskPerson
from memflush_jupyter.notebook.asking import _answers
from memflush_jupyter.notebook.display.transcript import Transcript
from memflush_jupyter.notebook.kernel_tools import RunPython
from memflush_jupyter.notebook.safeguard import Safeguard, SessionApprover

CODE = {"code": "x = 1\nprint(x)"}


class Person:
    """Answers questions from a script; an entry may be a function of the folder."""

    def __init__(self, monkeypatch, folder, *answers):
        self.asked, self.shown, self.always, self.left = [], [], set(), list(answers)
        self.ip = SimpleNamespace(kernel=object(), memflush_session=SimpleNamespace(folder=folder))

        async def ask(_ip, prompt):
            self.asked.append(prompt)
            answer = self.left.pop(0)
            return answer(folder) if callable(answer) else answer

        monkeypatch.setattr("memflush_jupyter.notebook.approval.ask", ask)

    def decide(self, tool=None, given=None):
        person = AskPerson(self.ip, self.always, lambda name, shown: self.shown.append((name, shown)))
        return asyncio.run(person.decide(tool or RunPython(None), given or CODE))


def test_the_question_states_what_the_tool_may_touch(monkeypatch, tmp_path):
    person = Person(monkeypatch, tmp_path, "y")
    approval = person.decide()
    assert (approval.allowed, approval.asked, approval.input) == (True, True, None)
    (question,) = person.asked
    assert question.startswith("Run run_python? It may read and change anything this kernel can: variables, files, the network. [y]es, ")
    assert question.endswith("[n]o, [a]lways in this notebook, [e]dit it first, or say why not: ")


def test_code_edited_in_the_file_beside_the_notebook_is_shown_and_asked_again(monkeypatch, tmp_path):
    def save(folder):
        assert (folder / "agent-edit.py").read_text() == "x = 1\nprint(x)\n"
        (folder / "agent-edit.py").write_text("x = 2\n")
        return ""

    person = Person(monkeypatch, tmp_path, "e", save, "y")
    approval = person.decide()
    assert (approval.allowed, approval.input) == (True, {"code": "x = 2"})
    assert person.shown == [("run_python", CODE), ("run_python", {"code": "x = 2"})]
    assert person.asked[2].startswith("Run run_python as you changed it?")
    assert list(tmp_path.iterdir()) == []


def test_lines_typed_one_by_one_replace_the_code(monkeypatch, tmp_path):
    person = Person(monkeypatch, tmp_path, "e", "for i in range(2):", "    print(i)", ".", "yes")
    assert person.decide().input == {"code": "for i in range(2):\n    print(i)"}
    assert person.asked[2] == "Line 2 (a single dot ends): "


def test_an_edit_that_is_given_up_leaves_the_call_and_a_yes_runs_it_unchanged(monkeypatch, tmp_path):
    person = Person(monkeypatch, tmp_path, "e", "c", "y")
    approval = person.decide()
    assert (approval.allowed, approval.input) == (True, None)
    assert person.asked[2].startswith("Nothing was changed. Run run_python?")


def test_always_is_not_taken_for_an_edited_call(monkeypatch, tmp_path):
    person = Person(monkeypatch, tmp_path, "e", "x = 3", ".", "a")
    assert not person.decide().allowed
    assert person.always == set()


def test_a_person_s_own_file_is_never_used_for_an_edit(monkeypatch, tmp_path):
    (tmp_path / "agent-edit.py").write_text("mine")
    person = Person(monkeypatch, tmp_path, "e", "c", "n")
    person.decide()
    assert "agent-edit-2.py" in person.asked[1]
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("agent-edit.py", "mine")]


def test_input_of_other_tools_is_edited_as_json_and_checked(monkeypatch, tmp_path):
    tool = SimpleNamespace(name="mine", touches="", input_schema={"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]})
    person = Person(monkeypatch, tmp_path, "e", "no json", ".", "e", '{"m": 1}', ".", "e", '{"n": 2}', ".", "y")
    assert person.decide(tool, {"n": 1}).input == {"n": 2}
    assert person.asked[3].startswith("That is not JSON")
    assert "has no input 'm'" in person.asked[6]


def test_in_a_terminal_the_editor_opens(monkeypatch, tmp_path):
    person = Person(monkeypatch, tmp_path, "e", "y")
    del person.ip.kernel
    monkeypatch.setattr("click.edit", lambda text, extension: text.replace("1", "7") if extension == ".py" else None)
    assert person.decide().input == {"code": "x = 7\nprint(x)"}


@pytest.mark.parametrize(
    ("sender", "parent", "taken"),
    [
        (b"lab", {}, True),
        (b"lab", {"msg_type": "input_request", "msg_id": "q2"}, True),
        (b"lab", {"msg_type": "input_request", "msg_id": "q1"}, False),
        (b"lab", {"msg_type": "execute_request", "msg_id": "e"}, True),
        (b"other", {}, False),
    ],
)
def test_only_the_asked_front_end_answers_and_only_this_question(sender, parent, taken):
    assert _answers(([sender], {"parent_header": parent}), [b"lab"], "q2") is taken


@pytest.fixture
def session():
    made = SimpleNamespace(config=MemFlush(), approver=SessionApprover(), always=set())
    made.approver.policy = Never()
    return made


@pytest.mark.parametrize(
    ("attack", "words"),
    [
        (lambda session: setattr(session.config, "approve", "auto"), "changed MemFlush.approve"),
        (lambda session: setattr(session.config, "max_cost_usd", None), "changed MemFlush.max_cost_usd"),
        (lambda session: session.config.allowed_paths.append("/"), "changed MemFlush.allowed_paths"),
        (lambda session: setattr(session, "config", MemFlush(approve="auto")), "other options"),
        (lambda session: setattr(session.approver, "policy", Always()), "approve itself"),
        (lambda session: setattr(session.approver, "guard", None), "approve itself"),
        (lambda session: setattr(session, "approver", SessionApprover()), "approve itself"),
        (lambda session: session.always.add("run_python"), "approve itself"),
        (lambda session: setattr(session, "always", {"run_python"}), "approve itself"),
    ],
)
def test_what_agent_code_changes_of_limits_and_approvals_is_set_back_and_told(session, attack, words):
    session.config.max_cost_usd = 1.0
    config, approver, always, policy, told = session.config, session.approver, session.always, session.approver.policy, []
    guard = Safeguard(session, told.append)
    attack(session)
    guard.check()
    assert (session.config, session.approver, session.always, approver.policy) == (config, approver, always, policy)
    assert (config.approve, config.max_cost_usd, config.allowed_paths, always) == ("", 1.0, [], set())
    assert len(told) == 1
    assert words in told[0]
    guard.end()
    assert len(told) == 1


def test_what_the_person_always_allows_in_a_turn_is_no_change_of_the_agent_s(session, monkeypatch, tmp_path):
    person = Person(monkeypatch, tmp_path, "a")
    session.approver.policy = AskPerson(person.ip, session.always, lambda *_: None)
    told = []
    guard = Safeguard(session, told.append)
    assert asyncio.run(session.approver.decide(RunPython(None), CODE)).allowed
    guard.end()
    assert (told, session.always) == ([], {"run_python"})


@pytest.mark.parametrize("answer", ["n", "y", "a"])
def test_what_code_left_running_allows_itself_while_a_question_is_open_is_set_back(session, monkeypatch, tmp_path, answer):
    """The person's answer is about the tool in the question and no other."""

    def meanwhile(_folder):
        session.always.update({"run_python", "delete_everything"})
        return answer

    person = Person(monkeypatch, tmp_path, meanwhile)
    session.approver.policy = AskPerson(person.ip, session.always, lambda *_: None)
    told = []
    guard = Safeguard(session, told.append)
    assert asyncio.run(session.approver.decide(RunPython(None), CODE)).allowed is (answer != "n")
    guard.end()
    assert session.always == ({"run_python"} if answer == "a" else set())
    assert told == ["The agent's code tried to approve itself; only you can. Approvals are as they were."]


@pytest.mark.parametrize(
    ("decision", "is_error", "text", "line"),
    [
        ("approved", False, "1", "▸ run_python · 2 lines · run after your approval"),
        ("edited", False, "1", "▸ run_python · 2 lines · edited by you"),
        ("declined", True, "The person declined to run run_python.", "▸ run_python · 2 lines · declined"),
        ("not run", True, "run_python was not run: nobody is here.", "▸ run_python · 2 lines · not run"),
        ("", True, "The person declined to run run_python and said: later", "▸ run_python · 2 lines · declined"),
        ("", False, "1", "▸ run_python · 2 lines · ok"),
    ],
)
def test_the_collapsed_line_tells_the_decision(decision, is_error, text, line):
    transcript = Transcript()
    transcript.add(ToolStarted("t", "run_python", CODE))
    transcript.ask("run_python", CODE)
    assert "<details open" in transcript.segments[0].bundle["text/markdown"]
    assert "```python" in transcript.segments[0].bundle["text/markdown"]
    transcript.add(ToolFinished("t", "run_python", CODE, text, is_error, [], decision))
    assert transcript.segments[0].bundle["text/plain"] == line
