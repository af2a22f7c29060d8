"""Answers about groups, correlation, outliers, trend and regression."""

from __future__ import annotations

import math
from itertools import combinations
from typing import TYPE_CHECKING

from memflush_jupyter.models.offline.figures import cell, cell_code, code, listing, number, safe, table

if TYPE_CHECKING:
    from collections.abc import Callable

    from memflush_jupyter.models.offline.printed import Table
    from memflush_jupyter.models.offline.task import Task

    Tables = dict[str, Table]

_PAIRS = 12
_PERIODS = 24
"""Periods of a trend that are shown; of more, the first and last half of these."""
_STRONG, _MODERATE, _WEAK = 0.7, 0.4, 0.2


def _float(text: str) -> float:
    return float(text) if text else math.nan


def _compare(task: Task, tables: Tables) -> str | None:
    found, means, sizes = tables.get("separation"), tables.get("means"), tables.get("sizes")
    if found is None or means is None or sizes is None or task.by is None:
        return None
    d = task.preferences.decimals
    by = code(task.by.name)
    records = found.records()
    known = [r for r in records if not math.isnan(_float(r["eta_squared"]))]
    counts = {r["group"]: r["rows"] for r in sizes.records()}
    if len(counts) <= 1:
        return f"**{by} has only {len(counts)} group here, so there is nothing to compare.**"
    if len(records) == 1 and known:
        lead = f"**{code(known[0]['measurement'])} by {by}: η² = {cell(known[0]['eta_squared'], d)}.**"
    elif known:
        lead = f"**{code(known[0]['measurement'])} separates {by} best: η² = {cell(known[0]['eta_squared'], d)}.**"
    else:
        lead = f"**No measurement varies enough for an effect size by {by}.**"
    # By position: a measurement may be named "group" itself.
    groups = [{**dict(zip(means.header[1:], row[1:], strict=False)), "": row[0]} for row in means.rows]
    body = [[cell_code(r["measurement"]), cell(r["eta_squared"], d), cell(r["n"]), *(cell(g.get(r["measurement"], ""), d) for g in groups)] for r in records]
    header = ["measurement", "η²", "values", *(f"mean, {safe(g[''])} (n = {counts.get(g[''], '?')})" for g in groups)]
    more = f" The first {len(groups)} of {len(counts)} groups are shown." if len(counts) > len(groups) else ""
    note = f"*η²: the part of the variance that lies between the groups.*{more}"
    return "\n\n".join([lead, table(header, body), note])


def strength(r: float) -> str:
    """A word for a coefficient."""
    if math.isnan(r):
        return "not defined"
    size = abs(r)
    word = "strong" if size >= _STRONG else "moderate" if size >= _MODERATE else "weak" if size >= _WEAK else "hardly any"
    return f"{word}, {'positive' if r > 0 else 'negative'}" if size >= _WEAK else word


def _correlation(task: Task, tables: Tables) -> str | None:
    d = task.preferences.decimals
    name = "Spearman's ρ" if task.details.spearman else "Pearson's r"
    grouped = tables.get("correlation by group")
    if grouped is not None and task.by is not None:
        body = [[cell(r["group"]), r["n"], cell(r["r"], d)] for r in grouped.records()]
        lead = f"**{name} of {code(task.columns[0].name)} and {code(task.columns[1].name)} within each {code(task.by.name)}.**"
        return "\n\n".join([lead, table(["group", "pairs", name], body)])
    found, known = tables.get("correlation"), tables.get("pairs")
    if found is None or known is None:
        return None
    matrix = {row[0]: dict(zip(found.header[1:], row[1:], strict=False)) for row in found.rows}
    n = {row[0]: dict(zip(known.header[1:], row[1:], strict=False)) for row in known.rows}
    pairs = [(a, b, matrix[a].get(b, "")) for a, b in combinations(matrix, 2)]
    if len(pairs) == 1:
        a, b, r = pairs[0]
        value = f"{name} = {cell(r, d)}" if r else f"{name} is not defined (too few pairs, or a column that does not vary)"
        return f"**{code(a)} and {code(b)}: {value}** ({strength(_float(r))}; {n[a][b]} complete pairs)."
    pairs.sort(key=lambda pair: -abs(_float(pair[2])) if pair[2] else 2.0)
    body = [[f"{cell_code(a)} – {cell_code(b)}", cell(r, d) if r else "not defined", n[a][b], strength(_float(r))] for a, b, r in pairs[:_PAIRS]]
    top = pairs[0]
    lead = f"**The strongest correlation is between {code(top[0])} and {code(top[1])}: {name} = {cell(top[2], d)}.**"
    more = f"The {len(pairs) - _PAIRS} weaker pairs are not shown." if len(pairs) > _PAIRS else ""
    return "\n\n".join(
        [
            lead if top[2] else "**No pair has a defined correlation.**",
            table(["pair", name, "pairs", "strength"], body),
            *([more] if more else []),
        ]
    )


