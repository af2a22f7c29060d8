"""A whole agent against the strict fake server, without a kernel: for tests of turns, flushes and compactions.

::

    async with AgentHarness(folder, window=16_000) as agent:
        agent.server.script(["Hello."])
        events = await agent.say("hi")
        assert agent.server.refusals == []
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Self

from memflush_jupyter.agent.tools.base import Always, text_result
from memflush_jupyter.clock import FixedClock
from memflush_jupyter.config import MemFlush
from memflush_jupyter.testing.server import FakeMessagesServer, ServedModel
from memflush_jupyter.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from pathlib import Path

    from memflush_jupyter.agent.parts import AgentParts, BackgroundJob
    from memflush_jupyter.agent.runner import AgentRunner
    from memflush_jupyter.agent.tools.base import Approver, Tool, ToolCall, ToolResult
    from memflush_jupyter.clock import Clock
    from memflush_jupyter.events import Event

MODEL = "local/fake-model"
KEY_NAME = "FAKE_KEY"


class ScriptedTool:
    """A tool whose answer is a function of its input; ``calls`` remembers the inputs. Give it any name, such as ``run_python``."""

    def __init__(self, name: str = "run_python", answer: Callable[[dict[str, Any]], str | Awaitable[str]] = lambda given: f"ran {given}") -> None:
        self.name = name
        self.description = "Run Python code."
        self.approval = False
        self.parallel = False
        self.input_schema: dict[str, Any] = {"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"]}
        self.calls: list[dict[str, Any]] = []
        self._answer = answer

    async def run(self, input: dict[str, Any], call: ToolCall) -> ToolResult:  # noqa: A002, ARG002 - protocol
        """Answer."""
        self.calls.append(input)
        answer = self._answer(input)
        return text_result(answer if isinstance(answer, str) else await answer)


class AgentHarness:
    """A workspace, a trace and a runner in ``folder``, talking to a strict server.

    ``window`` is the server's, in tokens; ``options`` are ``MemFlush`` options. ``background=True`` runs background work as a task
    that :meth:`drain` awaits, with parts of its own like the background thread's.
    """

    def __init__(
        self,
        folder: Path,
        *,
        window: int = 200_000,
        tools: Sequence[Tool] = (),
        approver: Approver | None = None,
        clock: Clock | None = None,
        memory: bool = True,
        background: bool = False,
        server: FakeMessagesServer | None = None,
        **options: Any,
    ) -> None:
        self.folder = folder
        self.server = server or FakeMessagesServer(models=[ServedModel("fake-model", window, 8_000), ServedModel("small-model", 8_000, 2_000)], keys=["fake"])
        self.tools = list(tools)
        self.clock = clock or FixedClock("2026-01-15T09:00", "UTC")
        self.events: list[Event] = []
        self._own_server = server is None
        self._options = options
        self._approver = approver or Always()
        self._memory = memory
        self._background = background
        self._jobs: list[asyncio.Task[None]] = []
        self.workspace: Workspace
        self.runner: AgentRunner
        self.trace_id = ""

    async def __aenter__(self) -> Self:
        if self._own_server:
            await asyncio.to_thread(self.server.start)
        self.open()
        return self

    async def __aexit__(self, *_error: object) -> None:
        for job in self._jobs:
            job.cancel()
        await asyncio.gather(*self._jobs, return_exceptions=True)
        await self.workspace.aclose()
        if self._own_server:
            await asyncio.to_thread(self.server.stop)

    def open(self, trace: str | None = None) -> None:
        """Open the workspace, and a runner on a new trace or on ``trace`` (as after a kernel restart)."""
        config = MemFlush(model=MODEL, base_url=self.server.url, endpoints={
            f"local/{name}": {"base_url": self.server.url, "api_key_env": KEY_NAME} for name in ("fake-model", "small-model", "no-such-model")
        }, max_retry_wait_s=0.01, **self._options)  # fmt: skip
        self.workspace = Workspace.open(config, self.folder, clock=self.clock, environ={KEY_NAME: "fake"})
        self.trace_id = trace or self.workspace.store.create_trace(identity=self.workspace.identity, model=MODEL).id
        self.runner = self.workspace.runner(self.trace_id, MODEL, self.parts())

    async def reopen(self) -> None:
        """Close everything and open it again on the same trace."""
        await self.workspace.aclose()
        self.open(self.trace_id)

    def parts(self) -> AgentParts:
        """The parts of the runner."""
        return self.workspace.parts(
            approver=self._approver,
            extra_tools=self.tools,
            memory=self._memory,
            awaits_flush=not self._background,
            background=self._start if self._background else None,
        )

    def _start(self, job: BackgroundJob) -> None:
        async def run() -> None:
            twin = self.workspace.twin()
            try:
                await job(twin.parts(memory=self._memory), self.events.append)
            finally:
                await twin.aclose()

        self._jobs.append(asyncio.ensure_future(run()))

    async def drain(self) -> None:
        """Wait for background work."""
        jobs, self._jobs = self._jobs, []
        await asyncio.gather(*jobs)

    async def say(self, prompt: str, **options: Any) -> list[Event]:
        """Run one turn; return its events."""
        before = len(self.events)
        await self.runner.turn([{"type": "text", "text": prompt}], self.events.append, **options)
        return self.events[before:]

    def of(self, kind: type[Any]) -> list[Any]:
        """All events of a kind so far."""
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def memory_text(self) -> str:
        """All memory files, joined."""
        return "\n".join(self.workspace.memory.read(name) for name in self.workspace.memory.names())
