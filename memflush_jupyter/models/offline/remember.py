"""Remembering and recalling: what to write, and where an answer about the past is found."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memflush_jupyter.memory import sentences
from memflush_jupyter.models.offline.intent import clauses, is_command, is_recall, kind_of, remember_text
from memflush_jupyter.models.offline.words import IDLE, stem, tokens

if TYPE_CHECKING:
    from memflush_jupyter.models.offline.conversation import Conversation

_ASKING = frozenset(
    """
    remember recall remind said say tell told decide decided decision mentioned mention ask asked find found earlier previously before start
    beginning last ago was were did first very original initially agree agreed choose chose use used write wrote again session conversation
    chat talk talked yesterday week know preference prefer prompt turn question message request answer still something anything after before
    because reply
    """.split()
)
_FIRST = re.compile(r"\b(?:very )?first\b|\bat the (?:start|beginning)\b|\binitially\b|\boriginally\b|最初|第一个|一开始", re.IGNORECASE)
_ASKED = re.compile(r"\b(?:ask|asked|request|requested|prompt|question|want|wanted)\b|问|要求", re.IGNORECASE)
_I_SAID = re.compile(
    r"\b(?:did|have|had) i (?:say|said|tell|told|mention|mentioned|decide|decided|prefer|write|wrote)\b|我(?:之前|刚才|以前)?(?:说|提)过?", re.IGNORECASE
)
"""A question about the person's own words: what the agent said is no answer to it."""
_TO_KEEP = re.compile(
    r"\bwhat\b.*\b(?:i|we) (?:ask|tell|want|say)(?:ed)? (?:you )?to (?:remember|memori[sz]e|keep in mind|note|save)\b|\bwhat (?:do|did) you remember\W*$"
    r"|(?:记住|记得|记下)了?(?:些)?什么|什么.{0,4}(?:记住|记下)",
    re.IGNORECASE,
)
_TAG = re.compile(r"^\[(?P<ref>[^\]\s#]+#(?P<sequence>\d+)|note [^\]\s]+|[^\]\s]+)(?: (?P<who>user|agent|tool))?(?: (?P<date>\d{4}-\d\d-\d\d))?[^\]]*\]\s*")
_MARKUP = re.compile(r"\*\*|^#+ |^(?:> ?)+|^[-*] |<!--.*?-->", re.MULTILINE)
_OF_PERSON = re.compile(r"(?:and )?(?:who|whose|whom|when|why|(?:in|on|at|for|with|from|to|by|until) (?:which|what|whom))\b|谁|什么时候|为什么", re.IGNORECASE)
_QUESTION = re.compile(r"[?？]\s*$|^(?:who|whose|whom|when|where|why|what|which|how)\b", re.IGNORECASE)
_TWO_QUESTIONS = re.compile(r",?\s+and\s+(?=(?:(?:in|on|at|for|with|from|to|by)\s+)?(?:who|whose|whom|when|where|why|what|which|how)\b)", re.IGNORECASE)
_ENOUGH = 0.5
_MOST = 0.6
_SHORTEST = 3
_AGENT = frozenset({"assistant", "agent"})
_VERB = re.compile(r"\b(?:did|have|had) (?:we|you|i) (?:already |ever )?(decid|agre|promis|conclu)\w*", re.IGNORECASE)
_FIRST_REQUEST = "The first request was:"
_GLUE = frozenset(
    "who whose whom when where why what which how the and are does did was were have has had with into from that this there their for its name".split()
)
_SHOWN = 3
_KEPT_SHOWN = 8
_ROOT = 5
"""Letters by which inflected words are taken for the same."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A sentence from the past and where it stands."""

    text: str
    source: str
    order: int
    who: str = ""


def asked_words(question: str) -> list[str]:
    """The content words of a question about the past."""
    found = [stem(token.word) for token in tokens(question) if token.word not in _ASKING and (token.word not in IDLE or token.word in _TELLING)]
    return list(dict.fromkeys(found))


_TELLING = frozenset(
    "outlier outliers correlation correlations trend missing mean median regression slope distribution effect sigma iqr "
    "plot plots round decimals colour color file files name".split()
)


def note_of(text: str) -> str:
    """The note for a "remember that …": a whole sentence with a capital and a full stop."""
    note = " ".join(text.split()).rstrip(" .。")
    return (note[:1].upper() + note[1:] + "." if note[:1].isascii() else note + "。") if note else ""


