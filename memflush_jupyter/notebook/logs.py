"""Our log records go out without secrets, whoever handles them (P7)."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

LOGGER = "memflush_jupyter"
_FORMATTER = logging.Formatter()


class SecretsOut(logging.Filter):
    """Redacts message and traceback of each record of the package's logger, before any handler sees them."""

    def __init__(self, redact: Callable[[str], str]) -> None:
        super().__init__()
        self._redact = redact

    def filter(self, record: logging.LogRecord) -> bool:
        """Redact; every record passes."""
        record.msg, record.args = self._redact(record.getMessage()), None
        if record.exc_info:
            # Handlers print this text instead of the exception, which is taken away: its message may hold anything.
            record.exc_text, record.exc_info = self._redact(record.exc_text or _FORMATTER.formatException(record.exc_info)), None
        return True


def guard(redact: Callable[[str], str]) -> Callable[[], None]:
    """Redact the package's log records from now on; what is returned ends it."""
    logger, rule = logging.getLogger(LOGGER), SecretsOut(redact)
    logger.addFilter(rule)
    return lambda: logger.removeFilter(rule)
