"""Rows D3-D6 and D12: where a compaction cuts, which summary it takes, and what stands in its place."""

import pytest

from memflush_jupyter.context.assembly import to_wire, validate
from memflush_jupyter.context.compaction import EXTRACTIVE_MARK, accept_summary, choose_cut, extractive, summary_message, summary_text
from memflush_jupyter.trace.models import Message


def text(words):
    return {"type": "text", "text": words}


def message(sequence, kind, content, tokens=100, **meta):
    role = "assistant" if kind in {"reply", "partial"} else "user"
    blocks = [text(content)] if isinstance(content, str) else content
    return Message("t", sequence, sequence - 1 or None, role, kind, blocks, tokens=tokens, meta=meta)


def calls(sequence, *names, tokens=100):
    return message(sequence, "reply", [{"type": "tool_use", "id": name, "name": "run_python", "input": {}} for name in names], tokens)


def results(sequence, *names, tokens=100):
    return message(sequence, "results", [{"type": "tool_result", "tool_use_id": name, "content": "ok"} for name in names], tokens)


def cut(messages, keep):
    return choose_cut(messages, keep_recent=keep, count=lambda m: m.tokens)


def words(text):
    return len(text.split())


TWO_TURNS = [
    message(1, "prompt", "One"),
    calls(2, "a", "b"),
    results(3, "a", "b"),
    message(4, "reply", "Done."),
    message(5, "prompt", "Two"),
    calls(6, "c"),
    results(7, "c"),
    message(8, "reply", "Done again."),
]


# -- the cut -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("keep", "first"),
    [(0, 7), (100, 7), (199, 7), (299, 7), (300, 5), (399, 5), (400, 4), (499, 4), (500, 3), (699, 3), (700, 1), (799, 1), (800, 0), (9_999, 0)],
)
def test_as_much_of_the_end_is_kept_as_fits_in_whole_rounds(keep, first):
    """D3, D4: never between a tool_use and its result, parallel groups included."""
    found = cut(TWO_TURNS, keep)
    assert found.first_kept_index == first
    assert found.removed == TWO_TURNS[:first]
    assert found.kept == TWO_TURNS[first:]
    assert found.empty is (first == 0)


@pytest.mark.parametrize(("keep", "request_of"), [(100, 5), (300, 5), (400, None), (800, None)])
def test_the_last_request_is_kept_verbatim_when_the_cut_falls_inside_its_turn(keep, request_of):
    """D3."""
    assert cut(TWO_TURNS, keep).last_request == ([text("Two")] if request_of else None)


def test_an_unanswered_prompt_is_kept_however_large():
    """D3."""
    path = [*TWO_TURNS, message(9, "prompt", "Three", tokens=5_000)]
    found = cut(path, 100)
    assert found.kept == path[8:]
    assert found.last_request is None


def test_the_last_round_is_kept_whole_however_large():
    """D3, D4: in the middle of a turn."""
    path = [message(1, "prompt", "One"), calls(2, "a"), results(3, "a"), calls(4, "b", "c"), results(5, "b", tokens=9_000), results(6, "c")]
    found = cut(path, 50)
    assert [m.sequence for m in found.kept] == [4, 5, 6]
    assert found.last_request == [text("One")]


def test_a_prompt_that_carries_results_stays_with_their_calls():
    """D4."""
    path = [message(1, "prompt", "One"), calls(2, "a"), message(3, "prompt", [*results(3, "a").content, text("Two")])]
    assert cut(path, 100).first_kept_index == 1
    assert cut(path, 200).first_kept_index == 1
    assert cut(path, 300).first_kept_index == 0


def test_an_interrupted_call_may_be_cut_from_the_prompt_after_it():
    """D4: there is no result to be parted from."""
    path = [message(1, "prompt", "One"), calls(2, "a"), message(3, "prompt", "Two")]
    assert cut(path, 100).first_kept_index == 2


def test_the_previous_summary_is_always_replaced_but_is_nothing_that_goes():
    """D6, B4: it is input to the next, and needs no flush."""
    path = [message(9, "summary", "So far.", first_kept=5), *TWO_TURNS[4:]]
    assert cut(path, 9_999).first_kept_index == 1
    assert cut(path, 9_999).removed == path[:1]
    assert cut(path, 9_999).going == []
    assert cut(path, 9_999).empty
    inside = cut(path, 300)
    assert [m.sequence for m in inside.removed] == [9, 5]
    assert [m.sequence for m in inside.going] == [5]
    assert not inside.empty


