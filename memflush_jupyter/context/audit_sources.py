"""What of a message the audit reads: prose, code, and what a tool printed, each told apart."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from memflush_jupyter.context.pruning import is_recall
from memflush_jupyter.memory.salience_judges import is_labelled
from memflush_jupyter.memory.salience_noise import INSTRUCTION
from memflush_jupyter.memory.salience_text import without_injected
from memflush_jupyter.toolbox import REMEMBERING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memflush_jupyter.trace.models import Block, Message

_FENCED = re.compile(r"^[ \t]{0,8}(`{3,}|~{3,})[^\n]*\n(.*?)(?:^[ \t]{0,8}\1[`~]*[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_TABLE = re.compile(r"^[ \t]*(?:\|.*|[^\n]*\S(?: {3,}|\t)\S[^\n]*(?: {2,}|\t)\S[^\n]*)$", re.MULTILINE)
_HEADING = re.compile(r"^[ \t]{0,3}#{1,6}[ \t][^\n]*$|^[ \t]*\*\*[^*\n]{1,60}\*\*:?[ \t]*$", re.MULTILINE)
_QUOTE = re.compile(r"^[ \t]*>[^\n]*$", re.MULTILINE)
_SUMMARY = re.compile(r"<summary\b[^>]*>\n?(.*?)\n?</summary>", re.DOTALL)
_LONGEST_LINE = 400
_NORMAL = str.maketrans({chr(code): " " for code in range(128) if not chr(code).isalnum()})
_PUNCTUATION = re.compile(r"[^\w\s]|_")


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a message. ``kind``: ``prose``, ``code``, or ``output``, the lines of a tool's output that are sentences or labelled numbers."""

    kind: Literal["prose", "code", "output"]
    text: str
    origin: Literal["user", "agent", "tool"]
    trace: str
    sequence: int


def parts_of(messages: Sequence[Message]) -> list[Part]:
    """What these messages say, in order; what memory, recall and the host put there was said elsewhere (F2, G6)."""
    own = {block.get("id") for message in messages for block in message.content if block.get("type") == "tool_use" and block.get("name") in REMEMBERING}
    return [part for message in messages for part in _parts(message, own)]


def _parts(message: Message, own: set[Any]) -> Iterator[Part]:
    origin: Literal["user", "agent"] = "user" if message.kind == "prompt" else "agent"
    for index, block in enumerate(message.content):
        kind = block.get("type")
        if kind == "text" and index not in message.meta.get("aside", ()) and not is_recall(message, block):
            text = str(block.get("text", ""))
            if message.kind == "summary":
                match = _SUMMARY.search(text)
                text = match.group(1) if match else text
            yield from _spoken(text, origin, message)
        elif kind == "tool_use" and block.get("name") not in REMEMBERING:
            for value in _strings(block.get("input")):
                yield Part("code", value, "agent", message.trace, message.sequence)
        elif kind == "tool_result" and block.get("tool_use_id") not in own:
            yield Part("output", _printed(_result(block)), "tool", message.trace, message.sequence)


def _spoken(text: str, origin: Literal["user", "agent"], message: Message) -> Iterator[Part]:
    text = without_injected(text)
    if "```" in text or "~~~" in text:
        for match in _FENCED.finditer(text):
            yield Part("code", match.group(2), "agent", message.trace, message.sequence)
        text = _FENCED.sub("\n", text)
    if origin == "agent":
        text = _QUOTE.sub("", _HEADING.sub("", text))
    yield Part("prose", _TABLE.sub("", text), origin, message.trace, message.sequence)


def _printed(output: str) -> str:
    """The lines of a tool's output that say something by themselves; tables, logs and orders are left out."""
    return "\n".join(
        line
        for line in output.splitlines()
        if len(line) <= _LONGEST_LINE and is_labelled(line.strip()) and "  " not in line.strip() and not INSTRUCTION.search(line)
    )


def _result(block: Block) -> str:
    content = block.get("content", "")
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict) and part.get("type") == "text")


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)


def text_of(message: Message) -> str:
    """All that a message says, calls and results included, as it stands in the context."""
    texts: list[str] = []
    for block in message.content:
        if block.get("type") == "text":
            texts.append(str(block.get("text", "")))
        elif block.get("type") == "tool_use":
            texts += _strings(block.get("input"))
        elif block.get("type") == "tool_result":
            texts.append(_result(block))
    return "\n".join(texts)


def spoken_form(text: str) -> str:
    """The words of a text in small letters between single blanks, so that ``bill_length_mm`` is found as "bill length (mm)"."""
    text = text.lower()
    if text.isascii():
        return " ".join(text.translate(_NORMAL).split())
    return " ".join(_PUNCTUATION.sub(" ", text.translate(_NORMAL)).split())
