"""Promise P6: what is sent is always valid, and the stored messages stay as they are."""

import copy

import pytest

from memflush_jupyter.context.assembly import CONTINUED, INTERRUPTED, on_path, to_wire, validate
from memflush_jupyter.trace.models import Message

THINKING = {"type": "thinking", "thinking": "hm", "signature": "s"}
REDACTED = {"type": "redacted_thinking", "data": "x"}
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}


def text(words):
    return {"type": "text", "text": words}


def call(name, **given):
    return {"type": "tool_use", "id": name, "name": "run_python", "input": given}


def result(name, content="ok", **more):
    return {"type": "tool_result", "tool_use_id": name, "content": content, **more}


def lost(name):
    return {"type": "tool_result", "tool_use_id": name, "content": [text(INTERRUPTED)], "is_error": True}


def say(*contents, start=1, branch="main"):
    """Messages in order: a string or list begins a prompt; a tuple is a reply; results and summaries are built by hand."""
    messages = []
    for sequence, content in enumerate(contents, start):
        if isinstance(content, Message):
            messages.append(content)
            continue
        reply = isinstance(content, tuple)
        blocks = [text(content)] if isinstance(content, str) else list(content)
        kind = "reply" if reply else ("results" if any(b["type"] == "tool_result" for b in blocks) else "prompt")
        messages.append(Message("t", sequence, sequence - 1 or None, "assistant" if reply else "user", kind, blocks, branch=branch))
    return messages


def user(*blocks):
    return {"role": "user", "content": [text(b) if isinstance(b, str) else b for b in blocks]}


def assistant(*blocks):
    return {"role": "assistant", "content": [text(b) if isinstance(b, str) else b for b in blocks]}


def test_an_ordinary_conversation_is_sent_as_it_is():
    """P6."""
    messages = say("Load it.", (THINKING, text("Yes."), call("a", code="1")), [result("a")], (text("Done."),), "Thanks.")
    wire = to_wire(messages)
    assert wire == [user("Load it."), assistant(THINKING, "Yes.", call("a", code="1")), user(result("a")), assistant("Done."), user("Thanks.")]
    assert validate(wire) == []


def test_blocks_are_passed_on_by_reference():
    """Turn 300 must not copy the texts of turns 1 to 299."""
    messages = say("Load it.", (call("a"),), [result("a", [text("x" * 9), IMAGE])])
    wire = to_wire(messages)
    for sent, stored in zip(wire, messages, strict=True):
        assert all(one is other for one, other in zip(sent["content"], stored.content, strict=True))


def test_nothing_stored_is_changed():
    """P6: the store's messages are not ours to repair."""
    messages = say(
        [text(" "), text("Go")],
        (text(""), call("a.1"), call("a.1"), THINKING),
        [result("zz"), result("a.1", [text("")], is_error=True)],
        (text("x"),),
        (THINKING, text("y")),
    )
    before = copy.deepcopy(messages)
    to_wire(messages)
    assert messages == before


def test_an_empty_path_sends_nothing():
    assert to_wire([]) == []
    assert to_wire(say([text(" \n")])) == []


def test_unanswered_calls_are_answered_as_interrupted():
    """P6: after an interrupt."""
    assert to_wire(say("Go", (text("Now"), call("a"), call("b")))) == [user("Go"), assistant("Now", call("a"), call("b")), user(lost("a"), lost("b"))]


def test_in_a_parallel_group_only_what_is_missing_is_answered_in_the_order_of_the_calls():
    """P6."""
    wire = to_wire(say("Go", (call("a"), call("b"), call("c")), [result("c", "3"), result("a", "1")], "Next"))
    assert wire[2] == user(result("a", "1"), lost("b"), result("c", "3"), "Next")
    assert validate(wire) == []


def test_results_come_first_and_neighbours_of_the_user_are_one_message():
    """P6: a prompt after an interrupt rides with the results."""
    wire = to_wire(say("Go", (call("a"),), [text("note"), result("a")], "Next", [IMAGE]))
    assert wire == [user("Go"), assistant(call("a")), user(result("a"), "note", "Next", IMAGE)]


