"""The offline model's answer to one request: a pure function of the request.

Rule-based and deterministic, no language model: it turns plain data-analysis requests into tool calls, reads their
results, and says plainly what it cannot do.
"""

from __future__ import annotations

import hashlib
from typing import Any

from memflush_jupyter.models.offline import side
from memflush_jupyter.models.offline.conversation import Call, Conversation, read
from memflush_jupyter.models.offline.turn import Calls, turn

_MOST_CALLS = 40


def respond(request: dict[str, Any], purpose: str = "turn") -> tuple[list[dict[str, Any]], str]:
    """Answer a Messages API request body: content blocks and the stop reason.

    Args:
        request: the body of ``POST /v1/messages``.
        purpose: ``turn``, ``flush`` or ``compression``; a flush is also known by its candidates.
    """
    conversation = read(request, side=purpose != "turn")
    if side.is_flush(conversation, purpose):
        return _flush(conversation)
    if purpose == "compression":
        return _text(side.summary(request))
    if purpose != "turn":
        return _text("NO_REPLY")
    return _turn(conversation)


def _text(text: str) -> tuple[list[dict[str, Any]], str]:
    return [{"type": "text", "text": text}], "end_turn"


def _flush(conversation: Conversation) -> tuple[list[dict[str, Any]], str]:
    notes = [] if conversation.answered or "memory_write" not in conversation.tools else side.flush_notes(conversation)
    if not notes:
        return _text("NO_REPLY")
    return _uses(conversation, [Call("memory_write", {"notes": notes})], ""), "tool_use"


def _turn(conversation: Conversation) -> tuple[list[dict[str, Any]], str]:
    known = conversation.outcomes()
    talk = turn(conversation)
    try:
        step: Calls = next(talk)
        while all(known.get(made.key) for made in step.calls):
            step = talk.send([known[made.key].pop(0) for made in step.calls])
    except StopIteration as end:
        return _text(str(end.value))
    if conversation.rounds_used() >= _MOST_CALLS:
        return _text("I stop here: this request took too many steps.")
    return _uses(conversation, [made for made in step.calls if not known.get(made.key)], step.text), "tool_use"


def _uses(conversation: Conversation, calls: list[Call], text: str) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
    for number, made in enumerate(calls):
        seed = f"{conversation.messages} {number} {made.key}"
        blocks.append(
            {
                "type": "tool_use",
                "id": "toolu_" + hashlib.sha256(seed.encode("utf-8", "surrogatepass")).hexdigest()[:24],
                "name": made.name,
                "input": made.input,
            }
        )
    return blocks
