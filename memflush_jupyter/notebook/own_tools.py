"""The person's own functions as tools: which there are, and how one is called.

A function runs as agent code does: in the kernel's main thread, interruptible, its prints captured. One that is redefined in
the notebook is taken anew with the next turn; one that agent code redefines asks first from then on.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from memflush_jupyter.agent.tools.base import Tool, ToolCall, ToolResult
from memflush_jupyter.errors import ConfigError, MemflushError
from memflush_jupyter.events import Event, ToolProgress
from memflush_jupyter.notebook.display import render
from memflush_jupyter.notebook.kernel_tools import InKernel, kernel_tools
from memflush_jupyter.notebook.marking import ATTRIBUTE, Mark
from memflush_jupyter.notebook.signatures import Signature, signature_of
from memflush_jupyter.toolbox import ASKING, BUILT_IN

if TYPE_CHECKING:
    import argparse

    from memflush_jupyter.notebook.session import Session

Bundle = dict[str, Any]

_PROGRESS_CHARS = 120
NEXT_TURN = "It takes effect with the next turn, whose prompt is then sent anew instead of from the provider's cache."


@dataclass
class Own:
    """One of the person's functions."""

    function: Callable[..., Any]
    signature: Signature
    approval: bool
    variable: str = ""
    """The name in the notebook under which it is looked up; empty: the function itself."""


class OwnTool(InKernel):
    """One of the person's functions, as the agent's runner wants it."""

    parallel = False
    keeps_time = True
    touches = "is your own function, and may do whatever its code does"

    def __init__(self, session: Session, own: Own, timeout_s: float | None) -> None:
        super().__init__(session.ip, session.interrupts, timeout_s=timeout_s)
        self._session = session
        self._own = own
        self.name = own.signature.name
        self.description = own.signature.description
        self.input_schema = own.signature.schema

    @property
    def approval(self) -> bool:
        """Whether the person is asked first; agent code that redefines the function makes it so."""
        return self._own.approval

    async def run(self, input: dict[str, Any], call: ToolCall) -> ToolResult:  # noqa: A002 - the API's own word
        """Call the function; its errors are results, an interrupt cancels the turn."""
        arguments = self._own.signature.arguments(input)
        return await self._captured(lambda: self._execute(arguments), "", call)

    async def _execute(self, arguments: dict[str, Any]) -> BaseException | None:
        try:
            with self._interrupts.deadline(self._timeout_s):
                value = await self._interrupts.drive(self._called(arguments))
                self._interrupts.step(partial(self._show, value))
        except BaseException as error:  # noqa: BLE001 - the function's own error, or an interrupt: both are told by the caller
            return error
        return None

    async def _called(self, arguments: dict[str, Any]) -> Any:
        value = self._own.function(**arguments)
        if inspect.isawaitable(value):
            value = await value
        if isinstance(value, AsyncIterator):
            last = None
            async for last in value:
                self._progress(last)
            return last
        if not inspect.isgenerator(value):
            return value
        last = None
        while True:
            try:
                last = next(value)
            except StopIteration as end:
                return last if end.value is None else end.value
            self._progress(last)

    def _progress(self, value: Any) -> None:
        text = " ".join(str(value).split())
        self._session.own_tools.emit(ToolProgress(self.name, f"{text[:_PROGRESS_CHARS]}…" if len(text) > _PROGRESS_CHARS else text))

    def _show(self, value: Any) -> None:
        import sys

        if isinstance(value, str):
            sys.stdout.write(f"{value}\n")
        elif value is not None:
            sys.displayhook(value)
        self._ip.events.trigger("post_execute")


