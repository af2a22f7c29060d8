"""Rows to plain data and back: JSON, times, and the dataclasses of ``models``."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timezone, tzinfo
from typing import TYPE_CHECKING, Any

from memflush_jupyter.trace.clean import storable
from memflush_jupyter.trace.models import Message, Note, Trace, Usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import CursorResult, Row

    from memflush_jupyter.trace.models import Block


def dump(value: Any) -> str:
    """Compact JSON, readable for people who open the file; text that UTF-8 cannot hold is replaced."""
    return storable(json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str))


def stamp(moment: datetime) -> str:
    """A moment as UTC text of fixed width, so that texts sort as times."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def moment(text: str | None, zone: tzinfo | None) -> datetime | None:
    """A stored time in the person's zone. A bare offset is what the machine's own zone has just now: then its rules are asked for that day."""
    if text is None:
        return None
    bare_offset = isinstance(zone, timezone) and zone is not UTC
    return datetime.fromisoformat(text).astimezone(None if bare_offset else zone)


def key(inserted: CursorResult[Any]) -> int:
    """The primary key that an insert was given."""
    made = inserted.inserted_primary_key
    return 0 if made is None else int(made[0])


def usage_text(usage: Usage | None) -> str | None:
    """Measured usage as JSON."""
    if usage is None:
        return None
    return dump([usage.input, usage.cache_read, usage.cache_write, usage.output])


def trace(row: Row[Any], zone: tzinfo | None) -> Trace:
    """One row of ``traces``."""
    values = row._asdict()
    values.pop("number")
    for name in ("created_at", "updated_at", "memory_flush_at"):
        values[name] = moment(values[name], zone)
    values["meta"] = json.loads(values["meta"])
    return Trace(**values)


def messages(rows: Sequence[Row[Any]], zone: tzinfo | None) -> list[Message]:
    """Rows of ``messages``. All contents are parsed at once: one by one that is most of the time a long path takes to load."""
    contents = json.loads(f"[{','.join([row.content for row in rows])}]")
    return [_message(row, content, zone) for row, content in zip(rows, contents, strict=True)]


def message(row: Row[Any], zone: tzinfo | None) -> Message:
    """One row of ``messages``."""
    return _message(row, json.loads(row.content), zone)


def _message(row: Row[Any], content: list[Block], zone: tzinfo | None) -> Message:
    usage = Usage(*json.loads(row.usage)) if row.usage else None
    return Message(
        trace=row.trace,
        sequence=row.sequence,
        parent=row.parent,
        role=row.role,
        kind=row.kind,
        content=content,
        branch=row.branch,
        tokens=row.tokens,
        usage=usage,
        stop_reason=row.stop_reason,
        cell_id=row.cell_id,
        created_at=moment(row.created_at, zone),
        meta=json.loads(row.meta) if row.meta != "{}" else {},
    )


def note(row: Row[Any], zone: tzinfo | None) -> Note:
    """One row of ``notes``."""
    return Note(
        id=row.id,
        file=row.file,
        text=row.text,
        trace=row.trace,
        sequence=row.sequence,
        origin=row.origin,
        state=row.state,
        floor=row.floor,
        signals=row.signals,
        queries=json.loads(row.queries),
        created_at=moment(row.created_at, zone),
    )
