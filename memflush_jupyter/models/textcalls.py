"""Tool calls that a model wrote as text (C7).

Small models often do not use the server's native tool calls but write what their training showed them: ``<tool_call>`` with
JSON (Qwen, Hermes), ``<function=NAME>`` with ``<parameter=…>`` (Qwen-Coder), ``<|python_tag|>`` (Llama 3), ``[TOOL_CALLS]``
(Mistral), a fenced JSON block, or a bare object, alone or with prose around. A text is taken for a call only when its name
was offered and its input fits the tool's schema loosely. JSON that merely illustrates prose stays prose: inside a fence or
bare, a call must stand on lines of its own and carry both a name and its input.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memflush_jupyter.models import strict_json
from memflush_jupyter.models.streaming import make_tool_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from memflush_jupyter.trace.models import Block

_TAGGED = re.compile(r"<(tool_call|function_call|tool_calls|tool_use|tools)>\s*(.*?)\s*(?:</\1>|(?=<\1>)|\Z)", re.DOTALL)
_FUNCTION = re.compile(r"<function=([\w-]+)>(.*?)(?:</function>|\Z)", re.DOTALL)
_PARAMETER = re.compile(r"<parameter=([\w-]+)>\n?(.*?)\n?(?:</parameter>|(?=<parameter=)|\Z)", re.DOTALL)
_MARKED = re.compile(r"(?:<\|python_tag\|>|\[TOOL_CALLS\]|<\|tool_call\|>)\s*")
_FENCED = re.compile(
    r"^[ \t]*(`{3,}|~{3,})[ \t]*(json|tool_call|tool_use|tool|tool_code|function|xml)?[ \t]*\n(.*?)\n?[ \t]*\1[ \t]*$", re.DOTALL | re.MULTILINE
)
_BARE = re.compile(r"^[ \t]*(?=[{\[])", re.MULTILINE)
_STARTS = re.compile(
    r"<(?:tool_call|function_call|tool_calls|tool_use|tools)>|<function=|<\|python_tag\|>|\[TOOL_CALLS\]|<\|tool_call\|>"
    r"|^[ \t]*(?:`{3,}|~{3,})[ \t]*(?:json|tool_call|tool_use|tool|tool_code|function|xml)?[ \t]*(?=\n)|^[ \t]*[{\[]",
    re.MULTILINE,
)
_MAYBE_START = re.compile(r"(?:<[a-z_|=]{0,20}|\[[A-Z_]{0,12}|(?:^|\n)[ \t]*(?:`+|~+)[ \t]*[a-z_]{0,12}[ \t]*|(?:^|\n)[ \t]*)\Z")
_NAME_KEYS = ("name", "tool", "tool_name", "function", "function_name")
_INPUT_KEYS = ("arguments", "input", "parameters", "args", "tool_input", "params")
_EXAMPLE = re.compile(
    r"(?:for example|for instance|e\.g\.|such as|looks? like(?: this)?|would be|could be|the (?:json )?format (?:is|of)|例如|比如)[^\n]{0,80}[:：]?\s*\Z",
    re.IGNORECASE,
)
_LEFTOVERS = re.compile(r"</?(?:tool_call|function_call|tool_calls|tool_use|tools)>")
_JSON_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


@dataclass(frozen=True)
class Span:
    """A stretch of text that holds calls: ``(name, input)`` pairs."""

    start: int
    end: int
    calls: tuple[tuple[str, dict[str, Any]], ...]


def parse_text_calls(text: str, tools: Sequence[dict[str, Any]], *, seed: str = "", used_ids: Iterable[str] = ()) -> tuple[str, list[Block]]:
    """Return the text without its calls, and the calls as ``tool_use`` blocks in order.

    Ids are a hash of ``seed`` (or the text) and the position, never one of ``used_ids``: the same reply has the same ids.
    """
    spans = find_calls(text, tools)
    if not spans:
        return text, []
    seen = set(used_ids)
    blocks: list[Block] = []
    for name, value in (call for span in spans for call in span.calls):
        position = len(blocks)
        tool_id = make_tool_id(seed or text, position)
        while tool_id in seen:
            position += 1000
            tool_id = make_tool_id(seed or text, position)
        seen.add(tool_id)
        blocks.append({"type": "tool_use", "id": tool_id, "name": name, "input": value})
    return _without(text, spans), blocks


def find_calls(text: str, tools: Sequence[dict[str, Any]]) -> list[Span]:
    """Return where calls stand in ``text``, in order, without overlaps."""
    if not tools:
        return []
    offered = {str(tool.get("name")): tool.get("input_schema") or {} for tool in tools}
    spans: list[Span] = []
    for find in (_in_tags, _in_functions, _after_marks, _in_fences, _bare):
        for span in find(text, offered):
            if all(span.end <= other.start or span.start >= other.end for other in spans):
                spans.append(span)
    return sorted(spans, key=lambda span: span.start)


def could_start(text: str) -> int | None:
    """Return where a call may begin in ``text`` that is still arriving, or ``None``: what stands before can be shown."""
    start = _STARTS.search(text)
    if start is not None:
        return start.start()
    maybe = _MAYBE_START.search(text)
    return maybe.start() if maybe is not None else None


# -- the styles --------------------------------------------------------------------------------------------------------


def _in_tags(text: str, offered: dict[str, Any]) -> Iterator[Span]:
    for match in _TAGGED.finditer(text):
        body = match.group(2)
        calls = _calls(body, offered) or tuple(call for inner in _in_functions(body, offered) for call in inner.calls)
        if calls:
            yield Span(match.start(), match.end(), calls)


def _in_functions(text: str, offered: dict[str, Any]) -> Iterator[Span]:
    for match in _FUNCTION.finditer(text):
        name, body = match.group(1), match.group(2)
        schema = offered.get(name)
        if schema is None:
            continue
        stated = {key: _typed(value, schema, key) for key, value in _PARAMETER.findall(body)}
        value = stated or _first_json(body.strip())
        if isinstance(value, dict) and fits(value, schema):
            yield Span(match.start(), match.end(), ((name, value),))


def _after_marks(text: str, offered: dict[str, Any]) -> Iterator[Span]:
    for match in _MARKED.finditer(text):
        value, end = _json_at(text, match.end())
        calls = _from_value(value, offered)
        if calls:
            yield Span(match.start(), end, calls)


def _in_fences(text: str, offered: dict[str, Any]) -> Iterator[Span]:
    for match in _FENCED.finditer(text):
        if _EXAMPLE.search(text[: match.start()].rstrip()):
            continue
        calls = _calls(match.group(3), offered)
        if calls:
            yield Span(match.start(), match.end(), calls)


def _bare(text: str, offered: dict[str, Any]) -> Iterator[Span]:
    fences = [match.span() for match in re.finditer(r"^[ \t]*(`{3,}|~{3,}).*?(?:^[ \t]*\1[ \t]*$|\Z)", text, re.DOTALL | re.MULTILINE)]
    position = 0
    for match in _BARE.finditer(text):
        if match.start() < position or any(start <= match.start() < end for start, end in fences):
            continue
        value, end = _json_at(text, match.end())
        calls = _from_value(value, offered)
        rest_of_line = text[end : text.find("\n", end) if "\n" in text[end:] else len(text)]
        if calls and not rest_of_line.strip(" \t\r;,.") and not _EXAMPLE.search(text[: match.start()].rstrip()):
            yield Span(match.start(), end, calls)
            position = end


# -- from JSON to calls ------------------------------------------------------------------------------------------------


def _calls(body: str, offered: dict[str, Any]) -> tuple[tuple[str, dict[str, Any]], ...]:
    """Read one or several JSON values that fill ``body``; none when anything else stands there."""
    calls: list[tuple[str, dict[str, Any]]] = []
    position = 0
    while position < len(body):
        if body[position] in " \t\r\n,;":
            position += 1
            continue
        value, end = _json_at(body, position)
        found = _from_value(value, offered)
        if not found:
            return ()
        calls += found
        position = end
    return tuple(calls)


def _from_value(value: Any, offered: dict[str, Any]) -> tuple[tuple[str, dict[str, Any]], ...]:
    if isinstance(value, list):
        groups = [_from_value(item, offered) for item in value]
        return tuple(call for group in groups for call in group) if all(groups) else ()
    if not isinstance(value, dict):
        return ()
    wrapped = value.get("tool_calls") or value.get("function")
    if isinstance(wrapped, dict | list):
        return _from_value(wrapped, offered)
    name, inputs = _name_and_inputs(value, offered)
    if name is None or not isinstance(inputs, dict) or not fits(inputs, offered[name]):
        return ()
    return ((name, inputs),)


def _name_and_inputs(value: dict[str, Any], offered: dict[str, Any]) -> tuple[str | None, Any]:
    name = next((value[key] for key in _NAME_KEYS if isinstance(value.get(key), str)), None)
    key = next((key for key in _INPUT_KEYS if key in value), None)
    if name is None and len(value) == 1:
        # Some write {"memory_write": {"notes": […]}}.
        name, inputs = next(iter(value.items()))
    elif key is not None:
        inputs = {} if value[key] is None else value[key]
    else:
        return None, None
    if isinstance(inputs, str):
        inputs = _first_json(inputs)
    if isinstance(inputs, list) and len(inputs) == 1:
        inputs = inputs[0]  # a small model wrote {"arguments": [{…}]}
    return (name if name in offered else None), inputs


def fits(value: dict[str, Any], schema: dict[str, Any]) -> bool:
    """Tell whether an input fits a schema loosely: what is required is there, and known properties have the right JSON type."""
    properties = schema.get("properties") or {}
    if any(name not in value for name in schema.get("required") or ()):
        return False
    if properties and value and not set(value) & set(properties):
        return False
    return all(_type_fits(item, properties[name]) for name, item in value.items() if isinstance(properties.get(name), dict))


def _type_fits(value: Any, schema: dict[str, Any]) -> bool:
    wanted = schema.get("type")
    names = [wanted] if isinstance(wanted, str) else wanted if isinstance(wanted, list) else []
    if not names:
        return True
    if isinstance(value, bool):
        return "boolean" in names
    return value is None or any(isinstance(value, _JSON_TYPES.get(name, (object,))) for name in names)


def _typed(text: str, schema: dict[str, Any], name: str) -> Any:
    properties = schema.get("properties") or {}
    wanted = (properties.get(name) or {}).get("type")
    if wanted in {None, "string"}:
        return text
    try:
        return strict_json.loads(text, strict=False)
    except ValueError:
        return text


def _first_json(text: str) -> Any:
    return _json_at(text, 0)[0]


def _json_at(text: str, position: int) -> tuple[Any, int]:
    """Decode one JSON value at ``position``; small models put raw line breaks into strings, which is let pass."""
    try:
        value, end = json.JSONDecoder(strict=False).raw_decode(text, position)
        return strict_json.sound(value), end
    except (ValueError, RecursionError):
        return None, position


def _without(text: str, spans: Sequence[Span]) -> str:
    parts: list[str] = []
    position = 0
    for span in spans:
        parts.append(text[position : span.start].rstrip())
        position = span.end
    parts.append(text[position:].strip() if position else text[position:])
    return _LEFTOVERS.sub("", "\n\n".join(part for part in parts if part.strip())).rstrip()
