"""Where a compaction cuts, which summary it takes, and what stands in the place of what was cut (D3-D6, D12)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memflush_jupyter.context.pruning import is_recall
from memflush_jupyter.memory import extractive as sentence_ranking
from memflush_jupyter.memory import sentences, similarity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from memflush_jupyter.trace.models import Block, Message

SUMMARY_OPEN = '<summary note="stands for the earlier part of this conversation, which read_message and memory_search still find">'
SUMMARY_CLOSE = "</summary>"
LAST_REQUEST = "The person's last request, word for word:"
OPEN_GOALS = "Open goals:"
EXTRACTIVE_MARK = "(No model's summary was accepted: these are sentences of the conversation, word for word.)"
MAX_REPEATED = 0.2
MAX_COPIED = 0.8
_NEW_ITEMS_HELD = 0.2
_PREVIOUS_SHARE = 0.4
_APOLOGY_CHARS = 600

_SUMMARY = re.compile(r"<summary\b[^>]*>\n?(.*?)\n?</summary>", re.DOTALL)
_ERROR = re.compile(
    r"\W*(?:(?:api\s+|internal\s+|server\s+)*(?:error|exception)(?:\s*[:({\d]|\s*$|\s+(?:code|\d))|traceback \(most recent|http(?:/\d\S*)?\s+[45]\d\d"
    r"|[45]\d\d\s+(?:error|bad|internal|too|service)|request (?:failed|timed out)|rate limit|overloaded|service unavailable|\"?type\"?\s*:\s*\"?error)",
    re.IGNORECASE,
)
_REFUSAL = re.compile(
    r"\W*(?:i'?m (?:sorry|unable|afraid)|i am (?:sorry|unable)|sorry\b|i can(?:no|')?t|as an ai\b|no_reply|\[?silent\]?\W*$|nothing to summar|there is nothing"
    r"|please provide|could you (?:please )?(?:provide|share))",
    re.IGNORECASE,
)
_WORD = re.compile(r"[\w.]*\w", re.UNICODE)


@dataclass(frozen=True, slots=True)
class Cut:
    """What a compaction removes and what it keeps.

    ``kept`` begins at ``first_kept_index``. ``removed`` begins with the previous summary, if there is one: it is input
    to the next (D6). ``last_request``: the person's last prompt when the cut falls behind it, to be kept verbatim (D3).
    """

    first_kept_index: int
    removed: list[Message]
    kept: list[Message]
    last_request: list[Block] | None = None

    @property
    def empty(self) -> bool:
        """Whether nothing would leave the context: compacting would not help (D9)."""
        return not self.going

    @property
    def going(self) -> list[Message]:
        """The messages that leave, the previous summary apart: those a flush must have covered (B4)."""
        return [message for message in self.removed if message.kind != "summary"]


def choose_cut(messages: Sequence[Message], *, keep_recent: int, count: Callable[[Message], int]) -> Cut:
    """Choose where to cut ``messages``, the path as ``TraceStore.path()`` gives it.

    Kept is as much of the end as ``keep_recent`` tokens hold, in whole rounds: a cut never stands between a tool_use
    and its results, parallel groups included (D4). At least the last round is kept, or the last prompt when it has no
    answer yet, however large.
    """
    sizes = [count(message) for message in messages]
    cut, suffix = len(messages), 0
    for index in range(len(messages) - 1, -1, -1):
        if messages[index].kind == "summary":
            break
        suffix += sizes[index]
        if cut < len(messages) and suffix > keep_recent:
            break
        if not _holds_results(messages[index]):
            cut = index
    removed = list(messages[:cut])
    asked = next((message for message in reversed(messages) if message.kind == "prompt"), None)
    request = _request(asked) if asked is not None and any(message is asked for message in removed) else None
    return Cut(cut, removed, list(messages[cut:]), request)


def accept_summary(text: str, *, previous: str | None, replaced_tokens: int, count: Callable[[str], int], salient: Sequence[str] = ()) -> str | None:
    """Return what is wrong with a summary, as a sentence for the next try; ``None`` when it can be used (D5, D12).

    Args:
        text: what the model wrote.
        previous: the summary before it, with or without its tags.
        replaced_tokens: tokens of what it would replace.
        count: counts tokens of a text.
        salient: what the removed part holds that should not be lost, best first.
    """
    text = text.strip()
    if not text:
        return "The summary was empty."
    if _ERROR.match(text) or text.startswith(("{", "[{")) or (len(text) <= _APOLOGY_CHARS and _REFUSAL.match(text)):
        return "The answer was an error text or a refusal, not a summary."
    tokens = count(text)
    if tokens >= replaced_tokens:
        return f"The summary has {tokens:,} tokens and must be shorter than the {replaced_tokens:,} that it replaces."
    units = [similarity.tokens(unit) for unit in sentences.split(text)]
    repeated = len(units) - len(set(units))
    if repeated > MAX_REPEATED * len(units):
        return f"{repeated} of the {len(units)} lines of the summary repeat others."
    return _copied(text, summary_text(previous or ""), salient)


def extractive(messages: Sequence[Message], *, previous: str | None, budget: int, count: Callable[[str], int], candidates: Sequence[str] = ()) -> str:
    """Make a summary of the conversation's own sentences, at most ``budget`` tokens, marked as such (D5).

    What the previous summary says comes first (its newest lines, within two fifths of the budget), then the
    ``candidates`` (best first), then the sentences that rank best; the order is that in which things were said.
    """
    left = budget - count(EXTRACTIVE_MARK + "\n")
    older = [line for line in summary_text(previous or "").splitlines() if line.strip() and line.strip() != EXTRACTIVE_MARK]
    kept = _that_fit(reversed(older), int(left * _PREVIOUS_SHARE), count)[::-1]
    left -= sum(count(line + "\n") for line in kept)
    order = {similarity.tokens(candidate): place for place, candidate in reversed(list(enumerate(candidates)))}
    ranked = sentence_ranking.rank(_spoken(messages))
    ranked.sort(key=lambda sentence: order.get(similarity.tokens(sentence.text), len(order)))
    said = {similarity.tokens(sentence.text) for sentence in ranked} | {similarity.tokens(_bare(line)) for line in kept}
    named = _that_fit([f"- {candidate}" for candidate in candidates if similarity.tokens(candidate) not in said], left, count)
    left -= sum(count(line + "\n") for line in named)
    chosen = sentence_ranking.choose(ranked, budget=left, count=count, known=[_bare(line) for line in kept])
    return "\n".join([EXTRACTIVE_MARK, *kept, *named, *(sentence.line() for sentence in chosen)])


def summary_message(text: str, *, last_request: Sequence[Block] | None = None, goals: Sequence[str] = ()) -> list[Block]:
    """Return the content of the message that stands for what was removed: the summary, open goals, the last request verbatim."""
    body = f"{SUMMARY_OPEN}\n{text.strip()}\n{SUMMARY_CLOSE}"
    if goals:
        body = "\n".join([body, "", OPEN_GOALS, *(f"- {goal}" for goal in goals)])
    if not last_request:
        return [{"type": "text", "text": body}]
    return [{"type": "text", "text": f"{body}\n\n{LAST_REQUEST}"}, *last_request]


def summary_text(text: str) -> str:
    """Return the summary alone, out of a summary message's text; a bare summary is given back as it is."""
    match = _SUMMARY.search(text)
    return match.group(1) if match else text


