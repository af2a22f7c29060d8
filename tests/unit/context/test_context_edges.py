"""A5, A6, D1, D5, D8, G5: the last token, character and byte on each side of what context decides."""

from __future__ import annotations

import base64
import struct
from datetime import UTC, datetime

import pytest

from memflush_jupyter.context import compaction, media, passages, recall, terms, tokens, validation, window
from memflush_jupyter.context.pruning import PruneState, apply, plan, shortened
from memflush_jupyter.trace.models import Message, SearchHit, Usage


def words(text):
    return len(text.split())


class Characters:
    def blocks(self, blocks):
        return sum(len(block.get("text", block.get("content", ""))) for block in blocks)


def message(sequence, kind, content, **more):
    return Message("4be1c0de99", sequence, sequence - 1 or None, "assistant" if kind == "reply" else "user", kind, content, **more)


def result(content):
    return {"type": "tool_result", "tool_use_id": "c", "content": content}


# -- media (A6) ----------------------------------------------------------------------------------------------------------


def test_a_wide_gif_has_no_negative_width():
    """A6: sizes are unsigned."""
    assert media.image_size(b"GIF89a" + struct.pack("<HH", 40_000, 50_000)) == (40_000, 50_000)
    assert media.image_size(b"\x89PNG\r\n\x1a\n" + b"\0" * 8 + struct.pack(">II", 3_000_000_000, 2)) == (3_000_000_000, 2)


def test_a_webps_height_ends_before_its_pixels():
    """A6."""
    header = b"RIFF....WEBPVP8X" + b"\0" * 8 + (299).to_bytes(3, "little") + (199).to_bytes(3, "little") + b"\xff\xff"
    assert media.image_size(header) == (300, 200)


def test_base64_that_cannot_be_read_is_a_page_or_the_largest_image():
    """A6."""
    image = {"type": "image", "source": {"type": "base64", "data": 7}}
    document = {"type": "document", "source": {"type": "base64", "data": "é"}}
    assert media.block_tokens(image) == media.MAX_IMAGE_TOKENS
    assert media.block_tokens(document) == media.PAGE_TOKENS
    pages = base64.b64encode(b"/Type /Page /Type/Page /Type /Pages").decode()
    assert media.block_tokens({"type": "document", "source": {"type": "base64", "data": pages}}) == 2 * media.PAGE_TOKENS


# -- tokens (A4, A5) -----------------------------------------------------------------------------------------------------


def test_a_tool_call_without_a_field_counts_as_one_with_an_empty_field():
    """A5."""
    counter = tokens.TokenCounter("m", factor=1.0)
    whole = {"type": "tool_use", "id": "", "name": "", "input": {}}
    for left_out in ("id", "name"):
        assert counter.blocks([{key: value for key, value in whole.items() if key != left_out}]) == counter.blocks([whole])


def test_the_smallest_measured_total_counts():
    """A4."""
    measured = message(2, "reply", [], usage=Usage(input=1), tokens=50)
    assert tokens.used_tokens([message(1, "prompt", [], tokens=7), measured], prefix=100) == 1
    nothing = message(2, "reply", [], usage=Usage(), tokens=50)
    assert tokens.used_tokens([message(1, "prompt", [], tokens=7), nothing], prefix=100) == 157


# -- window (A1) ---------------------------------------------------------------------------------------------------------


def test_a_floor_of_exactly_what_is_free_is_no_reason_to_warn():
    """A1: the cap of 30,000 free tokens is 22,000."""
    assert window.lines(30_000, 0, reserve_tokens_floor=22_000).warnings == ()
    assert window.lines(30_000, 0, reserve_tokens_floor=22_001).warnings == (
        "A reserve of 22,001 tokens does not fit in the 30,000 that are free; 22,000 are reserved.",
    )
    assert window.lines(30_000, 0, reserve_tokens=22_000).warnings == ()
    assert len(window.lines(30_000, 0, reserve_tokens=22_001).warnings) == 1


# -- validation (P6) -----------------------------------------------------------------------------------------------------


def test_a_call_and_an_answer_without_an_id_still_belong_together():
    """P6: an empty id is an id like another, and so refused only where it does not match."""
    call = {"role": "assistant", "content": [{"type": "tool_use", "name": "run_python", "input": {}}]}
    answer = {"role": "user", "content": [{"type": "tool_result", "content": "x"}]}
    ask = {"role": "user", "content": [{"type": "text", "text": "Go"}]}
    named = {"role": "assistant", "content": [{"type": "tool_use", "id": "", "name": "run_python", "input": {}}]}
    assert validation.validate([ask, call, answer]) == validation.validate([ask, named, answer])


# -- pruning (D1, D8) ----------------------------------------------------------------------------------------------------


def test_one_character_beyond_head_and_tail_is_omitted_and_none_is_not():
    """D1."""
    whole = message(3, "results", [result("x" * 21)])
    (cut,) = [shortened(whole, block, "shorten", side=10) for block in whole.content]
    assert cut["content"] == f'{"x" * 10}\n[… 1 characters omitted; read_message(trace="4be1c0de", sequence=3) shows the whole …]\n{"x" * 10}'
    same = result("x" * 20)
    assert shortened(whole, same, "shorten", side=10) is same


