"""What earlier messages and notes say about a prompt, to ride with it as data (G5, G6)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from memflush_jupyter.agent.tools.memory_tools import log_query
from memflush_jupyter.context import recall

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memflush_jupyter.agent.parts import AgentParts
    from memflush_jupyter.trace.models import Block

QUERY_CHARS: Final = 4000


def beside(
    parts: AgentParts, model: str, trace: str, prompt: Sequence[Block], memory: str, in_context: set[tuple[str, int]]
) -> tuple[list[Block], list[dict[str, str]]]:
    """Return the blocks to send before ``prompt``, and what they hold as it is shown; both empty where nothing was found.

    Args:
        parts: where to look, and within how many tokens.
        model: whose tokens are counted.
        trace: the conversation whose cognition log takes the query.
        prompt: what the person asks.
        memory: the memory text that the system prompt holds; nothing in it is told twice.
        in_context: the messages that the model sees already.
    """
    config = parts.config
    if not config.recall or config.recall_tokens <= 0 or parts.writer is None:
        return [], []
    text = "\n".join(block["text"] for block in prompt if block.get("type") == "text")
    if len(text) > QUERY_CHARS:  # a pasted document is no question; what is asked stands before or after it
        text = f"{text[: QUERY_CHARS // 2]}\n{text[-QUERY_CHARS // 2 :]}"
    found = recall.search(parts.store, text, identity=parts.identity, in_context=in_context, budget=config.recall_tokens, count=parts.counter(model).text)
    items = [item for item in found if item.text not in memory]
    if not items:
        return [], []
    log_query(parts.store, trace, text, items, by="prompt")
    shown = [{"ref": item.ref, "origin": item.origin, "date": item.date, "text": item.text} for item in items]
    return [{"type": "text", "text": recall.render(items)}], shown