def _holds_results(message: Message) -> bool:
    return any(block.get("type") == "tool_result" for block in message.content)


def _request(prompt: Message) -> list[Block]:
    """What the person wrote, without what the host or recall put beside it."""
    aside = set(prompt.meta.get("aside", ()))
    return [block for index, block in enumerate(prompt.content) if index not in aside and not is_recall(prompt, block)]


def _copied(text: str, previous: str, salient: Sequence[str]) -> str | None:
    before = {similarity.tokens(unit) for unit in sentences.split(previous)}
    new_items = [item for item in salient if not _says(previous, item)]
    if not before or not new_items:
        return None
    copied = len(before & {similarity.tokens(unit) for unit in sentences.split(text)})
    held = sum(1 for item in new_items if _says(text, item))
    if copied >= MAX_COPIED * len(before) and held < _NEW_ITEMS_HELD * len(new_items):
        return f"The summary repeats the previous one and leaves out what is new, such as: {new_items[0]}"
    return None


def _says(text: str, item: str) -> bool:
    """Whether a text holds most of an item's words, its numbers all."""
    words = {word.lower() for word in _WORD.findall(item)}
    present = {word.lower() for word in _WORD.findall(text)}
    numbers = {word for word in words if word[0].isdigit()}
    return bool(words) and numbers <= present and len(words & present) * 2 > len(words)


def _that_fit(lines: Iterable[str], budget: int, count: Callable[[str], int]) -> list[str]:
    kept: list[str] = []
    for line in lines:
        tokens = count(line + "\n")
        if tokens <= budget:
            kept.append(line)
            budget -= tokens
    return kept


def _bare(line: str) -> str:
    return re.sub(rf"^- (?:(?:{'|'.join(sentence_ranking.SPEAKERS.values())}): )?", "", line)


def _spoken(messages: Sequence[Message]) -> list[sentence_ranking.Spoken]:
    found: list[sentence_ranking.Spoken] = []
    for message in messages:
        if message.kind == "prompt":
            found.append(sentence_ranking.Spoken("\n".join(block["text"] for block in _request(message) if block.get("type") == "text"), "user"))
        elif message.kind == "reply":
            found.append(sentence_ranking.Spoken(message.text, "agent"))
        elif message.kind == "results":
            found.append(sentence_ranking.Spoken("\n".join(_result_texts(message)), "tool"))
    return found


def _result_texts(message: Message) -> list[str]:
    texts: list[str] = []
    for block in message.content:
        content = block.get("content")
        if isinstance(content, str):
            texts.append(content)
        elif isinstance(content, list):
            texts += [part["text"] for part in content if part.get("type") == "text"]
    return texts
