"""``%%agent`` and ``%agent``: doors. They parse, hand over and show."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Callable, Coroutine
from typing import Any

from memflush_jupyter.errors import ConfigError
from memflush_jupyter.notebook import doors
from memflush_jupyter.notebook.arguments import HelpAsked, Parser, choose, count, setting
from memflush_jupyter.notebook.failure import CellError, TurnInterrupted
from memflush_jupyter.notebook.session import Session
from memflush_jupyter.notebook.trouble import told

Bundle = dict[str, Any]

_CELL_ABOUT = "One turn of the agent: the cell's text is the prompt. It runs code in this kernel, and saves what matters before its context is compacted."
_LINE_ABOUT = "Steers the conversation. `%agent NAME --help` says more on each."


def agent_cell(ip: Any, line: str, cell: str = "") -> Coroutine[Any, Any, None]:
    """``%%agent``: run a turn."""

    def begin(session: Session) -> Coroutine[Any, Any, None]:
        given = cell_parser().parse(line)
        if given.words:
            raise ConfigError("The prompt goes into the lines below `%%agent`, not beside it.")
        if not cell.strip():
            raise ConfigError("The cell holds no prompt. Write what you want below `%%agent`.")
        return _turn(session, cell.strip(), given)

    return doors.enter_async(ip, begin)


async def _turn(session: Session, prompt: str, given: argparse.Namespace) -> None:
    with session.turn():
        await _prepared_turn(session, prompt, given)


async def _prepared_turn(session: Session, prompt: str, given: argparse.Namespace) -> None:
    # Imported here, on the first turn, or before on the background thread.
    await _prepared(session)
    from memflush_jupyter.notebook.turn import TurnOptions, run_cell

    options = TurnOptions(
        model=given.model,
        new=given.new,
        resume=given.resume,
        approve=given.approve,
        max_rounds=given.max_rounds,
        memory=given.memory,
        form=given.format,
        settings=dict(given.set),
    )
    await run_cell(session, prompt, options)


async def _prepared(session: Session) -> None:
    import asyncio

    from memflush_jupyter.notebook.failure import TurnInterrupted

    session.interrupts.begin()
    try:
        async with session.interrupts.watch():
            await session.preload.ready()
    except asyncio.CancelledError:
        if not session.interrupts.requested:
            raise
        session.interrupts.settle()
        raise TurnInterrupted("Interrupted before the turn began.") from None


def cell_parser() -> Parser:
    """The options of ``%%agent``."""
    parser = Parser("%%agent", _CELL_ABOUT)
    parser.add_argument("-m", "--model", default="", help="model of this turn: anthropic/NAME, local/NAME or offline/analyst")
    parser.add_argument("--new", action="store_true", help="begin a new conversation")
    parser.add_argument("--resume", metavar="TRACE", default="", help="go on with an earlier conversation (`%%agent list` names them)")
    parser.add_argument("--approve", choices=["ask", "auto", "deny"], default="", help="who decides whether code runs; default: MemFlush.approve")
    parser.add_argument("--max-rounds", type=count, metavar="N", help="model calls in this turn, at most; default: MemFlush.max_rounds")
    parser.add_argument("--memory", action=argparse.BooleanOptionalAction, default=None, help="use and keep memory in this turn; default: MemFlush.memory")
    parser.add_argument("--format", choices=["markdown", "text", "json"], default="markdown", help="how the answer is shown")
    parser.add_argument("--set", action="append", type=setting, default=[], metavar="NAME=VALUE", help="any option for this turn alone, e.g. --set recall=off")
    parser.add_argument("words", nargs="*", help=argparse.SUPPRESS)
    return parser


def agent_line(ip: Any, line: str = "") -> Coroutine[Any, Any, None] | None:
    """``%agent NAME …``: steer the conversation. What runs a turn is a coroutine, which the cell awaits."""
    word, _, rest = line.strip().partition(" ")
    if word == "fix":
        return doors.enter_async(ip, lambda session: _fix(session, parsers()[word].parse(rest)))
    doors.enter(ip, lambda session: _steer(session, line))
    return None


async def _fix(session: Session, given: argparse.Namespace) -> None:
    with session.turn():
        await _prepared(session)
        from memflush_jupyter.notebook import fixing

        try:
            await fixing.fix(session, given)
        except (CellError, TurnInterrupted):
            raise
        except Exception as error:  # noqa: BLE001 - the person sees a sentence, the log has the rest
            raise told(session, error) from None


def _steer(session: Session, line: str) -> Bundle | list[Bundle] | None:
    word, _, rest = line.strip().partition(" ")
    if word in {"", "help", "-h", "--help"}:
        raise HelpAsked(overview())
    name = choose("%agent", word, COMMANDS)
    return COMMANDS[name](session, parsers()[name].parse(rest))


def overview() -> str:
    """The list of subcommands."""
    made = parsers()
    width = max(map(len, made))
    return "\n".join([_LINE_ABOUT, "", *(f"  %agent {name.ljust(width)}  {parser.description}" for name, parser in made.items())])


def parsers() -> dict[str, Parser]:
    """One parser a subcommand; names and help are the reference."""
    made = {name: Parser(f"%agent {name}", about) for name, about in _ABOUT.items()}
    made["show"].add_argument("turn", nargs="?", type=int, help="number of the turn, from 1; default: the latest")
    made["list"].add_argument("-n", type=count, default=20, metavar="N", help="how many, at most")
    made["resume"].add_argument("trace", nargs="?", help="a conversation's id or the beginning of it; default: the latest")
    made["rewind"].add_argument("turns", nargs="?", type=count, default=1, help="how many turns to go back; default: 1")
    made["model"].add_argument("name", nargs="?", help="model id; left out: shows the present one")
    made["status"].add_argument("--all", action="store_true", help="every part that a turn needs, also where all is well")
    made["status"].add_argument("--json", action="store_true", help="as JSON")
    made["config"].add_argument("name", nargs="?", help="one option; left out: all of them")
    made["config"].add_argument("--changed", action="store_true", help="only those that differ in where they come from: not the defaults")
    made["config"].add_argument("--json", action="store_true", help="as JSON")
    made["fix"].add_argument("-m", "--model", default="", help="model of this turn: anthropic/NAME, local/NAME or offline/analyst")
    made["fix"].add_argument("--approve", choices=["ask", "auto", "deny"], default="", help="who decides whether code runs; default: MemFlush.approve")
    made["fix"].add_argument("words", nargs="*", help="what the model should know, in your words")
    made["tool"].add_argument("function", help="name of a function in this notebook, with a type hint for each parameter")
    made["tool"].add_argument("--name", default="", help="what the model calls it by; default: its own name")
    made["tool"].add_argument("--no-ask", action="store_true", help="let it run without asking you")
    made["tool"].add_argument("--remove", action="store_true", help="take it back")
    made["approvals"].add_argument("--reset", action="store_true", help="take back what is always allowed")
    made["code"].add_argument("number", nargs="?", type=int, help="number of the code block, from 1; default: the last")
    made["export"].add_argument("file", nargs="?", help="target, by its ending .md, .json or .ipynb; default: conversation-ID.md")
    made["export"].add_argument("--trace", help="another conversation than the present one")
    made["export"].add_argument("--force", action="store_true", help="replace a file that exists")
    made["delete"].add_argument("trace", help="the conversation's id or the beginning of it")
    made["delete"].add_argument("--yes", action="store_true", help="do not ask")
    return made


_ABOUT = {
    "status": "shows the conversation, its context, what memory does, and whether every part is well",
    "show": "shows a turn again from the trace",
    "list": "lists the conversations of this memory",
    "new": "begins a new conversation with the next %%agent cell",
    "resume": "goes on with an earlier conversation",
    "rewind": "goes back to before the latest turns; nothing is deleted",
    "reset": "empties the conversation's context; the trace keeps every message",
    "model": "shows or sets the model of this kernel's turns",
    "config": "lists every option, its value, and where that comes from",
    "fix": "explains the last error and proposes a corrected cell below",
    "code": "puts a code block of the last answer into a new cell",
    "tool": "lets the agent call a function of yours; --remove takes it back",
    "tools": "lists the agent's tools, built in and yours, and which ask first",
    "approvals": "shows what is always allowed in this notebook; --reset takes it back",
    "flush": "saves what matters to memory now",
    "compact": "replaces the older part of the context by a summary now",
    "export": "writes the conversation to a file",
    "delete": "deletes a conversation with all its messages",
}


_ROOMS = {"code": "fixing", "config": "options", "status": "status", "tool": "own_tools", "tools": "own_tools", "approvals": "own_tools"}
"""Where a subcommand is done, when not in ``steering``."""


def _command(name: str) -> Callable[[Session, argparse.Namespace], Bundle | list[Bundle] | None]:
    def call(session: Session, given: argparse.Namespace) -> Bundle | list[Bundle] | None:
        room = importlib.import_module(f"memflush_jupyter.notebook.{_ROOMS.get(name, 'steering')}")
        result: Bundle | list[Bundle] | None = getattr(room, f"do_{name}")(session, given)
        return result

    return call


COMMANDS = {name: _command(name) for name in _ABOUT}


def functions(ip: Any) -> dict[tuple[str, str], Callable[..., Any]]:
    """The functions to register on a shell."""

    def cell(line: str, cell: str = "") -> Coroutine[Any, Any, None]:
        return agent_cell(ip, line, cell)

    def steer(line: str = "") -> Coroutine[Any, Any, None] | None:
        return agent_line(ip, line)

    cell.__doc__, steer.__doc__ = cell_parser().format_help(), overview()
    return {("cell", "agent"): cell, ("line", "agent"): steer}
