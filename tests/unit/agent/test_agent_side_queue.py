"""Which side branches run, in which order, and which share a request (section 6, B4, E3); and the way to the hub, once whatever happens (P4)."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memflush_jupyter.agent import evaluate, extract, outbox
from memflush_jupyter.agent.side_queue import MOST_ATTEMPTS, Needs, after_failure, batch_name, plan, requests
from memflush_jupyter.clock import FixedClock
from memflush_jupyter.errors import MemflushError, TraceError
from memflush_jupyter.trace.store import TraceStore

EVERY = Needs(flush=True, new=True, injected=True, compression=True)


@pytest.fixture
def store():
    with contextlib.closing(TraceStore.in_memory(clock=FixedClock("2026-01-15T09:00", "UTC"))) as made:
        yield made


@pytest.fixture
def trace(store):
    return store.create_trace(identity="me").id


def test_before_a_compaction_the_order_is_flush_extraction_evaluation_summary():
    assert [branch for _, branch in plan("compaction", EVERY)] == ["flush", "extraction", "knowledge_eval", "compression"]


@pytest.mark.parametrize("trigger", ["goal", "end"])
def test_at_completion_the_pending_evaluation_comes_before_the_extraction(trigger):
    assert [branch for _, branch in plan(trigger, EVERY)] == ["knowledge_eval", "extraction"]


def test_nothing_new_asks_for_no_extraction_and_nothing_injected_for_no_evaluation():
    """E3: no model call."""
    assert plan("compaction", Needs(flush=True, compression=True)) == [(0, "flush"), (3, "compression")]
    assert plan("end", Needs()) == []


def test_fused_all_but_the_summary_share_a_request_and_apart_each_has_its_own():
    """C12"""
    branches = [branch for _, branch in plan("compaction", EVERY)]
    assert requests(branches, fuse=True) == [("flush", "extraction", "knowledge_eval"), ("compression",)]
    assert requests(branches, fuse=False) == [("flush",), ("extraction",), ("knowledge_eval",), ("compression",)]
    assert requests(branches, fuse=True, flush_apart=True) == [("flush",), ("extraction", "knowledge_eval"), ("compression",)]


@given(st.lists(st.sampled_from(["flush", "extraction", "knowledge_eval", "compression"]), unique=True), st.booleans(), st.booleans())
def test_every_branch_is_asked_exactly_once_and_the_summary_last(branches, fuse, apart):
    groups = requests(branches, fuse=fuse, flush_apart=apart)
    assert sorted(branch for group in groups for branch in group) == sorted(branches)
    assert "compression" not in branches or groups[-1] == ("compression",)


def test_a_branch_is_given_up_after_its_last_failure_and_a_batch_belongs_to_one_moment():
    assert [after_failure(number) for number in range(1, MOST_ATTEMPTS + 1)] == ["queued"] * (MOST_ATTEMPTS - 1) + ["failed"]
    assert {batch_name("compaction", cycle=2, head=9), batch_name("goal", cycle=2, head=9), batch_name("end", cycle=2, head=None)} == {
        "cycle:2",
        "goal:9",
        "end:0",
    }


# -- the store's side --------------------------------------------------------------------------------------------------------------


def test_a_row_ends_once_and_what_it_covered_is_known(store, trace):
    rows = store.queue_sides(trace, "cycle:0", [(0, "flush"), (1, "extraction")], data={"head": 4})
    store.begin_sides(rows)
    assert store.end_side(rows[1], "done", through=4)
    assert not store.end_side(rows[1], "failed"), "somebody else has ended it"
    assert store.side_reached(trace, "extraction") == 4
    assert [row.branch for row in store.sides(trace, state="queued")] == ["flush"]
    assert store.sides(trace)[0].attempts == 1


def test_what_was_interrupted_was_no_try(store, trace):
    (row,) = store.queue_sides(trace, "cycle:0", [(0, "extraction")], data={"head": 4})
    store.begin_sides([row])
    store.end_side(row, "queued", "interrupted", counted=False)
    (again,) = store.sides(trace)
    assert (again.state, again.attempts) == ("queued", 0)


# -- verdicts and findings -----------------------------------------------------------------------------------------------------------


def test_each_injected_entry_gets_exactly_one_verdict(store, trace):
    """E3"""
    store.log(trace, "query", {"sources": ["k1", "k2"], "query": "depth"})
    good = {"k1": evaluate.Judged("helpful", "it worked"), "k9": evaluate.Judged("harmful", "never shown")}
    assert evaluate.record(store, trace, "me", good, trigger="compaction") == ["k1"]
    assert evaluate.record(store, trace, "me", {"k1": evaluate.Judged("harmful", "changed my mind")}, trigger="end") == []
    assert evaluate.pending(store, trace) == ["k2"]
    assert [parcel.payload["entry"] for parcel in store.to_deliver(limit=10)] == ["k1"]


@pytest.mark.parametrize(
    ("given_", "fault"),
    [
        ([{"id": "k1", "verdict": "great", "reason": "x"}], "the verdict is one of"),
        ([{"id": "k1", "verdict": "helpful", "reason": " "}], "a reason is missing"),
        ([{"id": "zz", "verdict": "helpful", "reason": "x"}], "waits for no verdict"),
        (["k1"], "is an object"),
        ("k1", "is an object"),
    ],
)
def test_a_verdict_that_cannot_be_used_gets_a_sentence(given_, fault):
    good, faults = evaluate.check(given_, ["k1", "k2"])
    assert good == {}
    assert fault in faults[0]


@pytest.mark.parametrize(
    ("call", "fault"),
    [
        ({"title": "", "body": "b", "kind": "tool"}, "needs a title"),
        ({"title": "t", "body": "b", "kind": "idea"}, "The kind is one of"),
        ({"title": "t" * 200, "body": "b", "kind": "tool"}, "Too long"),
    ],
)
def test_a_finding_that_cannot_be_used_gets_a_sentence(call, fault):
    upload, said = extract.check(call)
    assert upload is None
    assert fault in said


# -- the outbox ----------------------------------------------------------------------------------------------------------------------


class Hub:
    """Takes what it is given, once by its key; ``away`` for the next so many calls."""

    def __init__(self, away=0):
        self.taken, self.away = {}, away

    def upload(self, *, key, **finding):
        if self.away:
            self.away -= 1
            raise MemflushError("The hub cannot be reached.")
        self.taken.setdefault(key, finding)

    verdict = upload


def test_what_is_queued_twice_arrives_once_and_in_order(store, trace):
    assert outbox.queue(store, "upload", {"title": "a"}, key="1", trace=trace)
    assert not outbox.queue(store, "upload", {"title": "other"}, key="1", trace=trace)
    assert outbox.queue(store, "verdict", {"entry": "k"}, key="2", trace=trace)
    hub = Hub()
    assert outbox.deliver(store, hub) == outbox.Delivered(2)
    assert list(hub.taken.items()) == [("1", {"title": "a"}), ("2", {"entry": "k"})]
    assert outbox.deliver(store, hub) == outbox.Delivered(0)


def test_an_absent_hub_loses_nothing_and_the_reason_is_kept(store, trace):
    outbox.queue(store, "upload", {"title": "a"}, key="1", trace=trace)
    hub = Hub(away=2)
    assert outbox.deliver(store, hub).failure == "The hub cannot be reached."
    outbox.deliver(store, hub)
    (parcel,) = store.to_deliver(limit=10)
    assert (parcel.attempts, parcel.last_error) == (2, "The hub cannot be reached.")
    assert outbox.deliver(store, hub).done == 1


def test_what_the_hub_refuses_is_on_record_and_blocks_nothing_behind_it(store, trace):
    class Strict(Hub):
        def upload(self, *, key, **finding):
            if finding["title"] == "bad":
                raise outbox.RefusedError("A title is missing.")
            super().upload(key=key, **finding)

    hub = Strict()
    for key, title in (("1", "bad"), ("2", "good"), ("3", "bad")):
        outbox.queue(store, "upload", {"title": title}, key=key, trace=trace)
    assert outbox.deliver(store, hub) == outbox.Delivered(1, "", 2)
    assert list(hub.taken) == ["2"]
    assert store.to_deliver(limit=10) == [], "it is not asked again"
    assert not outbox.queue(store, "upload", {"title": "bad"}, key="1", trace=trace)


def test_a_parcel_and_its_effect_are_one_transaction(store, trace):
    """P4"""

    def failing():
        with store.together():
            outbox.queue(store, "upload", {"title": "a"}, key="1", trace=trace)
            raise TraceError("the effect failed")

    with pytest.raises(TraceError):
        failing()
    assert store.to_deliver(limit=10) == []


@settings(deadline=None, max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=20))
def test_whatever_kills_a_delivery_each_parcel_arrives_exactly_once(steps):
    """P4: a kill between the hub's write and the mark has it delivered again; by its key the hub knows it."""
    with contextlib.closing(TraceStore.in_memory(clock=FixedClock("2026-01-15T09:00", "UTC"))) as store:
        trace, hub, wanted = store.create_trace(identity="me").id, Hub(), {}
        for number, killed in steps:
            outbox.queue(store, "upload", {"title": str(number)}, key=str(number), trace=trace)
            wanted[str(number)] = {"title": str(number)}
            if killed:
                for parcel in store.to_deliver(limit=1):
                    hub.upload(key=parcel.key, **parcel.payload)  # and the mark is never made
            else:
                outbox.deliver(store, hub)
        outbox.deliver(store, hub)
        assert hub.taken == wanted
        assert store.to_deliver(limit=10) == []
