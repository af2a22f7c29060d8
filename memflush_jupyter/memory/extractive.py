"""A summary made of the conversation's own sentences, by rules alone: the fallback when no model's summary is accepted (D5).

Sentences are ranked by who said them and by what they hold (numbers, names, decisions, findings, what the rest of the
text is about); the best that fit are given back word for word, in the order in which they were said.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from memflush_jupyter.memory import sentences, similarity
from memflush_jupyter.memory.salience_text import passages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

SPEAKERS = {"user": "Person", "agent": "Assistant", "tool": "Result"}
_ORIGIN_SCORE = {"user": 1.0, "agent": 0.7, "tool": 0.2}
_NUMBER = re.compile(r"\d")
_NAME = re.compile(r"(?<![.!?\n] )(?<!^)\b[A-Z][a-z]+|`[^`]+`|\b\w+_\w+\b|\b[\w-]+\.(?:csv|tsv|json|parquet|xlsx|py|md|ipynb)\b")
_TELLING = re.compile(
    r"\b(?:decid\w+|agree\w*|chos\w+|prefer\w*|always|never|must|should not|don't|do not|want\w*|need\w*|found|finding|shows?|result\w*|because|"
    r"therefore|so that|mean|median|"
    r"correlat\w+|differ\w*|increas\w+|decreas\w+|highest|lowest|outliers?|missing|dropp\w+|remov\w+|exclud\w+|renam\w+|saved?|deadline|due|called|named)\b"
    r"|决定|同意|选择|喜欢|偏好|总是|不要|必须|需要|发现|结果|因为|所以|均值|相关|差异|异常|缺失|删除|保存|截止",
    re.IGNORECASE,
)
_QUESTION = re.compile(r"[?？]\s*$")
_MEANING = re.compile(r"[^\W\d_]{4,}|[\u3400-\u9fff]{2}")
_FEWEST_WORDS, _MOST_WORDS = 4, 60
_TOPIC_SHARE = 0.6
LEAST_SCORE = 0.5
"""Below this a sentence is chatter: thanks, a bare question, a stray number of a tool."""


@dataclass(frozen=True, slots=True)
class Spoken:
    """What one message says, and who says it."""

    text: str
    origin: Literal["user", "agent", "tool"]


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence in its place. ``position`` counts through the whole conversation."""

    text: str
    origin: Literal["user", "agent", "tool"]
    position: int
    score: float

    def line(self) -> str:
        """The sentence as a bullet that says whose it is."""
        return f"- {SPEAKERS[self.origin]}: {self.text}"


def rank(spoken: Iterable[Spoken]) -> list[Sentence]:
    """Return the sentences of a conversation, the most telling first; code, tables and what our own recall put in are left out."""
    found = [(sentence, said.origin) for said in spoken for text in _prose(said) for sentence in sentences.split(text)]
    topics = Counter(word for sentence, _ in found for word in set(_MEANING.findall(sentence.lower())))
    ranked = [Sentence(text, origin, position, _score(text, origin, topics, len(found))) for position, (text, origin) in enumerate(found)]
    telling = [sentence for sentence in ranked if sentence.score >= LEAST_SCORE]
    return sorted(telling, key=lambda sentence: (-sentence.score, sentence.position))


def choose(ranked: Sequence[Sentence], *, budget: int, count: Callable[[str], int], known: Iterable[str] = ()) -> list[Sentence]:
    """Return the best sentences whose bullets fit ``budget`` tokens together, in the order they were said.

    One that says the same as another, or as a line of ``known``, is passed over.
    """
    said = {similarity.tokens(line) for line in known}
    chosen: list[Sentence] = []
    for sentence in ranked:
        key = similarity.tokens(sentence.text)
        if key in said:
            continue
        tokens = count(sentence.line() + "\n")
        if tokens > budget:
            continue
        said.add(key)
        chosen.append(sentence)
        budget -= tokens
    return sorted(chosen, key=lambda sentence: sentence.position)


def _prose(said: Spoken) -> list[str]:
    return [passage.text for passage in passages(said.text) if passage.kind != "code"]


def _score(text: str, origin: str, topics: Counter[str], total: int) -> float:
    score = _ORIGIN_SCORE[origin]
    score += 0.5 if _NUMBER.search(text) else 0.0
    score += 0.4 if _NAME.search(text) else 0.0
    score += min(2, len(_TELLING.findall(text))) * 0.4
    score -= 0.5 if _QUESTION.search(text) else 0.0
    words = len(text.split()) if text.isascii() else max(len(text.split()), len(text) // 2)
    score -= 0.8 if words < _FEWEST_WORDS else 0.0
    score -= 0.4 if words > _MOST_WORDS else 0.0
    meant = set(_MEANING.findall(text.lower()))
    if meant:
        score += _TOPIC_SHARE * sum(topics[word] for word in meant) / (len(meant) * max(1, total))
    return round(score, 4)
