"""The side branches: notes for a flush, and an extractive summary for a compression."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from memflush_jupyter.models.offline.remember import memory_lines, statements

if TYPE_CHECKING:
    from memflush_jupyter.models.offline.conversation import Conversation

_CANDIDATES = re.compile(r"^<candidates>\s*$(.*?)^</candidates>\s*$", re.DOTALL | re.MULTILINE)
_BOLD = re.compile(r"^\*\*(.+?)\*\*", re.MULTILINE)
_MOST_NOTES = 12
_SHARE = 0.3
_MOST_CHARS = 3200


def candidates(text: str) -> list[str]:
    """The bullets between ``<candidates>`` and ``</candidates>``."""
    block = _CANDIDATES.search(text)
    return [line[2:].strip() for line in block[1].splitlines() if line.startswith("- ") and line[2:].strip()] if block else []


def is_flush(conversation: Conversation, purpose: str) -> bool:
    """Whether the request asks for notes: by its purpose, or by the candidates in its last message."""
    return purpose == "flush" or bool(_CANDIDATES.search(conversation.raw_last_text))


def findings(conversation: Conversation, last: int = 12) -> list[str]:
    """The headlines of the analyst's own answers, oldest first."""
    found = [" ".join(match[1].split()) for _, reply in conversation.replies for match in _BOLD.finditer(reply) if re.search(r"\d", match[1])]
    return list(dict.fromkeys(found))[-last:]


def flush_notes(conversation: Conversation) -> list[str]:
    """Durable notes: the candidates offered, what the person stated, what was found; nothing that memory already holds."""
    own = [prompt for prompt in conversation.prompts if not _CANDIDATES.search(prompt)]
    # The instruction is the last prompt; it is the host's, not the person's.
    own = own if len(own) < len(conversation.prompts) else own[:-1]
    found = [*candidates(conversation.raw_last_text), *statements(own), *findings(conversation, 8)]
    known = {_same(line) for line in memory_lines(conversation.system)}
    for step in conversation.steps:
        if step.call.name == "memory_write":
            known.update(_same(str(note)) for note in step.call.input.get("notes") or [])
    notes: dict[str, str] = {}
    for note in found:
        key = _same(note)
        if key and key not in known and not any(key in other or other in key for other in notes):
            notes[key] = note
    return list(notes.values())[:_MOST_NOTES]


def _same(text: str) -> str:
    return " ".join(re.findall(r"[^\W_]+(?:\.\d+)?", text.casefold()))


def summary(conversation: Conversation, request: dict[str, Any]) -> str:
    """An extractive summary under headings, shorter than what it replaces; facts of the previous summary come along."""
    size = len(conversation.raw_last_text) + sum(len(str(message.get("content"))) for message in request.get("messages") or [])
    budget = max(200, min(_MOST_CHARS, int(size * _SHARE)))
    own = conversation.prompts[:-1]
    transcript = conversation.raw_last_text if not own else ""
    parts: dict[str, list[str]] = {
        "Requests": _requests(conversation, own),
        "Preferences and decisions": statements(own),
        "Findings": findings(conversation) + [match[1] for match in _BOLD.finditer(transcript) if re.search(r"\d", match[1])],
        "Data and variables": _data(conversation),
        "From before": _before(conversation),
    }
    if not any(parts.values()):
        parts["From before"] = [line.strip() for line in transcript.splitlines() if re.search(r"\d|decid|prefer|remember", line)][:20]
    return _fit(parts, budget)


def _requests(conversation: Conversation, own: list[str]) -> list[str]:
    lines = [" ".join(prompt.split())[:240] for prompt in own]
    if lines and not conversation.summaries:
        lines[0] = f"The first request was: {lines[0]}"
    return lines


def _data(conversation: Conversation) -> list[str]:
    lines: list[str] = []
    for step in conversation.steps:
        if step.call.name == "run_python" and not step.outcome.is_error:
            loaded = re.search(r"^([^\W\d]\w*) = (pd\.read_\w+\(.*\)|load_penguins\(\))$", str(step.call.input.get("code", "")), re.MULTILINE)
            if loaded:
                lines.append(f"`{loaded[1]}` was made by `{loaded[2]}`.")
        elif step.call.name == "inspect_variables" and not step.outcome.is_error:
            lines += [line for line in step.outcome.text.splitlines() if re.match(r"[^\W\d]\w*: DataFrame", line)]
    return list(dict.fromkeys(lines))


def _before(conversation: Conversation) -> list[str]:
    lines = [line.strip().removeprefix("- ") for text in conversation.summaries for line in text.splitlines() if line.strip().startswith("- ")]
    return list(dict.fromkeys(lines))


def _fit(parts: dict[str, list[str]], budget: int) -> str:
    """Take lines in turn from each part, newest of the findings first, until the budget is used."""
    queues = {title: list(dict.fromkeys(lines)) for title, lines in parts.items() if lines}
    taken: dict[str, set[str]] = {title: set() for title in queues}
    order = {title: (lines[:1] + lines[:0:-1] if title in {"Requests", "Findings"} else list(lines)) for title, lines in queues.items()}
    seen: set[str] = set()
    left = budget
    while any(order.values()):
        for title, lines in order.items():
            if not lines:
                continue
            line = lines.pop(0)
            cost = len(line) + 3 + (len(title) + 5 if not taken[title] else 0)
            if cost <= left and line not in seen:
                taken[title].add(line)
                seen.add(line)
                left -= cost
    blocks = [f"## {title}\n" + "\n".join(f"- {line}" for line in queues[title] if line in taken[title]) for title in queues if taken[title]]
    return "\n\n".join(blocks) or "## Requests\n- Nothing of note."
