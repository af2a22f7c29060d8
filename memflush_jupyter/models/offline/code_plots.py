"""Code for pictures: plain matplotlib, titled and labelled, with the plotted counts printed below."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memflush_jupyter.models.offline.code import column, columns, fresh, imports, printed, quote, rows, script

if TYPE_CHECKING:
    from memflush_jupyter.models.offline.schema import Column
    from memflush_jupyter.models.offline.task import Task

PANELS = 6
"""Panels drawn side by side, at most."""
_AXES = 2


def plot(task: Task) -> str:
    """The picture named, or the one that suits the columns."""
    kind = picture(task)
    return {"hist": hist, "box": box, "bar": bar, "scatter": scatter, "line": line}[kind](task)


def picture(task: Task) -> str:
    """Which picture: the one asked for, else by the columns' roles."""
    if task.details.picture:
        return task.details.picture
    numeric = [c for c in task.columns if c.role == "number"]
    if task.by is not None and task.by.role == "time":
        return "line"
    if task.by is not None:
        return "box" if numeric else "bar"
    return "scatter" if len(numeric) == _AXES else "hist" if numeric else "bar"


def _colour(task: Task) -> str:
    return f", color={quote(task.preferences.colour)}" if task.preferences.colour else ""


def _title(task: Task, text: str) -> str:
    where = " and ".join(condition.words().replace("`", "") for condition in task.filters)
    return quote(f"{text} ({where})" if where else text).replace("$", "\\\\$")


def _label(which: Column) -> str:
    return quote(which.name).replace("$", "\\\\$")


def _plotted(task: Task, data: str) -> list[str]:
    """What the picture shows, in figures: whoever reads the answer may not see it."""
    chosen = f"{data}[{columns(task.frame, task.columns)}]"
    about = f'{chosen}.describe().T.drop(columns="count")' if all(which.role == "number" for which in task.columns) else "pd.DataFrame()"
    counted = f'pd.DataFrame({{"n": {chosen}.count(), "missing": {chosen}.isna().sum()}})'
    return [f"plotted = {counted}.join({about})", *printed("plotted", 'plotted.to_csv(index_label="column")')]


def _panels(task: Task, head: str) -> list[str]:
    """One panel a column; ``head`` draws one of them."""
    count = len(task.columns[:PANELS])
    if count == 1:
        return ["fig, ax = plt.subplots(figsize=(6, 4))", *head.format(col=task.frame.ref(task.columns[0]), label=_label(task.columns[0])).split("\n")]
    chosen = columns(task.frame, task.columns[:PANELS])
    body = head.format(col="name", label="name").split("\n")
    return [f"fig, axes = plt.subplots(1, {count}, figsize=({4 * count}, 4))", f"for ax, name in zip(axes, {chosen}):", *(f"    {text}" for text in body)]


def hist(task: Task) -> str:
    """Histograms, overlaid by group where one is named."""
    select, data = rows(task)
    bins = task.details.bins or 20
    if task.by is not None:
        body = (
            f"for group, part in {data}.groupby({task.frame.ref(task.by)}, observed=True)[{{col}}]:\n"
            f"    ax.hist(part.replace([np.inf, -np.inf], np.nan).dropna(), bins={bins}, alpha=0.6, label=str(group))\n"
            f"ax.legend(title={_label(task.by)})\n"
        )
    else:
        body = f'ax.hist({data}[{{col}}].replace([np.inf, -np.inf], np.nan).dropna(), bins={bins}, edgecolor="white"{_colour(task)})\n'
    body += 'ax.set_xlabel({label})\nax.set_ylabel("count")'
    return _finish(task, select, data, _panels(task, body), f"Distribution in {task.frame.name}", "plt", "np", "pd")


def box(task: Task) -> str:
    """Box plots, one box a group where one is named."""
    select, data = rows(task)
    if task.by is None:
        body = f"ax.boxplot({data}[{{col}}].dropna())\nax.set_ylabel({{label}})\nax.set_xticks([])"
    else:
        body = (
            f"parts = {data}.dropna(subset=[{{col}}]).groupby({task.frame.ref(task.by)}, observed=True)[{{col}}]\n"
            "ax.boxplot([part for _, part in parts])\n"
            "ax.set_xticks(range(1, parts.ngroups + 1), [str(group) for group, _ in parts])\n"
            f"ax.set_xlabel({_label(task.by)})\n"
            "ax.set_ylabel({label})"
        )
    by = f" by {task.by.name}" if task.by is not None else ""
    return _finish(task, select, data, _panels(task, body), f"{task.frame.name}{by}", "plt", "pd")


