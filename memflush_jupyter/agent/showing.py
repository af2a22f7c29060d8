"""One reply as it streams, shown: pieces become events, texts are redacted on the way and closed with what the reply finally holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memflush_jupyter.events import PhaseChanged, Retrying, TextDelta, TextDiscarded, TextDone, ThinkingDelta
from memflush_jupyter.models.client import Retry, TextPiece, ThinkingPiece

if TYPE_CHECKING:
    from collections.abc import Callable

    from memflush_jupyter.events import Event, Phase
    from memflush_jupyter.memory.redaction import Redactor
    from memflush_jupyter.memory.redaction_stream import StreamRedactor
    from memflush_jupyter.models.client import ModelReply, Piece
    from memflush_jupyter.trace.models import Block


class _Text:
    """A text block while it streams: its number in the turn, what arrived, and the redaction of it (P7)."""

    def __init__(self, number: int, redactor: StreamRedactor) -> None:
        self.number = number
        self.text = ""
        self._redactor = redactor

    def feed(self, delta: str) -> str:
        self.text += delta
        return self._redactor.feed(delta)


class Showing:
    """Shows one reply through ``emit``. ``blocks``: the number of the turn's next text block, counted on here."""

    def __init__(self, emit: Callable[[Event], None], redact: Redactor, blocks: int) -> None:
        self.blocks = blocks
        self._emit = emit
        self._redact = redact
        self._phase: Phase | None = None
        self._texts: dict[int, _Text] = {}
        self._thought = redact.stream()

    def show(self, piece: Piece) -> None:
        """Pass a piece on as events; a phase is announced once when it begins."""
        if self._phase == "thinking" and not isinstance(piece, ThinkingPiece) and (rest := self._thought.finish()):
            self._emit(ThinkingDelta(rest))
        if isinstance(piece, TextPiece):
            self._begin("streaming")
            if piece.index not in self._texts:
                self._texts[piece.index] = _Text(self.blocks, self._redact.stream())
                self.blocks += 1
            if text := self._texts[piece.index].feed(piece.text):
                self._emit(TextDelta(self._texts[piece.index].number, text))
        elif isinstance(piece, ThinkingPiece):
            if self._phase != "thinking":
                self._thought = self._redact.stream()
            self._begin("thinking")
            if thought := self._thought.feed(piece.text):
                self._emit(ThinkingDelta(thought))
        elif isinstance(piece, Retry):
            self._phase = "retrying"
            self._emit(PhaseChanged("retrying"))
            self._emit(Retrying(piece.attempt, piece.wait_s, piece.sentence))

    def close(self, reply: ModelReply) -> None:
        """Close the streamed texts with what the reply finally holds (calls written as text are taken out, C7)."""
        final = [block["text"] for block in reply.content if block.get("type") == "text" and block["text"].strip()]
        for place, piece in enumerate(self._texts.values()):
            if reply.fault:
                self._emit(TextDiscarded(piece.number, reply.fault))
            elif place < len(final):
                self._emit(TextDone(piece.number, self._redact(final[place])))
            else:
                self._emit(TextDiscarded(piece.number, "written as a tool call"))
        if not self._texts and not reply.fault:
            for text in final:
                self._emit(TextDone(self.blocks, self._redact(text)))
                self.blocks += 1

    def partial(self) -> list[Block]:
        """What has arrived so far, as text blocks (D11)."""
        return [{"type": "text", "text": piece.text} for piece in self._texts.values() if piece.text.strip()]

    def _begin(self, phase: Phase) -> None:
        if self._phase != phase:
            self._phase = phase
            self._emit(PhaseChanged(phase))
