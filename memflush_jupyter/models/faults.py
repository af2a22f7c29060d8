"""Errors of the SDK, the network and the servers, as sentences with a stable kind.

Recognition goes by status and error type where a server sends them and by the wording where it does not: that an input is
longer than the window (D7) is told by each server in its own words. No sentence ever holds a key.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from memflush_jupyter.errors import ModelError

_QUOTE_LIMIT = 300

# Wordings of Anthropic (also on Bedrock), llama.cpp, Ollama, vLLM, LM Studio and OpenAI-compatible servers.
_OVERFLOW = re.compile(
    r"prompt is too long"
    r"|input length and `?max_tokens`? exceed context limit"
    r"|input is too long for (?:the )?requested model"
    r"|request_too_large|request exceeds the maximum (?:allowed )?(?:size|number of bytes)"
    r"|exceeds? (?:the )?(?:available |maximum |model'?s )*(?:context (?:size|length|window)|model length)"
    r"|exceed_context_size|context_length_exceeded"
    r"|context (?:size|length|window) (?:has been )?exceeded"
    r"|larger than the max context size"
    r"|is too large to process"
    r"|maximum context length is \d+ tokens"
    r"|longer than the maximum model length"
    r"|tokens to keep from the initial prompt is greater than the context length"
    r"|when (?:the )?context (?:the )?overflows"
    r"|requested tokens? \(\d+\) exceed context window",
    re.IGNORECASE,
)
_NO_CREDIT = re.compile(r"credit balance is too low|insufficient (?:credit|funds|quota|balance)|billing_error|exceeded your current quota", re.IGNORECASE)
_NO_MODEL = re.compile(r"model\b.*\b(?:not found|does not exist|is not available|unknown)|(?:unknown|no such|invalid) model|^model:", re.IGNORECASE)
_KIND_OF_TYPE = {
    "billing_error": "no_credit",
    "authentication_error": "bad_key",
    "permission_error": "bad_key",
    "not_found_error": "unknown_model",
    "rate_limit_error": "rate_limited",
    "timeout_error": "timeout",
    "gateway_timeout_error": "timeout",
    "overloaded_error": "overloaded",
    "api_error": "overloaded",
    "server_error": "overloaded",
    "unavailable_error": "overloaded",
    "request_too_large": "overflow",
    "invalid_request_error": "invalid",
}
_KIND_OF_STATUS = {401: "bad_key", 402: "no_credit", 403: "bad_key", 404: "unknown_model", 408: "timeout", 413: "overflow", 429: "rate_limited", 504: "timeout"}
_KIND_OF_CLASS = {4: "invalid", 5: "overloaded"}
_KEY_LIKE = re.compile(r"(?:sk|pk|key|token)[-_][A-Za-z0-9_\-]{12,}|Bearer\s+\S+", re.IGNORECASE)


@dataclass(frozen=True)
class Served:
    """How to speak of the endpoint in a sentence. ``secret`` is only used to keep it out of the text."""

    model: str
    base_url: str
    key_env: str | None = None
    local: bool = False
    secret: str = ""


def is_overflow(message: str) -> bool:
    """Tell from a server's words whether the input (with the reply asked for) does not fit the window (D7)."""
    return _OVERFLOW.search(message) is not None


def quote(message: str, served: Served) -> str:
    """Return a server's own words, shortened to one line and without anything that looks like a key."""
    text = " ".join(message.split())
    if served.secret:
        text = text.replace(served.secret, "[key]")
    text = _KEY_LIKE.sub("[key]", text)
    return text if len(text) <= _QUOTE_LIMIT else text[: _QUOTE_LIMIT - 1] + "…"


def from_status(status: int, error_type: str, message: str, served: Served) -> ModelError:
    """Turn an error answer (or an error event in a stream, ``status`` 200) into a :class:`ModelError`."""
    kind = classify(status, error_type, message)
    return ModelError(_sentence(kind, quote(message, served), served), kind=kind, status=status)


