"""Errors nobody expected: the person gets one sentence, and a log that says the rest."""

from __future__ import annotations

import contextlib
import os
import tempfile
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from memflush_jupyter.errors import MemflushError
from memflush_jupyter.notebook.failure import CellError, as_cell_error

if TYPE_CHECKING:
    from collections.abc import Callable

    from memflush_jupyter.notebook.session import Session

LOG_NAME = "errors.log"


def told(session: Session, error: BaseException) -> CellError:
    """The cell's error for ``error``; what is not one of our sentences is written to a log first."""
    log = None if isinstance(error, MemflushError) else _log_error(session, error)
    return CellError(redacted(session, str(as_cell_error(error, log))))


def redacted(session: Session, text: str) -> str:
    """A text without secrets, also before the workspace is open (P7)."""
    return session_redactor(session)(text)


def session_redactor(session: Session) -> Callable[[str], str]:
    """The session's redactor, or one of its own while the workspace is not open."""
    if session.opened:
        redactor = session.workspace.redactor
        redactor.renew()
        return redactor
    from memflush_jupyter.memory.redaction import Redactor

    return Redactor(os.environ)


def forget_log(session: Session, rewrite: Callable[[str], str]) -> None:
    """Take what is forgotten out of the log of unexpected errors too (G9)."""
    path = session.workspace.memory.private / LOG_NAME
    if path.is_file():
        path.write_text(rewrite(path.read_text(encoding="utf-8", errors="replace")), encoding="utf-8")


def _log_error(session: Session, error: BaseException) -> str | None:
    private = session.folder / session.config.memory_dir / ".memflush"
    path = (private if private.is_dir() else Path(tempfile.gettempdir())) / LOG_NAME
    text = "".join(traceback.format_exception(error))
    with contextlib.suppress(Exception):
        text = redacted(session, text)
        with path.open("a", encoding="utf-8") as log:
            log.write(f"{text}\n")
        return str(path.relative_to(session.folder)) if path.is_relative_to(session.folder) else str(path)
    return None