def test_a_single_prompt_leaves_nothing_to_remove():
    """D9."""
    assert cut([message(1, "prompt", "One")], 0).empty
    assert cut([], 0).empty


def test_the_request_is_what_the_person_wrote_without_what_rode_beside_it():
    """D3, G6."""
    image = {"type": "image", "source": {}}
    prompt = message(1, "prompt", [text("A notice"), text("One"), image, text("<recalled x>\n- old\n</recalled>")], aside=[0])
    assert cut([prompt, calls(2, "a"), results(3, "a")], 0).last_request == [text("One"), image]


# -- the summary message -----------------------------------------------------------------------------------------------

OPEN = '<summary note="stands for the earlier part of this conversation, which read_message and memory_search still find">'


def test_the_summary_message_holds_summary_goals_and_the_last_request():
    """D3: open goals restated, the last request verbatim."""
    assert summary_message(" All so far.\n") == [text(f"{OPEN}\nAll so far.\n</summary>")]
    assert summary_message("A", goals=["find outliers", "plot"]) == [text(f"{OPEN}\nA\n</summary>\n\nOpen goals:\n- find outliers\n- plot")]
    image = {"type": "image", "source": {}}
    request = [text("Do  it \n exactly."), image]
    with_request = summary_message("A", last_request=request, goals=["g"])
    assert with_request == [text(f"{OPEN}\nA\n</summary>\n\nOpen goals:\n- g\n\nThe person's last request, word for word:"), *request]
    assert summary_message("A", last_request=[]) == summary_message("A")


def test_a_summary_is_found_again_in_its_message():
    """D6."""
    body = summary_message("Line 1\nLine 2", last_request=[text("Go")], goals=["g"])[0]["text"]
    assert summary_text(body) == "Line 1\nLine 2"
    assert summary_text("bare") == "bare"
    assert summary_text("") == ""


def test_what_follows_a_compaction_is_a_valid_request():
    """D3, D4, P6."""
    found = cut(TWO_TURNS, 300)
    mark = message(9, "summary", summary_message("So far.", last_request=found.last_request), first_kept=found.kept[0].sequence)
    wire = to_wire([*TWO_TURNS, mark, message(10, "prompt", "Three")])
    assert validate(wire) == []
    assert [m["role"] for m in wire] == ["user", "assistant", "user", "assistant", "user"]
    assert wire[0]["content"][1] == text("Two")


# -- accepting ---------------------------------------------------------------------------------------------------------


def accept(summary, previous=None, replaced=1_000, salient=()):
    return accept_summary(summary, previous=previous, replaced_tokens=replaced, count=words, salient=salient)


@pytest.mark.parametrize("empty", ["", " \n\t"])
def test_an_empty_summary_is_refused(empty):
    """D5."""
    assert accept(empty) == "The summary was empty."


@pytest.mark.parametrize(
    "error",
    [
        "Error: overloaded_error",
        "API Error: 529",
        "Internal server error",
        "error 500",
        "Error code 404",
        "Exception: no",
        "**Error:** rate limit",
        "HTTP 503 from upstream",
        "HTTP/1.1 502 Bad Gateway",
        "500 Internal Server Error",
        "429 Too Many Requests",
        "Traceback (most recent call last):\n  File",
        "Request failed with status 400",
        "Rate limit exceeded.",
        "Overloaded",
        '{"type": "error", "error": {"type": "overloaded_error"}}',
        '[{"summary": 1}]',
        "I'm sorry, but I can't help with that.",
        "I am unable to summarise.",
        "I cannot do that.",
        "Sorry, no.",
        "As an AI language model I",
        "NO_REPLY",
        "[SILENT]",
        "There is nothing to summarise.",
        "Nothing to summarize.",
        "Please provide the conversation.",
        "Could you please share the text?",
    ],
)
def test_an_error_text_or_a_refusal_is_no_summary(error):
    """D5: error text becoming the summary is a known failure."""
    assert accept(error) == "The answer was an error text or a refusal, not a summary."


