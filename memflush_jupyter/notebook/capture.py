"""Capturing what agent code prints, shows and returns, bounded in memory and without odd effects afterwards.

Own streams rather than IPython's ``capture_output``: a logging handler or thread that keeps our ``sys.stderr`` must not
print into the void once the call is over, and output of subprocesses (file descriptors 1 and 2) belongs to the call too.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
import tempfile
from collections import deque
from collections.abc import Iterator
from typing import Any, Self, TextIO

from memflush_jupyter.notebook.failure import is_cell_file

Bundle = dict[str, Any]

METADATA = "metadata"
"""Key beside the mime types of a display under which its metadata (an image's size) travels."""

FOLDED = "memflush_folded"
"""In the metadata of a table that was the code's value: it belongs to the call's own output."""
LINE = "memflush_line"
"""In the metadata of a display: the line of the code that showed it, from 1."""

LIMIT = 2_000_000
"""Characters of printed text that are kept: half from the beginning, half from the end."""

_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")


class BoundedText:
    """Text that keeps its head and tail and counts what it leaves out."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._half = max(limit // 2, 1)
        self._head = io.StringIO()
        self._room = self._half
        self._tail: deque[str] = deque()
        self._tail_size = 0
        self.omitted = 0

    def write(self, text: str) -> None:
        """Add text."""
        if self._room:
            taken = text[: self._room]
            self._head.write(taken)
            self._room -= len(taken)
            text = text[len(taken) :]
        if not text:
            return
        if len(text) > self._half:
            self.omitted += len(text) - self._half
            text = text[-self._half :]
        self._tail.append(text)
        self._tail_size += len(text)
        while self._tail_size > self._half:
            first = self._tail.popleft()
            excess = min(self._tail_size - self._half, len(first))
            self.omitted += excess
            self._tail_size -= excess
            if first[excess:]:
                self._tail.appendleft(first[excess:])

    def clear(self) -> None:
        """Forget everything, as ``clear_output`` does."""
        self.__init__(self._half * 2)  # type: ignore[misc]

    def value(self) -> str:
        """The text, with a sentence where something was left out."""
        middle = f"\n[… {self.omitted:,} characters of output were not kept …]\n" if self.omitted else ""
        return sendable(self._head.getvalue() + middle + "".join(self._tail))


def sendable(text: str) -> str:
    """Text that a front end can be sent: halves of a surrogate pair are joined, and what is only a half becomes U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def tidy(text: str) -> str:
    """Text as a terminal would end up showing it: no colour codes, no overwritten progress bars."""
    text = (_ANSI.sub("", text) if "\x1b" in text else text).replace("\r\n", "\n")
    # Line by line: a pattern over the whole would look again at a long line from each of its characters.
    return "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n")) if "\r" in text else text


class _Stream(io.TextIOBase):
    """Stands in for ``sys.stdout`` or ``sys.stderr``: keeps text while the call runs, afterwards passes it on."""

    def __init__(self, text: BoundedText, after: TextIO, descriptor: int) -> None:
        self._text: BoundedText | None = text
        self._after = after
        self._descriptor = descriptor

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return "utf-8"

    @property
    def buffer(self) -> _Bytes:
        return _Bytes(self)

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._descriptor

    def write(self, text: str) -> int:
        if self._text is None:
            return self._after.write(text)
        self._text.write(text)
        return len(text)

    def flush(self) -> None:
        if self._text is None:
            self._after.flush()

    def release(self) -> None:
        self._text = None


class _Bytes(io.RawIOBase):
    def __init__(self, stream: _Stream) -> None:
        self._stream = stream

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._stream.write(bytes(data).decode("utf-8", "replace"))
        return len(data)


