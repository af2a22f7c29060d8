"""``NO_REPLY`` and ``[SILENT]``: how a model says that it has nothing to say (C6).

Models write the word with punctuation, quotes, bold or a code fence around it, in any case, and a stream cuts it anywhere.
``SilenceGate`` holds text back for as long as it could still turn out to be that word and nothing else, so that no fragment
such as ``NO`` is ever shown.
"""

from __future__ import annotations

import re

_FENCE = re.compile(r"^\s*(?:`{3,}|~{3,})[a-z]*[ \t\r]*(?:\n|$)", re.IGNORECASE)
_OPENING = re.compile(r"^\s*(?:`{1,}|~{1,})[a-z]*$", re.IGNORECASE)
_EDGE = "\"'`*~_.!?,;:()<>{}#-–—|“”„‘’«»「」。！？， \t\r\n\u00a0\u200b\ufeff"
# In any case where underscore or brackets tell the token from prose; without them in capitals only, since "No reply." is an answer.
_TOKEN = re.compile(r"(?:\[?(?i:no_reply)\]?|NO[- ]?REPLY|\[\s*(?i:silent)\s*\]|SILENT)")
_NOT_LETTERS = re.compile(r"[\W_]+")
_LIMIT = 64
"""Longest silent message in characters: decoration is short, and prose must not be held back for long."""


def is_silent(text: str) -> bool:
    """Tell whether ``text`` is the silence word and nothing else. Empty text is not silence: it is an empty reply (C13)."""
    return len(text) <= _LIMIT and _TOKEN.fullmatch(_FENCE.sub("", text).strip(_EDGE)) is not None


def could_become_silent(text: str) -> bool:
    """Tell whether ``text`` can still grow into the silence word and nothing else."""
    if len(text) > _LIMIT:
        return False
    letters = _NOT_LETTERS.sub("", _FENCE.sub("", text)).lower()
    return _OPENING.match(text) is not None or "noreply".startswith(letters) or "silent".startswith(letters)


class SilenceGate:
    """Passes streamed text on once it is sure not to be silence."""

    def __init__(self) -> None:
        self._held = ""
        self._open = False

    def feed(self, delta: str) -> str:
        """Take the next delta; return what may be shown now, possibly nothing."""
        if self._open:
            return delta
        self._held += delta
        return "" if could_become_silent(self._held) else self._release()

    def finish(self) -> str:
        """End the text; return what was held back, unless it was silence."""
        if self._open or is_silent(self._held):
            self._held = ""
            return ""
        return self._release()

    def _release(self) -> str:
        text, self._held, self._open = self._held, "", True
        return text
