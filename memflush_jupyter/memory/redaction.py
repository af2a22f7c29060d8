"""Secrets never reach disk or the screen (P7): text in, the same text with every secret replaced by its kind.

Four sources, most certain first: the values of key-like environment variables (named after the variable), private key
blocks, keys that carry a mark of their own (with the specific detectors of ``detect-secrets``, loaded only when one of
their marks occurs), and values that stand where a secret stands (``password = …``, bearer headers, passwords in URLs).
Entropy alone is never a reason: hashes, identifiers and encoded images are ordinary data here.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from memflush_jupyter.memory import redaction_patterns as known

if TYPE_CHECKING:
    from memflush_jupyter.memory.redaction_stream import StreamRedactor

_KEY_WORDS = frozenset(
    "KEY KEYS APIKEY TOKEN TOKENS SECRET SECRETS PASS PASSWORD PASSWD PASSPHRASE PASSCODE PWD CREDENTIAL CREDENTIALS COOKIE DSN PAT SALT WEBHOOK".split()
)
_NOT_KEY_NAMES = frozenset({"PWD", "OLDPWD", "GPG_KEY", "INIT_CWD"})
_NOT_KEY_ENDINGS = ("_PATH", "_FILE", "_DIR", "_ID", "_URL", "_NAME", "_SOCK", "_TYPE", "_ENV", "_COUNT", "_LENGTH", "_LIMIT", "_TTL")
_MIN_ENV_VALUE = 6


@dataclass(frozen=True, slots=True)
class Span:
    """Where a secret stands: ``text[start:end]``, and what it is."""

    start: int
    end: int
    kind: str


class Redactor:
    """Replace every secret in a text by ``[redacted: KIND]``.

    Args:
        environ: the environment whose key-like variables hold secrets (``os.environ``, or a test's own mapping).
            It is read once; a key that is set later is known to a new redactor only.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.values = _secret_values(environ)
        forms = sorted(self.values, key=len, reverse=True)
        self._pattern = re.compile("|".join(_bounded(form) for form in forms)) if forms else None

    def __call__(self, text: str) -> str:
        """Return ``text`` without its secrets. Redacting twice changes nothing more."""
        spans = self.find(text)
        if not spans:
            return text
        pieces: list[str] = []
        position = 0
        for span in spans:
            pieces += (text[position : span.start], f"[redacted: {span.kind}]")
            position = span.end
        pieces.append(text[position:])
        return "".join(pieces)

    def find(self, text: str) -> list[Span]:
        """Return where the secrets are, in order and without overlap."""
        if len(text) < _MIN_ENV_VALUE:
            return []
        spans = self._environment(text)
        lowered = text.lower()
        if "-----BEGIN " in text or "PuTTY-User-Key-File" in text:
            spans += _private_keys(text)
        spans += _marked(text)
        spans += _surrounded(text, lowered)
        spans += _assigned(text, lowered)
        spans += _detected(text, lowered)
        return _merge(spans)

    def has_secret(self, text: str) -> bool:
        """Tell whether anything in ``text`` would be redacted, or was already."""
        return "[redacted: " in text or bool(self.find(text))

    def stream(self) -> StreamRedactor:
        """Return a redactor for text that arrives in pieces."""
        from memflush_jupyter.memory.redaction_stream import StreamRedactor

        return StreamRedactor(self)

    def _environment(self, text: str) -> list[Span]:
        if self._pattern is None:
            return []
        return [Span(m.start(), m.end(), self.values[m.group()]) for m in self._pattern.finditer(text)]


def _secret_values(environ: Mapping[str, str]) -> dict[str, str]:
    """Map each secret value, in every form it may be printed in, to the variable's name."""
    found: dict[str, str] = {}
    for name in sorted(environ):
        value = environ[name].strip()
        if is_key_name(name):
            _add_forms(found, name, value)
        if "://" in value and "@" in value:
            _add_forms(found, name, _url_password(value))
    return found


def is_key_name(name: str) -> bool:
    """Tell whether an environment variable of this name holds a secret (``…_KEY``, ``…_TOKEN``, ``…PASSWORD``, …)."""
    upper = name.upper()
    if upper in _NOT_KEY_NAMES or upper.endswith(_NOT_KEY_ENDINGS):
        return False
    words = re.split(r"[^A-Z0-9]+", upper)
    return any(word in _KEY_WORDS or word.endswith(("PASSWORD", "PASSWD", "APIKEY", "SECRET", "TOKEN")) for word in words)


def _url_password(value: str) -> str:
    try:
        return urlsplit(value).password or ""
    except ValueError:
        return ""


def _add_forms(found: dict[str, str], name: str, value: str) -> None:
    if len(value) < _MIN_ENV_VALUE or value.lower() in known.NOT_SECRET or value.isalpha() & value.islower() & (len(value) < 8):  # noqa: PLR2004 - short words are ordinary text
        return
    if value.startswith(("/", "./", "~/")) and "/" in value[1:]:
        return
    escaped = json.dumps(value)[1:-1]
    encoded = base64.b64encode(value.encode()).decode()
    for form in (value, quote(value, safe=""), escaped, repr(value)[1:-1], encoded, *value.splitlines()):
        if len(form) >= _MIN_ENV_VALUE:
            found.setdefault(form, name)


def _bounded(form: str) -> str:
    """Keep a short plain value from matching inside a longer word."""
    escaped = re.escape(form)
    return rf"(?<![A-Za-z0-9]){escaped}(?![A-Za-z0-9])" if form.isalnum() and len(form) < 16 else escaped  # noqa: PLR2004 - longer ones do not occur by chance


def _private_keys(text: str) -> list[Span]:
    whole = [Span(m.start(), m.end(), "private key") for pattern in (known.PEM, known.PUTTY) for m in pattern.finditer(text)]
    closed = {span.start for span in whole}
    return whole + [Span(m.start(), m.end(), "private key") for m in known.PEM_OPEN.finditer(text) if m.start() not in closed]


def _marked(text: str) -> list[Span]:
    spans: list[Span] = []
    for rule in known.KEYS:
        for hint in rule.hints:
            if hint in text:
                spans += [_span(match, rule.kind) for match in rule.pattern.finditer(text)]
                break
    return spans


def _surrounded(text: str, lowered: str) -> list[Span]:
    spans: list[Span] = []
    for rule in known.SURROUNDED:
        if any(hint in lowered for hint in rule.hints):
            spans += [_span(match, rule.kind) for match in rule.pattern.finditer(text)]
    return spans


def _span(match: re.Match[str], kind: str) -> Span:
    group: str | int = "s" if "s" in match.re.groupindex else 0
    return Span(match.start(group), match.end(group), kind)


def _assigned(text: str, lowered: str) -> list[Span]:
    spans: list[Span] = []
    if any(hint in lowered for hint in known.ASSIGNED_HINTS):
        spans += [_span(m, _kind(m["name"])) for m in known.QUOTED.finditer(text) if _is_secret(m["name"], m["s"], quoted=True)]
        spans += [_span(m, _kind(m["name"])) for m in known.UNQUOTED.finditer(text) if _is_secret(m["name"], m["s"], quoted=False)]
    if any(hint in lowered for hint in known.SPOKEN_HINTS):
        spans += [span for m in known.SPOKEN.finditer(text) if (span := _spoken(m))]
    return spans


def _kind(name: str) -> str:
    lowered = name.lower()
    if "pass" in lowered or lowered.endswith("pwd"):
        return "password"
    return "token" if "token" in lowered else "secret"


def _is_secret(name: str, value: str, *, quoted: bool) -> bool:
    """Decide whether what is assigned to a secret's name is one, and not code, a placeholder or a plain word."""
    value = value.rstrip("\\")
    if value.lower() in known.NOT_SECRET or known.PLACEHOLDER.fullmatch(value):
        return False
    password = _kind(name) == "password"
    digits = any(c.isdigit() for c in value)
    letters = any(c.isalpha() for c in value)
    symbols = any(not c.isalnum() and c not in "._-/" for c in value)
    if not quoted:
        if re.fullmatch(r"[A-Za-z_][\w.]*", value) and not (digits and len(value) >= 8):  # noqa: PLR2004 - a name of the program
            return False
        if value.startswith(("/", "./", "../", "~/", "\\")):
            return False
        return (digits or symbols) if password else digits and letters and len(value) >= 8  # noqa: PLR2004 - shorter ones are ordinary values
    if password:
        return " " not in value or digits or symbols
    return " " not in value and len(value) >= 8 and (digits or symbols) and letters  # noqa: PLR2004 - shorter ones are ordinary values


def _spoken(match: re.Match[str]) -> Span | None:
    """Take a spoken secret only where it cannot be a word: it holds a digit, or a symbol within."""
    value = match["s"].rstrip(".,;:!?\"'`)”")
    if len(value) < 4 or value.lower() in known.NOT_SECRET or known.PLACEHOLDER.fullmatch(value):  # noqa: PLR2004 - as the pattern
        return None
    if not any(c.isdigit() for c in value) and not re.search(r"[!@#$%^&*+=~]", value):
        return None
    if not any(c.isalpha() for c in value) and "pass" not in match.group().lower() and not re.match("[密口令秘]", match.group()):
        return None
    return Span(match.start("s"), match.start("s") + len(value), "password")


_PLUGINS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("cloudant", "CloudantDetector", ("cloudant",)),
    ("softlayer", "SoftlayerDetector", ("softlayer", "sl_")),
    ("ibm_cloud_iam", "IbmCloudIamDetector", ("ibm", "iam")),
    ("ibm_cos_hmac", "IbmCosHmacDetector", ("cos_", "ibm", "secret_access_key")),
    ("aws", "AWSKeyDetector", ("aws",)),
    ("npm", "NpmDetector", (":_authtoken",)),
    ("openai", "OpenAIDetector", ("t3blbkfj",)),
    ("gitlab_token", "GitLabTokenDetector", ("glpat-", "glrt-", "gr1348941", "glcbt-")),
    ("pypi_token", "PypiTokenDetector", ("pypi-ag",)),
    ("sendgrid", "SendGridDetector", ("sg.",)),
    ("square_oauth", "SquareOAuthDetector", ("sq0csp-",)),
)


