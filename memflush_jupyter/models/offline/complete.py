"""Fill in what an analysis needs and the clause did not say, or ask for it."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from memflush_jupyter.models.offline import figures
from memflush_jupyter.models.offline.asking import MANY, ask, names, numeric, text_asked
from memflush_jupyter.models.offline.complete_plots import plot
from memflush_jupyter.models.offline.filters import time_columns
from memflush_jupyter.models.offline.task import Question, Task

if TYPE_CHECKING:
    from collections.abc import Callable


_TWO = 2


def complete(task: Task, previous: Task | None) -> Task | Question:
    """A task that its code template can serve, or the question to ask first."""
    if not task.frame.columns:
        return Question(f"{figures.code(task.frame.name)} has no columns, so there is nothing to analyse.")
    rule = _RULES.get(task.kind)
    return rule(task, previous) if rule is not None else task


def _compare(task: Task, previous: Task | None) -> Task | Question:
    by, measures = task.by, list(task.columns)
    if by is None:
        groups = [column for column in measures if column.role in {"text", "flag"}]
        if len(groups) == 1:
            by = groups[0]
            measures.remove(by)
        elif len(groups) > 1:
            return ask(task, "By which of these shall I compare?", groups)
        elif previous is not None and previous.by is not None and measures:
            by = previous.by
        elif len(measures) >= _TWO and all(column.role == "number" for column in measures):
            return task.with_(kind="describe")
    if by is None:
        groups = task.frame.of_role("text", "flag")
        if len(groups) == 1:
            by = groups[0]
        else:
            return ask(task, "Which column holds the groups to compare?", groups)
    refused = text_asked(task, measures, "a comparison of means")
    if refused is not None:
        return refused
    chosen = tuple(measures) or tuple(column for column in task.frame.of_role("number") if column != by)[:MANY]
    if not chosen:
        return Question(f"{figures.code(task.frame.name)} has no numeric column to compare by {figures.code(by.name)}.")
    return task.with_(by=by, columns=chosen)


def _correlation(task: Task, _: Task | None) -> Task | Question:
    columns = list(task.columns)
    if task.by is not None and len(columns) == 1 and task.by.role == "number":
        columns.append(task.by)
        task = task.with_(by=None)
    elif task.by is not None and len(columns) < _TWO and not (len(columns) == 0 and task.by.role != "number"):
        return Question(f"Within groups of {figures.code(task.by.name)} I correlate two columns: name both. The numeric columns are {names(numeric(task))}.")
    groups = [column for column in columns if column.role in {"text", "flag"}]
    if len(columns) == _TWO and len(groups) == 1 and task.by is None:
        return _compare(task.with_(kind="compare"), None)
    refused = text_asked(task, columns, "a correlation")
    if refused is not None:
        return refused
    if len(columns) == 1:
        columns += [column for column in numeric(task) if column != columns[0]]
    if task.by is not None and not columns:
        return Question(f"Within groups of {figures.code(task.by.name)} I correlate two columns: name both. The numeric columns are {names(numeric(task))}.")
    columns = columns or numeric(task)
    if len(columns) < _TWO:
        return Question(f"{figures.code(task.frame.name)} has fewer than two numeric columns, so there is nothing to correlate.")
    if task.by is not None:
        columns = columns[:_TWO]
    return task.with_(columns=tuple(columns))


def _regression(task: Task, _: Task | None) -> Task | Question:
    columns = [*task.columns, *([task.by] if task.by is not None else [])]
    if len(columns) != _TWO:
        return Question(
            f"A simple regression needs two columns, e.g. “regress y on x”. The numeric columns of "
            f"{figures.code(task.frame.name)} are {names(task.frame.of_role('number')) or 'none'}."
        )
    refused = text_asked(task, columns, "a regression")
    return refused or task.with_(columns=tuple(columns), by=None)


def _outliers(task: Task, _: Task | None) -> Task | Question:
    refused = text_asked(task, task.columns, "looking for outliers")
    if refused is not None:
        return refused
    chosen = task.columns or tuple(numeric(task))
    if not chosen:
        return Question(f"{figures.code(task.frame.name)} has no numeric column to look for outliers in.")
    notes = (f"The fences are those of all these rows together, not of each {figures.code(task.by.name)}.",) if task.by is not None else ()
    return task.with_(columns=chosen, by=None, notes=notes)


def _trend(task: Task, _: Task | None) -> Task | Question:
    times = time_columns(task.frame)
    named = [column for column in (*task.columns, *([task.by] if task.by else [])) if column in times]
    when = named[0] if named else times[0] if len(times) == 1 else None
    if when is None:
        return ask(task, "Which column holds the time?" if times else "a trend needs a column with dates or years.", times)
    measures = [column for column in task.columns if column != when]
    if not measures:
        numbers = [column for column in numeric(task) if column != when]
        if len(numbers) != 1:
            return ask(task, "Which column's trend?", numbers)
        measures = numbers
    if task.by is not None and task.by != when:
        return Question(
            f"I show a trend over {figures.code(when.name)} for all rows or for one value of {figures.code(task.by.name)} at a "
            f"time: name the value, e.g. “only for …”."
        )
    refused = text_asked(task, measures, "a trend")
    if refused is not None:
        return refused
    notes = (f"{names(measures[1:])} not shown: one column at a time.",) if len(measures) > 1 else ()
    return task.with_(columns=(measures[0],), by=when, notes=notes)


def _distribution(task: Task, _: Task | None) -> Task | Question:
    if not task.columns:
        if task.by is not None:
            return task.with_(kind="counts", columns=(task.by,), by=None)
        return ask(task, "The distribution of which column?", task.frame.columns)
    if len(task.columns) > 1:
        groups = [column for column in task.columns if column.role in {"text", "flag"}]
        if len(task.columns) == _TWO and len(groups) == 1 and task.by is None:
            return task.with_(by=groups[0], columns=tuple(c for c in task.columns if c != groups[0]))
        return task.with_(kind="describe", by=None)
    return task if task.columns[0].role == "number" else task.with_(kind="counts")


def _counts(task: Task, _: Task | None) -> Task | Question:
    columns = task.columns or ((task.by,) if task.by is not None else ())
    if not columns:
        return ask(task, "The values of which column?", task.frame.of_role("text", "flag"))
    by = task.by if task.columns else None
    if by is None and len(columns) > 1:
        by = columns[1]
    return task.with_(columns=(columns[0],), by=by if by != columns[0] else None)


def _aggregate(task: Task, _: Task | None) -> Task | Question:
    stats = task.details.stats
    columns = task.columns
    by = task.by
    if by is None and len(columns) > 1:
        groups = [column for column in columns if column.role in {"text", "flag"}]
        if len(groups) == 1:
            by, columns = groups[0], tuple(column for column in columns if column != groups[0])
    if not columns:
        numbers = [column for column in task.frame.of_role("number") if column != by]
        if not numbers:
            return Question(f"{figures.code(task.frame.name)} has no numeric column for a {stats[0] if stats else 'mean'}.")
        columns = tuple(numbers[:MANY])
    if not set(stats) <= {"min", "max"} or any(column.role == "other" for column in columns):
        refused = text_asked(task, columns, f"a {stats[0] if stats else 'mean'}")
        if refused is not None:
            return refused
    return task.with_(columns=columns, by=by, details=replace(task.details, count=None))


_NAMES_ROWS = re.compile(r"(?:^|[_\W])(?:id|key|uuid|nr|no|number)$|(?<=[a-z])(?:ID|Id|Key)$", re.IGNORECASE)
"""Columns whose values stand for one row each: "the top 5 orders" are rows, and no groups of ``order_id``."""


def _top(task: Task, _: Task | None) -> Task | Question:
    columns = list(task.columns)
    if task.by is not None and columns and task.by.role in {"number", "flag", "time"}:
        text = [column for column in columns if column.role == "text" and not _NAMES_ROWS.search(column.name)]
        if text and (task.details.stats or len(text) == 1):
            return task.with_(kind="aggregate", columns=(task.by,), by=text[0])
        return task.with_(columns=(task.by, *columns), by=None)
    if task.by is not None and not columns:
        if task.by.role == "text":
            return task.with_(kind="counts", columns=(task.by,), by=None)
        return task.with_(columns=(task.by,), by=None)
    if not columns:
        return ask(task, "Largest by which column?", numeric(task))
    numbers = [column for column in columns if column.role in {"number", "time"}]
    text = [column for column in columns if column.role in {"text", "flag"}]
    if task.by is not None or (text and numbers and task.details.stats):
        return task.with_(kind="aggregate", columns=tuple(numbers), by=task.by or text[0]) if numbers else ask(task, "Largest by which column?", numeric(task))
    if text and not numbers:
        return task.with_(kind="counts", columns=(text[0],))
    return task.with_(columns=(*numbers, *text))


def _rows(task: Task, _: Task | None) -> Task | Question:
    if not task.columns and task.by is None:
        return task
    return _counts(task.with_(kind="counts"), None)


def _describe(task: Task, _: Task | None) -> Task | Question:
    numbers = tuple(column for column in task.columns if column.role == "number")
    if task.by is None or (task.columns and not numbers):
        return task
    if len(numbers) == 1:
        return task.with_(kind="distribution", columns=numbers)
    return _aggregate(task.with_(kind="aggregate", columns=numbers, details=replace(task.details, stats=("mean", "std", "min", "max"))), None)


_RULES: dict[str, Callable[[Task, Task | None], Task | Question]] = {
    "describe": _describe,
    "compare": _compare,
    "correlation": _correlation,
    "regression": _regression,
    "outliers": _outliers,
    "trend": _trend,
    "distribution": _distribution,
    "counts": _counts,
    "aggregate": _aggregate,
    "top": _top,
    "rows": _rows,
    "plot": plot,
}
