"""Answers in markdown, made from what the code printed: every number in them was printed by it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memflush_jupyter.models.offline import figures
from memflush_jupyter.models.offline.answers_relations import RELATIONS
from memflush_jupyter.models.offline.code_plots import picture
from memflush_jupyter.models.offline.code_tables import limited
from memflush_jupyter.models.offline.figures import cell, cell_code, code, share, table
from memflush_jupyter.models.offline.printed import Table, sections

if TYPE_CHECKING:
    from collections.abc import Callable

    from memflush_jupyter.models.offline.task import Task

Tables = dict[str, Table]

TITLES = frozenset(
    {
        "overview",
        "numbers",
        "text",
        "missing",
        "rows",
        "counts",
        "counts by group",
        "summary",
        "groups",
        "bins",
        "statistics",
        "rows in order",
        "separation",
        "means",
        "sizes",
        "correlation",
        "correlation by group",
        "pairs",
        "outliers",
        "outlying values",
        "trend",
        "line",
        "plotted",
        "bars",
    }
)
_CUT = re.compile(r"^\[… [^\]\n]{1,60} omitted; read_message\(", re.MULTILINE)
"""The line that stands for what the context has no room for."""
_STATISTICS = {
    "mean": "mean",
    "median": "median",
    "sum": "sum",
    "min": "minimum",
    "max": "maximum",
    "std": "standard deviation",
    "var": "variance",
    "count": "values",
}
_PICTURES = {"hist": "histogram", "box": "box plot", "bar": "bar chart", "scatter": "scatter plot", "line": "line chart"}


def answer(task: Task, output: str) -> str | None:
    """The answer to a task from its code's output; ``None`` when the output does not hold what the code prints."""
    if _CUT.search(output):  # the rows in the middle are missing: a lowest or a total of the rest would be wrong
        return f"**The result has too many rows to be read whole ({code(task.frame.name)}).** Ask for less at once, such as “the top 10”, or for fewer groups."
    tables = sections(output, TITLES)
    writer = {**_TABLES, **RELATIONS}.get(task.kind)
    text = writer(task, tables) if writer is not None and tables else None
    if text is None:
        return None
    return "\n\n".join([_scoped(task, text), *task.notes])


def _scoped(task: Task, text: str) -> str:
    """Say in the headline itself which rows of which frame it is about: a headline may be remembered alone."""
    where = " and ".join(condition.words() for condition in task.filters)
    head, mark, rest = text[2:].partition("**")
    parts = [code(task.frame.name)] if code(task.frame.name) not in head else []
    parts += [f"only rows where {where}"] if where else []
    if not parts:
        return text
    stop = "." if head.endswith(".") else ""
    return f"**{head.removesuffix('.')} ({', '.join(parts)}){stop}{mark}{rest}"


def _describe(task: Task, tables: Tables) -> str | None:
    overview = tables.get("overview")
    if overview is None:
        return None
    d = task.preferences.decimals
    rows = [[cell_code(r["column"]), figures.safe(r["dtype"]), r["filled"], r["missing"]] for r in overview.records()]
    first = overview.first()
    total = int(first["filled"]) + int(first["missing"]) if first else 0
    parts = [
        f"**{code(task.frame.name)} has {total} rows; {_columns(len(overview.rows))} described here.**",
        table(["column", "type", "filled", "missing"], rows),
    ]
    if "numbers" in tables:
        names = ["mean", "std", "min", "25%", "50%", "75%", "max"]
        records = tables["numbers"].records()
        body = [[cell_code(r["column"])] + [cell(r.get(name, ""), d) for name in names] for r in records]
        parts += ["Numbers:", table(["column", "mean", "std", "min", "25 %", "median", "75 %", "max"], body)]
    if "text" in tables:
        body = [[cell_code(r["column"]), r["distinct"], figures.safe(r["most_common"]), r["n"]] for r in tables["text"].records()]
        parts += ["Text and categories:", table(["column", "distinct values", "most common", "times"], body)]
    return "\n\n".join(parts)


def _columns(count: int) -> str:
    return "1 column is" if count == 1 else f"{count} columns are"


