"""Rows D1, D2, D8 and G6: old results are sent shorter, in batches, and the store keeps the whole."""

import copy

import pytest

from memflush_jupyter.context.pruning import RECALL_STUB, PruneState, apply, is_recall, plan
from memflush_jupyter.context.window import lines
from memflush_jupyter.trace.models import Message


class Characters:
    """Counts a token per character, so that sizes in these tests are plain to see."""

    def blocks(self, blocks):
        total = 0
        for block in blocks:
            content = block.get("text", block.get("content", ""))
            total += self.blocks(content) if isinstance(content, list) else len(content)
            total += 100 if block.get("type") == "image" else 0
        return total


COUNT = Characters()
IMAGE = {"type": "image", "source": {}}
WIDE = lines(1_000_000, 0)


def text(words):
    return {"type": "text", "text": words}


class Path:
    """Builds a path of rounds."""

    def __init__(self):
        self.messages = []

    def add(self, role, kind, content, **more):
        sequence = len(self.messages) + 1
        self.messages.append(Message("4be1c0de99", sequence, sequence - 1 or None, role, kind, content, **more))
        return self

    def prompt(self, words="Go", *extra):
        return self.add("user", "prompt", [text(words), *extra])

    def round(self, *contents, **more):
        ids = [f"c{len(self.messages)}_{n}" for n in range(len(contents))]
        self.add("assistant", "reply", [{"type": "tool_use", "id": i, "name": "run_python", "input": {}} for i in ids])
        results = [{"type": "tool_result", "tool_use_id": i, "content": c, **more} for i, c in zip(ids, contents, strict=True)]
        return self.add("user", "results", results)

    def rounds(self, count, size=10):
        for _ in range(count):
            self.round("x" * size)
        return self


def planned(path, sizes=WIDE, state=None):
    return plan(path.messages, counter=COUNT, lines=sizes, state=state or PruneState())


def sent(path, state, sequence, index=0):
    return apply(path.messages, state)[sequence - 1].content[index]


def window_of(size):
    """Lines of a window with no reserve in the way: only ``window``, ``prefix`` and the room matter here."""
    return lines(size, 0, reserve_tokens=0, reserve_tokens_floor=0)


# -- D1 ----------------------------------------------------------------------------------------------------------------


def test_a_long_old_result_is_sent_as_head_and_tail_with_a_reference():
    """D1: first 1500 + last 1500, the omitted count, and a reference that read_message can follow."""
    words = "a" * 1_500 + "b" * 9_345 + "c" * 1_500
    path = Path().prompt().round(words).rounds(3)
    state = planned(path, window_of(100_000))
    reference = '[… 9,345 characters omitted; read_message(trace="4be1c0de", sequence=3) shows the whole …]'
    assert state.actions == {(3, 0): "shorten"}
    assert sent(path, state, 3) == {"type": "tool_result", "tool_use_id": "c1_0", "content": "a" * 1_500 + f"\n{reference}\n" + "c" * 1_500}


@pytest.mark.parametrize(("size", "cut"), [(3_999, False), (4_000, False), (4_001, True)])
def test_results_up_to_4000_characters_stay_whole(size, cut):
    """D1: the limit is exclusive."""
    path = Path().prompt().round("x" * size).rounds(3)
    assert bool(planned(path, window_of(30_000)).actions) is cut


def test_the_last_three_assistant_rounds_are_never_touched():
    """D1."""
    path = Path().prompt()
    for _ in range(5):
        path.round("x" * 5_000)
    state = planned(path, window_of(200_000))
    assert set(state.actions) == {(3, 0), (5, 0)}
    few = Path().prompt().round("x" * 5_000).round("x" * 5_000).round("x" * 5_000)
    assert planned(few, window_of(100_000)).actions == {}


def test_only_tool_results_are_pruned():
    """D1: what the person and the agent wrote stays."""
    path = Path().prompt("p" * 9_000).add("assistant", "reply", [text("r" * 9_000)]).prompt().rounds(3)
    assert planned(path, window_of(100_000)).actions == {}