def test_results_split_over_messages_are_gathered():
    """P6: parallel tools may have been committed one by one."""
    wire = to_wire(say("Go", (call("a"), call("b")), [result("b", "2")], [result("a", "1")]))
    assert wire[2] == user(result("a", "1"), result("b", "2"))


def test_orphan_results_and_second_answers_are_left_out():
    """P6."""
    wire = to_wire(
        say(
            [result("gone"), text("Go")],
            (call("a"),),
            [result("a", "first"), result("a", "second"), result("zz")],
            (text("Done"),),
            [result("a", "late")],
            "Next",
        )
    )
    assert wire == [user("Go"), assistant(call("a")), user(result("a", "first")), assistant("Done"), user("Next")]


def test_two_replies_in_a_row_become_one():
    """P6: what stood between them was not sent."""
    wire = to_wire(say("Go", (text("One"),), [result("gone")], (text("Two"), call("a"))))
    assert wire == [user("Go"), assistant("One", "Two", call("a")), user(lost("a"))]


def test_of_two_replies_in_a_row_the_later_thinking_comes_first():
    """P6: the API wants thinking at the beginning and in the message it was given in, and lets that of a finished reply go."""
    earlier = {**THINKING, "thinking": "old"}
    wire = to_wire(say("Go", (earlier, text("One")), (THINKING, REDACTED, text("Two")), "Next"))
    assert wire[1] == assistant(THINKING, REDACTED, "One", "Two")
    assert to_wire(say("Go", (earlier, text("One")), (text("Two"),), "Next"))[1] == assistant("One", "Two")


def test_a_reply_of_thinking_alone_is_left_out_and_trailing_thinking_too():
    """P6: a message may not end with thinking."""
    wire = to_wire(say("Go", (THINKING, REDACTED), "On", (THINKING, text("Yes"), REDACTED, THINKING), "Next"))
    assert wire == [user("Go", "On"), assistant(THINKING, "Yes"), user("Next")]


def test_a_thinking_reply_between_call_and_results_does_not_part_them():
    """P6."""
    wire = to_wire(say("Go", (call("a"),), (THINKING,), [result("a")]))
    assert wire == [user("Go"), assistant(call("a")), user(result("a"))]


@pytest.mark.parametrize("blank", ["", " ", "\n\t ", None])
def test_empty_text_is_not_sent(blank):
    """P6."""
    wire = to_wire(say([text("Go"), text(blank)], (text(blank), text("Yes")), [text(blank)], (text("More"),), "Next"))
    assert wire == [user("Go"), assistant("Yes", "More"), user("Next")]


def test_empty_text_in_results_is_not_sent():
    """P6."""
    wire = to_wire(say("Go", (call("a"), call("b"), call("c")), [result("a", [text(""), IMAGE]), result("b", [text(" ")]), result("c", None)]))
    assert wire[2] == user(result("a", [IMAGE]), result("b", []), result("c", None))
    assert validate(wire) == []


@pytest.mark.parametrize(
    ("content", "sent"),
    [
        ([text("No"), IMAGE], [text("No")]),
        ([IMAGE], [text("(no text)")]),
        ([], [text("(no text)")]),
        ("", [text("(no text)")]),
        (" ", [text("(no text)")]),
        (None, [text("(no text)")]),
        ("No", "No"),
        ([text("No")], [text("No")]),
    ],
)
def test_an_error_result_holds_text_and_nothing_else(content, sent):
    """P6."""
    wire = to_wire(say("Go", (call("a"),), [result("a", content, is_error=True)]))
    assert wire[2] == user(result("a", sent, is_error=True))
    assert validate(wire) == []


def test_a_good_result_is_passed_on_untouched():
    stored = result("a", [text("fine"), IMAGE])
    assert to_wire(say("Go", (call("a"),), [stored]))[2]["content"][0] is stored


def test_ids_that_a_server_numbers_anew_are_made_distinct():
    """P6: small local servers name the first call of each reply alike."""
    wire = to_wire(say("Go", (call("a"),), [result("a", "1")], (call("a"), call("a")), [result("a", "2"), result("a", "3")], (call("a_2"),)))
    assert wire[2:] == [
        user(result("a", "1")),
        assistant(call("a_2"), call("a_3")),
        user(result("a_2", "2"), result("a_3", "3")),
        assistant(call("a_2_2")),
        user(lost("a_2_2")),
    ]
    assert validate(wire) == []


