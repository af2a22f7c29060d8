"""From the messages of a path to a request that is always valid (P6), without touching or copying the messages.

What is sent differs from what is stored: a summary stands for what it replaced, a partial reply is left out, a call
that was interrupted is answered, neighbours of one role are merged. Blocks are passed on by reference, so that the
work does not grow with the size of the texts.
"""

from __future__ import annotations

import re
from operator import is_
from typing import TYPE_CHECKING, Any

from memflush_jupyter.context.validation import validate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memflush_jupyter.trace.models import Block, Message, WireMessage

__all__ = ["CONTINUED", "INTERRUPTED", "Assembler", "continues", "on_path", "to_wire", "validate"]

INTERRUPTED = "Interrupted: this call did not finish, and its result is not known."
CONTINUED = "(The conversation goes on from here.)"
_NO_TEXT = "(no text)"
_THINKING = frozenset({"thinking", "redacted_thinking"})
_BAD_ID = re.compile(r"[^a-zA-Z0-9_-]")


def on_path(messages: Sequence[Message], *, branch: str = "main") -> list[Message]:
    """Return the messages that are sent, oldest first: the last summary, what it kept, and what came after.

    Partial replies, earlier summaries and messages of branches other than main and ``branch`` are left out (D11).
    """
    seen = {"main", branch}
    sent = [message for message in messages if message.kind != "partial" and message.branch in seen]
    mark = next((index for index in range(len(sent) - 1, -1, -1) if sent[index].kind == "summary"), None)
    if mark is None:
        return sent
    first_kept = sent[mark].meta.get("first_kept")
    kept = [m for m in sent[:mark] if first_kept is not None and m.sequence >= first_kept and m.kind != "summary"]
    return [sent[mark], *kept, *sent[mark + 1 :]]


def to_wire(messages: Sequence[Message], *, branch: str = "main") -> list[WireMessage]:
    """Build the ``messages`` of a request from a path, as ``TraceStore.path()`` gives it.

    The result always passes :func:`validate`, whatever was interrupted, cut, pruned or compacted, as long as the last
    message is the user's; it may end with the assistant's only when the path does.
    """
    return Assembler().wire(messages, branch=branch)


def continues(messages: Sequence[Message], earlier: Sequence[Message]) -> bool:
    """Whether ``messages`` begin with the very objects of ``earlier``."""
    return len(messages) >= len(earlier) and all(map(is_, earlier, messages))


class Assembler:
    """Builds the requests of one conversation, each from where the one before it ended.

    As long as a path only grew, the messages of earlier requests come back as the same objects: a long conversation is assembled once,
    and who encodes a request can tell what it has encoded before.
    """

    def __init__(self) -> None:
        self._assembly = _Assembly()
        self._taken: list[Message] = []

    def wire(self, messages: Sequence[Message], *, branch: str = "main") -> list[WireMessage]:
        """Build the ``messages`` of a request, as :func:`to_wire` does."""
        sent = on_path(messages, branch=branch)
        if not continues(sent, self._taken):
            self._assembly, self._taken = _Assembly(), []
        for message in sent[len(self._taken) :]:
            if message.role == "assistant":
                self._assembly.assistant(message.content)
            else:
                self._assembly.user(message.content)
        self._taken = sent
        return self._assembly.finish()


