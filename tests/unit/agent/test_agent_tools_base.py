"""The check of a tool call's input, and the approvers."""

from __future__ import annotations

import pytest

from memflush_jupyter.agent.tools.base import Always, Never, check_input, schema_of, text_result
from memflush_jupyter.errors import ToolInputError


class Weigh:
    name = "weigh"
    description = "Weigh things."
    approval = True
    parallel = False
    input_schema = {
        "type": "object",
        "properties": {
            "things": {"type": "array", "items": {"type": "string"}},
            "times": {"type": "integer"},
            "exact": {"type": "boolean"},
            "limit": {"type": "number"},
        },
        "required": ["things"],
    }

    async def run(self, input, call):
        return text_result("heavy")


TOOL = Weigh()


def test_a_good_input_passes_as_it_is():
    given = {"things": ["a", "b"], "times": 2, "exact": True, "limit": 1.5}
    assert check_input(TOOL, given) == given


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("a", {"things": ["a"]}),
        ({"things": "a"}, {"things": ["a"]}),
        ({"things": ["a"], "times": "3"}, {"things": ["a"], "times": 3}),
        ({"things": ["a"], "times": None}, {"things": ["a"]}),
        ({"things": ["a"], "limit": 2}, {"things": ["a"], "limit": 2}),
    ],
)
def test_what_small_models_write_is_understood(given, expected):
    assert check_input(TOOL, given) == expected


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ([1], "weigh takes an object with 'things', 'times', 'exact', 'limit', not list."),
        ({"thing": ["a"]}, "weigh has no input 'thing'; it takes 'things', 'times', 'exact', 'limit'. Did you mean 'things'?"),
        ({"zzz": 1}, "weigh has no input 'zzz'; it takes 'things', 'times', 'exact', 'limit'."),
        ({"times": 1}, "weigh needs 'things'."),
        ({"things": None}, "weigh: 'things' must be of type array, not NoneType."),
        ({"things": [1]}, "weigh: every item of 'things' must be text."),
        ({"things": ["a"], "times": 1.5}, "weigh: 'times' must be of type integer, not float."),
        ({"things": ["a"], "times": True}, "weigh: 'times' must be of type integer, not bool."),
        ({"things": ["a"], "exact": 1}, "weigh: 'exact' must be of type boolean, not int."),
    ],
)
def test_a_bad_input_gets_a_sentence(given, sentence):
    with pytest.raises(ToolInputError) as caught:
        check_input(TOOL, given)
    assert str(caught.value) == sentence


def test_a_result_is_never_an_empty_text():
    """P6: the API refuses empty text blocks."""
    assert text_result(" \n").text == "(no output)"


def test_the_schema_is_what_the_api_wants():
    assert schema_of(TOOL) == {"name": "weigh", "description": "Weigh things.", "input_schema": Weigh.input_schema}


async def test_auto_allows_and_deny_says_how_to_allow():
    assert (await Always().decide(TOOL, {})).allowed
    denied = await Never().decide(TOOL, {})
    assert not denied.allowed
    assert "weigh was not run" in denied.reason
    assert "MemFlush.approve" in denied.reason
