"""The judges of the floor: one for a person's sentence, one for the agent's, one for a tool's output."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from memflush_jupyter.memory import salience_noise as noise
from memflush_jupyter.memory import salience_signs as sign
from memflush_jupyter.memory.salience_grammar import has_verb, is_chatter, is_question, is_request, statement_confidence, worth

if TYPE_CHECKING:
    from collections.abc import Sequence

Kind = Literal["remember", "decision", "preference", "constraint", "finding", "name"]


@dataclass(frozen=True, slots=True)
class Found:
    """A sentence worth keeping, before it is told where it came from."""

    text: str
    kind: Kind
    confidence: float


# --- a person's sentences -----------------------------------------------------------------------------------------


def judge_user(sentence: str, *, known_subject: bool = False) -> Found | None:
    """Judge a person's sentence. ``known_subject``: the sentence before tells what its "it" is."""
    text = sign.LEAD_OFF.sub("", sentence).strip()
    if not text or noise.INSTRUCTION.search(text):
        return None
    if asked := _asked_to_remember(text):
        return asked
    if is_chatter(text):
        return None
    if cut := _embedded(text):
        return cut
    if is_question(text):
        return None
    return _standing(text) or _statement(text, known_subject=known_subject)


def opens_a_list_to_remember(sentence: str) -> bool:
    """Tell whether a line such as "Remember the following:" asks to keep the bullets after it."""
    match = _remember(sentence)
    return bool(match and sentence.rstrip().endswith((":", "：")) and not sentence[match.end() :].strip(" .!:：。"))


def points_back(sentence: str) -> bool:
    """Tell whether a sentence such as "Remember that." asks to keep the sentence before it."""
    match = _remember(sentence)
    return bool(match and not sentence.rstrip().endswith((":", "：", "?", "？")) and sign.ONLY_POINTER.match(sentence[match.end() :]))


def _remember(text: str) -> re.Match[str] | None:
    match = sign.REMEMBER.match(text) or sign.REMEMBER_ZH.match(text)
    return match if match and match.group().strip() else None


def _asked_to_remember(text: str) -> Found | None:
    tail = sign.REMEMBER_TAIL.search(text)
    if tail and tail.start() > 0 and worth(text[: tail.start()]) and not is_question(text):
        return Found(text[: tail.start()].rstrip(" ,;，；–—-"), "remember", 0.95)
    match = _remember(text)
    if not match:
        return None
    content = text[match.end() :].strip()
    if text.endswith(("?", "？")):
        content = content.rstrip("?？").strip()
    if sign.ONLY_POINTER.match(content) or noise.QUESTION_START.match(content) or not worth(content):
        return None
    return Found(_capital(content), "remember", 0.95)


def _embedded(text: str) -> Found | None:
    """Take the lasting half of a sentence such as "plot it, and from now on use 30 bins"."""
    match = sign.EMBEDDED.search(text)
    if not match or match.start() == 0:
        return None
    first, rest = text[: match.start()], text[match.end() :].strip()
    if not (is_request(first) or is_chatter(first) or is_question(first) or _remember(rest)):
        return None
    return _asked_to_remember(rest) or _standing(rest)


def _standing(text: str) -> Found | None:
    """Recognise what holds from now on: rules, decisions, preferences, constraints."""
    if not worth(text):
        return None
    if sign.FROM_NOW_ON.search(text):
        return Found(text, "remember", 0.9)
    request = is_request(text)
    if sign.DECISION.search(text) and (not request or sign.LETS_DECIDE.search(text)):
        return Found(text, "decision", 0.9)
    if sign.PREFERENCE.search(text) and not request:
        return Found(text, "preference", 0.85)
    firm = bool(sign.FIRM.search(text))
    if (firm or (sign.CONSTRAINT.search(text) and not request)) and not (request and not firm):
        return Found(text, "constraint", 0.9 if firm else 0.75)
    if sign.USE_PREFERENCE.match(text) and (sign.LASTING.search(text) or not request or re.match(r"(?:please )?use ", text, re.IGNORECASE)):
        return Found(text, "preference", 0.75 if sign.LASTING.search(text) else 0.55)
    return None