class _Assembly:
    """The request under construction: one pass, each block looked at once."""

    def __init__(self) -> None:
        self.wire: list[WireMessage] = []
        self.open: dict[str, list[str]] = {}  # id as stored → ids as sent, for the calls of the last assistant message
        self.results: dict[str, Block] = {}  # id as sent → its result
        self.rest: list[Block] = []  # what else the user says before the next assistant message
        self.ids: set[str] = set()

    def user(self, content: Sequence[Block]) -> None:
        for block in content:
            kind = block.get("type")
            if kind == "tool_result":
                self._result(block)
            elif kind != "tool_use" and kind not in _THINKING and not _is_blank(block):
                self.rest.append(block)

    def assistant(self, content: Sequence[Block]) -> None:
        blocks = [block for block in content if block.get("type") != "tool_result" and not _is_blank(block)]
        while blocks and blocks[-1].get("type") in _THINKING:
            blocks.pop()
        if not blocks:
            return
        self._close_user()
        calls: dict[str, list[str]] = {}
        for index, block in enumerate(blocks):
            if block.get("type") == "tool_use":
                sent = self._new_id(str(block.get("id", "")))
                calls.setdefault(str(block.get("id", "")), []).append(sent)
                if sent != block.get("id") or not isinstance(block.get("input"), dict):
                    given = block.get("input")
                    blocks[index] = {**block, "id": sent, "input": given if isinstance(given, dict) else {}}
        if not self.wire:
            self.wire.append(_user([_text(CONTINUED)]))
        if self.wire[-1]["role"] == "assistant":
            self.wire[-1] = {"role": "assistant", "content": _joined(self.wire[-1]["content"], blocks)}
        else:
            self.wire.append({"role": "assistant", "content": blocks})
        self.open, self.results = calls, {}

    def finish(self) -> list[WireMessage]:
        """The request as it stands; more messages may follow."""
        waiting = self._waiting()
        return [*self.wire, _user(waiting)] if waiting else list(self.wire)

    def _result(self, block: Block) -> None:
        unanswered = self.open.get(str(block.get("tool_use_id", "")))
        if unanswered:  # orphans and second answers are not sent
            sent = unanswered.pop(0)
            self.results[sent] = _clean_result(block, sent)

    def _close_user(self) -> None:
        content = self._waiting()
        if content:
            self.wire.append(_user(content))
        self.open, self.results, self.rest = {}, {}, []

    def _waiting(self) -> list[Block]:
        """The waiting results, first and complete, and the rest: the content of one user message."""
        return [*(self.results.get(sent) or _interrupted(sent) for sent in self._called()), *self.rest]

    def _called(self) -> list[str]:
        if not self.open:
            return []
        return [block["id"] for block in self.wire[-1]["content"] if block.get("type") == "tool_use"]

    def _new_id(self, stored: str) -> str:
        """Return a legal id that no other call of this request has; some servers number their calls anew in each reply."""
        base = _BAD_ID.sub("_", stored) or "call"
        sent, number = base, 1
        while sent in self.ids:
            number += 1
            sent = f"{base}_{number}"
        self.ids.add(sent)
        return sent


def _joined(earlier: list[Block], later: list[Block]) -> list[Block]:
    """Merge two assistant messages.

    The API wants thinking first and as it was given, so only the later one's may stay; that of a finished reply may be left out.
    """
    thinking = [block for block in later if block.get("type") in _THINKING]
    spoken = [block for block in (*earlier, *later) if block.get("type") not in _THINKING]
    return [*thinking, *spoken]


def _clean_result(block: Block, sent: str) -> Block:
    content = block.get("content")
    clean: Any = content
    if isinstance(content, list):
        clean = [part for part in content if not _is_blank(part)]
        if block.get("is_error"):  # the API takes nothing but text in an error
            clean = [part for part in clean if part.get("type") == "text"]
        if len(clean) == len(content):
            clean = content
    if block.get("is_error") and (not clean or (isinstance(clean, str) and not clean.strip())):
        clean = [_text(_NO_TEXT)]
    if clean is content and sent == block.get("tool_use_id"):
        return block
    return {**block, "tool_use_id": sent, "content": clean}


def _interrupted(sent: str) -> Block:
    return {"type": "tool_result", "tool_use_id": sent, "content": [_text(INTERRUPTED)], "is_error": True}


def _is_blank(block: Block) -> bool:
    return block.get("type") == "text" and not (block.get("text") or "").strip()


def _text(text: str) -> Block:
    return {"type": "text", "text": text}


def _user(content: list[Block]) -> WireMessage:
    return {"role": "user", "content": content}
