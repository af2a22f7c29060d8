"""The error of code that the agent ran, drawn as the kernel draws errors: the failing lines with an arrow, in colours.

It is made from the text that the model got, so that it is the same in the cell, in ``%agent show`` and on any machine: no
paths, no process ids, no execution counts. Colours are hex and read on light and dark.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass

RED, GREEN, BLUE = "#dc2626", "#15a34a", "#0891b2"
CONTEXT_LINES = 2
"""Lines of the code shown above and below the failing one."""
_WIDTH = 48
_TITLE = "Traceback (most recent call last)"
_START = "Traceback:"
_OWN = re.compile(r"^  line (?P<number>\d+)(?: in (?P<function>\S+))?: ?(?P<source>.*)$")
_LAST = re.compile(r"^(?P<kind>[A-Za-z_][\w.]*)(?::\s*(?P<message>.*))?$", re.DOTALL)
_NAMED = re.compile(r"^[A-Z]\w*(?:Error|Exception|Interrupt|Exit|Warning|Iteration|Group)\b")


@dataclass(frozen=True)
class Told:
    """An error: what was printed before it, its last line, and the whole as HTML for a ``<pre>`` and as text."""

    before: str
    last: str
    markup: str
    text: str


def told(output: str, code: str) -> Told | None:
    """The error at the end of a failed call's output, or ``None`` when there is none of code."""
    before, lines = _parted(output)
    if not lines:
        return None
    frames = [line for line in lines[1:] if line.startswith("  ")] if lines[0] == _START else []
    rest = lines[1 + len(frames) :] if frames else lines
    last = rest[0] if rest else ""
    match = _LAST.match(last)
    if match is None:
        return None
    kind, message = match["kind"], match["message"] or ""
    gap = " " * max(_WIDTH - len(_TITLE) - len(kind), 1)
    plain = ["-" * _WIDTH, f"{kind}{gap}{_TITLE}"]
    markup = [_coloured("-" * _WIDTH, RED), f"{_coloured(kind, RED)}{gap}{_TITLE}"]
    if not frames:
        plain, markup = [], []
    source = code.splitlines()
    for frame in frames:
        drawn = _frame(frame, source)
        plain += [text for text, _ in drawn]
        markup += [marked for _, marked in drawn]
    more = rest[1:]
    head = f"{_coloured(kind, RED)}: {html.escape(message)}" if message else _coloured(kind, RED)
    space = [""] if frames else []
    return Told(
        before.rstrip(),
        last,
        "\n".join([*markup, *space, head, *map(html.escape, more)]),
        "\n".join([*plain, *space, last, *more]),
    )


def _parted(output: str) -> tuple[str, list[str]]:
    lines = output.rstrip().split("\n")
    for place in range(len(lines) - 1, -1, -1):
        if lines[place] == _START:
            return "\n".join(lines[:place]), lines[place:]
    for place in range(len(lines) - 1, -1, -1):
        if _NAMED.match(lines[place]):
            return "\n".join(lines[:place]), lines[place:]
    return output, []


def _frame(line: str, source: list[str]) -> list[tuple[str, str]]:
    """One frame as pairs of text and markup: lines of the agent's own code with what stands around them."""
    match = _OWN.match(line)
    if match is None:
        return [(line.strip(), _coloured(line.strip(), GREEN))]
    number = int(match["number"])
    where = f", in {match['function']}" if match["function"] else ""
    title = f"Agent's code, line {number}{where}"
    drawn = [(title, _coloured(title, GREEN))]
    if not 0 < number <= len(source) or source[number - 1].strip() != match["source"].strip():
        text = f"----> {number} {match['source']}"
        return [*drawn, (text, _arrow(number, match["source"]))]
    for at in range(max(number - CONTEXT_LINES, 1), min(number + CONTEXT_LINES, len(source)) + 1):
        text = source[at - 1]
        if at == number:
            drawn.append((f"{'-' * max(5 - len(str(at)), 1)}> {at} {text}", _arrow(at, text)))
        else:
            drawn.append((f"{at:>8} {text}", f"{_coloured(f'{at:>8}', BLUE)} {html.escape(text)}"))
    return drawn


def _arrow(number: int, text: str) -> str:
    return f"{_coloured(f'{chr(45) * max(5 - len(str(number)), 1)}> {number}', GREEN)} {html.escape(text)}"


def _coloured(text: str, colour: str) -> str:
    return f'<span style="color:{colour}">{html.escape(text)}</span>'