def _outliers(task: Task, tables: Tables) -> str | None:
    found = tables.get("outliers")
    if found is None:
        return None
    d = task.preferences.decimals
    sigma = f"{task.details.sigma or 3:g}"
    records = found.records()
    total = sum(int(r["outside"]) for r in records)
    far = sum(int(r["beyond_sigma"]) for r in records)
    names = listing([r["column"] for r in records])
    parts = [
        f"**{names}: {total} values outside the IQR fences, {far} beyond {sigma} σ.**",
        table(
            ["column", "values", "lower fence", "upper fence", "outside fences", f"beyond {sigma} σ"],
            [[cell_code(r["column"]), r["n"], cell(r["low"], d), cell(r["high"], d), r["outside"], r["beyond_sigma"]] for r in records],
        ),
    ]
    shown = tables.get("outlying values")
    if shown is not None and shown.rows:
        parts += ["The values (row label and value):", table(["row", "value"], [[cell(row[0]), cell(row[1], d)] for row in shown.rows])]
    parts.append("Fences: Tukey's rule, one and a half interquartile ranges beyond the quartiles.")
    return "\n\n".join(parts)


def _trend(task: Task, tables: Tables) -> str | None:
    found, line = tables.get("trend"), tables.get("line")
    if found is None or line is None or task.by is None:
        return None
    d = task.preferences.decimals
    first = line.first()
    slope = _float(first["slope"])
    unit = f"unit of {code(task.by.name)}" if task.by.role == "number" else "year"
    which = code(task.columns[0].name)
    lost = f" ({first['left_out']} rows without a usable time or value left out)" if first["left_out"] != "0" else ""
    if not found.rows:
        return f"**No rows have both {which} and {code(task.by.name)}, so there is no trend to show.**"
    if math.isnan(slope):
        lead = f"**{which}: all {first['n']} values lie at one time, so there is no trend to show.**"
    else:
        way = "rises" if slope > 0 else "falls" if slope < 0 else "stays level"
        lead = f"**{which} {way}: the least-squares slope is {number(slope, d)} per {unit}, from {first['n']} values{lost}.**"
    records = found.records()
    shown = records if len(records) <= _PERIODS else [*records[: _PERIODS // 2], *records[-_PERIODS // 2 :]]
    body = [[cell(r["period"].removesuffix(".0")), cell(r["mean"], d), cell(r["count"])] for r in shown]
    notes = [f"The first and last {_PERIODS // 2} of {len(records)} periods are shown."] if len(shown) < len(records) else []
    return "\n\n".join([lead, table(["period", f"mean of {which}", "values"], body), *notes])


def _regression(task: Task, tables: Tables) -> str | None:
    found = tables.get("line")
    if found is None:
        return None
    d = task.preferences.decimals
    first = found.first()
    y, x = code(task.columns[0].name), code(task.columns[1].name)
    if "slope" not in first:
        return f"**No line can be fitted: {x} has {first['distinct_x']} distinct value(s) in {first['n']} complete pairs.**"
    slope, intercept = _float(first["slope"]), _float(first["intercept"])
    sign = "-" if intercept < 0 else "+"
    parts = [
        f"**{y} = {number(slope, d)} × {x} {sign} {number(abs(intercept), d)}, R² = {cell(first['r_squared'], d)}.**",
        table(
            ["slope", "intercept", "R²", "complete pairs", "incomplete rows"],
            [[number(slope, d), number(intercept, d), cell(first["r_squared"], d), first["n"], first["left_out"]]],
        ),
        "Ordinary least squares. A fit is no proof of cause.",
    ]
    return "\n\n".join(parts)


RELATIONS: dict[str, Callable[[Task, Tables], str | None]] = {
    "compare": _compare,
    "correlation": _correlation,
    "outliers": _outliers,
    "trend": _trend,
    "regression": _regression,
}
