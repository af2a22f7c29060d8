"""The floor: what in a conversation is worth keeping, found by rules alone (C13, "The floor" of the design).

A model may say that there is nothing to store when there is. This reads the same messages and finds what a person asked
to remember, decisions, preferences, constraints, facts and findings, and the names of files, columns and variables, in
English and Chinese. It never returns questions, requests to do something now, chatter, code, tables, tracebacks,
secrets, or what our own recall had put into a message. What it returns is a sentence of the conversation, so that it
can answer for itself by its ``(trace, sequence)``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from memflush_jupyter.memory import salience_noise as noise
from memflush_jupyter.memory import sentences
from memflush_jupyter.memory.limits import NOTE_LIMIT, split_note
from memflush_jupyter.memory.redaction import Redactor
from memflush_jupyter.memory.salience_grammar import has_verb, is_question
from memflush_jupyter.memory.salience_judges import Found, Kind, is_labelled, judge_agent, judge_tool, judge_user, opens_a_list_to_remember, points_back
from memflush_jupyter.memory.salience_names import names
from memflush_jupyter.memory.salience_signs import PRONOUN, THERE_IS
from memflush_jupyter.memory.salience_text import Passage, passages
from memflush_jupyter.memory.similarity import tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Origin = Literal["user", "agent", "tool"]

HIGH_CONFIDENCE = 0.7
"""Candidates from here on are written by the floor when the model saved nothing (C13)."""

_LONGEST_SENTENCE = 2 * NOTE_LIMIT
_SECRETS = Redactor({})


@dataclass(frozen=True, slots=True)
class SourceText:
    """One message's text, or one tool's output, and where it stands."""

    text: str
    origin: Origin
    trace: str
    sequence: int


@dataclass(frozen=True, slots=True)
class Candidate:
    """One sentence worth keeping. ``confidence`` is 0–1; it orders candidates and gates the floor, no more."""

    text: str
    kind: Kind
    confidence: float
    origin: Origin
    trace: str
    sequence: int


def extract(items: Sequence[SourceText]) -> list[Candidate]:
    """Return what is worth keeping in ``items``: most certain first, then in the order it was said; none twice.

    Each text is at most 500 characters (C4). The same items always give the same list.
    """
    best: dict[tuple[str, ...], Candidate] = {}
    for item in items:
        clean = not _SECRETS.has_secret(item.text)
        for found in _read(item):
            for text in split_note(found.text, NOTE_LIMIT):
                said = tokens(text)
                if not said or not (clean or not _SECRETS.has_secret(text)):
                    continue
                known = best.get(said)
                if known is None or found.confidence > known.confidence:
                    best[said] = Candidate(text, found.kind, round(found.confidence, 2), item.origin, item.trace, item.sequence)
    return sorted(best.values(), key=lambda candidate: -candidate.confidence)


def _read(item: SourceText) -> list[Found]:
    parts = passages(item.text)
    if item.origin == "tool":
        return _printed(parts)
    found = _prose(parts, item.origin)
    if item.origin == "agent" and noise.NOT_RUN.search(item.text):
        return found
    return found + [Found(text, "name", confidence) for text, confidence in names([part.text for part in parts if part.kind == "code"])]


def _printed(parts: Iterable[Passage]) -> list[Found]:
    """Read a tool's output: only what was printed as a sentence or as a labelled number."""
    found = []
    for part in parts:
        if part.kind == "code" and not is_labelled(part.text):
            continue
        for sentence in _sentences(part.text):
            result = judge_tool(sentence)
            if result:
                found.append(result)
    return found


def _prose(parts: Iterable[Passage], origin: Origin) -> list[Found]:
    found: list[Found] = []
    to_remember = False
    previous = ""
    for part in parts:
        if part.kind == "code" or (origin == "agent" and noise.OFFER.search(part.lead)):
            continue
        bullet = part.kind == "bullet"
        to_remember = to_remember and bullet
        if bullet:
            previous = ""
        for index, sentence in enumerate(_sentences(part.text)):
            if origin == "user" and points_back(sentence):
                _upgrade(found, previous)
                continue
            to_remember = to_remember or (origin == "user" and opens_a_list_to_remember(sentence))
            if to_remember and bullet:
                result = None if is_question(sentence) else Found(sentence, "remember", 0.9)
            else:
                result = _judge(sentence, origin, lead=part.lead if index == 0 else "", previous=previous)
            if result is not None:
                _add(found, result, previous)
            previous = "" if is_question(sentence) else sentence
    return found


def _sentences(text: str) -> list[str]:
    """Return the sentences that are short enough to be meant as one; longer runs are pasted data."""
    return [sentence for sentence in sentences.split(_unmarked(text)) if len(sentence) <= _LONGEST_SENTENCE]


def _judge(sentence: str, origin: Origin, *, lead: str, previous: str) -> Found | None:
    """Judge one sentence; a bullet that is no sentence is read together with the line that introduces it."""
    alone = not lead or has_verb(sentence)
    text = sentence if alone else f"{lead} {sentence}"
    result = judge_user(text, known_subject=bool(previous)) if origin == "user" else judge_agent(text)
    return result if alone or result is None else Found(text, result.kind, result.confidence)


def _upgrade(found: list[Found], previous: str) -> None:
    """The person said "remember that": what they mean is the sentence before."""
    if not previous:
        return
    if found and found[-1].text.endswith(previous):
        previous = found.pop().text
    found.append(Found(previous, "remember", 0.95))


def _add(found: list[Found], result: Found, previous: str) -> None:
    """Add a finding; one that leans on the sentence before ("It …", "They …") takes that sentence along."""
    leans = PRONOUN.match(result.text) and not THERE_IS.match(result.text)
    if leans and previous and len(previous) + len(result.text) < NOTE_LIMIT:
        last = found.pop() if found and found[-1].text.endswith(previous) else None
        best = last if last and last.confidence > result.confidence else result
        result = Found(_join(last.text if last else previous, result.text), best.kind, best.confidence)
    found.append(result)


def _join(first: str, second: str) -> str:
    return f"{first}{'' if first[-1] > chr(0x2E7F) else ' '}{second}"


_MARKUP = re.compile(r"\*\*|(?<![\w`])__|__(?![\w`])|(?<![\w*])\*(?=\S)|(?<=\S)\*(?![\w*])|\[(?P<text>[^\]]+)\]\([^)\s]+\)")


def _unmarked(text: str) -> str:
    """Take the emphasis off: memory is read as text."""
    return _MARKUP.sub(lambda match: match["text"] or "", text).strip() if "*" in text or "__" in text or "](" in text else text
