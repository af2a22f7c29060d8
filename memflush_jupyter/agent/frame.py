"""The fixed prefix of a trace: system prompt, tool schemas, and the memory block, frozen between compactions."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from memflush_jupyter.agent import elsewhere, prompting
from memflush_jupyter.agent.parts import Frame
from memflush_jupyter.agent.tools.base import schema_of
from memflush_jupyter.memory import snapshot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memflush_jupyter.agent.parts import AgentParts
    from memflush_jupyter.agent.tools.base import Tool
    from memflush_jupyter.trace.models import Block, Trace

MEMORY_SHARE = 0.04
MEMORY_TOKENS = 8000
"""Memory in the prompt: 4 % of the window, at most 8000 tokens (G1)."""
MIN_MEMORY_TOKENS = 200
_BLOCK = "memory_block"


def memory_block(parts: AgentParts, trace: Trace, window: int, model: str, *, fresh: bool = False) -> str:
    """The memory block of a trace: as frozen in its row, or read from the files at its start and after a compaction (``fresh``)."""
    if parts.memory is None:
        return ""
    frozen = trace.meta.get(_BLOCK)
    if frozen is not None and not fresh:
        return str(frozen)
    configured = parts.config.memory_tokens
    budget = configured if configured is not None else max(MIN_MEMORY_TOKENS, min(MEMORY_TOKENS, int(window * MEMORY_SHARE)))
    signals = {note.id: note.signals for note in parts.store.notes(state="written") if note.signals}
    found = snapshot.load(parts.memory, budget_tokens=budget, count=parts.counter(model).text, today=parts.clock.now().date(), signals=signals)
    block = parts.redact(found.text)
    parts.store.update_trace(trace.id, meta={**trace.meta, _BLOCK: block})
    elsewhere.rebase(parts, trace.id)
    return block


def build(parts: AgentParts, model: str, tools: Sequence[Tool], block: str) -> Frame:
    """Put the prefix together and count it."""
    counter = parts.counter(model)
    static = prompting.system_text(parts.config)
    system: list[Block] = [{"type": "text", "text": static}]
    if block:
        system.append({"type": "text", "text": block})
    schemas = [schema_of(tool) for tool in tools]
    digest = hashlib.sha256(json.dumps([model, system, schemas], sort_keys=True, ensure_ascii=False).encode("utf-8", "replace")).hexdigest()[:16]
    return Frame(
        system=system,
        tools=schemas,
        system_tokens=counter.text(static),
        memory_tokens=counter.text(block) if block else 0,
        tool_tokens=counter.tools(schemas) if schemas else 0,
        digest=digest,
    )


def vision_filter(content: list[dict[str, Any]], *, vision: bool) -> list[dict[str, Any]]:
    """Leave images out for a model that cannot see them, and say so in words."""
    if vision:
        return content
    return [{"type": "text", "text": "[an image, shown to the person]"} if block.get("type") == "image" else block for block in content]
