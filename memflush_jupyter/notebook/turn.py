"""One ``%%agent`` cell: sets the stage, drives the runner's events into a view, and ends in one sentence if it ends badly."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from memflush_jupyter.errors import ConfigError
from memflush_jupyter.events import Notice, ToolFinished
from memflush_jupyter.notebook import headless
from memflush_jupyter.notebook.approval import make_approver
from memflush_jupyter.notebook.display.transcript import FAILED_STOPS, Transcript
from memflush_jupyter.notebook.display.view import Format, View, make_view
from memflush_jupyter.notebook.failure import CellError, TurnInterrupted
from memflush_jupyter.notebook.interpolate import Filled, budget, interpolate, mentions
from memflush_jupyter.notebook.own_tools import tools_of
from memflush_jupyter.notebook.reaching import names_of
from memflush_jupyter.notebook.safeguard import Safeguard
from memflush_jupyter.notebook.trouble import told

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memflush_jupyter.events import Event, TurnFinished
    from memflush_jupyter.notebook.session import Session
    from memflush_jupyter.trace.models import Block

NOTHING_SET = "No key and no server are set, so the"
OFFLINE_NOTICE = (
    "{why} built-in offline analyst answers: rules, no language model. It can load, profile, compare and plot data. "
    "For Claude set the environment variable {key}; for a local server `%config MemFlush.base_url = 'http://…'`."
)
INTERRUPTED = "Interrupted. The conversation is kept; go on with another %%agent cell."
TITLE_CHARS = 60


@dataclass(frozen=True)
class TurnOptions:
    """What the ``%%agent`` line asked for. ``None`` and empty mean: as configured."""

    model: str = ""
    new: bool = False
    resume: str = ""
    approve: str = ""
    max_rounds: int | None = None
    memory: bool | None = None
    form: Format = "markdown"
    settings: Mapping[str, str] = field(default_factory=dict)


async def run_cell(session: Session, prompt: str, options: TurnOptions, beside: Sequence[Block] = ()) -> str:
    """Run one turn and show it; return the answer's text. ``beside``: data that goes with the prompt; names are then not filled in.

    Raises:
        CellError: it failed; the text is the sentence for the person.
        TurnInterrupted: the person stopped it.
    """
    session.interrupts.begin()
    try:
        async with session.interrupts.watch():
            await session.preload.ready()
            with session.config.overridden(options.settings):
                return await _run(session, prompt, options, beside)
    except asyncio.CancelledError:
        if not session.interrupts.requested:
            raise
        session.interrupts.settle()
        raise TurnInterrupted(INTERRUPTED) from None
    except (CellError, TurnInterrupted):
        raise
    except KeyboardInterrupt:
        raise TurnInterrupted(INTERRUPTED) from None
    except Exception as error:  # noqa: BLE001 - the person sees a sentence, the log has the rest
        raise told(session, error) from None
    finally:
        session.approver.policy = None


async def _run(session: Session, prompt: str, options: TurnOptions, beside: Sequence[Block]) -> str:
    if options.new and options.resume:
        raise ConfigError("--new and --resume exclude each other.")
    faults = session.config.take_faults()
    model = session.model_id(options.model)
    offline = model.startswith("offline/")
    front = headless.front(session.ip)
    view = make_view(session.ip, front, Transcript(dated=session.dated(model), redact=session.workspace.redactor), options.form)
    session.interrupts.on_tick = view.tick
    session.approver.policy = make_approver(options.approve or session.config.approve, session.ip, session.always, view.ask, session.workspace.redactor)
    guard = Safeguard(session, lambda text: view.handle(Notice(text, "warning")))
    try:
        for fault in faults:
            view.transcript.line(fault, "warning")
        if offline and not session.told_offline:
            session.told_offline = True
            chosen = bool(options.model or session.model or session.config.model)
            view.transcript.line(OFFLINE_NOTICE.format(why="The" if chosen else NOTHING_SET, key=session.config.api_key_env))
        if warning := session.workspace.take_warning():
            view.transcript.line(warning, "warning")
        _choose_conversation(session, view, prompt, model, options)
        filled = Filled(prompt, list(beside)) if beside else await _filled(session, prompt, model)
        for line in filled.lines:
            view.transcript.line(line)
        finished = await _drive(session, view, guard, filled, model, options)
    finally:
        guard.end()
        for line in session.own_tools.end():
            view.transcript.line(line, "warning")
        session.record(view.transcript.budget)
        view.finish()
    if finished.stop in FAILED_STOPS:
        raise CellError(finished.sentence or "The turn did not finish.")
    return view.transcript.answer


async def _filled(session: Session, prompt: str, model: str) -> Filled:
    """The prompt with the names of this notebook filled in."""
    if not mentions(prompt):
        return Filled(prompt)
    info = await session.workspace.client.info(model)
    names = names_of(session.ip, session.failures.text)
    redact = session.workspace.redactor
    redact.renew()
    return session.interrupts.step(lambda: interpolate(prompt, names, vision=info.vision, chars=budget(info.window), redact=redact))


def _choose_conversation(session: Session, view: View, prompt: str, model: str, options: TurnOptions) -> None:
    """Which conversation this cell belongs to: resumed, new, or the present one by the re-run rules."""
    if options.resume:
        session.resume(options.resume)
    elif options.new:
        session.leave()
    cell = headless.cell_id(session.ip)
    if session.trace_id is None:
        hint = session.begin(model, title=_title(session, prompt))
        session.rerun(cell)
        if hint and not options.new:
            _hint(session, view, model, hint)
        return
    notice = session.rerun(cell)
    if notice:
        view.transcript.line(notice)


def _hint(session: Session, view: View, model: str, hint: str) -> None:
    """The hint names a trace, so where outputs must be the same on any day it is shown only while the turn runs (P9)."""
    if session.awaits(model):
        view.transcript.hint = hint
    else:
        view.transcript.line(hint)


async def _drive(session: Session, view: View, guard: Safeguard, filled: Filled, model: str, options: TurnOptions) -> TurnFinished:
    memory = session.config.memory if options.memory is None else options.memory
    for line in session.own_tools.begin(view.handle):
        view.transcript.line(line, "warning")
    tools = tools_of(session)
    runner = session.runner(model, memory=memory, tools=tools)
    for event in session.take_pending():
        view.handle(event)

    def shown(event: Event) -> None:
        view.handle(event)
        if isinstance(event, ToolFinished):
            guard.check()

    content = [{"type": "text", "text": filled.text}]
    watched = session.budget_log.watched(shown)
    return await runner.turn(content, watched, cell_id=headless.cell_id(session.ip), max_rounds=options.max_rounds, beside=filled.beside)


def _title(session: Session, prompt: str) -> str:
    flat = " ".join(session.workspace.redactor(prompt).split())
    return flat if len(flat) <= TITLE_CHARS else f"{flat[:TITLE_CHARS]}…"
