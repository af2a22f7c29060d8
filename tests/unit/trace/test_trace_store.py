"""The tree of messages, the flush's bookkeeping, the ledger, the log, settings and locks (rows B3–B6, C8–C10, G9; P1, P4, P7)."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memflush_jupyter.clock import FixedClock, SystemClock
from memflush_jupyter.errors import TraceError
from memflush_jupyter.trace.database import Database
from memflush_jupyter.trace.models import Note, Usage
from memflush_jupyter.trace.store import TraceStore


def sequences(messages) -> list[int]:
    return [message.sequence for message in messages]


def note(note_id: str, text: str, **more) -> Note:
    return Note(**{"id": note_id, "file": "2026-01-15.md", "text": text, "trace": None, "sequence": None, "origin": "user"} | more)


# -- traces ---------------------------------------------------------------------------------------------------------------


def test_new_trace_is_empty_and_all_its_counters_are_at_rest(store):
    """B3: before the first flush the cycle is None, which is not 0."""
    trace = store.create_trace(identity="me", notebook="a.ipynb", model="m", title="Penguins")
    assert (trace.head, trace.last_sequence, trace.compaction_count, trace.flushed_through) == (None, 0, 0, None)
    assert (trace.memory_flush_at, trace.memory_flush_compaction_count, trace.flush_failures, trace.last_flush_error) == (None, None, 0, None)
    assert (trace.identity, trace.notebook, trace.model, trace.title, trace.kind, trace.meta) == ("me", "a.ipynb", "m", "Penguins", "main", {})
    assert trace.created_at == datetime(2026, 1, 15, 8, 0, tzinfo=UTC)
    assert trace.created_at.hour == 9  # told in the person's zone
    assert store.path(trace.id) == []


def test_declared_clock_gives_the_same_ids_on_each_run(tmp_path):
    """P9: what is printed in a notebook may hold an id."""
    made = []
    for name in ("one", "two"):
        store = TraceStore.open(tmp_path / name / "s.sqlite3", clock=FixedClock("2026-01-15T09:00"))
        made.append([store.create_trace(identity=name).id for _ in range(3)])
        store.close()
    assert made[0] == made[1]
    assert len(set(made[0])) == 3
    assert all(len(trace) == 8 for trace in made[0])


def test_id_of_a_deleted_trace_is_not_given_again(store):
    """P5: a line's provenance never points to another conversation."""
    first = store.create_trace(identity="me").id
    store.delete_trace(first)
    assert store.create_trace(identity="me").id != first


def test_trace_is_found_by_a_prefix_only_it_has(store, trace):
    assert store.trace(trace[:4]).id == trace
    with pytest.raises(TraceError, match="There is no trace 'zzzz'"):
        store.trace("zzzz")
    with pytest.raises(TraceError, match="There is no trace ''"):
        store.trace("")


def test_prefix_that_fits_several_traces_is_refused(store):
    ids = [store.create_trace(identity="me").id for _ in range(40)]
    shared = next(one[0] for one in ids if sum(other.startswith(one[0]) for other in ids) > 1)
    with pytest.raises(TraceError, match="fits several traces"):
        store.trace(shared)


def test_wildcards_in_a_prefix_mean_themselves(store, trace):
    for wild in ("%", "_", "*"):
        with pytest.raises(TraceError, match="no trace"):
            store.trace(wild)


def test_traces_come_newest_first_and_by_identity(store):
    first, second, other = (store.create_trace(identity=name).id for name in ("me", "me", "you"))
    assert [trace.id for trace in store.traces("me")] == [second, first]
    assert [trace.id for trace in store.traces()] == [other, second, first]
    assert [trace.id for trace in store.traces(limit=1)] == [other]


def test_trace_written_to_last_is_listed_first(path):
    store = TraceStore.open(path, clock=SystemClock("UTC"))
    first, second = (store.create_trace(identity="me").id for _ in range(2))
    store.append(first, role="user", kind="prompt", content=[])
    assert [trace.id for trace in store.traces("me")] == [first, second]
    store.close()


def test_update_sets_known_columns(store, trace):
    moment = datetime(2026, 2, 3, 4, 5, tzinfo=UTC)
    updated = store.update_trace(trace, title="New", model="other", reflected_at=7, memory_flush_at=moment, meta={"a": [1]})
    assert (updated.title, updated.model, updated.reflected_at, updated.memory_flush_at, updated.meta) == ("New", "other", 7, moment, {"a": [1]})
    assert store.trace(trace) == updated


