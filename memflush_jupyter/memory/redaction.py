"""Secrets never reach disk or the screen (P7): text in, the same text with every secret replaced by its kind.

Four sources, most certain first: the values of key-like environment variables (named after the variable), private key
blocks, keys that carry a mark of their own (with the specific detectors of ``detect-secrets``, loaded only when one of
their marks occurs), and values that stand where a secret stands (``password = …``, bearer headers, passwords in URLs).
Entropy alone is never a reason: hashes, identifiers and encoded images are ordinary data here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memflush_jupyter.memory import redaction_patterns as known
from memflush_jupyter.memory.redaction_assigned import assigned, spoken
from memflush_jupyter.memory.redaction_detectors import detected
from memflush_jupyter.memory.redaction_environ import secret_values

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from memflush_jupyter.memory.redaction_stream import StreamRedactor

_SHORTEST = 6
_JOINED = 16
_HEAD = 12
_CUT_FROM = 20
"""Values from this length on are known by their first ``_HEAD`` characters too, where the text was cut for display (``…``)."""


@dataclass(frozen=True, slots=True)
class Span:
    """Where a secret stands: ``text[start:end]``, and what it is."""

    start: int
    end: int
    kind: str


class Redactor:
    """Replace every secret in a text by ``[redacted: KIND]``.

    Args:
        environ: the environment whose key-like variables hold secrets (``os.environ``, or a test's own mapping).
            It is read now and at each :meth:`renew`; what was a secret once stays one.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self.values: dict[str, str] = {}
        self._heads: dict[str, str] = {}
        self._pattern: re.Pattern[str] | None = None
        self.renew()

    def renew(self) -> None:
        """Read the environment again: a key that was set in a cell is a secret from then on."""
        found = secret_values(self._environ)
        if found.keys() <= self.values.keys():
            return
        values = {**found, **self.values}
        forms = sorted(values, key=len, reverse=True)
        cut = sorted({form[:_HEAD] for form in forms if len(form) >= _CUT_FROM})
        shortened = [rf"{re.escape(head)}\S*?(?=…|\.\.\.)" for head in cut]
        # Both assigned at once at the end: another thread may be redacting.
        pattern = re.compile("|".join([*map(_bounded, forms), *shortened]))
        self.values, self._heads, self._pattern = values, {form[:_HEAD]: values[form] for form in forms}, pattern

    def __call__(self, text: str) -> str:
        """Return ``text`` without its secrets. Redacting twice changes nothing more."""
        spans = self.find(text)
        if not spans:
            return text
        pieces: list[str] = []
        position = 0
        for span in spans:
            pieces += (text[position : span.start], f"[redacted: {span.kind}]")
            position = span.end
        pieces.append(text[position:])
        return "".join(pieces)

    def find(self, text: str) -> list[Span]:
        """Return where the secrets are, in order and without overlap."""
        if len(text) < _SHORTEST:
            return []
        lowered = _lowered(text)
        spans = [
            *self._environment(text),
            *_private_keys(text),
            *_marked(text),
            *_surrounded(text, lowered),
            *(Span(*found) for found in assigned(text, lowered)),
            *(Span(*found) for found in spoken(text, lowered)),
            *(Span(*found) for found in detected(text, lowered)),
        ]
        return _merge(spans)

    def has_secret(self, text: str) -> bool:
        """Tell whether anything in ``text`` would be redacted, or was already."""
        return "[redacted: " in text or bool(self.find(text))

    def stream(self) -> StreamRedactor:
        """Return a redactor for text that arrives in pieces."""
        from memflush_jupyter.memory.redaction_stream import StreamRedactor

        return StreamRedactor(self)

    def _environment(self, text: str) -> Iterator[Span]:
        if self._pattern is not None and any(head in text for head in self._heads):
            for match in self._pattern.finditer(text):
                found = match.group()
                yield Span(match.start(), match.end(), self.values.get(found) or self._heads[found[:_HEAD]])


def _bounded(form: str) -> str:
    """Keep a short plain value from matching inside a longer word."""
    escaped = re.escape(form)
    return rf"(?<![A-Za-z0-9]){escaped}(?![A-Za-z0-9])" if form.isalnum() and len(form) < _JOINED else escaped


def _lowered(text: str) -> str:
    """Lower the case without moving any character: a few letters of other alphabets have longer small forms."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else re.sub(r"[A-Z]+", lambda match: match.group().lower(), text)


def _private_keys(text: str) -> Iterator[Span]:
    if "-----BEGIN " not in text and "PuTTY-User-Key-File" not in text:
        return
    closed = set()
    for pattern in (known.PEM, known.PUTTY):
        for match in pattern.finditer(text):
            closed.add(match.start())
            yield Span(match.start(), match.end(), "private key")
    for match in known.PEM_OPEN.finditer(text):
        if match.start() not in closed:
            yield Span(match.start(), match.end(), "private key")


def _marked(text: str) -> Iterator[Span]:
    for rule in known.KEYS:
        for hint in rule.hints:
            if hint not in text:
                continue
            if not rule.anchored:
                yield from (_span(match, rule.kind) for match in rule.pattern.finditer(text))
                break
            position = text.find(hint)
            while position >= 0:
                match = rule.pattern.match(text, position)
                if match:
                    yield _span(match, rule.kind)
                position = text.find(hint, match.end() if match else position + 1)


def _surrounded(text: str, lowered: str) -> Iterator[Span]:
    for rule in known.SURROUNDED:
        if any(hint in lowered for hint in rule.hints):
            yield from (_span(match, rule.kind) for match in rule.pattern.finditer(text))


def _span(match: re.Match[str], kind: str) -> Span:
    group: str | int = "s" if "s" in match.re.groupindex else 0
    return Span(match.start(group), match.end(group), kind)


def _merge(spans: list[Span]) -> list[Span]:
    """Join overlapping spans; the kind is that of the most certain source."""
    merged: list[tuple[int, Span]] = []
    for rank, span in sorted(enumerate(spans), key=lambda pair: (pair[1].start, pair[0])):
        if merged and span.start < merged[-1][1].end:
            best_rank, last = merged[-1]
            kind = last.kind if best_rank <= rank else span.kind
            merged[-1] = (min(best_rank, rank), Span(last.start, max(last.end, span.end), kind))
        else:
            merged.append((rank, span))
    return [span for _, span in merged]
