"""Showing a turn where it runs: live with updates in place, headless once and final, or as plain text in a terminal.

All of them show the same segments in the same order, so that a notebook saved by a person equals the one a validation makes (P9).
"""

from __future__ import annotations

import json
import sys
import time
import uuid
from collections.abc import Callable
from typing import Any, Literal, Protocol

from memflush_jupyter.events import Event, TextDelta, TextDiscarded, TextDone
from memflush_jupyter.notebook.capture import METADATA
from memflush_jupyter.notebook.display import gauge, terminal, tool_calls, tracebacks
from memflush_jupyter.notebook.display.transcript import Bundle, Segment, Transcript
from memflush_jupyter.notebook.headless import Front

REFRESH_S = 0.1
"""Seconds between two updates of streamed text, at least."""

Format = Literal["markdown", "text", "json"]
EMPTY: Bundle = {"text/plain": ""}


class View(Protocol):
    """Shows one turn."""

    transcript: Transcript

    def handle(self, event: Event) -> None:
        """Show an event."""
        ...

    def tick(self) -> None:
        """Called about ten times a second."""
        ...

    def ask(self, name: str, given: dict[str, Any]) -> None:
        """Show the call that the person is about to decide on."""
        ...

    def finish(self) -> None:
        """The turn is over: bring everything into its final form."""
        ...


class LiveView:
    """Outputs updated by ``display_id``. The place after the last segment holds the gauge, and becomes the next segment."""

    def __init__(self, publisher: Any, transcript: Transcript, *, clock: Callable[[], float] = time.monotonic) -> None:
        # The publisher as it is now: while agent code is captured the shell has another one.
        self._publisher = publisher
        self.transcript = transcript
        self._clock = clock
        self._ids: list[str] = []
        self._stale = True
        self._drawn_at = float("-inf")
        self._status: tuple[int, Bundle] = (-1, EMPTY)

    def handle(self, event: Event) -> None:
        """Take the event in; draw at once, streamed text at most ten times a second."""
        self.transcript.add(event)
        self._stale = True
        if not isinstance(event, TextDelta) or self._clock() - self._drawn_at >= REFRESH_S:
            self._draw()

    def tick(self) -> None:
        """Draw what a pause in the stream left undrawn."""
        if self._stale and self._clock() - self._drawn_at >= REFRESH_S:
            self._draw()

    def ask(self, name: str, given: dict[str, Any]) -> None:
        """Open the waiting call."""
        self.transcript.ask(name, given)
        self._draw()

    def finish(self) -> None:
        """Settle; when an output was begun for something that is not in the final form, write all of them anew."""
        self.transcript.end()
        self._draw(gauge_slot=False)
        if len(self._ids) > len(self.transcript.segments):
            self._publisher.clear_output(wait=bool(self.transcript.segments))
            self._ids.clear()
            self.transcript.changed.update(range(len(self.transcript.segments)))
            self._draw(gauge_slot=False)

    def _draw(self, *, gauge_slot: bool = True) -> None:
        segments = self.transcript.segments
        for place in self.transcript.take_changes():
            self._put(place, segments[place].bundle)
        end = len(segments)
        if gauge_slot:
            status = self.transcript.status()
            if self._status != (end, status):
                self._put(end, status)
                self._status = (end, status)
            end += 1
        for place in range(end, len(self._ids)):
            self._put(place, EMPTY)
        self._stale = False
        self._drawn_at = self._clock()

    def _put(self, place: int, bundle: Bundle) -> None:
        update = place < len(self._ids)
        if not update:
            self._ids.append(f"memflush-{uuid.uuid4().hex}")
        publish(self._publisher, bundle, display_id=self._ids[place], update=update)


class HeadlessView:
    """Each output exactly once, in its final form, as soon as it and all before it are final."""

    def __init__(self, publisher: Any, transcript: Transcript) -> None:
        self._publisher = publisher
        self.transcript = transcript
        self._published = 0

    def handle(self, event: Event) -> None:
        """Take the event in and publish what is final."""
        self.transcript.add(event)
        self._publish()

    def tick(self) -> None:
        """Nothing moves here."""

    def ask(self, name: str, given: dict[str, Any]) -> None:
        """Nobody is asked here."""

    def finish(self) -> None:
        """Publish the rest."""
        self.transcript.end()
        self._publish()

    def _publish(self) -> None:
        while self._published < len(self.transcript.segments) and self.transcript.segments[self._published].final:
            publish(self._publisher, self.transcript.segments[self._published].bundle)
            self._published += 1


