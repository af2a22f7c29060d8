"""Tool calls written as text are understood, and JSON in prose is left alone (C7)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memflush_jupyter.models.pieces import ModelReply, TextPiece, ToolPiece
from memflush_jupyter.models.streaming import TOOL_ID
from memflush_jupyter.models.textcalls import could_start, fits, parse_text_calls
from memflush_jupyter.models.textstream import TextCallReader
from memflush_jupyter.trace.models import Usage

TOOLS: list[dict[str, Any]] = [
    {"name": "memory_write", "input_schema": {"type": "object", "properties": {"notes": {"type": "array"}, "file": {"type": "string"}}, "required": ["notes"]}},
    {"name": "run_python", "input_schema": {"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"]}},
    {"name": "list_files", "input_schema": {"type": "object", "properties": {"path": {"type": "string"}, "depth": {"type": "integer"}}}},
]
RUN = ("run_python", {"code": "1 + 1"})
WRITE = ("memory_write", {"notes": ["a"]})

STYLES = {
    "hermes": '<tool_call>\n{"name": "run_python", "arguments": {"code": "1 + 1"}}\n</tool_call>',
    "unclosed": '<tool_call>\n{"name": "run_python", "arguments": {"code": "1 + 1"}}',
    "function_call": '<function_call>{"name": "run_python", "arguments": {"code": "1 + 1"}}</function_call>',
    "tool_use": '<tool_use>{"name": "run_python", "input": {"code": "1 + 1"}}</tool_use>',
    "qwen_tools": '<tools>\n{"name": "run_python", "arguments": {"code": "1 + 1"}}\n</tools>',
    "qwen_coder": "<tool_call>\n<function=run_python>\n<parameter=code>\n1 + 1\n</parameter>\n</function>\n</tool_call>",
    "function": "<function=run_python>\n<parameter=code>1 + 1</parameter>\n</function>",
    "llama31": '<function=run_python>{"code": "1 + 1"}</function>',
    "llama_tag": '<|python_tag|>{"name": "run_python", "parameters": {"code": "1 + 1"}}',
    "mistral": '[TOOL_CALLS] [{"name": "run_python", "arguments": {"code": "1 + 1"}}]',
    "fence_json": '```json\n{"name": "run_python", "arguments": {"code": "1 + 1"}}\n```',
    "fence": '```\n{"name": "run_python", "arguments": {"code": "1 + 1"}}\n```',
    "fence_tool": '~~~tool_call\n{"name": "run_python", "arguments": {"code": "1 + 1"}}\n~~~',
    "bare": '{"name": "run_python", "arguments": {"code": "1 + 1"}}',
    "bare_pretty": '{\n  "name": "run_python",\n  "arguments": {\n    "code": "1 + 1"\n  }\n}',
    "bare_input": '{"tool": "run_python", "input": {"code": "1 + 1"}}',
    "bare_function": '{"type": "function", "function": {"name": "run_python", "arguments": "{\\"code\\": \\"1 + 1\\"}"}}',
    "function_name": '{"function": "run_python", "args": {"code": "1 + 1"}}',
    "keyed": '{"run_python": {"code": "1 + 1"}}',
    "tool_calls": '{"tool_calls": [{"name": "run_python", "arguments": {"code": "1 + 1"}}]}',
    "list": '[{"name": "run_python", "arguments": {"code": "1 + 1"}}]',
}


def calls(text: str, tools: list[dict[str, Any]] = TOOLS) -> tuple[str, list[tuple[str, dict[str, Any]]]]:
    rest, blocks = parse_text_calls(text, tools)
    return rest, [(block["name"], block["input"]) for block in blocks]


@pytest.mark.parametrize("style", STYLES)
def test_call_alone_is_understood(style: str) -> None:
    assert calls(STYLES[style]) == ("", [RUN])


@pytest.mark.parametrize("style", [style for style in STYLES if style != "unclosed"])
def test_call_with_prose_around_leaves_the_prose(style: str) -> None:
    assert calls(f"Let me compute that.\n\n{STYLES[style]}\n\nThen I will tell you.") == ("Let me compute that.\n\nThen I will tell you.", [RUN])


@pytest.mark.parametrize("style", STYLES)
def test_call_for_a_tool_that_was_not_offered_is_text(style: str) -> None:
    assert calls(STYLES[style], TOOLS[:1]) == (STYLES[style], [])


@pytest.mark.parametrize("style", STYLES)
def test_call_whose_input_lacks_what_is_required_is_text(style: str) -> None:
    text = STYLES[style].replace("code", "kode")
    assert calls(text) == (text, [])


@pytest.mark.parametrize(
    "text",
    [
        (
            '<tool_call>{"name": "run_python", "arguments": {"code": "1 + 1"}}</tool_call>\n'
            '<tool_call>{"name": "memory_write", "arguments": {"notes": ["a"]}}</tool_call>'
        ),
        '```json\n{"name": "run_python", "arguments": {"code": "1 + 1"}}\n{"name": "memory_write", "arguments": {"notes": ["a"]}}\n```',
        '```json\n[{"name": "run_python", "arguments": {"code": "1 + 1"}}, {"name": "memory_write", "arguments": {"notes": ["a"]}}]\n```',
        '{"name": "run_python", "arguments": {"code": "1 + 1"}}\n{"name": "memory_write", "arguments": {"notes": ["a"]}}',
        '<tool_calls>[{"name": "run_python", "arguments": {"code": "1 + 1"}}, {"name": "memory_write", "arguments": {"notes": ["a"]}}]</tool_calls>',
    ],
)
def test_several_calls_keep_their_order_and_have_ids_of_their_own(text: str) -> None:
    rest, blocks = parse_text_calls(text, TOOLS)
    assert rest == ""
    assert [(block["name"], block["input"]) for block in blocks] == [RUN, WRITE]
    assert len({block["id"] for block in blocks}) == 2
    assert all(TOOL_ID.match(block["id"]) for block in blocks)


@pytest.mark.parametrize(
    "text",
    [
        "Nothing to call here.",
        "",
        "{",
        "[1, 2, 3]",
        '{"a": 1}',
        '{"name": "Alice", "arguments": "none"}',
        'The config is:\n\n```json\n{"name": "penguins", "rows": 344}\n```',
        'For example, a call looks like this:\n\n```json\n{"name": "run_python", "arguments": {"code": "1"}}\n```',
        'Such as:\n{"name": "run_python", "arguments": {"code": "1"}}',
        "```python\nrun_python(code='1 + 1')\n```",
        '```python\n{"name": "run_python", "arguments": {"code": "1"}}\n```',
        'Use `{"name": "run_python", "arguments": {"code": "1"}}` to run code.',
        'I saved {"name": "run_python", "arguments": {"code": "1"}} in a variable.',
        '{"name": "run_python", "arguments": {"code": "1"}} is what I would send.',
        "<tool_call>not json</tool_call>",
        '<tool_call>{"name": "run_python", "arguments": {"code": "1 +',
        '{"name": "run_python", "code": "1"}',
        '```json\n{"name": "run_python", "arguments": {"code": "1"}}\nand more\n```',
    ],
)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert calls(text) == (text, [])


def test_raw_line_breaks_in_json_strings_are_let_pass() -> None:
    assert calls('<tool_call>{"name": "run_python", "arguments": {"code": "a = 1\nb = 2"}}</tool_call>') == ("", [("run_python", {"code": "a = 1\nb = 2"})])


def test_parameters_take_the_type_of_the_schema() -> None:
    text = "<function=list_files><parameter=path>123</parameter><parameter=depth>2</parameter></function>"
    assert calls(text) == ("", [("list_files", {"path": "123", "depth": 2})])


def test_missing_arguments_are_an_empty_input_where_nothing_is_required() -> None:
    assert calls('{"name": "list_files", "arguments": null}') == ("", [("list_files", {})])


def test_ids_are_deterministic_and_avoid_used_ones() -> None:
    """The same text in a later turn must not repeat an id (P6)."""
    first = parse_text_calls(STYLES["bare"], TOOLS)[1][0]["id"]
    assert parse_text_calls(STYLES["bare"], TOOLS)[1][0]["id"] == first
    assert parse_text_calls(STYLES["bare"], TOOLS, used_ids=[first])[1][0]["id"] != first
    assert parse_text_calls(STYLES["bare"], TOOLS, seed="other")[1][0]["id"] != first


@pytest.mark.parametrize(
    ("value", "expected"),
    [({"code": "x"}, True), ({}, False), ({"code": 1}, False), ({"code": True}, False), ({"code": None}, True), ({"code": "x", "extra": 1}, True)],
)
def test_schema_is_read_loosely(value: dict[str, Any], expected: bool) -> None:
    assert fits(value, TOOLS[1]["input_schema"]) is expected


def test_input_with_only_unknown_properties_does_not_fit() -> None:
    assert not fits({"foo": 1}, TOOLS[2]["input_schema"])


@given(st.text(alphabet=st.sampled_from('{}[]"`~<>=/|:, \nabtoolcallnamepythonrun_'), max_size=200))
def test_no_text_breaks_the_parser_or_makes_a_call_of_nothing(text: str) -> None:
    rest, blocks = parse_text_calls(text, TOOLS)
    assert blocks or rest == text


# -- in a stream -------------------------------------------------------------------------------------------------------


def stream(text: str, size: int, *, stop: str = "end_turn", fault: str | None = None) -> tuple[str, list[Any], ModelReply]:
    reader = TextCallReader(TOOLS, seed="s")
    shown = [piece for start in range(0, len(text), size) for piece in reader.pass_on([TextPiece(text[start : start + size], 0)])]
    content = [{"type": "text", "text": text}] if text.strip() else []
    *rest, reply = reader.finish(ModelReply(content, stop, Usage(), "m", fault), used_ids=())
    assert isinstance(reply, ModelReply)
    texts = "".join(piece.text for piece in [*shown, *rest] if isinstance(piece, TextPiece))
    return texts, [piece for piece in rest if isinstance(piece, ToolPiece)], reply


@pytest.mark.parametrize("size", [1, 3, 10, 1000])
@pytest.mark.parametrize("style", STYLES)
def test_nothing_of_a_streamed_call_is_shown(style: str, size: int) -> None:
    text, tools, reply = stream(f"I will compute.\n\n{STYLES[style]}", size)
    assert text.rstrip() == "I will compute."
    assert tools == [ToolPiece(1, "run_python")]
    assert reply.from_text
    assert reply.stop_reason == "tool_use"
    assert reply.content[0] == {"type": "text", "text": "I will compute."}
    assert [block["input"] for block in reply.tool_calls] == [{"code": "1 + 1"}]


@pytest.mark.parametrize("size", [1, 4, 1000])
@pytest.mark.parametrize(
    "text", ["Plain prose.", "A list:\n\n- [link](x)\n- {braces}", '```json\n{"a": 1}\n```\nDone', "a < b and c > d", "[1] a footnote", "", "x\n"]
)
def test_text_without_calls_is_shown_whole(text: str, size: int) -> None:
    shown, tools, reply = stream(text, size)
    assert (shown, tools, reply.from_text) == (text, [], False)


def test_text_after_a_call_is_shown_at_the_end() -> None:
    text, _, reply = stream(f"Before.\n\n{STYLES['fence_json']}\n\nAfter.", 5)
    assert text == "Before.\n\nAfter."
    assert reply.text == "Before.\n\nAfter."


@pytest.mark.parametrize(("stop", "fault"), [("max_tokens", None), ("end_turn", "cut")])
def test_call_in_an_untrustworthy_reply_stays_text(stop: str, fault: str | None) -> None:
    """D11: what cannot be trusted is not run."""
    text, tools, reply = stream(STYLES["bare"], 7, stop=stop, fault=fault)
    assert (text, tools, reply.tool_calls) == (STYLES["bare"], [], [])


def test_native_calls_are_never_mixed_with_written_ones() -> None:
    native = {"type": "tool_use", "id": "t", "name": "list_files", "input": {}}
    reader = TextCallReader(TOOLS, seed="s")
    list(reader.pass_on([TextPiece(STYLES["bare"], 0)]))
    *_, reply = reader.finish(ModelReply([{"type": "text", "text": STYLES["bare"]}, native], "tool_use", Usage(), "m"), used_ids=())
    assert isinstance(reply, ModelReply)
    assert reply.tool_calls == [native]


def test_prose_is_not_held_back() -> None:
    assert could_start("Just a sentence") is None
    assert could_start("see <tool_call>") == 4
    assert could_start("see <to") == 4


def test_an_input_in_a_list_of_one_is_understood():
    """C7: as a real small model wrote it."""
    text = '```json\n{"name": "memory_write", "arguments": [{"notes": ["Ann Kowalski, 2007"], "file": "memory/notes.md"}]}\n```'
    schema = {"type": "object", "properties": {"notes": {"type": "array"}, "file": {"type": "string"}}, "required": ["notes"]}
    rest, calls = parse_text_calls(text, [{"name": "memory_write", "input_schema": schema}])
    assert rest.strip() == ""
    assert [call["input"]["notes"] for call in calls] == [["Ann Kowalski, 2007"]]
