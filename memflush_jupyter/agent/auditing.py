"""The audit after a compaction: what of the removed part stands nowhere any more, kept with the record of the compaction (section 6, D13)."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from memflush_jupyter.context.audit import audit
from memflush_jupyter.errors import MemflushError
from memflush_jupyter.memory import daily

if TYPE_CHECKING:
    from memflush_jupyter.agent.parts import AgentParts
    from memflush_jupyter.context.compaction import Cut
    from memflush_jupyter.trace.store import TraceStore

EVENT = "compaction"
LONGEST_MEMORY = 60_000
"""Characters of memory files that are looked through, the newest files first: the look may not hold a turn up."""

_log = logging.getLogger("memflush_jupyter")


def findings(parts: AgentParts, cut: Cut, summary: str, *, beside: str = "") -> dict[str, Any] | None:
    """The findings as they are kept, or ``None`` where the look itself failed: a compaction never fails for its audit (P2)."""
    try:
        return audit(cut.removed, summary=summary, memory=_memory(parts), tail=cut.kept, beside=beside).as_data()
    except Exception:  # noqa: BLE001 - the log has it whole, and the record says that nothing was audited
        _log.exception("The audit of a compaction failed")
        return None


def _memory(parts: AgentParts) -> str:
    """What the memory files say, without the comments that name their sources: an id is no number of the conversation."""
    folder = parts.memory
    if folder is None:
        return ""
    texts: list[str] = []
    left = LONGEST_MEMORY
    for name in sorted(folder.names(), reverse=True):
        try:
            text = "\n".join(daily.note_text(line) or line for line in folder.read(name)[-left:].splitlines())
        except MemflushError:  # one that may not be read holds nothing
            continue
        texts.append(text)
        left -= len(text)
        if left <= 0:
            break
    return "\n".join(texts)


def audits(store: TraceStore, trace: str) -> list[dict[str, Any]]:
    """What the compactions of a trace say of themselves, in their order: ``cycle``, ``source``, ``reason``, ``removed``, ``uncovered``, ``audit``."""
    return [event.data for event in store.events(trace, event=EVENT)]


def last_score(store: TraceStore, trace: str) -> float | None:
    """The score of the latest compaction, 0-1; ``None``: there was none, or it was not audited."""
    latest = store.last_event(trace, EVENT)
    found = latest.data.get("audit") if latest is not None else None
    return float(found["score"]) if found else None
