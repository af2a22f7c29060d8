"""The live dashboard of ``%budget``: a widget that draws ``budget_data`` and asks for flushing, compacting, stopping and memory.

The widget is touched on the kernel's loop only; what happens on the background thread arrives there first.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anywidget
import traitlets

from memflush_jupyter.errors import MemflushError

if TYPE_CHECKING:
    from memflush_jupyter.notebook.session import Session

REFRESH_S = 0.1
"""Seconds between two updates, at least."""
TEXT_CHARS = 50_000
"""So much of a memory file is shown."""
VIEW = "application/vnd.jupyter.widget-view+json"

_STATIC = Path(__file__).parent / "static"
_NO_MEMORY: dict[str, Any] = {"folder": "", "files": [], "open": "", "text": ""}


class Dashboard(anywidget.AnyWidget):
    """One session's dashboard; every ``%budget`` shows the same one."""

    _esm = _STATIC / "widget.js"
    _css = _STATIC / "widget.css"
    data = traitlets.Dict().tag(sync=True)
    said = traitlets.Unicode("").tag(sync=True)
    memory = traitlets.Dict(default_value=_NO_MEMORY).tag(sync=True)

    def __init__(self, session: Session, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._session = session
        self._clock = clock
        self._pushed_at = float("-inf")
        self._waiting: asyncio.TimerHandle | None = None
        self._job: concurrent.futures.Future[Any] | None = None
        super().__init__(data=figures(session))
        session.budget_log.listener = self.refresh
        self.on_msg(self._asked)

    def __repr__(self) -> str:
        return "Dashboard of %budget"

    def bundle(self, fallback: dict[str, Any]) -> dict[str, Any]:
        """The widget's view, with the static gauge for every place that runs no widgets."""
        return {**fallback, VIEW: {"version_major": 2, "version_minor": 1, "model_id": self.model_id}}

    def refresh(self) -> None:
        """Draw anew, at most ten times a second."""
        if self._waiting is not None:
            return
        wait = self._pushed_at + REFRESH_S - self._clock()
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self._push()
            return
        if wait <= 0:
            self._push()
        else:
            self._waiting = loop.call_later(wait, self._push)

    def _push(self) -> None:
        self._waiting = None
        self._pushed_at = self._clock()
        self.data = figures(self._session)

    # -- the buttons -------------------------------------------------------------------------------------------------------------

    def _asked(self, _: Any, content: Any, __: Any) -> None:
        wanted = content.get("do") if isinstance(content, dict) else None
        try:
            if wanted in {"flush", "compact"}:
                self._begin(wanted)
            elif wanted == "stop":
                self._stop()
            elif wanted == "memory":
                self.memory = _NO_MEMORY if self.memory["folder"] else memory_files(self._session)
            elif wanted == "read":
                self.memory = memory_files(self._session, str(content.get("file", "")))
        except Exception as error:  # noqa: BLE001 - a button never raises into a cell; the log has the rest
            self.said = self._sentence(error)

    def _sentence(self, error: BaseException) -> str:
        from memflush_jupyter.notebook.trouble import told

        if isinstance(error, (concurrent.futures.CancelledError, asyncio.CancelledError)):
            return "Stopped."
        return str(error) if isinstance(error, MemflushError) else str(told(self._session, Exception(str(error))))

    def _stop(self) -> None:
        if self._job is not None:
            self._job.cancel()
            self.said = "Stopping."
        elif self._session.running:
            self._session.interrupts.cancel()
            self.said = "Stopping the turn."
        else:
            self.said = "Nothing is running."

    def _begin(self, wanted: str) -> None:
        from memflush_jupyter.notebook import steering

        loop = asyncio.get_running_loop()
        self._session.budget_log.attach()
        work, say = steering.operation(self._session, wanted)
        turn = self._session.turn()  # held while it works: no turn may begin in between
        turn.__enter__()
        try:
            self._job = self._session.worker.submit(work)
        except BaseException:
            turn.__exit__(None, None, None)
            raise
        self.said = "Saving what matters…" if wanted == "flush" else "Making room…"

        def over(job: concurrent.futures.Future[Any]) -> None:
            self._job = None
            turn.__exit__(None, None, None)
            error: BaseException | None = concurrent.futures.CancelledError() if job.cancelled() else job.exception()
            try:
                self.said = self._sentence(error) if error is not None else say(job.result())
            finally:
                self._session.budget_log.settled()

        self._job.add_done_callback(lambda job: loop.call_soon_threadsafe(over, job))


def figures(session: Session) -> dict[str, Any]:
    """The session's figures, as the page may see them."""
    cap = session.config.max_cost_usd
    redact = session.workspace.redactor if session.opened else str
    return session.budget_log.data(max_cost_usd=cap, busy=session.worker.busy, redact=redact)


def memory_files(session: Session, file: str = "") -> dict[str, Any]:
    """The memory folder's files with their sizes, and the text of one of them."""
    folder = session.workspace.memory
    names = folder.names()
    text = session.workspace.redactor(folder.read(file))[:TEXT_CHARS] if file in names else ""
    shown = folder.root.relative_to(session.folder) if folder.root.is_relative_to(session.folder) else folder.root
    files = [{"name": name, "size": len(folder.read_bytes(name))} for name in names]
    return {"folder": str(shown), "files": files, "open": file if file in names else "", "text": text}


def dashboard(session: Session) -> Dashboard:
    """The session's dashboard, made when it is first asked for."""
    listener = session.budget_log.listener
    found = getattr(listener, "__self__", None)
    if isinstance(found, Dashboard) and found.comm is not None:
        found.refresh()
        return found
    return Dashboard(session)
