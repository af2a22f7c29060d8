"""Pieces of Python that every analysis shares: the rows in question, columns by name, tables printed to be read back."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memflush_jupyter.models.offline.schema import Column, Frame
    from memflush_jupyter.models.offline.task import Condition, Task

_LINE = 100
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?")


def quote(text: str) -> str:
    """A Python string literal in double quotes, as formatters write it."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    return f'"{escaped}"'


def fresh(task: Task, name: str) -> str:
    """A variable name that is nobody's: the person's variables are never overwritten."""
    candidate, count = identifier(name), 1
    while candidate in task.taken:
        count += 1
        candidate = f"{identifier(name)}_{count}"
    return candidate


def identifier(text: str) -> str:
    """A Python name made from any text."""
    name = re.sub(r"\W+", "_", text).strip("_").lower() or "result"
    return f"_{name}" if name[0].isdigit() else name


def column(frame: Frame, which: Column, rows: str | None = None) -> str:
    """``penguins["sex"]``."""
    return f"{rows or frame.name}[{frame.ref(which)}]"


def columns(frame: Frame, which: Sequence[Column]) -> str:
    """``["bill_length_mm", "body_mass_g"]``, broken over lines when long."""
    refs = [frame.ref(item) for item in which]
    line = "[" + ", ".join(refs) + "]"
    return line if len(line) <= _LINE else "[\n    " + ",\n    ".join(refs) + ",\n]"


def rows(task: Task) -> tuple[list[str], str]:
    """The lines that select the rows in question, and the name that then holds them: the frame's own without filters."""
    if not task.filters:
        return [], task.frame.name
    name = fresh(task, f"{task.frame.name}_selected")
    tests = [_test(task.frame, condition) for condition in task.filters]
    joined = tests[0] if len(tests) == 1 else " & ".join(f"({test})" for test in tests)
    return [f"{name} = {task.frame.name}[{joined}]"], name


def _value(condition: Condition, value: str) -> str:
    if condition.column.role == "number" and _NUMBER.fullmatch(value):
        return value
    if condition.column.role == "flag" and value in {"True", "False"}:
        return value
    return quote(value)


def _test(frame: Frame, condition: Condition) -> str:
    where = column(frame, condition.column)
    values = [_value(condition, value) for value in condition.values]
    numbers = all(_NUMBER.fullmatch(value) for value in condition.values)
    if condition.column.role == "time" or condition.operator == "year":
        if condition.column.role == "text":
            where = f"pd.to_datetime({where})"
        if numbers and all(len(value) == len("2026") for value in condition.values):
            where, values = f"{where}.dt.year", list(condition.values)
    elif condition.column.role == "text" and numbers:
        where = f"{where}.astype(str)"
    match condition.operator:
        case "between":
            return f"{where}.between({values[0]}, {values[1]})"
        case "in":
            return f"{where} == {values[0]}" if len(values) == 1 else f"{where}.isin([{', '.join(values)}])"
        case "not in":
            return f"{where} != {values[0]}" if len(values) == 1 else f"~{where}.isin([{', '.join(values)}])"
    symbols = {"since": ">=", "until": "<=", "after": ">", "before": "<", "year": "=="}
    return f"{where} {symbols.get(condition.operator, condition.operator)} {values[0]}"


def printed(title: str, expression: str) -> list[str]:
    """Lines that print a table under its title."""
    return [f'print("# {title}")', f"print({expression})"]


def imports(*modules: str) -> list[str]:
    """Import lines and the blank line after them."""
    known = {"np": "import numpy as np", "pd": "import pandas as pd", "plt": "import matplotlib.pyplot as plt"}
    return [known[name] for name in ("plt", "np", "pd") if name in modules] + [""]


def script(*parts: Sequence[str]) -> str:
    """Join groups of lines into a cell."""
    return "\n".join(line for part in parts for line in part).strip("\n")


def protect(code: str, taken: frozenset[str], *, keep: frozenset[str] = frozenset()) -> str:
    """Leave the person's variables alone: rename what the code assigns where they use the name, and delete helpers at the end.

    ``keep``: names that are meant to stay, such as a loaded data frame.
    """
    tree = ast.parse(code)
    helpers = [
        node.id
        for statement in tree.body
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        for node in ast.walk(target)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id not in keep
    ]
    if helpers:
        code += f"\n\ndel {', '.join(dict.fromkeys(helpers))}"
        tree = ast.parse(code)
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    assigned = {node.id for node in nodes if isinstance(node.ctx, ast.Store)} & taken - keep
    everything = {node.id for node in nodes} | taken
    new: dict[str, str] = {}
    for name in sorted(assigned):
        count = 2
        while f"{name}_{count}" in everything:
            count += 1
        new[name] = f"{name}_{count}"
    lines = [line.encode() for line in code.split("\n")]
    for node in sorted(nodes, key=lambda node: (node.lineno, node.col_offset), reverse=True):
        if node.id in new:
            line = lines[node.lineno - 1]
            lines[node.lineno - 1] = line[: node.col_offset] + new[node.id].encode() + line[node.col_offset + len(node.id.encode()) :]
    return b"\n".join(lines).decode()
