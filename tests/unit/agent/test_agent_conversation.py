"""The path in memory, the prefix and the parts (A4, A5, G1, P1)."""

from __future__ import annotations

import dataclasses

import pytest

from memflush_jupyter.agent import frame
from memflush_jupyter.agent.conversation import Conversation
from memflush_jupyter.agent.parts import with_instruction
from memflush_jupyter.clock import FixedClock
from memflush_jupyter.config import MemFlush
from memflush_jupyter.context.tokens import TokenCounter
from memflush_jupyter.trace.models import Usage
from memflush_jupyter.workspace import Workspace


def text(value):
    return [{"type": "text", "text": value}]


@pytest.fixture
def workspace(tmp_path):
    opened = Workspace.open(MemFlush(), tmp_path, clock=FixedClock("2026-01-15T09:00", "UTC"), environ={})
    yield opened
    opened.close()


@pytest.fixture
def conversation(workspace):
    trace = workspace.store.create_trace(identity=workspace.identity)
    return Conversation(workspace.store, trace.id, lambda: TokenCounter("x", factor=1.0))


def test_a_message_is_stored_before_it_is_returned_and_counted(conversation):
    said = conversation.add("user", "prompt", text("Hello there."))
    assert conversation.store.message(conversation.trace_id, said.sequence) == said
    assert said.tokens == TokenCounter("x", factor=1.0).message({"role": "user", "content": text("Hello there.")})
    assert (conversation.messages, conversation.trace.head, conversation.version) == ([said], 1, 1)
    assert conversation.last("prompt") is said
    assert conversation.last("reply") is None


def test_a_side_branch_leaves_path_and_head(conversation):
    """C10."""
    conversation.add("user", "prompt", text("Hello."))
    conversation.add_aside("partial", "assistant", "partial", text("Hal"), parent=1)
    assert [message.sequence for message in conversation.messages] == [1]
    assert conversation.refresh().head == 1


def test_what_another_writer_said_in_between_is_read_before_it_can_count_as_seen(conversation):
    """P1."""
    conversation.add("user", "prompt", text("Mine."))
    conversation.store.append(conversation.trace_id, role="user", kind="prompt", content=text("Theirs."))
    conversation.add("assistant", "reply", text("Answer."), usage=Usage(input=5))
    assert [message.text for message in conversation.messages] == ["Mine.", "Theirs.", "Answer."]


def test_refresh_reads_again_only_when_the_head_moved(conversation):
    conversation.add("user", "prompt", text("Mine."))
    before = conversation.messages
    conversation.refresh()
    assert conversation.messages is before
    conversation.store.append(conversation.trace_id, role="assistant", kind="reply", content=text("Theirs."))
    conversation.refresh()
    assert [message.text for message in conversation.messages] == ["Mine.", "Theirs."]
    conversation.store.rewind(conversation.trace_id, 1)
    conversation.refresh()
    assert [message.text for message in conversation.messages] == ["Mine."]


def test_the_memory_block_is_frozen_until_it_is_asked_for_afresh(workspace):
    """G1, section 6."""
    store, parts = workspace.store, workspace.parts()
    trace = store.create_trace(identity=workspace.identity)
    (workspace.memory.root / "MEMORY.md").write_text("# Memory\n\n- The unit is mm.\n")
    first = frame.memory_block(parts, trace, 100_000, "offline/analyst")
    assert "The unit is mm." in first
    (workspace.memory.root / "MEMORY.md").write_text("# Memory\n\n- The unit is cm.\n")
    assert frame.memory_block(parts, store.trace(trace.id), 100_000, "offline/analyst") == first
    assert "The unit is cm." in frame.memory_block(parts, store.trace(trace.id), 100_000, "offline/analyst", fresh=True)
    assert frame.memory_block(dataclasses.replace(parts, memory=None), trace, 100_000, "offline/analyst") == ""


def test_the_digest_changes_with_model_and_memory(workspace):
    """A4: a total measured under another prefix is told by it."""
    parts = workspace.parts()
    digests = {frame.build(parts, model, [], block).digest for model in ("offline/analyst", "local/x") for block in ("", "notes")}
    assert len(digests) == 4
    built = frame.build(parts, "offline/analyst", [], "notes")
    assert built.prefix == built.system_tokens + built.memory_tokens + built.tool_tokens
    assert (built.tool_tokens, [block["text"] for block in built.system][1:]) == (0, ["notes"])


def test_a_learned_factor_outlasts_the_kernel_and_the_offline_one_is_fixed(workspace):
    """A5, P9."""
    parts = workspace.parts()
    parts.learn("local/x", 1_000, 1_500)
    assert workspace.parts().counter("local/x").factor == pytest.approx(1.65)
    parts.learn("offline/analyst", 1_000, 1_500)
    assert parts.counter("offline/analyst").factor == 1.0


def test_an_instruction_joins_the_last_user_message_without_changing_it():
    wire = [{"role": "user", "content": text("a")}]
    assert with_instruction(wire, text("b")) == [{"role": "user", "content": [*text("a"), *text("b")]}]
    assert wire == [{"role": "user", "content": text("a")}]
    answered = [*wire, {"role": "assistant", "content": text("c")}]
    assert with_instruction(answered, text("b")) == [*answered, {"role": "user", "content": text("b")}]
    assert with_instruction([], text("b")) == [{"role": "user", "content": text("b")}]