def _statement(text: str, *, known_subject: bool) -> Found | None:
    """Recognise a fact that a person states; of a request only the files it names are kept."""
    if is_request(text):
        files = list(dict.fromkeys(match.group() for match in sign.FILE.finditer(text)))
        return Found(f"The person works with {_listed(files)}.", "name", 0.55) if files else None
    confidence = statement_confidence(text, known_subject=known_subject)
    return Found(text, "finding", confidence) if confidence else None


def _listed(files: Sequence[str]) -> str:
    return ("the file " if len(files) == 1 else "the files ") + ", ".join(f"`{name}`" for name in files)


def _capital(text: str) -> str:
    """Begin with a capital where that is safe: an English word, no identifier."""
    first = text.split(maxsplit=1)[0]
    safe = first.isascii() and first.isalpha() and first.islower() and (first in _OPENERS or len(first) > 1) and not sign.SHORT_NAME.fullmatch(first)
    return text[0].upper() + text[1:] if safe else text


_OPENERS = frozenset(["a", "i"])


# --- the agent's sentences ----------------------------------------------------------------------------------------


def judge_agent(sentence: str) -> Found | None:
    """Judge a sentence of the agent: what it found, did, saved; not what it is about to do or offers."""
    text = sentence.strip()
    if (
        not worth(text)
        or noise.AGENT_NOISE.match(text)
        or noise.REFUSAL.search(text)
        or is_question(text)
        or text.endswith((":", "："))
        or noise.INSTRUCTION.search(text)
    ):
        return None
    if sign.SAVED.search(text):
        return Found(text, "name", 0.8)
    numbers = 0 if noise.DIGIT_NOISE.search(text) else sign.NUMBER.count(text)
    if sign.ACTION.search(text):
        return Found(text, "decision", 0.8 if numbers else 0.7)
    if sign.DECISION.search(text):
        return Found(text, "decision", 0.75)
    if numbers:
        measured = bool(sign.MEASURED.search(text))
        compared = numbers > 1 or bool(sign.CONCLUSION.search(text))
        return Found(text, "finding", 0.8 if measured else 0.7 if compared else 0.55)
    return _agent_statement(text) if has_verb(text) else None


def _agent_statement(text: str) -> Found | None:
    """Judge a sentence without numbers: a conclusion about something named, or what it heard from the person."""
    if sign.FIRM.search(text):
        return Found(text, "constraint", 0.55)
    named = bool(sign.IDENTIFIER.search(text) or sign.PROPER.search(text))
    if sign.CONCLUSION.search(text):
        return Found(text, "finding", 0.7 if named or sign.SUPERLATIVE.search(text) else 0.6)
    if sign.PREFERENCE.search(text):
        return Found(text, "preference", 0.55)
    return Found(text, "finding", 0.7 if named and sign.SUPERLATIVE.search(text) else 0.5) if named or sign.STATES.match(text) else None


# --- tool outputs -------------------------------------------------------------------------------------------------

_LABELLED = re.compile(r"^[A-Za-z\u4e00-\u9fff][\w\s()²^/%.\u4e00-\u9fff-]{2,60}?\s*[:=：]\s*[-+$€£¥]?\d")
_FRAME_TALK = re.compile(
    r"^(?:RangeIndex|DatetimeIndex|Index|MultiIndex|dtypes?|memory usage|Name|Length|Data columns|Freq|Categories|Non-Null|<class|array|\[?\d+ rows)\b"
)


def is_labelled(text: str) -> bool:
    """Tell whether a printed line is a label and its number (``Mean mass: 4201.75 g``)."""
    return bool(_LABELLED.match(text)) and not _FRAME_TALK.match(text)


def judge_tool(sentence: str) -> Found | None:
    """Judge a printed sentence: only files it saved and numbers it measured; a tool never sets rules (P8)."""
    if noise.INSTRUCTION.search(sentence) or _FRAME_TALK.match(sentence) or is_question(sentence) or not worth(sentence):
        return None
    if sign.ORDERS.search(sentence):
        return None
    if sign.SAVED.search(sentence):
        return Found(sentence, "name", 0.6)
    if sign.NUMBER.search(sentence) and (is_labelled(sentence) or (sign.MEASURED.search(sentence) and has_verb(sentence))):
        return Found(sentence, "finding", 0.5)
    return None