def passages(conversation: Conversation, question: str = "") -> list[Passage]:
    """Everything in the request that may hold an answer: recall, memory, summaries, earlier prompts and replies."""
    found: list[Passage] = []
    for line in conversation.recalled:
        found += _tagged(line)
    for line in memory_lines(conversation.system):
        found.append(Passage(line, "memory", 0))
    for summary in conversation.summaries:
        found += _cut(summary, "the summary of earlier turns", 1)
    for number, prompt in enumerate(conversation.prompts[:-1]):
        found += _cut(prompt, f"your prompt {number + 1} in this context", 1000 + 2 * number, "user")
    for number, reply in conversation.replies:
        if number < len(conversation.prompts) - 1 and not reply.startswith(("Noted in memory:", "Noted:", "Already in memory:", "I found this:")):
            found += _cut(reply, f"my answer to prompt {number + 1} in this context", 1001 + 2 * number, "assistant")
    about_requests = bool(_ASKED.search(question))
    return [passage for passage in found if not _is_question(passage.text) and (about_requests or not _is_request(passage))]


def _is_request(passage: Passage) -> bool:
    """Whether a passage is something the person asked to be done: no answer to a question about what was found or said."""
    return passage.who == "user" and is_command(passage.text)


def _is_question(text: str) -> bool:
    return text.rstrip().endswith(("?", "？")) or is_recall(text)


def _cut(text: str, source: str, order: int, who: str = "") -> list[Passage]:
    parts = [_MARKUP.sub("", part).strip() for part in sentences.split(text)]
    return [Passage(part, source, order, who) for part in parts if re.search(r"\w", part) and not part.startswith(("|", "[…", "— "))]


def memory_lines(system: str) -> list[str]:
    """The bullets of the memory block in the system prompt."""
    block = re.search(r"<memory[^>]*>(.*?)</memory>", system, re.DOTALL)
    text = block[1] if block else system.partition("# Memory")[2]
    return [_MARKUP.sub("", line).strip() for line in text.splitlines() if re.match(r"\s*[-*] \S", line)]


def best(question: str, found: list[Passage]) -> list[Passage]:
    """The passages that hold at least half of the question's content words, the fullest first; for "first", the earliest."""
    words = asked_words(question)
    if not words:
        return []
    if _I_SAID.search(question):
        found = [passage for passage in found if passage.who not in _AGENT and not passage.text.startswith("Noted in memory:")]
    scored = []
    for at, passage in enumerate(found):
        theirs = _stems(passage)
        score = sum(_holds(word, theirs) for word in words) / len(words)
        if score >= _ENOUGH:
            scored.append((score, at, passage))
    if not scored:
        return []
    top = max(score for score, _, _ in scored)
    order = (
        [item for item in scored if item[0] >= top - 0.01]
        if not _FIRST.search(question)
        else [item for item in scored if item[0] >= min(top, 2 * _ENOUGH - 0.01) * 0.75]
    )
    verb = _VERB.search(question)
    if verb is not None:  # asked for what was decided, nothing else that names the subject will do where a decision does
        order = [item for item in order if any(word.startswith(verb[1].casefold()) for word in _stems(item[2]))] or order
    order.sort(key=lambda item: (item[2].order, item[1]) if _FIRST.search(question) else (-item[0], -item[2].order))
    unique: dict[str, Passage] = {}
    for _, _, passage in order:
        unique.setdefault(passage.text.casefold(), passage)
    return list(unique.values())[:_SHOWN]


def asks_what_is_kept(question: str) -> bool:
    """Whether a question asks for all that was to be remembered, so that it names no subject to search for."""
    return _TO_KEEP.search(question) is not None


def kept(conversation: Conversation) -> list[Passage]:
    """What the person asked to remember in this context, the latest first, and then what memory holds."""
    asked = [
        Passage(note_of(text), f"your prompt {number + 1} in this context", number, "user")
        for number, prompt in enumerate(conversation.prompts[:-1])
        for clause in clauses(prompt)
        if (text := remember_text(clause.written))
    ]
    # Lines that name variables or columns are findings: nobody asked to remember them, as long as there is another line.
    lines = memory_lines(conversation.system)
    held = [Passage(line, "memory", 0) for line in [line for line in lines if "`" not in line] or lines]
    unique: dict[str, Passage] = {}
    for passage in [*reversed(asked), *held]:
        unique.setdefault(passage.text.casefold(), passage)
    return list(unique.values())[:_KEPT_SHOWN]


