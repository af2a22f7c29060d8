"""P7: what is told and logged goes out without secrets."""

from __future__ import annotations

import io
import logging

from memflush_jupyter.agent.telling import without_secrets
from memflush_jupyter.events import CompactionEnd, Notice, Retrying, TextDelta, TextDiscarded, TurnFinished
from memflush_jupyter.notebook import logs


def hide(text: str) -> str:
    return text.replace("KEY", "[redacted]")


def test_records_of_the_package_are_redacted_for_every_handler_until_it_ends():
    """Arguments, messages and tracebacks; other loggers are left alone."""
    out = io.StringIO()
    handler = logging.StreamHandler(out)
    log, other = logging.getLogger("memflush_jupyter"), logging.getLogger("somebody")
    for logger in (log, other):
        logger.addHandler(handler)
    end = logs.guard(hide)
    try:
        log.warning("met %s", "KEY")
        other.warning("met KEY")
        try:
            int("KEY")
        except ValueError:
            log.exception("failed on KEY")
        end()
        log.warning("later KEY")
    finally:
        for logger in (log, other):
            logger.removeHandler(handler)
    lines = out.getvalue().splitlines()
    assert lines[0] == "met [redacted]"
    assert lines[1] == "met KEY"
    assert lines[2] == "failed on [redacted]"
    assert lines[3].startswith("Traceback")
    assert lines[-2] == "ValueError: invalid literal for int() with base 10: '[redacted]'"
    assert lines[-1] == "later KEY"


def test_sentences_of_events_are_redacted_and_streamed_text_is_left_to_its_own():
    """A server may echo the key it was given."""
    assert without_secrets(Notice("a KEY", "warning"), hide) == Notice("a [redacted]", "warning")
    assert without_secrets(TurnFinished("t", "error", "a KEY", 1), hide) == TurnFinished("t", "error", "a [redacted]", 1)
    assert without_secrets(Retrying(1, 2.0, "a KEY"), hide) == Retrying(1, 2.0, "a [redacted]")
    assert without_secrets(TextDiscarded(1, "a KEY"), hide) == TextDiscarded(1, "a [redacted]")
    assert without_secrets(CompactionEnd("t", "failed", 1, 1, 0, "a KEY"), hide) == CompactionEnd("t", "failed", 1, 1, 0, "a [redacted]")
    event = TextDelta(1, "KEY")
    assert without_secrets(event, hide) is event
