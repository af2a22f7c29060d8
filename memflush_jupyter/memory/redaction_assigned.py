"""Secrets that stand where a secret stands: assigned to a telling name, or told in passing.

Here judgement is needed, for ``token = tokenizer.encode(text)``, ``"token": "NOUN"`` and ``password: str`` are ordinary
data and code. A value counts only if it can be no name of a program, no placeholder and no plain word.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_HINTS = ("pass", "pwd", "secret", "credential", "token", "key", "connection")
_SPOKEN_HINTS = ("pass", "secret", "token", "key", "credential", "api", "access", "密码", "口令", "密钥", "令牌", "秘钥")

_ASSIGNED = re.compile(
    r"(?P<word>pass(?:word|wd|phrase|code)|pwd|pass|secret|credentials?|token|key|connection[_-]?string)s?\d{0,2}"
    r"(?:\\{0,7}[\"'\]]|&quot;|&#x27;|&#3[49];){0,2}\s{0,4}(?:=>|:=|(?<![=!<>])=(?!=)|:(?!:))\s{0,4}"
    r"(?:[rbuf]{0,2}\\{0,7}(?P<quote>\"\"?|['`]|&quot;|&#x27;|&#3[49];)(?P<quoted>(?!\[redacted)[^\"'`\n]{4,400}?)\\{0,7}(?P=quote)"
    r"|(?P<bare>(?!\[redacted)(?:[^\s\"'`,;&()\[\]{}<>|\\\x1b]|\\/){4,400})(?=[\s\"'`,;&)}\]|<>\\\x1b]|$))",
    re.IGNORECASE,
)
_SPOKEN = re.compile(
    r"(?:\b(?P<english>pass ?(?:word|phrase|code)|(?:api|access|secret)[ _-]?key|secret|token|credentials?)\b"
    r"(?:\s+(?:for|of|to|on)\s+[^\s,.;:]{1,40}(?:\s+[^\s,.;:]{1,40}){0,3}?)?"
    r"\s+(?:is|was|are|will be|to)(?:\s*:\s*|\s+)|(?P<chinese>密码|口令|密钥|令牌|秘钥)\s*(?:是|为|：|:|=|改成|改为)\s*)"
    r"[\"'“`]?(?P<value>(?!\[redacted)[\x21-\x7e]{4,200})",
    re.IGNORECASE,
)
_NAME_BEFORE = re.compile(r"[A-Za-z0-9_.-]{0,60}$")
_KEY_QUALIFIERS = frozenset(
    [
        *("api", "access", "auth", "secret", "private", "encryption", "signing", "master", "service", "account", "storage", "client", "subscription"),
        *("admin", "session", "consumer", "app", "bot", "db", "deploy", "license", "shared", "host", "root", "ssh", "aws", "openai", "anthropic"),
    ]
)
_NOT_SECRET = frozenset(
    [
        *("password", "passwd", "secret", "token", "none", "null", "true", "false", "string", "optional", "required", "undefined", "example", "changeme"),
        *("default", "postgres", "admin", "root", "test", "user", "username", "hidden", "masked", "redacted", "removed", "unknown", "object", "float64"),
        *("int64", "category", "missing", "empty", "todo", "value", "number", "incorrect", "invalid", "wrong", "correct", "protected", "encrypted"),
    ]
)
_PLACEHOLDER = re.compile(
    r"(?:your|my|the|an?|some|insert|enter|replace|paste|put|add)[-_ ]?(?:own[-_ ])?[a-z_ -]*(?:key|token|secret|password|here|value)s?"
    r"|x{3,}|\*+|\.{2,}|-+|_+|<.*>|\$\{?\w+\}?|%\w+%|\{\{?.*\}?\}|%[sdr]|…+",
    re.IGNORECASE,
)
_SHORTEST = 8
_IDENTIFIER = re.compile(r"[A-Za-z_][\w.]*")


def assigned(text: str, lowered: str) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and kind of each value that is assigned to the name of a secret. ``lowered`` is ``text.lower()``."""
    for match in _matches(_ASSIGNED, text, lowered, _HINTS):
        kind = _kind(match, text)
        quoted = match["quoted"] is not None
        value = match["quoted"] or match["bare"]
        if kind and not _is_a_pass(match, text, value) and (_is_quoted_secret(kind, value) if quoted else _is_bare_secret(kind, value)):
            group = "quoted" if quoted else "bare"
            yield match.start(group), match.end(group), kind


