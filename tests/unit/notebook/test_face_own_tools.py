"""The person's own functions as tools: what is read from a function, and what is refused in a sentence."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Literal

import pytest

import memflush_jupyter
from memflush_jupyter.errors import ConfigError, ToolInputError
from memflush_jupyter.models.offline.conversation import Conversation
from memflush_jupyter.models.offline.own_calls import named_call
from memflush_jupyter.notebook.marking import ATTRIBUTE
from memflush_jupyter.notebook.own_tools import OwnTools
from memflush_jupyter.notebook.signatures import signature_of

NUMPY = "Scale it.\n\nParameters\n----------\nx : float\n    What to scale.\nunit : str\n    The unit."
GOOGLE = "Scale it.\n\nArgs:\n    x: What to scale.\n    unit: The unit."
SPHINX = "Scale it.\n\n:param x: What to scale.\n:param unit: The unit."


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Point:
    x: int
    y: int = 0


@pytest.mark.parametrize("doc", [NUMPY, GOOGLE, SPHINX], ids=["numpy", "google", "sphinx"])
def test_schema_comes_from_hints_and_docstring(doc):
    def scale(x: float, *, unit: str = "g"): ...

    scale.__doc__ = doc
    made = signature_of(scale, "scale")
    assert made.description == "Scale it."
    assert made.schema == {
        "type": "object",
        "properties": {"x": {"type": "number", "description": "What to scale."}, "unit": {"type": "string", "description": "The unit.", "default": "g"}},
        "required": ["x"],
    }
    assert made.arguments({"x": 2}) == {"x": 2.0}


def test_richer_types_arrive_as_the_function_wants_them():
    def take(mode: Literal["a", "b"], colour: Colour, at: Point, many: list[Point], schema: dict[str, int] | None = None): ...

    made = signature_of(take, "take")
    assert made.schema["properties"]["mode"]["enum"] == ["a", "b"]
    got = made.arguments({"mode": "a", "colour": "red", "at": {"x": 1}, "many": [{"x": 1, "y": 2}], "schema": {"k": 1}})
    assert got == {"mode": "a", "colour": Colour.RED, "at": Point(1), "many": [Point(1, 2)], "schema": {"k": 1}}
    with pytest.raises(ToolInputError, match=r"take cannot be called with that: mode: Input should be 'a' or 'b'"):
        made.arguments({"mode": "c", "colour": "red", "at": {"x": 1}, "many": []})


def stars(*things: int): ...
def double(**things: int): ...
def positional(x: int, /): ...
def unhinted(x): ...
def unreadable(x: Nowhere): ...  # noqa: F821 - the point
def frame(x: SimpleNamespace): ...


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (stars, r"cannot take \*things"),
        (double, r"cannot take \*\*things"),
        (positional, "positional-only"),
        (unhinted, "has no type hint; write for example `x: int`"),
        (unreadable, "type hints cannot be read"),
        (frame, "which cannot be written as JSON"),
    ],
)
def test_a_bad_signature_gets_a_sentence(function, words):
    with pytest.raises(ConfigError, match=words):
        signature_of(function, function.__name__)


@pytest.fixture
def tools():
    session = SimpleNamespace(running=False, always=set(), ip=SimpleNamespace(user_ns={}), forget_runners=lambda: None)
    session.own_tools = OwnTools(session)
    return session.own_tools


def good(x: int) -> int:
    return x


def test_a_name_of_a_built_in_tool_is_refused_and_nothing_registered(tools):
    with pytest.raises(ConfigError, match="one of the agent's own tools"):
        tools.add(good, "run_python", approval=True)
    with pytest.raises(ConfigError, match="no type hint"):
        tools.add(unhinted, "unhinted", approval=True)
    assert tools.owns == {}
    with pytest.raises(ConfigError, match="there are none"):
        tools.remove("good")


def test_agent_code_can_give_no_tool_and_what_it_redefines_asks_first(tools):
    session = tools._session
    session.ip.user_ns["good"] = good
    tools.add(good, "good", approval=False, variable="good")
    assert tools.begin(lambda _: None) == []
    session.running = True
    with pytest.raises(ConfigError, match="only you can"):
        tools.add(good, "other", approval=False)
    session.ip.user_ns["good"] = lambda x: x
    assert tools.owns["good"].function is good
    assert tools.end() == ["The agent's code redefined good; it asks first from now on."]
    assert tools.owns["good"].approval


def test_the_decorator_only_marks_where_no_kernel_listens():
    @memflush_jupyter.tool(name="mine", approval=False)
    def marked(x: int) -> int:
        return x

    assert getattr(marked, ATTRIBUTE) == ("mine", False)
    assert marked(3) == 3
    with pytest.raises(AttributeError, match="nothing"):
        _ = memflush_jupyter.nothing


@pytest.mark.parametrize(
    ("prompt", "given"),
    [
        ("use scale with x=3", {"x": 3}),
        ("Please call scale(3, unit='kg').", {"x": 3, "unit": "kg"}),
        ("call my function `scale` with x=2.5 and unit=mg.", {"x": 2.5, "unit": "mg"}),
        ("run scale", {}),
        ("The scale of the plot is wrong", None),
        ("use scales with x=3", None),
    ],
)
def test_the_offline_analyst_calls_a_tool_that_the_prompt_names(prompt, given):
    made = named_call(Conversation(tools=frozenset({"scale", "run_python"}), inputs={"scale": ("x", "unit")}, prompts=[prompt]))
    assert (made.input if made else None) == given
