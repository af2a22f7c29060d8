"""The analyses by kind: which code serves a task, and how it is announced."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memflush_jupyter.models.offline import code_plots, code_relations, code_tables
from memflush_jupyter.models.offline.figures import code, listing

if TYPE_CHECKING:
    from collections.abc import Callable

    from memflush_jupyter.models.offline.task import Task

CODE: dict[str, Callable[[Task], str]] = {
    "describe": code_tables.describe,
    "missing": code_tables.missing,
    "counts": code_tables.counts,
    "distribution": code_tables.distribution,
    "aggregate": code_tables.aggregate,
    "rows": code_tables.row_count,
    "top": code_tables.top,
    "head": code_tables.head,
    "compare": code_relations.compare,
    "correlation": code_relations.correlation,
    "outliers": code_relations.outliers,
    "trend": code_relations.trend,
    "regression": code_relations.regression,
    "plot": code_plots.plot,
}

_LEADS = {
    "describe": "I describe {columns} of {frame}:",
    "missing": "I count missing values in {frame}:",
    "counts": "I count the values of {columns} in {frame}:",
    "distribution": "I look at the distribution of {columns} in {frame}:",
    "aggregate": "I compute {stats} of {columns} in {frame}{by}:",
    "rows": "I count the rows of {frame}:",
    "top": "I sort {frame} by {columns}:",
    "head": "I look at rows of {frame}:",
    "compare": "I compare {columns} in {frame}{by}:",
    "correlation": "I correlate {columns} in {frame}{by}:",
    "outliers": "I look for outliers in {columns} of {frame}:",
    "trend": "I look at {columns} over {over} in {frame}:",
    "regression": "I fit a line to {columns} in {frame}:",
    "plot": "I plot {columns} of {frame}{by}:",
}


def lead(task: Task) -> str:
    """One sentence that says what the code is going to do."""
    text = _LEADS[task.kind].format(
        columns=listing([column.name for column in task.columns], 6) if task.columns else "all columns",
        frame=code(task.frame.name),
        by=f" by {code(task.by.name)}" if task.by is not None else "",
        over=code(task.by.name) if task.by is not None else "time",
        stats=" and ".join(task.details.stats or ("mean",)),
    )
    where = " and ".join(condition.words() for condition in task.filters)
    return f"{text[:-1]}, where {where}:" if where else text
