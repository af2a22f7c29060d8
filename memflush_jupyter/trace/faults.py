"""What SQLite reports when something is wrong, as sentences a person can act on."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sqlalchemy.exc import DBAPIError

from memflush_jupyter.errors import TraceError

if TYPE_CHECKING:
    from collections.abc import Iterator

# Pieces of SQLite's own texts (stable for decades; extended codes are not set for all of them), in the order they are tried.
_SENTENCES = (
    (("locked", "busy"), "The trace store {path} is in use by another program, which did not let go in time. Nothing was changed; try again."),
    (("disk is full",), "The disk that holds the trace store {path} is full, so nothing was saved. Free some space and try again."),
    (
        ("readonly", "read-only"),
        "The trace store {path} cannot be written to. Make it and its folder writable, or choose another folder with c.MemFlush.memory_dir.",
    ),
    (
        ("not a database", "malformed", "corrupt", "file is encrypted"),
        "The trace store {path} is damaged or not a trace store. Restore a copy, or move it away and a new one is made. Memory files are not affected.",
    ),
    (("unable to open",), "The trace store {path} cannot be opened. See that its folder exists and may be written to."),
    (("disk i/o error",), "Reading or writing the trace store {path} failed. See whether its disk is full or was taken away."),
)


def sentence(error: Exception, path: str) -> TraceError:
    """Turn a database error into a ``TraceError``; what is not known keeps SQLite's own words at the end."""
    original = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    words = str(original).lower()
    for signs, template in _SENTENCES:
        if any(sign in words for sign in signs):
            return TraceError(template.format(path=path))
    return TraceError(f"The trace store {path} could not do what was asked ({type(original).__name__}: {original}).")


@contextmanager
def as_sentences(path: str) -> Iterator[None]:
    """Raise ``TraceError`` instead of whatever the database layers raise."""
    try:
        yield
    except (DBAPIError, sqlite3.Error) as error:
        raise sentence(error, path) from error
