"""Server-sent events, decoded from bytes as they arrive.

The SDK's own decoder hands out events only; whether a server is alive is told by its bytes, comment lines (``:`` pings that
llama.cpp sends while it reads a long prompt) included. So bytes are watched first and decoded here.
"""

from __future__ import annotations

from typing import NamedTuple


class ServerEvent(NamedTuple):
    """One event: its name (empty when the server gave none) and its data, undecoded."""

    name: str
    data: str


class EventDecoder:
    """Turns chunks of bytes, cut anywhere, into whole events. Bytes that are not UTF-8 become U+FFFD."""

    def __init__(self) -> None:
        self._rest = b""
        self._name = ""
        self._data: list[str] = []

    def feed(self, chunk: bytes) -> list[ServerEvent]:
        """Take the next bytes; return the events they complete."""
        lines = (self._rest + chunk).replace(b"\r\n", b"\n").split(b"\n")
        self._rest = lines.pop()
        events = (self._line(line.rstrip(b"\r").decode("utf-8", "replace")) for line in lines)
        return [event for event in events if event is not None]

    def _line(self, line: str) -> ServerEvent | None:
        if not line:
            return self._dispatch()
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "event":
            self._name = value
        elif field == "data":
            self._data.append(value)
        return None

    def _dispatch(self) -> ServerEvent | None:
        name, data = self._name, "\n".join(self._data)
        self._name, self._data = "", []
        return ServerEvent(name, data) if data else None
