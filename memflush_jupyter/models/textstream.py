"""Streamed text in which a tool call may stand (C7): what is shown at once, what is held back, and what became of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from memflush_jupyter.models.pieces import ModelReply, TextPiece, ToolPiece
from memflush_jupyter.models.textcalls import could_start, parse_text_calls

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from memflush_jupyter.models.pieces import Piece, ThinkingPiece
    from memflush_jupyter.trace.models import Block


class TextCallReader:
    """Holds streamed text back from where a call may begin, and reads the calls when the reply is whole."""

    def __init__(self, tools: Sequence[dict[str, Any]], *, seed: str) -> None:
        self._tools = tools
        self._seed = seed
        self._texts: dict[int, str] = {}
        self._shown: dict[int, int] = {}

    def pass_on(self, pieces: Sequence[TextPiece | ThinkingPiece | ToolPiece]) -> Iterator[TextPiece | ThinkingPiece | ToolPiece]:
        """Yield what can be shown now."""
        for piece in pieces:
            if not isinstance(piece, TextPiece):
                yield piece
                continue
            text = self._texts[piece.index] = self._texts.get(piece.index, "") + piece.text
            shown = self._shown.get(piece.index, 0)
            start = could_start(text[shown:])
            end = len(text) if start is None else shown + start
            if end > shown:
                self._shown[piece.index] = end
                yield TextPiece(text[shown:end], piece.index)

    def finish(self, reply: ModelReply, *, used_ids: Iterable[str]) -> Iterator[Piece]:
        """Yield what was held back and is text after all, the calls that were found, and the reply with them in place."""
        calls: list[Block] = []
        texts = {index: text for index, text in self._texts.items() if text.strip()}
        if reply.trustworthy and not reply.tool_calls:
            seen = set(used_ids)
            for index, text in texts.items():
                rest, found = parse_text_calls(text, self._tools, seed=f"{self._seed}{index}", used_ids=seen)
                texts[index] = rest
                calls += found
                seen |= {call["id"] for call in found}
        for index, text in texts.items():
            tail = self._unseen(index, text)
            if tail:
                yield TextPiece(tail, index)
        if calls:
            kept = [block for block in reply.content if block.get("type") != "text"]
            content = [*kept, *({"type": "text", "text": text} for text in texts.values() if text.strip()), *calls]
            yield from (ToolPiece(position, block["name"]) for position, block in enumerate(content) if block["type"] == "tool_use")
            reply = replace(reply, content=content, stop_reason="tool_use", from_text=True)
        yield reply

    def _unseen(self, index: int, final: str) -> str:
        """Return the part of the final text that was not shown yet; around a call, white space may have changed."""
        shown = self._texts[index][: self._shown.get(index, 0)]
        if final.startswith(shown):
            return final[len(shown) :]
        rest = final[len(shown.rstrip()) :].lstrip()
        return rest and (rest if shown.endswith("\n") else f"\n\n{rest}")
