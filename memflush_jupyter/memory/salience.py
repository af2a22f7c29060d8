"""The floor: what in a conversation is worth keeping, found by rules alone (C13, "The floor" of the design).

A model may say that there is nothing to store when there is. This reads the same messages and finds what a person asked
to remember, decisions, preferences, constraints, facts and findings, and the names of files, columns and variables, in
English and Chinese. It never returns questions, requests to do something now, chatter, code, tables, tracebacks,
secrets, or what our own recall had put into a message. What it returns is a sentence of the conversation, so that it
can answer for itself by its ``(trace, sequence)``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from memflush_jupyter.memory import salience_patterns as sign
from memflush_jupyter.memory import sentences
from memflush_jupyter.memory.limits import NOTE_LIMIT, split_note
from memflush_jupyter.memory.redaction import Redactor
from memflush_jupyter.memory.salience_names import names
from memflush_jupyter.memory.salience_text import Passage, passages
from memflush_jupyter.memory.similarity import tokens

Origin = Literal["user", "agent", "tool"]
Kind = Literal["remember", "decision", "preference", "constraint", "finding", "name"]

HIGH_CONFIDENCE = 0.7
"""Candidates from here on are written by the floor when the model saved nothing (C13)."""

_SECRETS = Redactor({})
_MIN_WORDS = 3


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


@dataclass(frozen=True, slots=True)
class _Found:
    text: str
    kind: Kind
    confidence: float


def extract(items: Sequence[SourceText]) -> list[Candidate]:
    """Return what is worth keeping in ``items``: most certain first, then in the order it was said; none twice.

    Each text is at most 500 characters (C4). The same items always give the same list.
    """
    best: dict[tuple[str, ...], Candidate] = {}
    for item in items:
        for found in _read(item):
            for text in split_note(found.text, NOTE_LIMIT):
                said = tokens(text)
                if not said or _SECRETS.has_secret(text):
                    continue
                known = best.get(said)
                candidate = Candidate(text, found.kind, round(found.confidence, 2), item.origin, item.trace, item.sequence)
                if known is None:
                    best[said] = candidate
                elif candidate.confidence > known.confidence:
                    best[said] = replace(candidate, trace=known.trace, sequence=known.sequence) if candidate.origin == known.origin else candidate
    return sorted(best.values(), key=lambda candidate: -candidate.confidence)


def _read(item: SourceText) -> list[_Found]:
    parts = passages(item.text)
    found = _tool(parts) if item.origin == "tool" else _prose(parts, item.origin)
    if item.origin != "tool":
        code = [part.text for part in parts if part.kind == "code"]
        found += [_Found(text, "name", confidence) for text, confidence in names(code)]
    return found


def _prose(parts: Iterable[Passage], origin: Origin) -> list[_Found]:
    judge = _judge_user if origin == "user" else _judge_agent
    found: list[_Found] = []
    inherited: Kind | None = None
    for part in parts:
        if part.kind == "code":
            continue
        if part.kind != "bullet":
            inherited = None
        previous = ""
        for sentence in sentences.split(_unmarked(part.text)):
            if part.kind == "bullet" and not previous:
                result = _bullet(sentence, part.lead, inherited, origin)
            else:
                result = judge(sentence)
            if origin == "user" and _is_open_request_to_remember(sentence):
                inherited = "remember"
            elif origin == "user" and _points_back(sentence) and found and previous:
                found[-1] = _Found(found[-1].text, "remember", 0.95) if found[-1].text.endswith(previous) else _Found(previous, "remember", 0.95)
                continue
            elif origin == "user" and _points_back(sentence) and previous:
                found.append(_Found(previous, "remember", 0.95))
                continue
            if result is not None:
                _add(found, result, previous)
            previous = "" if sign.QUESTION_START.match(sentence) or sentence.endswith(("?", "？")) else sentence
    return found


def _add(found: list[_Found], result: _Found, previous: str) -> None:
    """Add a finding; one that leans on the sentence before ("It …", "They …") takes that sentence along."""
    if sign.PRONOUN.match(result.text) and not sign.THERE_IS.match(result.text) and previous and len(previous) + len(result.text) < NOTE_LIMIT:
        if found and found[-1].text.endswith(previous):
            last = found.pop()
            found.append(
                _Found(
                    _join(last.text, result.text), last.kind if last.confidence > result.confidence else result.kind, max(last.confidence, result.confidence)
                )
            )
            return
        result = _Found(_join(previous, result.text), result.kind, result.confidence)
    found.append(result)


def _join(first: str, second: str) -> str:
    return f"{first}{'' if first[-1] > chr(0x2E7F) else ' '}{second}"


_MARKUP = re.compile(r"\*\*|(?<![\w`])__|__(?![\w`])|(?<![\w*])\*(?=\S)|(?<=\S)\*(?![\w*])|\[(?P<text>[^\]]+)\]\([^)\s]+\)")


def _unmarked(text: str) -> str:
    return _MARKUP.sub(lambda match: match["text"] or "", text).strip() if "*" in text or "__" in text or "](" in text else text


# --- a person's sentences -----------------------------------------------------------------------------------------


def _is_open_request_to_remember(sentence: str) -> bool:
    match = sign.REMEMBER.match(sentence) or sign.REMEMBER_ZH.match(sentence)
    return bool(match and sentence.rstrip().endswith((":", "：")) and not sentence[match.end() :].strip(" .!:：。"))


def _points_back(sentence: str) -> bool:
    match = sign.REMEMBER.match(sentence) or sign.REMEMBER_ZH.match(sentence)
    return bool(match and not sentence.rstrip().endswith((":", "：", "?", "？")) and sign.ONLY_POINTER.match(sentence[match.end() :]))


def _bullet(sentence: str, lead: str, inherited: Kind | None, origin: Origin) -> _Found | None:
    if inherited:
        return None if _is_question(sentence) else _Found(sentence, inherited, 0.9)
    result = (_judge_user if origin == "user" else _judge_agent)(sentence)
    if result is None and lead and not sign.VERB.search(sentence):
        result = (_judge_user if origin == "user" else _judge_agent)(f"{lead} {sentence}")
        return result
    if result and lead and not sign.VERB.search(sentence):
        return _Found(f"{lead} {result.text}", result.kind, result.confidence)
    return result


def _judge_user(sentence: str) -> _Found | None:
    text = sign.LEAD_OFF.sub("", sentence).strip()
    if not text or sign.INSTRUCTION.search(text):
        return None
    if asked := _asked_to_remember(text):
        return asked
    if _is_chatter(text):
        return None
    if cut := _embedded(text):
        return cut
    if _is_question(text):
        return None
    return _standing(text) or _statement(text)


def _asked_to_remember(text: str) -> _Found | None:
    tail = sign.REMEMBER_TAIL.search(text)
    if tail and tail.start() > 0 and _worth(text[: tail.start()]):
        return _Found(_closed(text[: tail.start()]), "remember", 0.95)
    match = sign.REMEMBER.match(text) or sign.REMEMBER_ZH.match(text)
    if not match or not match.group().strip():
        return None
    content = text[match.end() :].strip()
    if sign.ONLY_POINTER.match(content) or sign.QUESTION_START.match(content.rstrip("?？")):
        return None
    content = content.rstrip("?？").strip() if text.endswith(("?", "？")) else content
    if not _worth(content):
        return None
    return _Found(_capital(content), "remember", 0.95)


def _embedded(text: str) -> _Found | None:
    """Take the lasting half of a sentence such as "plot it, and from now on use 30 bins"."""
    match = sign.EMBEDDED.search(text)
    if (
        not match
        or match.end() < 2
        or not (_is_request(text[: match.start()]) or _is_chatter(text[: match.start()]) or sign.REMEMBER.match(text[match.end() :]))
    ):  # noqa: PLR2004 - a first half of a letter is none
        return None
    rest = text[match.end() :].strip()
    return _asked_to_remember(rest) or _standing(rest)


def _standing(text: str) -> _Found | None:
    """Recognise what holds from now on: rules, decisions, preferences, constraints."""
    if not _worth(text):
        return None
    if sign.FROM_NOW_ON.search(text):
        return _Found(text, "remember", 0.9)
    request = _is_request(text)
    if sign.DECISION.search(text) and not (request and not _lets_decide(text)):
        return _Found(text, "decision", 0.9)
    if sign.PREFERENCE.search(text) and not request:
        return _Found(text, "preference", 0.85)
    if sign.CONSTRAINT.search(text) and (not request or sign.DEADLINE.search(text)):
        return _Found(text, "constraint", 0.9 if sign.DEADLINE.search(text) else 0.75)
    if sign.USE_PREFERENCE.match(text):
        return (
            _Found(text, "preference", 0.75 if sign.LASTING.search(text) else 0.55)
            if not request or sign.LASTING.search(text) or text.lower().startswith(("use ", "please use "))
            else None
        )
    return None


def _lets_decide(text: str) -> bool:
    return bool(
        re.match(
            r"^(?:\w+[,.]?\s+){0,2}let'?s (?:use|go with|keep|stick|agree|settle|adopt|drop|exclude|ignore|treat|call|define|assume|leave out|standardi[sz]e|say)\b",
            text,
            re.IGNORECASE,
        )
    ) or bool(re.search(r"\bdecided\b|\bagreed\b|决定|约定|敲定", text))


def _statement(text: str) -> _Found | None:
    """Recognise a fact that a person states; names of files in a request are kept as names."""
    if _is_request(text):
        files = list(dict.fromkeys(match.group() for match in sign.FILE.finditer(text)))
        return _Found(f"The person works with {_listed(files)}.", "name", 0.55) if files else None
    if not _worth(text) or not _has_verb(text):
        return None
    confidence = 0.5
    if sign.PROPER.search(text) or sign.IDENTIFIER.search(text) or sign.FILE.search(text):
        confidence += 0.25
    if sign.NUMBER.search(text):
        confidence += 0.15
    if sign.CONCLUSION.search(text):
        confidence += 0.1
    if len(text) < 20 and text.isascii():  # noqa: PLR2004 - a few words say little
        confidence -= 0.1
    return _Found(text, "finding", min(confidence + 0.05, 0.85))


def _listed(files: Sequence[str]) -> str:
    return ("the file " if len(files) == 1 else "the files ") + ", ".join(f"`{name}`" for name in files)


def _worth(text: str) -> bool:
    """Tell whether a text holds enough to stand alone: three words, or four Chinese characters."""
    chinese = sum(1 for c in text if "\u4e00" <= c <= "\u9fff")
    return chinese >= 4 or len(re.findall(r"[^\W_][\w'’.-]*", text)) >= _MIN_WORDS  # noqa: PLR2004 - a Chinese word has two


def _has_verb(text: str) -> bool:
    return bool(sign.VERB.search(text)) or any("\u4e00" <= c <= "\u9fff" for c in text) or bool(re.search(r"\w\s*[=:≈]\s*\S", text))


def _capital(text: str) -> str:
    first = text.split(maxsplit=1)[0]
    return text[0].upper() + text[1:] if first.isalpha() and first.islower() and text.isascii() and len(first) > 1 and first not in {"df", "np", "pd"} else text


def _closed(text: str) -> str:
    return text.rstrip(" ,;，；–—-")


def _is_question(text: str) -> bool:
    bare = text.rstrip(" \"'”’)*_`")
    if bare.endswith(("?", "？")):
        return True
    if any("\u4e00" <= c <= "\u9fff" for c in bare):
        return bool(sign.QUESTION_ZH.search(bare)) and not sign.NOT_QUESTION_ZH.search(bare)
    return bool(sign.QUESTION_START.match(bare))


def _is_chatter(text: str) -> bool:
    return bool(sign.CHATTER.match(text) or sign.CHATTER_START.match(text) or sign.CHATTER_ZH.match(text))


_FINITE = frozenset("is are was were has have had shows show should must will can may contains holds means looks and of".split())


def _is_request(text: str) -> bool:
    """Tell whether a sentence asks for something to be done now."""
    if any("\u4e00" <= c <= "\u9fff" for c in text[:12]):
        return bool(sign.REQUEST_ZH.match(text)) and not sign.NOT_REQUEST_ZH.search(text)
    lead = sign.REQUEST_LEAD.match(text)
    rest = text[lead.end() :] if lead else text
    if sign.REQUEST_PHRASE.match(rest):
        return True
    words = re.findall(r"[A-Za-z][\w'’-]*|\d+", rest)
    if not words or words[0].lower() not in sign.REQUEST_VERBS:
        return False
    return len(words) < 2 or not (words[1].lower() in _FINITE or (words[1].isdigit() and words[0].lower() not in {"use", "add", "drop", "show", "make"}))  # noqa: PLR2004 - a second word


# --- the agent's sentences ----------------------------------------------------------------------------------------


def _judge_agent(sentence: str) -> _Found | None:
    text = sentence.strip()
    if not _worth(text) or _is_question(text) or sign.AGENT_NOISE.match(text) or text.endswith((":", "：")) or sign.INSTRUCTION.search(text):
        return None
    if sign.SAVED.search(text):
        return _Found(text, "name", 0.8)
    numbers = len(sign.NUMBER.findall(text)) if not sign.DIGIT_NOISE.search(text) else 0
    if sign.ACTION.search(text):
        return _Found(text, "decision", 0.8 if numbers else 0.7)
    if sign.DECISION.search(text):
        return _Found(text, "decision", 0.75)
    if numbers and (sign.MEASURED.search(text) or sign.CONCLUSION.search(text) or numbers > 1):
        return _Found(text, "finding", 0.8 if sign.MEASURED.search(text) else 0.7)
    if numbers:
        return _Found(text, "finding", 0.55)
    if not _has_verb(text):
        return None
    if sign.PREFERENCE.search(text) or sign.DEADLINE.search(text):
        return _Found(text, "preference" if sign.PREFERENCE.search(text) else "constraint", 0.55)
    if sign.CONCLUSION.search(text):
        return _Found(text, "finding", 0.6 if sign.IDENTIFIER.search(text) or sign.PROPER.search(text) else 0.5)
    return _Found(text, "name", 0.45) if sign.IDENTIFIER.search(text) else None


# --- tool outputs -------------------------------------------------------------------------------------------------

_LABELLED = re.compile(r"^[A-Za-z\u4e00-\u9fff][\w\s()²^/%.\u4e00-\u9fff-]{2,60}?\s*[:=：]\s*[-+$€£¥]?\d")


def _tool(parts: Iterable[Passage]) -> list[_Found]:
    """From a tool's output only what was printed as a sentence or a labelled number; a tool never sets rules (P8)."""
    found: list[_Found] = []
    for part in parts:
        if part.kind == "code" and not _LABELLED.match(part.text):
            continue
        for sentence in sentences.split(part.text):
            if sign.INSTRUCTION.search(sentence) or _is_question(sentence) or len(sentence) > NOTE_LIMIT or not _worth(sentence):
                continue
            if sign.SAVED.search(sentence):
                found.append(_Found(sentence, "name", 0.6))
            elif sign.NUMBER.search(sentence) and (_LABELLED.match(sentence) or (sign.MEASURED.search(sentence) and _has_verb(sentence))):
                found.append(_Found(sentence, "finding", 0.5))
    return found
