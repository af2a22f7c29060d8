"""What is known of the kernel's variables: read from ``inspect_variables`` results and from tables that loading prints."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from memflush_jupyter.models.offline.printed import sections

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memflush_jupyter.models.offline.conversation import Step

_HEAD = re.compile(r"^(?P<name>[^\W\d]\w*): (?P<type>[\w.]+)(?P<rest>.*)$")
_SHAPE = re.compile(r"(?P<rows>[\d,_]+) rows?(?: × | x )(?P<columns>[\d,_]+) columns?")
_COLUMN = re.compile(r"^ {2,}- (?P<name>.*?) \((?P<dtype>[^()]+)\)(?:: (?P<rest>.*))?$")
_MISSING = re.compile(r"^(\d+) missing")
_ASSIGNED = re.compile(r"^([^\W\d]\w*) = |^(?:def|import [\w.]+ as|from [\w.]+ import) ([^\W\d]\w*)", re.MULTILINE)
_NUMBERLIKE = re.compile(r"[+-]?[\d.,eE+-]+|nan|inf|None|True|False|\d{4}-\d\d-\d\d.*")
_LOADED = re.compile(r"^# loaded ([^\W\d]\w*)$", re.MULTILINE)

Role = Literal["number", "text", "time", "flag", "other"]


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its name as shown, its position, its dtype's name."""

    name: str
    position: int
    dtype: str
    missing: int = 0

    @property
    def role(self) -> Role:
        """What can be done with it."""
        dtype = self.dtype.lower()
        if dtype.startswith(("int", "uint", "float", "double", "decimal")):
            return "number"
        if dtype.startswith(("datetime", "period", "timestamp", "date32", "date64")):
            return "time"
        if dtype.startswith("bool"):
            return "flag"
        return "text" if dtype.startswith(("object", "str", "string", "category")) else "other"


@dataclass(frozen=True, slots=True)
class Frame:
    """A data frame in the kernel. ``values``: the values of its text columns, once looked up: (column, value)."""

    name: str
    rows: int | None
    columns: tuple[Column, ...]
    values: tuple[tuple[str, str], ...] | None = None

    def of_role(self, *roles: Role) -> list[Column]:
        """The columns with one of these roles, in order."""
        return [column for column in self.columns if column.role in roles]

    def ref(self, column: Column) -> str:
        """Python text that names the column: its quoted name, or its position where the name may not be plain text."""
        plain = column.name and not _NUMBERLIKE.fullmatch(column.name) and column.name.isprintable() and "…" not in column.name
        return _quote(column.name) if plain else f"{self.name}.columns[{column.position}]"

    @property
    def layered(self) -> bool:
        """Whether the columns have several levels (a MultiIndex)."""
        return any(re.fullmatch(r"\(.*, .*\)|tuple of \d+", column.name) for column in self.columns)


@dataclass(slots=True)
class Kernel:
    """The variables known, by name. ``others``: what is no data frame, by name with its type. ``ours``: names our code assigned."""

    frames: dict[str, Frame] = field(default_factory=dict)
    others: dict[str, str] = field(default_factory=dict)
    ours: set[str] = field(default_factory=set)
    inspected: bool = False
    last_text: str = ""

    def taken(self, name: str) -> bool:
        """Whether the person uses this name for something of theirs."""
        return (name in self.frames or name in self.others) and name not in self.ours

    def free(self, name: str) -> str:
        """The name, or one like it that the person does not use."""
        candidate, count = name, 1
        while self.taken(candidate):
            count += 1
            candidate = f"{name}_{count}"
        return candidate


def _quote(name: str) -> str:
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def parse_inspection(text: str) -> tuple[dict[str, Frame], dict[str, str]]:
    """Read an ``inspect_variables`` result: data frames, and the types of everything else."""
    frames: dict[str, Frame] = {}
    others: dict[str, str] = {}
    columns: list[Column] = []
    name, rows, is_frame = "", None, False

    def close() -> None:
        if name and is_frame:
            frames[name] = Frame(name, rows, tuple(columns))

    for line in text.splitlines():
        head = _HEAD.match(line)
        if head:
            close()
            name, columns = head["name"], []
            is_frame = head["type"].rsplit(".", 1)[-1] in {"DataFrame", "GeoDataFrame"} and "(polars)" not in head["rest"]
            shape = _SHAPE.search(head["rest"])
            rows = int(re.sub(r"[,_]", "", shape["rows"])) if shape else None
            if not is_frame:
                others[name] = head["type"] + head["rest"].rstrip(":")
            continue
        found = _COLUMN.match(line) if is_frame else None
        if found:
            missing = _MISSING.match(found["rest"] or "")
            columns.append(Column(found["name"], len(columns), found["dtype"], int(missing[1]) if missing else 0))
    close()
    return frames, others


def learn(steps: Iterable[Step]) -> Kernel:
    """What the tool results still in the context say about the kernel; later ones win."""
    kernel = Kernel()
    for step in steps:
        name, text = step.call.name, step.outcome.text
        if name == "inspect_variables" and not step.outcome.is_error:
            frames, others = parse_inspection(text)
            kernel.inspected = True
            kernel.last_text = text
            if not step.call.input.get("names"):
                kernel.frames.clear()
                kernel.others.clear()
            kernel.frames.update(frames)
            kernel.others.update(others)
        elif name == "run_python" and not step.outcome.is_error:
            code = str(step.call.input.get("code", ""))
            kernel.ours.update(next(filter(None, match.groups())) for match in _ASSIGNED.finditer(code))
            _learn_printed(kernel, text)
    return kernel


def _learn_printed(kernel: Kernel, text: str) -> None:
    loaded = _LOADED.search(text)
    if loaded and loaded[1] in kernel.ours:
        tables = sections(text, frozenset({"columns", "rows"}))
        columns = tables.get("columns")
        if columns is not None:
            kernel.frames[loaded[1]] = Frame(
                loaded[1],
                int(tables["rows"].first().get("rows", "0")) if "rows" in tables else None,
                tuple(
                    Column(record.get("column", ""), at, record.get("dtype", "object"), int(record.get("missing") or 0))
                    for at, record in enumerate(columns.records())
                ),
            )
    values = re.search(r"^# values of ([^\W\d]\w*)$", text, re.MULTILINE)
    if values and values[1] in kernel.frames:
        table = sections(text, frozenset({f"values of {values[1]}"})).get(f"values of {values[1]}")
        pairs = tuple((row[0], row[1]) for row in table.rows if len(row) > 1) if table else ()
        kernel.frames[values[1]] = replace(kernel.frames[values[1]], values=pairs)
