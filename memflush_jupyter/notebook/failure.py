"""How an error is told: to the model when agent code fails, to the person when something of ours does."""

from __future__ import annotations

import linecache
import os
import traceback
from types import TracebackType

from memflush_jupyter.errors import MemflushError

MAX_FRAMES = 6
MAX_MESSAGE = 2000


class CellError(Exception):
    """Ends a cell with one sentence: the cell counts as failed, so that *Run All* stops, but no traceback is shown."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


class TurnInterrupted(KeyboardInterrupt):
    """The person stopped the turn; shown as one sentence like ``CellError``."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


def as_cell_error(error: BaseException, log_path: str | None = None) -> CellError:
    """The sentence a person sees for an error of ours: its own where it is a ``MemflushError``, else one that says where the log is."""
    if isinstance(error, MemflushError):
        return CellError(str(error))
    where = f" The details are in {log_path}." if log_path else ""
    return CellError(
        f"Something in memflush-jupyter went wrong ({type(error).__name__}: {_message(error)}).{where} The kernel and the conversation are as before."
    )


def render_failure(error: BaseException, code: str) -> str:
    """The error of agent code for the model: the lines of the code that led to it, then type and message.

    File names of the kernel's temporary cells are left out: they hold process ids and would differ from run to run.
    """
    if isinstance(error, SyntaxError):
        return _syntax_error(error)
    if isinstance(error, SystemExit):
        return f"SystemExit: {error.code if error.code is not None else 0} (the kernel goes on)"
    frames = _frames(error.__traceback__, code.splitlines())
    notes = [str(note) for note in getattr(error, "__notes__", [])]
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    caused_by = [f"(caused by {type(cause).__name__}: {_message(cause)})"] if cause is not None else []
    last = f"{type(error).__name__}: {_message(error)}".removesuffix(": ")
    return "\n".join(["Traceback:", *frames, last, *notes, *caused_by] if frames else [last, *notes, *caused_by])


def _frames(trace: TracebackType | None, code: list[str]) -> list[str]:
    lines: list[str] = []
    for frame in traceback.extract_tb(trace):
        name = frame.filename.replace(os.sep, "/")
        if "/IPython/" in name or "/memflush_jupyter/" in name or "/asyncio/" in name:
            continue
        number = frame.lineno or 0
        where = "" if frame.name.startswith("<") else f" in {frame.name}"
        if is_cell_file(name):
            source = linecache.getline(frame.filename, number).strip() or (code[number - 1].strip() if 0 < number <= len(code) else "")
            lines.append(f"  line {number}{where}: {source}")
        else:
            lines.append(f"  {'/'.join(name.split('/')[-2:])}:{number}{where}")
    if len(lines) > MAX_FRAMES:
        half = MAX_FRAMES // 2
        lines = [*lines[:half], f"  … {len(lines) - MAX_FRAMES} more frames …", *lines[-half:]]
    return lines


def is_cell_file(name: str) -> bool:
    """Whether a file name is that of a cell."""
    return name.startswith("<ipython-input") or "/ipykernel_" in name.replace(os.sep, "/")


def _syntax_error(error: SyntaxError) -> str:
    line = (error.text or "").rstrip("\n")
    pointer = " " * max((error.offset or 1) - 1, 0) + "^"
    shown = f"\n  {line}\n  {pointer}" if line else ""
    return f"{type(error).__name__}: {error.msg} (line {error.lineno}){shown}"


def _message(error: BaseException) -> str:
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - a broken __str__ must not hide the error's type
        return "(its message cannot be shown)"
    return text if len(text) <= MAX_MESSAGE else f"{text[:MAX_MESSAGE]} …"
