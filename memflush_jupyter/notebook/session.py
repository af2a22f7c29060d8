"""One kernel's session: everything that lives as long as the kernel, opened when it is first needed.

It hangs on the shell (``ip.memflush_session``); there is no global state. The folder is fixed when the extension is loaded, so
``os.chdir`` moves nothing (G8).
"""

from __future__ import annotations

import contextlib
import logging
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memflush_jupyter.clock import make_clock
from memflush_jupyter.errors import ConfigError
from memflush_jupyter.events import Notice
from memflush_jupyter.notebook import headless
from memflush_jupyter.notebook.background import BackgroundWorker
from memflush_jupyter.notebook.budget_data import BudgetLog
from memflush_jupyter.notebook.failure import CellError
from memflush_jupyter.notebook.failures import Failures
from memflush_jupyter.notebook.interrupts import Interrupts
from memflush_jupyter.notebook.options import kernel_options
from memflush_jupyter.notebook.preload import Preload
from memflush_jupyter.notebook.safeguard import SessionApprover
from memflush_jupyter.notebook.trouble import told

if TYPE_CHECKING:
    from memflush_jupyter.agent.parts import AgentParts, BackgroundJob
    from memflush_jupyter.agent.runner import AgentRunner
    from memflush_jupyter.agent.tools.base import Tool
    from memflush_jupyter.config import MemFlush
    from memflush_jupyter.events import Budget, Event
    from memflush_jupyter.notebook.own_tools import OwnTools
    from memflush_jupyter.trace.models import Message, Trace
    from memflush_jupyter.workspace import Workspace

_log = logging.getLogger("memflush_jupyter")