def test_above_half_of_the_window_old_results_become_one_line():
    """D1."""
    path = Path().prompt().round("x" * 12_345, "y" * 301, "z" * 300).rounds(3)
    used = 2 + 12_345 + 301 + 300 + 30
    half = planned(path, window_of(2 * used))
    above = planned(path, window_of(2 * used - 1))
    assert half.actions == {(3, 0): "shorten"}
    assert above.actions == {(3, 0): "stub", (3, 1): "stub"}, "300 characters are not worth a line"
    line = '[… 12,345 characters omitted; read_message(trace="4be1c0de", sequence=3) shows the whole …]'
    assert sent(path, above, 3)["content"] == line
    assert sent(path, above, 3, 1)["content"] == line.replace("12,345", "301")
    assert sent(path, above, 3, 2)["content"] == "z" * 300


def test_images_in_old_results_become_a_line():
    """D1."""
    path = Path().prompt().round([text("A plot."), IMAGE], [IMAGE, IMAGE]).rounds(3, 2_000)
    state = planned(path, window_of(20_000))
    assert state.actions == {(3, 0): "shorten", (3, 1): "shorten"}
    tail = 'omitted; read_message(trace="4be1c0de", sequence=3) shows the whole …]'
    assert sent(path, state, 3)["content"] == f"A plot.\n[… 1 image {tail}"
    assert sent(path, state, 3, 1)["content"] == f"[… 2 images {tail}"
    stubs = planned(path, window_of(10_000))
    assert set(stubs.actions.values()) == {"stub"}
    assert sent(path, stubs, 3)["content"] == f"[… 7 characters and 1 image {tail}"
    assert sent(path, stubs, 3, 1)["content"] == f"[… 2 images {tail}"


def test_a_long_result_with_an_image_says_both():
    """D1."""
    path = Path().prompt().round([text("a" * 2_500), text("b" * 2_500), IMAGE]).rounds(3)
    content = sent(path, planned(path, window_of(50_000)), 3)["content"]
    reference = '[… 2,001 characters and 1 image omitted; read_message(trace="4be1c0de", sequence=3) shows the whole …]'
    assert content == "a" * 1_500 + f"\n{reference}\n" + "b" * 1_500


def test_images_in_the_last_rounds_stay():
    """D1."""
    path = Path().prompt().round([IMAGE]).round([IMAGE]).round([IMAGE])
    assert planned(path, window_of(1_000)).actions == {}


def test_the_limit_is_an_option_and_head_and_tail_follow_it():
    """D1: prune_result_chars."""
    path = Path().prompt().round("a" * 600 + "b" * 900).rounds(3)
    state = plan(path.messages, counter=COUNT, lines=window_of(10_000), state=PruneState(limit=800))
    assert state.limit == 800
    assert state.side == 300
    content = sent(path, state, 3)["content"]
    assert content.startswith("a" * 300 + "\n[… 900 characters omitted;")
    assert content.endswith("…]\n" + "b" * 300)
    assert PruneState().side == 1_500


def test_nothing_stored_is_changed_and_untouched_messages_are_the_same_objects():
    """D1: only in what is sent."""
    path = Path().prompt().round("x" * 9_000, [text("y"), IMAGE]).rounds(3)
    before = copy.deepcopy(path.messages)
    state = planned(path, window_of(30_000))
    pruned = apply(path.messages, state)
    assert path.messages == before
    assert [new is old for new, old in zip(pruned, path.messages, strict=True)] == [True, True, False, *[True] * 6]
    assert apply(path.messages, PruneState()) == path.messages


def test_pruning_twice_is_pruning_once():
    """D1: of the plan and of its application, for a text that quotes a reference too."""
    quoted = '[… 9 characters omitted; read_message(trace="x", sequence=1) shows the whole …]'
    path = Path().prompt().round("x" * 9_000, [text(quoted + "y" * 5_000), IMAGE], [IMAGE], quoted).rounds(3)
    for size in (40_000, 20_000):
        state = planned(path, window_of(size))
        again = planned(path, window_of(size), state)
        assert again == state
        once = apply(path.messages, state)
        assert apply(once, state) == once
    assert len(sent(path, planned(path, window_of(40_000)), 3, 1)["content"]) < 3_200


