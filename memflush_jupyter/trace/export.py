"""A conversation as a file: markdown to read, JSON to process, a notebook to run again. Pure functions on plain data."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from memflush_jupyter.trace.models import Block, Message, Trace

RUN_CODE: Final = "run_python"
"""The tool whose input is code: in a notebook it becomes a code cell."""

_IMAGES = {"image/png", "image/jpeg"}
_SHOWN_KINDS = {"prompt", "reply", "results", "summary", "partial"}
_HEADINGS = {"prompt": "You", "reply": "Agent", "summary": "Summary of what came before", "partial": "Agent (cut off)"}


def to_markdown(messages: Sequence[Message], trace: Trace) -> str:
    """The conversation as markdown: text as it is, tool calls and results in fences, images and thinking left out."""
    lines = [f"# {trace.title or f'Conversation {trace.id}'}", "", _origin(trace), ""]
    for message in _shown(messages):
        body = [part for block in _spoken(message) for part in _markdown_block(block)]
        if not body:
            continue
        if message.kind in _HEADINGS:
            lines += [f"## {_HEADINGS[message.kind]} ({_reference(message)})", ""]
        for part in body:
            lines += [part, ""]
    return "\n".join(lines).rstrip() + "\n"


def to_json(messages: Sequence[Message], trace: Trace) -> str:
    """Everything the store knows of the conversation, as JSON: ``{"trace": …, "messages": […]}``, times in ISO 8601."""
    document = {"format": "memflush-trace", "version": 1, "trace": asdict(trace), "messages": [asdict(message) for message in messages]}
    return json.dumps(document, ensure_ascii=False, indent=2, default=_plain) + "\n"


def to_notebook(messages: Sequence[Message], trace: Trace) -> dict[str, Any]:
    """The conversation as a notebook (nbformat 4.5).

    Prompts and replies become markdown cells, ``run_python`` calls code cells with their results as outputs. Cell ids follow from the
    messages, so that the same conversation gives the same file.
    """
    cells: list[dict[str, Any]] = [_markdown_cell(f"{trace.id}-title", f"# {trace.title or f'Conversation {trace.id}'}\n\n{_origin(trace)}")]
    running: dict[str, dict[str, Any]] = {}
    executed = 0
    for message in _shown(messages):
        for number, block in enumerate(_spoken(message)):
            cell_id = f"{trace.id}-{message.sequence}-{number}"
            kind = block.get("type")
            if kind == "tool_use" and block.get("name") == RUN_CODE:
                executed += 1
                cell = _code_cell(cell_id, str((block.get("input") or {}).get("code", "")), executed)
                running[str(block.get("id"))] = cell
                cells.append(cell)
            elif kind == "tool_result" and block.get("tool_use_id") in running:
                running[str(block["tool_use_id"])]["outputs"] = list(_outputs(block))
            else:
                text = "\n\n".join(_markdown_block(block))
                if text:
                    heading = f"**{_HEADINGS[message.kind]}**\n\n" if message.kind in {"prompt", "summary"} else ""
                    cells.append(_markdown_cell(cell_id, heading + text))
    return {
        "cells": cells,
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
            "memflush": {"trace": trace.id, "exported": True},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def _shown(messages: Iterable[Message]) -> list[Message]:
    return [message for message in messages if message.kind in _SHOWN_KINDS and message.branch == "main"]


def _spoken(message: Message) -> list[Block]:
    aside = set(message.meta.get("aside", ()))
    return [block for index, block in enumerate(message.content) if index not in aside]


def _origin(trace: Trace) -> str:
    parts = [f"Trace `{trace.id}`", trace.created_at.strftime("%Y-%m-%d %H:%M")]
    parts += [f"`{name}`" for name in (trace.model, trace.notebook) if name]
    return " · ".join(parts)


def _reference(message: Message) -> str:
    return f"#{message.sequence}"


def _markdown_block(block: Block) -> list[str]:
    kind = block.get("type")
    if kind == "text":
        text = str(block.get("text", "")).strip()
        return [text] if text else []
    if kind == "tool_use":
        given = block.get("input") or {}
        if block.get("name") == RUN_CODE and isinstance(given.get("code"), str):
            return [_fence(given["code"], "python")]
        return [f"Tool `{block.get('name')}`:", _fence(json.dumps(given, ensure_ascii=False, indent=2), "json")]
    if kind == "tool_result":
        text = _result_text(block)
        label = "Error:" if block.get("is_error") else "Result:"
        return [label, _fence(text, "text")] if text else []
    if kind == "image":
        return ["*(an image)*"]
    return []


def _fence(text: str, language: str) -> str:
    """A fence longer than any in the text, so that nothing in it can end it."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    marks = "`" * (longest + 1)
    return f"{marks}{language}\n{text.rstrip()}\n{marks}"


def _result_text(block: Block) -> str:
    content = block.get("content", "")
    if isinstance(content, str):
        return content
    return "\n".join(str(inner.get("text", "")) if inner.get("type") == "text" else "(an image)" for inner in content if isinstance(inner, dict))


def _markdown_cell(cell_id: str, source: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "id": cell_id[:64], "metadata": {}, "source": source}


def _code_cell(cell_id: str, source: str, count: int) -> dict[str, Any]:
    return {"cell_type": "code", "id": cell_id[:64], "execution_count": count, "metadata": {}, "outputs": [], "source": source}


def _outputs(block: Block) -> Iterable[dict[str, Any]]:
    content = block.get("content", "")
    stream = "stderr" if block.get("is_error") else "stdout"
    items: list[Block] = [{"type": "text", "text": content}] if isinstance(content, str) else content
    for inner in items:
        source: dict[str, Any] = inner.get("source") or {}
        if inner.get("type") == "text" and inner.get("text"):
            yield {"output_type": "stream", "name": stream, "text": inner["text"]}
        elif inner.get("type") == "image" and source.get("media_type") in _IMAGES:
            yield {"output_type": "display_data", "data": {source["media_type"]: source.get("data", ""), "text/plain": "<Figure>"}, "metadata": {}}


def _plain(value: Any) -> Any:
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
