"""Mending what does not parse: brackets, colons, quotes, old ``print``, ``=`` for ``==``, indentation."""

from __future__ import annotations

import re

from memflush_jupyter.models.offline.mending_case import Case, Mended

_CLOSING = {"(": ")", "[": "]", "{": "}"}


def syntax(case: Case) -> Mended:
    """A cell that is no Python, by what the parser says of it."""
    message, line = case.message, case.failed_line
    never = re.match(r"'([(\[{])' was never closed", message)
    if never:
        closing = _CLOSING[never[1]]
        return Mended(f"A `{never[1]}` is never closed.", _closed(case, closing), f"I add `{closing}`.")
    if message.startswith("expected ':'"):
        return Mended("A line that opens a block ends with a colon.", case.with_line(_before_comment(line, ":")), "I add it.")
    if "unterminated string literal" in message:
        return Mended("A text in this line has no closing quote.", _quoted(case), "I add it.")
    if "Missing parentheses in call to" in message:
        match = re.match(r"(\s*)(print|exec)\s+(.*?)\s*$", line)
        why = "In Python 3 `print` is a function, and takes its arguments in parentheses."
        return Mended(why, case.with_line(f"{match[1]}{match[2]}({match[3]})") if match else None)
    if "instead of '='" in message:
        fixed = re.sub(r"(?<![=!<>:+\-*/%&|^])=(?!=)", "==", line, count=1)
        return Mended("A comparison is written `==`; a single `=` assigns.", case.with_line(fixed))
    unmatched = re.match(r"unmatched '([)\]}])'", message)
    if unmatched:
        place = line.rfind(unmatched[1])
        return Mended(f"There is one `{unmatched[1]}` too many in this line.", case.with_line(line[:place] + line[place + 1 :]), "I take the last one out.")
    if "forgot a comma" in message:
        return Mended(
            "Two values stand beside each other without a comma, or with an operator missing, somewhere in this line. Which one is meant I cannot tell."
        )
    if "'return' outside function" in message or "'await' outside" in message or "'yield' outside" in message:
        return Mended("This statement belongs inside a function; in a cell, write the value alone as the last line.", _unreturned(case))
    if "cannot assign to" in message:
        return Mended("The left side of `=` must be a name, an item or an attribute. For a comparison write `==`.")
    return Mended(f"Python cannot read line {case.line}, or the end of the line before it." if case.line else "Python cannot read the cell.")


def indentation(case: Case) -> Mended:
    """A cell whose indentation does not fit."""
    lines, line = case.lines, case.failed_line
    if case.kind == "TabError" or "inconsistent use of tabs" in case.message:
        return Mended("Tabs and spaces are mixed.", case.cell.expandtabs(4), "I write every tab as spaces.")
    if "expected an indented block" in case.message:
        opener = re.search(r"on line (\d+)", case.message)
        number = int(opener[1]) if opener else case.line - 1
        indent = re.match(r"\s*", lines[number - 1])[0] if 0 < number <= len(lines) else ""  # type: ignore[index]
        if number < case.line <= len(lines) and line.strip():
            return Mended(f"The line after line {number} must be indented.", case.with_line(f"{indent}    {line.strip()}"), "I indent it.")
        return Mended(
            f"Line {number} opens a block that holds nothing; `pass` stands for “nothing”.", "\n".join([*lines[:number], f"{indent}    pass", *lines[number:]])
        )
    above = [len(text) - len(text.lstrip()) for text in lines[: max(case.line - 1, 0)] if text.strip()]
    if "unexpected indent" in case.message:
        width = above[-1] if above else 0
        return Mended("This line is indented further than the one before it, which opens no block.", case.with_line(" " * width + line.lstrip()), "I align it.")
    if "unindent does not match" in case.message and above:
        own = len(line) - len(line.lstrip())
        width = min(set(above), key=lambda known: (abs(known - own), known))
        return Mended("The indentation of this line fits no block above it.", case.with_line(" " * width + line.lstrip()), "I align it with the nearest one.")
    return Mended("The indentation of this line does not fit the lines above it.")


def _closed(case: Case, closing: str) -> str:
    """The bracket is closed at the end of its line, or at the end of the cell when the lines after it go on with it."""
    line = case.failed_line
    if line.rstrip().endswith((",", *"([{")):
        return f"{case.cell.rstrip()}\n{closing}"
    if line.rstrip().endswith(":") and not line.rstrip().endswith("::"):
        return case.with_line(f"{line.rstrip()[:-1]}{closing}:")
    return case.with_line(_before_comment(line, closing))


def _before_comment(line: str, addition: str) -> str:
    match = re.match(r"""((?:[^#'"]|'[^']*'|"[^"]*")*?)(\s*(?:#.*)?)$""", line)
    return f"{match[1]}{addition}{match[2]}" if match else f"{line.rstrip()}{addition}"


def _quoted(case: Case) -> str | None:
    line = case.failed_line
    opened = ""
    for index, letter in enumerate(line):
        if opened and letter == opened and line[index - 1] != "\\":
            opened = ""
        elif not opened and letter in "'\"":
            opened = letter
    if not opened:
        return None
    body = line.rstrip()
    tail = re.search(r"[)\]}]+:?$", body)
    # A bracket that was opened before the text is closed after it.
    cut = tail.start() if tail and body.count("(") + body.count("[") + body.count("{") >= len(tail[0].rstrip(":")) else len(body)
    return case.with_line(f"{body[:cut]}{opened}{body[cut:]}")


def _unreturned(case: Case) -> str | None:
    match = re.match(r"return\s+(.+)$", case.failed_line)
    return case.with_line(match[1]) if match else None
