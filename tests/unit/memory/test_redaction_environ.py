"""P7: the values of key-like environment variables are secrets, in every form in which they may be printed."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote

import pytest

from memflush_jupyter.memory.redaction import Redactor
from memflush_jupyter.memory.redaction_environ import is_key_name, secret_values

VALUE = "blue/Whale+42 éa"


@pytest.mark.parametrize("form", [VALUE, quote(VALUE, safe=""), json.dumps(VALUE)[1:-1], base64.b64encode(VALUE.encode()).decode().rstrip("=")])
def test_a_key_like_variable_is_redacted_in_every_form_and_named(form):
    """P7."""
    assert Redactor({"MY_TOKEN": VALUE})(f"x {form} y") == "x [redacted: MY_TOKEN] y"


@pytest.mark.parametrize(
    "name",
    [
        "OPENAI_API_KEY",
        "GITHUB_TOKEN",
        "DB_PASSWORD",
        "PGPASSWORD",
        "SECRET",
        "aws_secret_access_key",
        "SENTRY_DSN",
        "SLACK_WEBHOOK",
        "GH_PAT",
        "MYAPIKEY",
        "SSH_PASSPHRASE",
        "X_CREDENTIALS",
        "HASH_SALT",
    ],
)
def test_key_like_names(name):
    """P7."""
    assert is_key_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "PWD",
        "OLDPWD",
        "PATH",
        "KEYBOARD",
        "SSH_AUTH_SOCK",
        "GOOGLE_CREDENTIALS_FILE",
        "AWS_ACCESS_KEY_ID",
        "TOKENIZERS_PARALLELISM",
        "GPG_KEY",
        "MONKEY",
        "SECRET_PATH",
        "HOME",
        "COMPASS",
    ],
)
def test_names_of_no_secret(name):
    """P7, false positives."""
    assert not is_key_name(name)


@pytest.mark.parametrize("value", ["", "short", "true", "postgres", "changeme", "/run/secrets/db", "~/keys/a.pem", "your-api-key", "xxxxxxxx", "abcdefg"])
def test_values_that_are_no_secret_are_left(value):
    """P7, false positives: redacting defaults and paths would spoil every text."""
    assert secret_values({"MY_KEY": value}) == {}


def test_a_short_value_does_not_match_inside_a_word():
    """P7."""
    redact = Redactor({"MY_KEY": "abc123"})
    assert redact("xabc123 abc1234 abc123.") == "xabc123 abc1234 [redacted: MY_KEY]."
    assert Redactor({"MY_KEY": "abc123abc123abc1"})("xabc123abc123abc1y") == "x[redacted: MY_KEY]y"


def test_the_password_in_a_variable_that_holds_a_url_is_a_secret():
    """P7."""
    assert Redactor({"DATABASE_URL": "postgres://ana:gr33n-door@db/x"})("it was gr33n-door then") == "it was [redacted: DATABASE_URL] then"
    assert secret_values({"BROKEN_URL": "http://[::1:a@b"}) == {}


def test_each_line_of_a_secret_of_many_lines_is_redacted():
    """P7."""
    redact = Redactor({"DEPLOY_KEY": "first-line-1\nsecond-line-2"})
    assert redact("second-line-2") == "[redacted: DEPLOY_KEY]"
    assert redact("first-line-1\nsecond-line-2") == "[redacted: DEPLOY_KEY]"


def test_the_longest_value_wins_and_ordinary_text_comes_back_as_the_same_object():
    """P7."""
    redact = Redactor({"A_KEY": "alpha-11", "B_KEY": "alpha-11-beta-22"})
    assert redact("alpha-11-beta-22 alpha-11") == "[redacted: B_KEY] [redacted: A_KEY]"
    text = "nothing secret here"
    assert redact(text) is text
    assert redact("") == ""
    assert not redact.has_secret(text)
    assert redact.has_secret("an alpha-11")
    assert redact.has_secret("already [redacted: password]")