# -- D2 ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("window", "batch"), [(50_320, True), (50_330, False)])
def test_the_first_batch_comes_when_a_tenth_of_the_window_is_filled(window, batch):
    """D2: 5,032 tokens are sent."""
    path = Path().prompt().round("x" * 5_000).rounds(3)
    assert bool(planned(path, window_of(window)).actions) is batch


def test_the_fixed_prefix_does_not_count_as_growth():
    """D2."""
    path = Path().prompt().round("x" * 5_000).rounds(3)
    sizes = lines(100_000, 50_000, reserve_tokens=0, reserve_tokens_floor=0)
    assert planned(path, sizes).actions == {}
    assert planned(path, sizes).mark == 50_000


def test_between_batches_what_was_sent_stays_the_same_byte_for_byte():
    """D2: the cached prefix holds, and a batch comes at most once per tenth of the window."""
    sizes, state, path = window_of(100_000), PruneState(), Path().prompt()
    batches, before = 0, []
    for number in range(60):
        path.round("x" * 1_400 if number % 3 else "y" * 4_500)
        following = planned(path, sizes, state)
        now = apply(path.messages, following)
        if following.actions == state.actions:
            assert now[: len(before)] == before
        else:
            grown = sum(COUNT.blocks(message.content) for message in apply(path.messages, state)) - (state.mark or 0)
            assert 10_000 <= grown < 10_000 + 4_500
            batches += 1
        state, before = following, now
    assert batches == 13


def test_a_batch_sets_the_mark_after_what_it_saved():
    """D2."""
    path = Path().prompt().round("x" * 9_000).rounds(3)
    state = planned(path, window_of(60_000))
    whole = 2 + 9_000 + 30
    assert state.saved == {(3, 0): 9_000 - len(sent(path, state, 3)["content"])}
    assert state.mark == whole - state.saved[3, 0]
    assert (state.base, state.through) == (1, 9)


def test_a_batch_that_finds_nothing_still_counts():
    """D2: not again at each call."""
    path = Path().prompt("p" * 1_000)
    state = planned(path, window_of(10_000))
    assert (state.mark, state.through, state.actions) == (1_000, None, {})
    assert planned(path.round("x" * 999), window_of(10_000), state).mark == 1_000
    assert planned(path.round("x"), window_of(10_000), state).mark == 2_000


def test_a_stub_is_not_turned_back_when_the_context_shrinks():
    """D2."""
    path = Path().prompt().round("x" * 9_000).rounds(3)
    state = planned(path, window_of(10_000))
    assert state.actions == {(3, 0): "stub"}
    assert planned(path.rounds(1, 30_000), window_of(200_000), state).actions == {(3, 0): "stub"}


def test_a_shortened_result_becomes_a_line_in_a_later_batch():
    """D1, D2."""
    path = Path().prompt().round("x" * 9_000).rounds(3)
    state = planned(path, window_of(30_000))
    assert state.actions == {(3, 0): "shorten"}
    path.rounds(1, 20_000)
    later = planned(path, window_of(30_000), state)
    assert later.actions[3, 0] == "stub"
    assert later.saved[3, 0] == 9_000 - len(sent(path, later, 3)["content"])
    assert later.through == 11


def test_after_a_compaction_pruning_begins_anew():
    """D2: the prefix is broken anyhow."""
    path = Path().prompt().round("x" * 9_000).rounds(3)
    state = planned(path, window_of(60_000))
    rest = Path()
    rest.messages = path.messages[3:]
    fresh = planned(rest, window_of(60_000), state)
    assert (fresh.base, fresh.actions, fresh.mark) == (4, {}, 0)
    assert planned(rest, window_of(60_000), PruneState(base=9, limit=7)).limit == 7


def test_after_a_rewind_what_is_gone_is_forgotten():
    """D2."""
    path = Path().prompt().round("x" * 9_000).rounds(3)
    state = planned(path, window_of(60_000))
    shorter = Path()
    shorter.messages = path.messages[:2]
    rewound = planned(shorter, window_of(60_000), state)
    assert rewound.actions == rewound.saved == {}
    assert rewound.mark == 2


