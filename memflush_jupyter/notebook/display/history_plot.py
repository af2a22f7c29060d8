"""Tokens over turns as a static plot: plain divs, which survive a notebook that is not trusted, and a table that says the same."""

from __future__ import annotations

from typing import Any

from memflush_jupyter.notebook.display.gauge import COLOURS

HEIGHT_PX = 120
BARS = 120
"""The latest turns that are drawn; the table has them too."""
_BAR = COLOURS["summary"]
_FLUSHED = COLOURS["memory"]
_COMPACTED = COLOURS["results"]
_WIDTH = 40


def plot(data: dict[str, Any]) -> dict[str, Any]:
    """The history of ``budget_data`` as HTML and text."""
    points = data["history"][-BARS:]
    if not points:
        says = "No turn has ended in this kernel yet; the history begins with the first."
        return {"text/html": f"<div>{says}</div>", "text/plain": says}
    top = max(data["window"], *(point["used"] for point in points), 1)
    return {"text/html": _html(points, top), "text/plain": _text(points, top)}


def marks(point: dict[str, Any]) -> str:
    """What happened in a turn, in words."""
    return ", ".join(word for word in ("flushed", "compacted") if point[word])


def _html(points: list[dict[str, Any]], top: int) -> str:
    bars = "".join(_bar(point, top) for point in points)
    peak = max(point["used"] for point in points)
    caption = f"Tokens in the context after each turn: {len(points)} turn(s), at most {peak:,} of {top:,}."
    legend = f"{_swatch(_FLUSHED)}&nbsp;saved to memory&ensp;{_swatch(_COMPACTED)}&nbsp;compacted"
    rows = "".join(f"<tr><td>{point['turn']}</td><td>{point['used']:,}</td><td>{marks(point)}</td></tr>" for point in points)
    table = f"<table><thead><tr><th>turn</th><th>tokens</th><th>what happened</th></tr></thead><tbody>{rows}</tbody></table>"
    area = f'<div role="img" aria-label="{caption}" style="display:flex;width:100%;height:{HEIGHT_PX + 12}px">{bars}</div>'
    return f"<div>{area}<div><small>{caption}</small></div><div><small>{legend}</small></div><details><summary>as a table</summary>{table}</details></div>"


def _bar(point: dict[str, Any], top: int) -> str:
    height = max(round(point["used"] * HEIGHT_PX / top), 1)
    ticks = "".join(_mark(colour if point[word] else "transparent") for word, colour in (("flushed", _FLUSHED), ("compacted", _COMPACTED)))
    space = f'<div style="height:{HEIGHT_PX - height}px"></div>'
    solid = f'<div style="background-color:{_BAR};height:{height}px;width:80%"></div>'
    return f'<div style="width:100%;max-width:28px">{space}{solid}{ticks}</div>'


def _mark(colour: str) -> str:
    return f'<div style="background-color:{colour};height:6px;width:80%"></div>'


def _swatch(colour: str) -> str:
    return f'<span style="background-color:{colour}">&nbsp;&nbsp;&nbsp;</span>'


def _text(points: list[dict[str, Any]], top: int) -> str:
    width = max(len(str(point["turn"])) for point in points)
    lines = []
    for point in points:
        said = marks(point)
        bar = "█" * max(round(point["used"] * _WIDTH / top), 1)
        lines.append(f"turn {point['turn']:>{width}}  {bar.ljust(_WIDTH)}  {point['used']:,}" + (f"  {said}" if said else ""))
    return "\n".join(lines)
