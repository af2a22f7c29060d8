"""P6: a request assembled from where the last one ended is the same as one assembled anew."""

from __future__ import annotations

from memflush_jupyter.context import assembly
from memflush_jupyter.trace.models import Message


def message(sequence: int, role: str, *blocks: dict[str, object], kind: str = "prompt", meta: dict[str, object] | None = None) -> Message:
    return Message("t", sequence, sequence - 1, role, kind, list(blocks), meta=meta or {})  # type: ignore[arg-type]


def text(words: str) -> dict[str, object]:
    return {"type": "text", "text": words}


def conversation() -> list[Message]:
    call = {"type": "tool_use", "id": "a", "name": "run_python", "input": {}}
    answer = {"type": "tool_result", "tool_use_id": "a", "content": [text("41")]}
    return [
        message(1, "user", text("one")),
        message(2, "assistant", call, kind="reply"),
        message(3, "user", answer, kind="results"),
        message(4, "assistant", text("it is 41"), kind="reply"),
        message(5, "assistant", text("go on"), kind="reply"),
        message(6, "user", text("two")),
        message(7, "user", text("three")),
        message(8, "assistant", {**call, "id": "a"}, kind="reply"),
    ]


def test_assembler_gives_after_each_message_what_a_fresh_one_gives() -> None:
    """P6, also while a call waits for its answer and where neighbours of one role are merged later."""
    path = conversation()
    assembler = assembly.Assembler()
    for end in range(1, len(path) + 1):
        assert assembler.wire(path[:end]) == assembly.to_wire(path[:end])


def test_assembler_gives_finished_messages_as_the_same_objects() -> None:
    path = conversation()
    assembler = assembly.Assembler()
    first = assembler.wire(path[:4])
    second = assembler.wire(path)
    assert [one is other for one, other in zip(first[:3], second, strict=False)] == [True, True, True]
    assert len(first) == 4


def test_assembler_does_not_change_what_it_gave_before() -> None:
    path = conversation()
    assembler = assembly.Assembler()
    given = assembler.wire(path[:6])
    before = assembly.to_wire(path[:6])
    assembler.wire(path)
    assert given == before


def test_assembler_begins_anew_when_the_path_is_another() -> None:
    """After a rewind, a pruning or a compaction (P6)."""
    path = conversation()
    assembler = assembly.Assembler()
    assembler.wire(path)
    summary = message(9, "user", text("what came before"), kind="summary", meta={"first_kept": 6})
    for other in (path[:3], [path[0], message(2, "assistant", text("no call"), kind="reply")], [*path, summary]):
        assert assembler.wire(other) == assembly.to_wire(other)


def test_continues_asks_for_the_same_objects_in_order() -> None:
    path = conversation()
    assert assembly.continues(path, [])
    assert assembly.continues(path, path[:3])
    assert not assembly.continues(path[:3], path)
    assert not assembly.continues(conversation(), path[:1])
