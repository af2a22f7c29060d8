"""The protocol every tool follows, and the check of a call's input against its schema."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from memflush_jupyter.errors import ToolInputError
from memflush_jupyter.trace.models import Block

Decision = Literal["", "approved", "edited", "declined", "not run"]
"""What became of a call that asks first; empty: nobody was asked, and it ran."""

_JSON_TYPES: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
}


@dataclass(frozen=True, slots=True)
class ToolCall:
    """Where a call came from. ``sequence`` is the reply that asked for it; ``vision``: the model can see images."""

    id: str
    trace: str
    sequence: int
    cell_id: str | None = None
    vision: bool = False


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a call gave: ``content`` goes to the model, ``displays`` (mime bundles, in order) to the person."""

    content: list[Block]
    is_error: bool = False
    displays: list[dict[str, Any]] = field(default_factory=list)
    decision: Decision = ""
    ran: dict[str, Any] | None = None
    """The input that ran, when the person changed it."""

    @property
    def text(self) -> str:
        """The text the model reads."""
        return "\n".join(block["text"] for block in self.content if block.get("type") == "text")


class Tool(Protocol):
    """One capability. Instances hold what they need; they are made anew for each turn's runner."""

    @property
    def name(self) -> str:
        """The name the model calls it by."""
        ...

    @property
    def description(self) -> str:
        """What it does, for the model."""
        ...

    @property
    def input_schema(self) -> dict[str, Any]:
        """The JSON schema of its input."""
        ...

    @property
    def approval(self) -> bool:
        """Whether the approval policy is asked before it runs."""
        ...

    @property
    def parallel(self) -> bool:
        """Whether it may run beside other calls of the same reply."""
        ...

    async def run(self, input: dict[str, Any], call: ToolCall) -> ToolResult:  # noqa: A002 - the API's own word
        """Do it. A ``MemflushError`` becomes an error result for the model; nothing else should be raised."""
        ...


@dataclass(frozen=True, slots=True)
class Approval:
    """A decision about one call. ``input`` replaces the call's input when the person edited it; ``asked``: a person decided just now.

    ``always``: and said that this tool need not be asked about again.
    """

    allowed: bool
    reason: str = ""
    input: dict[str, Any] | None = None
    asked: bool = False
    always: bool = False


class Approver(Protocol):
    """Decides whether a call that touches something may run."""

    async def decide(self, tool: Tool, input: dict[str, Any]) -> Approval:  # noqa: A002 - as above
        """Return the decision; cancellation means that the person interrupted."""
        ...


class Always:
    """Approves everything: the policy ``auto``."""

    async def decide(self, tool: Tool, input: dict[str, Any]) -> Approval:  # noqa: A002, ARG002 - protocol
        """Allow."""
        return Approval(allowed=True)


class Never:
    """Denies everything that would need a yes: the policy ``deny``."""

    async def decide(self, tool: Tool, input: dict[str, Any]) -> Approval:  # noqa: A002, ARG002 - protocol
        """Deny, and say how to allow."""
        return Approval(
            allowed=False,
            reason=f"{tool.name} was not run: nobody is here to approve it, and the approval policy is 'deny' "
            "(declare `%config MemFlush.approve = 'auto'` to allow it).",
        )


def text_result(text: str, *, is_error: bool = False) -> ToolResult:
    """A result of one text block; an empty text becomes a word, since the API refuses empty blocks."""
    return ToolResult([{"type": "text", "text": text if text.strip() else "(no output)"}], is_error=is_error)


def schema_of(tool: Tool) -> dict[str, Any]:
    """The tool as the Messages API wants it."""
    return {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}


def check_input(tool: Tool, given: Any) -> dict[str, Any]:
    """Check a call's input against the tool's schema: an object, known names, required ones there, right JSON types.

    A lone string is accepted where one is all that the schema requires, and a string for a list of strings: small models write so.

    Raises:
        ToolInputError: with a sentence for the model.
    """
    schema = tool.input_schema
    properties: dict[str, Any] = schema.get("properties", {})
    required: list[str] = schema.get("required", [])
    if isinstance(given, str) and len(required) == 1:
        given = {required[0]: given}
    if not isinstance(given, dict):
        raise ToolInputError(f"{tool.name} takes an object with {_names(properties)}, not {type(given).__name__}.")
    checked: dict[str, Any] = {}
    for name, value in given.items():
        if name not in properties:
            near = difflib.get_close_matches(name, properties, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise ToolInputError(f"{tool.name} has no input {name!r}; it takes {_names(properties)}.{hint}")
        if value is None and name not in required:
            continue
        checked[name] = _coerce(tool.name, name, value, properties[name])
    missing = [name for name in required if name not in checked]
    if missing:
        raise ToolInputError(f"{tool.name} needs {', '.join(map(repr, missing))}.")
    return checked


def _coerce(tool: str, name: str, value: Any, schema: dict[str, Any]) -> Any:
    kind = schema.get("type")
    if kind == "array" and isinstance(value, str):
        value = [value]
    if kind == "integer" and isinstance(value, str) and value.strip().lstrip("-").isdigit():
        value = int(value)
    expected = _JSON_TYPES.get(kind or "")
    if expected is not None and (not isinstance(value, expected) or (isinstance(value, bool) and kind != "boolean")):
        raise ToolInputError(f"{tool}: {name!r} must be of type {kind}, not {type(value).__name__}.")
    if kind == "array" and schema.get("items", {}).get("type") == "string" and not all(isinstance(item, str) for item in value):
        raise ToolInputError(f"{tool}: every item of {name!r} must be text.")
    return value


def _names(properties: dict[str, Any]) -> str:
    return ", ".join(repr(name) for name in properties) or "nothing"
