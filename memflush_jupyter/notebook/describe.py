"""Describing variables without running anything of theirs: no foreign ``__repr__``, no lazy evaluation, bounded output."""

from __future__ import annotations

import datetime as dt
import decimal
import difflib
import inspect
import pathlib
import types
from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any

from memflush_jupyter.memory.redaction_assigned import holds_secret

MAX_VARIABLES = 40
MAX_COLUMNS = 60
MAX_CELLS = 50_000_000
"""Cells of a table up to which missing values are counted."""
MAX_CHARS = 8000
_EXAMPLE_ROWS = 1000

_PLAIN = (bool, int, float, complex, str, bytes, type(None), dt.date, dt.datetime, dt.time, dt.timedelta, decimal.Decimal)
_CONTAINERS = (list, tuple, set, frozenset, dict)
_SHELL = frozenset({"In", "Out", "exit", "quit", "open", "get_ipython"})


def describe_variables(namespace: Mapping[str, Any], names: Sequence[str] = (), *, hidden: Container[str] = ()) -> str:
    """One block a variable. Without ``names``: everything a person made, modules and private names left out."""
    if not names:
        found = [name for name, value in list(namespace.items()) if is_persons(name, value, hidden)]
        if not found:
            return "The kernel holds no variables yet."
        blocks = [_describe(name, namespace[name]) for name in found[:MAX_VARIABLES]]
        blocks += [f"{len(found) - MAX_VARIABLES} more: {', '.join(found[MAX_VARIABLES:])}"] if len(found) > MAX_VARIABLES else []
        return _bounded(blocks, found)
    return _bounded([_describe(name, namespace[name]) if name in namespace else _unknown(name, namespace, hidden) for name in names], list(names))


def describe_value(value: Any) -> str:
    """What a value is, its shape and its beginning, without its name."""
    return _describe("", value).removeprefix(": ")


def plain_text(value: Any, limit: int = MAX_CHARS) -> str | None:
    """A value of a plain type (numbers, dates, paths, text, library scalars) as text; ``None`` for everything else."""
    if type(value) in _PLAIN or isinstance(value, pathlib.PurePath) or _is_library_scalar(type(value)):
        return _safe(value, limit, quoted=False)
    return None


def is_persons(name: str, value: Any, hidden: Container[str]) -> bool:
    """Whether a variable is the person's own: no module, no import, nothing private or of the shell's."""
    if name.startswith("_") or name in _SHELL or isinstance(value, types.ModuleType):
        return False
    if name in hidden:
        return False
    module = getattr(type(value), "__module__", "")
    if isinstance(module, str) and module.startswith(("memflush_jupyter", "IPython.core.interactiveshell")):
        return False
    # Functions and classes that were imported are not the person's own.
    return not (isinstance(value, types.FunctionType | types.BuiltinFunctionType | type) and value.__module__ != "__main__")


def _unknown(name: str, namespace: Mapping[str, Any], hidden: Container[str]) -> str:
    own = [key for key, value in list(namespace.items()) if is_persons(key, value, hidden)]
    near = difflib.get_close_matches(name, own, n=3)
    return f"{name}: not defined" + (f"; similar names: {', '.join(near)}" if near else "")


def _bounded(blocks: list[str], names: list[str]) -> str:
    kept: list[str] = []
    size = 0
    for index, block in enumerate(blocks):
        size += len(block) + 1
        if size > MAX_CHARS and kept:
            return "\n".join([*kept, f"[… left out for length: {', '.join(names[index : index + 20])}; ask for them by name …]"])
        kept.append(block if len(block) <= MAX_CHARS else f"{block[:MAX_CHARS]} …")
    return "\n".join(kept)


def _describe(name: str, value: Any) -> str:
    try:
        return f"{name}: {_describer(value)(value)}"
    except Exception as error:  # noqa: BLE001 - an odd object must not hide the others
        return f"{name}: {_type_name(value)} (cannot be described: {type(error).__name__})"


def _describer(value: Any) -> Callable[[Any], str]:
    kind = type(value)
    root, name = str(kind.__module__).partition(".")[0], kind.__name__
    if root == "pandas" and name == "DataFrame":
        return _pandas_frame
    if root == "pandas" and name == "Series":
        return _pandas_series
    if root == "polars" and name in {"DataFrame", "LazyFrame"}:
        return _polars_frame
    if root in {"numpy", "torch", "jax", "jaxlib", "tensorflow", "scipy"} and hasattr(kind, "shape"):
        return _array
    if kind in _CONTAINERS:
        return _container
    if isinstance(value, types.FunctionType):
        return _function
    return _scalar


def _type_name(value: Any) -> str:
    kind = type(value)
    return kind.__name__ if kind.__module__ in {"builtins", "__main__"} else f"{str(kind.__module__).partition('.')[0]}.{kind.__name__}"


