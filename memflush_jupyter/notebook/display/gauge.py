"""The budget gauge: how full the context is, in plain divs with hex colours that read well on light and dark."""

from __future__ import annotations

import html
from typing import Any

from memflush_jupyter.events import Budget, Phase

COLOURS = {
    "system": "#475569",
    "tools": "#0f766e",
    "memory": "#7c3aed",
    "summary": "#0369a1",
    "conversation": "#15803d",
    "results": "#b45309",
    "recall": "#db2777",
}
_FREE = "#9ca3af"
_LINE = "#ef4444"
_OTHER = "#57534e"

PHASES: dict[Phase, str] = {
    "idle": "",
    "waiting": "Waiting for the model…",
    "thinking": "Thinking…",
    "streaming": "Answering…",
    "tools": "Running tools…",
    "approval": "Waiting for your approval…",
    "flushing": "Saving important memories…",
    "compacting": "Making room…",
    "retrying": "Trying again…",
}


def gauge(budget: Budget | None, *, says: str = "") -> dict[str, Any]:
    """The gauge as HTML and text. ``says``: words about what goes on; without a budget only they are shown."""
    if budget is None:
        return {"text/html": f"<div>{html.escape(says)}</div>", "text/plain": says}
    caption = describe(budget)
    shown = [name for name, size in budget.segments.items() if size > 0]
    legend = " ".join(
        f'<span style="background-color:{COLOURS.get(name, _OTHER)}">&nbsp;&nbsp;&nbsp;</span>&nbsp;{html.escape(name)}&nbsp;{budget.segments[name]:,}&ensp;'
        for name in shown
    )
    said = f"<div>{html.escape(says)}</div>" if says else ""
    plain = f"{caption}\n{says}" if says else caption
    return {
        "text/html": f"<div>{_bar(budget)}{_marks(budget)}<div><small>{html.escape(caption)}</small></div><div><small>{legend}</small></div>{said}</div>",
        "text/plain": plain,
    }


def status(budget: Budget | None, says: str) -> dict[str, Any]:
    """One line while a turn runs: as high as a line of the answer, which takes its place, so that nothing jumps."""
    used = f"context {'about ' if budget.approximate else ''}{_share(budget.used, budget.window)}" if budget is not None else ""
    words = " · ".join(part for part in (says, used) if part)
    # Markdown, as what takes its place: where the kind changes, a front end builds the output anew, and it blinks.
    return {"text/markdown": f"<div>{html.escape(words).replace('$', '&#36;')}</div>", "text/plain": words}


def describe(budget: Budget) -> str:
    """The figures in one line. Sizes in tokens."""
    about = "about " if budget.approximate else ""
    parts = [f"context {about}{budget.used:,} of {budget.window:,} tokens ({_share(budget.used, budget.window)})"]
    parts.append(f"flush at {budget.flush_line:,}")
    parts.append(f"compaction at {budget.compaction_line:,}")
    if budget.cached_share is not None:
        parts.append(f"{budget.cached_share:.0%} from cache")
    if budget.cost_usd is not None:
        parts.append(f"${budget.cost_usd:.2f}")
    if budget.compactions:
        parts.append(f"compacted {budget.compactions}×")
    if budget.audit_score is not None:
        parts.append(f"audit {budget.audit_score:.0%}")
    if budget.last_flush:
        parts.append(f"last flush: {budget.last_flush}")
    return " · ".join(parts)


def figures(budget: Budget) -> list[tuple[str, str]]:
    """Everything the gauge knows, as rows for ``%budget``."""
    rows = [
        ("window", f"{budget.window:,} ({budget.window_source})"),
        ("used", f"{budget.used:,} ({_share(budget.used, budget.window)})" + (" approximate" if budget.approximate else "")),
        *((f"  {name}", f"{size:,}") for name, size in budget.segments.items()),
        ("flush line", f"{budget.flush_line:,}"),
        ("compaction line", f"{budget.compaction_line:,}"),
        ("reserve for the reply", f"{budget.window - budget.compaction_line:,}"),
        ("turns", f"{budget.turn:,}"),
        ("compactions", f"{budget.compactions:,}"),
        ("last flush", budget.last_flush or "none yet"),
    ]
    if budget.audit_score is not None:
        rows.append(("audit of the last compaction", f"{budget.audit_score:.0%} still there"))
    if budget.shortened:
        rows.append(("tool results sent shorter", f"{budget.shortened:,} (saves {budget.shortened_tokens:,})"))
    if budget.cached_share is not None:
        rows.append(("from the prompt cache", f"{budget.cached_share:.1%}"))
    if budget.cost_usd is not None:
        rows.append(("cost of this kernel", f"${budget.cost_usd:.4f}"))
    return rows


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.0%}" if whole > 0 else "0%"


def _bar(budget: Budget) -> str:
    cells = [(COLOURS.get(name, _OTHER), size) for name, size in budget.segments.items() if size > 0]
    cells.append((_FREE, max(budget.window - sum(size for _, size in cells), 0)))
    whole = max(sum(size for _, size in cells), 1)
    inner = "".join(f'<div style="background-color:{colour};width:{size * 100 / whole:.2f}%;height:10px"></div>' for colour, size in cells if size > 0)
    return f'<div style="display:flex;width:100%;height:10px">{inner}</div>'


def _marks(budget: Budget) -> str:
    """Ticks under the bar at the flush line and the compaction line."""
    first = _percent(budget.flush_line, budget.window)
    second = max(_percent(budget.compaction_line, budget.window) - first, 0.0)
    tick = f'<div style="background-color:{_LINE};width:2px;height:5px"></div>'
    return f'<div style="display:flex;width:100%;height:5px"><div style="width:{first:.2f}%"></div>{tick}<div style="width:{second:.2f}%"></div>{tick}</div>'


def _percent(part: int, whole: int) -> float:
    return min(max(part * 100 / whole, 0.0), 100.0) if whole > 0 else 0.0
