"""The side branches: notes for a flush, and an extractive summary for a compression."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from memflush_jupyter.memory import salience
from memflush_jupyter.memory.similarity import tokens as meaning
from memflush_jupyter.models.offline.conversation import Conversation, own_words, read
from memflush_jupyter.models.offline.remember import memory_lines, statements

if TYPE_CHECKING:
    from collections.abc import Iterable

_CANDIDATES = re.compile(r"^<candidates>\s*$(.*?)^</candidates>\s*$", re.DOTALL | re.MULTILINE)
_TRANSCRIPT = re.compile(r"<transcript>\n?(.*)\n?</transcript>", re.DOTALL)
_SPEAKER = re.compile(r"^(PERSON|ASSISTANT|RESULT|SUMMARY OF WHAT CAME BEFORE): ", re.MULTILINE)
_BEFORE = re.compile(r"\AThe summary of what came before:\n(.*?)\n\n<transcript>", re.DOTALL)
_KEPT = re.compile(r'from the one that begins with "(.*?)" on, which stay')
_WORDS = re.compile(r"at most (\d+) words")
_BOLD = re.compile(r"^\*\*(.+?)\*\*", re.MULTILINE)
_PREFIX = re.compile(r"^(?:Noted in memory|Noted|Already in memory): ")
_BOILERPLATE = re.compile(
    r"^(?:η² \(eta squared\) is|Missing values are|A correlation says|A fit is|Ordinary least squares|Fences lie|σ is"
    r"|Nothing was removed|The order is|I (?:found|look|load|compute|compare"
    r"|correlate|plot|fit|count|sort|describe) |The values \(row|Left out:|Not taken into account|The (?:first|other"
    r"|rarer)\b|`[^`]+` \d+ values|The [a-z ]+ shows `|I (?:cannot|could|do not|am|can)\b|The code (?:was not run|ran)|Nothing was computed|There (?:is|are) "
    r"(?:no|several) data frames?|You name `|The candidates in|“[^”]+” matches|Files here|I compute no answer|Set an API key)"
)
"""Sentences of the analyst's own that explain a table or announce a step: no facts to keep."""
_MOST_NOTES = 12
_NOTE_CHARS = 480
_FEWEST_WORDS = 40
_DEFAULT_WORDS = 300
HEADINGS = ("Goal", "Constraints and preferences", "Done and found", "Decisions", "State of the kernel and files", "Open")


def candidates(text: str) -> list[str]:
    """The bullets between ``<candidates>`` and ``</candidates>``."""
    block = _CANDIDATES.search(text)
    return [line[2:].strip() for line in block[1].splitlines() if line.startswith("- ") and line[2:].strip()] if block else []


def is_flush(conversation: Conversation, purpose: str) -> bool:
    """Whether the request asks for notes: by its purpose, or by the candidates in its last message."""
    return purpose == "flush" or (purpose == "turn" and bool(_CANDIDATES.search(conversation.instruction)))


def findings(replies: Iterable[str], last: int = 12) -> list[str]:
    """The headlines with figures in the analyst's own answers, oldest first."""
    found = [" ".join(match[1].split()) for reply in replies for match in _BOLD.finditer(reply) if re.search(r"\d", match[1])]
    return list(dict.fromkeys(found))[-last:]


def flush_notes(conversation: Conversation) -> list[str]:
    """Durable notes: the candidates offered, what the person stated, what was found; nothing that memory already holds."""
    spoken = _spoken(conversation)
    found = [*candidates(conversation.instruction), *statements(spoken.prompts), *findings([text for _, text in spoken.replies], 8)]
    known = {meaning(line) for line in memory_lines(conversation.system)}
    for step in conversation.steps:
        if step.call.name == "memory_write":
            known.update(meaning(str(note)) for note in step.call.input.get("notes") or [])
    notes: dict[tuple[str, ...], str] = {}
    for text in found:
        if _BOILERPLATE.match(text):
            continue
        note = _sentence(text)
        key = meaning(note)
        if key and key not in known and len(note) <= _NOTE_CHARS and not any(set(key) <= set(other) for other in notes):
            notes[key] = note
    return list(notes.values())[:_MOST_NOTES]


def _sentence(text: str) -> str:
    flat = _PREFIX.sub("", " ".join(text.split()))
    return flat if flat.endswith((".", "!", "。", "！")) else flat.rstrip(" :;,") + ("." if flat[:1].isascii() else "。")


def _spoken(conversation: Conversation) -> Conversation:
    """What was said: the messages themselves or, in a slim request, the transcript inside the instruction."""
    transcript = _TRANSCRIPT.search(conversation.instruction)
    if transcript is None:
        return conversation
    said = Conversation(summaries=list(conversation.summaries))
    before = _BEFORE.search(conversation.instruction)
    if before:
        said.summaries.append(before[1])
    parts = _SPEAKER.split(transcript[1])
    for speaker, text in zip(parts[1::2], parts[2::2], strict=False):
        if speaker == "PERSON":
            said.prompts.append(own_words(text))
        elif speaker == "ASSISTANT":
            said.replies.append((len(said.prompts) - 1, text.strip()))
        elif speaker.startswith("SUMMARY"):
            said.summaries.append(text)
    return said


