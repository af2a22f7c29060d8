"""Mime bundles for what a turn shows. Each carries ``text/plain``, and survives in an untrusted notebook.

There only plain elements with widths and hex backgrounds are left, so no SVG, no style sheets, no CSS variables. Nothing
here may differ from day to day or machine to machine: no durations, dates or ids (P9).
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from typing import Any

Bundle = dict[str, Any]

SHOWN_CHARS = 20_000
"""Characters of a tool's output put into the notebook; the store has the whole."""
_ARGUMENT_CHARS = 60
_CODE = re.compile(r"`([^`]+)`")


def markdown(text: str) -> Bundle:
    """A reply's text."""
    return {"text/markdown": text, "text/plain": text}


def line(text: str, level: str = "info") -> Bundle:
    """One line for the person."""
    mark = {"warning": "⚠ ", "error": "✖ "}.get(level, "")
    return {"text/html": f"<div>{mark}{_marked(text)}</div>", "text/plain": f"{mark}{text}"}


def _marked(text: str) -> str:
    """Text as HTML, with what stands between backticks as code."""
    return _CODE.sub(r"<code>\1</code>", html.escape(text))


def details(summary: str, body_html: str, plain: str | None = None, *, opened: bool = False) -> Bundle:
    """A collapsed line that opens to ``body_html``; ``plain`` is its text form (default: the summary)."""
    attribute = " open" if opened else ""
    return {
        "text/html": f"<details{attribute}><summary>{html.escape(summary)}</summary>{body_html}</details>",
        "text/plain": plain if plain is not None else f"▸ {summary}",
    }


def pre(text: str) -> str:
    """Preformatted, escaped text."""
    return f"<pre>{html.escape(shortened(text))}</pre>"


def shortened(text: str, limit: int = SHOWN_CHARS) -> str:
    """Head and tail of a long text, with a sentence between."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half:,} characters are not shown here; the trace has them …]\n{text[-half:]}"


def tool_argument(name: str, given: dict[str, Any]) -> str:
    """What a tool call is about, in a few words."""
    if name == "run_python":
        count = len(str(given.get("code", "")).strip().splitlines())
        return plural(count, "line")
    for value in given.values():
        if isinstance(value, list):
            if all(isinstance(item, str) and len(item) <= _ARGUMENT_CHARS // 2 for item in value):
                return _short(", ".join(value))
            return plural(len(value), "item")
        if isinstance(value, str | int):
            return _short(str(value))
    return ""


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _ARGUMENT_CHARS else f"{flat[:_ARGUMENT_CHARS]}…"


def plural(count: int, noun: str) -> str:
    """``1 line``, ``3 lines``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def recalled(items: Sequence[dict[str, str]], trace: str) -> Bundle:
    """What recall put beside the prompt, as one collapsed line; references name the message, not the random trace id."""
    rows = [f"{_reference(item.get('ref', ''), trace)}, {item.get('origin', '')}: {item.get('text', '')}" for item in items]
    listed = "".join(f"<li>{_marked(row)}</li>" for row in rows)
    return details(f"recalled {plural(len(rows), 'earlier passage')}", f"<ul>{listed}</ul>")


def _reference(ref: str, trace: str) -> str:
    name, found, sequence = ref.partition("#")
    if not found:
        return "memory"
    if trace.startswith(name):
        return f"message {sequence}"
    return f"message {sequence} of an earlier conversation"


def memory_saved(saved: int, file: str | None, notes: Sequence[str], *, dated: bool, by_rule: bool) -> Bundle:
    """``memory: 4 notes saved to memory/2026-11-30.md``; without ``dated`` only the folder is named (P9)."""
    place = file or "memory/"
    if not dated:
        place = f"{place.rpartition('/')[0] or 'memory'}/"
    text = f"memory: {plural(saved, 'note')} saved to {place}" + (" (found by rule)" if by_rule else "")
    listed = "".join(f"<li>{_marked(note)}</li>" for note in notes)
    return details(text, f"<ul>{listed}</ul>", text) if notes else line(text)


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Bundle:
    """A small table, aligned in plain text."""
    widths = [max(len(str(row[index])) for row in [header, *rows]) for index in range(len(header))]
    plain = "\n".join("  ".join(str(cell).ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in [header, *rows])
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in header)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    return {"text/html": f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>", "text/plain": plain}