@pytest.mark.parametrize("name", ["colour", "number", "id; DROP TABLE traces"])
def test_update_refuses_unknown_columns(store, trace, name):
    with pytest.raises(TraceError, match="has no column") as error:
        store.update_trace(trace, **{name: 1})
    assert "title" in str(error.value)


@pytest.mark.parametrize("name", ["id", "head", "last_sequence", "created_at", "updated_at"])
def test_update_refuses_what_only_the_store_sets(store, trace, name):
    with pytest.raises(TraceError, match="cannot be set"):
        store.update_trace(trace, **{name: 1})


# -- messages -------------------------------------------------------------------------------------------------------------


def test_append_returns_what_a_later_read_gives(store, trace):
    """P4: the whole of a message survives, in every field."""
    content = [
        {"type": "thinking", "thinking": "hm", "signature": "abc="},
        {"type": "text", "text": "Größe 企鹅 🐧"},
        {"type": "tool_use", "id": "toolu_1", "name": "run_python", "input": {"code": "df", "n": 1, "x": 1.5, "deep": [None, True]}},
    ]
    usage = Usage(input=5, cache_read=6, cache_write=7, output=8)
    appended = store.append(
        trace, role="assistant", kind="reply", content=content, tokens=12, usage=usage, stop_reason="tool_use", cell_id="c1", meta={"k": [1, {"b": None}]}
    )
    assert appended == store.message(trace, appended.sequence) == store.path(trace)[0]
    assert appended.content == content
    assert (appended.sequence, appended.parent, appended.usage, appended.tokens, appended.cell_id) == (1, None, usage, 12, "c1")
    assert appended.meta == {"k": [1, {"b": None}]}


def test_head_follows_the_main_branch_and_never_a_side_branch(store, trace, say):
    """C10: the flush's own messages leave the conversation as it was."""
    one = say("one")
    aside = say("instruction", branch="flush-1", kind="instruction")
    reply = say("saved", branch="flush-1", kind="reply", role="assistant", parent=aside)
    assert store.trace(trace).head == one
    two = say("two")
    assert sequences(store.path(trace)) == [one, two]
    assert store.message(trace, two).parent == one
    assert sequences(store.side_branches(trace)) == [aside, reply]
    assert sequences(store.path(trace, head=reply)) == [one, aside, reply]


def test_rewind_and_append_make_a_new_branch_and_both_paths_stay_right(store, trace, say):
    one, two, three = say("one"), say("two"), say("three")
    rewound = store.rewind(trace, one)
    assert rewound.head == one
    four, five = say("four"), say("five")
    assert sequences(store.path(trace)) == [one, four, five]
    assert sequences(store.path(trace, head=three)) == [one, two, three]
    assert store.trace(trace).last_sequence == 5
    store.rewind(trace, three)
    assert sequences(store.path(trace)) == [one, two, three]
    assert sequences(store.path(trace, head=five)) == [one, four, five]


def test_rewind_to_nothing_begins_a_second_root(store, trace, say):
    say("one")
    assert store.rewind(trace, None).head is None
    assert store.path(trace) == []
    two = say("two")
    assert store.message(trace, two).parent is None
    assert sequences(store.path(trace)) == [two]


def test_append_after_a_named_parent_moves_the_head_there(store, trace, say):
    one, _two = say("one"), say("two")
    three = say("three", parent=one)
    assert sequences(store.path(trace)) == [one, three]
    four = say("four", parent=None)
    assert sequences(store.path(trace)) == [four]


def test_messages_that_do_not_exist_are_named_in_the_sentence(store, trace, say):
    say("one")
    with pytest.raises(TraceError, match="has no message 9"):
        store.message(trace, 9)
    with pytest.raises(TraceError, match="has no message 9"):
        say("x", parent=9)
    with pytest.raises(TraceError, match="has no message 9"):
        store.rewind(trace, 9)
    with pytest.raises(TraceError, match="has no message 9"):
        store.path(trace, head=9)
    assert store.trace(trace).last_sequence == 1


def test_head_cannot_be_moved_to_a_side_branch(store, trace, say):
    say("one")
    aside = say("x", branch="flush-1", kind="instruction")
    with pytest.raises(TraceError, match="side branch"):
        store.rewind(trace, aside)


# -- compaction and what is loaded ----------------------------------------------------------------------------------------


