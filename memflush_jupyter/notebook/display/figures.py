"""Figures that agent code made: which line made each, as a caption below it and as the image's description."""

from __future__ import annotations

import html
import re
from typing import Any

from memflush_jupyter.notebook.capture import FOLDED, LINE, METADATA

Bundle = dict[str, Any]

IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp", "image/svg+xml")
SOURCE_CHARS = 90
_DRAWS = re.compile(
    r"\.(?:plot|scatter|hist|hist2d|hexbin|bar|barh|boxplot|violinplot|pie|stackplot|step|stem|errorbar|fill_between|imshow|matshow|pcolormesh|contourf?"
    r"|heatmap|pairplot|lmplot|regplot|jointplot|catplot|relplot|displot|histplot|kdeplot|lineplot|barplot|countplot|scatterplot)\b\s*(?:\.\w+)?\("
)
_SHOWS = re.compile(r"\b(?:show|display|savefig|tight_layout|close)\(")


def is_folded(bundle: Bundle) -> bool:
    """Whether a display is a table that belongs into its call's own output."""
    return bool((bundle.get(METADATA) or {}).get(FOLDED))


def is_figure(bundle: Bundle) -> bool:
    """Whether a display is an image."""
    return any(kind in bundle for kind in IMAGES)


def clean(bundle: Bundle) -> Bundle:
    """The display without what only this package reads."""
    about = {key: value for key, value in (bundle.get(METADATA) or {}).items() if key not in {FOLDED, LINE}}
    data = {key: value for key, value in bundle.items() if key != METADATA}
    return {**data, METADATA: about} if about else data


def described(bundle: Bundle, text: str) -> Bundle:
    """The figure with a description for those who cannot see it."""
    made = clean(bundle)
    about = dict(made.get(METADATA) or {})
    for kind in IMAGES:
        if kind in made:
            own = about.get(kind)
            about[kind] = {**(own if isinstance(own, dict) else {}), "alt": text}
    return {**made, METADATA: about}


def caption(number: int, bundle: Bundle, code: str) -> str:
    """``Figure 1 · line 7: ax.scatter(…)``: the last line that draws, up to where the figure was shown."""
    lines = code.splitlines()
    shown_at = int((bundle.get(METADATA) or {}).get(LINE, 0))
    if not 0 < shown_at <= len(lines):
        shown_at = len(lines)
    at = shown_at
    if not _DRAWS.search(lines[at - 1] if lines else ""):
        drawing = [place for place in range(1, shown_at + 1) if _DRAWS.search(lines[place - 1])]
        showing = [place for place in range(1, shown_at + 1) if _SHOWS.search(lines[place - 1])]
        at = (drawing or showing or [0])[-1]
    if not at:
        return f"Figure {number}"
    source = " ".join(lines[at - 1].split())
    source = source if len(source) <= SOURCE_CHARS else f"{source[:SOURCE_CHARS]}…"
    return f"Figure {number} · line {at}: {source}"


def caption_bundle(text: str) -> Bundle:
    """The line below a figure."""
    head, colon, source = text.partition(": ")
    code = f": <code>{html.escape(source)}</code>" if colon else ""
    return {"text/html": f"<div><small>{html.escape(head)}{code}</small></div>", "text/plain": text}
