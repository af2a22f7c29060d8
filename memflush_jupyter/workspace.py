"""One folder's memory, opened: what the magics, the shell and the background thread all start from."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from memflush_jupyter.agent.notes import NoteWriter
from memflush_jupyter.agent.parts import AgentParts
from memflush_jupyter.agent.runner import AgentRunner
from memflush_jupyter.agent.spending import Spending
from memflush_jupyter.agent.tools.base import Never
from memflush_jupyter.clock import make_clock
from memflush_jupyter.context.tokens import TokenCounter
from memflush_jupyter.errors import MemflushError
from memflush_jupyter.memory.files import MemoryFolder
from memflush_jupyter.memory.identity import by_path, of_folder
from memflush_jupyter.memory.redaction import Redactor
from memflush_jupyter.models.client import ModelClient
from memflush_jupyter.trace.store import TraceStore

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from memflush_jupyter.agent.parts import BackgroundJob
    from memflush_jupyter.agent.tools.base import Approver, Tool
    from memflush_jupyter.clock import Clock
    from memflush_jupyter.config import MemFlush


class Workspace:
    """Config, memory folder, trace store and model client of one notebook folder.

    One per thread: the background thread calls :meth:`twin` for its own store connection and client. ``folder`` is fixed when
    the workspace is opened, so ``os.chdir`` in the notebook does not move the memory (G8).
    """

    def __init__(self, config: MemFlush, folder: Path, *, clock: Clock, environ: Mapping[str, str], redactor: Redactor | None = None) -> None:
        self.config = config
        self.folder = folder.resolve()
        self.clock = clock
        self.environ = environ
        self.redactor = redactor or Redactor(environ)
        self.memory = MemoryFolder(self.folder / config.memory_dir, clock=clock, declared=config.memory_files)
        self.warning: str | None = None
        self._told = False
        self._own_identity = ""
        self.store = self._open_store()
        self.client = ModelClient(config, clock=clock, environ=environ, count=TokenCounter("offline", factor=1.0, learned=False).text)
        self.spending = Spending()
        self.writer = NoteWriter(self.memory, self.store, clock, self.redactor, note_chars=config.flush_note_chars)

    def _open_store(self) -> TraceStore:
        """The folder's store; where nothing can be written, one that ends with the kernel, with a warning that says so (G4)."""
        try:
            self.memory.ensure()
            return TraceStore.open(self.memory.store_path, clock=self.clock, redact=self.redactor)
        except MemflushError as error:
            if self.memory.writable:
                raise
            self.warning = f"{error} The agent works, but nothing of this session is kept."
            return TraceStore.in_memory(clock=self.clock, redact=self.redactor)

    def take_warning(self) -> str | None:
        """What the person has to know of this folder, once."""
        told, self._told = self._told, True
        return None if told else self.warning

    @classmethod
    def open(cls, config: MemFlush, folder: Path, *, clock: Clock | None = None, environ: Mapping[str, str] | None = None) -> Workspace:
        """Open the folder's memory; the folder ``memory/`` and its store are made when they are not there.

        Raises:
            MemflushError: the folder cannot be used, or the store is damaged or of a newer version.
        """
        return cls(config, folder, clock=clock or make_clock(config.clock, config.timezone), environ=os.environ if environ is None else environ)

    @property
    def identity(self) -> str:
        """Whose memory it is: the configured name, or the memory folder's own, so that notebooks beside each other share it.

        The folder's name is kept in it, so that its conversations are found again when it is moved or copied.
        """
        if self.config.identity:
            return self.config.identity
        if not self._own_identity:
            self._own_identity = (
                of_folder(self.memory, [trace.identity for trace in self.store.traces()]) if self.warning is None else by_path(self.memory.root)
            )
        return self._own_identity

    def twin(self) -> Workspace:
        """The same folder opened once more, for another thread."""
        made = Workspace(self.config, self.folder, clock=self.clock, environ=self.environ, redactor=self.redactor)
        made.spending = self.spending
        return made

    def parts(
        self,
        *,
        approver: Approver | None = None,
        extra_tools: Sequence[Tool] = (),
        memory: bool = True,
        awaits_flush: bool = True,
        background: Callable[[BackgroundJob], None] | None = None,
    ) -> AgentParts:
        """What an agent of this workspace is made of. ``memory=False``: an ordinary agent; nothing of memory runs."""
        with_memory = memory and self.config.memory
        return AgentParts(
            config=self.config,
            clock=self.clock,
            store=self.store,
            client=self.client,
            identity=self.identity,
            folder=self.folder,
            redact=self.redactor,
            approver=approver or Never(),
            memory=self.memory if with_memory else None,
            writer=self.writer if with_memory else None,
            extra_tools=tuple(extra_tools),
            awaits_flush=awaits_flush,
            background=background,
            spending=self.spending,
        )

    def runner(self, trace: str, model: str, parts: AgentParts) -> AgentRunner:
        """A runner for turns of ``trace`` with ``model``."""
        return AgentRunner(parts, trace, model)

    async def aclose(self) -> None:
        """Close the client and the store."""
        await self.client.aclose()
        self.store.close()

    def close(self) -> None:
        """Close the store; for callers without a running loop."""
        self.store.close()
