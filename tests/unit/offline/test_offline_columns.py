"""Which words of a prompt name columns."""

from __future__ import annotations

import pytest

from memflush_jupyter.models.offline.columns import mentions
from memflush_jupyter.models.offline.schema import Column


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("top 3 by `bill length (mm)`", ["bill length (mm)"]),
        ("mean of mass by `by`", ["mass", "by"]),
        ("mean of mass by by", ["mass", "by"]),
        ("describe the by column", ["by"]),
        ("mass of the birds", ["mass"]),
    ],
)
def test_a_joining_word_is_a_column_only_where_it_joins_nothing(text: str, named: list[str]) -> None:
    """Issue point 3: a frame may have a column named ``by``, and an answer about it would be about something else than was asked."""
    columns = [Column(name, at, "float64") for at, name in enumerate(("bill length (mm)", "by", "mass", "of"))]
    assert [mention.column.name for mention in mentions(text, columns)] == named
