"""``%budget``: the door to the figures of the context."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from memflush_jupyter.notebook import doors
from memflush_jupyter.notebook.arguments import Parser
from memflush_jupyter.notebook.session import Session


def budget_line(ip: Any, line: str = "") -> None:
    """``%budget``: print how full the context is."""

    def figures(session: Session) -> list[dict[str, Any]]:
        parser().parse(line)
        from memflush_jupyter.notebook import steering

        return steering.do_budget(session)

    doors.enter(ip, figures)


def parser() -> Parser:
    """The options of ``%budget``."""
    return Parser("%budget", "Shows how full the context is, in tokens: the window, its parts, the flush line and the compaction line.")


def functions(ip: Any) -> dict[tuple[str, str], Callable[..., Any]]:
    """The function to register on a shell."""

    def figures(line: str = "") -> None:
        budget_line(ip, line)

    figures.__doc__ = parser().format_help()
    return {("line", "budget"): figures}
