"""The options of one kernel: read, guarded against slips, and shown with where each value comes from."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, NoReturn

from memflush_jupyter.config import MemFlush
from memflush_jupyter.errors import ConfigError
from memflush_jupyter.settings import DEFAULT, FILE

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable
    from pathlib import Path

    from memflush_jupyter.notebook.session import Session

Bundle = dict[str, Any]

_VALUE_CHARS = 60
_FILE_BYTES = 1_000_000


class OptionRefusedError(BaseException):
    """Ends the cell of a ``%config`` that could not be followed, with one sentence.

    IPython's ``%config`` logs every ``Exception`` and goes on, so that the cells behind it would run without the limit or model that
    the person believes is set. This one passes it.
    """

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


def kernel_options(ip: Any, config: MemFlush | None = None) -> MemFlush:
    """The options as configuration files and environment give them; what is wrong there waits to be told."""
    made = config or MemFlush(parent=ip)
    made.apply_environment(os.environ)
    made.refuse = _stop
    return made


def _stop(sentence: str) -> NoReturn:
    raise OptionRefusedError(sentence)


def do_config(session: Session, given: argparse.Namespace) -> Bundle | list[Bundle]:
    """``%agent config``: each option, its value, where that comes from, and what it means."""
    from memflush_jupyter.memory.redaction import Redactor
    from memflush_jupyter.notebook.display import render

    config = session.config
    if given.name and given.name not in config.options:
        raise ConfigError(config.unknown(given.name))
    names = [given.name] if given.name else [name for name in declared(config) if not given.changed or config.source(name) != DEFAULT]
    redact = Redactor(os.environ)
    values = {name: _value(config, name, redact, whole=bool(given.name or given.json)) for name in names}
    sources = {name: _source(session, name) for name in names}
    if given.json:
        listed = [{"option": name, "value": values[name], "source": sources[name], "help": config.options[name].help} for name in names]
        return render.line(json.dumps({"options": listed, "faults": [fault.sentence for fault in config.faults]}, indent=1, ensure_ascii=False))
    shown = [render.line(fault.sentence, "warning") for fault in config.faults if given.name in {None, fault.option}]
    if not names:
        return [*shown, render.line("Every option has its default. `%agent config` lists them all.")]
    return [*shown, render.table(["option", "value", "from", "meaning"], [[name, values[name], sources[name], config.options[name].help] for name in names])]


def declared(config: MemFlush) -> list[str]:
    """The options in the order in which they are declared, related ones together."""
    return [name for name in vars(MemFlush) if name in config.options]


def _value(config: MemFlush, name: str, redact: Callable[[str], str], *, whole: bool) -> str:
    shown = redact(repr(getattr(config, name)))
    return shown if whole or len(shown) <= _VALUE_CHARS else f"{shown[:_VALUE_CHARS]}…"


def _source(session: Session, name: str) -> str:
    if name == "model" and session.model:
        return f"{session.config.source(name)}; now %agent model {session.model}"
    source = session.config.source(name)
    if source != FILE:
        return source
    return next((f"{FILE} ({path})" for path in loaded_files(session.ip) if _names(path, name)), FILE)


def loaded_files(ip: Any) -> list[Path]:
    """The configuration files that this kernel read, the last one first: that one wins."""
    from pathlib import Path

    application = getattr(ip, "parent", None)
    while application is not None and not hasattr(application, "loaded_config_files"):
        application = getattr(application, "parent", None)
    return [Path(path) for path in reversed(list(getattr(application, "loaded_config_files", [])))]


def _names(path: Path, name: str) -> bool:
    try:
        return path.stat().st_size <= _FILE_BYTES and f"MemFlush.{name}" in path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
