"""Redaction of what is no plain text: JSON values and mime bundles, through and through (P7)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_OPAQUE = ("image/", "audio/", "video/", "font/", "application/pdf", "application/octet-stream", "application/zip")


def redacted_value(value: Any, redact: Callable[[str], str]) -> Any:
    """A JSON value with every text in it redacted, names of fields included. What holds no text comes back as it is."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {redact(key) if isinstance(key, str) else key: redacted_value(item, redact) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [redacted_value(item, redact) for item in value]
    return value


def redacted_bundle(bundle: Mapping[str, Any], redact: Callable[[str], str]) -> dict[str, Any]:
    """A mime bundle with its texts redacted, metadata and vector graphics included; pixels and sound are left as they are."""
    return {kind: data if _is_opaque(kind) else redacted_value(data, redact) for kind, data in bundle.items()}


def _is_opaque(kind: str) -> bool:
    return kind.startswith(_OPAQUE) and not kind.startswith("image/svg")
