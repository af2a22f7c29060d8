"""C4: where a sentence ends, at the edges of each rule."""

from __future__ import annotations

import pytest

from memflush_jupyter.memory.sentences import split


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Sales rose. then they fell.", ["Sales rose.", "then they fell."]),  # a small letter after a full stop still begins one
        ("We waited... then it came.", ["We waited... then it came."]),  # an ellipsis goes on with a small letter
        ("We waited... Then it came.", ["We waited...", "Then it came."]),
        ("It opens at 9 a.m. and closes at noon.", ["It opens at 9 a.m. and closes at noon."]),
        ("It opens at 9 a.m. Bring a coat.", ["It opens at 9 a.m.", "Bring a coat."]),
        ("See fig. Two for it.", ["See fig. Two for it."]),
        ("It closes at noon etc.", ["It closes at noon etc."]),
        ("We asked NASA. They agreed.", ["We asked NASA.", "They agreed."]),
        ("Ask J. Smith about it.", ["Ask J. Smith about it."]),
        ("The axis is x. Then comes y.", ["The axis is x.", "Then comes y."]),
        ("12. Load the data.", ["12. Load the data."]),
        ("123. Load the data.", ["123.", "Load the data."]),
        ("There were 12. Then came more.", ["There were 12.", "Then came more."]),
        ("Here is what we do with all of the data this week!\n2. Load it.", ["Here is what we do with all of the data this week!", "2. Load it."]),
        ("! Note this.", ["!", "Note this."]),
        ("(Done.) Next.", ["(Done.)", "Next."]),
    ],
)
def test_a_sentence_ends_where_a_reader_says(text, parts):
    assert split(text) == parts