def _missing(task: Task, tables: Tables) -> str | None:
    found, totals = tables.get("missing"), tables.get("rows")
    if found is None or totals is None:
        return None
    first = totals.first()
    gaps = [r for r in found.records() if r["missing"] != "0"]
    total = sum(int(r["missing"]) for r in gaps)
    if not gaps:
        return f"**No missing values in {code(task.frame.name)}: all {first['rows']} rows are complete.**"
    gaps.sort(key=lambda r: -int(r["missing"]))
    body = [[cell_code(r["column"]), r["missing"], share(float(r["missing"]), float(first["rows"]))] for r in gaps]
    clean = len(found.rows) - len(gaps)
    many = f"{total} missing value{'s' if total != 1 else ''}"
    complete = f"{first['complete']} of {first['rows']} rows are complete"
    if len(found.rows) == 1:
        headline = f"**{code(gaps[0]['column'])} has {many}; {complete} ({code(task.frame.name)}).**"
    else:
        headline = f"**{code(task.frame.name)} has {many} in {len(gaps)} of {len(found.rows)} columns; {complete}.**"
    rest = "The other column has none." if clean == 1 else f"The other {clean} columns have none."
    return "\n\n".join([headline, table(["column", "missing", "share"], body), *([rest] if clean else [])])


def _counts(task: Task, tables: Tables) -> str | None:
    which = code(task.columns[0].name)
    grouped = tables.get("counts by group")
    if grouped is not None and task.by is not None:
        body = [[cell(r["group"]), cell(r["value"]), r["n"]] for r in grouped.records()]
        return "\n\n".join([f"**Values of {which} by {code(task.by.name)}.**", table(["group", "value", "rows"], body)])
    found, totals = tables.get("counts"), tables.get("rows")
    if found is None or totals is None:
        return None
    first = totals.first()
    limit = task.details.count or len(found.rows)
    body = [[cell(r["value"]) if r["value"] else "(missing)", r["n"], share(float(r["n"]), float(first["rows"]))] for r in found.records()[:limit]]
    more = int(first["distinct"]) + (first["missing"] != "0") - len(body)
    return "\n\n".join(
        [
            f"**{which} has {first['distinct']} distinct values in {first['rows']} rows ({first['missing']} missing).**",
            table(["value", "rows", "share"], body),
            *([f"{more} rarer values are not shown."] if more > 0 else []),
        ]
    )


def _distribution(task: Task, tables: Tables) -> str | None:
    summary, totals = tables.get("summary"), tables.get("rows")
    if summary is None or totals is None:
        return None
    d = task.preferences.decimals
    first = totals.first()
    f = {r["figure"]: r["value"] for r in summary.records()}
    which = code(task.columns[0].name)
    if float(f.get("count") or 0) == 0:
        return f"**{which} holds no values: all {first['rows']} rows are missing or infinite.**"
    parts = [
        f"**{which}: mean {cell(f['mean'], d)}, median {cell(f['50%'], d)}, from {cell(f['min'], d)} to {cell(f['max'], d)}.**",
        table(
            ["values", "mean", "std", "min", "25 %", "median", "75 %", "max", "skewness"],
            [[cell(f["count"]), *(cell(f[name], d) for name in ("mean", "std", "min", "25%", "50%", "75%", "max")), cell(first["skew"], d)]],
        ),
    ]
    if "groups" in tables:
        names = ["count", "mean", "std", "min", "25%", "50%", "75%", "max"]
        body = [[cell(r["group"]), cell(r["count"]), *(cell(r[name], d) for name in names[1:])] for r in tables["groups"].records()]
        parts += [f"By {code(task.by.name if task.by else '')}:", table(["group", "values", "mean", "std", "min", "25 %", "median", "75 %", "max"], body)]
    if "bins" in tables:
        body = [[f"{cell(r['from'], d)} to {cell(r['to'], d)}", r["n"]] for r in tables["bins"].records()]
        parts += [table(["range", "values"], body)]
    left = [f"{first['missing']} missing" if first["missing"] != "0" else "", f"{first['infinite']} infinite" if first["infinite"] != "0" else ""]
    if any(left):
        parts.append("Left out: " + " and ".join(filter(None, left)) + ".")
    return "\n\n".join(parts)


