"""The cl100k encoding that ships inside the package: no download at run time (A5)."""

from __future__ import annotations

import base64
import functools
import gzip
import hashlib
from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import tiktoken

SHA256 = "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"
"""Checksum of the uncompressed ranks, as tiktoken's own source states it for cl100k_base."""

_FILE = "cl100k_base.tiktoken.gz"
_PATTERN = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
_SPECIAL = {"<|endoftext|>": 100257, "<|fim_prefix|>": 100258, "<|fim_middle|>": 100259, "<|fim_suffix|>": 100260, "<|endofprompt|>": 100276}


class EncodingError(Exception):
    """The encoding file is missing, damaged, or tiktoken cannot be used; tokens are then estimated from bytes."""


def read_ranks(compressed: bytes) -> dict[bytes, int]:
    """Unpack the byte-pair ranks after checking them against :data:`SHA256`.

    Raises:
        EncodingError: the data are not the file that tiktoken publishes.
    """
    try:
        plain = gzip.decompress(compressed)
    except (OSError, EOFError) as error:
        raise EncodingError(f"The token encoding file {_FILE} is damaged: {error}.") from error
    if hashlib.sha256(plain).hexdigest() != SHA256:
        raise EncodingError(f"The token encoding file {_FILE} is not the one this package was built with: its checksum differs.")
    ranks: dict[bytes, int] = {}
    for line in plain.splitlines():
        token, _, rank = line.partition(b" ")
        ranks[base64.b64decode(token)] = int(rank)
    return ranks


@functools.cache
def load() -> tiktoken.Encoding:
    """Build the encoding (about 0.1 s, once per process).

    Raises:
        EncodingError: the file is missing or damaged, or tiktoken cannot be imported.
    """
    try:
        import tiktoken

        data = resources.files("memflush_jupyter.context").joinpath("encodings", _FILE).read_bytes()
    except (ImportError, OSError) as error:
        raise EncodingError(f"Tokens cannot be counted exactly: {error}.") from error
    return tiktoken.Encoding("cl100k_base_packaged", pat_str=_PATTERN, mergeable_ranks=read_ranks(data), special_tokens=dict(_SPECIAL))
