"""What of a conversation stands in the context, looked at once per change and only as far as it grew."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memflush_jupyter.context import assembly, pruning

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memflush_jupyter.trace.models import Message


@dataclass(frozen=True, slots=True)
class Shares:
    """Tokens by what they are spent on, and the number of prompts."""

    summary: int = 0
    conversation: int = 0
    results: int = 0
    recall: int = 0
    prompts: int = 0


@dataclass(frozen=True, slots=True)
class View:
    """The messages that are sent, as stored (``sent``) and as they go out (``lean``: pruned, their tokens less what pruning saves)."""

    version: int
    pruned: pruning.PruneState
    sent: list[Message]
    lean: list[Message]
    shares: Shares


def look(messages: Sequence[Message], version: int, pruned: pruning.PruneState, before: View | None) -> View:
    """Look at a path; ``before`` is the last look at the same conversation."""
    sent = assembly.on_path(messages)
    # A pruning that did not change touches nothing that came after it.
    if before is not None and before.pruned.actions is pruned.actions and assembly.continues(sent, before.sent):
        added = sent[len(before.sent) :]
        return View(version, pruned, sent, [*before.lean, *added], add_up(added, before.shares))
    saved: dict[int, int] = {}
    for (sequence, _), tokens in pruned.saved.items():
        saved[sequence] = saved.get(sequence, 0) + tokens
    lean = [
        replace(message, tokens=max(0, message.tokens - saved[message.sequence])) if message.sequence in saved else message
        for message in pruning.apply(sent, pruned)
    ]
    return View(version, pruned, sent, lean, add_up(lean, Shares()))


def add_up(messages: Sequence[Message], start: Shares) -> Shares:
    """Add the tokens of ``messages`` to ``start``."""
    summary, conversation, results, recall, prompts = start.summary, start.conversation, start.results, start.recall, start.prompts
    for message in messages:
        prompts += message.kind == "prompt"
        if message.kind == "summary":
            summary += message.tokens
        elif message.kind == "results":
            results += message.tokens
        else:
            aside = min(int(message.meta.get("recall_tokens", 0)), message.tokens)
            recall += aside
            conversation += message.tokens - aside
    return Shares(summary, conversation, results, recall, prompts)


def size(message: Message) -> int:
    """Characters of a message's content (B1)."""
    total = 0
    for block in message.content:
        for value in block.values():
            total += len(value) if isinstance(value, str) else len(str(value))
    return total
