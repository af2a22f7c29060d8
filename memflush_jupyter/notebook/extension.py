"""``%load_ext memflush_jupyter``: registers the magics, and imports nothing heavy.

IPython does not await cell magics. ``%%agent`` returns a coroutine, and an input transformer puts ``await`` before the call, so
the cell runs as an ordinary asynchronous cell on the kernel's loop: it streams, and it can be interrupted.
"""

from __future__ import annotations

import atexit
import contextlib
import re
from typing import Any

from memflush_jupyter.notebook import completion, logs
from memflush_jupyter.notebook.magics import agent, budget, memory
from memflush_jupyter.notebook.session import Session
from memflush_jupyter.notebook.trouble import redacted

_CALL = "get_ipython().run_cell_magic('agent',"
_LINE_CALL = re.compile(r"get_ipython\(\)\.run_line_magic\('agent', ['\"]\s*fix\b")
"""Lines of ``%agent`` that run a turn."""
_MAGICS = (agent.functions, memory.functions, budget.functions)
_CLASS_NAME = "MemFlush"


def load(ip: Any) -> None:
    """Register everything on the shell ``ip``; loading again starts afresh."""
    if getattr(ip, "memflush_session", None) is not None:
        unload(ip)
    session = Session(ip)
    ip.memflush_session = session
    ip.configurables.append(session.config)
    for magics in _MAGICS:
        for (kind, name), function in magics(ip).items():
            ip.register_magic_function(function, magic_kind=kind, magic_name=name)
    ip.input_transformers_post.append(await_agent)
    session.hooks = {"pre_run_cell": lambda *begun: _cell_began(session, *begun), "post_run_cell": lambda *ran: _cell_ended(session, *ran)}
    for event, hook in session.hooks.items():
        ip.events.register(event, hook)
    session.hooks["completion"] = completion.install(ip, session)
    session.hooks["log"] = logs.guard(lambda text: redacted(session, text))
    atexit.register(session.close)


def _cell_began(session: Session, *begun: Any) -> None:
    session.preload.cell_began()
    for info in begun:
        with contextlib.suppress(Exception):
            session.failures.cell_began(info)


def _cell_ended(session: Session, *ran: Any) -> None:
    session.preload.cell_ended()
    for result in ran:
        with contextlib.suppress(Exception):  # an odd error must not put a line into the person's cell
            session.failures.cell_ran(result)


def unload(ip: Any) -> None:
    """Take back what :func:`load` did, and close the session."""
    session = getattr(ip, "memflush_session", None)
    if session is None:
        return
    session.hooks.pop("log")()
    session.hooks.pop("completion")()
    for event, hook in session.hooks.items():
        if hook in ip.events.callbacks[event]:
            ip.events.unregister(event, hook)
    if await_agent in ip.input_transformers_post:
        ip.input_transformers_post.remove(await_agent)
    for magics in _MAGICS:
        for kind, name in magics(ip):
            ip.magics_manager.magics[kind].pop(name, None)
    if session.config in ip.configurables:
        ip.configurables.remove(session.config)
    atexit.unregister(session.close)
    del ip.memflush_session
    session.close()


def await_agent(lines: list[str]) -> list[str]:
    """Put ``await`` before a transformed ``%%agent`` cell and before ``%agent fix``; every other line stays as it is."""
    if lines and lines[0].startswith(_CALL):
        return [f"await {lines[0]}", *lines[1:]]
    return [f"await {line}" if _LINE_CALL.match(line) else line for line in lines]
