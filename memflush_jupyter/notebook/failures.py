"""The errors of the person's cells, kept as text by execution count: for ``{Err[n]}`` and ``%agent fix``.

Only text is kept, never the exception: its frames would keep every variable of the failed cell alive.
"""

from __future__ import annotations

import ast
import difflib
import re
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from memflush_jupyter.notebook.failure import CellError, TurnInterrupted, is_cell_file, render_failure

MOST = 50
"""Errors that are kept."""
MAX_NEAR = 5


@dataclass(frozen=True)
class Failure:
    """One failed cell. ``line``: the line of the cell that failed, from 1, 0 when unknown; ``near``: attributes like the one that was missing."""

    count: int
    source: str
    kind: str
    message: str
    text: str
    line: int = 0
    near: tuple[str, ...] = ()


class Failures:
    """The last errors of a kernel."""

    def __init__(self) -> None:
        self._kept: OrderedDict[int, Failure] = OrderedDict()
        self._open: list[Any] = []
        self._inner: Exception | None = None

    @property
    def last(self) -> Failure | None:
        """The latest one."""
        return next(reversed(self._kept.values()), None)

    @property
    def counts(self) -> list[int]:
        """The cells that failed, by execution count."""
        return sorted(self._kept)

    def text(self, count: int) -> str | None:
        """What the cell of that count failed with, or ``None``."""
        found = self._kept.get(count)
        return found.text if found is not None else None

    def cell_began(self, info: Any) -> None:
        """Before each cell, those that a cell magic runs inside another one too. To be registered as ``pre_run_cell``."""
        if getattr(info, "store_history", False):
            self._open, self._inner = [], None  # whatever was open came to no end
        self._open.append(info)

    def cell_ran(self, result: Any) -> None:
        """After each cell: keep its error, if it has one. To be registered as ``post_run_cell``."""
        error = getattr(result, "error_before_exec", None) or getattr(result, "error_in_exec", None)
        info = getattr(result, "info", None)
        count = getattr(result, "execution_count", None)
        if info is None:
            return
        if not getattr(info, "store_history", False):
            self._ran_inside(info, error)
            return
        inner, self._open, self._inner = self._inner, [], None
        error = error or inner
        if not isinstance(count, int) or not isinstance(error, Exception) or isinstance(error, CellError | TurnInterrupted):
            return
        self._kept.pop(count, None)
        self._kept[count] = failure_of(error, str(info.raw_cell or ""), count)
        while len(self._kept) > MOST:
            self._kept.popitem(last=False)

    def _ran_inside(self, info: Any, error: Any) -> None:
        """A cell magic such as ``%%capture`` runs what is below it as a cell of its own, and counts as gone well whatever became of that."""
        outer = self._open[0] if self._open and self._open[0] is not info else None
        if info in self._open:
            del self._open[self._open.index(info) :]
        if outer is None or not getattr(outer, "store_history", False) or not isinstance(error, Exception):
            return
        if not _OURS.match(str(outer.raw_cell or "")):  # the agent's own code is no cell of the person's
            self._inner = error


_OURS = re.compile(r"\s*%%?(?:agent|memory|budget)\b")


def failure_of(error: Exception, source: str, count: int) -> Failure:
    """What is kept of an error."""
    if isinstance(error, SyntaxError) and "incomplete input" in str(error.msg):
        error = _complete(error, source)
    text = render_failure(error, source)
    try:
        message = str(error)[:2000]
    except Exception:  # noqa: BLE001 - a broken __str__ must not hide the rest
        message = ""
    if isinstance(error, SyntaxError):
        message, line = str(error.msg), error.lineno or 0
    else:
        line = _line(error)
    return Failure(count, source, type(error).__name__, message, text, line, _near(error))


def _complete(error: SyntaxError, source: str) -> SyntaxError:
    """The parser's own words for a cell that ends too early: the shell says only that it is incomplete."""
    try:
        ast.parse("\n".join("pass" if line.startswith(("%", "!")) else line for line in source.splitlines()))
    except SyntaxError as better:
        return better
    except (ValueError, RecursionError, MemoryError):
        return error
    return error


def _line(error: Exception) -> int:
    """The deepest line of the cell itself: functions of other cells have other files."""
    found, file = 0, ""
    trace = error.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if is_cell_file(name) and file in {"", name}:
            file, found = name, trace.tb_lineno
        trace = trace.tb_next
    return found


def _near(error: Exception) -> tuple[str, ...]:
    """Names like the one that was asked for in vain, read without running code of the object's."""
    if isinstance(error, ImportError) and error.name and not isinstance(error, ModuleNotFoundError):
        import sys

        module = sys.modules.get(error.name)
        wanted = str(getattr(error, "name_from", "") or str(error).partition("'")[2].partition("'")[0])
        return _close(wanted, _names(module)) if module is not None else ()
    if isinstance(error, AttributeError) and isinstance(error.name, str):
        return _close(error.name, _names(error.obj))
    return ()


def _names(value: Any) -> list[str]:
    if value is None:
        return []
    names: dict[str, None] = {}
    own: Mapping[str, Any] = vars(value) if isinstance(value, ModuleType) else {}
    bases = value.__mro__ if isinstance(value, type) else type(value).__mro__
    for found in (own, _instance(value), *(vars(base) for base in bases)):
        names.update(dict.fromkeys(name for name in found if isinstance(name, str) and not name.startswith("_")))
    if type(value).__name__ == "DataFrame" and str(type(value).__module__).startswith("pandas"):
        names.update(dict.fromkeys(column for column in value.columns.tolist() if isinstance(column, str)))
    return list(names)


def _instance(value: Any) -> Mapping[str, Any]:
    try:
        found = object.__getattribute__(value, "__dict__")
    except (AttributeError, TypeError):
        return {}
    return found if isinstance(found, dict) else {}


def _close(name: str, names: list[str]) -> tuple[str, ...]:
    return tuple(close_names(name, names))


def close_names(name: str, names: list[str]) -> list[str]:
    """The names like ``name``, nearest first; upper and lower case count as one."""
    folded: dict[str, str] = {}
    for known in names:
        folded.setdefault(known.lower(), known)
    close = difflib.get_close_matches(name.lower(), list(folded), n=MAX_NEAR, cutoff=0.6)
    return [folded[found] for found in close if folded[found] != name]
