"""How a conversation and its messages are named to a person, and in outputs that are the same on each run (P9)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memflush_jupyter.notebook import headless

if TYPE_CHECKING:
    from memflush_jupyter.notebook.session import Session


def short_id(session: Session, trace: str) -> str:
    """A conversation's id as it is typed after ``%agent resume``; empty where nobody is there to type, since each run has another."""
    return trace[:8] if headless.person_present(session.ip) else ""


def place(session: Session, trace: str, sequence: int | None) -> str:
    """Where a message stands: ``4be1#12``, or in words where no id may be shown."""
    if short_id(session, trace):
        return f"{trace[:4]}#{sequence}"
    return f"message {sequence}" if trace == session.trace_id else f"message {sequence} of an earlier conversation"
