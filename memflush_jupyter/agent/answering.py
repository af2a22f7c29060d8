"""What a side branch's tool calls do: the tools of its tasks are carried out here, every other is refused (C4)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from memflush_jupyter.agent import evaluate, extract
from memflush_jupyter.agent.tools.base import check_input
from memflush_jupyter.agent.tools.evaluation_tools import EvaluateKnowledge
from memflush_jupyter.agent.tools.memory_tools import MEMORY_WRITE, MemoryWrite
from memflush_jupyter.errors import ToolInputError
from memflush_jupyter.models.silence import is_silent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memflush_jupyter.agent.branches import Continued
    from memflush_jupyter.agent.evaluate import Injected, Judged
    from memflush_jupyter.agent.extract import Upload
    from memflush_jupyter.agent.parts import AgentParts
    from memflush_jupyter.agent.side_queue import Branch
    from memflush_jupyter.trace.models import Block

TOOL_OF: dict[Branch, str] = {"flush": MEMORY_WRITE, "extraction": extract.UPLOAD, "knowledge_eval": evaluate.EVALUATE}


@dataclass(frozen=True, slots=True)
class Asked:
    """What one request asks for: its branches in their order, and what each is told.

    ``candidates``: lines proposed to the flush. ``sources``: entries to judge. ``saved``: titles that are knowledge already.
    ``completion``: the work is over, so the extraction has its other prompt.
    """

    branches: tuple[Branch, ...] = ("flush",)
    candidates: tuple[str, ...] = ()
    sources: tuple[Injected, ...] = ()
    saved: tuple[str, ...] = ()
    completion: bool = False

    @property
    def purpose(self) -> str:
        """What the offline model is told."""
        return "+".join(self.branches)

    def without_evaluation(self) -> Asked:
        """The same for a part of a transcript that is not its last: what came of an entry shows at the end."""
        return replace(self, branches=tuple(branch for branch in self.branches if branch != "knowledge_eval"), sources=())


@dataclass(slots=True)
class Harvest:
    """What the model gave: notes in its own words, findings, verdicts; and the branch so far, for a summary that rides along (C12)."""

    notes: list[str] = field(default_factory=list)
    uploads: list[Upload] = field(default_factory=list)
    verdicts: dict[str, Judged] = field(default_factory=dict)
    reason: str = "notes"
    branch: Continued | None = None
    faults: list[str] = field(default_factory=list)

    @property
    def useful(self) -> bool:
        """Whether any task got something."""
        return bool(self.notes or self.uploads or self.verdicts)

    def missing(self, asked: Asked) -> list[str]:
        """Ids of the entries that still wait for their verdict."""
        return [source.id for source in asked.sources if source.id not in self.verdicts]

    def take(self, other: Harvest) -> None:
        """Add what another part of the same work gave."""
        self.notes += other.notes
        self.uploads += other.uploads
        self.verdicts = {**other.verdicts, **self.verdicts}
        self.faults += other.faults
        self.reason = other.reason


class Answering:
    """Answers the calls of one side branch and gathers what they hold."""

    def __init__(self, parts: AgentParts, asked: Asked) -> None:
        self._parts = parts
        self._asked = asked
        self._tools = [TOOL_OF[branch] for branch in asked.branches]

    def answer(self, call: Block, harvest: Harvest, *, trusted: bool) -> Block:
        """Carry out a call of the branch's own tools; refuse everything else (C4)."""
        name = call["name"]
        if name not in self._tools:
            doing = "memory is saved" if "flush" in self._asked.branches else "the host asks for this"
            return result(call, f"{name} is not available while {doing}; only {' and '.join(self._tools)} is.", is_error=True)
        if not trusted:
            return result(call, "This call was cut off and was not run; call again with less in it.", is_error=True)
        try:
            given = check_input(_SHAPES[name], call["input"])
        except ToolInputError as error:
            if name != MEMORY_WRITE:
                harvest.faults.append(str(error)[:200])
            return result(call, str(error), is_error=True)
        if name == MEMORY_WRITE:
            return self._note(call, given, harvest)
        return self._upload(call, given, harvest) if name == extract.UPLOAD else self._judge(call, given, harvest)

    def _note(self, call: Block, given: dict[str, Any], harvest: Harvest) -> Block:
        notes = [note for note in given["notes"] if note.strip()]
        harvest.notes += notes
        asked = given.get("file")
        if asked and self._parts.memory is not None and asked.removeprefix("memory/") != self._parts.memory.daily_name():
            harvest.faults.append(f"asked for {asked!r}")
            return result(call, f"Saved to today's file: {asked!r} cannot be chosen in a flush.", is_error=True)
        return result(call, f"{len(notes)} received." if notes else "No note was given.", is_error=not notes)

    def _upload(self, call: Block, given: dict[str, Any], harvest: Harvest) -> Block:
        upload, fault = extract.check(given)
        if upload is None:
            harvest.faults.append(fault)
            return result(call, fault, is_error=True)
        harvest.uploads.append(upload)
        return result(call, "Received.")

    def _judge(self, call: Block, given: dict[str, Any], harvest: Harvest) -> Block:
        good, faults = evaluate.check(given["verdicts"], [source.id for source in self._asked.sources])
        harvest.verdicts = {**good, **harvest.verdicts}
        harvest.faults += faults
        missing = harvest.missing(self._asked)
        told = [f"{len(good)} received.", *faults, *([f"Still without a verdict: {', '.join(missing)}."] if missing else [])]
        return result(call, " ".join(told), is_error=bool(faults))