def compact(store, trace, first_kept):
    return store.record_compaction(trace, content=[{"type": "text", "text": "summary"}], tokens=3, meta={"first_kept": first_kept}).sequence


def test_path_begins_at_the_latest_mark_then_what_it_kept_then_the_new(store, trace, say):
    one, two, three = say("one"), say("two"), say("three")
    mark = compact(store, trace, three)
    four = say("four")
    assert sequences(store.path(trace)) == [mark, three, four]
    assert sequences(store.path(trace, whole=True)) == [one, two, three, mark, four]
    assert store.message(trace, mark).kind == "summary"
    assert store.message(trace, mark).role == "user"
    second = compact(store, trace, four)
    five = say("five")
    assert sequences(store.path(trace)) == [second, four, five]
    assert store.trace(trace).compaction_count == 2


def test_compaction_that_kept_nothing_loads_only_the_summary_and_the_new(store, trace, say):
    say("one")
    mark = store.record_compaction(trace, content=[], tokens=0, meta={}).sequence
    two = say("two")
    assert sequences(store.path(trace)) == [mark, two]


def test_mark_is_right_after_a_rewind_to_before_the_compaction(store, trace, say):
    one, two = say("one"), say("two")
    mark = compact(store, trace, two)
    three = say("three")
    store.rewind(trace, two)
    four = say("four")
    assert sequences(store.path(trace)) == [one, two, four]
    assert sequences(store.path(trace, head=three)) == [mark, two, three]
    store.rewind(trace, three)
    assert sequences(store.path(trace)) == [mark, two, three]


def test_mark_of_the_first_compaction_serves_again_after_a_rewind_behind_the_second(store, trace, say):
    say("one")
    two = say("two")
    first = compact(store, trace, two)
    three = say("three")
    compact(store, trace, three)
    store.rewind(trace, three)
    assert sequences(store.path(trace)) == [first, two, three]


def test_uncovered_holds_main_path_messages_after_the_mark_and_before_it(store, trace, say):
    """B4: what a compaction is about to remove and no flush has seen."""
    one, two = say("one"), say("two")
    say("aside", branch="flush-1", kind="instruction")
    mark = compact(store, trace, two)
    three = say("three")
    assert sequences(store.uncovered(trace, after=None)) == [one, two, mark, three]
    assert sequences(store.uncovered(trace, after=one)) == [two, mark, three]
    assert store.uncovered(trace, after=three) == []


def test_uncovered_leaves_out_what_was_rewound_away(store, trace, say):
    one, _two = say("one"), say("two")
    store.rewind(trace, one)
    three = say("three")
    assert sequences(store.uncovered(trace, after=None)) == [one, three]


# -- flush bookkeeping ----------------------------------------------------------------------------------------------------


def test_flush_is_recorded_as_a_whole(store, trace, say):
    """C9: time, cycle, reach, notes and event in one transaction; success clears the failures (C8)."""
    say("one")
    store.add_notes([note("n1", "outliers are dropped"), note("n2", "other")])
    store.record_flush_failure(trace, reason="no")
    flushed = store.record_flush(trace, compaction_count=0, flushed_through=1, notes=["n1"], event={"outcome": "saved", "saved": 1})
    assert (flushed.memory_flush_compaction_count, flushed.flushed_through, flushed.flush_failures, flushed.last_flush_error) == (0, 1, 0, None)
    assert flushed.memory_flush_at == datetime(2026, 1, 15, 8, 0, tzinfo=UTC)
    assert [one.state for one in store.notes()] == ["written", "pending"]
    assert [(one.event, one.data) for one in store.events(trace)] == [("flush", {"outcome": "saved", "saved": 1})]


def test_flush_with_an_unknown_note_changes_nothing(store, trace):
    """P2, C9: never half of it."""
    before = store.trace(trace)
    with pytest.raises(TraceError, match="no note 'gone'"):
        store.record_flush(trace, compaction_count=0, flushed_through=1, notes=["gone"], event={})
    assert store.trace(trace) == before
    assert store.events(trace) == []


def test_reach_of_a_flush_never_moves_backwards(store, trace):
    store.record_flush(trace, compaction_count=0, flushed_through=9, notes=[], event={})
    assert store.record_flush(trace, compaction_count=0, flushed_through=4, notes=[], event={}).flushed_through == 9
    assert store.record_flush(trace, compaction_count=1, flushed_through=None, notes=[], event={}).flushed_through == 9