def test_an_image_alone_becomes_a_line_without_a_blank_one_before():
    """D1."""
    block = result([{"type": "image", "source": {}}])
    assert shortened(message(3, "results", [block]), block, "shorten", side=10)["content"] == (
        '[… 1 image omitted; read_message(trace="4be1c0de", sequence=3) shows the whole …]'
    )
    spaced = result([{"type": "text", "text": "X plot X"}, {"type": "image", "source": {}}])
    assert shortened(message(3, "results", [spaced]), spaced, "shorten", side=10)["content"].startswith("X plot X\n[… 1 image omitted")


def rounds(sizes):
    path = [message(1, "prompt", [{"type": "text", "text": "Go"}])]
    for size in sizes:
        path += [message(len(path) + 1, "reply", [{"type": "text", "text": "call"}]), message(len(path) + 2, "results", [result("y" * size)])]
    return path


@pytest.mark.parametrize(("count", "cut"), [(3, []), (4, [3]), (5, [3, 5])])
def test_exactly_the_last_three_rounds_are_protected(count, cut):
    """D1: with three rounds there is nothing older, and what stands before the first reply is old."""
    path = rounds([5_000] * count)
    state = plan(path, counter=Characters(), lines=window.lines(20_000, 0), state=PruneState())
    assert sorted(sequence for sequence, _ in state.actions) == cut
    first = [message(1, "results", [result("y" * 5_000)]), *(message(n, "reply", [{"type": "text", "text": "call"}]) for n in (2, 3, 4))]
    assert plan(first, counter=Characters(), lines=window.lines(20_000, 0), state=PruneState()).actions == {(1, 0): "shorten"}


def test_a_path_without_a_prompt_or_reply_is_pruned_too():
    """D1, D8: as a compaction leaves it."""
    path = [message(1, "summary", [{"type": "text", "text": "s"}]), *rounds([9_000] * 4)[1:]]
    path = [message(number, one.kind, one.content) for number, one in enumerate(path, 1)]
    state = plan(path, counter=Characters(), lines=window.lines(60_000, 0), state=PruneState())
    assert set(state.actions) == {(3, 0)}
    alone = [message(1, "results", [result("y" * 90_000)])]
    cut = plan(alone, counter=Characters(), lines=window.lines(60_000, 0), state=PruneState())
    assert set(cut.actions) == {(1, 0)}
    assert len(apply(alone, cut)[0].content[0]["content"]) < 4_000


def test_what_a_cut_saves_is_counted_once():
    """D8: a second result is cut only as long as the first did not free enough."""
    sizes = window.lines(40_000, 0, reserve_tokens=0, reserve_tokens_floor=0)
    path = [
        message(1, "prompt", [{"type": "text", "text": "Go"}]),
        message(2, "reply", [{"type": "text", "text": "call"}]),
        message(3, "results", [result("a" * 30_000), result("b" * 25_000), result("c" * 5_000)]),
    ]
    state = plan(path, counter=Characters(), lines=sizes, state=PruneState())
    assert {index for _, index in state.actions} <= {0, 1}
    assert 0 in {index for _, index in state.actions}


# -- passages and recall (G5) --------------------------------------------------------------------------------------------


def question(prompt):
    return passages.Question(terms.query_terms(prompt))


@pytest.mark.parametrize(
    ("text", "one", "other", "beside"),
    [
        ("flipper length", (0, 7), (8, 14), True),
        ("flipper. length", (0, 7), (9, 15), True),
        ("flipper -- length", (0, 7), (11, 17), False),
        ("flipperXlength", (0, 7), (8, 14), False),
        ("ab", (1, 2), (0, 1), False),
    ],
)
def test_words_stand_beside_each_other_with_at_most_a_point_and_a_blank_between(text, one, other, beside):
    """G5."""
    assert passages._adjoin(text, one, other) is beside


def test_a_compounds_capital_begins_a_word():
    """G5: ``billLength`` holds ``length``; a Chinese pair has no capital."""
    assert set(question("bill length?").held("the billLength")) == {"bill", "length"}
    assert passages._capitals(terms.query_terms("数据 length")) == terms.stem("length").capitalize()


def test_only_the_neighbourhood_of_a_match_is_read():
    """G5: 400 characters on each side, and no more."""
    far = "Unrelated talk. " * 60
    units = question("What is the deadline?")._units(f"{far}The deadline is Friday. {far}")
    assert "The deadline is Friday." in units
    assert 20 < sum(len(unit) for unit in units) < 900


@pytest.mark.parametrize(("length", "cropped"), [(passages.MAX_CHARS, False), (passages.MAX_CHARS + 1, True)])
def test_a_passage_of_exactly_the_limit_is_whole(length, cropped):
    """G5."""
    unit = "deadline " + "x" * (length - 9)
    assert ("…" in passages._crop(unit, unit, {"deadlin": (0, 8)})) is cropped


