"""Writing remembered lines: cleaned, split, compared with what is there, appended, and entered in the ledger.

The order makes a kill harmless (C9): the ledger rows are committed as ``pending``, then the lines are appended to the file with
their ids, then the rows become ``written``. ``recover`` finishes what a kill left in between: a pending id that stands in its
file was written, one that does not is appended now.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from memflush_jupyter.errors import MemflushError, MemoryFileError
from memflush_jupyter.memory import daily, limits, provenance, salience
from memflush_jupyter.toolbox import REMEMBERING
from memflush_jupyter.trace.models import Note

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Sequence

    from memflush_jupyter.clock import Clock
    from memflush_jupyter.memory.files import MemoryFolder
    from memflush_jupyter.trace.models import Message
    from memflush_jupyter.trace.store import TraceStore

Origin = Literal["user", "agent", "tool"]

_WORD = re.compile(r"[^\W_]{2,}|[\u4e00-\u9fff]", re.UNICODE)
_SAFEST_FIRST: tuple[Origin, ...] = ("tool", "user", "agent")
_QUOTED = re.compile(r"^[ \t]*>.*(?:\n|\Z)", re.MULTILINE)
_RECALLED = re.compile(r"<recalled\b.*?</recalled>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Draft:
    """A line to be remembered, before it is compared with what is there."""

    text: str
    sequence: int | None = None
    origin: Origin = "agent"
    floor: bool = False


@dataclass(frozen=True, slots=True)
class Written:
    """What became of the drafts. ``file`` is ``memory/NAME``; ``known`` counts drafts that said nothing new (C5)."""

    ids: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    file: str | None = None
    known: int = 0


class NoteWriter:
    """Appends notes to the memory folder of one identity, each with its provenance (P5)."""

    def __init__(self, memory: MemoryFolder, store: TraceStore, clock: Clock, redact: Callable[[str], str], *, note_chars: int = 500) -> None:
        self._memory = memory
        self._store = store
        self._clock = clock
        self._redact = redact
        self._note_chars = note_chars

    def write(self, trace: str, drafts: Sequence[Draft], *, file: str | None = None, limit: int | None = None) -> Written:
        """Append what is new; return the ids, which are still ``pending`` until the caller commits its own effect.

        ``file`` is a memory file's name or ``None`` for today's daily file; ``limit`` caps the notes of this call (C4). The files are
        compared with under the same lock that the lines are appended under: two kernels that learn the same at once write it once (C5).
        """
        if not drafts:
            return Written()
        with self._memory.locked():
            return self._write(trace, drafts, file, limit)

    def _write(self, trace: str, drafts: Sequence[Draft], file: str | None, limit: int | None) -> Written:
        present = self._present(file, trace)
        ids: list[str] = []
        texts: list[str] = []
        notes: list[Note] = []
        known = 0
        target = self._memory.append_target(file)
        for draft in drafts:
            for piece in limits.split_note(self._redact(draft.text), self._note_chars):
                twin = next((line for line in present if limits.nothing_new(piece, line.text)), None)
                if twin is not None:
                    known += 1
                    if twin.note:
                        self._store.signal_note(twin.note)
                    continue
                if limit is not None and len(ids) >= limit:
                    continue
                note_id = self._id(trace, draft.sequence, piece)
                present.append(_Line(piece, note_id))
                ids.append(note_id)
                texts.append(piece)
                notes.append(
                    Note(
                        id=note_id, file=target, text=piece, trace=trace if draft.sequence is not None else None, sequence=draft.sequence,
                        origin=draft.origin, floor=draft.floor, created_at=self._clock.now(),
                    )
                )  # fmt: skip
        if not notes:
            return Written(known=known)
        self._store.add_notes(notes)
        lines = [self._render(note) for note in notes]
        try:
            written_to = daily.append_notes(self._memory, lines, file=file)
        except MemoryFileError:
            # Nothing was appended, and nothing may appear later: what stays pending is what a kill left, not a failure (P2, C9).
            with contextlib.suppress(MemflushError):
                self._store.delete_notes(ids)
            raise
        return Written(ids, texts, written_to, known)

    def recover(self) -> int:
        """Finish what a kill left ``pending``; return how many notes were appended now."""
        if not self._store.notes(state="pending"):
            return 0
        with self._memory.locked():  # what another kernel is just writing is pending only while it holds this
            return self._recover(self._store.notes(state="pending"))

    def _recover(self, pending: Sequence[Note]) -> int:
        there = daily.written_ids(self._memory, [note.id for note in pending])
        missing = [note for note in pending if note.id not in there]
        for note in missing:
            # A daily file of another day is history: what was not written then is written to today's (C1).
            file = note.file if note.file in {*self._memory.declared} or note.file.startswith("topics/") else None
            daily.append_notes(self._memory, [self._render(note)], file=file)
        self._store.mark_notes([note.id for note in pending], "written")
        return len(missing)

    @staticmethod
    def _render(note: Note) -> str:
        return daily.render_note(note.id, note.text, note.trace, note.sequence, note.origin, note.floor)

    def lines(self) -> list[str]:
        """Every remembered line's text, for coverage by the floor (C13)."""
        return [line.text for line in self._lines(self._memory.names())]

    def _present(self, file: str | None, trace: str) -> list[_Line]:
        wanted = {file or self._memory.daily_name(), "MEMORY.md"}
        names = self._memory.names()
        # A flush that a kill ended before midnight is done again after it: what it had written stands in the file of the day before (C9).
        before = {name for name in self._memory.recent_dailies() if file is None} - wanted
        own = (line for line in self._lines(name for name in names if name in before) if line.trace == trace)
        return [*self._lines(name for name in names if name in wanted), *own]

    def _lines(self, names: Iterable[str]) -> Iterable[_Line]:
        for name in names:
            if not name.endswith(".md"):
                continue
            for raw in self._readable(name).splitlines():
                text = daily.note_text(raw)
                if text and not text.startswith("#"):
                    found = provenance.parse(raw)
                    yield _Line(text, found.id if found else None, found.trace if found else None)

    def _readable(self, name: str) -> str:
        try:
            return self._memory.read(name)
        except MemoryFileError:  # a file this user may not read holds nothing to compare with
            return ""

    def _id(self, trace: str, sequence: int | None, text: str) -> str:
        # A hash keeps ids equal when a notebook is run again under a declared clock (P9); a taken id gets the next hash.
        taken = 0
        while True:
            digest = hashlib.sha256(f"{trace}#{sequence}\0{text}\0{taken}".encode("utf-8", "replace")).hexdigest()[:8]
            if not self._store.has_note(digest):
                return digest
            taken += 1


