"""How numbers and names are written in an answer."""

from __future__ import annotations

import math
import re

_INTEGER = re.compile(r"[+-]?\d+\Z")
_LARGE = 1e15
_SMALL = 1e-4


def number(value: float, decimals: int | None = None) -> str:
    """A number for people: whole numbers whole, two decimals from 1 on, four significant digits below; or as asked."""
    if math.isnan(value):
        return "not defined"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if decimals is not None:
        return f"{value:.{decimals}f}"
    size = abs(value)
    if value == int(value) and size < _LARGE:
        return str(int(value))
    if size >= _LARGE or size < _SMALL:
        return f"{value:.4g}"
    return f"{value:.2f}" if size >= 1 else f"{value:.4g}"


def cell(text: str, decimals: int | None = None) -> str:
    """A printed cell for a markdown table: numbers rounded, text made safe, missing as a dash."""
    if text == "":
        return "–"
    if _INTEGER.match(text):
        return text
    try:
        return number(float(text), decimals)
    except ValueError:
        return safe(text)


def safe(text: str, limit: int = 60) -> str:
    """Text that cannot break a markdown table or start markup of its own."""
    flat = " ".join(text.split())
    flat = flat if len(flat) <= limit else flat[: limit - 1] + "…"
    return re.sub(r"([\\|`*_<>\[\]$])", r"\\\1", flat) if flat else "(blank)"


def code(name: str) -> str:
    """A name in code font, whatever characters it holds."""
    flat = " ".join(str(name).split()) or str(name)
    longest = max((len(run) for run in re.findall(r"`+", flat)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if flat.startswith("`") or flat.endswith("`") else ""
    return f"{fence}{pad}{flat}{pad}{fence}"


def cell_code(name: str) -> str:
    """As `code`, inside a table."""
    return code(name).replace("|", "\\|")


def share(part: float, whole: float) -> str:
    """A percentage with one decimal."""
    return f"{100 * part / whole:.1f} %" if whole else "–"


def table(header: list[str], rows: list[list[str]]) -> str:
    """A markdown table; the first column is left-aligned, the rest right-aligned."""
    lines = ["| " + " | ".join(header) + " |", "|" + "|".join([":---"] + ["---:"] * (len(header) - 1)) + "|"]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)


def listing(names: list[str], limit: int = 12) -> str:
    """Names in code font, joined; over the limit the rest is counted."""
    shown = ", ".join(code(name) for name in names[:limit])
    return shown if len(names) <= limit else f"{shown} and {len(names) - limit} more"
