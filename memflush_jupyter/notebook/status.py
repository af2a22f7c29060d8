"""``%agent status``: the conversation, its context and its memory, and whether everything that a turn needs is well."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from memflush_jupyter.errors import MemflushError
from memflush_jupyter.notebook import naming
from memflush_jupyter.notebook.display import gauge, render
from memflush_jupyter.notebook.headless import front, notebook_path, person_present

if TYPE_CHECKING:
    import argparse
    from datetime import datetime

    from memflush_jupyter.doctor import Report
    from memflush_jupyter.notebook.session import Session
    from memflush_jupyter.trace.models import Trace

Bundle = dict[str, Any]


def do_status(session: Session, given: argparse.Namespace) -> Bundle | list[Bundle]:
    """The conversation and the parts. Nothing is made by looking: before the first turn no store is opened.

    Where outputs have to be the same on any machine (P9) only what is not well is listed, unless all is asked for.
    """
    report = examined(session)
    rows = _conversation(session)
    if given.json:
        return render.line(json.dumps({"conversation": dict(rows), **report.as_data()}, indent=1, ensure_ascii=False))
    whole = given.all or not _portable(session)
    table = render.table(("", ""), [list(row) for row in rows])
    if whole:
        return [table, render.table(("", "part", "seen", "to mend"), [[check.mark, check.name, check.seen, check.mend] for check in report.checks])]
    troubles = [check for check in report.troubles if check.name != "stdin"]
    if not troubles:
        return [table, render.line("Every part is well; `%agent status --all` shows each.")]
    return [table, *(render.line(f"{check.name}: {check.seen}. {check.mend}".strip(), "warning") for check in troubles)]


def examined(session: Session) -> Report:
    """What the doctor says of this kernel."""
    from memflush_jupyter.doctor import Place, examine
    from memflush_jupyter.memory.redaction import Redactor

    place = Place(
        session.config,
        session.folder,
        os.environ,
        Redactor(os.environ),
        model=session.model,
        notebook=found_notebook(session),
        answers=person_present(session.ip),
    )
    return examine(place)


def found_notebook(session: Session) -> tuple[str, str]:
    """The notebook's path, empty when nobody tells, and who told."""
    path = notebook_path(session.ip)
    if session.ip.user_ns.get("__vsc_ipynb_file__"):
        return path, "told by VS Code"
    if path:
        return path, "told by Jupyter (JPY_SESSION_NAME)"
    if front(session.ip) == "terminal":
        return "", "a terminal has no notebook; this is the folder"
    return "", "nobody tells the notebook's name; this is the kernel's folder"


def _portable(session: Session) -> bool:
    model = _model(session)
    return session.awaits(model)


def _model(session: Session) -> str:
    """The model of the next turn, also where it cannot be used: the parts say why."""
    from memflush_jupyter.models import endpoints

    chosen = session.model or endpoints.default_model(session.config, os.environ)
    try:
        return endpoints.resolve(chosen, session.config, os.environ, key_needed=False).id
    except MemflushError:
        return chosen


def _conversation(session: Session) -> list[tuple[str, str]]:
    policy = session.config.approve or ("ask" if person_present(session.ip) else "deny")
    rows = [("model", _model(session)), ("code runs", {"ask": "after asking you", "auto": "without asking", "deny": "never"}[policy])]
    if session.always:
        rows.append(("always allowed", ", ".join(sorted(session.always))))
    trace = session.trace if session.opened else None
    if trace is None:
        rows.append(("conversation", "none yet: a %%agent cell begins one"))
    else:
        rows += _of_trace(session, trace)
    if session.budget is not None:
        rows.append(("context", gauge.describe(replace(session.budget, last_flush=None)).removeprefix("context ")))
    rows.append(("memory", _memory(session)))
    if trace is not None and session.worker.busy:
        rows.append(("in the background", "saving important memories"))
    return rows


def _memory(session: Session) -> str:
    if not session.config.memory:
        return "off"
    if session.opened:
        return f"{session.config.memory_dir}/ with {render.plural(len(session.workspace.memory.names()), 'file')}"
    return f"{session.config.memory_dir}/, opened with the first turn"


def _of_trace(session: Session, trace: Trace) -> list[tuple[str, str]]:
    store = session.workspace.store
    path = store.path(trace.id, whole=True)
    branches = {(message.branch.partition(":")[0], message.branch) for message in store.side_branches(trace.id)}
    rows = [
        ("conversation", f"{naming.short_id(session, trace.id)} “{trace.title}”".strip() if trace.title else naming.short_id(session, trace.id) or "begun"),
        ("turns", str(sum(message.kind == "prompt" for message in path))),
        ("messages", f"{trace.last_sequence} in the trace, {len(store.path(trace.id))} in the context"),
        ("compactions", str(trace.compaction_count)),
        ("last flush", _moment(session, trace.memory_flush_at)),
    ]
    if branches:
        kinds = sorted({kind for kind, _ in branches})
        rows.append(("side branches", ", ".join(f"{sum(name == kind for name, _ in branches)} {kind}" for kind in kinds)))
    if trace.flush_failures and trace.last_flush_error:
        rows.append(("last flush failed", trace.last_flush_error[:600]))
    return rows


def _moment(session: Session, moment: datetime | None) -> str:
    if moment is None:
        return "none yet"
    return moment.isoformat(" ", "minutes")[:16] if session.dated(_model(session)) else "done"
