"""Prompts: versions, candidates within the limit, silence hint, no example facts (C4, C6, C14, A1b)."""

from __future__ import annotations

import re

import pytest

from memflush_jupyter.agent import prompting
from memflush_jupyter.config import MemFlush
from memflush_jupyter.context.tokens import TokenCounter

COUNT = TokenCounter("test", factor=1.0, learned=False).text
NAMES = prompting.NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_prompt_file_has_a_name_and_a_version(name):
    prompt = prompting.load(name)
    assert prompt.name == name
    assert re.fullmatch(r"\d+", prompt.version)
    assert not prompt.text.startswith("---")


@pytest.mark.parametrize("name", NAMES)
def test_prompts_hold_no_example_facts(name):
    """C14: a number or a quoted value in a prompt could come back as a memory."""
    text = prompting.load(name).text
    assert not re.search(r"\d", text)
    assert "e.g." not in text
    assert "example" not in text.lower()


def test_the_system_prompt_is_small():
    """A1b."""
    assert COUNT(prompting.system_text(MemFlush())) <= 700


def test_the_flush_instruction_with_a_thousand_candidates_stays_within_its_limit():
    """C4: ≤ 800 tokens, best candidates first."""
    candidates = [f"The mean of column c{i} is {i * 3.5} mm." for i in range(1000)]
    text = prompting.flush_text(MemFlush(), candidates, COUNT)
    assert COUNT(text) <= prompting.FLUSH_INSTRUCTION_TOKENS
    assert "column c0 " in text
    assert "column c999 " not in text
    assert text.count("<candidates>") == text.count("</candidates>") == 1


def test_without_candidates_the_instruction_has_no_empty_list():
    text = prompting.flush_text(MemFlush(), [], COUNT)
    assert "candidates>" not in text
    assert "{" not in text


def test_a_custom_flush_prompt_gets_the_silence_hint_and_the_candidates():
    """H, point 8: a silence hint is added when a custom prompt lacks one."""
    text = prompting.flush_text(MemFlush(flush_prompt="Save things."), ["The file is raw.csv."], COUNT)
    assert text.startswith("Save things.")
    assert prompting.SILENCE_HINT in text
    assert "- The file is raw.csv." in text


def test_a_custom_prompt_that_names_silence_is_left_as_it_is():
    text = prompting.flush_text(MemFlush(flush_prompt="Save, or say [silent]."), [], COUNT)
    assert text == "Save, or say [silent]."


def test_braces_in_candidates_and_custom_prompts_survive():
    text = prompting.flush_text(MemFlush(flush_prompt="Keep {x} and NO_REPLY. {candidates}"), ["The dict is {'a': 1}."], COUNT)
    assert "Keep {x}" in text
    assert "{'a': 1}" in text


def test_the_limits_in_the_flush_prompt_follow_the_options():
    text = prompting.flush_text(MemFlush(flush_note_chars=123, flush_max_notes=7), [], COUNT)
    assert "at most 123 characters; at most 7 notes" in text


def test_the_summary_instruction_names_what_stays_and_what_was_wrong():
    """D12: the retry names the fault."""
    text = prompting.compression_text(MemFlush(), kept="Plot it", max_words=90, fault="It repeats itself.")
    assert 'begins with "Plot it"' in text
    assert "at most 90 words" in text
    assert "refused: It repeats itself. Mend that." in text
    assert "refused" not in prompting.compression_text(MemFlush(), kept="", max_words=90)


def test_own_sentences_hold_those_of_custom_prompts_too():
    """C14."""
    own = prompting.own_sentences(MemFlush(flush_prompt="Keep the colour of the sky."))
    assert "Keep the colour of the sky." in own
    assert any("Look before you compute" in sentence for sentence in own)
