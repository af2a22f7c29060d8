"""What one request to the offline model holds: the person's prompts, the tools offered, and the results so far.

The model is stateless, as every Messages API model is: each request is read afresh.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

_BLOCK = re.compile(
    r"^[ \t]*<(recalled|notice|notes?|memory|memory_changed|summary|reminder|filled|failed)(?:\s[^>\n]*)?>.*?</\1>[ \t]*\n?", re.DOTALL | re.MULTILINE
)
_STUB = re.compile(r"^\[Notes recalled for this message are no longer shown\.\][ \t]*\n?", re.MULTILINE)
"""What the host leaves of a recall block that it took out to make room."""
_RECALLED = re.compile(r"<recalled[^>]*>\n?(.*?)</recalled>", re.DOTALL)
_SUMMARY_START = re.compile(r"^\s*(?:<summary|\[summary|#{1,3} (?:summary|earlier)|summary of )", re.IGNORECASE)
_HOST = re.compile(r"^\s*\[(?:memory flush|summary|host)\]|^<candidates>\s*$", re.IGNORECASE | re.MULTILINE)
_DENIED = re.compile(r"\b(?:denied|declined|not approved|not allowed|refused by|did not allow|rejected|nobody is here to approve|was not run)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call: its name and input, without an id."""

    name: str
    input: dict[str, Any]

    @property
    def key(self) -> str:
        """Equal for equal calls."""
        return json.dumps([self.name, self.input], sort_keys=True, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a tool answered. ``denied``: the person or the policy did not let it run."""

    text: str
    is_error: bool = False

    @property
    def denied(self) -> bool:
        """The call never ran because somebody said no."""
        return self.is_error and bool(_DENIED.search(self.text[:400]))


@dataclass(frozen=True, slots=True)
class Step:
    """A call with its outcome, somewhere in the conversation. ``turn``: index of the prompt it served."""

    call: Call
    outcome: Outcome
    turn: int


@dataclass(slots=True)
class Conversation:
    """A request, read. ``prompts`` are the person's own words, oldest first; the last is the one to answer.

    ``instruction``: the host's own words on a side branch, never taken for the person's; ``answered``: a reply to it stands there.
    """

    system: str = ""
    tools: frozenset[str] = frozenset()
    inputs: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """What each tool takes, in order."""
    prompts: list[str] = field(default_factory=list)
    recalled: list[str] = field(default_factory=list)
    replies: list[tuple[int, str]] = field(default_factory=list)
    summaries: list[str] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    messages: int = 0
    instruction: str = ""
    answered: bool = False
    failed: str = ""
    """The failed cell that the last prompt asks about, as the host describes it."""

    @property
    def prompt(self) -> str:
        """The words to answer; empty when there are none."""
        return self.prompts[-1] if self.prompts else ""

    def outcomes(self) -> dict[str, list[Outcome]]:
        """Outcomes of this turn's calls, by call; a call made twice has two."""
        turn = len(self.prompts) - 1
        found: dict[str, list[Outcome]] = {}
        for step in self.steps:
            if step.turn == turn:
                found.setdefault(step.call.key, []).append(step.outcome)
        return found

    def rounds_used(self) -> int:
        """How many tool calls this turn made so far."""
        turn = len(self.prompts) - 1
        return sum(step.turn == turn for step in self.steps)


def blocks_of(content: Any) -> list[dict[str, Any]]:
    """Message content as a list of blocks: the API also takes a bare string."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in content or [] if isinstance(block, dict)]


def plain_text(content: Any) -> str:
    """The text blocks of a content value, joined by newlines."""
    return "\n".join(str(block.get("text", "")) for block in blocks_of(content) if block.get("type") == "text")


def own_words(text: str) -> str:
    """A user text without the host's blocks (recall, notices): what the person wrote."""
    return _STUB.sub("", _BLOCK.sub("", text)).strip()


def recalled_lines(text: str) -> list[str]:
    """The bullets inside ``<recalled>`` blocks."""
    lines: list[str] = []
    for match in _RECALLED.finditer(text):
        for line in match.group(1).splitlines():
            if line.startswith("- "):
                lines.append(line[2:].strip())
            elif line.strip() and lines:
                lines[-1] += " " + line.strip()
    return lines


def read(request: dict[str, Any], *, side: bool = False) -> Conversation:
    """Read a Messages API request body. On a ``side`` branch the last text is the host's instruction, not the person's."""
    conversation = Conversation(
        system=plain_text(request.get("system")),
        tools=frozenset(str(tool.get("name")) for tool in request.get("tools") or []),
        inputs={str(tool.get("name")): tuple((tool.get("input_schema") or {}).get("properties") or ()) for tool in request.get("tools") or []},
    )
    open_calls: dict[str, Call] = {}
    messages = request.get("messages") or []
    conversation.messages = len(messages)
    for number, message in enumerate(messages):
        last = number == len(messages) - 1
        if message.get("role") == "assistant":
            _read_assistant(conversation, message, open_calls)
        else:
            _read_user(conversation, blocks_of(message.get("content")), open_calls, side=side and last)
    return conversation


def _read_assistant(conversation: Conversation, message: dict[str, Any], open_calls: dict[str, Call]) -> None:
    text = plain_text(message.get("content")).strip()
    conversation.answered = True
    # What is said beside a tool call announces it; the answer comes after.
    if text and not any(block.get("type") == "tool_use" for block in blocks_of(message.get("content"))):
        conversation.replies.append((len(conversation.prompts) - 1, text))
    for block in blocks_of(message.get("content")):
        if block.get("type") == "tool_use":
            raw = block.get("input")
            open_calls[str(block.get("id"))] = Call(str(block.get("name")), raw if isinstance(raw, dict) else {})


def _read_user(conversation: Conversation, blocks: list[dict[str, Any]], open_calls: dict[str, Call], *, side: bool) -> None:
    words: list[str] = []
    recalled: list[str] = []
    failed = ""
    texts = [number for number, block in enumerate(blocks) if block.get("type") == "text"]
    for number, block in enumerate(blocks):
        if block.get("type") == "tool_result":
            call = open_calls.pop(str(block.get("tool_use_id")), None)
            if call is not None:
                outcome = Outcome(plain_text(block.get("content")), bool(block.get("is_error")))
                conversation.steps.append(Step(call, outcome, len(conversation.prompts) - 1))
        elif block.get("type") == "text":
            text = str(block.get("text", ""))
            if _HOST.search(text) or (side and number == texts[-1]):
                conversation.instruction, conversation.answered = text, False
                continue
            recalled += recalled_lines(text)
            failed = text if text.startswith("<failed ") else failed
            if _SUMMARY_START.match(text):
                conversation.summaries.append(text)
                continue
            own = own_words(text)
            if own:
                words.append(own)
    if words:
        conversation.prompts.append("\n".join(words))
        conversation.recalled = recalled
        conversation.failed = failed