class TerminalView:
    """Text: the reply as it comes, one line for each other thing. ``draw`` turns finished paragraphs of markdown into what is printed."""

    def __init__(self, transcript: Transcript, write: Callable[[str], object] | None = None, draw: terminal.Draw | None = None) -> None:
        self.transcript = transcript
        self._draw = draw
        stream = sys.stdout
        self._write = write or stream.write
        self._flush = stream.flush if write is None else lambda: None
        self._printed: set[int] = set()
        self._streamed: dict[int, str] = {}
        self._held: dict[int, str] = {}

    def handle(self, event: Event) -> None:
        """Print it."""
        self.transcript.add(event)
        if isinstance(event, TextDelta):
            self._stream(event)
            return
        if isinstance(event, TextDone) and event.block in self._streamed:
            self._printed.update(id(segment) for segment in self.transcript.segments if segment.kind == "text")
            # What came last was held back until it was sure to hold no secret; a text that was changed is said whole.
            streamed = self._streamed[event.block]
            rest = event.text[len(streamed) :] if event.text.startswith(streamed) else f"\n\n{event.text}"
            self._say(f"{rest}\n\n" if self._draw is None else self._draw(self._held.pop(event.block, "") + rest))
        elif isinstance(event, TextDiscarded) and event.block in self._streamed:
            self._say(f"\n[not part of the answer: {event.reason}]\n")
        self._print_new()

    def tick(self) -> None:
        """Nothing to refresh."""

    def ask(self, name: str, given: dict[str, Any]) -> None:
        """Print what is to be decided."""
        shown = given.get("code") or json.dumps(given, ensure_ascii=False)
        self._say(f"\n{name}:\n{self.transcript.redact(str(shown))}\n")

    def finish(self) -> None:
        """Print the rest."""
        self.transcript.end()
        self._print_new()

    def _stream(self, event: TextDelta) -> None:
        self._streamed[event.block] = self._streamed.get(event.block, "") + event.text
        if self._draw is None:
            self._say(event.text)
            return
        held = self._held.get(event.block, "") + event.text
        end = terminal.complete_blocks(held)
        self._held[event.block] = held[end:]
        if held[:end].strip():
            self._say(f"{self._draw(held[:end])}\n")

    def _print_new(self) -> None:
        for segment in self.transcript.segments:
            if segment.final and id(segment) not in self._printed:
                self._printed.add(id(segment))
                self._say(f"{self._in_terminal(segment)}\n")

    def _in_terminal(self, segment: Segment) -> str:
        text = str(segment.bundle.get("text/plain", ""))
        if segment.kind == "text":
            return f"{text}\n" if self._draw is None else self._draw(text)
        failure = tracebacks.told(segment.text, str(segment.given.get("code", ""))) if segment.kind == "tool" and segment.name == "run_python" else None
        return text if failure is None or failure.last not in text.replace("…", "") else f"{text}\nError in code that the agent ran:\n{failure.text}"

    def _say(self, text: str) -> None:
        self._write(text)
        self._flush()


class ResultView:
    """``--format text`` and ``--format json``: nothing while the turn runs, then the answer once."""

    def __init__(self, publisher: Any, transcript: Transcript, form: Format) -> None:
        self._publisher = publisher
        self.transcript = transcript
        self._form = form

    def handle(self, event: Event) -> None:
        """Take the event in."""
        self.transcript.add(event)

    def tick(self) -> None:
        """Nothing to refresh."""

    def ask(self, name: str, given: dict[str, Any]) -> None:
        """Show what is to be decided: without it the question could not be answered."""
        publish(self._publisher, tool_calls.tool_call(name, given, "waiting for your approval", None, opened=True))

    def finish(self) -> None:
        """Publish the result."""
        self.transcript.end()
        if self._form == "text":
            publish(self._publisher, {"text/plain": self.transcript.answer})
        else:
            result = as_json(self.transcript)
            publish(self._publisher, {"application/json": result, "text/plain": json.dumps(result, indent=1, ensure_ascii=False, sort_keys=True)})


def as_json(transcript: Transcript) -> dict[str, Any]:
    """The turn as plain data."""
    segments = transcript.segments
    return {
        "answer": transcript.answer,
        "tools": [{"name": segment.name, "input": segment.given, "output": segment.text} for segment in segments if segment.kind == "tool"],
        "memory": [segment.text for segment in segments if segment.kind == "memory"],
        "context": gauge.describe(transcript.shown_budget) if transcript.shown_budget else "",
        "stop": transcript.finished.stop if transcript.finished else "",
    }


def make_view(ip: Any, front: Front, transcript: Transcript, form: Format = "markdown") -> View:
    """The view for where the session runs."""
    if form != "markdown":
        return ResultView(ip.display_pub, transcript, form)
    if front == "live":
        return LiveView(ip.display_pub, transcript)
    if front == "headless":
        return HeadlessView(ip.display_pub, transcript)
    return TerminalView(transcript, draw=terminal.rich_drawer())


def publish(publisher: Any, bundle: Bundle, *, display_id: str | None = None, update: bool = False) -> None:
    """Publish a bundle; its metadata travel beside the mime types under ``METADATA``."""
    data = {kind: value for kind, value in bundle.items() if kind != METADATA}
    transient = {"display_id": display_id} if display_id else {}
    publisher.publish(data=data, metadata=bundle.get(METADATA) or {}, transient=transient, update=update)


def show(ip: Any, bundle: Bundle) -> None:
    """Display one bundle now, as line magics do."""
    publish(ip.display_pub, bundle)
