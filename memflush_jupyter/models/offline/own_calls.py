"""Calling a tool of the person's own that the prompt names: "call my_function(3)", "use my_function with x=3 and unit='kg'"."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any

from memflush_jupyter.models.offline.conversation import Call
from memflush_jupyter.toolbox import BUILT_IN

if TYPE_CHECKING:
    from memflush_jupyter.models.offline.conversation import Conversation, Outcome

_ASKS = r"\b(?:call|use|run|try|apply)\s+(?:the\s+|my\s+)?(?:tool\s+|function\s+)?"
_PAIR = re.compile(r"(\w+)\s*=\s*(\[[^\]]*\]|\{[^}]*\}|'[^']*'|\"[^\"]*\"|[^\s,;]+)")
_MOST = 600


def named_call(conversation: Conversation) -> Call | None:
    """The call of an own tool that the prompt asks for, if it does."""
    prompt = conversation.prompt[:_MOST]
    for name in sorted(conversation.tools.difference(BUILT_IN), key=lambda known: (-len(known), known)):
        found = re.search(rf"{_ASKS}`?{re.escape(name)}`?(?![\w-])(.*)", prompt, re.IGNORECASE | re.DOTALL)
        if found is None:
            continue
        rest = found.group(1)
        given = _in_brackets(rest, conversation.inputs.get(name, ())) if rest.startswith("(") else None
        return Call(name, given if given is not None else {key: _value(text) for key, text in _PAIR.findall(rest)})
    return None


def told(name: str, outcome: Outcome) -> str:
    """The answer from what the tool gave."""
    if outcome.denied:
        return f"`{name}` was not run, because it was not approved."
    body = outcome.text.strip()
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall(r"`+", body)), 3)
    return f"`{name}` {'failed' if outcome.is_error else 'gave'}:\n\n{fence}text\n{body}\n{fence}"


def _in_brackets(rest: str, names: tuple[str, ...]) -> dict[str, Any] | None:
    for end in (place for place, sign in enumerate(rest) if sign == ")"):
        try:
            call = ast.parse(f"f{rest[: end + 1]}", mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        if not isinstance(call, ast.Call) or len(call.args) > len(names):
            return None
        try:
            given = {name: ast.literal_eval(value) for name, value in zip(names, call.args, strict=False)}
            return given | {str(word.arg): ast.literal_eval(word.value) for word in call.keywords}
        except (ValueError, TypeError):
            return None
    return None


def _value(text: str) -> Any:
    text = text.rstrip(".!?")
    try:
        return ast.literal_eval({"true": "True", "false": "False", "none": "None"}.get(text.lower(), text))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text