def test_a_crop_that_reaches_the_end_has_no_mark_there():
    """G5."""
    unit = "x" * passages.MAX_CHARS + " deadline"
    assert passages._crop(unit, unit, {"deadlin": (len(unit) - 8, len(unit))}) == "…" + unit[len(unit) - 8 - passages.MAX_CHARS // 4 :].strip()
    before = passages.MAX_CHARS // 4 + 1  # the crop begins one character after the unit
    fits = "y" * before + "deadline" + "x" * (passages.MAX_CHARS + 1 - before - 8)
    assert passages._crop(fits, fits, {"deadlin": (before, before + 8)}) == "…" + fits[1:]
    assert passages._crop(fits + "x", fits + "x", {"deadlin": (before, before + 8)}) == "…" + fits[1:] + "…"


@pytest.mark.parametrize(("prompt", "texts"), [("What was Anna's budget?", ["Anna", "budget"]), ("What was Anna’s budget?", ["Anna", "budget"])])
def test_a_possessive_is_asked_for_without_its_ending(prompt, texts):
    """G5: the store is asked for the name."""
    assert [term.text for term in terms.query_terms(prompt)] == texts


@pytest.mark.parametrize(("word", "stem"), [("planned", "plan"), ("rolled", "roll"), ("missing", "miss"), ("buzzing", "buzz")])
def test_a_doubled_letter_goes_unless_the_word_has_it_by_itself(word, stem):
    """G5."""
    assert terms.stem(word) == stem


class Store:
    def __init__(self, *hits):
        self.hits = hits

    def search(self, query, **_):
        return list(self.hits)


def hit(text, sequence, score=1.0):
    return SearchHit("message", "4be1c0de99", sequence, None, text, score, "user", datetime(2026, 1, 15, tzinfo=UTC))


def test_the_budget_counts_the_frame_and_every_line_end():
    """G5: inclusive to the token."""
    item = recall._item(hit("The deadline is Friday.", 1), "The deadline is Friday.", 1.0)
    least = words(recall.OPEN) + words(recall.CLOSE) + 2 + words(item.line()) + 1
    assert recall._within([item], least, words) == [item]
    assert recall._within([item], least - 1, words) == []


def test_the_default_budget_is_600_tokens():
    """G5."""
    texts = [hit(f"The deadline of project number {number} is Friday.", number) for number in range(1, 200)]
    found = recall.search(Store(*texts), "What is the deadline?", identity=None, count=lambda text: 50)
    assert len(found) == (600 - 2 * 50 - 2) // 51


@pytest.mark.parametrize(("score", "passes"), [(recall.GATE, True), (recall.GATE - 0.001, False)])
def test_the_relevance_gate_is_inclusive(score, passes):
    """G5."""
    asked = terms.query_terms("deadline?")
    assert recall._passes(passages.Passage("x", score, frozenset(term.stem for term in asked)), asked) is passes


def test_a_word_of_asking_alone_is_not_telling():
    """G5: of several terms at least two, or one that names something, must stand there."""
    asked = [terms.Term("name", "name", "asking"), terms.Term("budget", "budget", "word")]
    assert not recall._passes(passages.Passage("x", 1.0, frozenset({"name"})), asked)
    assert not recall._passes(passages.Passage("x", 1.0, frozenset({"budget"})), asked)
    assert recall._passes(passages.Passage("x", 1.0, frozenset({"name", "budget"})), asked)
    assert recall._passes(passages.Passage("x", 1.0, frozenset({"q7"})), [*asked, terms.Term("q7", "q7", "name")])


# -- the fallback summary (D5) -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", range(0, 140, 7))
def test_the_fallback_never_exceeds_its_budget_with_all_three_of_its_parts(budget):
    """D5: what it keeps of the previous summary, the candidates and the sentences share one budget."""
    spoken = [message(n, "prompt", [{"type": "text", "text": f"We decided to drop {n} outliers of column q{n}."}]) for n in range(1, 9)]
    previous = "\n".join(f"- Person: The older decision number {n} was to keep r{n}." for n in range(8))
    candidates = [f"The analyst wants candidate {n} remembered." for n in range(8)]
    made = compaction.extractive(spoken, previous=previous, budget=budget, count=len, candidates=candidates)
    assert sum(len(line) + 1 for line in made.splitlines()) <= max(budget, len(compaction.EXTRACTIVE_MARK) + 1)


@pytest.mark.parametrize("budget", [400, 700, 900])
def test_the_fallback_fills_its_budget_with_all_three_of_its_parts(budget):
    """D5, D6."""
    spoken = [message(n, "prompt", [{"type": "text", "text": f"We decided to drop {n} outliers of column q{n}."}]) for n in range(1, 30)]
    previous = "\n".join(f"- Person: The older decision number {n} was to keep r{n}." for n in range(30))
    candidates = ["The analyst wants this remembered."]
    made = compaction.extractive(spoken, previous=previous, budget=budget, count=len, candidates=candidates)
    used = sum(len(line) + 1 for line in made.splitlines())
    assert budget - 80 < used <= budget
    assert "The older decision" in made
    assert "wants this" in made
    assert "We decided" in made
