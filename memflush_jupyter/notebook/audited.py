"""``%memory audit``: what compactions lost, message by message, and what no flush had covered (P1, D13)."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

from memflush_jupyter.agent.auditing import audits
from memflush_jupyter.notebook import naming
from memflush_jupyter.notebook.display import render

if TYPE_CHECKING:
    import argparse

    from memflush_jupyter.notebook.session import Session

Bundle = dict[str, Any]


def do_audit(session: Session, given: argparse.Namespace) -> list[Bundle] | Bundle:
    """The findings of the last compaction, or of each."""
    store = session.workspace.store
    trace = store.trace(given.trace) if given.trace else session.need_trace()
    found = audits(store, trace.id)
    if not found:
        return render.line("Nothing was compacted in this conversation, so nothing was lost.")
    shown = found if given.all else found[-1:]
    first = len(found) - len(shown)
    return [bundle for number, data in enumerate(shown, first + 1) for bundle in _one(session, number, len(found), data)]


def _one(session: Session, number: int, of: int, data: dict[str, Any]) -> list[Bundle]:
    """One compaction: a line that says how much is still there, then what is not."""
    begin, end = data["removed"]
    lead = f"Compaction {number} of {of} (messages {begin} to {end}, {_SOURCES.get(data['source'], data['source'])})"
    bundles: list[Bundle] = []
    found = data.get("audit")
    if found is None:
        bundles.append(render.line(f"{lead}: it could not be audited; the log says why.", "warning"))
    elif not found["checked"]:
        bundles.append(render.line(f"{lead}: nothing in it was worth missing."))
    else:
        kept = found["checked"] - found["missing_total"]
        bundles.append(render.line(f"{lead}: {kept} of {render.plural(found['checked'], 'item')} ({found['score']:.0%}) stand in summary, memory or view."))
        if found["missing"]:
            bundles.append(_missing(session, found))
        if found["untraceable"]:
            bundles.append(_untraceable(found))
    if data.get("uncovered"):
        bundles.append(render.line(f"No flush had covered all of it: {data['uncovered']}.", "warning"))
    return bundles


_SOURCES = {"model": "summary by the model", "extractive": "extractive summary", "drop": "dropped without a summary"}


def _missing(session: Session, found: dict[str, Any]) -> Bundle:
    rows = [[one["kind"], one["text"], naming.place(session, one["trace"], one["sequence"])] for one in found["missing"]]
    left = found["missing_total"] - len(rows)
    summary = f"{render.plural(found['missing_total'], 'item')} only in the stored messages; `read_message` and recall still find them"
    table = render.table(["what", "text", "said in"], rows)
    more = f"<div>… and {left} more</div>" if left else ""
    plain = f"{summary}\n{table['text/plain']}" + (f"\n… and {left} more" if left else "")
    return render.details(summary.replace("`", ""), table["text/html"] + more, plain.replace("`", ""))


def _untraceable(found: dict[str, Any]) -> Bundle:
    rows = [[one["kind"], one["text"], one["sentence"]] for one in found["untraceable"]]
    summary = f"{render.plural(found['untraceable_total'], 'statement')} of the summary that stand nowhere in what it summarises"
    table = render.table(["what", "text", "in the sentence"], rows)
    return render.details(
        summary, f"<div>{html.escape('The summary is left as it is; this is for you to know.')}</div>{table['text/html']}", f"{summary}\n{table['text/plain']}"
    )