def classify(status: int, error_type: str, message: str) -> str:
    """Return the kind of an error answer; see :class:`ModelError`."""
    if is_overflow(message) or is_overflow(error_type):
        return "overflow"
    if _NO_CREDIT.search(message):
        return "no_credit"
    if status == HTTPStatus.BAD_REQUEST and _NO_MODEL.search(message):
        return "unknown_model"
    by_type = _KIND_OF_TYPE.get(error_type)
    if by_type is not None:
        return by_type
    return _KIND_OF_STATUS.get(status) or _KIND_OF_CLASS.get(status // 100, "other")


def _sentence(kind: str, said: str, served: Served) -> str:
    where = "The offline model" if served.model.startswith("offline/") else f"The server at {served.base_url}" if served.local else "Anthropic"
    said = f" It said: {said}" if said else ""
    key = f"the environment variable {served.key_env}" if served.key_env else "a key (name its environment variable as 'api_key_env' in c.MemFlush.endpoints)"
    sentences = {
        "overflow": f"What was sent to {served.model} does not fit its context window.{said}",
        "no_credit": f"{where} refused the request because the account is out of credit. Add credit in its billing settings, "
        f"or choose another model with %agent model.{said}",
        "bad_key": f"{where} did not accept the key. Check {key}; it must hold a valid key that may use {served.model}.{said}",
        "unknown_model": f"{where} does not know the model {served.model!r}. Check its name and choose another with %agent model.{said}",
        "rate_limited": f"{where} limits how much can be asked for in a while, and the limit was reached. Wait a little and run the cell again.{said}",
        "timeout": f"{where} did not answer in time. Run the cell again; for slow models raise c.MemFlush.request_timeout_s.{said}",
        "overloaded": f"{where} is overloaded or has an internal error. Run the cell again in a while.{said}",
        "invalid": f"{where} refused the request.{said}",
    }
    return sentences.get(kind, f"{where} answered with an error.{said}")


def from_body(status: int, body: Any, served: Served) -> ModelError:
    """Turn an error body, in Anthropic's, OpenAI's or llama.cpp's shape or plain text, into a :class:`ModelError`."""
    error_type, message = read_error(body)
    return from_status(status, error_type, message, served)


def read_error(body: Any) -> tuple[str, str]:
    """Return the type and the message of an error body, whatever its shape."""
    if isinstance(body, dict):
        inner = body.get("error", body)
        if isinstance(inner, dict):
            return str(inner.get("type") or inner.get("code") or ""), str(inner.get("message") or inner.get("error") or body.get("detail") or "")
        return "", str(inner)
    return "", "" if body is None else str(body)


def no_network(served: Served, reason: str = "") -> ModelError:
    """Return the error for a server that cannot be reached."""
    said = f" ({quote(reason, served)})" if reason else ""
    if served.local:
        return ModelError(f"No server answers at {served.base_url}{said}. Start it, or correct base_url in c.MemFlush.", kind="no_network")
    return ModelError(
        f"{served.base_url} cannot be reached{said}. Check the network; the built-in model works without one: %agent model offline/analyst.", kind="no_network"
    )


def lost(served: Served, reason: str = "") -> ModelError:
    """Return the error for a connection that broke, or an answer that ended, before it was complete."""
    said = f" ({quote(reason, served)})" if reason else ""
    return ModelError(f"The connection to {served.base_url} was lost{said}. Run the cell again.", kind="no_network")


def stalled(served: Served, seconds: float) -> ModelError:
    """Return the error for a server that sent nothing for too long."""
    text = f"The server at {served.base_url} sent nothing for {seconds:g} seconds. Run the cell again; for slow models raise c.MemFlush.request_timeout_s."
    return ModelError(text, kind="timeout")


def not_messages_api(served: Served, content_type: str) -> ModelError:
    """Return the error for an answer that is not one of the Messages API."""
    sent = content_type or "no content type"
    text = f"{served.base_url} answered, but not as the Anthropic Messages API does (it sent {sent}). Check base_url: it is the server's root, without /v1."
    return ModelError(text, kind="invalid", status=200)
