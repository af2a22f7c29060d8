"""Questions back to the person: what is missing, and the columns that could be meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memflush_jupyter.models.offline import figures
from memflush_jupyter.models.offline.task import Question, Task

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memflush_jupyter.models.offline.schema import Column

MANY = 30
"""Columns that one analysis takes, at most."""


def numeric(task: Task) -> list[Column]:
    """The numeric columns that are not the grouping."""
    return [column for column in task.frame.of_role("number") if column != task.by][:MANY]


def names(columns: Sequence[Column]) -> str:
    """Names for a sentence."""
    return figures.listing([column.name for column in columns], 20)


def ask(task: Task, what: str, columns: Sequence[Column]) -> Question:
    """Ask which of some columns is meant, or say that none fits."""
    if not columns:
        return Question(f"{figures.code(task.frame.name)} has no column that fits: {what}")
    return Question(f"{what} The candidates in {figures.code(task.frame.name)} are {names(columns)}.")


def text_asked(task: Task, columns: Sequence[Column], what: str) -> Question | None:
    """The refusal when a column holds no numbers where numbers are needed."""
    bad = [column for column in columns if column.role not in {"number", "flag"}]
    if not bad:
        return None
    return Question(
        f"{figures.code(bad[0].name)} holds {bad[0].dtype} values, and {what} needs numbers. The numeric columns of "
        f"{figures.code(task.frame.name)} are {names(numeric(task)) or 'none'}."
    )