def spoken(text: str, lowered: str) -> Iterator[tuple[int, int, str]]:
    """Yield what a person tells in passing: "the password is …", "密码是…"; only values that cannot be words."""
    for match in _matches(_SPOKEN, text, lowered, _SPOKEN_HINTS):
        value = match["value"].rstrip(".,;:!?\"'`)")
        password = bool(match["chinese"]) or match["english"].lower().startswith("pass")
        if _is_spoken_secret(value, password=password):
            start = match.start("value")
            yield start, start + len(value), "password" if password else "secret"


def _matches(pattern: re.Pattern[str], text: str, lowered: str, hints: tuple[str, ...]) -> Iterator[re.Match[str]]:
    """Try the pattern where a hint stands, and nowhere else: scanning every position is what would be slow."""
    for hint in hints:
        position = lowered.find(hint)
        while position >= 0:
            match = pattern.match(text, position)
            if match:
                yield match
            position = lowered.find(hint, position + len(hint))


def _kind(match: re.Match[str], text: str) -> str:
    """Return what the name announces; empty when the name is none of a secret (``sort_key``, ``tokens``, ``compass``)."""
    word = match["word"].lower()
    before = _NAME_BEFORE.search(text, max(0, match.start() - 60), match.start())
    prefix = before.group() if before else ""
    plural = text[match.end("word") : match.end("word") + 1].lower() == "s"
    glued = bool(prefix) and prefix[-1] not in "_.-"
    if word == "key":
        qualifier = re.split(r"[_.-]", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", prefix).lower().rstrip("_.-"))[-1]
        return "secret" if qualifier in _KEY_QUALIFIERS or qualifier.endswith(("api", "access", "secret", "private")) else ""
    camel = match["word"][0].isupper() and glued and prefix[-1].islower()
    if glued and not camel and not prefix[-1].isdigit() and word not in {"password", "passwd", "secret", "token"}:
        return ""
    if plural and word in {"token", "pass", "pwd"}:
        return ""
    if word.startswith(("pass", "pwd")):
        return "password"
    return "token" if word == "token" else "secret"


def _is_a_pass(match: re.Match[str], text: str, value: str) -> bool:
    """Tell a column that is named "pass" (``"pass": "boarding"``) from a password's short name: its values look like no password."""
    if match["word"].lower() != "pass" or text[match.start() - 1 : match.start()] in {"_", "-", "."}:
        return False
    digits, letters, symbols = _contents(value)
    return " " in value or not letters or not (digits or symbols)


def _is_quoted_secret(kind: str, value: str) -> bool:
    digits, letters, symbols = _contents(value)
    if _stands_in(value) or value.startswith(("http://", "https://")):
        return False
    if kind == "password":
        return " " not in value or (digits and letters) or symbols
    return " " not in value and len(value) >= _SHORTEST and letters and (digits or symbols)


def _is_bare_secret(kind: str, value: str) -> bool:
    digits, letters, symbols = _contents(value)
    if _stands_in(value) or value.startswith(("/", "./", "../", "~/", "\\", "http://", "https://")):
        return False
    if kind == "password":
        return (digits or symbols) and not _is_call(value)
    return digits and letters and len(value) >= _SHORTEST and not _is_call(value)


def _is_call(value: str) -> bool:
    """Tell the name of a program (``config.token_1``) from a secret: lower case words joined by dots or underscores."""
    parts = re.split(r"[._]", value)
    return bool(_IDENTIFIER.fullmatch(value)) and len(parts) > 1 and all(re.fullmatch(r"[a-z]*\d{0,3}", part) for part in parts)


def _is_spoken_secret(value: str, *, password: bool) -> bool:
    digits, letters, _ = _contents(value)
    symbols = bool(re.search(r"[!@#$%^&*+=~]", value))
    if len(value) < 4 or _stands_in(value) or "://" in value:  # noqa: PLR2004 - shorter ones are no secrets
        return False
    return (digits or symbols) and (letters or password) and (password or len(value) >= _SHORTEST)


def _contents(value: str) -> tuple[bool, bool, bool]:
    return any(c.isdigit() for c in value), any(c.isalpha() for c in value), any(not c.isalnum() and c not in "._-/ " for c in value)


def _stands_in(value: str) -> bool:
    bare = value.rstrip("\\")
    return bare.lower() in _NOT_SECRET or bool(_PLACEHOLDER.fullmatch(bare)) or bare.startswith("[redacted")


def is_common(value: str) -> bool:
    """Tell whether a value is a default or placeholder that protects nothing."""
    return _stands_in(value)


def holds_secret(name: str, value: str) -> bool:
    """Tell whether a value under this name (of a column, a field) is a secret, as if it were assigned to it."""
    line = f'{name}="{value}"'
    return any(True for _ in assigned(line, line.lower()))