def test_ids_and_inputs_that_the_api_refuses_are_mended():
    """P6."""
    wire = to_wire(say("Go", ({**call("x.y/1"), "input": None}, {**call(""), "input": "1"}), [result("x.y/1", "1"), result("", "2")]))
    assert wire[1:] == [assistant({**call("x_y_1"), "input": {}}, {**call("call"), "input": {}}), user(result("x_y_1", "1"), result("call", "2"))]
    assert validate(wire) == []


def test_blocks_in_the_wrong_mouth_are_left_out():
    """P6."""
    assert to_wire(say([text("Go"), call("a"), THINKING, REDACTED], (result("a"), text("Yes")), "Next")) == [user("Go"), assistant("Yes"), user("Next")]


def test_a_path_that_begins_with_the_assistant_gets_a_users_word_first():
    """P6, D4."""
    assert to_wire(say((text("Yes"),), "Next")) == [user(CONTINUED), assistant("Yes"), user("Next")]
    assert to_wire(say([result("gone")], (text("Yes"),)))[0] == user(CONTINUED)


def test_a_partial_reply_is_not_sent_as_if_whole():
    """D11."""
    partial = Message("t", 2, 1, "assistant", "partial", [text("Ye"), call("a")])
    assert to_wire([*say("Go"), partial, *say("Again", start=3)]) == [user("Go", "Again")]


def summary(sequence, first_kept, words="All so far."):
    return Message("t", sequence, sequence - 1, "user", "summary", [text(words)], meta={} if first_kept == "none" else {"first_kept": first_kept})


def test_a_summary_stands_for_what_it_replaced():
    """D3, D4: the whole path and the path from the mark on give the same request."""
    turns = say("One", (text("1"),), "Two", (text("2"),))
    after = say("Three", start=6)
    whole = [*turns, summary(5, 3), *after]
    cut = [summary(5, 3), *turns[2:], *after]
    assert to_wire(whole) == to_wire(cut) == [user("All so far.", "Two"), assistant("2"), user("Three")]
    assert [m.sequence for m in on_path(whole)] == [5, 3, 4, 6]
    assert on_path(cut) == cut


def test_a_summary_that_kept_nothing_replaces_all():
    for mark in (summary(3, None), summary(3, "none")):
        assert to_wire([*say("One", (text("1"),)), mark, *say("Two", start=4)]) == [user("All so far.", "Two")]


def test_only_the_last_summary_counts_and_the_earlier_is_inside_it():
    """D6."""
    path = [*say("One", (text("1"),)), summary(3, 2, "First."), *say("Two", (text("2"),), start=4), summary(6, 2, "Second."), *say("Three", start=7)]
    assert [m.sequence for m in on_path(path)] == [6, 2, 4, 5, 7]
    assert to_wire(path)[0] == user("Second.")


def test_a_summary_before_a_kept_reply_stays_in_front():
    """D3: the cut may fall inside a turn."""
    wire = to_wire([summary(9, 3), *say((call("a"),), [result("a")], start=3)])
    assert wire == [user("All so far."), assistant(call("a")), user(result("a"))]


def test_side_branches_are_sent_only_to_themselves():
    """C10."""
    aside = say("Save notes.", (text("NO_REPLY"),), start=3, branch="flush")
    other = say("Sum up.", start=5, branch="compression")
    main = say("Go", (text("Yes"),))
    assert to_wire([*main, *aside, *other]) == [user("Go"), assistant("Yes")]
    assert to_wire([*main, *aside, *other], branch="flush") == [user("Go"), assistant("Yes"), user("Save notes."), assistant("NO_REPLY")]


