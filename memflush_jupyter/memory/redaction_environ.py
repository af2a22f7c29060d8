"""Which environment variables hold secrets, and every form in which their values may be printed."""

from __future__ import annotations

import base64
import html
import json
import re
from typing import TYPE_CHECKING
from urllib.parse import quote, quote_plus, urlsplit

from memflush_jupyter.memory.redaction_assigned import is_common

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_KEY_WORDS = frozenset(
    [
        *("KEY", "KEYS", "APIKEY", "TOKEN", "TOKENS", "SECRET", "SECRETS", "PASS", "PASSWORD", "PASSWD", "PASSPHRASE", "PASSCODE", "PWD"),
        *("CREDENTIAL", "CREDENTIALS", "COOKIE", "DSN", "PAT", "SALT", "WEBHOOK", "AUTH"),
    ]
)
_KEY_ENDINGS = ("PASSWORD", "PASSWD", "APIKEY", "SECRET", "TOKEN")
_NOT_KEY_NAMES = frozenset({"PWD", "OLDPWD", "GPG_KEY", "INIT_CWD"})
_NOT_KEY_ENDINGS = ("_PATH", "_FILE", "_DIR", "_ID", "_URL", "_NAME", "_SOCK", "_TYPE", "_ENV", "_COUNT", "_LENGTH", "_LIMIT", "_TTL", "_METHOD", "_HOST")
_SHORTEST = 6
_SHORTEST_WORD = 8


def secret_values(environ: Mapping[str, str]) -> dict[str, str]:
    """Map each secret value, in every form it may be printed in, to the variable's name."""
    found: dict[str, str] = {}
    for name in sorted(environ):
        value = environ[name].strip()
        if is_key_name(name) and _is_secret(value):
            for form in _forms(value):
                found.setdefault(form, name)
        password = _url_password(value)
        if password and _is_secret(password):
            found.setdefault(password, name)
    return found


def is_key_name(name: str) -> bool:
    """Tell whether an environment variable of this name holds a secret (``…_KEY``, ``…_TOKEN``, ``…PASSWORD``, …)."""
    upper = name.upper()
    if upper in _NOT_KEY_NAMES or upper.endswith(_NOT_KEY_ENDINGS):
        return False
    words = re.split(r"[^A-Z0-9]+", upper)
    return any(word in _KEY_WORDS or word.endswith(_KEY_ENDINGS) for word in words)


def _is_secret(value: str) -> bool:
    """Short words, paths, defaults and placeholders are ordinary text: redacting them would spoil more than it saves."""
    if len(value) < _SHORTEST or is_common(value):
        return False
    if value.isalpha() and value.islower() and len(value) < _SHORTEST_WORD:
        return False
    return not (value.startswith(("/", "./", "~/")) and "/" in value[1:])


def _url_password(value: str) -> str:
    if "://" not in value or "@" not in value:
        return ""
    try:
        return urlsplit(value).password or ""
    except ValueError:
        return ""


def _forms(value: str) -> Iterator[str]:
    """Yield the value as it is, escaped for URLs, HTML, JSON and ``repr``, encoded in base64, and each of its lines."""
    odd = "surrogateescape"  # a variable may hold bytes that are no UTF-8
    forms = (value, html.escape(value), quote(value, safe="", errors=odd), quote_plus(value, errors=odd), json.dumps(value)[1:-1], repr(value)[1:-1])
    encoded = base64.b64encode(value.encode("utf-8", odd)).decode().rstrip("=")
    lines = [line.strip() for line in value.splitlines()]
    yield from (form for form in (*forms, encoded, *lines) if len(form) >= _SHORTEST)
