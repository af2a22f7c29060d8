"""``%memory`` and ``%%memory FILE``: doors to the memory files."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from memflush_jupyter.notebook import doors
from memflush_jupyter.notebook.arguments import HelpAsked, Parser, choose, count
from memflush_jupyter.notebook.session import Session

Bundle = dict[str, Any]

_ABOUT = {
    "list": "lists the memory files",
    "show": "shows a memory file, or all that is small",
    "search": "searches messages and notes of this memory",
    "audit": "says what the compactions of a conversation lost, and where it was said",
    "forget": "removes lines from files, index and history, after a list and a yes",
}


def memory_line(ip: Any, line: str = "") -> None:
    """``%memory NAME …``."""
    doors.enter(ip, lambda session: _serve(session, line))


def _serve(session: Session, line: str) -> Bundle | list[Bundle] | None:
    word, _, rest = line.strip().partition(" ")
    if word in {"help", "-h", "--help"}:
        raise HelpAsked(overview())
    name = choose("%memory", word or "list", COMMANDS)
    return COMMANDS[name](session, parsers()[name].parse(rest))


def memory_cell(ip: Any, line: str, cell: str = "") -> None:
    """``%%memory FILE``: the cell's text becomes the file's text."""

    def write(session: Session) -> Bundle:
        given = cell_parser().parse(line)
        from memflush_jupyter.notebook import remembering

        return remembering.write(session, given.file, cell)

    doors.enter(ip, write)


def overview() -> str:
    """The list of subcommands."""
    width = max(map(len, _ABOUT))
    lines = [f"  %memory {name.ljust(width)}  {about}" for name, about in _ABOUT.items()]
    return "\n".join(
        ["Reads and edits what is remembered. `%memory NAME --help` says more on each.", "", *lines, "", "  %%memory FILE  writes the cell's text to the file"]
    )


def parsers() -> dict[str, Parser]:
    """One parser a subcommand."""
    made = {name: Parser(f"%memory {name}", about) for name, about in _ABOUT.items()}
    made["show"].add_argument("file", nargs="?", help="a memory file such as MEMORY.md; default: all")
    made["search"].add_argument("words", nargs="+", help="what to look for")
    made["search"].add_argument("-n", type=count, default=10, metavar="N", help="how many, at most")
    made["audit"].add_argument("trace", nargs="?", default="", help="a conversation's id; default: the present one")
    made["audit"].add_argument("--all", action="store_true", help="each compaction, not only the last")
    made["forget"].add_argument("what", nargs="+", help="a line (taste.md:12), a note (mf:8f2c), /REGEX/, or words that stand in it")
    made["forget"].add_argument("--yes", action="store_true", help="do not ask")
    return made


def cell_parser() -> Parser:
    """The options of ``%%memory``."""
    parser = Parser("%%memory", "Writes the cell's text to a memory file; unchanged lines keep their bytes, and what was there goes to the history.")
    parser.add_argument("file", help="a memory file such as MEMORY.md or topics/penguins.md")
    return parser


def _command(name: str) -> Callable[[Session, argparse.Namespace], Bundle | list[Bundle] | None]:
    def call(session: Session, given: argparse.Namespace) -> Bundle | list[Bundle] | None:
        from memflush_jupyter.notebook import audited, remembering

        room = audited if name == "audit" else remembering
        result: Bundle | list[Bundle] | None = getattr(room, f"do_{name}")(session, given)
        return result

    return call


COMMANDS = {name: _command(name) for name in _ABOUT}


def functions(ip: Any) -> dict[tuple[str, str], Callable[..., Any]]:
    """The functions to register on a shell."""

    def serve(line: str = "") -> None:
        memory_line(ip, line)

    def write(line: str, cell: str = "") -> None:
        memory_cell(ip, line, cell)

    serve.__doc__, write.__doc__ = overview(), cell_parser().format_help()
    return {("line", "memory"): serve, ("cell", "memory"): write}
