"""What images and documents cost in tokens, by the provider's published rules, never as base64 text (A6).

Sources: Anthropic's documentation, "Vision" (``width * height / 750``, after scaling to at most 1568 pixels on the long
edge and about 1,600 tokens) and "PDF support" (1,500-3,000 tokens of text a page, and each page also as an image).
"""

from __future__ import annotations

import base64
import binascii
import math
import re
import struct
from typing import Any

MAX_EDGE = 1568
MAX_IMAGE_TOKENS = 1600
PIXELS_PER_TOKEN = 750
PAGE_TOKENS = 3000
_HEADER_CHARS = 64 * 1024  # enough base64 for a JPEG whose size stands behind a thumbnail
_PAGE = re.compile(rb"/Type\s*/Page(?![a-zA-Z])")
_MARKER = 0xFF
_START_OF_FRAME = frozenset({0xC0, 0xC1, 0xC2, 0xC3, 0xC5, 0xC6, 0xC7, 0xC9, 0xCA, 0xCB, 0xCD, 0xCE, 0xCF})


def image_tokens(width: int, height: int) -> int:
    """Return the tokens of an image of this size in pixels."""
    if width <= 0 or height <= 0:
        return MAX_IMAGE_TOKENS
    scale = min(1.0, MAX_EDGE / max(width, height))
    tokens = math.ceil(width * scale * height * scale / PIXELS_PER_TOKEN)
    return min(MAX_IMAGE_TOKENS, tokens)


def image_size(header: bytes) -> tuple[int, int] | None:
    """Read ``(width, height)`` from the first bytes of a PNG, GIF, JPEG or WebP; ``None`` when they do not tell."""
    try:
        if header.startswith(b"\x89PNG\r\n\x1a\n"):
            return struct.unpack(">II", header[16:24])
        if header[:6] in {b"GIF87a", b"GIF89a"}:
            return struct.unpack("<HH", header[6:10])
        if header.startswith(b"\xff\xd8"):
            return _jpeg_size(header)
        if header[:4] == b"RIFF" and header[8:12] == b"WEBP":
            return _webp_size(header)
    except (struct.error, IndexError):
        pass
    return None


def block_tokens(block: dict[str, Any]) -> int | None:
    """Return the tokens of an ``image`` block, or of a ``document`` block that holds a PDF; ``None`` for any other block."""
    source = block.get("source") or {}
    if block.get("type") == "image":
        size = image_size(_decode(source.get("data"), _HEADER_CHARS)) if source.get("type") == "base64" else None
        return image_tokens(*size) if size else MAX_IMAGE_TOKENS
    if block.get("type") == "document" and source.get("type") not in {"text", "content"}:
        pages = len(_PAGE.findall(_decode(source.get("data"), None))) if source.get("type") == "base64" else 1
        return max(1, pages) * PAGE_TOKENS
    return None


def _decode(data: Any, limit: int | None) -> bytes:
    if not isinstance(data, str):
        return b""
    text = data if limit is None else data[:limit]
    try:
        return base64.b64decode(text[: len(text) // 4 * 4])
    except (binascii.Error, ValueError):
        return b""


def _jpeg_size(header: bytes) -> tuple[int, int] | None:
    position = 2
    while position + 9 <= len(header):
        if header[position] != _MARKER:
            return None
        marker = header[position + 1]
        if marker in _START_OF_FRAME:
            height, width = struct.unpack(">HH", header[position + 5 : position + 9])
            return width, height
        if marker == _MARKER:
            position += 1
            continue
        position += 2 + struct.unpack(">H", header[position + 2 : position + 4])[0]
    return None


def _webp_size(header: bytes) -> tuple[int, int] | None:
    kind = header[12:16]
    if kind == b"VP8X":
        return 1 + int.from_bytes(header[24:27], "little"), 1 + int.from_bytes(header[27:30], "little")
    if kind == b"VP8 ":
        width, height = struct.unpack("<HH", header[26:30])
        return width & 0x3FFF, height & 0x3FFF
    if kind == b"VP8L":
        bits = struct.unpack("<I", header[21:25])[0]
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    return None
