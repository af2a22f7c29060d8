"""Errors become sentences with a stable kind; overflow is recognised in every server's words (D7); no key is ever shown (P7)."""

from __future__ import annotations

import pytest

from memflush_jupyter.models import faults

KEY = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz"
CLAUDE = faults.Served("anthropic/claude-x", "https://api.anthropic.com", "ANTHROPIC_API_KEY", secret=KEY)
LOCAL = faults.Served("local/qwen", "http://127.0.0.1:8080", local=True)

OVERFLOWS = [
    "prompt is too long: 210000 tokens > 200000 maximum",
    "input length and `max_tokens` exceed context limit: 195000 + 20000 > 200000, decrease input length or `max_tokens` and try again",
    "Input is too long for requested model.",
    "request (20000 tokens) exceeds the available context size (16384 tokens), try increasing it",
    "the request exceeds the available context size. try increasing the context size or enable context shift",
    "input (20000 tokens) is larger than the max context size (16384 tokens). skipping",
    "input is too large to process. increase the physical batch size",
    "Context size has been exceeded.",
    "prompt is too long; exceeds context length",
    "the input length exceeds the context length",
    "input length exceeds maximum context length",
    "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4000 in the messages, 1000 in the completion).",
    "The decoder prompt (length 5000) is longer than the maximum model length of 4096.",
    "Input length (5000) exceeds model's maximum context length (4096).",
    "Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens",
    "The number of tokens to keep from the initial prompt is greater than the context length.",
    "Requested tokens (5000) exceed context window of 2048",
]
NOT_OVERFLOWS = [
    "max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens for claude-sonnet-4-5",
    "messages.0.content: Field required",
    "Your credit balance is too low to access the Anthropic API.",
    "This request would exceed your organization's rate limit of 40,000 input tokens per minute",
    "Overloaded",
]


@pytest.mark.parametrize("message", OVERFLOWS)
def test_overflow_is_recognised_in_the_words_of_each_server(message: str) -> None:
    """D7."""
    assert faults.is_overflow(message)
    error = faults.from_status(400, "invalid_request_error", message, LOCAL)
    assert error.kind == "overflow"
    assert str(error).startswith("What was sent to local/qwen does not fit its context window.")


@pytest.mark.parametrize("message", NOT_OVERFLOWS)
def test_other_refusals_are_no_overflow(message: str) -> None:
    assert not faults.is_overflow(message)


def test_llama_cpp_names_the_overflow_in_the_type() -> None:
    """D7: also after the headers, as an error event with the fields at the top level."""
    body = {"code": 400, "message": "too many tokens", "type": "exceed_context_size_error"}
    assert faults.from_body(200, body, LOCAL).kind == "overflow"


@pytest.mark.parametrize(
    ("status", "kind", "message", "expected"),
    [
        (401, "authentication_error", "invalid x-api-key", "bad_key"),
        (403, "permission_error", "not allowed", "bad_key"),
        (404, "not_found_error", "model: claude-x", "unknown_model"),
        (404, "", "", "unknown_model"),
        (400, "", "model 'qwen' not found, try pulling it first", "unknown_model"),
        (402, "billing_error", "", "no_credit"),
        (400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API.", "no_credit"),
        (429, "rate_limit_error", "", "rate_limited"),
        (429, "", "", "rate_limited"),
        (529, "overloaded_error", "Overloaded", "overloaded"),
        (500, "api_error", "", "overloaded"),
        (502, "", "<html>bad gateway</html>", "overloaded"),
        (503, "unavailable_error", "Loading model", "overloaded"),
        (504, "", "", "timeout"),
        (408, "", "", "timeout"),
        (413, "", "", "overflow"),
        (413, "request_too_large", "Request exceeds the maximum size", "overflow"),
        (400, "invalid_request_error", "messages.0: bad", "invalid"),
        (422, "", "", "invalid"),
        (200, "overloaded_error", "Overloaded", "overloaded"),
        (200, "something_new", "", "other"),
    ],
)
def test_kind_follows_from_status_type_and_words(status: int, kind: str, message: str, expected: str) -> None:
    error = faults.from_status(status, kind, message, CLAUDE)
    assert (error.kind, error.status) == (expected, status)
    assert str(error).endswith((".", message))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, ("overloaded_error", "Overloaded")),
        ({"error": {"code": 500, "message": "boom"}}, ("500", "boom")),
        ({"error": "model not loaded"}, ("", "model not loaded")),
        ({"code": 400, "message": "m", "type": "t"}, ("t", "m")),
        ({"detail": "Not Found"}, ("", "Not Found")),
        ("<html>", ("", "<html>")),
        (None, ("", "")),
    ],
)
def test_error_bodies_are_read_in_every_shape(body: object, expected: tuple[str, str]) -> None:
    assert faults.read_error(body) == expected


def test_sentences_say_what_to_do() -> None:
    assert "environment variable ANTHROPIC_API_KEY" in str(faults.from_status(401, "authentication_error", "invalid x-api-key", CLAUDE))
    assert "%agent model" in str(faults.from_status(404, "not_found_error", "model: claude-x", CLAUDE))
    assert "out of credit" in str(faults.from_status(402, "billing_error", "", CLAUDE))
    assert "The server at http://127.0.0.1:8080 is overloaded" in str(faults.from_status(500, "", "", LOCAL))
    assert "Start it" in str(faults.no_network(LOCAL, "Connection refused"))
    assert "offline/analyst" in str(faults.no_network(CLAUDE))
    assert "sent nothing for 120 seconds" in str(faults.stalled(LOCAL, 120.0))
    assert "without /v1" in str(faults.not_messages_api(LOCAL, "text/html"))


@pytest.mark.parametrize("message", [f"bad key {KEY}", "bad key sk-ant-other-1234567890abcdef", "Authorization: Bearer abc.def.ghi"])
def test_no_sentence_holds_a_key(message: str) -> None:
    """P7."""
    text = str(faults.from_status(401, "authentication_error", message, CLAUDE))
    assert "[key]" in text
    assert not any(part in text for part in (KEY, "1234567890abcdef", "abc.def.ghi"))


def test_secret_of_any_form_is_taken_out() -> None:
    served = faults.Served("local/x", "http://127.0.0.1:1", "K", local=True, secret="hunter2")  # noqa: S106 - what must not be shown
    assert "hunter2" not in str(faults.from_status(401, "", "your key hunter2 is wrong", served))


def test_long_answers_are_quoted_in_one_short_line() -> None:
    said = faults.quote("word\n" * 500, LOCAL)
    assert len(said) == 300
    assert "\n" not in said
    assert said.endswith("…")
