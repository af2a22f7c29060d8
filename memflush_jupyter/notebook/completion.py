"""Tab in ``%%agent`` cells and on the lines of our magics: options, subcommands, variables after a brace, files.

A matcher of IPython's completer, as a front end's complete request runs it. Where it has nothing to say it says nothing, and every
other cell completes as before.
"""

from __future__ import annotations

import argparse
import contextlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memflush_jupyter.notebook.reaching import MISSING, attribute_of, exists, names_of

if TYPE_CHECKING:
    from memflush_jupyter.notebook.arguments import Parser
    from memflush_jupyter.notebook.session import Session

MOST = 200
"""Candidates that are offered, at most."""
_LINE = re.compile(r"^\s*(?P<magic>%%?(?:agent|memory|budget))(?P<rest>[ \t].*)?$")
_BRACE = re.compile(r"\{(?P<inside>[^{}\s]*)\Z")
_FRAME_PARTS = ("shape", "columns", "dtypes", "index")


@dataclass(frozen=True)
class Offer:
    """What completes ``fragment``, the text before the cursor. ``alone``: nobody else's candidates make sense here."""

    fragment: str
    words: list[str]
    alone: bool = True


def install(ip: Any, session: Session) -> Callable[[], None]:
    """Add the matcher to a shell; the answer takes it away again."""
    from IPython.core.completer import SimpleCompletion, context_matcher

    completer = getattr(ip, "Completer", None)
    if completer is None:
        return lambda: None

    @context_matcher(identifier="memflush", priority=200)  # type: ignore[untyped-decorator]
    def memflush_matcher(context: Any) -> Any:
        lines = str(context.full_text).split("\n")[: int(context.cursor_line) + 1]
        lines[-1] = str(context.line_with_cursor)[: int(context.cursor_position)]
        offer = None
        with contextlib.suppress(Exception):  # completing must never disturb typing
            offer = complete(session, lines)
        if offer is None:
            return {"completions": []}
        completions = [SimpleCompletion(word, type="memflush") for word in offer.words[:MOST]]
        return {"completions": completions, "matched_fragment": offer.fragment, "suppress": offer.alone, "ordered": True}

    completer.custom_matchers.append(memflush_matcher)

    def remove() -> None:
        if memflush_matcher in completer.custom_matchers:
            completer.custom_matchers.remove(memflush_matcher)

    return remove


def complete(session: Session, lines: Sequence[str]) -> Offer | None:
    """What can follow the text before the cursor, given as lines; ``None``: nothing of ours."""
    first = next((line for line in lines if line.strip()), "")
    inside = first.lstrip().startswith("%%agent") and lines[-1] is not first
    if inside:
        return in_prompt(session, lines[-1])
    match = _LINE.match(lines[-1])
    if match is None or match["rest"] is None:
        return None
    return on_line(session, match["magic"], match["rest"])


def in_prompt(session: Session, before: str) -> Offer:
    """In the prompt: names after a brace, else files of the notebook's folder."""
    brace = _BRACE.search(before)
    if brace is not None:
        return Offer(brace["inside"], _after_brace(session, brace["inside"]))
    fragment = re.split(r"[\s\"'`(,;]", before)[-1]
    return Offer(fragment, files(session.folder, fragment))


def on_line(session: Session, magic: str, rest: str) -> Offer:
    """On a magic's line: subcommands, then the options and values of the one that was chosen."""
    words = rest.split()
    fragment = "" if rest[-1:].isspace() or not words else words.pop()
    known = _subcommands(magic)
    if known and not words:
        return Offer(fragment, _starting(fragment, known))
    parser = _parser(magic, words[0] if known else "")
    if parser is None:
        return Offer(fragment, [])
    return Offer(fragment, _starting(fragment, _arguments(session, parser, words[1:] if known else words, fragment)))


def files(folder: Path, fragment: str) -> list[str]:
    """Files and folders whose path continues the fragment; hidden ones when a dot is typed."""
    head, slash, name = fragment.rpartition("/")
    place = Path(head or "/").expanduser() if fragment.startswith(("/", "~")) else folder / head
    try:
        found = sorted(place.iterdir(), key=lambda path: path.name)
    except OSError:
        return []
    shown = [path for path in found if path.name.startswith(name) and (name.startswith(".") or not path.name.startswith("."))]
    return [f"{head}{slash}{path.name}{'/' if path.is_dir() else ''}" for path in shown if not re.search(r"\s", path.name)]


