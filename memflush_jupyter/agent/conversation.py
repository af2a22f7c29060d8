"""The main path of one trace as the store has it, kept in memory between turns so that a long trace costs no reload."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from memflush_jupyter.context.tokens import TokenCounter
    from memflush_jupyter.trace.models import Block, Kind, Message, Role, Trace, Usage
    from memflush_jupyter.trace.store import TraceStore


class Conversation:
    """What the context is built from. Everything added here is committed to the store before it is acted upon.

    ``messages`` begins with the latest summary of the path, if there is one, then the messages it kept, then the newer ones.
    """

    def __init__(self, store: TraceStore, trace_id: str, counter: Callable[[], TokenCounter]) -> None:
        self.store = store
        self.trace_id = trace_id
        self._counter = counter
        self._trace = store.trace(trace_id)
        self.messages: list[Message] = store.path(trace_id)
        self.version = 0
        """Rises with every change of ``messages``."""

    @property
    def trace(self) -> Trace:
        """The trace's row as it was last read."""
        return self._trace

    def refresh(self) -> Trace:
        """Read the row again; reload the path only when another writer moved the head."""
        before = self._trace
        self._trace = self.store.trace(self.trace_id)
        if (self._trace.head, self._trace.compaction_count) != (before.head, before.compaction_count):
            self.reload()
        return self._trace

    def reload(self) -> None:
        """Read the path from the store."""
        self._trace = self.store.trace(self.trace_id)
        self.messages = self.store.path(self.trace_id)
        self.version += 1

    def add(
        self,
        role: Role,
        kind: Kind,
        content: list[Block],
        *,
        usage: Usage | None = None,
        stop_reason: str | None = None,
        cell_id: str | None = None,
        meta: dict[str, Any] | None = None,
    ) -> Message:
        """Commit a message to the main path and return it as stored, redacted (P7)."""
        tokens = self._counter().message({"role": role, "content": content})
        before = self._trace
        message, self._trace = self.store.extend(
            self.trace_id, role=role, kind=kind, content=content, tokens=tokens, usage=usage, stop_reason=stop_reason, cell_id=cell_id, meta=meta
        )
        if (message.parent, self._trace.compaction_count) == (before.head, before.compaction_count):
            self.messages.append(message)
            self.version += 1
        else:  # another runner wrote in between: what it said stands on this path too, and must not count as seen and flushed (P1)
            self.reload()
        return message

    def add_aside(self, branch: str, role: Role, kind: Kind, content: list[Block], *, parent: int | None, meta: dict[str, Any] | None = None) -> Message:
        """Commit a message to a side branch; the head stays where it is (C10)."""
        return self.store.append(self.trace_id, role=role, kind=kind, content=content, parent=parent, branch=branch, meta=meta)

    def last(self, kind: Kind) -> Message | None:
        """The latest message of that kind on the path."""
        return next((message for message in reversed(self.messages) if message.kind == kind), None)
