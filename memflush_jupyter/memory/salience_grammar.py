"""What kind of utterance a sentence is: a question, a request for now, chatter, or a statement with a verb of its own."""

from __future__ import annotations

import re

from memflush_jupyter.memory import salience_noise as noise
from memflush_jupyter.memory import salience_signs as sign
from memflush_jupyter.memory.salience_verbs import AUXILIARIES, VERBS

_MIN_WORDS = 3
_MIN_CHINESE = 4
_WORD = re.compile(r"[^\W_][\w'’.-]*")
_LATIN_WORD = re.compile(r"[A-Za-z][A-Za-z'’-]*")

_SUBJECT_VERB = re.compile(
    r"^(?:i|we|they|you|he|she|it|everyone|everybody|nobody|people|someone)\s+(?!and\b|or\b|of\b)(?:\w+ly\s+|also\s+|both\s+|never\s+|often\s+|"
    r"always\s+)?[a-z]{2,}\b"
    r"|\b(?:[A-Z][\w.'’-]*)\s+and\s+(?:the\s+)?(?:[A-Z][\w.'’-]*\s+){1,4}(?:both\s+|often\s+|also\s+|each\s+|frequently\s+|usually\s+)?(?!of\b|in\b|by\b|"
    r"for\b|and\b|or\b|on\b|at\b|with\b|from\b)[a-z][a-z-]+\s"
    r"|\b(?:share|work|use|study|play|run|store|record|need|visit|supply|start|end|look)\s+(?:a|an|the|as|at|in|on|for|with|their|his|her|our|my|all|every|"
    r"no|to)\b"
    r"|\w\s*[=≈]\s*\S",
    re.MULTILINE,
)


def has_chinese(text: str) -> bool:
    """Tell whether any Chinese character occurs."""
    return not text.isascii() and any("\u4e00" <= c <= "\u9fff" for c in text)


def worth(text: str) -> bool:
    """Tell whether a text holds enough to stand alone: three words, or four Chinese characters."""
    if has_chinese(text) and sum(1 for c in text if "\u4e00" <= c <= "\u9fff") >= _MIN_CHINESE:
        return True
    return len(_WORD.findall(text)) >= _MIN_WORDS


def has_verb(text: str) -> bool:
    """Tell whether a sentence states something: fragments such as "the same plot for Gentoo" do not."""
    if has_chinese(text):
        return True
    words = _LATIN_WORD.findall(text)
    if any(word.lower().replace("’", "'") in VERBS for word in words):
        return True
    if any(word.endswith("ed") and len(word) > 4 for word in words[1:]):  # noqa: PLR2004 - shed, bred
        return True
    lowered_first = text[:1].lower() + text[1:]
    return bool(_SUBJECT_VERB.search(lowered_first) or _SUBJECT_VERB.search(text))


def is_question(text: str) -> bool:
    """Tell whether a sentence asks, with or without a question mark."""
    bare = text.rstrip(" \"'”’)*_`")
    if bare.endswith(("?", "？")):
        return True
    if has_chinese(bare):
        return bool(noise.QUESTION_ZH.search(bare)) and not noise.NOT_QUESTION_ZH.search(bare)
    return bool(noise.QUESTION_START.match(bare))


def is_chatter(text: str) -> bool:
    """Tell whether a sentence only keeps the conversation going."""
    return bool(noise.CHATTER.match(text) or noise.CHATTER_START.match(text) or noise.CHATTER_ZH.match(text))


_AFTER_A_NOUN = frozenset([*AUXILIARIES, "shows", "show", "contains", "holds", "means", "looks", "and", "of", "in"])
_OPENS_AN_OBJECT = frozenset(
    [
        *("the", "a", "an", "my", "our", "your", "this", "that", "these", "those", "it", "them", "all", "each", "every", "any", "some", "me", "us"),
        *("which", "who", "if", "whether", "what", "how", "why", "when", "where", "for", "with", "by", "to", "in", "on", "at", "from", "only"),
    ]
)
_ASKS = re.compile(r"\b(?:use|add|drop|show|make|take|give)\b", re.IGNORECASE)


