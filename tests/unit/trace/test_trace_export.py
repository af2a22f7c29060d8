"""A conversation as markdown, JSON and notebook; the cognition log as a file."""

from __future__ import annotations

import json

import nbformat
import pytest

from memflush_jupyter.trace import cognition, export


@pytest.fixture
def conversation(store, trace):
    store.update_trace(trace, title="Penguins")
    store.append(trace, role="user", kind="prompt", content=[{"type": "text", "text": "Load it"}, {"type": "text", "text": "host says"}], meta={"aside": [1]})
    store.append(
        trace,
        role="assistant",
        kind="reply",
        content=[
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            {"type": "text", "text": "Loading."},
            {"type": "tool_use", "id": "t1", "name": "run_python", "input": {"code": "df.shape"}},
            {"type": "tool_use", "id": "t2", "name": "list_files", "input": {"path": "."}},
        ],
    )
    store.append(
        trace,
        role="user",
        kind="results",
        content=[
            {
                "type": "tool_result",
                "tool_use_id": "t1",
                "content": [{"type": "text", "text": "(344, 8)"}, {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD"}}],
            },
            {"type": "tool_result", "tool_use_id": "t2", "content": "a ``` b", "is_error": True},
        ],
    )
    store.append(trace, role="user", kind="instruction", branch="flush-1", content=[{"type": "text", "text": "save now"}])
    store.append(trace, role="assistant", kind="reply", content=[{"type": "text", "text": "344 rows."}])
    return store.path(trace, whole=True), store.trace(trace)


def test_markdown_reads_as_the_conversation_went(conversation):
    messages, trace = conversation
    text = export.to_markdown(messages, trace)
    assert text == (
        f"# Penguins\n\nTrace `{trace.id}` · 2026-01-15 09:00 · `offline/analyst` · `a.ipynb`\n\n"
        "## You (#1)\n\nLoad it\n\n"
        "## Agent (#2)\n\nLoading.\n\n```python\ndf.shape\n```\n\n"
        'Tool `list_files`:\n\n```json\n{\n  "path": "."\n}\n```\n\n'
        "Result:\n\n```text\n(344, 8)\n(an image)\n```\n\n"
        "Error:\n\n````text\na ``` b\n````\n\n"
        "## Agent (#5)\n\n344 rows.\n"
    )


def test_json_holds_everything(conversation):
    messages, trace = conversation
    document = json.loads(export.to_json(messages, trace))
    assert document["trace"]["id"] == trace.id
    assert document["trace"]["created_at"] == "2026-01-15T09:00:00+01:00"
    assert [item["sequence"] for item in document["messages"]] == [1, 2, 3, 5]
    assert document["messages"][1]["content"] == messages[1].content


def test_notebook_is_valid_and_runs_the_agents_code_as_cells(conversation):
    messages, trace = conversation
    notebook = export.to_notebook(messages, trace)
    nbformat.validate(nbformat.from_dict(notebook))
    assert [cell["cell_type"] for cell in notebook["cells"]] == ["markdown", "markdown", "markdown", "code", "markdown", "markdown", "markdown"]
    code = notebook["cells"][3]
    assert code["source"] == "df.shape"
    assert code["outputs"][0] == {"output_type": "stream", "name": "stdout", "text": "(344, 8)"}
    assert code["outputs"][1]["data"]["image/png"] == "QUJD"
    assert notebook == export.to_notebook(messages, trace)


def test_empty_conversation_can_be_exported(store, trace):
    empty = store.trace(trace)
    assert export.to_markdown([], empty).startswith(f"# Conversation {trace}\n")
    assert json.loads(export.to_json([], empty))["messages"] == []
    nbformat.validate(nbformat.from_dict(export.to_notebook([], empty)))


def test_cognition_log_is_a_list_of_events(store, trace):
    store.log(trace, cognition.FLUSH, {"outcome": "saved"})
    assert json.loads(cognition.to_json(store.events(trace))) == [
        {"id": 1, "trace": trace, "event": "flush", "data": {"outcome": "saved"}, "created_at": "2026-01-15T09:00:00+01:00"}
    ]
