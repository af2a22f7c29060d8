"""Silence is recognised however it is dressed and split, and never shown in part (C6)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memflush_jupyter.models.silence import SilenceGate, could_become_silent, is_silent

SILENT = [
    "NO_REPLY",
    "no_reply",
    "No_Reply",
    "NO_REPLY.",
    "  NO_REPLY\n",
    '"NO_REPLY"',
    "'NO_REPLY'",
    "`NO_REPLY`",
    "**NO_REPLY**",
    "“NO_REPLY”",
    "NO_REPLY!",
    "[NO_REPLY]",
    "```\nNO_REPLY\n```",
    "```text\nNO_REPLY\n```",
    "~~~\nNO_REPLY\n~~~",
    "NO REPLY",
    "NO-REPLY",
    "[SILENT]",
    "[silent]",
    "[Silent].",
    "`[SILENT]`",
    "SILENT",
    "<NO_REPLY>",
    "- NO_REPLY",
]
NOT_SILENT = [
    "",
    "   ",
    "NO",
    "No.",
    "No reply.",
    "Silent",
    "silent",
    "NO_REPLY was the answer",
    "The answer is NO_REPLY",
    "NO_REPLYS",
    "Nothing to store.",
    "NO_REPLY NO_REPLY",
    "not_no_reply",
    "no replica of the data was found",
]


@pytest.mark.parametrize("text", SILENT)
def test_silence_is_recognised_in_any_dress(text: str) -> None:
    assert is_silent(text)


@pytest.mark.parametrize("text", NOT_SILENT)
def test_ordinary_text_and_empty_replies_are_not_silence(text: str) -> None:
    assert not is_silent(text)


@pytest.mark.parametrize("text", SILENT)
def test_every_beginning_of_silence_is_held_back(text: str) -> None:
    """No fragment such as ``NO`` is ever shown."""
    assert all(could_become_silent(text[:end]) for end in range(len(text) + 1))


@pytest.mark.parametrize("text", SILENT)
@pytest.mark.parametrize("size", [1, 2, 5, 100])
def test_gate_shows_nothing_of_silence_however_it_is_split(text: str, size: int) -> None:
    gate = SilenceGate()
    shown = [gate.feed(text[start : start + size]) for start in range(0, len(text), size)]
    assert "".join(shown) + gate.finish() == ""


@given(st.lists(st.text(alphabet=st.sampled_from("NOno_REPLYreply []`.\nSILENTsilent x"), max_size=6), max_size=12))
def test_gate_shows_all_of_everything_else(deltas: list[str]) -> None:
    gate = SilenceGate()
    shown = "".join(gate.feed(delta) for delta in deltas) + gate.finish()
    text = "".join(deltas)
    assert shown == ("" if is_silent(text) else text)


def test_gate_opens_as_soon_as_the_text_cannot_be_silence() -> None:
    gate = SilenceGate()
    assert [gate.feed("NO"), gate.feed("_RE"), gate.feed("ASON"), gate.feed(" given")] == ["", "", "NO_REASON", " given"]
    assert gate.finish() == ""


def test_text_that_only_began_like_silence_is_released_at_the_end() -> None:
    gate = SilenceGate()
    assert gate.feed("No") == ""
    assert gate.finish() == "No"


def test_long_text_is_not_held_back() -> None:
    gate = SilenceGate()
    assert gate.feed(" " * 65) == " " * 65