def is_request(text: str) -> bool:
    """Tell whether a sentence asks for something to be done now."""
    if has_chinese(text[:12]):
        return bool(noise.REQUEST_ZH.match(text) or noise.URGED_ZH.search(text)) and not noise.NOT_REQUEST_ZH.search(text)
    lead = noise.REQUEST_LEAD.match(text)
    rest = text[lead.end() :] if lead else text
    if noise.REQUEST_PHRASE.match(rest):
        return True
    words = re.findall(r"[A-Za-z][\w'’-]*|\d+", rest[:80])
    if not words or words[0].lower() not in noise.REQUEST_VERBS:
        return False
    if len(words) == 1:
        return True
    if words[1].lower() in _AFTER_A_NOUN or (words[1].isdigit() and not _ASKS.match(words[0])):
        return False
    return not _is_compound(words[1:4])


def _is_compound(after: list[str]) -> bool:
    """Tell a noun ("Sample size was limited") from a request ("Sample the rows that are new") by what follows soon."""
    for word in after:
        lowered = word.lower()
        if lowered in _OPENS_AN_OBJECT:
            return False
        if lowered in AUXILIARIES:
            return True
    return False


_DESCRIBED_SUBJECT = re.compile(
    r"^(?:the|our|my|each|every|all|no|none|most|some|both|a|an|any|two|three|four|five|six|half|his|her|their|there|one|only|many|several|missing|duplicate)\b"
    r"|^(?:i'm|i am|we're|we are) (?:an?|the|at|in|from|working|based|responsible|on|using|allergic|new|interested in|writing|preparing)\b"
    r"|^(?:i|we) (?:work|study|collect|measure|report|have|own|run|manage|lead|use|sell|live|teach|research|analy[sz]e|track|record|store|only|always|"
    r"never|call|define|count|treat|expect|need|ship|serve|operate|publish|sample|survey)\b",
    re.IGNORECASE,
)
_VAGUE_SUBJECT = re.compile(r"^(?:this|that|it|these|those|they|he|she|you|something|everything|nothing)\b", re.IGNORECASE)
_FIRST_PERSON = re.compile(r"^(?:i|we|i'[a-z]+|we'[a-z]+)\b", re.IGNORECASE)
_CHINESE_STATES = re.compile(
    r"是|为|有|在|由|来自|从|表示|代表|属于|包含|包括|负责|等于|开始|结束|用|指|取自|单位|不含|记为|记录|编码|发生|来源|关门|搬|换|生产|出售|住|叫"
)
_MIN_STATED = 5
_LEAST = 0.5
_SUREST = 0.85


def statement_confidence(text: str, *, known_subject: bool = False) -> float:
    """Return how sure it is that a person's sentence is a fact worth keeping; 0 when it is none.

    The sentence is known to be no question, request or chatter. A named subject, a number, a column or file, a
    comparison make it surer; "I" makes it less sure, and so does "it", unless the sentence before says what that is.
    """
    if not worth(text) or not has_verb(text):
        return 0.0
    confidence = 0.6
    if has_chinese(text):
        confidence += 0.12 if _CHINESE_STATES.search(text) and len(text) > _MIN_STATED else 0.0
    elif _DESCRIBED_SUBJECT.match(text):
        confidence += 0.1
    elif _VAGUE_SUBJECT.match(text):
        confidence -= 0.0 if known_subject else 0.15
    elif _FIRST_PERSON.match(text):
        confidence -= 0.1
    elif text[0].isupper():
        confidence += 0.1
    if sign.PROPER.search(text) or sign.IDENTIFIER.search(text) or (sign.DOT.search(text) and sign.FILE.search(text)):
        confidence += 0.15
    if confidence < _SUREST and sign.NUMBER.search(text):
        confidence += 0.1
    if confidence < _SUREST and sign.CONCLUSION.search(text):
        confidence += 0.1
    confidence = min(confidence, _SUREST)
    return confidence if confidence >= _LEAST else 0.0