def test_turning_to_a_branch_left_before_the_flush_takes_the_reach_back(store, trace, say):
    """P1: messages of that branch were seen by no flush, though their numbers are smaller."""
    one = say("one")
    two, three = say("two"), say("three")
    store.rewind(trace, one)
    four = say("four")
    store.record_flush(trace, compaction_count=0, flushed_through=four, notes=[], event={})
    assert store.rewind(trace, three).flushed_through == one
    assert sequences(store.uncovered(trace, after=one)) == [two, three]


def test_rewinding_along_the_path_keeps_the_reach(store, trace, say):
    one, two = say("one"), say("two")
    store.record_flush(trace, compaction_count=0, flushed_through=two, notes=[], event={})
    assert store.rewind(trace, one).flushed_through == two
    three = say("three")
    assert sequences(store.uncovered(trace, after=two)) == [three]


def test_failures_are_counted_with_their_reason_cut_and_redacted(path, clock):
    """C8."""
    store = TraceStore.open(path, clock=clock, redact=lambda text: text.replace("hunter2", "[redacted]"))
    trace = store.create_trace(identity="me").id
    store.record_flush_failure(trace, reason="first")
    failed = store.record_flush_failure(trace, reason="hunter2 " + "x" * 500)
    assert failed.flush_failures == 2
    assert failed.last_flush_error == ("[redacted] " + "x" * 500)[:200]
    store.close()


def test_compaction_begins_a_new_cycle_of_failures(store, trace):
    """C8: three failures in a cycle; the next cycle tries again."""
    store.record_flush_failure(trace, reason="no")
    store.record_compaction(trace, content=[], tokens=0, meta={})
    assert store.trace(trace).flush_failures == 0


# -- the ledger -----------------------------------------------------------------------------------------------------------


def test_notes_are_pending_until_marked_and_listed_by_file_and_state(store):
    store.add_notes([note("n1", "one"), note("n2", "two", file="topics/x.md", origin="tool", floor=True)])
    assert [(one.id, one.state, one.origin, one.floor) for one in store.notes()] == [("n1", "pending", "user", False), ("n2", "pending", "tool", True)]
    store.mark_notes(["n2"], "written")
    assert [one.id for one in store.notes(state="written")] == ["n2"]
    assert [one.id for one in store.notes(file="2026-01-15.md", state="pending")] == ["n1"]
    assert store.has_note("n1")
    assert not store.has_note("n3")


def test_adding_a_note_again_is_harmless_but_a_taken_id_is_not(store):
    """C9: a retry after a kill neither loses nor doubles."""
    store.add_notes([note("n1", "one")])
    store.mark_notes(["n1"], "written")
    store.add_notes([note("n1", "one")])
    assert [(one.id, one.state) for one in store.notes()] == [("n1", "written")]
    with pytest.raises(TraceError, match="belongs to another note"):
        store.add_notes([note("n2", "two"), note("n1", "something else")])
    assert not store.has_note("n2")


def test_note_states_and_ids_are_checked(store):
    with pytest.raises(TraceError, match="not a state"):
        store.mark_notes([], "lost")
    with pytest.raises(TraceError, match="no note 'x'"):
        store.mark_notes(["x"], "written")


def test_signals_are_counted_and_questions_kept_once(store):
    """F6 needs both."""
    store.add_notes([note("n1", "one")])
    for query in ("a", "b", "a", None):
        store.signal_note("n1", query)
    store.signal_note("gone", "a")
    assert [(one.signals, one.queries) for one in store.notes()] == [(4, ["a", "b"])]


# -- log, settings, locks -------------------------------------------------------------------------------------------------


def test_events_are_listed_by_trace_and_name(store, trace):
    other = store.create_trace(identity="me").id
    first = store.log(trace, "query", {"text": "q"})
    store.log(other, "flush", {})
    store.log(None, "dream", {})
    second = store.log(trace[:5], "flush", {"outcome": "silent"})
    assert [event.id for event in store.events(trace)] == [first, second]
    assert [event.event for event in store.events()] == ["query", "flush", "dream", "flush"]
    assert [event.data for event in store.events(trace, event="flush")] == [{"outcome": "silent"}]
    assert store.events(trace)[0].created_at == datetime(2026, 1, 15, 8, 0, tzinfo=UTC)


