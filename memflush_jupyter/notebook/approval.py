"""Asking the person whether a tool call may run, inside an awaited cell and without blocking it.

Only an answer that the person types after the question was put can approve. What they see is what runs: a call they edited is
shown again before it does.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from memflush_jupyter.agent.tools.base import Always, Approval, Approver, Never, Tool, check_input
from memflush_jupyter.errors import ToolInputError
from memflush_jupyter.notebook.asking import CannotAskError, ask
from memflush_jupyter.notebook.editing import GivenUpError, edited
from memflush_jupyter.notebook.headless import person_present

QUESTION = "Run {name}? {touches}[y]es, [n]o, [a]lways in this notebook, [e]dit it first, or say why not: "
AGAIN = "Run {name} as you changed it? [y]es, [n]o, [e]dit again, or say why not: "


class AskPerson:
    """The policy ``ask``. ``show`` puts the call before the person; ``always`` names what they allowed until the kernel ends."""

    def __init__(self, ip: Any, always: set[str], show: Callable[[str, dict[str, Any]], None], redact: Callable[[str], str] = lambda text: text) -> None:
        self._ip = ip
        self._always = always
        self._show = show
        self._redact = redact

    async def decide(self, tool: Tool, input: dict[str, Any]) -> Approval:  # noqa: A002 - protocol
        """Ask, and wait for the answer; an interrupt cancels the turn."""
        if tool.name in self._always:
            return Approval(allowed=True)
        self._show(tool.name, input)
        try:
            return await self._asked(tool, input)
        except CannotAskError as error:
            return Approval(allowed=False, reason=f"{tool.name} was not run: {error}")

    async def _asked(self, tool: Tool, original: dict[str, Any]) -> Approval:
        touches = getattr(tool, "touches", "")
        question = QUESTION.format(name=tool.name, touches=f"It {touches}. " if touches else "")
        present, trouble = original, ""
        while True:
            answer = (await ask(self._ip, trouble + question)).strip()
            trouble = ""
            if answer.lower() not in {"e", "edit"}:
                return self._understood(tool.name, answer, original, present)
            try:
                present = check_input(tool, await edited(self._ip, tool.name, present, self._put))
            except GivenUpError as error:
                trouble = f"{error} "
                continue
            except ToolInputError as error:
                trouble = f"That cannot be run: {error} "
                continue
            self._show(tool.name, present)
            if present != original:
                question = AGAIN.format(name=tool.name)

    def _put(self, prompt: str) -> Awaitable[str]:
        return ask(self._ip, prompt)

    def _understood(self, name: str, answer: str, original: dict[str, Any], present: dict[str, Any]) -> Approval:
        word = answer.lower().rstrip(".!")
        changed = present if present != original else None
        if word in {"a", "always"} and changed is None:
            self._always.add(name)
            return Approval(allowed=True, asked=True, always=True)
        if word in {"y", "yes"}:
            return Approval(allowed=True, input=changed, asked=True)
        if word in {"", "n", "no", "a", "always"}:
            return Approval(allowed=False, reason=f"The person declined to run {name}.", asked=True)
        return Approval(allowed=False, reason=f"The person declined to run {name} and said: {self._redact(answer)}", asked=True)


def make_approver(
    policy: str, ip: Any, always: set[str], show: Callable[[str, dict[str, Any]], None], redact: Callable[[str], str] = lambda text: text
) -> Approver:
    """The approver for ``policy``; empty means: ask where a person is, else deny. "ask" without a person denies too."""
    if policy == "auto":
        return Always()
    if policy == "deny" or not person_present(ip):
        return Never()
    return AskPerson(ip, always, show, redact)
