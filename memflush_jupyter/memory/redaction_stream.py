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
_LONGEST_BLOCK = 20_000
_RUN_CHARACTERS = frozenset(map(chr, range(0x21, 0x7F)))
_OPEN_QUOTE = re.compile(
    r"(?:pass|pwd|secret|credential|token|key|connection)[\w.-]{0,40}\\?[\"'\]]{0,2}\s{0,4}(?:=>|:=|[:=])\s{0,4}[rbuf]{0,2}\\?[\"'`][^\"'`\n]{0,400}$"
    r"|cookie[\"']?\s*:[^\n]*$",
    re.IGNORECASE,
)
_BLOCK_END = re.compile(r"-----END [^-\n]{0,60}-----|Private-MAC: *[0-9a-fA-F]+\s")


class StreamRedactor:
    """Redact a stream. Feed deltas in order, then call ``finish`` once; nothing secret is in what they return."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._context = ""
        self._held = ""
        self._loose = [value for value in redactor.values if not _RUN_CHARACTERS.issuperset(value)]

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
        end = _run_start(text, start)
        if end <= start:
            return start
        line = max(text.rfind("\n") + 1, len(text) - _CONTEXT)
        if match := _OPEN_QUOTE.search(text, line):
            end = min(end, match.start())
        end = min([end, *_open_blocks(text), *(_prefix_start(text, value) for value in self._loose)])
        return max(start, end)

    def _release(self, text: str, end: int) -> str:
        start = len(self._context)
        if end <= start:
            return ""
        pieces: list[str] = []
        position = start
        for span in self._redactor.find(text):
            if span.end <= start:
                continue
            if span.end > end:
                end = min(end, max(span.start, position))
                break
            pieces += (text[position : max(span.start, position)], f"[redacted: {span.kind}]")
            position = span.end
        pieces.append(text[position:end])
        self._held = text[end:]
        self._context = _context(text[:end])
        return "".join(pieces)


def _run_start(text: str, start: int) -> int:
    """Return where the last unbroken run begins; of a run that is far too long for a key, its earlier part is let go."""
    position = len(text)
    while position > start and text[position - 1] in _RUN_CHARACTERS:
        position -= 1
    return len(text) - _LONGEST_RUN if len(text) - position > 2 * _LONGEST_RUN else position


def _open_blocks(text: str) -> list[int]:
    """Return where private key blocks begin that have not ended yet."""
    if "-----BEGIN " not in text and "PuTTY-User" not in text:
        return []
    found = []
    for match in re.finditer(r"-----BEGIN |PuTTY-User", text):
        header = text[match.end() : match.end() + 60].split("-----")
        public = match.group().startswith("-") and len(header) > 1 and "PRIVATE KEY" not in header[0]
        if not public and not _BLOCK_END.search(text, match.end()) and len(text) - match.start() < _LONGEST_BLOCK:
            found.append(match.start())
    return found


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
