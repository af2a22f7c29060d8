"""A turn as a conversation with the tools: what to call next, given what the calls so far answered.

Each step is a generator that yields calls and receives their outcomes. A request replays the turn from its beginning:
calls whose outcome stands in the request are answered from there, and the first one that does not is the reply.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from memflush_jupyter.models.offline import figures, loading, mending, own_calls, sentences
from memflush_jupyter.models.offline.analyses import CODE, lead
from memflush_jupyter.models.offline.answers import answer
from memflush_jupyter.models.offline.asked_back import requests
from memflush_jupyter.models.offline.code import protect
from memflush_jupyter.models.offline.code_tables import values as values_code
from memflush_jupyter.models.offline.conversation import Call, Conversation, Outcome, Step
from memflush_jupyter.models.offline.intent import Clause, clauses, kind_of, remember_text
from memflush_jupyter.models.offline.intent_details import file_in
from memflush_jupyter.models.offline.preferences import preferences
from memflush_jupyter.models.offline.remember import (
    asks_of_person,
    asks_what_is_kept,
    best,
    first_request,
    kept,
    memory_lines,
    note_of,
    passages,
    quoted,
    search_answer,
    told,
)
from memflush_jupyter.models.offline.resolve import ANALYSES, resolve
from memflush_jupyter.models.offline.schema import Kernel, learn
from memflush_jupyter.models.offline.task import NeedsInspection, NeedsValues, Question, Task

if TYPE_CHECKING:
    from memflush_jupyter.models.offline.schema import Frame

_LOOKUPS = 5


@dataclass(frozen=True, slots=True)
class Calls:
    """Tool calls to make now, and the words that go before them."""

    calls: list[Call]
    text: str = ""


@dataclass(slots=True)
class State:
    """What a turn knows while it runs. ``steps`` grows as outcomes arrive."""

    conversation: Conversation
    steps: list[Step] = field(default_factory=list)
    previous: Task | None = None
    loaded: str = ""

    @property
    def kernel(self) -> Kernel:
        """The variables, from every outcome known so far."""
        return learn(self.steps)

    def offers(self, tool: str) -> bool:
        """Whether the request offers a tool."""
        return tool in self.conversation.tools


Talk = Generator[Calls, list[Outcome], str]


def turn(conversation: Conversation) -> Talk:
    """Answer the prompt, clause by clause."""
    now = len(conversation.prompts) - 1
    if conversation.failed:
        return mending.answer(conversation.failed)
    if made := own_calls.named_call(conversation):
        outcomes = yield Calls([made], f"I call {figures.code(made.name)}:")
        return own_calls.told(made.name, outcomes[0])
    state = State(conversation, [step for step in conversation.steps if step.turn != now])
    state.previous = earlier_task(conversation, state.kernel)
    parts: list[str] = []
    for clause in clauses(requests(conversation)[-1] if conversation.prompts else ""):
        part = yield from _clause(clause, state)
        if part:
            parts.append(part)
        if part.startswith(sentences.STOP):
            break
    text = "\n\n".join(dict.fromkeys(part.removeprefix(sentences.STOP) for part in parts))
    return text or sentences.unknown(conversation.prompt)


def earlier_task(conversation: Conversation, kernel: Kernel) -> Task | None:
    """The last task of the earlier prompts, so that "plot it" has an "it"."""
    previous: Task | None = None
    for prompt in requests(conversation)[:-1][-8:]:
        for clause in clauses(prompt):
            found = resolve(clause, kernel, previous, preferences([])) if kernel.frames else None
            if isinstance(found, Task):
                previous = found
    return previous


def call(state: State, calls: list[Call], text: str = "") -> Generator[Calls, list[Outcome], list[Outcome]]:
    """Make calls and note their outcomes."""
    outcomes = yield Calls(calls, text)
    state.steps += [Step(made, outcome, -1) for made, outcome in zip(calls, outcomes, strict=True)]
    return outcomes


def _clause(clause: Clause, state: State) -> Talk:
    kind = kind_of(clause)
    if kind == "remember":
        return (yield from _remember(remember_text(clause.written) or "", state))
    if kind == "recall":
        return (yield from _recall(clause.written, state))
    if kind == "preference":
        return sentences.noted(clause.written)
    if kind in {"greeting", "help"}:
        return sentences.greeting(clause.written) if kind == "greeting" else sentences.abilities()
    if kind in {"cannot", "causal"}:
        return sentences.cannot(clause.written, causal=kind == "causal")
    if kind == "load" and (file_in(clause.written) or "penguins" in clause.text.lower() or state.previous is None):
        return (yield from _load(clause, state))
    if kind == "files":
        return (yield from _files(state))
    if kind == "inspect":
        return (yield from _inspect(state))
    return (yield from _analyse(clause, state))


def _analyse(clause: Clause, state: State) -> Talk:
    conversation = state.conversation
    wishes = preferences([*memory_lines(conversation.system), *conversation.prompts])
    named = file_in(clause.written)
    if named and not any(named.rsplit("/", 1)[-1].split(".")[0].lower() in name.lower() for name in state.kernel.frames):
        loaded = yield from _load(clause, state)
        if loaded.startswith(sentences.STOP):
            return loaded
    if asks_of_person(clause.written) and (said := told(clause.written, conversation)):
        return said
    for _ in range(_LOOKUPS):
        found = resolve(clause, state.kernel, state.previous, wishes, default=state.loaded)
        if isinstance(found, Task):
            return (yield from _run(clause, found, state))
        if isinstance(found, NeedsInspection) or (isinstance(found, Question) and not _looked(state)):
            trouble = yield from _look(state)
        elif isinstance(found, NeedsValues):
            trouble = yield from _look_up(found.frame, state)
        else:
            refusal = found.text if found is not None else sentences.unknown(clause.written)
            return told(clause.written, state.conversation) or refusal
        if trouble:
            return trouble
        if state.previous is None:
            # What the kernel holds may have left the context since the earlier prompts: with it, "it" has a meaning again.
            state.previous = earlier_task(conversation, state.kernel)
    return sentences.unknown(clause.written)


def _look(state: State) -> Talk:
    """Inspect the kernel; gives what went wrong, or nothing."""
    if not state.offers("inspect_variables"):
        return sentences.no_tool("inspect_variables")
    outcomes = yield from call(state, [Call("inspect_variables", {})], "I look at what the kernel holds:")
    return sentences.STOP + sentences.failed("inspect_variables", outcomes[0]) if outcomes[0].is_error else ""


def _look_up(frame: Frame, state: State) -> Talk:
    """Look up the values of text columns; gives what went wrong, or nothing."""
    code = protect(values_code(frame), _taken(state))
    if not state.offers("run_python"):
        return sentences.no_tool("run_python", code)
    outcomes = yield from call(state, [Call("run_python", {"code": code})], "I look up the values of the text columns:")
    if outcomes[0].is_error:
        return sentences.STOP + sentences.failed("run_python", outcomes[0], code)
    known = state.kernel.frames.get(frame.name)
    return "" if known is not None and known.values is not None else sentences.unreadable()


def _looked(state: State) -> bool:
    """Whether the kernel was inspected in this turn: a question is asked only about what is there now."""
    return any(step.call.name == "inspect_variables" and step.turn == -1 for step in state.steps)


def _taken(state: State) -> frozenset[str]:
    kernel = state.kernel
    return frozenset({*kernel.frames, *kernel.others} - kernel.ours) | frozenset(kernel.frames)


def _run(clause: Clause, task: Task, state: State, *, again: bool = True) -> Talk:
    if task.kind == "columns":
        state.previous = task
        return sentences.columns(task.frame)
    code = protect(CODE[task.kind](task), _taken(state))
    if not state.offers("run_python"):
        return sentences.no_tool("run_python", code)
    outcomes = yield from call(state, [Call("run_python", {"code": code})], lead(task))
    outcome = outcomes[0]
    if outcome.denied:
        return sentences.STOP + sentences.denied(code, outcome)
    if outcome.is_error and again and "KeyError" in outcome.text and state.offers("inspect_variables"):
        yield from call(state, [Call("inspect_variables", {})], "A column is not where I expected it; I look at the kernel again.")
        renewed = resolve(clause, state.kernel, state.previous, task.preferences)
        if isinstance(renewed, Task) and renewed != task:
            return (yield from _run(clause, renewed, state, again=False))
        if isinstance(renewed, Question):
            return renewed.text
    state.previous = task
    if outcome.is_error:
        return sentences.STOP + sentences.failed("run_python", outcome)
    return answer(task, outcome.text) or sentences.unreadable()


def _load(clause: Clause, state: State) -> Talk:
    path = file_in(clause.written)
    package = path is None and "penguins" in clause.text.lower()
    if not state.offers("run_python"):
        return sentences.no_tool("run_python")
    if path is None and not package:
        if not state.offers("list_files"):
            return sentences.STOP + "Name the file to load, for example “load penguins.csv”."
        outcomes = yield from call(state, [Call("list_files", {})], "I look for data files:")
        names = [] if outcomes[0].is_error else sentences.data_files(outcomes[0].text)
        if len(names) != 1:
            return sentences.STOP + sentences.which_file(names)
        path = names[0]
    if not _looked(state) and state.offers("inspect_variables"):
        yield from call(state, [Call("inspect_variables", {})], "First I look at what the kernel holds, so that I overwrite nothing of yours:")
    name = loading.variable(path or "penguins", clause.written, state.kernel)
    code = protect(loading.load_code(path, name) if path else loading.package_code(name), _taken(state), keep=frozenset({name}))
    outcomes = yield from call(state, [Call("run_python", {"code": code})], f"I load {figures.code(path) if path else 'the Palmer penguins'}:")
    outcome = outcomes[0]
    if outcome.denied:
        return sentences.STOP + sentences.denied(code, outcome)
    if outcome.is_error:
        sentence = loading.error_sentence(outcome.text)
        if path and "No such file" in outcome.text and state.offers("list_files"):
            sentence += " " + (yield from _files(state))
        return sentences.STOP + sentence
    wishes = preferences(state.conversation.prompts)
    state.previous = None
    state.loaded = name
    return loading.load_answer(path or "palmerpenguins", name, outcome.text, wishes.decimals) or sentences.unreadable()


def _files(state: State) -> Talk:
    if not state.offers("list_files"):
        return sentences.no_tool("list_files")
    outcomes = yield from call(state, [Call("list_files", {})])
    return sentences.files(outcomes[0])


def _inspect(state: State) -> Talk:
    if not state.offers("inspect_variables"):
        return sentences.no_tool("inspect_variables")
    outcomes = yield from call(state, [Call("inspect_variables", {})], "I look at what the kernel holds:")
    if outcomes[0].is_error:
        return sentences.failed("inspect_variables", outcomes[0])
    return sentences.variables(state.kernel)


def _remember(text: str, state: State) -> Talk:
    note = note_of(text)
    if not note:
        return "What shall I remember? Write “remember that …”."
    if not state.offers("memory_write"):
        return f"I cannot write to memory in this session; I keep it in the conversation: {note}"
    outcomes = yield from call(state, [Call("memory_write", {"notes": [note]})])
    if outcomes[0].is_error:
        return "The note could not be saved: " + figures.safe(outcomes[0].text, 300)
    return f"Already in memory: {note}" if "Nothing was saved" in outcomes[0].text else f"Noted in memory: {note}"


def _recall(question: str, state: State) -> Talk:
    conversation = state.conversation
    if sentences.asks_first_request(question):
        first = first_request(conversation)
        if first is not None:
            return f"The first thing you asked was:\n\n{quoted([first])}"
    found = kept(conversation) if asks_what_is_kept(question) else best(question, passages(conversation, question))
    if not found and state.offers("memory_search"):
        outcomes = yield from call(state, [Call("memory_search", {"query": question.strip()})], "That is not in my context; I search memory.")
        found = [] if outcomes[0].is_error else search_answer(question, outcomes[0].text)
    if not found:
        return "I found nothing about that, neither in this conversation nor in memory, so I cannot say."
    return f"I found this:\n\n{quoted(found)}"


__all__ = ["ANALYSES", "Calls", "Talk", "turn"]
