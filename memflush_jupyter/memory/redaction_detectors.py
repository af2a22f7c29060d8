"""The specific detectors of ``detect-secrets``: run, and imported, only near a word that their secrets come with."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_DETECTORS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("aws", "AWSKeyDetector", ("aws_", "aws-", "awssecret", "awsaccess", "awskey")),
    ("cloudant", "CloudantDetector", ("cloudant",)),
    ("softlayer", "SoftlayerDetector", ("softlayer", "sl_")),
    ("ibm_cloud_iam", "IbmCloudIamDetector", ("ibm_", "ibm-", "ibmcloud")),
    ("ibm_cos_hmac", "IbmCosHmacDetector", ("cos_hmac", "cos-hmac", "ibm_cos", "secret_access_key", "secret-access-key")),
    ("npm", "NpmDetector", (":_authtoken",)),
    ("openai", "OpenAIDetector", ("t3blbkfj",)),
    ("pypi_token", "PypiTokenDetector", ("pypi-ageic", "pypi-agend")),
)
"""Those whose formats need more than our own table knows (GitLab's give their prefix alone); the entropy, keyword and IP detectors stay off."""

_AROUND = 400
_SHORTEST = 16


class _Detector(Protocol):
    secret_type: str

    def analyze_string(self, string: str) -> Iterable[str]: ...


def detected(text: str, lowered: str) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and kind of what the detectors find. ``lowered`` is ``text.lower()``.

    Some of their patterns yield a group that is not the secret (a prefix): what is shorter than 16 characters is left.
    """
    for module, name, hints in _DETECTORS:
        windows = list(_windows(lowered, hints))
        if not windows:
            continue
        detector = cast("_Detector", getattr(import_module(f"detect_secrets.plugins.{module}"), name)())
        for start, end in windows:
            window = text[start:end]
            for value in sorted({str(found) for found in detector.analyze_string(window)}):
                position = window.find(value) if len(value) >= _SHORTEST else -1
                while position >= 0:
                    yield start + position, start + position + len(value), detector.secret_type
                    position = window.find(value, position + len(value))


def _windows(lowered: str, hints: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Yield the lines around the hints, at most 400 characters to each side."""
    for hint in hints:
        position = lowered.find(hint)
        while position >= 0:
            start = max(lowered.rfind("\n", 0, position) + 1, position - _AROUND)
            line_end = lowered.find("\n", position)
            end = min(len(lowered) if line_end < 0 else line_end, position + _AROUND)
            yield start, end
            position = lowered.find(hint, max(end - len(hint) + 1, position + len(hint)))  # one that the end cuts through is looked at again
