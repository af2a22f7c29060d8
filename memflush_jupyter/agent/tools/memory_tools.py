"""``memory_write`` and ``memory_search``: saving on request, and finding again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memflush_jupyter.agent.notes import Draft, NoteWriter, attribute
from memflush_jupyter.agent.tools.base import ToolCall, ToolResult, text_result
from memflush_jupyter.context import recall
from memflush_jupyter.errors import MemoryFileError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memflush_jupyter.memory.files import MemoryFolder
    from memflush_jupyter.trace.models import Message
    from memflush_jupyter.trace.store import TraceStore

MEMORY_WRITE = "memory_write"


def memory_write_schema(declared: Sequence[str]) -> dict[str, Any]:
    """The schema of ``memory_write``; ``declared`` are the semantic files it may append to (G7)."""
    where = ", ".join(declared)
    return {
        "type": "object",
        "properties": {
            "notes": {"type": "array", "items": {"type": "string"}, "description": "One fact each, in plain sentences that stand alone."},
            "file": {"type": "string", "description": f"Leave out for today's notes; or topics/NAME.md{', ' if where else ''}{where}."},
        },
        "required": ["notes"],
    }


class MemoryWrite:
    """Appends notes in an ordinary turn: to the daily file, a topic or a declared file, nowhere else (G7)."""

    name = MEMORY_WRITE
    description = "Save facts, decisions, preferences or findings to memory/, where they outlast this conversation."
    approval = False
    parallel = False

    def __init__(self, memory: MemoryFolder, writer: NoteWriter, store: TraceStore, declared: Sequence[str], messages: Callable[[], Sequence[Message]]) -> None:
        self._memory = memory
        self._writer = writer
        self._store = store
        self._messages = messages
        self.input_schema = memory_write_schema(declared)

    async def run(self, input: dict[str, Any], call: ToolCall) -> ToolResult:  # noqa: A002 - protocol
        """Append the notes; a file that may not be written gets them into the daily file, and the result says so."""
        notes = [note for note in input["notes"] if note.strip()]
        if not notes:
            return text_result("memory_write was given no text; nothing was saved.", is_error=True)
        file, fault = self.target(input.get("file"))
        messages = self._messages()
        drafts = [Draft(note, *attribute(note, messages)) for note in notes]
        written = self._writer.write(call.trace, drafts, file=file)
        self._store.mark_notes(written.ids, "written")
        said = f"{len(written.ids)} saved to {written.file}." if written.ids else "Nothing was saved."
        if written.known:
            said += f" {written.known} said nothing new."
        return text_result(f"{fault} {said}".strip(), is_error=bool(fault))

    def target(self, file: str | None) -> tuple[str | None, str]:
        """The file to append to (``None``: today's) and, where the wish was refused, the sentence that says so."""
        if not file:
            return None, ""
        try:
            return self._memory.append_target(file), ""
        except MemoryFileError as error:
            return None, f"{error} The notes went to today's file."


class MemorySearch:
    """Full-text search over earlier messages, notes and traces of this identity (G5)."""

    name = "memory_search"
    description = "Search earlier messages of this and past conversations, and all notes."
    approval = False
    parallel = True
    input_schema: dict[str, Any] = {  # noqa: RUF012 - a constant schema, never changed
        "type": "object",
        "properties": {"query": {"type": "string", "description": "Names, numbers and words that the passage would hold."}},
        "required": ["query"],
    }

    def __init__(self, store: TraceStore, identity: str, count: Callable[[str], int], *, tokens: int, in_context: Callable[[], set[tuple[str, int]]]) -> None:
        self._store = store
        self._identity = identity
        self._count = count
        self._tokens = tokens
        self._in_context = in_context

    async def run(self, input: dict[str, Any], call: ToolCall) -> ToolResult:  # noqa: A002 - protocol
        """Return the best passages with their references; log the query and count the signals (G6)."""
        items = recall.search(
            self._store, input["query"], identity=self._identity, in_context=self._in_context(), budget=self._tokens, count=self._count, gate=False
        )
        log_query(self._store, call.trace, input["query"], items, by="tool")
        if not items:
            return text_result(f"Nothing stored matches {input['query']!r}.")
        return text_result(recall.render(items))


def log_query(store: TraceStore, trace: str, query: str, items: Sequence[recall.RecallItem], *, by: str) -> None:
    """Log a search as ``query`` and count a signal for each note it found (G6, F6)."""
    store.log(trace, "query", {"query": query[:500], "by": by, "found": [item.ref for item in items]})
    for item in items:
        if item.note:
            store.signal_note(item.note, query[:200])
