"""What ``%agent`` and ``%budget`` do. Each function takes the session and the parsed line, and returns what is to be shown."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memflush_jupyter.errors import ConfigError
from memflush_jupyter.events import TextDone, ToolFinished, ToolStarted
from memflush_jupyter.notebook import naming
from memflush_jupyter.notebook.display import gauge, render
from memflush_jupyter.notebook.display.transcript import Transcript
from memflush_jupyter.notebook.doors import confirmed
from memflush_jupyter.notebook.own_tools import tools_of

if TYPE_CHECKING:
    from memflush_jupyter.agent.room import Room
    from memflush_jupyter.events import Event
    from memflush_jupyter.notebook.session import Session
    from memflush_jupyter.trace.models import Message

Bundle = dict[str, Any]

_FLUSH_WORDS = {"silent": "nothing to store", "skipped": "skipped", "cancelled": "cancelled"}


def do_show(session: Session, given: argparse.Namespace) -> list[Bundle]:
    """A turn again, from the trace."""
    path = session.workspace.store.path(session.need_trace().id, whole=True)
    starts = [place for place, message in enumerate(path) if message.kind == "prompt"]
    number = given.turn if given.turn is not None else len(starts)
    if not 1 <= number <= len(starts):
        raise ConfigError(f"The conversation has {render.plural(len(starts), 'turn')}; `%agent show N` takes a number from 1 to that.")
    end = starts[number] if number < len(starts) else len(path)
    dated = session.dated(session.model_id())
    return [segment.bundle for segment in replayed(path[starts[number - 1] : end], session.workspace.redactor, dated=dated).segments]


def replayed(messages: list[Message], redact: Callable[[str], str] = str, *, dated: bool = True) -> Transcript:
    """The segments of stored messages, as the turn showed them; figures are not stored, so a line stands for them."""
    transcript = Transcript(dated=dated, redact=redact)
    calls: dict[str, dict[str, Any]] = {}
    block = 0
    for message in messages:
        if message.kind == "prompt":
            aside = set(message.meta.get("aside", []))
            said = [part["text"] for place, part in enumerate(message.content) if part.get("type") == "text" and place not in aside]
            transcript.segments.append(_quote("\n\n".join(said)))
        for part in message.content if message.kind in {"reply", "results"} else []:
            if part.get("type") == "text" and message.role == "assistant":
                transcript.add(TextDone(block, part["text"]))
                block += 1
            elif part.get("type") == "tool_use":
                calls[part["id"]] = part
                transcript.add(ToolStarted(part["id"], part["name"], _as_object(part["input"])))
            elif part.get("type") == "tool_result":
                call = calls.get(part["tool_use_id"], {"name": "tool", "input": {}})
                transcript.add(ToolFinished(part["tool_use_id"], call["name"], _as_object(call["input"]), _result_text(part), bool(part.get("is_error"))))
    transcript.end()
    return transcript


def _quote(text: str) -> Any:
    from memflush_jupyter.notebook.display.transcript import Segment

    quoted = "\n".join(f"> {line}" for line in text.splitlines())
    return Segment("prompt", {"text/markdown": quoted, "text/plain": quoted}, text=text)


def _as_object(given: Any) -> dict[str, Any]:
    return given if isinstance(given, dict) else {"input": given}


def _result_text(block: dict[str, Any]) -> str:
    content = block.get("content", "")
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] if part.get("type") == "text" else f"[{part.get('type')}]" for part in content)


def do_list(session: Session, given: argparse.Namespace) -> Bundle:
    """The conversations of this memory."""
    store = session.workspace.store
    found = [trace for trace in store.traces(session.workspace.identity, limit=given.n) if trace.kind == "main"]
    if not found:
        return render.line("No conversations yet.")
    rows = [
        [
            "→" if trace.id == session.trace_id else "",
            naming.short_id(session, trace.id),
            trace.updated_at.isoformat(" ", "minutes")[:16] if session.dated(session.model_id()) else "",
            str(trace.last_sequence),
            trace.model,
            trace.title,
        ]
        for trace in found
    ]
    return render.table(["", "id", "last used", "messages", "model", "title"], rows)


def do_new(session: Session, _: argparse.Namespace) -> Bundle:
    """A new conversation with the next cell."""
    _idle(session)
    session.leave()
    return render.line("The next %%agent cell begins a new conversation; memory stays.")


def do_resume(session: Session, given: argparse.Namespace) -> Bundle:
    """Go on with an earlier one."""
    _idle(session)
    trace = session.resume(given.trace)
    turns = len(session.prompts())
    named = f" “{trace.title}”" if trace.title else ""
    who = f"{naming.short_id(session, trace.id)}{named}".strip() or "it"
    return render.line(f"Going on with {who}: {render.plural(turns, 'turn')}, {render.plural(trace.compaction_count, 'compaction')}.")


def do_rewind(session: Session, given: argparse.Namespace) -> Bundle:
    """Go back some turns."""
    _idle(session)
    left = session.rewind(given.turns)
    spoken = " ".join(left.spoken.split())
    return render.line(f"Went back {render.plural(given.turns, 'turn')}, to before “{spoken[:80]}”. The branch that was left stays in the trace.")


def do_reset(session: Session, _: argparse.Namespace) -> Bundle:
    """Empty the context."""
    _idle(session)
    trace = session.need_trace()
    session.workspace.store.rewind(trace.id, None)
    session.budget = None
    return render.line("The conversation's context is empty; its messages stay in the trace, and memory stays.")


def do_model(session: Session, given: argparse.Namespace) -> Bundle:
    """Show or set the model."""
    if given.name:
        session.model = session.model_id(given.name)
    return render.line(f"model: {session.model_id()}")


def do_flush(session: Session, _: argparse.Namespace) -> list[Bundle]:
    """Save what matters now."""
    said: Transcript = Transcript(dated=session.dated(session.model_id()), redact=session.workspace.redactor)
    result = _in_room(session, said, lambda room: room.flush_now())
    if result is not None and result.outcome in _FLUSH_WORDS:
        said.line(f"memory: {_FLUSH_WORDS[result.outcome]}" + (f" ({result.reason})" if result.reason else ""))
    return [segment.bundle for segment in said.segments]


def do_compact(session: Session, _: argparse.Namespace) -> list[Bundle]:
    """Make room now."""
    said: Transcript = Transcript(dated=session.dated(session.model_id()), redact=session.workspace.redactor)
    if not _in_room(session, said, lambda room: room.compact("manual")):
        said.line("context: nothing to compact; all that stands in it is recent.")
    session.budget = said.budget or session.budget
    return [segment.bundle for segment in said.segments]


def _in_room(session: Session, said: Transcript, job: Callable[[Room], Coroutine[Any, Any, Any]]) -> Any:
    """Run a job on the conversation's window on the background thread, and collect its events."""
    events: list[Event] = []
    try:
        return session.worker.run(_work(session, events.append, job))
    finally:
        for event in events:
            session.budget_log.take(event)
            said.add(event)
        session.budget_log.settled()