def test_settings_outlive_the_store_object(store, path, clock):
    """A5: the learned factor is remembered across runs."""
    assert store.get_setting("factor") is None
    store.set_setting("factor", "1.1")
    store.set_setting("factor", "1.2")
    again = TraceStore.open(path, clock=clock)
    assert again.get_setting("factor") == "1.2"
    again.close()


def test_lock_has_one_owner_until_released(store, path, clock):
    """B6: across store objects as across processes."""
    other = TraceStore.open(path, clock=clock)
    assert store.acquire("flush", "a", stale_after_s=60)
    assert not other.acquire("flush", "b", stale_after_s=60)
    assert other.acquire("dream", "b", stale_after_s=60)
    other.release("flush", "b")
    assert not other.acquire("flush", "b", stale_after_s=60)
    assert store.acquire("flush", "a", stale_after_s=60)
    store.release("flush", "a")
    assert other.acquire("flush", "b", stale_after_s=60)
    other.close()


@pytest.mark.parametrize(("later", "taken"), [(59.0, False), (60.0, False), (60.1, True), (-61.0, True)])
def test_lock_goes_over_when_its_heartbeat_is_stale(path, clock, later, taken):
    """B6: by the machine's clock, the declared one stands still; also when that clock was set back."""
    now = [1000.0]
    store = TraceStore(Database(path), clock=clock, wall=lambda: now[0])
    assert store.acquire("flush", "a", stale_after_s=60)
    now[0] += later
    assert store.acquire("flush", "b", stale_after_s=60) is taken
    store.close()


# -- forgetting -----------------------------------------------------------------------------------------------------------


def test_deleted_trace_leaves_no_row_no_hit_and_no_byte(store, path, trace, say):
    """G9: a person's right to forget, in the file too."""
    say("the xylophone is secretive")
    say("aside", branch="flush-1", kind="instruction")
    store.log(trace, "query", {"text": "xylophone"})
    keep = store.create_trace(identity="me").id
    say("marimba", trace=keep)
    store.add_notes([note("n1", "a line", trace=trace, sequence=1)])
    child = store.create_trace(identity="me", parent_trace=trace)
    assert store.delete_trace(trace) == 2
    with pytest.raises(TraceError, match="no trace"):
        store.path(trace)
    assert store.events() == []
    assert store.search("xylophone", identity=None) == []
    assert [hit.trace for hit in store.search("marimba", identity="me")] == [keep]
    assert [(one.id, one.trace, one.sequence) for one in store.notes()] == [("n1", None, None)]
    assert store.trace(child.id).parent_trace is None
    store.close()
    for file in path.parent.iterdir():
        data = file.read_bytes()
        assert b"xylophon" not in data, file
        assert b"secretive" not in data


def test_deleted_note_leaves_no_row_no_hit_and_no_byte(store, path):
    """G9."""
    store.add_notes([note("n1", "glockenspiel preferred"), note("n2", "kept")])
    assert store.delete_notes(["n1", "n9"]) == 1
    assert store.search("glockenspiel", identity=None) == []
    assert [one.id for one in store.notes()] == ["n2"]
    store.close()
    assert all(b"glockenspiel" not in file.read_bytes() for file in path.parent.iterdir())


def test_gc_gives_space_back_and_loses_nothing(store, trace, say):
    kept = store.create_trace(identity="me").id
    say("kept words", trace=kept)
    for number in range(50):
        say(f"text {number} " * 400)
    store.delete_trace(trace)
    assert store.gc() > 100_000
    assert [message.text for message in store.path(kept)] == ["kept words"]
    assert [hit.text for hit in store.search("kept", identity="me")] == ["kept words"]


def test_store_in_memory_works_like_one_on_disk(clock):
    """G4: a read-only memory folder."""
    store = TraceStore.in_memory(clock=clock)
    trace = store.create_trace(identity="me").id
    store.append(trace, role="user", kind="prompt", content=[{"type": "text", "text": "hello penguin"}])
    assert [hit.sequence for hit in store.search("penguin", identity="me")] == [1]
    assert store.gc() == 0
    store.close()
    store.close()
    with pytest.raises(TraceError, match="closed"):
        store.trace(trace)


def test_conversation_cannot_go_on_from_a_side_branch(store, trace, say):
    """C10: what a flush said never becomes part of the main path."""
    say("one")
    aside = say("x", branch="flush-1", kind="instruction")
    with pytest.raises(TraceError, match="cannot go on"):
        say("two", parent=aside)
    assert store.trace(trace).last_sequence == aside
