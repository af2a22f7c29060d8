"""P7: every kind of planted secret, in every escape, cut for display, and split over a stream at each position."""

from __future__ import annotations

import csv
import html
import io
import json
from urllib.parse import quote

import pytest

from memflush_jupyter.memory.redaction import Redactor
from memflush_jupyter.memory.redaction_values import redacted_bundle, redacted_value
from memflush_jupyter.testing.planted import planted

KINDS = [plant.kind for plant in planted()]


def of(kind: str, seed: int):
    return next(plant for plant in planted(seed) if plant.kind == kind)


def _csv(text: str) -> str:
    out = io.StringIO()
    csv.writer(out, quoting=csv.QUOTE_ALL).writerow(["a", text])
    return out.getvalue()


ESCAPES = {
    "as it is": lambda text: f"Use {text} for it.",
    "in a table": lambda text: f"| a | {text} |",
    "in HTML": lambda text: f"<td>{html.escape(text)}</td>",
    "in JSON": lambda text: json.dumps({"k": ["x\n" + text + "\ny"]}),
    "in JSON twice": lambda text: json.dumps(json.dumps({"k": text})),
    "with slashes escaped": lambda text: json.dumps({"k": text}).replace("/", "\\/"),
    "in a literal": lambda text: repr(f"one\n{text}\ttwo"),
    "in CSV": _csv,
    "after a colour": lambda text: f"\x1b[31m{text}\x1b[0m",
}


def test_more_than_sixty_kinds_are_planted_and_each_time_others():
    """P7."""
    assert len(set(KINDS)) == len(KINDS) >= 60
    assert [plant.text for plant in planted(1)] == [plant.text for plant in planted(1)]
    assert not {plant.secret for plant in planted(1)} & {plant.secret for plant in planted(2)}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("escape", ESCAPES)
def test_a_secret_is_found_in_every_way_it_is_written(kind, escape):
    """P7: of the secret, its last twelve characters included, nothing is left; what is redacted is not redacted again."""
    redact = Redactor({})
    for seed in range(5):
        plant = of(kind, seed)
        for piece in [plant.secret, plant.secret[-12:]]:
            text = redact(ESCAPES[escape](plant.text))
            assert piece not in text
            assert ESCAPES[escape](piece)[4:-4] not in text
            assert redact(text) == text


@pytest.mark.parametrize("kind", [plant.kind for plant in planted() if plant.text == plant.secret and len(plant.text) > 40])
def test_a_key_that_was_cut_for_display_is_a_secret_too(kind):
    """P7: tables show the first forty or fifty characters of a value; of a key that is enough to be worth hiding."""
    for seed in range(5):
        key = of(kind, seed).secret
        for shown in (40, 47):
            assert key[16:32] not in Redactor({})(f"  - note (object): 0 missing; e.g. {key[:shown]}…, a")
            assert key[16:32] not in Redactor({})(f"0  {key[:shown]}...\n1  a")


def test_a_key_in_the_environment_is_known_from_its_beginning_where_it_was_cut():
    """P7: and only there: the beginning alone may be a word."""
    redact = Redactor({"SERVICE_KEY": "projector-alpha-0123456789"})
    assert redact("x projector-alpha-01… y") == "x [redacted: SERVICE_KEY]… y"
    assert redact("x projector-al... y") == "x [redacted: SERVICE_KEY]... y"
    assert redact("projector-alpha is a project… of ours") == "projector-alpha is a project… of ours"
    assert Redactor({"SERVICE_KEY": "short-key-0123"})("short-key-01…") == "short-key-01…"


def test_a_key_that_is_set_later_is_a_secret_from_then_on_and_stays_one():
    """P7: `os.environ["…"] = …` in a cell."""
    environ = {"A_TOKEN": "first-value-1"}
    redact = Redactor(environ)
    assert redact("first-value-1 second-value-2") == "[redacted: A_TOKEN] second-value-2"
    environ |= {"B_TOKEN": "second-value-2"}
    redact.renew()
    del environ["A_TOKEN"]
    redact.renew()
    assert redact("first-value-1 second-value-2") == "[redacted: A_TOKEN] [redacted: B_TOKEN]"
    assert redact.values == {"first-value-1": "A_TOKEN", "second-value-2": "B_TOKEN"} | {
        form: name for form, name in redact.values.items() if form not in {"first-value-1", "second-value-2"}
    }


@pytest.mark.parametrize("kind", KINDS)
def test_a_stream_that_is_split_anywhere_shows_nothing_of_the_secret(kind):
    """P7: in two deltas, at each position; what comes out is what the whole text gives."""
    plant = of(kind, 3)
    text = f"Here it is:\n{plant.text}\nand more."
    redact = Redactor({})
    whole = redact(text)
    step = 1 if len(text) < 250 else 7
    for position in range(0, len(text) + 1, step):
        stream = redact.stream()
        first = stream.feed(text[:position])
        assert plant.secret[:16] not in first
        assert first + stream.feed(text[position:]) + stream.finish() == whole


@pytest.mark.parametrize("kind", KINDS)
def test_a_stream_of_single_characters_shows_nothing_of_the_secret(kind):
    """P7."""
    plant = of(kind, 4)
    text = f"See {plant.text} here."
    redact = Redactor({})
    stream = redact.stream()
    out = "".join(map(stream.feed, text)) + stream.finish()
    assert out == redact(text)
    assert plant.secret not in out


def test_what_is_nested_is_redacted_through_and_through():
    """P7: names of fields too; numbers, pixels and sounds stay."""
    key = of("GitHub classic", 1).secret
    said = "[redacted: GitHub token]"
    assert redacted_value({key: [{"a": (key, 1, None)}]}, Redactor({})) == {said: [{"a": [said, 1, None]}]}
    bundle = {"text/plain": key, "image/svg+xml": f"<svg>{key}</svg>", "image/png": key, "application/pdf": key, "metadata": {"image/png": {"alt": key}}}
    assert redacted_bundle(bundle, Redactor({})) == {
        "text/plain": said, "image/svg+xml": f"<svg>{said}</svg>", "image/png": key, "application/pdf": key, "metadata": {"image/png": {"alt": said}},
    }  # fmt: skip


def test_a_key_is_found_after_an_escape_of_a_url():
    """P7."""
    key = of("GitHub classic", 1).secret
    assert Redactor({})(quote(f"?x= {key}")) == "%3Fx%3D%20[redacted: GitHub token]"