def _subcommands(magic: str) -> list[str]:
    from memflush_jupyter.notebook.magics import agent, memory

    return [*{"%agent": agent.COMMANDS, "%memory": memory.COMMANDS}.get(magic, {}), *(["help"] if magic in {"%agent", "%memory"} else [])]


def _parser(magic: str, command: str) -> Parser | None:
    from memflush_jupyter.notebook.magics import agent, budget, memory

    if magic == "%agent":
        return agent.parsers().get(command)
    if magic == "%memory":
        return memory.parsers().get(command)
    single = {"%%agent": agent.cell_parser, "%%memory": memory.cell_parser, "%budget": budget.parser}.get(magic)
    return single() if single is not None else None


def _arguments(session: Session, parser: Parser, words: list[str], fragment: str) -> list[str]:
    actions = parser._actions  # noqa: SLF001 - argparse has no public way to list them
    options = {name: action for action in actions for name in action.option_strings}
    before = options.get(words[-1]) if words else None
    if before is not None and before.nargs != 0:
        return _values(session, before, fragment)
    places = [action for action in actions if not action.option_strings and action.help != argparse.SUPPRESS]
    offered = [value for action in places[:1] for value in _values(session, action, fragment)]
    return [*offered, *(name for name in options if fragment.startswith("-") or not offered)]


def _values(session: Session, action: argparse.Action, fragment: str) -> list[str]:
    if action.choices:
        return [str(choice) for choice in action.choices]
    if action.dest == "set" or (action.dest == "name" and "option" in (action.help or "")):
        ending = "=" if action.dest == "set" else ""
        return [f"{name}{ending}" for name in sorted(session.config.trait_names(config=True))]
    if action.dest == "file" and "memory file" in (action.help or ""):
        return session.workspace.memory.names() if session.opened else []
    if action.dest in {"file", "path"}:
        return files(session.folder, fragment)
    if action.dest in {"trace", "resume"} and session.opened:
        return [trace.id[:8] for trace in session.workspace.store.traces(session.workspace.identity, limit=20) if trace.kind == "main"]
    if action.dest == "model" or (action.dest == "name" and "model" in (action.help or "")):
        return ["anthropic/", "local/", "offline/analyst"]
    if action.dest in {"name", "function"} and "function" in (action.help or ""):
        return [name for name in _variables(session) if callable(session.ip.user_ns.get(name))]
    return []


def _after_brace(session: Session, inside: str) -> list[str]:
    history = session.ip.history_manager
    counts = {
        "In": [n for n, text in enumerate(history.input_hist_raw) if text and n],
        "Out": sorted(history.output_hist),
        "Err": session.failures.counts,
    }
    numbered = re.match(r"(In|Out|Err)\[", inside)
    if numbered:
        return _starting(inside, [f"{numbered[1]}[{n}]}}" for n in reversed(counts[numbered[1]])])
    path, dot, _ = inside.rpartition(".")
    if dot:
        return _starting(inside, [f"{path}.{name}" for name in _attributes(session, path)])
    return _starting(inside, [*_variables(session), *(f"{head}[" for head, found in counts.items() if found)])


def _variables(session: Session) -> list[str]:
    from memflush_jupyter.notebook.describe import is_persons

    names = names_of(session.ip, session.failures.text)
    return [name for name, value in list(names.variables.items()) if exists(name, names) and is_persons(name, value, ())]


def _attributes(session: Session, path: str) -> list[str]:
    names = names_of(session.ip, session.failures.text)
    first, *rest = path.split(".")
    value: Any = names.variables[first] if exists(first, names) else MISSING
    for name in rest:
        value = attribute_of(value, name) if value is not MISSING else MISSING
    if value is MISSING:
        return []
    if type(value).__name__ == "DataFrame":
        columns = list(value.columns)
        return [*(name for name in columns if isinstance(name, str) and name.isidentifier()), *_FRAME_PARTS]
    try:
        own = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return []
    return [name for name in own if isinstance(name, str) and not name.startswith("_")]


def _starting(fragment: str, words: Sequence[str]) -> list[str]:
    return [word for word in dict.fromkeys(words) if word.startswith(fragment)]