def asks_of_person(question: str) -> bool:
    """Whether a question asks for something that no data frame holds (who, whose, when, why, in which …)."""
    return _OF_PERSON.match(question.strip()) is not None


def told(question: str, conversation: Conversation) -> str:
    """Answer a question that is no analysis by what was said about it, word for word; empty when nothing holds enough of it.

    Only what the person said or memory holds is quoted, and only where most of the question's content words stand in it: a
    passage that merely touches the subject would be a guess.
    """
    if not _QUESTION.search(question.strip()):
        return ""
    # The first request is a line of the summary for questions about it; elsewhere it would only repeat what it was.
    said = [
        passage for passage in passages(conversation, question) if passage.who not in {"assistant", "agent"} and not passage.text.startswith(_FIRST_REQUEST)
    ]
    found: dict[str, Passage] = {}
    for part in _TWO_QUESTIONS.split(question):
        words = _content(part)
        shares = [(sum(_holds(word, _stems(passage)) for word in words) / len(words), passage) for passage in said] if words else []
        top = max((share for share, _ in shares), default=0.0)
        for share, passage in shares:
            if share >= max(_MOST, top - 0.01):
                found.setdefault(passage.text.casefold(), passage)
    return f"I compute no answer to that; this was said about it:\n\n{quoted(list(found.values())[:_SHOWN])}" if found else ""


def _content(question: str) -> list[str]:
    """The words of a question that a passage about it would hold: unlike for analyses, "report" and "measurements" are among them."""
    words = [token.word for token in tokens(question) if (len(token.word) >= _SHORTEST or token.word.isdigit()) and token.word not in _ASKING | _GLUE]
    return [stem(word) for word in dict.fromkeys(words)]


def _stems(passage: Passage) -> set[str]:
    return {stem(token.word) for token in tokens(passage.text)}


def _holds(word: str, theirs: set[str]) -> bool:
    return word in theirs or (len(word) >= _ROOT and any(other.startswith(word[:_ROOT]) for other in theirs))


def first_request(conversation: Conversation) -> Passage | None:
    """The first thing asked, where it still stands in the request."""
    if conversation.summaries:
        for summary in conversation.summaries:
            asked = re.search(r"^- The first request was: (.+)$", summary, re.MULTILINE)
            if asked:
                return Passage(asked[1].strip(), "the summary of earlier turns", 0, "user")
        return None
    own = conversation.prompts[:-1]
    return Passage(own[0], "your first prompt", 0, "user") if own else None


def search_answer(question: str, output: str) -> list[Passage]:
    """Passages from a ``memory_search`` result that answer the question; only its bullets are passages."""
    found = [passage for line in output.splitlines() if line.startswith("- ") for passage in _tagged(line[2:])]
    usable = [passage for passage in found if not _is_question(passage.text) and (_ASKED.search(question) or not _is_request(passage))]
    return best(question, usable)


def _tagged(line: str) -> list[Passage]:
    """The sentences of a recalled passage, which begins with its reference: ``[4be1#12 user 2026-01-15] text``."""
    tag = _TAG.match(line)
    if tag is None:
        return _cut(line, "recall", 0)
    # Neither the conversation's id nor a date: the same answer on any day, from any run (P9).
    source = f"message {tag['sequence']}" if tag["sequence"] else tag["ref"]
    return _cut(line[tag.end() :], source, int(tag["sequence"] or 0), tag["who"] or "")


def quoted(found: list[Passage]) -> str:
    """Passages as quotations with their source."""
    return "\n".join(f"> {' '.join(passage.text.split())}\n>\n> — {passage.source}\n" for passage in found).strip()


def statements(prompts: list[str]) -> list[str]:
    """What the person asked to remember, prefers or decided, in their own words."""
    found: list[str] = []
    for prompt in prompts:
        for clause in clauses(prompt):
            asked = remember_text(clause.written)
            if asked:
                found.append(note_of(asked))
            elif asked is None and kind_of(clause) == "preference":
                found.append(clause.written)
    return list(dict.fromkeys(found))
