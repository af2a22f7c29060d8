"""Mending what failed on a value: divisions by zero, types that do not fit, numbers that are none."""

from __future__ import annotations

import ast
import re

from memflush_jupyter.models.offline import figures
from memflush_jupyter.models.offline.mending_case import Case, Mended


def zero_division(case: Case) -> Mended:
    """A division whose divisor is zero."""
    found = [node for node in _operations(case) if isinstance(node.op, ast.Div | ast.FloorDiv | ast.Mod)]
    why = "The divisor is zero here."
    if len(found) != 1:
        return Mended(f"{why} Decide what the result is then, and test for it before dividing.")
    node = found[0]
    divisor = _text(case, node.right)
    if isinstance(node.right, ast.Constant):
        return Mended(f"The divisor is the constant {figures.code(divisor)}: there is no such quotient.")
    if any(isinstance(part, ast.Call) for part in ast.walk(node.right)):
        return Mended(f"{figures.code(divisor)} gave zero. Decide what the result is then, and test for it before dividing.")
    whole = _text(case, node)
    guarded = f'({whole} if {divisor} != 0 else float("nan"))'
    return Mended(
        f"{figures.code(divisor)} is zero here.",
        _replaced(case, node, guarded),
        "I let the result be “not a number” then; take another value if that is not what you want.",
    )


def types(case: Case) -> Mended:
    """Values whose types do not go together."""
    message = case.message
    if re.match(r"can only concatenate str \(not \"\w+\"\) to str|unsupported operand type\(s\) for \+: '\w+' and 'str'|must be str, not", message):
        return _text_and_number(case)
    if re.match(r"'(str|int|float)' object is not callable|'\w+' object is not callable", message):
        kind = case.quoted
        shadowed = [name for name, known in case.types.items() if known == kind]
        named = f" {figures.code(shadowed[0])} is one: was the name given to a value earlier?" if shadowed else ""
        return Mended(f"A {figures.code(kind)} is called like a function.{named} Brackets `[…]` take items, parentheses call.")
    if "is not subscriptable" in message:
        return Mended(
            f"{figures.code(case.quoted)} has no items to take with `[…]`. "
            f"If it is a function or method, call it with `(…)`; if it is `None`, something before gave nothing back."
        )
    if "is not iterable" in message:
        if case.quoted == "int" and (fixed := _ranged(case)) is not None:
            return Mended("A number cannot be looped over; `range(n)` counts up to it.", fixed)
        return Mended(f"A {figures.code(case.quoted)} cannot be looped over or unpacked.")
    if "positional argument" in message or "unexpected keyword argument" in message or "required keyword-only" in message:
        return Mended("The call does not fit the function's parameters. `help(function)` or `function?` shows them.")
    if "not supported between instances" in message:
        return Mended("Values of these two types have no order. Text that holds numbers becomes a number by `float(…)`, a column by `pd.to_numeric(…)`.")
    if "unhashable type" in message:
        return Mended(f"A {figures.code(case.quoted)} can be no dictionary key and no member of a set, because it can change. `tuple(…)` of it can.")
    return Mended("The types of the values do not go together with what is done to them" + (f": {_told(case)}." if case.types else "."))


def value(case: Case) -> Mended:
    """A value that cannot be taken for what it should be."""
    if "could not convert string to float" in case.message or "invalid literal for int()" in case.message:
        return Mended(
            'A text that is no number is to become one. `pd.to_numeric(column, errors="coerce")` makes such values missing; look first what they are. '
            "Thousands separators and units have to go before."
        )
    if "truth value of a Series is ambiguous" in case.message or "truth value of an array" in case.message or "truth value of a DataFrame" in case.message:
        return Mended(
            "Many values are asked to be one yes or no. Combine conditions with `&` and `|` and put each into parentheses, or say `.any()` or `.all()`.",
            _elementwise(case),
        )
    if "unpack" in case.message:
        return Mended("The number of names on the left does not fit the number of values on the right.")
    return Mended("The value has the right type, and the function does not accept it; the message says which one.")


def index(_: Case) -> Mended:
    """A position that is not there."""
    return Mended("The position is not there: counting starts at 0, so the last one is `len(x) - 1`, or `-1`. An empty list has none.")


