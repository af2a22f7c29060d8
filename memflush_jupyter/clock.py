"""Where "now" comes from, so that a declared clock can make a notebook's outputs the same on any day (P9)."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from typing import Protocol
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from memflush_jupyter.errors import ConfigError


class Clock(Protocol):
    """Tells the time of day in the person's time zone."""

    def now(self) -> datetime:
        """Return the present moment as an aware datetime in the configured time zone (C1)."""
        ...


def resolve_timezone(name: str | None) -> tzinfo | None:
    """Turn an IANA name into a zone; ``None`` or an empty name means the machine's own zone.

    Raises:
        ConfigError: the name is not known on this machine.
    """
    if not name:
        return None
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        message = f"The time zone {name!r} is not known here. Use an IANA name such as 'Europe/Berlin' or 'UTC'."
        raise ConfigError(message) from error


class SystemClock:
    """The machine's clock, read in ``timezone`` (an IANA name; ``None``: the machine's zone, also after it changes)."""

    def __init__(self, timezone: str | None = None) -> None:
        self._zone = resolve_timezone(timezone)

    def now(self) -> datetime:
        """Return the present moment, aware."""
        utc = datetime.now(UTC)
        return utc.astimezone(self._zone)


class FixedClock:
    """A declared clock: always the same moment, whatever the machine says."""

    def __init__(self, moment: datetime | str, timezone: str | None = None) -> None:
        zone = resolve_timezone(timezone) or UTC
        if isinstance(moment, str):
            try:
                moment = datetime.fromisoformat(moment)
            except ValueError as error:
                text = f"The declared clock {moment!r} is not a date and time; write it like '2026-01-15T09:00'."
                raise ConfigError(text) from error
        self._moment = moment.replace(tzinfo=zone) if moment.tzinfo is None else moment.astimezone(zone)

    def now(self) -> datetime:
        """Return the declared moment, aware."""
        return self._moment


def make_clock(declared: str | None, timezone: str | None) -> Clock:
    """Return the declared clock when one is given, otherwise the machine's."""
    return FixedClock(declared, timezone) if declared else SystemClock(timezone)
