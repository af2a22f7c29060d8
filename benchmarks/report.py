"""One table for all benchmarks: what was measured, the goal, the peer or floor of the same run, and whether the goal is met."""

from __future__ import annotations

import math
import os
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

_WIDTHS = (54, 26, 26, 8, 26, 6)


@dataclass(frozen=True)
class Spread:
    """Repeats of one measure: their median, and the quartiles around it."""

    low: float
    middle: float
    high: float

    def show(self, unit: str, digits: int = 1) -> str:
        return f"{self.middle:.{digits}f} {unit} ({self.low:.{digits}f}-{self.high:.{digits}f})"


def spread(values: Sequence[float], scale: float = 1.0) -> Spread:
    """Median and quartiles of ``values`` times ``scale``."""
    ordered = sorted(value * scale for value in values)
    if len(ordered) < 2:
        return Spread(ordered[0], ordered[0], ordered[0])
    low, _, high = statistics.quantiles(ordered, n=4, method="inclusive")
    return Spread(low, statistics.median(ordered), high)


def percentile(values: Sequence[float], share: float) -> float:
    """The value that ``share`` of all values do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def head(title: str, peer: str) -> None:
    """Begin a table; ``peer`` names what the third column holds."""
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    busy = f" (busy machine: load {load:.1f} on {cores} cores; processor times say more than wall times)" if load > cores else ""
    print(f"\n{title}{busy}\n")
    _line(("measure", "ours: median (quartiles)", peer, "ratio", "goal", ""))
    print("|" + "|".join("-" * (width + 2) for width in _WIDTHS) + "|")


def row(measure: str, ours: str, peer: str = "", ratio: float | None = None, goal: str = "", *, met: bool | None = None) -> None:
    """One line. ``met`` is ``None`` for a figure without a goal."""
    verdict = "" if met is None else "met" if met else "missed"
    _line((measure, ours, peer, "" if ratio is None else f"{ratio:.2f} x", goal, verdict))


def _line(cells: tuple[str, ...]) -> None:
    print("| " + " | ".join(cell.ljust(width) for cell, width in zip(cells, _WIDTHS, strict=True)) + " |", flush=True)
