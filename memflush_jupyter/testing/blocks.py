"""What the Messages API refuses inside one content block."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Any

from memflush_jupyter.testing.refusals import RefusalError

USER_TYPES = frozenset({"text", "image", "document", "tool_result", "search_result"})
ASSISTANT_TYPES = frozenset({"text", "tool_use", "thinking", "redacted_thinking"})
RESULT_TYPES = frozenset({"text", "image", "document", "search_result"})

MAX_IMAGE_BYTES = 5 * 1024 * 1024

# For each type the keys it must have and the keys it may have.
_KEYS: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    "text": (frozenset({"text"}), frozenset({"cache_control", "citations"})),
    "image": (frozenset({"source"}), frozenset({"cache_control"})),
    "document": (frozenset({"source"}), frozenset({"cache_control", "citations", "context", "title"})),
    "search_result": (frozenset({"content", "source", "title"}), frozenset({"cache_control", "citations"})),
    "tool_use": (frozenset({"id", "name", "input"}), frozenset({"cache_control", "caller"})),
    "tool_result": (frozenset({"tool_use_id"}), frozenset({"content", "is_error", "cache_control"})),
    "thinking": (frozenset({"thinking", "signature"}), frozenset()),
    "redacted_thinking": (frozenset({"data"}), frozenset()),
}
_SIGNATURES = {
    "image/png": (b"\x89PNG\r\n\x1a\n",),
    "image/jpeg": (b"\xff\xd8\xff",),
    "image/gif": (b"GIF87a", b"GIF89a"),
    "image/webp": (b"RIFF",),
}
_TOOL_ID = re.compile(r"^[a-zA-Z0-9_-]+$")
_TOOL_NAME = re.compile(r"^[a-zA-Z0-9_-]{1,128}$")
_TTLS = frozenset({"5m", "1h"})


def check(block: Any, where: str, *, allowed: frozenset[str]) -> None:
    """Check one block that stands at ``where``, in a place where the types ``allowed`` may stand.

    Raises:
        RefusalError: the first rule that is broken.
    """
    if not isinstance(block, dict):
        raise RefusalError(f"{where}: Input should be a valid dictionary")
    kind = block.get("type")
    if kind not in allowed:
        if kind == "tool_use" and "tool_result" in allowed:
            raise RefusalError(f"{where}: `tool_use` blocks can only be in `assistant` messages")
        if kind == "tool_result" and "tool_use" in allowed:
            raise RefusalError(f"{where}: `tool_result` blocks can only be in `user` messages")
        expected = ", ".join(f"'{name}'" for name in sorted(allowed))
        raise RefusalError(f"{where}: Input tag '{kind}' found using 'type' does not match any of the expected tags: {expected}")
    _check_keys(block, kind, where)
    _CHECKS[kind](block, where)
    check_cache_control(block, f"{where}.{kind}")


def check_cache_control(block: dict[str, Any], where: str) -> None:
    """Check the form of a block's or a tool's ``cache_control``."""
    value = block.get("cache_control")
    if value is None:
        return
    if not isinstance(value, dict) or value.get("type") != "ephemeral":
        raise RefusalError(f"{where}.cache_control.type: Input should be 'ephemeral'")
    if set(value) - {"type", "ttl"} or value.get("ttl", "5m") not in _TTLS:
        raise RefusalError(f"{where}.cache_control.ttl: Input should be '5m' or '1h'")


def _check_keys(block: dict[str, Any], kind: str, where: str) -> None:
    required, optional = _KEYS[kind]
    for name in sorted(required - set(block)):
        raise RefusalError(f"{where}.{kind}.{name}: Field required")
    for name in sorted(set(block) - required - optional - {"type"}):
        raise RefusalError(f"{where}.{kind}.{name}: Extra inputs are not permitted")


def _text(block: dict[str, Any], where: str) -> None:
    text = block["text"]
    if not isinstance(text, str):
        raise RefusalError(f"{where}.text.text: Input should be a valid string")
    if not text and block.get("cache_control"):
        raise RefusalError(f"{where}.text: cache_control cannot be set for empty text blocks")
    if not text:
        raise RefusalError(f"{where}.text: text content blocks must be non-empty")
    if not text.strip():
        raise RefusalError(f"{where}.text: text content blocks must contain non-whitespace text")


def _image(block: dict[str, Any], where: str) -> None:
    source = block["source"]
    if not isinstance(source, dict) or source.get("type") not in {"base64", "url", "file"}:
        raise RefusalError(f"{where}.image.source: Input tag does not match any of the expected tags: 'base64', 'url', 'file'")
    if source["type"] != "base64":
        return
    media_type = source.get("media_type")
    if media_type not in _SIGNATURES:
        raise RefusalError(f"{where}.image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'")
    data = _decoded(source.get("data"), f"{where}.image.source.base64")
    if len(data) > MAX_IMAGE_BYTES:
        raise RefusalError(f"{where}.image.source.base64: image exceeds 5 MB maximum: {len(data)} bytes > {MAX_IMAGE_BYTES} bytes")
    if not data.startswith(_SIGNATURES[media_type]):
        raise RefusalError(f"{where}.image.source.base64: The image was specified using the {media_type} media type, but it does not appear to be one")


def _document(block: dict[str, Any], where: str) -> None:
    source = block["source"]
    kinds = {"base64", "text", "content", "url", "file"}
    if not isinstance(source, dict) or source.get("type") not in kinds:
        raise RefusalError(f"{where}.document.source: Input tag does not match any of the expected tags")
    if source["type"] == "base64":
        if source.get("media_type") != "application/pdf":
            raise RefusalError(f"{where}.document.source.base64.media_type: Input should be 'application/pdf'")
        if not _decoded(source.get("data"), f"{where}.document.source.base64").startswith(b"%PDF"):
            raise RefusalError(f"{where}.document.source.base64.data: The PDF specified was not valid.")


def _decoded(data: Any, where: str) -> bytes:
    if not isinstance(data, str) or not data:
        raise RefusalError(f"{where}.data: Field required")
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError) as error:
        raise RefusalError(f"{where}.data: invalid base64 data") from error


def _tool_use(block: dict[str, Any], where: str) -> None:
    if not isinstance(block["id"], str) or not _TOOL_ID.match(block["id"]):
        raise RefusalError(f"{where}.tool_use.id: String should match pattern '{_TOOL_ID.pattern}'")
    if not isinstance(block["name"], str) or not _TOOL_NAME.match(block["name"]):
        raise RefusalError(f"{where}.tool_use.name: String should match pattern '{_TOOL_NAME.pattern}'")
    if not isinstance(block["input"], dict):
        raise RefusalError(f"{where}.tool_use.input: Input should be a valid dictionary")


def _tool_result(block: dict[str, Any], where: str) -> None:
    if not isinstance(block["tool_use_id"], str) or not _TOOL_ID.match(block["tool_use_id"]):
        raise RefusalError(f"{where}.tool_result.tool_use_id: String should match pattern '{_TOOL_ID.pattern}'")
    if not isinstance(block.get("is_error") or False, bool):
        raise RefusalError(f"{where}.tool_result.is_error: Input should be a valid boolean")
    content = block.get("content")
    if content is None or isinstance(content, str):
        return
    if not isinstance(content, list):
        raise RefusalError(f"{where}.tool_result.content: Input should be a valid list")
    for position, part in enumerate(content):
        check(part, f"{where}.tool_result.content.{position}", allowed=RESULT_TYPES)
        if block.get("is_error") and part["type"] != "text":
            raise RefusalError(f'{where}.tool_result: all content must be type "text" if `is_error` is true')


def _thinking(block: dict[str, Any], where: str) -> None:
    for name in ("thinking", "signature"):
        if not isinstance(block[name], str):
            raise RefusalError(f"{where}.thinking.{name}: Input should be a valid string")
    if not block["signature"]:
        raise RefusalError(f"{where}: Invalid `signature` in `thinking` block")


def _anything(block: dict[str, Any], where: str) -> None:
    """Nothing more to check."""


_CHECKS = {
    "text": _text,
    "image": _image,
    "document": _document,
    "search_result": _anything,
    "tool_use": _tool_use,
    "tool_result": _tool_result,
    "thinking": _thinking,
    "redacted_thinking": _anything,
}