class OwnTools:
    """The functions that the person gave to the agent, until the kernel ends."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._owns: dict[str, Own] = {}
        self.emit: Callable[[Event], None] = _nothing

    @property
    def owns(self) -> dict[str, Own]:
        """By the name the model uses."""
        return dict(self._owns)

    def add(self, function: Callable[..., Any], name: str, *, approval: bool, variable: str = "") -> None:
        """Give a function to the agent.

        Raises:
            ConfigError: it cannot be a tool, or a turn is running: only the person may give one.
        """
        self._idle()
        if not callable(function):
            raise ConfigError(f"{name} is not a function.")
        if name in BUILT_IN:
            raise ConfigError(f"{name!r} is one of the agent's own tools; give yours another name, for example with `--name my_{name}`.")
        own_name = variable or getattr(function, "__name__", "")
        self._owns[name] = Own(function, signature_of(function, name), approval, own_name)
        self._session.forget_runners()

    def remove(self, name: str) -> None:
        """Take one back.

        Raises:
            ConfigError: there is none of that name.
        """
        self._idle()
        if name not in self._owns:
            raise ConfigError(f"No tool of yours is called {name!r}; " + (f"there are {', '.join(self._owns)}." if self._owns else "there are none."))
        del self._owns[name]
        self._session.always.discard(name)
        self._session.forget_runners()

    def begin(self, emit: Callable[[Event], None]) -> list[str]:
        """A turn begins: take redefined functions anew; return what the person should know."""
        self.emit = emit
        told = []
        for name, own in self._owns.items():
            found = self._present(own)
            if found is own.function:
                continue
            try:
                own.signature = signature_of(found, name)
            except MemflushError as error:
                told.append(f"{name} was redefined and cannot be a tool as it is now; the earlier one stays. {error}")
                continue
            own.function = found
            self._session.forget_runners()
        return told

    def end(self) -> list[str]:
        """A turn is over: what agent code redefined asks first from now on; return what the person should know."""
        self.emit = _nothing
        changed = [
            (name, own) for name, own in self._owns.items() if (not own.approval or name in self._session.always) and self._present(own) is not own.function
        ]
        for name, own in changed:
            own.approval = True
            self._session.always.discard(name)
        return [f"The agent's code redefined {name}; it asks first from now on." for name, _ in changed]

    def tools(self, timeout_s: float | None) -> list[Tool]:
        """As the runner wants them."""
        return [OwnTool(self._session, own, timeout_s) for own in self._owns.values()]

    def _present(self, own: Own) -> Callable[..., Any]:
        found = self._session.ip.user_ns.get(own.variable, own.function)
        return found if callable(found) else own.function

    def _idle(self) -> None:
        if self._session.running:
            raise ConfigError("A turn is running; only you can give the agent a tool or take one back, when it has ended.")


def tools_of(session: Session) -> list[Tool]:
    """The tools of this kernel: the built-in ones, then the person's own."""
    timeout_s = session.config.tool_timeout_s
    return [*kernel_tools(session.ip, session.interrupts, timeout_s=timeout_s), *session.own_tools.tools(timeout_s)]


def do_tool(session: Session, given: argparse.Namespace) -> Bundle:
    """``%agent tool``: give a function to the agent, or take it back."""
    if given.remove:
        session.own_tools.remove(given.function)
        return render.line(f"{given.function} is no tool any more. {NEXT_TURN}")
    if given.function not in session.ip.user_ns:
        raise ConfigError(f"There is no {given.function!r} in this notebook; define it first.")
    function = session.ip.user_ns[given.function]
    mark = getattr(function, ATTRIBUTE, Mark("", True))
    name = given.name or mark.name or given.function
    approval = mark.approval and not given.no_ask
    session.own_tools.add(function, name, approval=approval, variable=given.function)
    asks = "It asks you before each call." if approval else "It runs without asking."
    return render.line(f"{name} is a tool now. {asks} {NEXT_TURN}")


def do_tools(session: Session, _: argparse.Namespace) -> Bundle:
    """``%agent tools``: the built-in tools and the person's own, and which ask first."""
    rows = [[name, "built in", "asks first" if name in ASKING else "", ""] for name in BUILT_IN]
    for name, own in session.own_tools.owns.items():
        about = own.signature.description.partition("\n")[0]
        rows.append([name, "yours", "asks first" if own.approval else "", about])
    for row in rows:
        if row[0] in session.always:
            row[2] = "always allowed"
    return render.table(["tool", "", "before a call", "what it does"], rows)


def do_approvals(session: Session, given: argparse.Namespace) -> Bundle:
    """``%agent approvals``: what is always allowed, and taking it back."""
    if given.reset:
        session.always.clear()
        return render.line("Nothing is always allowed any more.")
    allowed = ", ".join(sorted(session.always))
    if not allowed:
        return render.line("Nothing is always allowed.")
    return render.line(f"Always allowed until the kernel ends: {allowed}. `%agent approvals --reset` takes it back.")


def _nothing(_: Event) -> None:
    """No turn runs."""
