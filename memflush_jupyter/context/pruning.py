"""Old tool results are sent shorter; the store keeps the whole (D1, D2, D8, G6). Pure: a plan, and its application.

The plan changes in batches only, so that between batches the earlier bytes of every request stay the same and the
provider's prompt cache holds. A batch comes when the context has grown by a tenth of the window since the last one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from memflush_jupyter.context.window import Lines
    from memflush_jupyter.trace.models import Block, Message

Action = Literal["shorten", "stub"]
Place = tuple[int, int]
"""A block: the sequence of its message and its position in the content."""

RESULT_CHARS = 4_000
PROTECTED_ROUNDS = 3
RECALL_OPEN = "<recalled "
"""How a block of recalled text begins; such blocks ride with prompts and are pruned first (G6)."""

RECALL_STUB = "[Notes recalled for this message are no longer shown.]"
_BATCHES = 10  # one batch per tenth of the window
_STUB_SAVES = 300  # characters: below this a stub with its reference would save nothing worth a broken prefix
_SUMMARY_SHARE = 8  # after a compaction up to an eighth of the room goes to the summary
_REFERENCE = re.compile(r"\[… [^\]]{1,60} omitted; read_message\(trace=\"[^\"]*\", sequence=\d+\) shows the whole …\]")


class Counts(Protocol):
    """What is needed of a token counter."""

    def blocks(self, blocks: Iterable[Block]) -> int:
        """Return the tokens of content blocks."""
        ...


@dataclass(frozen=True, slots=True)
class PruneState:
    """What is sent shorter in one trace, as decided so far. Begin with ``PruneState()``, hand each one to the next plan.

    ``actions`` say how each block is sent, ``saved`` how many tokens that saves. ``mark``: tokens sent right after the
    last batch, ``None`` before the first. ``base``: the first message sent; another one (a compaction, a resume) begins
    anew. ``through``: the last message when the actions last changed; usage measured up to it is stale
    (``used_tokens(stale_through=…)``). ``limit``: characters of a tool result that are sent whole (D1).
    """

    actions: Mapping[Place, Action] = field(default_factory=dict)
    saved: Mapping[Place, int] = field(default_factory=dict)
    mark: int | None = None
    base: int | None = None
    through: int | None = None
    limit: int = RESULT_CHARS

    @property
    def side(self) -> int:
        """Characters kept at the head, and at the tail: 1,500 with the default limit."""
        return self.limit * 3 // 8


def plan(messages: Sequence[Message], *, counter: Counts, lines: Lines, state: PruneState) -> PruneState:
    """Decide how ``messages`` (the path as it is sent, see ``assembly.on_path``) are pruned; nothing is changed yet.

    In a batch: recalled text of earlier prompts goes; tool results of more than ``limit`` characters outside the last
    three assistant rounds are cut to head and tail, and images there become a line; when the context is above half of
    the window, results there become a line altogether. Outside a batch nothing already sent changes; only a result so
    large that it would not fit even after a compaction is cut at once, in the last rounds too (D8).

    The same messages and the returned state give the same state again.
    """
    if not messages:
        return state
    if state.base != messages[0].sequence:
        state = PruneState(base=messages[0].sequence, limit=state.limit)
    draft = _Draft(messages, counter, state)
    draft.cut_oversized(lines)
    used = lines.prefix + draft.tokens()
    mark = lines.prefix if state.mark is None else min(state.mark, used)
    if (used - mark) * _BATCHES >= lines.window:
        draft.batch(stubs=used * 2 > lines.window)
        mark = lines.prefix + draft.tokens()
    if draft.actions == state.actions:
        return replace(state, mark=mark)
    return replace(state, actions=draft.actions, saved=draft.saved, mark=mark, through=messages[-1].sequence)


def apply(messages: Sequence[Message], state: PruneState) -> list[Message]:
    """Return the messages as they are to be sent. Untouched ones are the same objects; none is changed."""
    touched: dict[int, dict[int, Action]] = {}
    for (sequence, index), action in state.actions.items():
        touched.setdefault(sequence, {})[index] = action
    return [_pruned(message, touched[message.sequence], state.side) if message.sequence in touched else message for message in messages]


def is_recall(message: Message, block: Block) -> bool:
    """Whether the block is recalled text that rides with a prompt."""
    return message.kind == "prompt" and block.get("type") == "text" and block.get("text", "").startswith(RECALL_OPEN)


def shortened(message: Message, block: Block, action: Action, *, side: int) -> Block:
    """Return one block as it is sent: a new one, or the same when there is nothing to shorten (any more)."""
    if block.get("type") == "text":
        return {**block, "text": RECALL_STUB}
    text, images = _text(block), _images(block)
    if action == "stub":
        if not images and _REFERENCE.fullmatch(text):
            return block
        return {**block, "content": _reference(message, len(text), images)}
    omitted = len(text) - 2 * side
    if omitted > 0 and not _REFERENCE.match(text, side + 1):
        return {**block, "content": f"{text[:side]}\n{_reference(message, omitted, images)}\n{text[-side:]}"}
    if images:
        return {**block, "content": f"{text}\n{_reference(message, 0, images)}".lstrip("\n")}
    return block


def _reference(message: Message, characters: int, images: int) -> str:
    """The line that stands for what is omitted; ``read_message`` follows it."""
    parts = [f"{characters:,} characters"] if characters else []
    if images:
        parts.append(f"{images} image{'s' if images > 1 else ''}")
    omitted = " and ".join(parts) or "nothing"
    return f'[… {omitted} omitted; read_message(trace="{message.trace[:8]}", sequence={message.sequence}) shows the whole …]'


def _pruned(message: Message, actions: Mapping[int, Action], side: int) -> Message:
    content = [shortened(message, block, actions[index], side=side) if index in actions else block for index, block in enumerate(message.content)]
    return replace(message, content=content)


class _Draft:
    """The actions of one plan while they are made up; a block is counted only when its action changes."""

    def __init__(self, messages: Sequence[Message], counter: Counts, state: PruneState) -> None:
        present = {message.sequence for message in messages}
        self.messages = messages
        self.counter = counter
        self.state = state
        self.actions = {place: action for place, action in state.actions.items() if place[0] in present}
        self.saved = {place: tokens for place, tokens in state.saved.items() if place[0] in present}

    def tokens(self) -> int:
        """What the messages take as they are sent."""
        return sum(self._whole(message) for message in self.messages) - sum(self.saved.values())

    def batch(self, *, stubs: bool) -> None:
        """Prune what is old (D1)."""
        asking = next((message for message in reversed(self.messages) if message.kind == "prompt"), None)
        for message in self.messages[: self._protected_from()]:
            for index, block in enumerate(message.content):
                if is_recall(message, block) and message is not asking:
                    self._act(message, index, "stub")
                elif block.get("type") == "tool_result":
                    size, images = len(_text(block)), _images(block)
                    if stubs and (size > _STUB_SAVES or images):
                        self._act(message, index, "stub")
                    elif size > self.state.limit or images:
                        self._act(message, index, "shorten")

    def cut_oversized(self, lines: Lines) -> None:
        """Cut results of the last round that would not fit even with all gone that a compaction may remove, largest first (D8)."""
        start = next((index for index in range(len(self.messages) - 1, -1, -1) if self.messages[index].role == "assistant"), 0)
        tail = self.messages[start:]
        request = next((message for message in reversed(self.messages[:start]) if message.kind == "prompt"), None)
        needed = sum(self._sent(message) for message in ([request] if request else []) + list(tail))
        room = lines.room - lines.room // _SUMMARY_SHARE
        results = [(len(_text(block)), message, index) for message in tail for index, block in enumerate(message.content) if block.get("type") == "tool_result"]
        for size, message, index in sorted(results, key=lambda result: -result[0]):
            if needed <= room or size <= self.state.limit:
                return
            needed -= self._act(message, index, "shorten")

    def _protected_from(self) -> int:
        """Index of the third assistant message from the end: from there on a batch touches nothing."""
        rounds = [index for index, message in enumerate(self.messages) if message.role == "assistant"]
        return rounds[-PROTECTED_ROUNDS] if len(rounds) >= PROTECTED_ROUNDS else 0

    def _act(self, message: Message, index: int, action: Action) -> int:
        """Record an action and return the tokens it newly saves; a stub is never turned back into more."""
        place = (message.sequence, index)
        if self.actions.get(place) in {action, "stub"}:
            return 0
        block = message.content[index]
        before = self.saved.get(place, 0)
        self.actions[place] = action
        self.saved[place] = self.counter.blocks([block]) - self.counter.blocks([shortened(message, block, action, side=self.state.side)])
        return self.saved[place] - before

    def _sent(self, message: Message) -> int:
        return self._whole(message) - sum(self.saved.get((message.sequence, index), 0) for index in range(len(message.content)))

    def _whole(self, message: Message) -> int:
        return message.tokens or self.counter.blocks(message.content)


def _text(block: Block) -> str:
    content: Any = block.get("content")
    if isinstance(content, list):
        return "\n".join(part.get("text") or "" for part in content if part.get("type") == "text")
    return content if isinstance(content, str) else ""


def _images(block: Block) -> int:
    content: Any = block.get("content")
    return sum(1 for part in content if part.get("type") != "text") if isinstance(content, list) else 0
