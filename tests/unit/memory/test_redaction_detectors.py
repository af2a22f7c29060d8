"""P7: where the specific detectors of detect-secrets are asked, and what of their findings counts. Exact, since a near miss leaks."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from memflush_jupyter.memory import redaction_detectors as detectors

BODY = "Zq3vT9kLm2Xw8Rb5Nc7Yd1Hf4Gj6Ps0QaZq3vT9kLm2Xw8"
HEX = "0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0"

FOUND = {
    "AWS Access Key": [
        ("aws_secret_access_key = '{}'", BODY[:40]),
        ("aws-key: {}", "AKI" + "A" + "Q7W8E9R1T2Y3U4I5"),
        ("awssecret {}", "ASI" + "A" + "Q7W8E9R1T2Y3U4I5"),
        ("AWSAccess={}", "AKI" + "A" + "Q7W8E9R1T2Y3U4I5"),
        ("awskey={}", "AKI" + "A" + "Q7W8E9R1T2Y3U4I5"),
    ],
    "Cloudant Credentials": [("cloudant_password = '{}'", HEX)],
    "SoftLayer Credentials": [("softlayer_api_key = '{}'", HEX), ("sl_api_key = '{}'", HEX)],
    "IBM Cloud IAM Key": [
        ("ibm_api_key = '{}'", BODY[:44]),
        ("ibm-cloud-key: '{}'", BODY[:44]),
        ("ibmcloud_api_key='{}'", BODY[:44]),
    ],
    "IBM COS HMAC Credentials": [
        ("cos_hmac_secret_access_key = '{}'", HEX[:48]),
        ("cos-hmac-secret-key = '{}'", HEX[:48]),
        ("ibm_cos_secret_key = '{}'", HEX[:48]),
        ("secret_access_key = '{}'", HEX[:48]),
        ("secret-access-key = '{}'", HEX[:48]),
    ],
    "NPM tokens": [("//registry.example.org/:_authToken={}", "npm" + "_" + BODY[:36])],
    "OpenAI Token": [("x {}", "sk-" + BODY[:20] + "T3Blbk" + "FJ" + BODY[:20])],
    "PyPI Token": [("x {}", "py" + "pi-AgEIcHlwaS5vcmc" + "C" * 80), ("x {}", "py" + "pi-AgENdGVzdC5weXBpLm9yZw" + "C" * 80)],
}


def spans(text: str) -> list[tuple[int, int, str]]:
    return list(detectors.detected(text, text.lower()))


@pytest.mark.parametrize(("kind", "frame", "secret"), [(kind, *case) for kind, cases in FOUND.items() for case in cases])
def test_a_detector_is_asked_beside_each_of_its_words(kind, frame, secret):
    """P7: by each hint alone, of any case; the span lies in the secret, and covers what makes it one."""
    for text in (frame.format(secret), "first line\n" + frame.format(secret) + "\nlast line"):
        found = [(start, end) for start, end, named in spans(text) if named.casefold() == kind.casefold()]
        assert found, spans(text)
        start, end = max(found, key=lambda span: span[1] - span[0])
        assert text[start:end] in text
        assert end - start >= 16
        assert secret[-16:] in text[start:end] or text[start:end] in secret


@pytest.mark.parametrize(("module", "name", "hints"), detectors._DETECTORS)
def test_each_detector_exists_and_is_asked_by_hints_in_lower_case(module, name, hints):
    """P7: the hints are looked for in the lowered text."""
    from importlib import import_module

    made = getattr(import_module(f"detect_secrets.plugins.{module}"), name)()
    assert made.secret_type
    assert hints
    assert all(hint == hint.lower() for hint in hints)


@pytest.mark.parametrize(
    ("text", "windows"),
    [
        ("nothing here", []),
        ("hint", [(0, 4)]),
        ("a\nthe hint is\nz", [(2, 13)]),
        ("a\nthe hint is", [(2, 13)]),
        ("hint hint hint\nhint", [(0, 14), (15, 19)]),
        ("x" * 500 + "hint" + "y" * 500, [(100, 900)]),
        ("x" * 400 + "hint", [(0, 404)]),
        ("x" * 401 + "hint", [(1, 405)]),
        ("hint" + "y" * 395 + "hint", [(0, 400), (0, 403)]),
        ("hint" + "y" * 396 + "hint", [(0, 400), (0, 404)]),
        ("hint" + "y" * 394 + "hint", [(0, 400), (0, 402)]),
        ("hint" + "y" * 392 + "hint", [(0, 400)]),
        ("hint" + "y" * 393 + "hint", [(0, 400), (0, 401)]),
        ("\nhint\n", [(1, 5)]),
    ],
)
def test_a_window_is_the_line_around_a_hint_at_most_400_characters_to_each_side(text, windows):
    """P7: never more, so that a file of one line costs no more than its hints."""
    assert list(detectors._windows(text, ["hint"])) == windows


def test_windows_come_hint_by_hint():
    """P7: a hint that contains another is looked for by itself."""
    assert list(detectors._windows("ab\nabc\n", ["abc", "ab"])) == [(3, 6), (0, 2), (3, 6)]
    assert list(detectors._windows("ab", [])) == []


class Fake:
    """A detector that finds what a test says."""

    secret_type = "Fake"  # noqa: S105 - its name
    found: tuple[object, ...] = ()
    asked: list[str]

    def analyze_string(self, string):
        type(self).asked.append(string)
        return iter(self.found)


@pytest.fixture
def fake(monkeypatch):
    """Only a fake detector, asked by the word ``hint``."""

    class Own(Fake):
        asked: list[str] = []

    monkeypatch.setitem(sys.modules, "detect_secrets.plugins.fake", SimpleNamespace(FakeDetector=Own))
    monkeypatch.setattr(detectors, "_DETECTORS", (("fake", "FakeDetector", ("hint",)),))
    return Own


def test_every_place_of_a_finding_is_a_span_and_short_findings_are_none(fake):
    """P7: a group of fifteen characters may be a prefix, one of sixteen is a secret."""
    fake.found = ("a" * 15, "b" * 16)
    text = f"xx\nhint {'a' * 15} {'b' * 16},{'b' * 16} end"
    assert spans(text) == [(24, 40, "Fake"), (41, 57, "Fake")]
    assert fake.asked == [text[3:]]


def test_findings_are_given_once_in_order_and_what_is_not_there_is_passed_over(fake):
    """P7: some detectors give a group that was changed on the way."""
    fake.found = ("d" * 16, "c" * 16, "c" * 16, "e" * 20)
    text = f"hint {'d' * 16} {'c' * 16}"
    assert spans(text) == [(22, 38, "Fake"), (5, 21, "Fake")]


def test_neighbouring_places_of_one_finding_do_not_overlap(fake):
    """P7."""
    fake.found = ("f" * 16,)
    assert spans("hint " + "f" * 40) == [(5, 21, "Fake"), (21, 37, "Fake")]


def test_a_detector_is_not_made_without_its_word(fake):
    """P7: that is what keeps ordinary text fast."""
    fake.found = ("g" * 16,)
    assert spans("no word " + "g" * 16) == []
    assert fake.asked == []
    assert spans("HINT " + "g" * 16) == [(5, 21, "Fake")]


def test_findings_that_are_no_text_are_taken_as_text(fake):
    """P7: a detector may give another type."""
    fake.found = (1234567890123456,)
    assert spans("hint 1234567890123456") == [(5, 21, "Fake")]
