"""The cognition log: what the machinery did to a trace and why, readable by people and by dreams."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

QUERY: Final = "query"
"""A search or recall: its question, and what it put before the model."""
EVALUATION: Final = "evaluation"
"""A verdict on injected knowledge."""
EXTRACTION: Final = "extraction"
"""Objective knowledge taken out of a trace."""
REFLECTION: Final = "reflection"
"""What a trace's new messages mean for this identity (dreams only)."""
FLUSH: Final = "flush"
"""A flush, or the decision not to flush: outcome, reason, notes, file (B, C15)."""
COMPACTION: Final = "compaction"
"""A compaction: source, sizes, what was removed, and the audit's findings."""
DREAM: Final = "dream"
"""A dream that read this trace."""

EVENTS: Final = (QUERY, EVALUATION, EXTRACTION, REFLECTION, FLUSH, COMPACTION, DREAM)


@dataclass(frozen=True, slots=True)
class CognitionEvent:
    """One entry. ``event`` is one of ``EVENTS`` or a later addition; ``trace`` is ``None`` for what concerns no single trace."""

    id: int
    trace: str | None
    event: str
    data: dict[str, Any] = field(default_factory=dict)
    created_at: datetime | None = None


def to_json(events: Iterable[CognitionEvent]) -> str:
    """The text of ``cognition_log.json``: a list of events, oldest first, times in ISO 8601."""
    entries = [asdict(event) | {"created_at": event.created_at.isoformat() if event.created_at else None} for event in events]
    return json.dumps(entries, ensure_ascii=False, indent=2) + "\n"