def test_an_empty_path_changes_nothing():
    state = PruneState(base=3)
    assert plan([], counter=COUNT, lines=WIDE, state=state) is state
    assert apply([], state) == []


def test_stored_sizes_are_used_before_counting():
    """The estimate in the store is of the whole message, role and separators included."""
    path = Path().add("user", "prompt", [text("hi")], tokens=1_000)
    assert planned(path, window_of(10_000)).mark == 1_000


# -- D8 ----------------------------------------------------------------------------------------------------------------


def test_a_result_larger_than_the_room_is_cut_at_once_in_the_last_round_too():
    """D8: the room is 8,000 here, less an eighth for a summary: 7,000, two of which the prompt takes."""
    sizes = lines(20_000, 3_000)
    assert sizes.room == 8_000
    path = Path().prompt().round("x" * 6_998)
    assert planned(path, sizes).actions == {}
    path = Path().prompt().round("x" * 6_999)
    state = planned(path, sizes)
    assert state.actions == {(3, 0): "shorten"}
    assert sent(path, state, 3)["content"].startswith("x" * 1_500 + "\n[… 3,999 characters omitted;")
    assert state.through == 3


def test_of_several_results_the_largest_is_cut_until_the_rest_fits():
    """D8: in a parallel group, earlier rounds apart."""
    sizes = lines(33_000, 3_000)
    path = Path().prompt().rounds(1, 4_500).round("a" * 4_001, "b" * 6_000, "c" * 50)
    assert planned(path, sizes).actions == {(5, 1): "shorten"}
    path = Path().prompt().round("a" * 20_000, "b" * 30_000, "c" * 4_000)
    assert planned(path, sizes).actions == {(3, 0): "shorten", (3, 1): "shorten"}
    path = Path().prompt().round(*["a" * 4_000] * 9)
    assert planned(path, sizes).actions == {}, "results up to the limit are never cut"


def test_the_last_request_counts_against_the_room_wherever_it_stands():
    """D8, D3: it is sent verbatim whatever happens."""
    sizes = lines(20_000, 3_000)
    path = Path().prompt("p" * 3_000).rounds(3).round("x" * 5_000)
    assert planned(path, sizes).actions == {(9, 0): "shorten"}
    path = Path().prompt("p" * 3_000).rounds(3).prompt().round("x" * 5_000)
    assert planned(path, sizes).actions == {}


def test_cutting_an_oversized_result_is_not_undone_and_not_repeated():
    """D8."""
    sizes = lines(20_000, 3_000)
    path = Path().prompt().round("x" * 30_000)
    state = planned(path, sizes)
    assert planned(path, sizes, state) == state
    assert planned(path.rounds(1), sizes, state).actions[3, 0] in {"shorten", "stub"}


def test_an_oversized_result_does_not_set_off_a_batch_by_its_whole_size():
    """D2, D8: what counts is what is sent."""
    path = Path().prompt().round("y" * 4_500).rounds(2).round("x" * 400_000)
    sizes = lines(200_000, 0)
    assert planned(path, sizes).actions == {(9, 0): "shorten"}


# -- G6 ----------------------------------------------------------------------------------------------------------------

RECALL = text('<recalled note="data">\n- [4be1#1 user] old\n</recalled>')


def test_recalled_text_of_earlier_prompts_is_pruned_first():
    """G6: in any batch, also below half of the window; that of the request under work stays."""
    path = Path().prompt("One", RECALL).rounds(4).prompt("Two", RECALL).rounds(4, 400)
    state = planned(path, window_of(15_000))
    assert state.actions == {(1, 1): "stub"}
    assert sent(path, state, 1, 1) == text(RECALL_STUB)
    assert sent(path, state, 1) == text("One")


def test_only_a_prompts_own_recall_blocks_are_recall():
    """G6."""
    prompt, reply = Path().prompt("Go", RECALL).add("assistant", "reply", [RECALL]).messages
    assert [is_recall(prompt, block) for block in prompt.content] == [False, True]
    assert not is_recall(reply, RECALL)
    assert not is_recall(prompt, {"type": "tool_result", "text": "<recalled "})
