"""The prompts: files with names and versions (``prompts/*.md``), each replaceable by an option.

A placeholder is filled by plain replacement, never by ``str.format``: candidates and custom prompts hold braces.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memflush_jupyter.config import MemFlush

SILENCE_HINT = "If there is nothing to store, answer with NO_REPLY alone."
FLUSH_INSTRUCTION_TOKENS = 800
"""The flush instruction with its candidates, in tokens, at most (C4)."""
SOURCES_TOKENS = 500
"""What the evaluation is told of the entries, in tokens: their words where they fit, else their titles, else their ids alone."""
MOST_UPLOADS = 5
"""Findings that one extraction may save."""
NAMES = (
    "system", "flush", "compression", "flush_slim", "compression_slim", "fused", "extraction", "extraction_completion", "evaluation", "side_slim",
)  # fmt: skip
"""The prompt files of the package."""

_SILENCE = re.compile(r"NO_REPLY|\[SILENT\]", re.IGNORECASE)
_FRONT = re.compile(r"\A---\n(.*?)\n---\n", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt file. ``version`` rises with each change of meaning, so that a record can name what was used."""

    name: str
    version: str
    text: str

    @property
    def sentences(self) -> list[str]:
        """Its sentences, so that a model's echo of them is not kept as a note (C14)."""
        pieces = [*re.split(r"(?<=[.!?:;])\s+|\n+", self.text), *re.split(r"(?<=[.!?])\s+|\n+", self.text), *self.text.splitlines()]
        return [piece.strip(" -#") for piece in pieces if len(piece.strip(" -#")) > 8]  # noqa: PLR2004 - shorter pieces are no sentences


@cache
def load(name: str) -> Prompt:
    """Read a prompt file of the package."""
    raw = files("memflush_jupyter.agent").joinpath("prompts", f"{name}.md").read_text(encoding="utf-8")
    front = _FRONT.match(raw)
    header = dict(line.split(": ", 1) for line in front.group(1).splitlines()) if front else {}
    body = raw[front.end() :] if front else raw
    return Prompt(header.get("name", name), header.get("version", "0"), body.strip())


def system_text(config: MemFlush) -> str:
    """The static system prompt, ≤ 700 tokens as shipped (A1b)."""
    return config.system_prompt or load("system").text


def flush_text(config: MemFlush, candidates: Sequence[str], count: Callable[[str], int]) -> str:
    """The flush instruction with as many candidates, best first, as fit into ``FLUSH_INSTRUCTION_TOKENS`` (C4).

    A custom prompt gets a silence hint when it lacks one, and the candidates at its end when it has no place for them.
    """
    template = config.flush_prompt or load("flush").text
    if "{candidates}" not in template:
        template += "\n{candidates}"
    if not _SILENCE.search(template):
        template += f"\n{SILENCE_HINT}"
    template = template.replace("{note_chars}", str(config.flush_note_chars)).replace("{max_notes}", str(config.flush_max_notes))
    room = FLUSH_INSTRUCTION_TOKENS - count(template) - count(_candidate_block([""]))
    chosen: list[str] = []
    for candidate in candidates:
        line = " ".join(candidate.split())
        room -= count(f"- {line}\n")
        if room < 0:
            break
        chosen.append(line)
    return template.replace("{candidates}", _candidate_block(chosen) if chosen else "").strip()


def flush_system_text(config: MemFlush) -> str:
    """The system prompt of a slim flush, one that does not ride on the main prefix."""
    return config.flush_system_prompt or load("flush_slim").text


def compression_text(config: MemFlush, *, kept: str, max_words: int, fault: str = "") -> str:
    """The summary instruction. ``kept`` is the beginning of the first message that stays; ``fault`` names what was wrong before (D12)."""
    template = config.compression_prompt or load("compression").text
    stays = f', except for the messages from the one that begins with "{kept}" on, which stay as they are' if kept else ""
    again = f"\n\nThe last try was refused: {fault} Mend that." if fault else ""
    return template.replace("{kept}", stays).replace("{max_words}", str(max_words)).replace("{fault}", again).strip()


def extraction_text(config: MemFlush, *, completion: bool, saved: Sequence[str]) -> str:
    """The instruction of an extraction, another one at completion; ``saved`` are the titles that this conversation's earlier ones saved."""
    option = config.extraction_completion_prompt if completion else config.extraction_prompt
    template = option or load("extraction_completion" if completion else "extraction").text
    known = f"Saved already, and not to be saved again: {'; '.join(saved)}." if saved else ""
    if "{saved}" not in template:
        template += "\n{saved}"
    return template.replace("{most_uploads}", str(MOST_UPLOADS)).replace("{saved}", known).strip()


def evaluation_text(config: MemFlush, sources: Sequence[tuple[str, str, str]], count: Callable[[str], int]) -> str:
    """The instruction of an evaluation. ``sources``: id, title and beginning of each entry; each id is named, its words as they fit."""
    template = config.evaluation_prompt or load("evaluation").text
    if "{sources}" not in template:
        template += "\n{sources}"
    full = [f"{key}: {title} — {body}" if body else f"{key}: {title}" if title else key for key, title, body in sources]
    titles = [f"{key}: {title}" if title else key for key, title, _ in sources]
    block = next((made for lines in (full, titles) if count(made := _source_block(lines)) <= SOURCES_TOKENS), _source_block([key for key, _, _ in sources]))
    return template.replace("{sources}", block).strip()


def fused_text(instructions: Sequence[str]) -> str:
    """Several instructions as one (section 6); a single one stays as it is."""
    return "\n\n".join([load("fused").text, *instructions] if len(instructions) > 1 else instructions)


def own_sentences(config: MemFlush) -> list[str]:
    """Every sentence of the prompts in use (C14)."""
    texts = [load(name) for name in NAMES]
    given = (
        config.system_prompt, config.flush_prompt, config.compression_prompt, config.flush_system_prompt, config.extraction_prompt,
        config.extraction_completion_prompt, config.evaluation_prompt,
    )  # fmt: skip
    custom = [Prompt("custom", "0", text) for text in given if text]
    return [sentence for prompt in [*texts, *custom] for sentence in prompt.sentences]


def _candidate_block(lines: Sequence[str]) -> str:
    listed = "\n".join(f"- {line}" for line in lines)
    lead = "A search of the conversation proposes the lines below; keep those that matter, in your words, and add what it missed."
    return f"{lead}\n<candidates>\n{listed}\n</candidates>"


def _source_block(lines: Sequence[str]) -> str:
    return "<sources>\n" + "\n".join(f"- {line}" for line in lines) + "\n</sources>"
