"""What is told to the person goes out without secrets: a server's words may echo a key, an error may quote one (P7)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from memflush_jupyter.events import CompactionEnd, Notice, Retrying, TextDiscarded, TurnFinished

if TYPE_CHECKING:
    from collections.abc import Callable

    from memflush_jupyter.events import Event


def without_secrets(event: Event, redact: Callable[[str], str]) -> Event:
    """The event with its sentences redacted; events whose text was redacted where it arose come back as they are."""
    match event:
        case Notice():
            return replace(event, text=redact(event.text))
        case TurnFinished() | Retrying():
            return replace(event, sentence=redact(event.sentence))
        case TextDiscarded() | CompactionEnd():
            return replace(event, reason=redact(event.reason))
        case _:
            return event