def bar(task: Task) -> str:
    """Counts of a column's values, or group statistics of numbers."""
    select, data = rows(task)
    name = fresh(task, "heights")
    frame = task.frame
    numeric = [c for c in task.columns if c.role == "number"]
    if task.by is not None and numeric:
        stat = (task.details.stats or ("mean",))[0]
        drawn, across = numeric[0], task.by
        heights, ylabel = f'{data}.groupby({frame.ref(across)}, observed=True)[{frame.ref(drawn)}].agg("{stat}")', f"{stat} of {drawn.name}"
    else:
        across = task.columns[0]
        heights, ylabel = f"{column(frame, across, data)}.value_counts().head(20)", "count"
    draw = [
        f"{name} = {heights}",
        "fig, ax = plt.subplots(figsize=(6, 4))",
        f"ax.bar({name}.index.astype(str), {name}{_colour(task)})",
        f"ax.set_xlabel({_label(across)})",
        f"ax.set_ylabel({quote(ylabel)})",
        'ax.tick_params(axis="x", rotation=30)',
    ]
    extra = printed("bars", f'{name}.rename("height").to_csv(index_label="value")')
    return _finish(task.with_(columns=(across,)), select, data, draw, f"{ylabel} by {across.name}", "plt", "pd", extra=extra)


def scatter(task: Task) -> str:
    """One column against another, coloured by group where one is named."""
    select, data = rows(task)
    x, y = task.columns[0], task.columns[1]
    frame = task.frame
    draw = ["fig, ax = plt.subplots(figsize=(6, 4.5))"]
    if task.by is not None:
        draw += [
            f"for group, at in {data}.groupby({frame.ref(task.by)}, observed=True).indices.items():",
            f"    ax.scatter({column(frame, x, data)}.iloc[at], {column(frame, y, data)}.iloc[at], s=18, alpha=0.7, label=str(group))",
            f"ax.legend(title={_label(task.by)})",
        ]
    else:
        draw += [f"ax.scatter({column(frame, x, data)}, {column(frame, y, data)}, s=18, alpha=0.7{_colour(task)})"]
    draw += [f"ax.set_xlabel({_label(x)})", f"ax.set_ylabel({_label(y)})"]
    return _finish(task.with_(columns=(x, y)), select, data, draw, f"{y.name} against {x.name}", "plt", "pd")


def line(task: Task) -> str:
    """Means over an ordered column, or a column in row order."""
    select, data = rows(task)
    frame, value = task.frame, task.columns[0]
    draw = ["fig, ax = plt.subplots(figsize=(7, 4))"]
    if task.by is not None:
        over = f"pd.to_datetime({column(frame, task.by, data)})" if task.by.role == "text" else frame.ref(task.by)
        draw += [
            f"means = {data}.groupby({over}, observed=True)[{frame.ref(value)}].mean()",
            f'ax.plot(means.index{".to_timestamp()" if task.by.dtype.startswith("period") else ""}, means, marker="o"{_colour(task)})',
            f"ax.set_xlabel({_label(task.by)})",
        ]
        label, title = f"mean of {value.name}", f"{value.name} over {task.by.name}"
    else:
        draw += [f"ax.plot({data}.index, {column(frame, value, data)}{_colour(task)})", 'ax.set_xlabel("row")']
        label, title = value.name, f"{value.name} in row order"
    draw += [f"ax.set_ylabel({quote(label)})"]
    return _finish(task.with_(columns=(value,)), select, data, draw, title, "plt", "pd")


def _finish(task: Task, select: list[str], data: str, draw: list[str], title: str, *modules: str, extra: list[str] | None = None) -> str:
    close = [f"fig.suptitle({_title(task, title)})", "fig.tight_layout()", "plt.show()"]
    return script(imports(*modules), select, draw, close, extra or _plotted(task, data))
