"""What ``%memory`` does. Each function takes the session and the parsed line, and returns what is to be shown."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from memflush_jupyter.errors import ConfigError
from memflush_jupyter.notebook import naming
from memflush_jupyter.notebook.display import render
from memflush_jupyter.notebook.doors import confirmed
from memflush_jupyter.notebook.trouble import forget_log

if TYPE_CHECKING:
    from memflush_jupyter.notebook.session import Session

Bundle = dict[str, Any]

SHOWN_LINES = 20
_SHOWN_CHARS = 160


def do_list(session: Session, _: argparse.Namespace) -> Bundle:
    """The files."""
    memory = session.workspace.memory
    names = memory.names()
    if not names:
        return render.line(f"{session.config.memory_dir}/ holds nothing yet. Flushes write to it, and so can you: `%%memory MEMORY.md`.")
    purposes = {"MEMORY.md": "long-term memory", "IDENTITY.md": "who this agent is; yours to write", "DREAMS.md": "the diary", **session.config.memory_files}
    rows = [[name, str(len(memory.read(name).splitlines())), str(purposes.get(name, ""))] for name in names]
    return render.table(["file", "lines", "for"], rows)


def do_show(session: Session, given: argparse.Namespace) -> list[Bundle]:
    """One file, or all."""
    memory = session.workspace.memory
    names = [given.file] if given.file else memory.names()
    if not names:
        return [do_list(session, given)]
    return [_file(name, memory.read(name)) for name in names]


def _file(name: str, text: str) -> Bundle:
    from memflush_jupyter.memory import provenance

    shown = "\n".join(provenance.strip(line) for line in text.splitlines())
    return {"text/markdown": f"**{name}**\n\n{shown}", "text/plain": f"{name}\n\n{shown}"}


def do_search(session: Session, given: argparse.Namespace) -> Bundle:
    """Full-text search over messages and notes."""
    hits = session.workspace.store.search(" ".join(given.words), identity=session.workspace.identity, limit=given.n)
    if not hits:
        return render.line("Nothing was found.")
    rows = []
    for hit in hits:
        place = naming.place(session, hit.trace, hit.sequence) if hit.trace else ""
        text = " ".join(hit.text.split())
        rows.append([place, hit.origin, text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}…"])
    return render.table(["where", "from", "text"], rows)


def do_forget(session: Session, given: argparse.Namespace) -> Bundle:
    """Remove what is said in files, history and conversations for good, after a list and a yes (G9)."""
    from memflush_jupyter.memory import forget, wording
    from memflush_jupyter.memory.redaction_values import redacted_bundle
    from memflush_jupyter.notebook.display.view import show
    from memflush_jupyter.notebook.trouble import session_redactor

    if session.running:
        raise ConfigError("A turn is running; this can be done when it has ended.")
    workspace, pattern = session.workspace, " ".join(given.what)
    found = forget.candidates(workspace.memory, pattern)
    rewrite, hint = wording.rewriter(pattern, found)
    said = workspace.store.sayings(rewrite, hint=hint)
    if not found and not said:
        return render.line("Nothing in memory matches.")
    rows = [[f"{line.file}:{line.number}" if line.number else f"{line.file} (history)", line.text[:_SHOWN_CHARS]] for line in found[:SHOWN_LINES]]
    rows += [[naming.place(session, one.trace, one.sequence), " ".join(one.text.split())[:_SHOWN_CHARS]] for one in said[: max(0, SHOWN_LINES - len(rows))]]
    if len(found) + len(said) > len(rows):
        rows.append(["", f"… and {len(found) + len(said) - len(rows)} more"])
    show(session.ip, redacted_bundle(render.table(["where", "text"], rows), session_redactor(session)))
    what = " and ".join(render.plural(number, name) for number, name in ((len(found), "line"), (len(said), "message")) if number)
    if not confirmed(session, f"Forget {what}?", yes=given.yes):
        return render.line("Nothing was forgotten.")
    done = forget.forget(workspace.memory, found)
    workspace.store.delete_notes(done.ids)
    workspace.store.scrub(rewrite, hint=hint)
    forget_log(session, rewrite)
    session.forget_runners()
    return render.line(f"Forgot {what}.")


def write(session: Session, file: str, text: str) -> Bundle:
    """``%%memory FILE``: a person's text."""
    memory = session.workspace.memory
    redactor = session.workspace.redactor
    redactor.renew()
    clean = redactor(text)
    memory.replace(file, clean if clean.endswith("\n") else f"{clean}\n", base_hash=None)
    hidden = len(redactor.find(text))
    told = f" {render.plural(hidden, 'secret')} in it {'was' if hidden == 1 else 'were'} left out: memory is no place for keys." if hidden else ""
    return render.line(f"Written to {session.config.memory_dir}/{memory.canonical(file)}.{told}")