@pytest.mark.parametrize(
    "summary",
    [
        "Error analysis: residuals are below 3.",
        "## Goal\nFind the error in the model.",
        "Errors in column a were fixed.",
        "The request failed once, then worked.",
        "Silent columns were dropped.",
        "500 rows were loaded.",
        "As an aid to memory: 344 rows.",
        "Sorry " * 120,
    ],
)
def test_a_summary_may_speak_of_errors(summary):
    """D5."""
    assert accept(summary) != "The answer was an error text or a refusal, not a summary."


@pytest.mark.parametrize(
    ("replaced", "fault"),
    [
        (6, None),
        (5, "The summary has 5 tokens and must be shorter than the 5 that it replaces."),
        (4, "The summary has 5 tokens and must be shorter than the 4 that it replaces."),
    ],
)
def test_a_summary_must_be_shorter_than_what_it_replaces(replaced, fault):
    """D5."""
    assert accept("344 rows were loaded today.", replaced=replaced) == fault


def numbered(distinct, repeated):
    return "\n".join([f"- Fact number {n} holds." for n in range(distinct)] + ["- Fact number 0 holds."] * repeated)


@pytest.mark.parametrize(
    ("distinct", "repeated", "fault"),
    [
        (8, 2, None),
        (7, 2, "2 of the 9 lines of the summary repeat others."),
        (4, 1, None),
        (1, 0, None),
        (1, 1, "1 of the 2 lines of the summary repeat others."),
    ],
)
def test_a_summary_that_repeats_itself_is_refused(distinct, repeated, fault):
    """D12: more than 20 % of its lines."""
    assert accept(numbered(distinct, repeated)) == fault


def test_repetition_inside_one_line_counts_as_well():
    """D12: small models loop without a line break."""
    assert accept("The mean is 4. The mean is 4. The mean is 4.") == "2 of the 3 lines of the summary repeat others."


PREVIOUS = "- The data are penguins.\n- Body mass is in grams.\n- Plots use matplotlib.\n- Outliers go above 3 sigma.\n- The deadline is Friday."
NEW = ["Sales are in euro since 2021.", "The region column is renamed to area."]


@pytest.mark.parametrize(
    ("summary", "refused"),
    [
        (PREVIOUS, True),
        (PREVIOUS + "\n- Something else altogether was said.", True),
        ("\n".join(PREVIOUS.splitlines()[:4]), True),
        ("\n".join(PREVIOUS.splitlines()[:3]), False),
        (PREVIOUS + "\n- Sales are in euro since 2021.", False),
        (PREVIOUS + "\n- Sales in euro, from 2022.", True),
        ("- Sales are in euro since 2021.", False),
    ],
)
def test_a_copy_of_the_previous_summary_is_refused_when_there_is_news(summary, refused):
    """D12: 80 % of the previous one, although the removed part holds new salient items; the retry names what is missing."""
    fault = "The summary repeats the previous one and leaves out what is new, such as: Sales are in euro since 2021." if refused else None
    assert accept(summary, previous=PREVIOUS, salient=NEW) == fault
    wrapped = summary_message(PREVIOUS)[0]["text"]
    assert accept(summary, previous=wrapped, salient=NEW) == fault


def test_a_copy_is_fine_when_nothing_is_new():
    """D12, D6: carrying facts over is what a summary is for."""
    assert accept(PREVIOUS, previous=PREVIOUS) is None
    assert accept(PREVIOUS, previous=PREVIOUS, salient=["Body mass is in grams."]) is None
    assert accept(PREVIOUS, previous=None, salient=NEW) is None
    assert accept(PREVIOUS, previous="", salient=NEW) is None


def test_a_fifth_of_the_news_is_enough():
    """D12: what is missing then is for the audit to find."""
    news = [f"Column c{n} holds {n}00 values." for n in range(1, 7)]
    assert accept(PREVIOUS + "\n- Column c1 holds 100 values.", previous=PREVIOUS, salient=news[:5]) is None
    assert accept(PREVIOUS + "\n- Column c1 holds 100 values.", previous=PREVIOUS, salient=news) is not None


# -- the extractive fallback -------------------------------------------------------------------------------------------

