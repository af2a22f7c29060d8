"""Code for questions that relate columns: groups, correlation, outliers, trend, regression."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memflush_jupyter.models.offline.code import column, columns, fresh, identifier, imports, printed, rows, script

if TYPE_CHECKING:
    from memflush_jupyter.models.offline.task import Task


def compare(task: Task) -> str:
    """Group means of each measurement, ranked by eta squared (the share of variance that lies between groups)."""
    select, data = rows(task)
    frame, by = task.frame, task.by
    if by is None:
        raise ValueError("a comparison needs a grouping column")
    names = {name: fresh(task, name) for name in ("measurements", "known", "groups", "total", "within", "separation")}
    names["means"] = fresh(task, f"{identifier(by.name)}_means")
    m, known, groups = names["measurements"], names["known"], names["groups"]
    return script(
        imports("pd"),
        select,
        [
            f"{m} = {columns(frame, task.columns)}",
            f"{known} = {data}.dropna(subset=[{frame.ref(by)}])",
            f"{groups} = {known}.groupby({frame.ref(by)}, observed=True)[{m}]",
            f"{names['means']} = {groups}.mean()",
            "",
            "# eta squared: the share of the variance that lies between the groups",
            f"{names['total']} = (({known}[{m}] - {known}[{m}].mean()) ** 2).sum()",
            f'{names["within"]} = (({known}[{m}] - {groups}.transform("mean")) ** 2).sum()',
            f'{names["separation"]} = pd.DataFrame({{"eta_squared": 1 - {names["within"]} / {names["total"]}, "n": {known}[{m}].count()}})',
            f'{names["separation"]} = {names["separation"]}.sort_values("eta_squared", ascending=False, kind="stable")',
            "",
        ],
        printed("separation", f'{names["separation"]}.to_csv(index_label="measurement")'),
        printed("means", f'{names["means"]}.head(30).to_csv(index_label="group")'),
        printed("sizes", f'{known}.groupby({frame.ref(by)}, observed=True).size().rename("rows").to_csv(index_label="group")'),
    )


def correlation(task: Task) -> str:
    """Pearson (or Spearman) coefficients: all pairs, or one pair within groups."""
    select, data = rows(task)
    frame = task.frame
    method = "spearman" if task.details.spearman else "pearson"
    how = f'corr(method="{method}")'
    chosen = columns(frame, task.columns)
    if task.by is not None:
        name, pair = fresh(task, "by_group"), fresh(task, "pairs")
        return script(
            imports("pd"),
            select,
            [
                f"{pair} = {data}.dropna(subset={chosen}).groupby({frame.ref(task.by)}, observed=True)[{chosen}]",
                f'{name} = [{{"group": group, "n": len(part), "r": part.{how}.iloc[0, 1]}} for group, part in {pair}]',
            ],
            printed("correlation by group", f"pd.DataFrame({name}).to_csv(index=False)"),
        )
    name, known = fresh(task, "coefficients"), fresh(task, "pairs")
    return script(
        imports("pd"),
        select,
        [
            f"{name} = {data}[{chosen}].{how}",
            f"{known} = {data}[{chosen}].notna().astype(int)",
        ],
        printed("correlation", f'{name}.to_csv(index_label="column")'),
        printed("pairs", f'{known}.T.dot({known}).to_csv(index_label="column")'),
    )


def outliers(task: Task) -> str:
    """Values beyond 1.5 interquartile ranges and beyond some standard deviations."""
    select, data = rows(task)
    sigma = f"{task.details.sigma or 3:g}"
    name, values = fresh(task, "fences"), fresh(task, "values")
    lines = [
        *imports("np", "pd"),
        *select,
        f"{name} = []",
        f"for name in {columns(task.frame, task.columns)}:",
        f"    {values} = {data}[name].replace([np.inf, -np.inf], np.nan).dropna().astype(float)",
        f"    q1, q3 = {values}.quantile([0.25, 0.75])",
        "    low, high = q1 - 1.5 * (q3 - q1), q3 + 1.5 * (q3 - q1)",
        f"    far = ({values} - {values}.mean()).abs() > {sigma} * {values}.std()",
        f"    outside = ({values} < low) | ({values} > high)",
        f'    {name}.append({{"column": name, "n": len({values}), "low": low, "high": high, "outside": outside.sum(), "beyond_sigma": far.sum()}})',
        *printed("outliers", f"pd.DataFrame({name}).to_csv(index=False)"),
    ]
    if len(task.columns) == 1:
        lines += printed("outlying values", f'{values}[outside | far].sort_values(kind="stable").rename("value").head(15).to_csv(index_label="row")')
    return script(lines)


def trend(task: Task) -> str:
    """Means over time and the least-squares slope."""
    select, data = rows(task)
    frame, when = task.frame, task.by
    if when is None:
        raise ValueError("a trend needs a time column")
    value = task.columns[0]
    known = fresh(task, "series")
    time = column(frame, when, data)
    lines = [*imports("np", "pd"), *select]
    if when.role == "number":
        lines += [
            f'{known} = pd.DataFrame({{"time": {time}, "value": {column(frame, value, data)}}}).dropna().astype(float)',
            f'period = {known}["time"]',
            f'position = {known}["time"]',
        ]
    else:
        parsed = f'pd.to_datetime({time}, errors="coerce")' if when.role == "text" else f"{time}.dt.to_timestamp()" if when.dtype.startswith("period") else time
        lines += [
            f'{known} = pd.DataFrame({{"time": {parsed}, "value": {column(frame, value, data)}}}).dropna()',
            f'{known}["time"] = {known}["time"].dt.tz_localize(None)',
            f'span = ({known}["time"].max() - {known}["time"].min()).days if len({known}) else 0',
            f'period = {known}["time"].dt.to_period({_period(task)})',
            f'position = ({known}["time"] - {known}["time"].min()) / pd.Timedelta(days=365.25)',
        ]
    lines += [
        f'by_period = {known}.groupby(period)["value"].agg(["mean", "count"])',
        f'slope = np.polyfit(position, {known}["value"].astype(float), 1)[0] if position.nunique() > 1 else np.nan',
        *printed("trend", 'by_period.to_csv(index_label="period")'),
        *printed("line", f'pd.DataFrame({{"slope": [slope], "n": [len({known})], "left_out": [len({data}) - len({known})]}}).to_csv(index=False)'),
    ]
    return script(lines)


def _period(task: Task) -> str:
    if task.details.period:
        return f'"{task.details.period}"'
    return '"Y" if span > 5 * 366 else "M" if span > 92 else "D"'


def regression(task: Task) -> str:
    """Least-squares line of the first column on the second."""
    select, data = rows(task)
    y, x = task.columns[0], task.columns[1]
    frame = task.frame
    known, line = fresh(task, "known"), fresh(task, "line")
    return script(
        imports("np", "pd"),
        select,
        [
            f"{known} = {data}[{columns(frame, [x, y])}].replace([np.inf, -np.inf], np.nan).dropna().astype(float)",
            f"x, y = {known}.iloc[:, 0], {known}.iloc[:, 1]",
            f'{line} = {{"n": len({known}), "left_out": len({data}) - len({known}), "distinct_x": x.nunique()}}',
            "if x.nunique() > 1:",
            "    design = np.column_stack([x, np.ones(len(x))])",
            "    (slope, intercept), *_ = np.linalg.lstsq(design, y, rcond=None)",
            "    residual = y - (slope * x + intercept)",
            "    total = ((y - y.mean()) ** 2).sum()",
            f'    {line} |= {{"slope": slope, "intercept": intercept, "r_squared": 1 - (residual**2).sum() / total if total else np.nan}}',
        ],
        printed("line", f"pd.DataFrame([{line}]).to_csv(index=False)"),
    )