def summary(request: dict[str, Any]) -> str:
    """An extractive summary under the headings asked for, within the words allowed; facts of the previous one come along."""
    whole = read(request, side=True)
    instruction = whole.instruction
    said = _spoken(read(_without_kept(request, instruction), side=True))
    allowed = _WORDS.search(_TRANSCRIPT.sub("", instruction))
    words = max(_FEWEST_WORDS, int(allowed[1]) if allowed else _DEFAULT_WORDS)
    parts: dict[str, list[str]] = {heading: [] for heading in HEADINGS}
    requests = [_clipped(" ".join(prompt.split()), 240) for prompt in said.prompts]
    if requests and not said.summaries:
        requests[0] = f"The first request was: {requests[0]}"
    parts["Goal"] = requests
    parts["Constraints and preferences"] = [_clipped(text, 300) for text in statements(said.prompts)]
    parts["Done and found"] = findings([text for _, text in said.replies], 40)
    parts["State of the kernel and files"] = _state(said)
    for candidate in _salient(said):
        if _BOILERPLATE.match(candidate.text):
            continue
        heading = "Decisions" if candidate.kind == "decision" else "Done and found" if candidate.kind in {"finding", "name"} else "Constraints and preferences"
        parts[heading].append(_clipped(_PREFIX.sub("", candidate.text), 300))
    _carry_over(parts, said.summaries)
    return _fit(parts, words)


def _without_kept(request: dict[str, Any], instruction: str) -> dict[str, Any]:
    """The request without the messages that stay after the compaction: they need no summary."""
    kept = _KEPT.search(instruction)
    messages = request.get("messages") or []
    if kept is None or not kept[1]:
        return request
    for number, message in enumerate(messages[:-1]):
        texts = (
            [str(block.get("text", "")) for block in message.get("content") or [] if isinstance(block, dict)]
            if not isinstance(message.get("content"), str)
            else [message["content"]]
        )
        if number and any(" ".join(text.split()).replace('"', "'").startswith(kept[1]) for text in texts):
            return {**request, "messages": [*messages[:number], {"role": "user", "content": [{"type": "text", "text": instruction}]}]}
    return request


def _salient(said: Conversation) -> list[salience.Candidate]:
    sources = [salience.SourceText(prompt, "user", "", 2 * number) for number, prompt in enumerate(said.prompts)]
    sources += [salience.SourceText(reply, "agent", "", 2 * number + 1) for number, reply in said.replies]
    return salience.extract(sources)


def _state(said: Conversation) -> list[str]:
    lines: list[str] = []
    for step in said.steps:
        if step.call.name == "run_python" and not step.outcome.is_error:
            loaded = re.search(r"^([^\W\d]\w*) = (pd\.read_\w+\(.*\)|load_penguins\(\))$", str(step.call.input.get("code", "")), re.MULTILINE)
            if loaded:
                lines.append(f"`{loaded[1]}` was made by `{loaded[2]}`.")
        elif step.call.name == "inspect_variables" and not step.outcome.is_error:
            lines += [line for line in step.outcome.text.splitlines() if re.match(r"[^\W\d]\w*: DataFrame", line)]
    return list(dict.fromkeys(lines))


def _carry_over(parts: dict[str, list[str]], summaries: list[str]) -> None:
    """Put the lines of earlier summaries before the new ones, each under its heading."""
    for text in reversed(summaries):
        heading = "Done and found"
        before: dict[str, list[str]] = {}
        for line in text.splitlines():
            if line.startswith("## "):
                heading = line[3:].strip() if line[3:].strip() in parts else "Done and found"
            elif line.startswith("- "):
                before.setdefault(heading, []).append(line[2:].strip())
        for title, lines in before.items():
            parts[title] = lines + parts[title]


def _clipped(text: str, limit: int) -> str:
    flat = _PREFIX.sub("", " ".join(text.split()))
    return flat if len(flat) <= limit else flat[: limit - 1].rsplit(" ", 1)[0] + "…"


def _size(text: str) -> int:
    """Words, CJK characters counted as a word for two."""
    return len(text.split()) + len(re.findall(r"[\u3040-\u9fff]", text)) // 2


def _fit(parts: dict[str, list[str]], words: int) -> str:
    """Take lines in turn from each part, the first and then the newest, until the words are used; none says the same twice."""
    waiting: dict[str, list[str]] = {}
    seen: set[tuple[str, ...]] = set()
    for title, lines in parts.items():
        for line in lines:
            key = meaning(line)
            if key and key not in seen:
                seen.add(key)
                waiting.setdefault(title, []).append(line)
    queues = {title: lines[:1] + lines[:0:-1] for title, lines in waiting.items()}
    taken: dict[str, set[str]] = {title: set() for title in queues}
    while any(queues.values()):
        for title, lines in queues.items():
            line = lines.pop(0) if lines else ""
            cost = _size(line) + 1 + (_size(title) + 1 if not taken[title] else 0)
            if line and cost <= words:
                taken[title].add(line)
                words -= cost
    blocks = [f"## {title}\n" + "\n".join(f"- {line}" for line in lines if line in taken[title]) for title, lines in waiting.items() if taken[title]]
    return "\n\n".join(blocks) or "## Done and found\n- Nothing was said that must be kept."
