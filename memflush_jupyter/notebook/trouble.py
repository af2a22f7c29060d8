"""Errors nobody expected: the person gets one sentence, and a log that says the rest."""

from __future__ import annotations

import contextlib
import tempfile
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from memflush_jupyter.errors import MemflushError
from memflush_jupyter.notebook.failure import CellError, as_cell_error

if TYPE_CHECKING:
    from memflush_jupyter.notebook.session import Session

LOG_NAME = "errors.log"


def told(session: Session, error: BaseException) -> CellError:
    """The cell's error for ``error``; what is not one of our sentences is written to a log first."""
    if isinstance(error, MemflushError):
        return as_cell_error(error)
    return as_cell_error(error, _log_error(session, error))


def _log_error(session: Session, error: BaseException) -> str | None:
    private = session.folder / session.config.memory_dir / ".memflush"
    path = (private if private.is_dir() else Path(tempfile.gettempdir())) / LOG_NAME
    text = "".join(traceback.format_exception(error))
    with contextlib.suppress(Exception):
        text = session.workspace.redactor(text)
        with path.open("a", encoding="utf-8") as log:
            log.write(f"{text}\n")
        return str(path.relative_to(session.folder)) if path.is_relative_to(session.folder) else str(path)
    return None