def _detected(text: str, lowered: str) -> list[Span]:
    """Run the specific detectors of ``detect-secrets`` whose mark occurs; the module is imported only then."""
    spans: list[Span] = []
    for module, name, hints in _PLUGINS:
        if any(hint in lowered for hint in hints):
            spans += _run_plugin(module, name, text)
    return spans


def _run_plugin(module: str, name: str, text: str) -> list[Span]:
    from importlib import import_module

    detector = getattr(import_module(f"detect_secrets.plugins.{module}"), name)()
    kind = str(detector.secret_type)
    spans: list[Span] = []
    for line_start, line in _lines(text):
        analyze: Callable[[str], object] = detector.analyze_string
        for value in {str(found) for found in analyze(line)}:  # type: ignore[attr-defined]
            position = line.find(value) if len(value) >= 16 else -1  # noqa: PLR2004 - a group of the pattern, not the secret
            while position >= 0:
                spans.append(Span(line_start + position, line_start + position + len(value), kind))
                position = line.find(value, position + len(value))
    return spans


def _lines(text: str) -> list[tuple[int, str]]:
    found = []
    position = 0
    for line in text.splitlines(keepends=True):
        found.append((position, line))
        position += len(line)
    return found


def _merge(spans: list[Span]) -> list[Span]:
    """Join overlapping spans; the kind is that of the source named first (the most certain one)."""
    if len(spans) < 2:  # noqa: PLR2004 - nothing to join
        return spans
    ordered = sorted(enumerate(spans), key=lambda pair: (pair[1].start, pair[0]))
    merged: list[tuple[int, Span]] = []
    for rank, span in ordered:
        if merged and span.start < merged[-1][1].end:
            best_rank, last = merged[-1]
            kind = last.kind if best_rank <= rank else span.kind
            merged[-1] = (min(best_rank, rank), Span(last.start, max(last.end, span.end), kind))
        else:
            merged.append((rank, span))
    return [span for _, span in merged]