@dataclass(frozen=True, slots=True)
class _Line:
    text: str
    note: str | None
    trace: str | None = None


def origin_of(message: Message) -> Origin:
    """Who speaks in a message: the person, the agent, or a tool's output."""
    if message.kind == "results":
        return "tool"
    return "user" if message.kind == "prompt" else "agent"


def spoken_text(message: Message, *, without: Container[str] = frozenset()) -> str:
    """What a message says itself: text and tool results, without what recall or the host put beside it (F2, G6).

    ``without`` holds ids of calls whose results are left out.
    """
    aside = set(message.meta.get("aside", ()))
    parts: list[str] = []
    for index, block in enumerate(message.content):
        if index in aside:
            continue
        if block.get("type") == "text":
            parts.append(block["text"])
        elif block.get("type") == "tool_result" and block.get("tool_use_id") not in without:
            content = block.get("content", "")
            if isinstance(content, str):
                parts.append(content)
            else:
                parts.extend(inner["text"] for inner in content if inner.get("type") == "text")
    text = _RECALLED.sub("", "\n".join(parts))
    # What the agent quotes was said elsewhere and is known from there.
    return _QUOTED.sub("", text) if message.kind == "reply" else text


def own_results(messages: Sequence[Message]) -> frozenset[str]:
    """Ids of the calls whose results only say what memory holds already: to learn from them would be to learn it twice (F2)."""
    return frozenset(block["id"] for message in messages for block in message.content if block.get("type") == "tool_use" and block.get("name") in REMEMBERING)


def attribute(text: str, messages: Sequence[Message]) -> tuple[int | None, Origin]:
    """Find the message a note most likely rests on, by shared words; where several fit equally the least trusted origin wins (P8)."""
    words = set(_WORD.findall(text.lower()))
    best: tuple[float, int, int | None, Origin] = (0.0, 0, None, "agent")
    for message in messages:
        if message.kind not in {"prompt", "reply", "results"}:
            continue
        origin = origin_of(message)
        shared = len(words & set(_WORD.findall(spoken_text(message).lower()))) / (len(words) or 1)
        rank = -_SAFEST_FIRST.index(origin)
        if shared > 0 and (shared, rank) > best[:2]:
            best = (shared, rank, message.sequence, origin)
    if best[2] is None and messages:
        return messages[-1].sequence, "agent"
    return best[2], best[3]


def sources(messages: Sequence[Message]) -> list[salience.SourceText]:
    """What the extractor reads (C13): each message's own words with their origin."""
    without = own_results(messages)
    return [
        salience.SourceText(spoken_text(message, without=without), origin_of(message), message.trace, message.sequence)
        for message in messages
        if message.kind in {"prompt", "reply", "results"}
    ]
