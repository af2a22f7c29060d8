"""The store against a plain model of it, and texts of every kind (P1, P4, P6)."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from memflush_jupyter.clock import FixedClock
from memflush_jupyter.trace import fulltext
from memflush_jupyter.trace.clean import storable
from memflush_jupyter.trace.store import TraceStore

CLOCK = FixedClock("2026-01-15T09:00")
WORDS = ["penguin", "数据", "bill_length_mm", "data/raw.csv", "3.14", "Größe", "island"]
ANY_TEXT = st.text(st.characters(), max_size=80)


class Tree(RuleBasedStateMachine):
    """Appends, side branches, rewinds, compactions and flushes in any order; a dictionary of parents knows what is right."""

    def __init__(self) -> None:
        super().__init__()
        self.store = TraceStore.in_memory(clock=CLOCK)
        self.trace = self.store.create_trace(identity="me").id
        self.parent: dict[int, int | None] = {}
        self.main: set[int] = set()
        self.kept: dict[int, int] = {}
        self.word: dict[int, str] = {}
        self.flushed: set[int] = set()
        self.head: int | None = None

    def teardown(self) -> None:
        self.store.close()

    def path_to(self, head: int | None) -> list[int]:
        found = []
        while head is not None:
            found.append(head)
            head = self.parent[head]
        return found[::-1]

    def note(self, sequence: int, parent: int | None) -> None:
        assert sequence == len(self.parent) + 1
        self.parent[sequence] = parent

    @rule(word=st.sampled_from(WORDS))
    def say(self, word: str) -> None:
        message = self.store.append(self.trace, role="user", kind="prompt", content=[{"type": "text", "text": f"about {word}"}])
        self.note(message.sequence, self.head)
        self.main.add(message.sequence)
        self.word[message.sequence] = word
        self.head = message.sequence

    @rule(data=st.data())
    def say_after(self, data: st.DataObject) -> None:
        parent = data.draw(st.sampled_from([None, *sorted(self.main)]))
        message = self.store.append(self.trace, role="user", kind="prompt", content=[{"type": "text", "text": "about penguin"}], parent=parent)
        self.note(message.sequence, parent)
        self.main.add(message.sequence)
        self.word[message.sequence] = "penguin"
        self.head = message.sequence

    @rule()
    def aside(self) -> None:
        message = self.store.append(self.trace, role="user", kind="instruction", content=[{"type": "text", "text": "penguin"}], branch="flush-1")
        self.note(message.sequence, self.head)

    @rule(data=st.data())
    def rewind(self, data: st.DataObject) -> None:
        self.head = data.draw(st.sampled_from([None, *sorted(self.main)]))
        self.store.rewind(self.trace, self.head)

    @rule(data=st.data())
    def compact(self, data: st.DataObject) -> None:
        path = self.path_to(self.head)
        if not path:
            return
        kept = data.draw(st.sampled_from(path))
        message = self.store.record_compaction(self.trace, content=[{"type": "text", "text": "penguin summary"}], tokens=1, meta={"first_kept": kept})
        self.note(message.sequence, self.head)
        self.main.add(message.sequence)
        self.kept[message.sequence] = kept
        self.head = message.sequence

    @rule()
    def flush(self) -> None:
        row = self.store.trace(self.trace)
        seen = self.store.uncovered(self.trace, after=row.flushed_through)
        self.flushed.update(message.sequence for message in seen)
        self.store.record_flush(self.trace, compaction_count=row.compaction_count, flushed_through=self.head, notes=[], event={})

    @invariant()
    def paths_are_right(self) -> None:
        path = self.path_to(self.head)
        assert self.store.trace(self.trace).head == self.head
        assert [message.sequence for message in self.store.path(self.trace, whole=True)] == path
        assert [message.sequence for message in self.store.uncovered(self.trace, after=None)] == path
        marks = [sequence for sequence in path if sequence in self.kept]
        if marks:
            mark = marks[-1]
            path = [mark, *(one for one in path if self.kept[mark] <= one < mark), *(one for one in path if one > mark)]
        assert [message.sequence for message in self.store.path(self.trace)] == path

    @invariant()
    def paths_to_other_heads_are_right(self) -> None:
        for head in list(self.parent)[-3:]:
            assert [message.sequence for message in self.store.path(self.trace, head=head, whole=True)] == self.path_to(head)

    @invariant()
    def search_finds_the_main_path_and_nothing_else(self) -> None:
        path = set(self.path_to(self.head))
        for word in ("penguin", "数据", "length"):
            wanted = {sequence for sequence in path if word in self.word.get(sequence, "")}
            assert {hit.sequence for hit in self.store.search(word, identity="me", limit=200)} == wanted

    @invariant()
    def nothing_counts_as_covered_that_no_flush_saw(self) -> None:
        """P1."""
        reach = self.store.trace(self.trace).flushed_through
        open_still = {message.sequence for message in self.store.uncovered(self.trace, after=reach)}
        assert set(self.path_to(self.head)) - open_still <= self.flushed


Tree.TestCase.settings = settings(max_examples=12, stateful_step_count=14, deadline=None)
TestTree = Tree.TestCase


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3),
    max_leaves=8,
)


@given(texts=st.lists(st.text(st.characters(), max_size=60), max_size=3), value=JSON)
@settings(max_examples=30, deadline=None)
def test_whatever_is_appended_is_read_back_as_it_was_returned(texts, value):
    """P4: any text, any tool input; only what cannot be stored is replaced."""
    store = TraceStore.in_memory(clock=CLOCK)
    trace = store.create_trace(identity="me").id
    content = [*({"type": "text", "text": text} for text in texts), {"type": "tool_use", "id": "t", "name": "run", "input": {"value": value}}]
    appended = store.append(trace, role="assistant", kind="reply", content=content, meta={"value": value})
    assert store.message(trace, 1) == appended
    assert [block["text"] for block in appended.content[:-1]] == [storable(text) for text in texts]
    assert store.delete_trace(trace) == 1
    store.close()


@given(text=st.text(st.characters(), max_size=200))
def test_storable_text_is_utf8_without_nul_and_stays_as_it_is(text):
    once = storable(text)
    assert once.encode().decode() == once
    assert "\x00" not in once
    assert storable(once) == once


ODD = ["é", "ß", "Ж", "e\u0301", "数", "据", "猫", "デ", "데", "ก", "็", "ि", "ह", "🐧", "\u200b", "\ue000", "²", "\U00040000"]
LETTERS = st.sampled_from([*"abzABZ019_-./:,\\+@ \n'\"*()", *ODD])


@given(text=st.lists(LETTERS, max_size=40).map("".join))
@settings(max_examples=60, deadline=None)
def test_asking_with_a_messages_own_words_finds_it(text):
    """G5: message and question are split alike."""
    store = TraceStore.in_memory(clock=CLOCK)
    trace = store.create_trace(identity="me").id
    store.append(trace, role="user", kind="prompt", content=[{"type": "text", "text": text}])
    assert len(store.search(text, identity="me")) == (1 if fulltext.query_terms(text) else 0)
    store.close()