CONVERSATION = [
    message(
        1,
        "prompt",
        [text("Load penguins.csv. I prefer matplotlib."), text("<recalled x>\n- 99 old things\n</recalled>"), text("A notice about 77 files.")],
        aside=[2],
    ),
    message(2, "reply", "I loaded 344 rows and 8 columns. Shall I go on?"),
    message(
        3,
        "results",
        [
            {"type": "tool_result", "tool_use_id": "a", "content": [text("The median mass is 4050.0 g overall.")]},
            {"type": "tool_result", "tool_use_id": "b", "content": "We found 2 rows without a sex."},
        ],
    ),
    message(4, "prompt", "Thanks! Drop outliers above 3 sigma."),
    message(5, "partial", "I dropped 17 rows."),
]


def fallback(budget=200, previous=None, candidates=()):
    return extractive(CONVERSATION, previous=previous, budget=budget, count=words, candidates=candidates).splitlines()


def test_the_fallback_quotes_the_conversation_and_says_so():
    """D5: marked as such; word for word, who said it, in order; no chatter, no recall, nothing partial."""
    assert fallback() == [
        EXTRACTIVE_MARK,
        "- Person: Load penguins.csv.",
        "- Person: I prefer matplotlib.",
        "- Assistant: I loaded 344 rows and 8 columns.",
        "- Result: The median mass is 4050.0 g overall.",
        "- Result: We found 2 rows without a sex.",
        "- Person: Drop outliers above 3 sigma.",
    ]


def test_the_fallback_keeps_to_its_budget_and_the_best_goes_first():
    """D5."""
    mark = words(EXTRACTIVE_MARK)
    assert fallback(budget=mark + 7) == [EXTRACTIVE_MARK, "- Person: Drop outliers above 3 sigma."]
    for budget in range(mark, mark + 50):
        assert words("\n".join(fallback(budget=budget))) <= budget
    assert fallback(budget=0) == [EXTRACTIVE_MARK]


def test_candidates_come_before_other_sentences():
    """D5, C13: what the floor found must not fall out of the fallback."""
    mark = words(EXTRACTIVE_MARK)
    assert fallback(budget=mark + 6, candidates=["I prefer matplotlib."]) == [EXTRACTIVE_MARK, "- Person: I prefer matplotlib."]
    both = ["I loaded 344 rows and 8 columns.", "I prefer matplotlib."]
    assert fallback(budget=mark + 9, candidates=both) == [EXTRACTIVE_MARK, "- Assistant: I loaded 344 rows and 8 columns."]
    assert fallback(budget=mark + 8, candidates=both[::-1]) == [EXTRACTIVE_MARK, "- Person: I prefer matplotlib."]


def test_candidates_that_are_no_sentence_of_the_conversation_are_added():
    """C13: names of files and columns."""
    lines = fallback(candidates=["File: penguins.csv", "I prefer matplotlib."])
    assert lines[:2] == [EXTRACTIVE_MARK, "- File: penguins.csv"]
    assert lines.count("- Person: I prefer matplotlib.") == 1
    assert len(lines) == 8


def test_the_previous_summary_is_carried_over():
    """D6: facts survive many cycles; the mark and what is said again are not doubled."""
    previous = f"{EXTRACTIVE_MARK}\n- Person: I prefer matplotlib.\n\n- The goal is a report."
    for given in (previous, summary_message(previous)[0]["text"]):
        lines = fallback(previous=given)
        assert lines[:3] == [EXTRACTIVE_MARK, "- Person: I prefer matplotlib.", "- The goal is a report."]
        assert lines.count("- Person: I prefer matplotlib.") == 1
        assert lines.count(EXTRACTIVE_MARK) == 1
        assert len(lines) == 8


def test_the_previous_summary_takes_two_fifths_at_most_and_its_newest_lines_stay():
    """D6."""
    previous = "\n".join(f"- Line {n} of old" for n in range(9))
    mark = words(EXTRACTIVE_MARK)
    lines = fallback(budget=mark + 30, previous=previous)
    assert [line for line in lines if "of old" in line] == ["- Line 7 of old", "- Line 8 of old"]
    lines = fallback(budget=mark + 37, previous=previous)
    assert [line for line in lines if "of old" in line] == ["- Line 7 of old", "- Line 8 of old"]
    lines = fallback(budget=mark + 38, previous=previous)
    assert [line for line in lines if "of old" in line] == ["- Line 6 of old", "- Line 7 of old", "- Line 8 of old"]


def test_the_fallback_is_a_summary_that_would_be_accepted():
    """D5."""
    assert accept("\n".join(fallback()), replaced=500) is None
