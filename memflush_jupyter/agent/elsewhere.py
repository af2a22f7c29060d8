"""Notices that memory files were changed by another hand, and has the next prompt say so (G2).

What the model was shown is kept in the store by conversation, so that edits between two sessions count too, and by the message
that told of it, so that a turn that is rewound is told again.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from memflush_jupyter.errors import MemoryFileError
from memflush_jupyter.memory import changes
from memflush_jupyter.memory import names as rules
from memflush_jupyter.memory.files import content_hash, decode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memflush_jupyter.agent.parts import AgentParts
    from memflush_jupyter.memory.changes import Seen
    from memflush_jupyter.trace.models import Block, Message

META: Final = "memory_news"
"""Names, in a prompt's ``meta``, the state of the files that the prompt tells of."""

_COMPARED_CHARS: Final = 40_000
_COMPARED_DAYS: Final = 14
"""Larger files, and daily files but the latest so many, are compared as a whole: what changed in them is told without its lines."""

_KEPT_STATES: Final = 6
_BASE: Final = "base"
_HASH: Final = 20


def key_of(trace: str) -> str:
    """The setting that holds what a conversation's model was shown."""
    return f"memory_seen:{trace}"


class Elsewhere:
    """Watches the memory folder for one conversation; a file that did not change since the last look is not read again."""

    def __init__(self, parts: AgentParts, trace: str, model: str = "offline") -> None:
        self._parts = parts
        self._trace = trace
        self._model = model
        self._read: dict[str, tuple[tuple[int, int, int], Seen, frozenset[str]]] = {}

    def news(self, messages: Sequence[Message], cycle: int) -> tuple[list[Block], dict[str, Any]]:
        """The block that rides with the next prompt, and its ``meta``; both empty when there is no news.

        ``messages`` is the path in the context, ``cycle`` the conversation's number of compactions.
        """
        if self._parts.memory is None:
            return [], {}
        states = _load(self._parts, self._trace)
        if states is None:  # a conversation from before this was kept: what it was shown is not known
            rebase(self._parts, self._trace)
            return [], {}
        told = _told(messages, states)
        before = states[told]
        after, own = self._look()
        found = changes.compare(before, after, own)
        if after != {name: seen for name, seen in before.items() if not seen.gone}:
            told = self._keep(states, told, changes.carried(before, after), f"{cycle}." if found else "")
        text = changes.render(found, count=self._parts.counter(self._model).text)
        return ([{"type": "text", "text": text}], {META: told}) if text else ([], {})

    def settle(self, messages: Sequence[Message]) -> None:
        """At a turn's end: what this conversation wrote is known to its model, so that it is news when another hand removes it."""
        if self._parts.memory is None or (states := _load(self._parts, self._trace)) is None:
            return
        told = _told(messages, states)
        before = states[told]
        after, own = self._look()
        news = {name for change in changes.compare(before, after, own) for name in (change.name, change.was)}
        known = {name: seen for name, seen in before.items() if name in news or seen.gone} | {name: seen for name, seen in after.items() if name not in news}
        if known != before:
            self._keep(states, told, known, "")

    def _keep(self, states: dict[str, dict[str, Seen]], told: str, now: dict[str, Seen], cycle: str) -> str:
        """Store the new state: under a name of its own when the prompt tells of it, in place of the old one when there is nothing to tell."""
        numbers = sorted(int(key.partition(".")[2]) for key in states if key != _BASE)
        name = f"{cycle}{numbers[-1] + 1 if numbers else 1}" if cycle else told
        states[name] = now
        for key in [key for key in states if key != _BASE and int(key.partition(".")[2]) in numbers[:-_KEPT_STATES]]:
            states.pop(key)
        _store(self._parts, self._trace, states)
        return name

    def _look(self) -> tuple[dict[str, Seen], dict[str, frozenset[str]]]:
        memory = self._parts.memory
        assert memory is not None  # noqa: S101 - news() asked
        kept, self._read = self._read, {}
        names = memory.names()
        distant = frozenset(sorted(filter(rules.is_daily, names))[:-_COMPARED_DAYS])
        for name in names:
            try:
                status = memory.resolve(name, for_write=False).stat()
                mark = (status.st_mtime_ns, status.st_size, status.st_ino)
                if name in kept and kept[name][0] == mark:
                    self._read[name] = kept[name]
                elif rules.fold(name) != rules.fold(rules.DREAMS):
                    self._read[name] = (mark, *_read(self._parts, name, self._trace, by_lines=name not in distant))
            except (MemoryFileError, OSError):  # one that cannot be read now says nothing new
                if name in kept:
                    self._read[name] = kept[name]
        return {name: seen for name, (_, seen, _) in self._read.items()}, {name: own for name, (_, _, own) in self._read.items()}


def _told(messages: Sequence[Message], states: dict[str, dict[str, Seen]]) -> str:
    return next((message.meta[META] for message in reversed(messages) if message.meta.get(META) in states), _BASE)


def rebase(parts: AgentParts, trace: str) -> None:
    """The model is shown memory anew: what changes from now on is news."""
    if parts.memory is not None:
        seen, _ = Elsewhere(parts, trace)._look()  # noqa: SLF001 - the same module
        _store(parts, trace, {_BASE: seen})


def _read(parts: AgentParts, name: str, trace: str, *, by_lines: bool) -> tuple[Seen, frozenset[str]]:
    assert parts.memory is not None  # noqa: S101 - the caller asked
    data = parts.memory.read_bytes(name)
    text = decode(data)
    if not by_lines or len(text) > _COMPARED_CHARS:
        own = f"t={trace}#"
        rest = "\n".join(bare for line in text.splitlines() if (bare := line.strip()) and own not in line)
        return changes.Seen(content_hash(rest.encode())[:_HASH], None), frozenset()
    clean = parts.redact(text)
    return changes.Seen(content_hash(data)[:_HASH], changes.lines_of(clean)), changes.own_lines(clean, trace)


def _load(parts: AgentParts, trace: str) -> dict[str, dict[str, Seen]] | None:
    raw = parts.store.get_setting(key_of(trace))
    try:
        stored = json.loads(raw or "")
        return {
            state: {name: changes.Seen(one["hash"], None if one["lines"] is None else tuple(one["lines"]), gone=one["gone"]) for name, one in files.items()}
            for state, files in stored.items()
        }
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def _store(parts: AgentParts, trace: str, states: dict[str, dict[str, Seen]]) -> None:
    made = {state: {name: {"hash": seen.hash, "lines": seen.lines, "gone": seen.gone} for name, seen in files.items()} for state, files in states.items()}
    parts.store.set_setting(key_of(trace), json.dumps(made, ensure_ascii=False))