def _pandas_frame(frame: Any) -> str:
    rows, columns = frame.shape
    head = frame.head(_EXAMPLE_ROWS)
    counted = rows * max(columns, 1) <= MAX_CELLS
    missing = list(frame.isna().sum()) if counted else []
    lines = [f"DataFrame {rows} rows × {columns} columns"]
    for index, column in enumerate(list(frame.columns)[:MAX_COLUMNS]):
        lost = f"{int(missing[index])} missing" if counted else "missing not counted"
        lines.append(f"  - {_safe(column, 80, quoted=False)} ({frame.dtypes.iloc[index]}): {lost}{_examples(head.iloc[:, index], str(column))}")
    if columns > MAX_COLUMNS:
        lines.append(f"  … {columns - MAX_COLUMNS} more columns")
    return "\n".join(lines)


def _pandas_series(series: Any) -> str:
    lost = f"{int(series.isna().sum())} missing" if len(series) <= MAX_CELLS else "missing not counted"
    return f"Series {len(series)} values ({series.dtype}): {lost}{_examples(series.head(_EXAMPLE_ROWS), str(series.name))}"


def _examples(series: Any, column: str = "") -> str:
    shown: list[str] = []
    for value in series.dropna().tolist():
        if type(value) is str and holds_secret(column, value):  # told by the column's name, which a redactor cannot see from here
            return "; secrets, not shown"
        text = _safe(value, 40, quoted=False)
        if text not in shown:
            shown.append(text)
        if len(shown) == 3:  # noqa: PLR2004 - three examples tell what a column holds
            break
    return f"; e.g. {', '.join(shown)}" if shown else ""


def _polars_frame(frame: Any) -> str:
    if type(frame).__name__ == "LazyFrame":
        return "LazyFrame (not evaluated)"
    rows, columns = frame.shape
    lines = [f"DataFrame {rows} rows × {columns} columns (polars)"]
    for column, dtype in list(frame.schema.items())[:MAX_COLUMNS]:
        values = frame.get_column(column)
        shown = [_safe(value, 40, quoted=False) for value in values.head(3).to_list() if value is not None]
        lines.append(f"  - {column} ({dtype}): {values.null_count()} missing" + (f"; e.g. {', '.join(shown)}" if shown else ""))
    return "\n".join(lines)


def _array(array: Any) -> str:
    shape = " × ".join(str(size) for size in tuple(array.shape)) or "scalar"
    text = f"{_type_name(array)} {shape} ({getattr(array, 'dtype', '?')})"
    if type(array).__module__ == "numpy" and array.dtype.kind in "biufUSM":
        head = [_safe(value, 40) for value in array.ravel()[:5].tolist()] if array.flags.c_contiguous or array.size < _EXAMPLE_ROWS else []
        text += f": {', '.join(head)}{', …' if array.size > len(head) else ''}" if head else ""
    return text


def _container(value: Any) -> str:
    items = list(value.items())[:5] if type(value) is dict else [item for item, _ in zip(value, range(5), strict=False)]
    shown = [f"{_safe(item[0], 60)}: {_safe(item[1], 60)}" if type(value) is dict else _safe(item, 60) for item in items]
    more = ", …" if len(value) > len(shown) else ""
    inner = ", ".join(shown) + more
    return f"{type(value).__name__} of {len(value)}" + (f": {inner}" if shown else "")


def _function(value: Any) -> str:
    try:
        signature = ", ".join(inspect.signature(value).parameters)
    except (TypeError, ValueError):
        signature = "…"
    doc = (value.__doc__ or "").strip().partition("\n")[0]
    return f"function ({signature})" + (f": {doc[:120]}" if doc else "")


def _scalar(value: Any) -> str:
    if type(value) is str:
        return f"str of {len(value)} characters: {_safe(value, 200)}"
    text = _safe(value, 200)
    return text if text == _placeholder(value) or text.startswith("int of ") else f"{_type_name(value)} {text}"


def _placeholder(value: Any) -> str:
    if isinstance(value, type):
        return f"class {value.__name__}"
    if isinstance(value, types.ModuleType):
        return f"module {value.__name__}"
    return f"{_type_name(value)} object"


def _is_library_scalar(kind: type) -> bool:
    root = str(kind.__module__).partition(".")[0]
    if root == "numpy":
        return any(base.__name__ == "generic" and base.__module__ == "numpy" for base in kind.__mro__)
    return root == "pandas" and kind.__name__ in {"Timestamp", "Timedelta", "Period", "Interval", "NaTType", "NAType"}


def _safe(value: Any, limit: int, *, quoted: bool = True) -> str:
    """A short text for a value of a known plain type; anything else by its type alone."""
    kind = type(value)
    if kind is str:
        text = value[: limit + 1] if not quoted else repr(value[: limit + 1])
        text = text.replace("\n", " ")
    elif kind is int and value.bit_length() > 4096:  # noqa: PLR2004 - Python refuses to print longer ones
        return f"int of {value.bit_length()} bits"
    elif kind in _PLAIN:
        text = str(value) if isinstance(value, dt.date | dt.time | dt.timedelta) else repr(value[:limit] if kind is bytes else value)
    elif isinstance(value, pathlib.PurePath) or _is_library_scalar(kind):
        text = str(value)
    elif kind in _CONTAINERS:
        return f"{kind.__name__} of {len(value)}"
    else:
        return _placeholder(value)
    return text if len(text) <= limit else f"{text[:limit]}…"