# -- validation --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wire", "faults"),
    [
        ([], ["there is no message"]),
        ([user("Go")], []),
        ([{"role": "user", "content": "Go"}], []),
        ([{"role": "user", "content": ""}], ["message 0: a text block is empty"]),
        ([user()], ["message 0: the content is empty"]),
        ([user(" ")], ["message 0: a text block is empty"]),
        ([user(text(None))], ["message 0: a text block is empty"]),
        (
            [{"role": "system", "content": "Go"}],
            ["message 0: the first message must be the user's", "message 0: the last message must be the user's", "message 0: 'system' is not a role"],
        ),
        ([assistant("Yes"), user("Go")], ["message 0: the first message must be the user's"]),
        ([user("Go"), assistant("Yes")], ["message 1: the last message must be the user's"]),
        ([user("Go"), user("On")], ["message 1: two neighbouring messages have the role user"]),
        ([user("Go"), assistant("A"), assistant("B"), user("On")], ["message 2: two neighbouring messages have the role assistant"]),
        ([user("Go"), assistant(call("a")), user("On")], ["message 2: the call a has no tool_result"]),
        (
            [user("Go"), assistant(call("a")), user(result("b"))],
            ["message 2: the call a has no tool_result", "message 2: the tool_result b answers no call of the message before"],
        ),
        ([user("Go"), assistant(call("a")), user(result("a"), result("a"))], ["message 2: the call a is answered twice"]),
        ([user("Go"), assistant(call("a")), user("On", result("a"))], ["message 2: tool_results must come before anything else"]),
        ([user("Go"), assistant(call("a")), user(result("a"), "On")], []),
        ([user(result("a"))], ["message 0: the tool_result a answers no call of the message before"]),
        ([user("Go"), assistant("A"), user(result("a"))], ["message 2: the tool_result a answers no call of the message before"]),
        (
            [user("Go"), assistant(call("a")), assistant("B"), user("On")],
            ["message 2: two neighbouring messages have the role assistant", "message 2: the calls before it were not answered"],
        ),
        ([user("Go"), assistant(call("a"), call("a")), user(result("a"))], ["message 1: the tool_use id a is used twice"]),
        ([user("Go"), assistant(call("a")), user(result("a")), assistant(call("a")), user(result("a"))], ["message 3: the tool_use id a is used twice"]),
        ([user("Go"), assistant(call("a b")), user(result("a b"))], ["message 1: the tool_use id 'a b' has characters that are not allowed"]),
        ([user("Go"), assistant({**call("a"), "input": "x"}), user(result("a"))], ["message 1: the input of a tool_use is not an object"]),
        ([user("Go", call("a"))], ["message 0: a tool_use stands in a message of the user"]),
        ([user("Go", THINKING, "x")], ["message 0: a thinking stands in a message of the user"]),
        ([user("Go", REDACTED, "x")], ["message 0: a redacted_thinking stands in a message of the user"]),
        ([user("Go"), assistant("A", result("a")), user("On")], ["message 1: a tool_result stands in a message of the assistant"]),
        ([user("Go"), assistant("A", THINKING), user("On")], ["message 1: the last block is thinking"]),
        ([user("Go"), assistant(THINKING, "A"), user("On")], []),
        ([user("Go"), assistant(call("a")), user(result("a", [text("")]))], ["message 2: a tool_result holds an empty text block"]),
        ([user("Go"), assistant(call("a")), user(result("a", [IMAGE]))], []),
        ([user("Go"), assistant(call("a")), user(result("a", [IMAGE], is_error=True))], ["message 2: an error tool_result holds something that is not text"]),
        ([user("Go"), assistant(call("a")), user(result("a", [], is_error=True))], ["message 2: an error tool_result has no content"]),
        ([user("Go"), assistant(call("a")), user(result("a", " ", is_error=True))], ["message 2: an error tool_result has no content"]),
        ([user("Go"), assistant(call("a")), user(result("a", "No", is_error=True))], []),
    ],
)
def test_every_violation_of_the_api_is_named(wire, faults):
    """P6."""
    assert validate(wire) == faults


def test_a_request_still_in_the_making_may_end_with_the_assistant():
    assert validate([user("Go"), assistant("Yes")], to_send=False) == []
    assert validate([user("Go"), assistant(call("a"))], to_send=False) == []
    assert validate([], to_send=False) == []
    assert validate([user("Go"), assistant(call("a"))]) == ["message 1: the last message must be the user's", "the last calls are not answered"]