class _Shape:
    """Only the shape of a tool, to check a call that the host itself carries out."""

    description = ""
    approval = False
    parallel = False
    run = MemoryWrite.run  # never called

    def __init__(self, name: str, properties: dict[str, Any], required: Sequence[str]) -> None:
        self.name = name
        self.input_schema = {"type": "object", "properties": properties, "required": list(required)}


_TEXTS = {"type": "array", "items": {"type": "string"}}
_TEXT = {"type": "string"}
_SHAPES: dict[str, Any] = {
    MEMORY_WRITE: _Shape(MEMORY_WRITE, {"notes": _TEXTS, "file": _TEXT}, ["notes"]),
    extract.UPLOAD: _Shape(
        extract.UPLOAD, {"title": _TEXT, "body": _TEXT, "kind": {**_TEXT, "enum": list(extract.KINDS)}, "tags": _TEXTS}, ["title", "body", "kind"]
    ),
    evaluate.EVALUATE: EvaluateKnowledge,
}
_ABOUT = {
    MEMORY_WRITE: MemoryWrite.description,
    extract.UPLOAD: "Save a finding that is of use beyond this conversation.",
    evaluate.EVALUATE: EvaluateKnowledge.description,
}


def schemas(asked: Asked, offered: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The tools of a request that does not ride on the main prefix: as the main path offers them, else in their plain form."""
    by_name = {tool["name"]: tool for tool in offered}
    names = [TOOL_OF[branch] for branch in asked.branches]
    return [by_name.get(name) or {"name": name, "description": _ABOUT[name], "input_schema": _SHAPES[name].input_schema} for name in names]


def without_calls(harvest: Harvest, text: str, *, keep_text: bool) -> None:
    """Say what a reply without a call comes to."""
    if not text.strip():
        harvest.reason = "empty reply"
    elif is_silent(text):
        harvest.reason = "silent"
    elif keep_text:
        harvest.notes.append(text.strip())
        harvest.reason = "text kept as a note"
    else:
        harvest.reason = "text that is neither call nor silence"


def result(call: Block, text: str, *, is_error: bool = False) -> Block:
    """A result block for a call."""
    made: Block = {"type": "tool_result", "tool_use_id": call["id"], "content": [{"type": "text", "text": text}]}
    if is_error:
        made["is_error"] = True
    return made
