"""What only the person may give stays theirs while agent code runs in the same process.

During a turn the kernel is busy: nobody but agent code can change an option then. So limits, the approval policy and the list of
what is always allowed are noted when a turn begins, and whatever differs afterwards is set back, with a line that says so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memflush_jupyter.agent.tools.base import Approval, Approver, Tool
    from memflush_jupyter.notebook.session import Session


class SessionApprover:
    """What the runner asks; it hands on to the policy of the present turn, and first looks whether agent code changed anything."""

    __slots__ = ("guard", "known", "policy")

    def __init__(self) -> None:
        self.known: frozenset[str] = frozenset()
        """What the person has always allowed; code that was left running may write into the session's list between turns."""
        self.policy: Approver | None = None
        self.guard: Safeguard | None = None

    async def decide(self, tool: Tool, input: dict[str, Any]) -> Approval:  # noqa: A002 - protocol
        """Ask the present policy."""
        from memflush_jupyter.agent.tools.base import Never

        if self.guard is not None:
            self.guard.check()
        approval = await (self.policy or Never()).decide(tool, input)
        if self.guard is not None:
            if approval.always:
                self.guard.allow(tool.name)
            self.guard.check()  # code that was left running may have acted while the question was open
        return approval


class Safeguard:
    """The limits and approvals of one turn."""

    def __init__(self, session: Session, tell: Callable[[str], None]) -> None:
        self._session = session
        self._tell = tell
        self._config = session.config
        self._held = session.config.held()
        self._approver = session.approver
        self._policy = session.approver.policy
        self._always = session.always
        self._allowed = self._approver.known = session.approver.known & session.always
        self._approver.guard = self
        self.check()

    def allow(self, name: str) -> None:
        """Note what the person allowed just now: that tool, and no other that stands in the list by now."""
        self._allowed |= {name}
        self._approver.known = self._allowed

    def check(self) -> None:
        """Set back what agent code changed."""
        session = self._session
        if session.config is not self._config:
            session.config = self._config
            self._tell("The agent's code put other options in place; only you can. They are as they were.")
        for name in self._config.take_back(self._held):
            self._tell(f"The agent's code changed MemFlush.{name}; only you can. It is {getattr(self._config, name)!r} again.")
        if self._changed():
            session.approver, self._approver.policy, self._approver.guard, self._approver.known = self._approver, self._policy, self, self._allowed
            self._always.intersection_update(self._allowed)
            session.always = self._always
            self._tell("The agent's code tried to approve itself; only you can. Approvals are as they were.")

    def end(self) -> None:
        """The turn is over."""
        self.check()
        self._approver.guard = None

    def _changed(self) -> bool:
        session, approver = self._session, self._approver
        return (
            session.approver is not approver
            or approver.policy is not self._policy
            or approver.guard is not self
            or session.always is not self._always
            or not self._always <= self._allowed  # a tool that is gone is asked about again
            or approver.known != self._allowed
        )
