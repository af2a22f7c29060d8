"""The error a strict server answers with."""

from __future__ import annotations


class RefusalError(Exception):
    """A request the real API would refuse. ``status`` is the HTTP status, ``type`` and ``message`` stand in the error body."""

    def __init__(self, message: str, *, status: int = 400, kind: str = "invalid_request_error") -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.kind = kind
