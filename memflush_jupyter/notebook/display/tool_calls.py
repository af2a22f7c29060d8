"""A tool call as one collapsed line that opens to its code, its output, its tables and its error.

It is markdown with a ``<details>`` around: front ends highlight fenced code in their own colours, light or dark, and nothing
of it is lost where the notebook is not trusted. The copy button is made when the line is opened, by an attribute that only
trusted pages keep, so that no dead button is left elsewhere.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Sequence
from typing import Any

from memflush_jupyter.notebook.display.render import Bundle, plural, shortened, tool_argument
from memflush_jupyter.notebook.display.tracebacks import Told, told

FOLD_LINES = 30
"""Lines of an output that are shown at once; the rest opens by its own line."""
_HEAD_LINES = 20
_MESSAGE_CHARS = 100
_OUTPUT_LABEL = "<div><small>Output</small></div>"
_COPY = (
    "if(!this.dataset.copy){this.dataset.copy=1;const b=document.createElement('button');b.textContent='Copy';"
    "b.onclick=()=>navigator.clipboard.writeText(this.querySelector('pre').innerText).then(()=>{b.textContent='Copied'});"
    "this.querySelector('summary').after(b)}"
)
_STYLE = re.compile(r"<style\b.*?</style>|<script\b.*?</script>", re.DOTALL | re.IGNORECASE)
_DATED_FILE = re.compile(r"memory/\d{4}-\d\d-\d\d\.md\b")
_REFERENCE = re.compile(r"\[[0-9a-f]{4,32}#(\d+)( (?:user|agent|tool))?(?: \d{4}-\d\d-\d\d)?\]")
_BLANK = re.compile(r"\n\s*\n")


def tool_call(
    name: str,
    given: dict[str, Any],
    state: str,
    output: str | None,
    *,
    opened: bool = False,
    is_error: bool = False,
    tables: Sequence[Bundle] = (),
) -> Bundle:
    """``run_python · 12 lines · ok``, opening to code and output.

    Args:
        name: the tool.
        given: what the model gave it.
        state: a word such as ``ok``; for failed code the error takes its place.
        output: what came back, ``None`` while nothing has.
        opened: show it opened.
        is_error: whether the call failed.
        tables: displays with HTML that belong to the output.
    """
    runs_code = name == "run_python"
    code = str(given.get("code", "")) if runs_code else json.dumps(given, indent=1, ensure_ascii=False, sort_keys=True) if given else ""
    failure = told(output or "", code) if is_error and runs_code else None
    if failure is not None:
        state = _flat(failure.last)
    parts = []
    if code.strip():
        parts.append(_code(code, "python" if runs_code else "json"))
    if failure is not None:
        parts += [*_output(failure.before, tables), _error(failure)]
    elif output:
        parts += _output(output, tables)
    if len(parts) > 1 and code.strip() and output and (failure is None or failure.before):
        parts.insert(1, _OUTPUT_LABEL)
    line = " · ".join(part for part in (name, tool_argument(name, given), state) if part)
    return folded(line, parts, opened=opened, copied=runs_code and bool(code.strip()))


def folded(summary: str, parts: Sequence[str], *, opened: bool = False, copied: bool = False) -> Bundle:
    """A collapsed line over blocks of markdown."""
    attributes = (" open" if opened else "") + (f' ontoggle="{_COPY}"' if copied else "")
    head = f"<details{attributes}><summary>{_quiet(summary)}</summary>"
    body = [f"{head}<blockquote>", *parts, "</blockquote></details>"]
    return {"text/markdown": "\n\n".join(body) if parts else f"{head}</details>", "text/plain": f"▸ {summary}"}


def fenced(text: str, language: str = "") -> str:
    """Text as a fenced block, whatever it holds."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{shortened(text).rstrip(chr(10))}\n{fence}"


def _code(text: str, language: str) -> str:
    """A fenced block that nbconvert's page shows with letters of one width too: its own style gives fences the font of what is around them."""
    return f'<div style="font-family: monospace">\n\n{fenced(text, language)}\n\n</div>'


def undated(name: str, text: str) -> str:
    """The output of a memory tool without dates and conversation ids, which differ from day to day and run to run (P9)."""
    if not name.startswith("memory_"):
        return text
    return _DATED_FILE.sub("memory/", _REFERENCE.sub(r"[message \1\2]", text))


def _output(text: str, tables: Sequence[Bundle]) -> list[str]:
    """What a call printed, and the tables it gave; a table that is all of the output is not told twice."""
    shown = [_table(str(table["text/html"])) for table in tables]
    said = {str(table.get("text/plain", "")).strip() for table in tables}
    text = "" if text.strip() in said else text.rstrip()
    if not text.strip():
        return shown
    lines = shortened(text).split("\n")
    if len(lines) <= FOLD_LINES:
        return [_code("\n".join(lines), "text"), *shown]
    rest = lines[_HEAD_LINES:]
    more = f"<details><summary>{_quiet(plural(len(rest), 'more line'))}</summary>"
    return [_code("\n".join(lines[:_HEAD_LINES]), "text"), f"{more}\n\n{_code(chr(10).join(rest), 'text')}\n\n</details>", *shown]


def _table(markup: str) -> str:
    """A table's HTML as one block of markdown: no styles, no empty lines, no dollars that would be taken for mathematics."""
    kept = _BLANK.sub("\n", _STYLE.sub("", markup)).strip()
    return "\n".join(line.strip() for line in kept.splitlines()).replace("$", "&#36;")


def _error(failure: Told) -> str:
    return f"<div><small>Error in code that the agent ran</small></div>\n\n<pre><code>{failure.markup.replace('$', '&#36;')}</code></pre>"


def _quiet(text: str) -> str:
    return html.escape(text).replace("$", "&#36;")


def _flat(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _MESSAGE_CHARS else f"{flat[:_MESSAGE_CHARS]}…"
