"""The limits of what is written to memory: how long a note may be, and what is not worth a line (C4, C5, C14)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from memflush_jupyter.memory import sentences
from memflush_jupyter.memory.similarity import covered, nothing_new, tokens

__all__ = ["MAX_NOTES", "NOTE_LIMIT", "clean_notes", "covered", "nothing_new", "split_note"]

NOTE_LIMIT = 500
"""Characters a note may have (C4)."""

MAX_NOTES = 20
"""Notes a flush may write (C4)."""

_CLAUSE_END = re.compile(r"[;；，、:：]|,(?=\s)|\s[-–—](?=\s)")
_BLANK = re.compile(r"\s+")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_BULLET = re.compile(r"^\s*(?:[-*+•]\s+|\d{1,3}[.)]\s+)")
_NEW_BULLET = re.compile(r"\n(?=[ \t]*(?:[-*+•]\s+|\d{1,3}[.)]\s+))")
_EMPTY = re.compile(r"[\W_]*")


def split_note(text: str, limit: int = NOTE_LIMIT) -> list[str]:
    """Split a note into pieces of at most ``limit`` characters: at sentences, else at clauses, else between words.

    Nothing is lost and no word is cut; only an unbroken run longer than ``limit`` is divided, for there is no other way.
    """
    text = text.strip()
    if len(text) <= limit:
        return [text] if text else []
    parts = [piece for sentence in sentences.split(text) for piece in _fitting(sentence, limit)]
    return _packed(parts, limit)


def clean_notes(notes: Iterable[str], *, prompt_sentences: Iterable[str] = ()) -> list[str]:
    """Return what a model's notes come to: one fact a note, none twice, none of our own prompts, none too long (C4, C14).

    Args:
        notes: what the model supplied; a note may hold several bullets.
        prompt_sentences: every sentence of the prompts in use; a note that equals one of them was copied, not found.
    """
    known = {tokens(sentence) for sentence in prompt_sentences}
    kept: list[str] = []
    for note in notes:
        for line in _NEW_BULLET.split(_COMMENT.sub("", note)):
            text = _BLANK.sub(" ", _BULLET.sub("", line)).strip()
            if _EMPTY.fullmatch(text) or _copied(text, known):
                continue
            for piece in split_note(text):
                said = tokens(piece)
                if said and said not in known:
                    known.add(said)
                    kept.append(piece)
    return kept


def _copied(text: str, known: set[tuple[str, ...]]) -> bool:
    parts = sentences.split(text)
    return tokens(text) in known or (len(parts) > 1 and all(tokens(part) in known for part in parts))


def _fitting(sentence: str, limit: int) -> list[str]:
    if len(sentence) <= limit:
        return [sentence]
    clauses = _cut_after(sentence, [m.end() for m in _CLAUSE_END.finditer(sentence)])
    if len(clauses) > 1:
        return _packed([piece for clause in clauses for piece in _fitting(clause, limit)], limit)
    words = sentence.split()
    if len(words) > 1:
        return _packed([piece for word in words for piece in _fitting(word, limit)], limit)
    return [sentence[start : start + limit] for start in range(0, len(sentence), limit)]


def _cut_after(text: str, ends: Sequence[int]) -> list[str]:
    pieces = []
    start = 0
    for end in [*ends, len(text)]:
        if piece := text[start:end].strip():
            pieces.append(piece)
        start = end
    return pieces


def _packed(parts: Sequence[str], limit: int) -> list[str]:
    """Join neighbouring parts as long as they fit, so that pieces stay few and readable."""
    packed: list[str] = []
    for part in parts:
        joined = f"{packed[-1]}{_glue(packed[-1])}{part}" if packed else part
        if packed and len(joined) <= limit:
            packed[-1] = joined
        else:
            packed.append(part)
    return packed


def _glue(left: str) -> str:
    """Chinese is written without blanks between sentences."""
    return "" if left[-1] > "\u2e7f" else " "