def _work(session: Session, emit: Callable[[Event], None], job: Callable[[Room], Coroutine[Any, Any, Any]]) -> Callable[[], Coroutine[Any, Any, Any]]:
    """A job on the conversation's window, to be started on the background thread."""
    _idle(session)
    trace, model = session.need_trace().id, session.model_id()
    tools = tools_of(session)

    async def work() -> Any:
        from memflush_jupyter.agent.runner import AgentRunner

        runner = AgentRunner(session.own_parts(memory=session.config.memory, tools=tools), trace, model)
        return await job(await runner.room(emit))

    return work


def operation(session: Session, name: str) -> tuple[Callable[[], Coroutine[Any, Any, Any]], Callable[[Any], str]]:
    """``%agent flush`` or ``%agent compact`` for a button: the work for the background thread, and the line for what came of it."""

    def flushed(result: Any) -> str:
        if result is None or result.outcome in _FLUSH_WORDS:
            return f"memory: {_FLUSH_WORDS[result.outcome] if result is not None else 'nothing to store'}"
        return f"memory: {result.outcome}"

    def compacted(result: Any) -> str:
        session.budget = session.budget_log.budget or session.budget
        return "context: compacted." if result else "context: nothing to compact; all that stands in it is recent."

    emit = session.budget_log.beside(lambda _: None)
    if name == "flush":
        return _work(session, emit, lambda room: room.flush_now()), flushed
    return _work(session, emit, lambda room: room.compact("manual")), compacted


def do_export(session: Session, given: argparse.Namespace) -> Bundle:
    """Write a conversation to a file."""
    from memflush_jupyter.trace import export as exports

    store = session.workspace.store
    trace = store.trace(given.trace) if given.trace else session.need_trace()
    target = session.folder / (given.file or f"conversation-{trace.id[:8]}.md")
    writers: dict[str, Callable[..., Any]] = {".md": exports.to_markdown, ".json": exports.to_json, ".ipynb": exports.to_notebook}
    writer = writers.get(target.suffix.lower())
    if writer is None:
        raise ConfigError(f"{target.name}: the ending says the format; use .md, .json or .ipynb.")
    if target.exists() and not given.force:
        raise ConfigError(f"{_shown(session, target)} exists; add --force to replace it, or name another file.")
    made = writer(store.path(trace.id, whole=True), trace)
    try:
        target.write_text(made if isinstance(made, str) else json.dumps(made, indent=1, ensure_ascii=False), encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{_shown(session, target)} cannot be written: {error.strerror or error}.") from error
    return render.line(f"Written to {_shown(session, target)}.")


def _shown(session: Session, path: Path) -> str:
    return str(path.relative_to(session.folder)) if path.is_relative_to(session.folder) else str(path)


def do_delete(session: Session, given: argparse.Namespace) -> Bundle:
    """Delete a conversation."""
    _idle(session)
    trace = session.workspace.store.trace(given.trace)
    named = f" “{trace.title}”" if trace.title else ""
    if not confirmed(session, f"Delete the conversation {trace.id[:8]}{named} with {render.plural(trace.last_sequence, 'message')}?", yes=given.yes):
        return render.line("Nothing was deleted.")
    if trace.id == session.trace_id:
        session.leave()
    deleted = session.workspace.store.delete_trace(trace.id)
    return render.line(f"Deleted {trace.id[:8]} with {render.plural(deleted, 'message')}. Notes made from it stay; `%memory forget` removes those.")


def do_budget(session: Session) -> list[Bundle]:
    """How full the context is."""
    if session.budget is None and session.trace is not None and session.trace.head is not None:
        session.budget = _in_room(session, Transcript(), _measure)
    if session.budget is None:
        return [render.line("No turn has run yet; `%%agent` begins one.")]
    shown = session.budget
    if shown.last_flush and not session.dated(session.model_id()):
        shown = replace(shown, last_flush="done")
    rows = [[name, value] for name, value in gauge.figures(shown)]
    return [gauge.gauge(replace(shown, last_flush=None)), render.table(["", "tokens"], rows)]


async def _measure(room: Room) -> Any:
    return room.budget()


def _idle(session: Session) -> None:
    if session.running:
        raise ConfigError("A turn is running; this can be done when it has ended.")
