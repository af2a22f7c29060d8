"""What a picture needs: which columns are drawn, across what, and what cannot be drawn."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from memflush_jupyter.models.offline.asking import ask, numeric, text_asked
from memflush_jupyter.models.offline.filters import time_columns

if TYPE_CHECKING:
    from memflush_jupyter.models.offline.schema import Column
    from memflush_jupyter.models.offline.task import Question, Task

_TWO, _THREE = 2, 3
_LABELS = frozenset({"text", "flag"})


def plot(task: Task, previous: Task | None) -> Task | Question:
    """A plot that can be drawn, or the question to ask first."""
    task = _axes(_grouped(task))
    if task.details.picture == "scatter" and len(task.columns) != _TWO:
        return ask(task, "A scatter plot needs two columns: which?", numeric(task))
    if not task.columns:
        return ask(task, "Plot which column?", task.frame.columns)
    return _drawable(task, previous)


def _labels(task: Task, columns: tuple[Column, ...]) -> list[Column]:
    times = time_columns(task.frame)
    return [column for column in columns if column.role in _LABELS and column not in times]


def _grouped(task: Task) -> Task:
    """Take a label column named beside others as the grouping, a time column as the axis."""
    kind, columns, times = task.details.picture, task.columns, time_columns(task.frame)
    if task.by is not None or not columns:
        return task
    labels = _labels(task, columns)
    most = _THREE if kind == "scatter" else _TWO
    if len(labels) == 1 and len(columns) >= most:
        return task.with_(by=labels[0], columns=tuple(column for column in columns if column != labels[0]))
    timed = [column for column in columns if column in times]
    if kind in {"line", None} and len(columns) == _TWO and timed:
        return task.with_(by=timed[0], columns=tuple(column for column in columns if column != timed[0]))
    if kind == "line" and len(columns) == 1 and len(times) == 1 and columns[0] not in times:
        return task.with_(by=times[0])
    return task


def _axes(task: Task) -> Task:
    """Which columns lie on which axis."""
    kind, columns, by = task.details.picture, task.columns, task.by
    if kind == "scatter" and by is not None and len(columns) == 1:
        return task.with_(columns=(by, columns[0]), by=None)
    if kind == "scatter" and len(columns) == _TWO:
        # "y against x": the first is drawn upwards.
        return task.with_(columns=(columns[1], columns[0]))
    if not columns and by is not None:
        if kind in {"bar", None} or by.role == "number":
            return task.with_(columns=(by,), by=None)
        return task.with_(columns=tuple(numeric(task)))
    return task


def _drawable(task: Task, previous: Task | None) -> Task | Question:
    kind, columns = task.details.picture, task.columns
    bars = task.with_(columns=columns[:1], by=None, details=replace(task.details, picture="bar"))
    if kind == "hist" and all(column.role in _LABELS for column in columns):
        return bars
    if kind in {"hist", "box", "scatter", "line"}:
        return text_asked(task, columns, f"a {kind} plot") or task
    if kind is not None:
        return task
    if previous is not None and previous.kind == "trend" and task.by == previous.by:
        return task.with_(details=replace(task.details, picture="line"))
    if columns[0].role in _LABELS:
        return bars
    return text_asked(task, columns, "a plot") or task