def encoding(case: Case) -> Mended:
    """Bytes that are not in the expected encoding."""
    fixed = re.sub(r"(read_csv\((?:[^()]|\([^()]*\))*)\)", r'\1, encoding="latin-1")', case.cell, count=1)
    return Mended(
        "The file is not written in UTF-8. Western files of older programs are often `latin-1` or `cp1252`; look whether accents come out right.", fixed
    )


def assertion(_: Case) -> Mended:
    """A check of the person's own that failed."""
    return Mended("A check in the code failed: what it asserts is not true here. Which of the two is wrong only you can say.")


def recursion(_: Case) -> Mended:
    """A function that calls itself without end."""
    return Mended("A function calls itself without end: the case in which it stops is missing or never reached.")


def memory(_: Case) -> Mended:
    """Not enough memory."""
    return Mended("There is not enough memory for it. Take fewer rows or columns, smaller types, or work in parts.")


def _told(case: Case) -> str:
    return ", ".join(f"{figures.code(name)} is a {kind}" for name, kind in case.types.items())


def _operations(case: Case) -> list[ast.BinOp]:
    """The operations of the failed line, when the line parses by itself."""
    text = case.failed_line.strip()
    for candidate in (text, f"{text} pass"):
        try:
            return [node for node in ast.walk(ast.parse(candidate)) if isinstance(node, ast.BinOp)]
        except (SyntaxError, ValueError):
            continue
    return []


def _text(case: Case, node: ast.expr) -> str:
    return ast.get_source_segment(case.failed_line.strip(), node) or ast.unparse(node)


def _replaced(case: Case, node: ast.expr, new: str) -> str | None:
    """The cell with one expression of the failed line replaced. Offsets of the parser count bytes."""
    line = case.failed_line
    indent, body = line[: len(line) - len(line.lstrip())], line.strip().encode()
    if node.end_col_offset is None or node.lineno != node.end_lineno:
        return None
    return case.with_line(f"{indent}{body[: node.col_offset].decode()}{new}{body[node.end_col_offset :].decode()}")


def _text_and_number(case: Case) -> Mended:
    why = "Text and a number cannot be added."
    found = [node for node in _operations(case) if isinstance(node.op, ast.Add)]
    if len(found) != 1:
        return Mended(
            f"{why} `str(x)` makes text of a number, `float(x)` a number of text; an f-string joins both." + (f" Here {_told(case)}." if case.types else "")
        )
    left, right = found[0].left, found[0].right
    texts = [_is_text(side, case) for side in (left, right)]
    if texts[0] != texts[1]:
        number = right if texts[0] else left
        written = _text(case, number)
        literal = any(isinstance(side, ast.Constant | ast.JoinedStr) and _is_text(side, case) for side in (left, right))
        sure = "" if literal else " If you meant to calculate, make a number of the text with `float(…)` instead."
        return Mended(why, _replaced(case, number, f"str({written})"), f"I make text of {figures.code(written)}.{sure}")
    return Mended(f"{why} `str(x)` makes text of a number, `float(x)` a number of text.")


def _is_text(node: ast.expr, case: Case) -> bool:
    if isinstance(node, ast.JoinedStr):
        return True
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str)
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id in {"str", "input", "repr"}
    return isinstance(node, ast.Name) and case.types.get(node.id) == "str"


def _ranged(case: Case) -> str | None:
    match = re.match(r"(\s*(?:async )?for\s+.+?\s+in\s+)([\w.]+|len\([\w.]+\))(\s*:.*)$", case.failed_line)
    return case.with_line(f"{match[1]}range({match[2]}){match[3]}") if match else None


def _elementwise(case: Case) -> str | None:
    match = re.search(
        r"\[(?P<left>[^\[\]]*?(?:\[[^\[\]]*\])?[^\[\]]*?)\s+(?P<word>and|or)\s+(?P<right>[^\[\]]*?(?:\[[^\[\]]*\])?[^\[\]]*?)\]", case.failed_line
    )
    if match is None or re.search(r"\b(?:and|or)\b", match["left"] + match["right"]):
        return None
    sign = "&" if match["word"] == "and" else "|"
    line = case.failed_line
    return case.with_line(f"{line[: match.start()]}[({match['left'].strip()}) {sign} ({match['right'].strip()})]{line[match.end() :]}")
