"""Code for questions about one column or the whole table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memflush_jupyter.models.offline.code import column, columns, fresh, imports, printed, rows, script

if TYPE_CHECKING:
    from memflush_jupyter.models.offline.schema import Frame
    from memflush_jupyter.models.offline.task import Task

SHOWN = 25
_BESIDE = ("std", "min", "median", "max")
"""Figures that are shown beside the one asked for: a mean alone says little."""
WIDE = 30


def describe(task: Task) -> str:
    """Types, missing values, and the usual figures of every column."""
    select, data = rows(task)
    shown = list(task.columns) or list(task.frame.columns[:WIDE])
    numeric = [c for c in shown if c.role == "number"]
    text = [c for c in shown if c.role in {"text", "flag"}]
    name = fresh(task, f"{task.frame.name}_overview")
    lines = imports("pd") + select
    lines += [
        f"{name} = {data}[{columns(task.frame, shown)}]",
        *printed(
            "overview",
            f'pd.DataFrame({{"dtype": {name}.dtypes.astype(str), "filled": {name}.count(), "missing": {name}.isna().sum()}}).to_csv(index_label="column")',
        ),
    ]
    if numeric:
        lines += printed("numbers", f'{data}[{columns(task.frame, numeric)}].describe().T.to_csv(index_label="column")')
    if text:
        each = fresh(task, "text_summary")
        lines += [
            "",
            f"{each} = []",
            f"for name in {columns(task.frame, text)}:",
            f"    counts = {data}[name].dropna().astype(str).value_counts()",
            (
                f'    {each}.append({{"column": name, "distinct": len(counts), "most_common": counts.index[0] if len(counts) else '
                f'"", "n": counts.iloc[0] if len(counts) else 0}})'
            ),
            *printed("text", f"pd.DataFrame({each}).to_csv(index=False)"),
        ]
    return script(lines)


def missing(task: Task) -> str:
    """Missing values per column, and complete rows."""
    select, data = rows(task)
    name = fresh(task, "missing")
    part = f"{data}[{columns(task.frame, task.columns)}]" if task.columns else data
    return script(
        imports("pd"),
        select,
        [f"{name} = {part}.isna().sum()"],
        printed("missing", f'pd.DataFrame({{"missing": {name}, "share": {name} / len({data})}}).to_csv(index_label="column")'),
        printed("rows", f'pd.DataFrame({{"rows": [len({data})], "complete": [{part}.notna().all(axis=1).sum()]}}).to_csv(index=False)'),
    )


def counts(task: Task) -> str:
    """How often each value of a column occurs, by group where one is named."""
    select, data = rows(task)
    where = column(task.frame, task.columns[0], data)
    if task.by is not None:
        grouped = f"{data}.groupby({task.frame.ref(task.by)}, observed=True)[{task.frame.ref(task.columns[0])}].value_counts()"
        return script(select, printed("counts by group", f'{grouped}.rename("n").head(60).to_csv(index_label=["group", "value"])'))
    name = fresh(task, "counts")
    return script(
        imports("pd"),
        select,
        [f"{name} = {where}.value_counts(dropna=False)"],
        printed("counts", f'{name}.rename("n").head({SHOWN}).to_csv(index_label="value")'),
        printed("rows", f'pd.DataFrame({{"rows": [len({data})], "distinct": [{where}.nunique()], "missing": [{where}.isna().sum()]}}).to_csv(index=False)'),
    )


def distribution(task: Task) -> str:
    """Figures and bins of one numeric column; figures per group where one is named."""
    select, data = rows(task)
    which = task.columns[0]
    name = fresh(task, "values")
    where = column(task.frame, which, data)
    lines = [
        *imports("np", "pd"),
        *select,
        f"{name} = {where}.replace([np.inf, -np.inf], np.nan).dropna().astype(float)",
        *printed(
            "rows",
            f'pd.DataFrame({{"rows": [len({data})], "missing": [{where}.isna().sum()], "infinite": [{where}.notna().sum() - '
            f'len({name})], "skew": [{name}.skew()]}}).to_csv(index=False)',
        ),
        *printed("summary", f'{name}.describe().to_frame("value").to_csv(index_label="figure")'),
    ]
    if task.by is not None:
        lines += printed("groups", f'{name}.groupby({column(task.frame, task.by, data)}, observed=True).describe().head(30).to_csv(index_label="group")')
    else:
        lines += [
            "",
            f"heights, edges = np.histogram({name}, bins={task.details.bins or 8})",
            *printed("bins", 'pd.DataFrame({"from": edges[:-1], "to": edges[1:], "n": heights}).to_csv(index=False)'),
        ]
    return script(lines)


def limited(task: Task) -> bool:
    """Whether only the first groups of an order are asked for ("the top 3 products by mass")."""
    return bool(task.by is not None and len(task.columns) == 1 and task.details.count)


def aggregate(task: Task) -> str:
    """Means, medians, sums and the like, over all rows or per group."""
    select, data = rows(task)
    asked = task.details.stats or ("mean",)
    numeric = all(which.role == "number" for which in task.columns)
    stats = [*asked, "count", *(stat for stat in (_BESIDE if numeric else ()) if stat not in asked)]
    listed = "[" + ", ".join(f'"{stat}"' for stat in stats) + "]"
    frame = task.frame
    if task.by is None:
        body = f"{data}[name].agg({listed})"
        table = f'pd.DataFrame({{name: {body} for name in {columns(frame, task.columns)}}}).T.to_csv(index_label="column")'
    else:
        body = f"{data}.groupby({frame.ref(task.by)}, observed=True)[name].agg({listed})"
        table = f'pd.concat({{name: {body} for name in {columns(frame, task.columns)}}}).to_csv(index_label=["column", "group"])'
    name = fresh(task, "statistics")
    expression, _, tail = table.rpartition(".to_csv")
    if limited(task):
        expression += f'.sort_values("{asked[0]}", ascending={task.details.ascending}).head({task.details.count})'
    return script(imports("pd"), select, [f"{name} = {expression}"], printed("statistics", f"{name}.to_csv{tail}"))


def top(task: Task) -> str:
    """The rows with the largest or smallest values of a column."""
    select, data = rows(task)
    which = task.columns[0]
    frame = task.frame
    others = [c for c in (*task.columns[1:], *frame.of_role("text", "flag", "time"), *frame.of_role("number")) if c != which]
    shown = [which, *dict.fromkeys(others)][:6]
    order = f'{data}.sort_values({frame.ref(which)}, ascending={task.details.ascending}, kind="stable", na_position="last")'
    name = fresh(task, "ranked")
    return script(
        select,
        [f"{name} = {order}.head({task.details.count or 5})"],
        printed("rows in order", f'{name}[{columns(frame, shown)}].to_csv(index_label="row")'),
    )


def row_count(task: Task) -> str:
    """How many rows."""
    select, data = rows(task)
    return script(imports("pd"), select, printed("rows", f'pd.DataFrame({{"rows": [len({data})], "columns": [{data}.shape[1]]}}).to_csv(index=False)'))


def head(task: Task) -> str:
    """The first rows."""
    select, data = rows(task)
    end = "tail" if "tail" in task.details.stats else "head"
    shown = list(task.columns) or list(task.frame.columns[:10])
    return script(select, printed("rows in order", f'{data}[{columns(task.frame, shown)}].{end}({task.details.count or 5}).to_csv(index_label="row")'))


def values(frame: Frame) -> str:
    """The values of the text columns, so that words of a request can be recognised."""
    text = [c for c in frame.columns if c.role in {"text", "flag"}][:WIDE]
    listed = columns(frame, text)
    return script(
        imports("pd"),
        [f"text_values = {{name: {frame.name}[name].dropna().astype(str).value_counts().head(40) for name in {listed}}}"],
        printed(f"values of {frame.name}", 'pd.concat(text_values).rename("n").to_csv(index_label=["column", "value"])'),
    )
