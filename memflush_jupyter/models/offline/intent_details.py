"""The numbers and choices that a clause of a prompt names: how many, which statistic, which picture, which file."""

from __future__ import annotations

import re
from dataclasses import dataclass

from memflush_jupyter.models.offline.words import whole

FILE_PATTERN = r"[\w./~\\-]+\.(?:csv|tsv|parquet|xlsx?|json|jsonl|ndjson)(?:\.gz)?\b"
FILE = re.compile(FILE_PATTERN, re.IGNORECASE)
COUNT = r"(\d+|one|two|three|four|five|six|seven|eight|nine|ten|twenty)"
SUPERLATIVE = r"(?:largest|biggest|highest|greatest|most|longest|heaviest|tallest|deepest|oldest|newest|latest)"
DIMINUTIVE = r"(?:smallest|lowest|least|shortest|lightest|youngest|earliest)"


@dataclass(frozen=True, slots=True)
class Details:
    """Numbers and choices a clause names. ``None`` where it names none."""

    count: int | None = None
    ascending: bool = False
    stats: tuple[str, ...] = ()
    picture: str | None = None
    sigma: float | None = None
    bins: int | None = None
    spearman: bool = False
    period: str | None = None
    wants_plot: bool = False


_STATS = (
    ("mean", r"means?|averages?"),
    ("median", r"medians?"),
    ("sum", r"sums?|totals?"),
    ("min", r"min(?:imum)?|range"),
    ("max", r"max(?:imum)?|range"),
    ("std", r"std|standard deviations?"),
    ("var", r"variances?"),
)
_PICTURES = (
    ("hist", r"hist|histograms?"),
    ("scatter", r"scatter\w*"),
    ("box", r"box ?plots?|box(?:es)?|whisker"),
    ("bar", r"bars?|bar ?(?:plots?|charts?)"),
    ("line", r"lines?(?: (?:plots?|charts?))?"),
    ("hist", r"distributions?"),
    ("scatter", r"against|vs|versus"),
)
_PERIODS = (("Y", r"year(?:ly|s)?|annual(?:ly)?"), ("Q", r"quarter(?:ly|s)?"), ("M", r"month(?:ly|s)?"), ("W", r"week(?:ly|s)?"), ("D", r"dai?ly|days?"))


_HOW_MANY = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\b(?:top|bottom|first|last)\s+{COUNT}\b",
        rf"\b{COUNT}\s+(?:\w+\s+)?(?:with\s+)?(?:the\s+)?(?={SUPERLATIVE}\b|{DIMINUTIVE}\b)",
        rf"\b(?:{SUPERLATIVE}|{DIMINUTIVE})\s+{COUNT}\b",
    )
)


def without_counts(text: str) -> str:
    """The text without the numbers that say how many ("top 5", "the 3 largest")."""
    for pattern in _HOW_MANY:
        text = pattern.sub(" ", text)
    return text


def _first(pairs: tuple[tuple[str, str], ...], text: str) -> str | None:
    return next((name for name, pattern in pairs if re.search(rf"\b(?:{pattern})\b", text, re.IGNORECASE)), None)


def details(text: str) -> Details:
    """Read the numbers and choices of a clause (English, mentions masked)."""
    count = next((match for pattern in _HOW_MANY if (match := pattern.search(text))), None)
    sigma = re.search(r"\b(\d+(?:\.\d+)?)[\s-]*(?:sigmas?|σ|standard deviations?|sds?)\b|(\d+(?:\.\d+)?)\s*σ", text, re.IGNORECASE)
    bins = re.search(r"\b(\d+)\s+bins\b|\bbins?\s*=?\s*(\d+)\b", text, re.IGNORECASE)
    return Details(
        count=whole(count[1]) if count else None,
        ascending=bool(re.search(rf"\bbottom\b|\b{DIMINUTIVE}\b|\bascending\b", text, re.IGNORECASE)),
        stats=tuple(name for name, pattern in _STATS if re.search(rf"\b(?:{pattern})\b", text, re.IGNORECASE)),
        picture=_first(_PICTURES, text),
        sigma=float(sigma[1] or sigma[2]) if sigma else None,
        bins=int(bins[1] or bins[2]) if bins else None,
        spearman=bool(re.search(r"\bspearman\b|\brank correlation\b", text, re.IGNORECASE)),
        period=_first(_PERIODS, text),
        wants_plot=bool(re.search(r"\b(?:plot|plots|chart|graph|draw|visuali[sz]e|histogram|scatter\w*|box ?plot)\b", text, re.IGNORECASE)),
    )


def file_in(text: str) -> str | None:
    """The data file a clause names."""
    quoted = re.search(r"[`\"']([^`\"'\n]+\.(?:csv|tsv|parquet|xlsx?|json|jsonl|ndjson)(?:\.gz)?)[`\"']", text, re.IGNORECASE)
    match = FILE.search(text)
    return quoted[1] if quoted else match[0] if match else None