class Capture:
    """One call's outputs. Use as a context manager; nothing else may print meanwhile.

    ``text`` holds prints, shown values and displays in the order they came; ``displays`` the rich ones for the person.
    """

    def __init__(self, ip: Any, *, limit: int = LIMIT) -> None:
        self._ip = ip
        self.text = BoundedText(limit)
        self.displays: list[Bundle] = []
        self._ids: dict[str, int] = {}
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Self:
        saved = (sys.stdout, sys.stderr, sys.displayhook, self._ip.display_pub)
        with contextlib.suppress(Exception):
            saved[0].flush()
            saved[1].flush()
        self._stack.enter_context(_descriptors(self.text))
        out, err = _Stream(self.text, saved[0], 1), _Stream(self.text, saved[1], 2)
        sys.stdout, sys.stderr, sys.displayhook = out, err, self._show_value
        self._ip.display_pub = _Publisher(self, saved[3])
        self._stack.callback(self._restore, saved, out, err)
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def _restore(self, saved: tuple[Any, Any, Any, Any], out: _Stream, err: _Stream) -> None:
        out.release()
        err.release()
        sys.stdout, sys.stderr, sys.displayhook, self._ip.display_pub = saved

    def _show_value(self, value: Any = None) -> None:
        if value is None:
            return
        data, metadata = self._ip.display_formatter.format(value)
        if data:
            self.add(data, metadata, value=True)

    def add(self, data: Bundle, metadata: Bundle | None = None, *, display_id: str | None = None, update: bool = False, value: bool = False) -> None:
        """Keep one display. A value that is more than text or a table, and every explicit display of more than text, is shown to the person."""
        data = {kind: sendable(shown) if isinstance(shown, str) else shown for kind, shown in data.items()}
        plain = {"text/plain"} | ({"text/html", "text/latex", "text/markdown"} if value else set())
        text = data.get("text/plain", "")
        if text and not update:
            self.text.write(text if text.endswith("\n") else f"{text}\n")
        if set(data) <= plain and not (value and "text/html" in data):
            return
        about: Bundle = {**(metadata or {})}
        if set(data) <= plain:
            about[FOLDED] = True
        elif line := _line_of_cell():
            about[LINE] = line
        bundle = {**data, METADATA: about} if about else dict(data)
        if display_id is not None and display_id in self._ids:
            self.displays[self._ids[display_id]] = bundle
            return
        if display_id is not None:
            self._ids[display_id] = len(self.displays)
        self.displays.append(bundle)

    def clear(self) -> None:
        """``clear_output()`` in agent code."""
        self.text.clear()
        self.displays.clear()
        self._ids.clear()


def _line_of_cell() -> int:
    """The line of the running cell that the present call comes from; 0 when none does (figures shown after the code ran)."""
    frame = sys._getframe(1)  # noqa: SLF001 - the documented way to the caller's frame
    found = 0
    while frame is not None:
        if is_cell_file(frame.f_code.co_filename):
            found = frame.f_lineno
            if frame.f_code.co_name.startswith("<"):
                break
        frame = frame.f_back  # type: ignore[assignment]
    return found


class _Publisher:
    """Stands in for the shell's display publisher."""

    def __init__(self, capture: Capture, real: Any) -> None:
        self._capture = capture
        self._real = real

    def publish(self, data: Bundle, metadata: Bundle | None = None, *, transient: Bundle | None = None, update: bool = False, **_: Any) -> None:
        self._capture.add(data, metadata, display_id=(transient or {}).get("display_id"), update=update)

    def clear_output(self, wait: bool = False) -> None:  # noqa: ARG002 - the publisher's signature
        self._capture.clear()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


@contextlib.contextmanager
def _descriptors(text: BoundedText) -> Iterator[None]:
    """Send file descriptors 1 and 2 to a temporary file and add what arrived there; without them (no console), do nothing."""
    try:
        saved = [os.dup(1), os.dup(2)]
    except OSError:
        yield
        return
    with tempfile.TemporaryFile() as sink:
        os.dup2(sink.fileno(), 1)
        os.dup2(sink.fileno(), 2)
        try:
            yield
        finally:
            for descriptor, number in zip(saved, (1, 2), strict=True):
                os.dup2(descriptor, number)
                os.close(descriptor)
            _collect(sink, text)


def _collect(sink: Any, text: BoundedText) -> None:
    size = sink.seek(0, os.SEEK_END)
    sink.seek(0)
    while chunk := sink.read(1 << 20):
        if size > 4 * LIMIT and LIMIT < sink.tell() < size - LIMIT:
            skip_to = size - LIMIT
            text.omitted += skip_to - sink.tell()
            sink.seek(skip_to)
            continue
        text.write(chunk.decode("utf-8", "replace"))
