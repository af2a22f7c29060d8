"""Redaction of text that arrives in pieces: a secret that is split over two deltas never leaks, not even its first half.

What may still become a secret is held back: the last unbroken run of printable ASCII, an open quoted value behind a
secret's name, an open private key block, and the beginning of a secret environment value. Everything else goes out at
once, so that prose streams word by word. What was sent stays as context for what follows ("password is" … value).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memflush_jupyter.memory.redaction import Redactor

_CONTEXT = 600
_LONGEST_RUN = 16_384
_OPEN_QUOTE = re.compile(
    r"(?:pass|pwd|secret|credential|token|key|connection|cookie)[\w.-]{0,40}\\?[\"'\]]{0,2}\s{0,4}(?:=>|:=|[:=])\s{0,4}[rbuf]?\\?[\"'`][^\"'`\n]{0,400}$",
    re.IGNORECASE,
)
_OPEN_BLOCK = re.compile(r"-----BEGIN [A-Z0-9 ]{0,60}(?:-{0,5})(?![\s\S]*-----END )|PuTTY-User-Key-File-\d:(?![\s\S]*Private-MAC: *[0-9a-f]+\s)")
_TAIL_RUN = re.compile(r"[\x21-\x7e]+$")


class StreamRedactor:
    """Redact a stream. Feed deltas in order, then call ``finish`` once; the joined returns equal the redacted whole."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._context = ""
        self._held = ""
        self._loose = [value for value in redactor.values if not value.isascii() or any(c.isspace() for c in value)]

    def feed(self, delta: str) -> str:
        """Take the next piece; return what is now certain, redacted (possibly nothing)."""
        self._held += delta
        text = self._context + self._held
        return self._release(text, self._safe_end(text))

    def finish(self) -> str:
        """Return the rest. The redactor can be used for a new stream afterwards."""
        text = self._context + self._held
        out = self._release(text, len(text))
        self._context = self._held = ""
        return out

    def _safe_end(self, text: str) -> int:
        start = len(self._context)
        end = self._run_start(text)
        tail = text[max(0, len(text) - 4096) :]
        offset = len(text) - len(tail)
        if match := _OPEN_QUOTE.search(tail):
            end = min(end, offset + match.start())
        if "-----BEGIN" in text or "PuTTY" in text:
            for match in _OPEN_BLOCK.finditer(text):
                end = min(end, match.start())
        for value in self._loose:
            end = min(end, _prefix_start(text, value))
        return max(start, end)

    @staticmethod
    def _run_start(text: str) -> int:
        match = _TAIL_RUN.search(text, max(0, len(text) - _LONGEST_RUN))
        return match.start() if match else len(text)

    def _release(self, text: str, end: int) -> str:
        start = len(self._context)
        if end <= start:
            return ""
        pieces: list[str] = []
        position = start
        for span in self._redactor.find(text):
            if span.end <= start:
                continue
            if span.start >= end:
                break
            if span.end > end:
                end = max(span.start, position)
                break
            pieces += (text[position : max(span.start, position)], f"[redacted: {span.kind}]")
            position = span.end
        pieces.append(text[position:end])
        self._held = text[end:]
        self._context = _context(text[:end])
        return "".join(pieces)


def _context(text: str) -> str:
    """Keep the end of what was sent, from a blank on, so that no word is seen by halves."""
    if len(text) <= _CONTEXT:
        return text
    tail = text[-_CONTEXT:]
    cut = re.search(r"\s", tail)
    return tail[cut.end() :] if cut else tail


def _prefix_start(text: str, value: str) -> int:
    """Return where a beginning of ``value`` stands at the end of ``text`` (its length when there is none)."""
    for length in range(min(len(value) - 1, len(text)), 0, -1):
        if text.endswith(value[:length]):
            return len(text) - length
    return len(text)
