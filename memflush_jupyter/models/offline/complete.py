"""Fill in what an analysis needs and the clause did not say, or ask for it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from memflush_jupyter.models.offline import figures
from memflush_jupyter.models.offline.filters import time_columns
from memflush_jupyter.models.offline.task import Question, Task

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memflush_jupyter.models.offline.intent import Details
    from memflush_jupyter.models.offline.schema import Column

_MANY = 30
_TWO = 2


def complete(task: Task, previous: Task | None) -> Task | Question:
    """A task that its code template can serve, or the question to ask first."""
    if not task.frame.columns:
        return Question(f"{figures.code(task.frame.name)} has no columns, so there is nothing to analyse.")
    rule = _RULES.get(task.kind)
    return rule(task, previous) if rule is not None else task


def _numeric(task: Task) -> list[Column]:
    return [column for column in task.frame.of_role("number") if column != task.by][:_MANY]


def _names(columns: Sequence[Column]) -> str:
    return figures.listing([column.name for column in columns], 20)


def _ask(task: Task, what: str, columns: Sequence[Column]) -> Question:
    if not columns:
        return Question(f"{figures.code(task.frame.name)} has no column that fits: {what}")
    return Question(f"{what} The candidates in {figures.code(task.frame.name)} are {_names(columns)}.")


def _text_asked(task: Task, columns: Sequence[Column], what: str) -> Question | None:
    bad = [column for column in columns if column.role not in {"number", "flag"}]
    if not bad:
        return None
    return Question(
        f"{figures.code(bad[0].name)} holds {bad[0].dtype} values, and {what} needs numbers. The numeric columns of {figures.code(task.frame.name)} are {_names(_numeric(task)) or 'none'}."
    )


def _compare(task: Task, previous: Task | None) -> Task | Question:
    by, measures = task.by, list(task.columns)
    if by is None:
        groups = [column for column in measures if column.role in {"text", "flag"}]
        if len(groups) == 1:
            by = groups[0]
            measures.remove(by)
        elif len(groups) > 1:
            return _ask(task, "By which of these shall I compare?", groups)
        elif previous is not None and previous.by is not None and measures:
            by = previous.by
        elif len(measures) >= _TWO and all(column.role == "number" for column in measures):
            return task.with_(kind="describe")
    if by is None:
        groups = task.frame.of_role("text", "flag")
        if len(groups) == 1:
            by = groups[0]
        else:
            return _ask(task, "Which column holds the groups to compare?", groups)
    refused = _text_asked(task, measures, "a comparison of means")
    if refused is not None:
        return refused
    chosen = tuple(measures) or tuple(column for column in task.frame.of_role("number") if column != by)[:_MANY]
    if not chosen:
        return Question(f"{figures.code(task.frame.name)} has no numeric column to compare by {figures.code(by.name)}.")
    return task.with_(by=by, columns=chosen)


def _correlation(task: Task, _: Task | None) -> Task | Question:
    columns = list(task.columns)
    if task.by is not None and len(columns) == 1 and task.by.role == "number":
        columns.append(task.by)
        task = task.with_(by=None)
    elif task.by is not None and len(columns) < _TWO and not (len(columns) == 0 and task.by.role != "number"):
        return Question(f"Within groups of {figures.code(task.by.name)} I correlate two columns: name both. The numeric columns are {_names(_numeric(task))}.")
    refused = _text_asked(task, columns, "a correlation")
    if refused is not None:
        return refused
    if len(columns) == 1:
        columns += [column for column in _numeric(task) if column != columns[0]]
    if task.by is not None and not columns:
        return Question(f"Within groups of {figures.code(task.by.name)} I correlate two columns: name both. The numeric columns are {_names(_numeric(task))}.")
    columns = columns or _numeric(task)
    if len(columns) < _TWO:
        return Question(f"{figures.code(task.frame.name)} has fewer than two numeric columns, so there is nothing to correlate.")
    if task.by is not None:
        columns = columns[:_TWO]
    return task.with_(columns=tuple(columns))


def _regression(task: Task, _: Task | None) -> Task | Question:
    columns = [*task.columns, *([task.by] if task.by is not None else [])]
    if len(columns) != _TWO:
        return Question(
            f"A simple regression needs two columns, e.g. “regress y on x”. The numeric columns of {figures.code(task.frame.name)} are {_names(task.frame.of_role('number')) or 'none'}."
        )
    refused = _text_asked(task, columns, "a regression")
    return refused or task.with_(columns=tuple(columns), by=None)


def _outliers(task: Task, _: Task | None) -> Task | Question:
    refused = _text_asked(task, task.columns, "looking for outliers")
    if refused is not None:
        return refused
    chosen = task.columns or tuple(_numeric(task))
    if not chosen:
        return Question(f"{figures.code(task.frame.name)} has no numeric column to look for outliers in.")
    notes = (f"The fences are those of all these rows together, not of each {figures.code(task.by.name)}.",) if task.by is not None else ()
    return task.with_(columns=chosen, by=None, notes=notes)


def _trend(task: Task, _: Task | None) -> Task | Question:
    times = time_columns(task.frame)
    named = [column for column in (*task.columns, *([task.by] if task.by else [])) if column in times]
    when = named[0] if named else times[0] if len(times) == 1 else None
    if when is None:
        return _ask(task, "Which column holds the time?" if times else "a trend needs a column with dates or years.", times)
    measures = [column for column in task.columns if column != when]
    if not measures:
        numeric = [column for column in _numeric(task) if column != when]
        if len(numeric) != 1:
            return _ask(task, "Which column's trend?", numeric)
        measures = numeric
    if task.by is not None and task.by != when:
        return Question(
            f"I show a trend over {figures.code(when.name)} for all rows or for one value of {figures.code(task.by.name)} at a time: name the value, e.g. “only for …”."
        )
    refused = _text_asked(task, measures, "a trend")
    if refused is not None:
        return refused
    notes = (f"{_names(measures[1:])} not shown: one column at a time.",) if len(measures) > 1 else ()
    return task.with_(columns=(measures[0],), by=when, notes=notes)


def _distribution(task: Task, _: Task | None) -> Task | Question:
    if not task.columns:
        if task.by is not None:
            return task.with_(kind="counts", columns=(task.by,), by=None)
        return _ask(task, "The distribution of which column?", task.frame.columns)
    if len(task.columns) > 1:
        groups = [column for column in task.columns if column.role in {"text", "flag"}]
        if len(task.columns) == _TWO and len(groups) == 1 and task.by is None:
            return task.with_(by=groups[0], columns=tuple(c for c in task.columns if c != groups[0]))
        return task.with_(kind="describe", by=None)
    return task if task.columns[0].role == "number" else task.with_(kind="counts")


def _counts(task: Task, _: Task | None) -> Task | Question:
    columns = task.columns or ((task.by,) if task.by is not None else ())
    if not columns:
        return _ask(task, "The values of which column?", task.frame.of_role("text", "flag"))
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
        numeric = [column for column in task.frame.of_role("number") if column != by]
        if not numeric:
            return Question(f"{figures.code(task.frame.name)} has no numeric column for a {stats[0] if stats else 'mean'}.")
        columns = tuple(numeric[:_MANY])
    if not set(stats) <= {"min", "max"} or any(column.role == "other" for column in columns):
        refused = _text_asked(task, columns, f"a {stats[0] if stats else 'mean'}")
        if refused is not None:
            return refused
    return task.with_(columns=columns, by=by)


def _top(task: Task, _: Task | None) -> Task | Question:
    columns = list(task.columns)
    if task.by is not None and columns and task.by.role in {"number", "flag", "time"}:
        text = [column for column in columns if column.role == "text"]
        if text and (task.details.stats or len(text) == 1):
            return task.with_(kind="aggregate", columns=(task.by,), by=text[0])
        return task.with_(columns=(task.by, *columns), by=None)
    if task.by is not None and not columns:
        if task.by.role == "text":
            return task.with_(kind="counts", columns=(task.by,), by=None)
        return task.with_(columns=(task.by,), by=None)
    if not columns:
        return _ask(task, "Largest by which column?", _numeric(task))
    numeric = [column for column in columns if column.role in {"number", "time"}]
    text = [column for column in columns if column.role in {"text", "flag"}]
    if task.by is not None or (text and numeric and task.details.stats):
        return (
            task.with_(kind="aggregate", columns=tuple(numeric), by=task.by or text[0]) if numeric else _ask(task, "Largest by which column?", _numeric(task))
        )
    if text and not numeric:
        return task.with_(kind="counts", columns=(text[0],))
    return task.with_(columns=(*numeric, *text))


def _rows(task: Task, _: Task | None) -> Task | Question:
    if task.by is not None:
        return task.with_(kind="counts", columns=(task.by,), by=None)
    if task.columns:
        return task.with_(kind="counts", columns=(task.columns[0],))
    return task


def _plot(task: Task, previous: Task | None) -> Task | Question:
    kind = task.details.picture
    columns, by = list(task.columns), task.by
    times = time_columns(task.frame)
    if by is None and len(columns) > 1 and kind != "scatter":
        groups = [column for column in columns if column.role in {"text", "flag"} and column not in times]
        if len(groups) == 1 and len(columns) > len(groups):
            by = groups[0]
            columns.remove(by)
    if kind in {"line", None} and len(columns) == _TWO and by is None and any(column in times for column in columns):
        by = next(column for column in columns if column in times)
        columns.remove(by)
    if kind == "line" and by is None and len(columns) == 1 and len(times) == 1 and columns[0] not in times:
        by = times[0]
    if kind == "scatter" and by is not None and len(columns) == 1:
        columns, by = [by, columns[0]], None
    elif kind == "scatter" and by is None and len(columns) == 3:  # noqa: PLR2004 - two axes and a colour
        groups = [column for column in columns if column.role in {"text", "flag"}]
        by = groups[0] if len(groups) == 1 else None
        columns = [column for column in columns if column != by]
    if kind == "scatter" and len(columns) != _TWO:
        return _ask(task, "A scatter plot needs two columns: which?", _numeric(task))
    if not columns and by is not None:
        columns, by = ([by], None) if kind in {"bar", None} or by.role == "number" else (_numeric(task), by)
    if not columns:
        return _ask(task, "Plot which column?", task.frame.columns)
    if kind == "scatter":
        columns = [columns[1], columns[0]]  # "y against x"
    if kind in {"hist", "box", "scatter", "line"}:
        if kind == "hist" and all(column.role in {"text", "flag"} for column in columns):
            return task.with_(columns=tuple(columns[:1]), by=None, details=_bar(task))
        refused = _text_asked(task, columns, f"a {kind} plot")
        if refused is not None:
            return refused
    elif kind is None and previous is not None and previous.kind == "trend" and by == previous.by:
        return task.with_(columns=tuple(columns), by=by, details=replace(task.details, picture="line"))
    elif kind is None and any(column.role not in {"number"} for column in columns):
        return (
            task.with_(columns=tuple(columns[:1]), by=None, details=_bar(task))
            if columns[0].role in {"text", "flag"}
            else _text_asked(task, columns, "a plot") or task
        )
    return task.with_(columns=tuple(columns), by=by)


def _bar(task: Task) -> Details:
    return replace(task.details, picture="bar")


_RULES: dict[str, Callable[[Task, Task | None], Task | Question]] = {
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
    "plot": _plot,
}
