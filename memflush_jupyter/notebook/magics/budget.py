"""``%budget``: the door to the figures of the context."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from memflush_jupyter.events import Budget
from memflush_jupyter.notebook import doors, headless
from memflush_jupyter.notebook.arguments import Parser
from memflush_jupyter.notebook.session import Session

Bundle = dict[str, Any]


def budget_line(ip: Any, line: str = "") -> None:
    """``%budget``: show how full the context is."""
    doors.enter(ip, lambda session: _shown(session, parser().parse(line)))


def _shown(session: Session, given: argparse.Namespace) -> Bundle | list[Bundle]:
    from memflush_jupyter.notebook import steering

    if given.history:
        from memflush_jupyter.notebook.display.history_plot import plot

        return plot(_data(session))
    bundles = steering.do_budget(session)
    session.budget_log.budget = session.budget
    if given.json:
        data = _data(session)
        return {"application/json": data, "text/plain": json.dumps(data, indent=1, ensure_ascii=False)}
    if headless.front(session.ip) != "live":
        return bundles
    from memflush_jupyter.notebook.display.dashboard import dashboard

    # What a page without the widget shows (saved, reopened without a kernel, exported) travels with it, labelled and folded: it does not follow.
    return [dashboard(session).bundle(bundles[0]), *([_as_of(session.budget, bundles)] if session.budget is not None else [])]


def _as_of(budget: Budget, bundles: list[Bundle]) -> Bundle:
    """The static figures as one collapsed line that says when they were so."""
    from memflush_jupyter.notebook.display import gauge, render

    summary = f"as of turn {budget.turn:,}: {gauge.describe(replace(budget, last_flush=None))}"
    return render.details(summary, "".join(bundle["text/html"] for bundle in bundles), "\n".join(bundle["text/plain"] for bundle in bundles))


def _data(session: Session) -> dict[str, Any]:
    cap = session.config.max_cost_usd
    redact = session.workspace.redactor
    return session.budget_log.data(max_cost_usd=cap, dated=session.dated(session.model_id()), redact=redact)


def parser() -> Parser:
    """The options of ``%budget``."""
    made = Parser("%budget", "Shows how full the context is, in tokens: the window, its parts, the flush line and the compaction line.")
    form = made.add_mutually_exclusive_group()
    form.add_argument("--history", action="store_true", help="the tokens after each turn as a plot, with flushes and compactions marked")
    form.add_argument("--json", action="store_true", help="as JSON, by schemas/budget.schema.json")
    return made


def functions(ip: Any) -> dict[tuple[str, str], Callable[..., Any]]:
    """The function to register on a shell."""

    def figures(line: str = "") -> None:
        budget_line(ip, line)

    figures.__doc__ = parser().format_help()
    return {("line", "budget"): figures}
