"""Offline analyst: phrasings × generated frames; the numbers in the answer are pandas' own (issue: done when, row 5; P8, P10)."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memflush_jupyter.models.offline.figures import cell, number
from memflush_jupyter.testing.offline_loop import Loop

# A font without Chinese glyphs is the machine's matter, infinities in a mean are pandas'.
pytestmark = [pytest.mark.filterwarnings("ignore::RuntimeWarning"), pytest.mark.filterwarnings("ignore:Glyph")]

N, M, G, D, F = "n", "m", "g", "d", "f"
ODD_NAMES = [
    "bill length (mm)",
    "size",
    "count",
    "mean",
    "Größe",
    "体重",
    "sales-2020",
    "a.b",
    "price $",
    "x|y",
    "share %",
    "index",
    "T",
    "values",
    "plot",
    "naïve café",
    "Δt",
    "by",
    "max",
    "group",
    "the weight",
    "two  spaces",
    "it's",
    "CamelCaseName",
    "snake_case_name",
    "column",
    "12 months",
    "😀 mood",
    "a,b",
    "date of birth",
    "end.",
    "C#",
    "time",
]
LABELS = ["Adelie", "Chinstrap", "Gentoo", "North Island", "Süd", "红", "b-2", "O'Neil"]


def mean(df, c):
    return number(float(df[c[N]].mean()))


def by_group(stat):
    def expected(df, c):
        return [number(float(v)) for v in df.groupby(c[G], observed=True)[c[N]].agg(stat).dropna()]

    return expected


def one(stat):
    return lambda df, c: [number(float(df[c[N]].agg(stat)))]


def eta(df, c):
    known = df.dropna(subset=[c[G]])
    groups = known.groupby(c[G], observed=True)[c[N]]
    total = ((known[c[N]] - known[c[N]].mean()) ** 2).sum()
    within = ((known[c[N]] - groups.transform("mean")) ** 2).sum()
    if known[c[G]].nunique() < 2:
        return []
    return [*(number(float(v)) for v in groups.mean().dropna()), *([number(float(1 - within / total))] if total else [])]


def pearson(df, c):
    r = df[[c[N], c[M]]].corr().iloc[0, 1]
    return ["not defined"] if math.isnan(r) else [number(float(r))]


def spearman(df, c):
    r = df[[c[N], c[M]]].corr(method="spearman").iloc[0, 1]
    return ["not defined"] if math.isnan(r) else [number(float(r))]


def line(df, c):
    known = df[[c[M], c[N]]].dropna().astype(float)
    if known[c[M]].nunique() < 2:
        return ["No line can be fitted"]
    x = known[c[M]].to_numpy()
    design = np.column_stack([x, np.ones(len(x))])
    slope, intercept = np.linalg.lstsq(design, known[c[N]].to_numpy(), rcond=None)[0]
    return [number(float(slope)), number(abs(float(intercept)))]


def missing(df, c):
    lost = df.isna().sum()
    return [str(v) for v in lost[lost > 0]] or ["No missing values"]


def counts(df, c):
    return [str(v) for v in df[c[G]].value_counts(dropna=False)]


def summary(df, c):
    s = df[c[N]].dropna()
    return [number(float(v)) for v in (s.mean(), s.median(), s.min(), s.max(), s.quantile(0.25))]


def fences(df, c):
    s = df[c[N]].dropna()
    q1, q3 = s.quantile([0.25, 0.75])
    low, high = q1 - 1.5 * (q3 - q1), q3 + 1.5 * (q3 - q1)
    return [number(float(low)), number(float(high)), str(int(((s < low) | (s > high)).sum()))]


def ranked(ascending):
    return lambda df, c: [cell(str(v)) for v in df[c[N]].sort_values(ascending=ascending, kind="stable").head(3).dropna()]


def rows(df, c):
    return [str(len(df))]


def only_first(df, c):
    return [number(float(df[df[c[G]] == df[c[G]].dropna().iloc[0]][c[N]].mean()))] if df[c[G]].notna().any() else []


def above_ten(df, c):
    return [number(float(df[df[c[M]] > 10][c[N]].mean()))]


def trend(df, c):
    known = df[[c[D], c[N]]].dropna()
    return [number(float(v)) for v in known.groupby(known[c[D]].dt.to_period("Y"))[c[N]].mean()]


def drawn(df, c):
    return [str(df[c[N]].notna().sum())]


PHRASINGS = [
    ("What is the mean of {n}?", one("mean")),
    ("average {n}", one("mean")),
    ("compute the average of {n} please", one("mean")),
    ("median of {n}", one("median")),
    ("what's the median {n}?", one("median")),
    ("minimum of {n}", one("min")),
    ("what is the maximum of {n}", one("max")),
    ("standard deviation of {n}", one("std")),
    ("sum of {n}", one("sum")),
    ("the total of {n}", one("sum")),
    ("variance of {n}", one("var")),
    ("mean of {n} by {g}", by_group("mean")),
    ("average {n} per {g}", by_group("mean")),
    ("What is the median of {n} for each {g}?", by_group("median")),
    ("maximum {n} in each {g}", by_group("max")),
    ("show the mean {n} grouped by {g}", by_group("mean")),
    ("sum of {n} across {g}", by_group("sum")),
    ("which {g} has the highest average {n}?", by_group("mean")),
    ("compare {n} by {g}", eta),
    ("compare {n} between {g}", eta),
    ("How does {n} differ by {g}?", eta),
    ("does {n} separate {g}?", eta),
    ("difference in {n} across {g}", eta),
    ("effect size of {n} by {g}", eta),
    ("correlation between {n} and {m}", pearson),
    ("how are {n} and {m} related?", pearson),
    ("correlate {n} and {m}", pearson),
    ("Is {n} correlated with {m}?", pearson),
    ("pearson correlation of {n} and {m}", pearson),
    ("spearman correlation of {n} and {m}", spearman),
    ("relationship between {n} and {m}", pearson),
    ("regress {n} on {m}", line),
    ("linear regression of {n} on {m}", line),
    ("fit a line of {n} on {m}", line),
    ("predict {n} from {m}", line),
    ("least squares of {n} against {m}", line),
    ("how many missing values are there?", missing),
    ("missing values", missing),
    ("are there any NaN in df?", missing),
    ("count the nulls in df", missing),
    ("value counts of {g}", counts),
    ("how often does each {g} occur?", counts),
    ("frequency of {g}", counts),
    ("what are the unique values of {g}?", counts),
    ("how many rows per {g}?", counts),
    ("distribution of {n}", summary),
    ("show me the distribution of {n}", summary),
    ("what does the distribution of {n} look like?", summary),
    ("describe {n}", lambda df, c: [number(float(df[c[N]].mean())), number(float(df[c[N]].median()))]),
    ("summarise {n}", lambda df, c: [number(float(df[c[N]].mean()))]),
    ("outliers in {n}", fences),
    ("are there outliers in {n}?", fences),
    ("find unusual values of {n}", fences),
    ("detect anomalies in {n}", fences),
    ("top 3 by {n}", ranked(False)),
    ("the 3 largest {n}", ranked(False)),
    ("bottom 3 by {n}", ranked(True)),
    ("the 3 smallest {n}", ranked(True)),
    ("how many rows are there?", rows),
    ("number of rows", rows),
    ("shape of df", rows),
    ("mean of {n} only for {v}", only_first),
    ("average {n} for {v}", only_first),
    ("mean of {n} where {m} > 10", above_ten),
    ("average {n} where {m} is above 10", above_ten),
    ("mean of {n} when {m} is greater than 10", above_ten),
    ("trend of {n} over {d} by year", trend),
    ("yearly trend of {n} over time", trend),
    ("how did {n} change over time, yearly?", trend),
    ("histogram of {n}", drawn),
    ("plot {n}", drawn),
    ("draw a box plot of {n} by {g}", drawn),
    ("boxplot of {n}", drawn),
    ("scatter plot of {n} against {m}", drawn),
    ("line plot of {n} over {d}", drawn),
    ("bar chart of {g}", lambda df, c: [str(v) for v in df[c[G]].value_counts()]),
    ("{n}的平均值", one("mean")),
    ("按{g}比较{n}", eta),
    ("{n}和{m}的相关性", pearson),
    ("{n}的分布", summary),
    ("有多少缺失值", missing),
    ("画出{n}的直方图", drawn),
    ("{n}的异常值", fences),
    ("{g}的频数", counts),
    ("各{g}的{n}的平均值", by_group("mean")),
    ("有多少行", rows),
]


@st.composite
def frames(draw):
    names = draw(st.lists(st.sampled_from(ODD_NAMES), min_size=5, max_size=5, unique_by=str.casefold))
    columns = dict(zip((N, M, G, D, F), names, strict=True))
    size = draw(st.integers(1, 25))
    value = st.floats(-1e5, 1e5, allow_nan=False).map(lambda v: round(v, 3))
    maybe = st.one_of(value, value, value, st.just(math.nan))
    data = {
        columns[N]: draw(st.lists(maybe, min_size=size, max_size=size)),
        columns[M]: draw(st.lists(st.integers(-50, 50), min_size=size, max_size=size)),
        columns[G]: draw(st.lists(st.one_of(*[st.sampled_from(LABELS)] * 4, st.none()), min_size=size, max_size=size)),
        columns[D]: draw(st.lists(st.dates(pd.Timestamp("2018-01-01").date(), pd.Timestamp("2025-12-31").date()), min_size=size, max_size=size)),
        columns[F]: draw(st.lists(st.booleans(), min_size=size, max_size=size)),
    }
    df = pd.DataFrame(data)
    df[columns[N]] = df[columns[N]].astype(float)
    df[columns[D]] = pd.to_datetime(df[columns[D]])
    if draw(st.booleans()):
        df[columns[G]] = df[columns[G]].astype("category")
    return df, columns


def ask(df, prompt):
    loop = Loop({"df": df})
    before = df.copy(deep=True)
    answer = loop.ask(prompt)
    pd.testing.assert_frame_equal(loop.namespace["df"], before)
    return loop, answer


@pytest.mark.parametrize(("phrasing", "expected"), PHRASINGS, ids=[phrasing for phrasing, _ in PHRASINGS])
@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture])
@given(made=frames())
def test_numbers_in_the_answer_equal_pandas(phrasing, expected, made):
    df, columns = made
    known = df[columns[G]].dropna()
    if "{v}" in phrasing and known.empty:
        return
    quoted = {role: f"`{name}`" for role, name in columns.items()}
    prompt = phrasing.format(**quoted, v=known.iloc[0] if len(known) else "")
    loop, answer = ask(df, prompt)
    assert loop.codes, f"no code was run for {prompt!r}: {answer}"
    if df[columns[N]].notna().sum() == 0:
        return  # nothing to compute: the answer is tested on its own
    for value in expected(df, columns):
        assert value in answer, f"{value!r} is missing in the answer to {prompt!r}:\n{answer}"


UNKNOWN = [
    "write me a poem about penguins",
    "why do Gentoo penguins weigh more?",
    "what should I do with this data?",
    "train a neural network on it",
    "does body mass cause long flippers?",
    "is the difference significant?",
    "translate the column names into French",
    "what is the meaning of life?",
    "what is the mean of the left wing?",
    "average happiness by species",
    "cluster the rows with k-means",
    "who won the world cup?",
    "mean body mass of striped penguins",
    "predict tomorrow's weather",
    "drop the column sex",
    "mean body mass without outliers",
    "sing",
    "blorp the frobnicator",
    "为什么体重不同?",
]


@pytest.mark.parametrize("prompt", UNKNOWN)
def test_unknown_requests_are_refused_never_answered_wrongly(prompt):
    df = pd.DataFrame({"species": ["Gentoo", "Adelie"], "sex": ["male", "female"], "body_mass_g": [5000.0, 3700.0]})
    loop, answer = ask(df, prompt)
    assert all("# values of df" in code for code in loop.codes)
    assert any(sign in answer for sign in ("I do not understand", "I cannot", "I could not match")), answer
    assert "5000" not in answer
    assert "3700" not in answer
    assert "4350" not in answer
