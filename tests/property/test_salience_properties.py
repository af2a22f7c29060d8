"""Invariants of the floor, of the limits and of redaction, for any text."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from memflush_jupyter.memory.limits import clean_notes, covered, nothing_new, split_note
from memflush_jupyter.memory.redaction import Redactor
from memflush_jupyter.memory.salience import SourceText, extract

WORDS = st.sampled_from(
    [
        *("the", "mean", "is", "5", "g", "of", "q7", "It", "remember", "that", "we", "decided", "never", "df_clean", "=", "3.5", "data.csv", "Gentoo"),
        *(
            "e.g.",
            "10%",
            "not",
            "and",
            "记住",
            "中位数",
            "是",
            "不要",
            "以后",
            "。",
            "，",
            ".",
            "?",
            "!",
            "\n",
            "-",
            "|",
            "`",
            "**",
            "<recalled>",
            "</recalled>",
        ),
        *("https://a.b/c", "x:y", "<!--", "-->", "```", "i.e.", "(", ")", "'", '"'),
    ]
)
TEXTS = st.one_of(st.text(max_size=300), st.lists(WORDS, max_size=80).map(" ".join))
KEY = "gh" + "p_" + "Zq3vT9kLm2Xw8Rb5Nc7Yd1Hf4Gj6Ps0QaZq3"
SECRETS = st.sampled_from(
    [KEY, "AKI" + "A" + "Q7W8E9R1T2Y3U4I5", "pass" + "word=hunter22x", "tok-998877-xy", "two words 42 é", "http://a:b1c2d3@h.x/", "密码是abc12345"]
)
REDACT = Redactor({"MY_TOKEN": "tok-998877-xy", "LOOSE_KEY": "two words 42 é"})


@given(st.lists(st.tuples(TEXTS, st.sampled_from(["user", "agent", "tool"])), max_size=4))
@settings(max_examples=150, deadline=None)
def test_candidates_are_short_sorted_unique_and_the_same_each_time(items):
    """C4, C13, C14."""
    sources = [SourceText(text, origin, "t", index) for index, (text, origin) in enumerate(items)]
    found = extract(sources)
    assert found == extract(sources)
    assert all(0 < len(c.text) <= 500 and c.text == c.text.strip() and 0 < c.confidence <= 1 for c in found)
    assert [c.confidence for c in found] == sorted((c.confidence for c in found), reverse=True)
    assert not any(nothing_new(a.text, b.text) for i, a in enumerate(found) for b in found[:i])
    assert all(c.origin == sources[c.sequence].origin for c in found)


@given(TEXTS, SECRETS)
@settings(max_examples=100, deadline=None)
def test_no_secret_is_a_candidate_and_no_tool_sets_a_rule(text, secret):
    """P7, P8."""
    found = extract([SourceText(f"{text} {KEY} {text}. Remember {KEY} is it.", "user", "t", 1)])
    assert all(KEY not in c.text for c in found)
    printed = extract([SourceText(f"{text}\nRemember that 5 g is the mean.\n{secret}", "tool", "t", 1)])
    assert all(c.kind in {"finding", "name"} for c in printed)


@given(TEXTS, st.integers(min_value=5, max_value=200))
@settings(max_examples=200, deadline=None)
def test_splitting_loses_nothing_and_keeps_the_limit(text, limit):
    """C4."""
    pieces = split_note(text, limit)
    assert all(0 < len(piece) <= limit for piece in pieces)
    assert "".join("".join(pieces).split()) == "".join(text.split())


@given(TEXTS, TEXTS)
@settings(max_examples=200, deadline=None)
def test_saying_the_same_is_reflexive_and_symmetric_and_implies_covered(one, other):
    """C5."""
    assert nothing_new(one, one)
    assert nothing_new(one, other) == nothing_new(other, one)
    if nothing_new(one, other) and clean_notes([one]):
        assert covered(one, [other])


@given(st.lists(TEXTS, max_size=6))
@settings(max_examples=100, deadline=None)
def test_cleaning_twice_changes_nothing_more(notes):
    """C14."""
    once = clean_notes(notes)
    assert all(len(note) <= 500 for note in once)
    assert clean_notes(once) == once


@given(st.lists(st.one_of(TEXTS, SECRETS), max_size=8).map(" ".join))
@settings(max_examples=200, deadline=None)
def test_redaction_is_idempotent_and_leaves_no_planted_secret(text):
    """P7."""
    once = REDACT(text)
    assert REDACT(once) == once
    assert KEY not in once
    assert "tok-998877-xy" not in once.replace("xtok", "")


@given(st.lists(st.one_of(TEXTS, SECRETS), max_size=6).map(" ".join), st.lists(st.integers(min_value=1, max_value=40), min_size=1, max_size=20))
@settings(max_examples=200, deadline=None)
def test_a_stream_leaks_nothing_that_the_whole_would_not_show(text, sizes):
    """P7: however the deltas fall."""
    stream = REDACT.stream()
    out, position, turn = "", 0, 0
    while position < len(text):
        size = sizes[turn % len(sizes)]
        out += stream.feed(text[position : position + size])
        position += size
        turn += 1
    out += stream.finish()
    assert out == REDACT(text)
