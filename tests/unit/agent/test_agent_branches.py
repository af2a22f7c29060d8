"""What side branches share: the watch on silence, sizes of replies, transcripts and chunks (C4, D6)."""

from __future__ import annotations

import asyncio
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memflush_jupyter.agent import branches
from memflush_jupyter.agent.branches import Patience, ask, chunked, reply_room, transcript
from memflush_jupyter.errors import ModelError
from memflush_jupyter.models.client import ModelInfo, ModelReply, ModelRequest, TextPiece
from memflush_jupyter.trace.models import Message, Usage

REQUEST = ModelRequest("m", [], [], [], 100)
REPLY = ModelReply([], "end_turn", Usage(), "m")


class Client:
    """Streams what it is given; a number is a pause in seconds, a callable is called."""

    def __init__(self, *script):
        self.script = script
        self.closed = False

    async def stream(self, request):
        try:
            for step in self.script:
                if isinstance(step, int | float):
                    await asyncio.sleep(step)
                elif callable(step):
                    step()
                else:
                    yield step
        finally:
            self.closed = True


async def test_a_reply_ends_the_wait():
    assert await ask(Client(TextPiece(0, "a"), REPLY), REQUEST, Patience(1, 1)) is REPLY


async def test_silence_ends_it_with_a_sentence_and_closes_the_stream():
    """C4."""
    client = Client(TextPiece(0, "a"), 30)
    with pytest.raises(ModelError, match=r"said nothing for 0\.1 seconds") as caught:
        await ask(client, REQUEST, Patience(0.1, 5))
    assert caught.value.kind == "timeout"
    assert client.closed


async def test_a_model_that_keeps_talking_is_not_silent_but_has_a_limit_in_all(monkeypatch):
    """C4: 300 s in all."""
    monkeypatch.setattr(branches, "_TICK_S", 0.02)
    client = Client(*[TextPiece(0, "a"), 0.02] * 50)
    with pytest.raises(ModelError, match=r"did not finish within 0\.2 seconds"):
        await ask(client, REQUEST, Patience(0.1, 0.2))


async def test_the_limit_in_all_holds_for_all_requests_together(monkeypatch):
    """C4: several rounds share one patience."""
    monkeypatch.setattr(branches, "_TICK_S", 0.02)
    patience = Patience(5, 0.15)
    await ask(Client(0.08, REPLY), REQUEST, patience)
    assert patience.spent_s >= 0.02
    with pytest.raises(ModelError, match="did not finish"):
        await ask(Client(0.2, REPLY), REQUEST, patience)


async def test_a_loop_that_was_held_up_is_nobodys_silence(monkeypatch):
    """Recipe: under C code that holds the lock a long tick is no failure."""
    monkeypatch.setattr(branches, "_TICK_S", 0.01)
    monkeypatch.setattr(branches, "_LONGEST_TICK_S", 0.02)
    client = Client(TextPiece(0, "a"), 0.01, lambda: time.sleep(0.15), 0.01, REPLY)
    assert await ask(client, REQUEST, Patience(0.1, 0.1)) is REPLY


async def test_a_stream_without_a_reply_is_an_error():
    with pytest.raises(ModelError, match="ended without a reply"):
        await ask(Client(TextPiece(0, "a")), REQUEST, Patience(1, 1))


async def test_cancelling_closes_the_stream():
    """P10."""
    client = Client(TextPiece(0, "a"), 30)
    task = asyncio.ensure_future(ask(client, REQUEST, Patience(60, 300)))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert client.closed


def info(window=10_000, max_output=8_000):
    return ModelInfo("m", window, "config", max_output, vision=False, price=None, offline=False)


@pytest.mark.parametrize(
    ("used", "guessed", "room"),
    [(1_000, 0, 8_000), (8_000, 0, 1_500), (8_000, 4_000, 1_000), (1_800, 1_800, 7_750), (9_800, 0, -412)],
)
def test_a_reply_gets_what_the_window_leaves_less_a_margin(used, guessed, room):
    """P6: a sixteenth of all, or a quarter of what is only estimated, or 256."""
    assert reply_room(info(), used, guessed) == room


def words(text: str) -> int:
    return len(text) // 3 + 1


@given(parts=st.lists(st.text(st.characters(blacklist_categories=["Cs"]), max_size=400), max_size=8), budget=st.integers(8, 60))
def test_chunks_never_lose_a_character_and_fit(parts, budget):
    """D6: split, never clipped."""
    chunks = chunked(parts, budget, words)
    joined = "\n\n".join(chunks)
    assert joined.replace("\n", "") == "".join(parts).replace("\n", "")
    assert all(words(chunk) <= budget + 2 for chunk in chunks)


def test_whole_paragraphs_stay_whole_where_they_fit():
    assert chunked(["aaa", "bbb", "ccc"], 9, len) == ["aaa", "bbb", "ccc"]
    assert chunked(["aaa", "bbb", "ccc"], 10, len) == ["aaa\n\nbbb", "ccc"]
    assert chunked([], 10, len) == []
    assert "".join(chunked(["one two three"], 8, len)).replace("\n", "") == "one two three"


def message(kind, content, sequence=1, **meta):
    return Message("t", sequence, None, "assistant" if kind == "reply" else "user", kind, content, meta=meta)


def test_a_transcript_says_who_speaks_and_leaves_out_what_recall_put_beside():
    """G6, F2."""
    shown = transcript([
        message("summary", [{"type": "text", "text": "Earlier."}]),
        message("prompt", [{"type": "text", "text": "<recalled x>old</recalled>"}, {"type": "text", "text": "Hello."}], aside=[0]),
        message("reply", [{"type": "tool_use", "id": "a", "name": "run_python", "input": {}}]),
        message("results", [{"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "x" * 4_000}]}]),
        message("reply", [{"type": "text", "text": "Done."}]),
    ])  # fmt: skip
    assert shown[0] == "SUMMARY OF WHAT CAME BEFORE: Earlier."
    assert shown[1] == "PERSON: Hello."
    assert shown[2] == f"RESULT: {'x' * 1500}\n[…]\n{'x' * 1500}"
    assert shown[3] == "ASSISTANT: Done."
    assert len(shown) == 4
