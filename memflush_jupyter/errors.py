"""The errors a caller may catch. Each message is a sentence for a data scientist: what happened, what to do."""

from __future__ import annotations


class MemflushError(Exception):
    """Base of everything this package raises on purpose; ``str(error)`` can be shown to a person as it is."""


class ConfigError(MemflushError):
    """An option, path or command was given a value that cannot be used."""


class TraceError(MemflushError):
    """A trace or message does not exist, or the trace store cannot do what was asked."""


class MemoryFileError(MemflushError):
    """A memory file cannot be read or written, or the path is not one that may be touched."""


class ToolInputError(MemflushError):
    """A tool call's input does not fit its schema; the sentence goes back to the model."""


class LimitError(MemflushError):
    """A limit of the person's is reached (``max_cost_usd``): nothing was sent."""


class ModelError(MemflushError):
    """The model did not answer.

    ``kind`` is stable and machine-readable: ``no_key``, ``bad_key``, ``unknown_model``, ``overloaded``,
    ``rate_limited``, ``no_network``, ``no_credit``, ``overflow`` (the prompt is longer than the window),
    ``invalid`` (the server refused the request), ``timeout`` or ``other``.
    """

    def __init__(self, message: str, *, kind: str = "other", status: int | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.status = status