def _aggregate(task: Task, tables: Tables) -> str | None:
    found = tables.get("statistics")
    if found is None:
        return None
    d = task.preferences.decimals
    asked = task.details.stats or ("mean",)
    records = found.records()
    shown = [name for name in found.header if name in _STATISTICS]

    def cells(record: dict[str, str]) -> list[str]:
        return [cell(record.get(name, ""), None if name == "count" else d) for name in shown]

    header = [_STATISTICS[name] for name in shown]
    if task.by is None:
        lead = "; ".join(f"{_STATISTICS[s]} of {code(r['column'])} is {cell(r.get(s) or 'nan', d)}" for r in records[:3] for s in asked)
        return "\n\n".join([f"**The {lead}.**", table(["column", *header], [[cell_code(r["column"]), *cells(r)] for r in records])])
    lead = f"The {' and '.join(_STATISTICS[s] for s in asked)} of {figures.listing([c.name for c in task.columns])} by {code(task.by.name)}"
    known = [r for r in records if r.get(asked[0])]
    if limited(task):
        lead += f": the {len(records)} {'lowest' if task.details.ascending else 'highest'}"
    elif len(task.columns) == 1 and len(known) > 1:
        known.sort(key=lambda r: _float(r[asked[0]]))
        low, high = known[0], known[-1]
        lead += f": highest for {figures.safe(high['group'])} ({cell(high[asked[0]], d)}), lowest for {figures.safe(low['group'])} ({cell(low[asked[0]], d)})"
    body = [[cell_code(r["column"]), cell(r["group"]), *cells(r)] for r in records]
    return "\n\n".join([f"**{lead}.**", table(["column", "group", *header], body)])


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


def _rows(task: Task, tables: Tables) -> str | None:
    found = tables.get("rows")
    if found is None:
        return None
    first = found.first()
    noun = "row" if first["rows"] == "1" else "rows"
    if task.filters:
        return f"**{first['rows']} {noun} of {code(task.frame.name)} match.**"
    return f"**{code(task.frame.name)} has {first['rows']} {noun} and {first['columns']} columns.**"


def _in_order(task: Task, tables: Tables) -> str | None:
    found = tables.get("rows in order")
    if found is None:
        return None
    d = task.preferences.decimals
    body = [[cell(value, d if at else None) for at, value in enumerate(row)] for row in found.rows]
    if task.kind == "top":
        end = "smallest" if task.details.ascending else "largest"
        lead = f"**The {len(body)} rows with the {end} {code(task.columns[0].name)}.**"
    else:
        lead = f"**{len(body)} rows of {code(task.frame.name)}.**"
    return "\n\n".join([lead, table([figures.cell_code(name) for name in found.header], body)])


def _plot(task: Task, tables: Tables) -> str | None:
    kind = picture(task)
    by = f" by {code(task.by.name)}" if task.by is not None else ""
    if "bars" in tables:
        body = [[cell(r["value"]), cell(r["height"], task.preferences.decimals)] for r in tables["bars"].records()]
        return "\n\n".join([f"**The bar chart shows {figures.listing([c.name for c in task.columns])}{by}.**", table(["value", "height"], body)])
    found = tables.get("plotted")
    if found is None:
        return None
    d = task.preferences.decimals
    records = found.records()
    parts = [f"**The {_PICTURES[kind]} shows {figures.listing([r['column'] for r in records])}{by}.**"]
    body = [
        [cell_code(r["column"]), r["n"], r["missing"], *(cell(r.get(name, ""), d) for name in ("mean", "std", "min", "25%", "50%", "75%", "max"))]
        for r in records
    ]
    parts.append(table(["column", "values", "missing", "mean", "std", "min", "25 %", "median", "75 %", "max"], body))
    return "\n\n".join(parts)


_TABLES: dict[str, Callable[[Task, Tables], str | None]] = {
    "describe": _describe,
    "missing": _missing,
    "counts": _counts,
    "distribution": _distribution,
    "aggregate": _aggregate,
    "rows": _rows,
    "top": _in_order,
    "head": _in_order,
    "plot": _plot,
}
