"""Short replies to a question that the analyst asked: "top 3", "Largest by which column?", "body mass"."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memflush_jupyter.models.offline.intent import ANSWERABLE, clauses, kind_of

if TYPE_CHECKING:
    from memflush_jupyter.models.offline.conversation import Conversation

_ASKS = re.compile(r"\bwhich (?:columns?|one)\b[^.?\n]*\?|\bWhich column's [^.?\n]*\?|Which one do you mean\?", re.IGNORECASE)
_LONGEST = 5
"""Words of a reply that can only be the answer to a question."""


def requests(conversation: Conversation) -> list[str]:
    """The prompts, where a short reply to a question stands as the request that the question was about, completed."""
    replies = dict(conversation.replies)
    whole: list[str] = []
    for number, prompt in enumerate(conversation.prompts):
        asked = _ASKS.search(replies.get(number - 1, ""))
        before = clauses(whole[-1]) if asked and whole and _only_names(prompt) else []
        whole.append(f"{before[-1].written.rstrip(' .?!。？！')} {prompt.strip()}" if before else prompt)
    return whole


def _only_names(prompt: str) -> bool:
    """Whether a prompt asks for nothing by itself."""
    found = clauses(prompt)
    return len(found) == 1 and len(prompt.split()) <= _LONGEST and not prompt.rstrip().endswith(("?", "？")) and kind_of(found[0]) in ANSWERABLE
