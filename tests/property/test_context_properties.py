"""Properties of what is sent: P6, D1-D4, D8, D12, G5, over random conversations."""

import copy
import json

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memflush_jupyter.context.assembly import on_path, to_wire, validate
from memflush_jupyter.context.compaction import accept_summary, choose_cut, extractive, summary_message
from memflush_jupyter.context.gate import GateState, decide, topup
from memflush_jupyter.context.pruning import PruneState, apply, plan
from memflush_jupyter.context.tokens import used_tokens
from memflush_jupyter.context.window import lines
from memflush_jupyter.trace.models import Message, Usage

RELAXED = settings(deadline=None, max_examples=120, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
WORDS = st.sampled_from(["", " ", "\n", "Go", "Load it.", "数据", "x" * 200, "The mean is 4. We drop outliers.", "<recalled note>\n- old\n</recalled>"])
SIZES = st.sampled_from([0, 1, 40, 299, 400, 3_999, 4_001, 9_000, 40_000])


class Characters:
    """A token per character."""

    def blocks(self, blocks):
        return sum(len(json.dumps(block, ensure_ascii=False)) for block in blocks)


COUNT = Characters()


def text(words):
    return {"type": "text", "text": words}


@st.composite
def result_content(draw):
    size = draw(SIZES)
    return draw(
        st.sampled_from(["r" * size, [text("r" * size)], [text("r" * size), IMAGE], [IMAGE], [text("")], [], "", None, [text(" "), text("ok")]]),
    )


@st.composite
def reply_content(draw, ids):
    blocks = draw(st.lists(st.sampled_from(["thinking", "redacted", "text", "blank", "call", "call"]), max_size=5))
    content = []
    for block in blocks:
        if block == "thinking":
            content.append({"type": "thinking", "thinking": "hm", "signature": "s"})
        elif block == "redacted":
            content.append({"type": "redacted_thinking", "data": "x"})
        elif block == "text":
            content.append(text(draw(WORDS)))
        elif block == "blank":
            content.append(text(""))
        else:
            content.append({"type": "tool_use", "id": draw(ids), "name": "run_python", "input": {"code": "1"}})
    return content


IDS = st.sampled_from(["a", "b", "c", "toolu_1", "call.0", "", "d e", *[f"id{n}" for n in range(20)]])


class Story:
    """A path being told, step by step, as it may lie in the store."""

    def __init__(self, draw):
        self.draw = draw
        self.messages = []

    def add(self, role, kind, content, **more):
        sequence = len(self.messages) + 1
        usage = Usage(input=self.draw(st.integers(0, 3)) * 1_000) if kind == "reply" else None
        tokens = self.draw(st.sampled_from([0, COUNT.blocks(content)]))
        self.messages.append(Message("4be1c0de", sequence, sequence - 1 or None, role, kind, content, tokens=tokens, usage=usage, **more))

    def prompt(self):
        beside = self.draw(st.lists(st.sampled_from([IMAGE, text("<recalled x>\n- y\n</recalled>")]), max_size=2))
        self.add("user", "prompt", [text(self.draw(WORDS)), *beside])

    def round(self, *, interrupted=False):
        content = self.draw(reply_content(IDS))
        self.add("assistant", "reply", content)
        called = [block["id"] for block in content if block["type"] == "tool_use"]
        answered = self.draw(st.lists(st.sampled_from(called), max_size=2)) if interrupted and called else called
        errors = st.sampled_from([{}, {"is_error": True}])
        results = [{"type": "tool_result", "tool_use_id": name, "content": self.draw(result_content()), **self.draw(errors)} for name in answered]
        if results:
            self.add("user", "results", self.draw(st.sampled_from([results, results[::-1]])))

    def interrupted(self):
        self.round(interrupted=True)

    def reply(self):
        self.add("assistant", "reply", [text(self.draw(WORDS))])

    def orphan(self):
        self.add("user", "results", [{"type": "tool_result", "tool_use_id": self.draw(IDS), "content": "late"}])

    def partial(self):
        self.add("assistant", "partial", self.draw(reply_content(IDS)))

    def side(self):
        self.add("user", "instruction", [text("Save notes.")], branch="flush")

    def summary(self):
        first = self.draw(st.sampled_from([None, *range(1, len(self.messages) + 1)]))
        self.add("user", "summary", summary_message("All so far.", last_request=[text("Go")]), meta={"first_kept": first})


@st.composite
def conversations(draw, *, without=()):
    """A path after anything: parallel calls, interrupts, cut streams, orphans, resumes, side branches, compactions."""
    story = Story(draw)
    steps = ["prompt", "round", "round", "reply", "interrupted", "orphan", "partial", "side", "summary"]
    for step in draw(st.lists(st.sampled_from([step for step in steps if step not in without]), max_size=14)):
        getattr(story, step)()
    return story.messages


def sendable(messages):
    """The same path with a prompt at its end, as every request has it."""
    sequence = len(messages) + 1
    return [*messages, Message("4be1c0de", sequence, sequence - 1 or None, "user", "prompt", [text("Next.")])]


# -- P6 ----------------------------------------------------------------------------------------------------------------


@RELAXED
@given(conversations())
def test_whatever_happened_the_request_is_valid(messages):
    """P6, D11: and the stored messages are as they were."""
    before = copy.deepcopy(messages)
    assert validate(to_wire(sendable(messages))) == []
    assert validate(to_wire(messages), to_send=False) == []
    assert messages == before


@RELAXED
@given(conversations())
def test_every_text_of_the_person_is_sent(messages):
    """P1: assembling loses nothing that was said on the path."""
    path = on_path(sendable(messages))
    said = [block["text"] for m in path if m.kind == "prompt" for block in m.content if block["type"] == "text" and block["text"].strip()]
    sent = [block["text"] for m in to_wire(sendable(messages)) if m["role"] == "user" for block in m["content"] if block["type"] == "text"]
    for words in said:
        assert sent.count(words) >= said.count(words)


@RELAXED
@given(conversations())
def test_assembling_a_path_or_its_sent_part_is_the_same(messages):
    """D3: the store gives only what follows the mark."""
    path = sendable(messages)
    assert to_wire(on_path(path)) == to_wire(path)


@RELAXED
@given(conversations(), st.integers(1, 14))
def test_a_longer_path_begins_as_the_shorter_did(messages, cut):
    """The prompt cache: without a summary between, earlier messages go out as before, the last user message apart."""
    messages = [message for message in messages if message.kind != "summary"]
    earlier, later = to_wire(messages[:cut]), to_wire(messages)
    stable = earlier[:-2] if earlier else []
    assert later[: len(stable)] == stable


# -- pruning -----------------------------------------------------------------------------------------------------------


def protected_from(path):
    replies = [index for index, message in enumerate(path) if message.role == "assistant"]
    return replies[-3] if len(replies) >= 3 else 0


@RELAXED
@given(conversations(), st.sampled_from([2_000, 20_000, 60_000, 200_000]), st.sampled_from([0, 500, 1_500]))
def test_pruning_is_valid_idempotent_and_leaves_store_and_last_rounds_alone(messages, window, prefix):
    """D1, D8, P6."""
    path = on_path(sendable(messages))
    before = copy.deepcopy(path)
    sizes = lines(window, prefix)
    state = plan(path, counter=COUNT, lines=sizes, state=PruneState())
    pruned = apply(path, state)
    assert path == before
    assert plan(path, counter=COUNT, lines=sizes, state=state) == state
    assert apply(pruned, state) == pruned
    assert validate(to_wire(pruned)) == []
    # D8 apart (a result of the last round that is larger than the room), the last rounds are whole.
    kept = protected_from(path)
    last = next((index for index in range(len(path) - 1, -1, -1) if path[index].role == "assistant"), 0)
    request = next((m for m in reversed(path[:last]) if m.kind == "prompt"), None)
    needed = sum(m.tokens or COUNT.blocks(m.content) for m in ([request] if request else []) + path[last:])
    oversized = needed > sizes.room - sizes.room // 8
    for index in range(kept, len(path)):
        assert pruned[index] is path[index] or (oversized and index > last)


@RELAXED
@given(conversations(without=("summary", "partial")), st.sampled_from([20_000, 60_000, 200_000]))
def test_between_batches_the_prefix_stands_and_batches_are_rare(messages, window):
    """D2: once per tenth of the window's growth, else nothing that was sent changes."""
    sizes, state, before = lines(window, 0), PruneState(), []
    path = [message for message in on_path(messages) if message.branch == "main"]
    for end in range(1, len(path) + 1):
        following = plan(path[:end], counter=COUNT, lines=sizes, state=state)
        now = apply(path[:end], following)
        changed = now[: len(before)] != before
        if changed:
            last = next((i for i in range(end - 1, -1, -1) if path[i].role == "assistant"), 0)
            oversized_only = now[: min(len(before), last)] == before[: min(len(before), last)]
            grown = sum(m.tokens or COUNT.blocks(m.content) for m in path[:end]) - sum(state.saved.values()) - (state.mark or 0)
            assert oversized_only or grown * 10 >= window
        state, before = following, now


@RELAXED
@given(conversations())
def test_pruning_only_ever_saves(messages):
    """D1: nothing is sent longer but by the reference's own length, and only results and recall change."""
    path = on_path(sendable(messages))
    state = plan(path, counter=COUNT, lines=lines(3_000, 0), state=PruneState())
    for message, now in zip(path, apply(path, state), strict=True):
        for block, sent in zip(message.content, now.content, strict=True):
            if sent is not block:
                assert block["type"] == "tool_result" or block["text"].startswith("<recalled ")
                assert len(json.dumps(sent)) <= len(json.dumps(block)) + 200


# -- the cut -----------------------------------------------------------------------------------------------------------


@RELAXED
@given(conversations(), st.integers(0, 60_000))
def test_a_cut_keeps_the_order_the_pairs_and_the_last_request(messages, keep):
    """D3, D4."""
    path = on_path(messages)
    cut = choose_cut(path, keep_recent=keep, count=lambda m: COUNT.blocks(m.content))
    assert [*cut.removed, *cut.kept] == path
    assert cut.first_kept_index == len(cut.removed)
    removed_calls = {b["id"] for m in cut.removed for b in m.content if b["type"] == "tool_use"}
    kept_calls = {b["id"] for m in cut.kept for b in m.content if b["type"] == "tool_use"}
    if cut.kept:
        first = [b["tool_use_id"] for b in cut.kept[0].content if b["type"] == "tool_result"]
        assert not first, "the kept part never begins with results"
    for m in cut.kept:
        for b in m.content:
            if b["type"] == "tool_result" and b["tool_use_id"] in removed_calls:
                assert b["tool_use_id"] in kept_calls or m.kind == "results"
    prompts = [m for m in path if m.kind == "prompt"]
    if prompts:
        assert (cut.last_request is not None) is (prompts[-1] in cut.removed)
    size = sum(COUNT.blocks(m.content) for m in cut.kept)
    units = [index for index in range(len(path)) if path[index].kind != "summary" and not any(b["type"] == "tool_result" for b in path[index].content)]
    if units and size > keep:
        assert cut.first_kept_index == units[-1], "more than the allowance is kept only where nothing smaller is whole"


@RELAXED
@given(conversations(), st.integers(0, 60_000))
def test_what_follows_a_compaction_is_valid_and_holds_the_request(messages, keep):
    """D3, D4, P6, however often it is compacted."""
    for _ in range(3):
        path = on_path(messages)
        cut = choose_cut(path, keep_recent=keep, count=lambda m: COUNT.blocks(m.content))
        asked = [m for m in path if m.kind == "prompt"]
        sequence = len(messages) + 1
        first = cut.kept[0].sequence if cut.kept else None
        mark = Message(
            "4be1c0de", sequence, sequence - 1 or None, "user", "summary", summary_message("So far.", last_request=cut.last_request), meta={"first_kept": first}
        )
        messages = [*messages, mark]
        wire = to_wire(sendable(messages))
        assert validate(wire) == []
        sent = json.dumps(wire, ensure_ascii=False)
        if asked and asked[-1].content[0]["text"].strip() and not asked[-1].content[0]["text"].startswith("<recalled"):
            assert json.dumps(asked[-1].content[0]["text"], ensure_ascii=False)[1:-1] in sent
        messages = sendable(messages)


# -- sizes and gate ----------------------------------------------------------------------------------------------------

OPTIONAL = st.none() | st.integers(-1_000, 400_000)


@RELAXED
@given(st.integers(0, 1_100_000), st.integers(0, 60_000), OPTIONAL, st.integers(-10, 300_000), OPTIONAL, OPTIONAL)
def test_lines_lie_in_order_whatever_is_configured(window, prefix, reserve, floor, soft, keep):
    """A1, A2, B7: and a round fits before the flush line."""
    found = lines(window, prefix, reserve_tokens=reserve, reserve_tokens_floor=floor, soft_tokens=soft, keep_recent=keep)
    free = max(0, window - prefix)
    assert 0 <= found.reserve <= free - min(8_000, free // 2)
    assert found.soft >= 0
    assert min(prefix, window) <= found.flush_line <= found.compaction_line <= window
    assert found.flush_line - min(prefix, window) >= min(2_000, (free - found.reserve + 1) // 2)
    assert 0 <= found.keep_recent <= max(0, found.room // 2)


@RELAXED
@given(
    st.builds(
        GateState,
        used=st.integers(0, 40_000),
        lines=st.just(lines(32_000, 2_000)),
        compaction_count=st.integers(0, 3),
        memory_flush_compaction_count=st.none() | st.integers(0, 3),
        unflushed_bytes=st.integers(0, 4 * 1024**2),
        enabled=st.booleans(),
        writable=st.booleans(),
        heartbeat=st.booleans(),
        sub_agent=st.booleans(),
        memory_on=st.booleans(),
        has_new=st.booleans(),
        failures=st.integers(0, 4),
        locked=st.booleans(),
    )
)
def test_a_flush_never_runs_where_it_may_not_and_compaction_never_waits(state):
    """B1-B6."""
    decision = decide(state)
    assert decision.compact is (state.used >= state.lines.compaction_line)
    hindered = not (state.enabled and state.writable and state.memory_on) or state.heartbeat or state.sub_agent or state.failures >= 3 or state.locked
    due = state.used >= state.lines.flush_line or state.unflushed_bytes >= state.force_bytes
    once = state.memory_flush_compaction_count is None or state.memory_flush_compaction_count != state.compaction_count
    assert decision.flush is (due and once and state.has_new and not hindered)
    assert topup(state, going=[1], flushed_through=None).flush is (not hindered)


@RELAXED
@given(conversations(), st.integers(0, 5_000))
def test_used_grows_with_what_is_pending(messages, pending):
    """A4, B2."""
    path = on_path(messages)
    assert used_tokens(path, prefix=100, pending=pending) == used_tokens(path, prefix=100) + pending


# -- summaries ---------------------------------------------------------------------------------------------------------


@RELAXED
@given(conversations(), st.integers(0, 400), st.text(max_size=200), st.lists(st.text(max_size=40), max_size=4))
def test_the_fallback_keeps_to_its_budget_and_quotes(messages, budget, previous, candidates):
    """D5: whatever was said."""
    floor = len(extractive([], previous=None, budget=0, count=len))
    made = extractive(messages, previous=previous, budget=budget, count=len, candidates=candidates)
    assert len(made) <= max(budget, floor)
    assert accept_summary(made, previous=None, replaced_tokens=10**9, count=len) is None or budget > floor


@RELAXED
@given(st.lists(st.sampled_from(["The mean is 4.", "We chose red.", "Rows: 344.", "Ask Nora.", "Due on Friday."]), max_size=12))
def test_repetition_is_refused_exactly_above_a_fifth(sentences):
    """D12."""
    repeated = len(sentences) - len(set(sentences))
    fault = accept_summary("\n".join(sentences), previous=None, replaced_tokens=10**9, count=len)
    assert (fault is None) is (bool(sentences) and repeated * 5 <= len(sentences))
