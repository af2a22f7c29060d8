"""The audit over random conversations: what still stands word for word is never missed, and what stands nowhere always is."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memflush_jupyter.context.audit import audit
from memflush_jupyter.trace.models import Message

values = st.one_of(
    st.builds(
        lambda whole, part, unit: f"{whole:,}.{part:02d} {unit}", st.integers(10, 9_999_999), st.integers(1, 99), st.sampled_from(["g", "km", "mg", "%", "€"])
    ),
    st.builds(lambda year, month, day: f"{year}-{month:02d}-{day:02d}", st.integers(1990, 2050), st.integers(1, 12), st.integers(1, 28)),
    st.builds(lambda name, number: f"data/{name}_{number}.csv", st.sampled_from(["buoys", "wells", "häfen"]), st.integers(10, 999)),
    st.builds(lambda name, number: f"`{name}_{number}`", st.sampled_from(["mass", "depth", "salinity"]), st.integers(10, 999)),
)
sentences = st.builds(
    lambda value, frame: frame.format(value),
    values,
    st.sampled_from(["The value is {}.", "Note that {} was found.", "It was {} in the end.", "我们得到 {} 。"]),
)
talks = st.lists(sentences, min_size=1, max_size=6, unique=True)


def messages(bodies):
    return [Message("t", at, at - 1 or None, "user", "prompt", [{"type": "text", "text": body}]) for at, body in enumerate(bodies, 1)]


@given(bodies=talks, place=st.sampled_from(["summary", "memory", "beside", "tail"]))
def test_what_still_stands_word_for_word_is_never_missed(bodies, place):
    whole = "\n".join(bodies)
    given_to = messages([whole]) if place == "tail" else whole
    found = audit(messages(bodies), **{"summary": "", place: given_to})
    assert found.missing == ()
    assert found.score == 1.0
    assert found.untraceable == ()


@given(bodies=talks)
def test_what_stands_nowhere_is_listed_with_the_message_that_said_it(bodies):
    found = audit(messages(bodies), summary="Words were said.")
    assert {item.sequence for item in found.missing} <= set(range(1, len(bodies) + 1))
    assert found.checked == len(found.missing) > 0
    assert found.score == 0.0


@given(body=st.text(max_size=400), summary=st.text(max_size=200))
def test_any_text_can_be_audited(body, summary):
    found = audit(messages([body]), summary=summary, memory=body)
    assert 0.0 <= found.score <= 1.0
    assert found.as_data()["checked"] == found.checked