class Session:
    """State of one kernel."""

    def __init__(self, ip: Any, config: MemFlush | None = None, folder: Path | None = None) -> None:
        self.ip = ip
        self.config = kernel_options(ip, config)
        self.folder = (folder or Path.cwd()).resolve()
        self.worker = BackgroundWorker()
        self.interrupts = Interrupts(kernel=headless.in_kernel(ip))
        self.approver = SessionApprover()
        self.always: set[str] = set()
        self.running = False
        self.model = ""
        self.trace_id: str | None = None
        self.told_offline = False
        self.budget: Budget | None = None
        self.pending: deque[Event] = deque()
        self.budget_log = BudgetLog(now=lambda: make_clock(self.config.clock, self.config.timezone).now())
        self._cells: set[str] = set()
        self._workspace: Workspace | None = None
        self._own: Workspace | None = None
        self._runners: dict[tuple[str, str, bool, bool, str], AgentRunner] = {}
        self.preload = Preload(self.worker)
        self.hooks: dict[str, Callable[..., None]] = {}
        self.failures = Failures()
        self._own_tools: OwnTools | None = None

    # -- what is opened lazily ---------------------------------------------------------------------------------------------------

    @property
    def workspace(self) -> Workspace:
        """The folder's memory, store and client, opened at first use.

        Raises:
            MemflushError: the folder or the store cannot be used.
        """
        if self._workspace is None:
            from memflush_jupyter.workspace import Workspace

            self._workspace = Workspace.open(self.config, self.folder)
            self.config.in_use = True
        return self._workspace

    @property
    def own_tools(self) -> OwnTools:
        """The person's functions that the agent may call."""
        if self._own_tools is None:
            from memflush_jupyter.notebook.own_tools import OwnTools

            self._own_tools = OwnTools(self)
        return self._own_tools

    @property
    def opened(self) -> bool:
        """Whether the workspace is open."""
        return self._workspace is not None

    def model_id(self, given: str = "") -> str:
        """The model of a turn: as given, as set by ``%agent model``, or the configured default."""
        return self.workspace.client.resolve(given or self.model or self.workspace.client.default_model()).id

    def awaits(self, model: str) -> bool:
        """Whether background work is awaited in the cell: headless, offline, or under a declared clock (P9)."""
        return headless.front(self.ip) == "headless" or model.startswith("offline/") or bool(self.config.clock)

    def dated(self, model: str) -> bool:
        """Whether dates may stand in outputs (P9)."""
        return bool(self.config.clock) or not self.awaits(model)

    # -- conversation ------------------------------------------------------------------------------------------------------------

    @property
    def trace(self) -> Trace | None:
        """The present conversation, if one was begun."""
        return self.workspace.store.trace(self.trace_id) if self.trace_id is not None else None

    def need_trace(self) -> Trace:
        """The present conversation.

        Raises:
            ConfigError: none was begun in this kernel.
        """
        trace = self.trace
        if trace is None:
            raise ConfigError("No conversation has begun in this kernel. A %%agent cell begins one; `%agent list` and `%agent resume` find earlier ones.")
        return trace

    def begin(self, model: str, title: str = "") -> str:
        """Begin a new conversation and return the hint at the last one, if there is one."""
        store, identity = self.workspace.store, self.workspace.identity
        before = [trace for trace in store.traces(identity, limit=5) if trace.head is not None and trace.kind == "main"]
        self.trace_id = store.create_trace(identity=identity, notebook=headless.notebook_path(self.ip), model=model, title=title).id
        self._forget_conversation()
        if not before:
            return ""
        last = before[0]
        named = f" “{last.title}”" if last.title else ""
        return f"A new conversation. `%agent resume {last.id[:4]}` goes on with the last one{named}."

    def resume(self, trace_id: str | None = None) -> Trace:
        """Go on with a conversation: the one named by a prefix, else the latest but the present one.

        Raises:
            MemflushError: there is none.
        """
        store = self.workspace.store
        if trace_id is None:
            others = [
                trace
                for trace in store.traces(self.workspace.identity, limit=20)
                if trace.id != self.trace_id and trace.head is not None and trace.kind == "main"
            ]
            if not others:
                raise ConfigError("There is no earlier conversation to resume.")
            found = others[0]
        else:
            found = store.trace(trace_id)
        self.trace_id = found.id
        self._forget_conversation()
        self._cells = {message.cell_id for message in store.path(found.id) if message.kind == "prompt" and message.cell_id}
        return found

    def leave(self) -> None:
        """The next turn begins a new conversation."""
        self.trace_id = None
        self._forget_conversation()

    def forget_runners(self) -> None:
        """What runners hold of stored messages is read anew with the next turn."""
        self._runners.clear()

    def _forget_conversation(self) -> None:
        self._cells.clear()
        self.forget_runners()
        self.budget = None
        self.budget_log.forget()

    def prompts(self, *, whole: bool = True) -> list[Message]:
        """The person's messages on the main path, oldest first."""
        return [message for message in self.workspace.store.path(self.need_trace().id, whole=whole) if message.kind == "prompt"]

    def rerun(self, cell_id: str | None) -> str:
        """Apply the re-run rules for the running cell and return a line for the person, if any.

        The latest turn's cell: back to before it, the old branch stays in the store. An earlier turn's cell: a new turn, said so.
        """
        if cell_id is None or self.trace_id is None:
            return ""
        if cell_id not in self._cells:
            self._cells.add(cell_id)
            return ""
        prompts = self.prompts(whole=False) or self.prompts()
        if prompts and prompts[-1].cell_id == cell_id:
            self.workspace.store.rewind(self.trace_id, prompts[-1].parent)
            return ""
        return "This cell ran earlier in the conversation; it now adds a new turn at the end. `%agent rewind` goes back instead."

    def rewind(self, turns: int) -> Message:
        """Go back to before the last ``turns`` prompts; return the first prompt that was left.

        Raises:
            ConfigError: there are not that many.
        """
        prompts = self.prompts()
        if not 1 <= turns <= len(prompts):
            raise ConfigError(f"The conversation has {len(prompts)} turn(s); `%agent rewind N` takes a number from 1 to that.")
        left = prompts[-turns]
        self.workspace.store.rewind(left.trace, left.parent)
        self.budget = None
        return left

    @contextlib.contextmanager
    def turn(self) -> Iterator[None]:
        """One turn at a time: taken before anything is awaited, so that a second one never meets the first one's signal handler.

        Raises:
            CellError: a turn is running.
        """
        if self.running:
            raise CellError("A turn is running already in this kernel; wait for its end or interrupt it.")
        self.running = True
        try:
            yield
        finally:
            self.running = False

    # -- what runs ---------------------------------------------------------------------------------------------------------------

    def runner(self, model: str, *, memory: bool, tools: list[Tool]) -> AgentRunner:
        """The runner of the present conversation, kept between turns so that a long one costs no reload."""
        trace = self.need_trace().id
        awaits = self.awaits(model)
        key = (trace, model, memory, awaits, self.config.fingerprint())
        if key not in self._runners:
            parts = self.workspace.parts(
                approver=self.approver, extra_tools=tools, memory=memory, awaits_flush=awaits, background=None if awaits else self._in_background(memory, tools)
            )
            self._runners[key] = self.workspace.runner(trace, model, parts)
        return self._runners[key]

    def _in_background(self, memory: bool, tools: list[Tool]) -> Callable[[BackgroundJob], None]:
        def start(job: BackgroundJob) -> None:
            async def run() -> None:
                try:
                    await job(self.own_parts(memory=memory, tools=tools), self.budget_log.beside(self.pending.append))
                except Exception as error:  # noqa: BLE001 - told with the next turn; the log has the rest
                    self.pending.append(Notice(f"In the background: {told(self, error)}", "warning"))

            self.worker.submit(run)

        return start

    def own_parts(self, *, memory: bool, tools: list[Tool]) -> AgentParts:
        """The background thread's own parts; to be called on that thread only."""
        if self._own is None:
            self._own = self.workspace.twin()
        return self._own.parts(extra_tools=tools, memory=memory)

    def take_pending(self) -> list[Event]:
        """What happened in the background since the last turn."""
        events: list[Event] = []
        while self.pending:
            events.append(self.pending.popleft())
        return events

    def record(self, budget: Budget | None) -> None:
        """Remember the figures after a turn."""
        if budget is not None:
            self.budget = budget
        self.budget_log.turn_over(budget)

    def close(self) -> None:
        """Stop the background thread and close the stores. Called at the kernel's exit and by ``%unload_ext``."""
        if self._own is not None:
            own, self._own = self._own, None
            try:
                self.worker.cancel()  # first: a flush that is given up lets go of its lock in the store
                self.worker.submit(own.aclose).result(timeout=1.0)
            except Exception:  # noqa: BLE001 - at exit there is nobody to tell
                _log.debug("The background store was not closed", exc_info=True)
        self.worker.shutdown()
        if self._workspace is not None:
            self._workspace.close()
            self._workspace = None


def session_of(ip: Any) -> Session:
    """The shell's session.

    Raises:
        ConfigError: the extension is not loaded.
    """
    session = getattr(ip, "memflush_session", None)
    if not isinstance(session, Session):
        raise ConfigError("memflush-jupyter is not loaded; run `%load_ext memflush_jupyter`.")
    return session
