"""P7: a secret that is split over stream deltas never leaks, and ordinary prose is not held back."""

from __future__ import annotations

import random

import pytest

from memflush_jupyter.memory.redaction import Redactor

KEY = "gh" + "p_" + "Zq3vT9kLm2Xw8Rb5Nc7Yd1Hf4Gj6Ps0QaZq3v"
PEM = "-----BEGIN RSA PRIVATE KEY-----\n" + "\n".join(["Zq3vT9kLm2Xw8Rb5Nc7Yd1Hf4Gj6Ps0Q" * 2] * 5) + "\n-----END RSA PRIVATE KEY-----"
ENVIRON = {"MY_TOKEN": "tok-998877", "LOOSE_KEY": "two words 42 é", "MANY_KEY": "line-one-1\nline-two-2"}

TEXTS = [
    f"Here is a key {KEY} and more text.",
    f"before\n{PEM}\nafter the key there is prose.",
    "the pass" + "word is hunter22x, keep it",
    "pass" + "phrase = 'correct horse 9 battery' # done",
    "connect to postgresql://ana:s3cr3t-pw@db.example.org/sales now",
    "Authorization: Bear" + "er abcdef0123456789abcdef\nok",
    "value tok-998877 and two words 42 é end, two words only",
    "数据库密码是abc12345。请保密，谢谢。",
    "line-one-1\nline-two-2\nline three",
    "no secret at all, only prose about tokens and keys.",
    "Cookie: a=12345678; session=abcdefgh12345\nnext",
]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("size", [1, 2, 3, 7, 50])
def test_a_stream_gives_the_same_text_as_the_whole(text, size):
    """P7."""
    redact = Redactor(ENVIRON)
    stream = redact.stream()
    out = [stream.feed(text[i : i + size]) for i in range(0, len(text), size)]
    out.append(stream.finish())
    assert "".join(out) == redact(text)


def test_what_was_sent_never_holds_a_beginning_of_the_key():
    """P7: at no moment."""
    stream = Redactor({}).stream()
    sent = ""
    for character in f"Use {KEY} now":
        sent += stream.feed(character)
        assert KEY[:4] not in sent
    assert sent + stream.finish() == "Use [redacted: GitHub token] now"


def test_prose_streams_word_by_word():
    """Streaming must stay a stream: only the last word waits."""
    stream = Redactor({}).stream()
    assert stream.feed("The mean ") == "The mean "
    assert stream.feed("body ma") == "body "
    assert stream.feed("ss is high.") == "mass is "
    assert stream.feed(" 均值") == "high. 均值"
    assert stream.finish() == ""


def test_a_long_unbroken_run_is_let_go_in_parts():
    """A base64 image must neither stall the stream nor fill memory."""
    text = "".join(random.Random(1).choices("abcdefghijklmnopqrstuvwxyz0123456789", k=120_000))  # noqa: S311 - sample data
    stream = Redactor({}).stream()
    early = "".join(stream.feed(text[i : i + 5000]) for i in range(0, len(text), 5000))
    assert len(early) >= 80_000
    assert early + stream.finish() == text


def test_a_public_certificate_and_prose_about_blocks_are_not_held_for_ever():
    """P7."""
    stream = Redactor({}).stream()
    assert stream.feed("-----BEGIN CERTIFICATE-----\nabc def ") == "-----BEGIN CERTIFICATE-----\nabc def "
    stream = Redactor({}).stream()
    held = stream.feed("see -----BEGIN RSA PRIVATE KEY----- in the file ")
    assert held == "see "
    assert stream.finish() == "-----BEGIN RSA PRIVATE KEY----- in the file "


def test_a_stream_redactor_can_be_used_again():
    """After finish nothing of the old stream is left as context."""
    stream = Redactor({}).stream()
    assert stream.feed("the pass" + "word is ") + stream.finish() == "the password is "
    assert stream.feed("hunter22x") + stream.finish() == "hunter22x"
