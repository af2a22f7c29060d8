"""P7: which values are secrets, on both sides of each line; and what a stream lets go."""

from __future__ import annotations

import pytest

from memflush_jupyter.memory import redaction_assigned as assigned
from memflush_jupyter.memory import redaction_environ as environ
from memflush_jupyter.memory import redaction_stream as stream


@pytest.mark.parametrize(
    ("kind", "value", "secret"),
    [
        ("secret", "http://host/key1", False),
        ("secret", "https://host/key1", False),
        ("secret", "abc123def456", True),
        ("secret", "abc123 def456", False),
        ("secret", "abcdefghijkl", False),
        ("secret", "abcdef!ghijk", True),
        ("secret", "1234567890123", False),
        ("password", "violets", True),
        ("password", "correct horse", False),
        ("password", "correct horse 9", True),
        ("password", "correct horse!", True),
        ("password", "12 34", False),
        ("password", "your-password", False),
    ],
)
def test_a_quoted_value_is_a_secret_where_it_looks_like_one(kind, value, secret):
    assert bool(assigned._is_quoted_secret(kind, value)) is secret


@pytest.mark.parametrize("prefix", ["/", "./", "../", "~/", "\\", "http://", "https://"])
def test_a_path_or_an_address_is_no_bare_secret(prefix):
    assert not assigned._is_bare_secret("password", f"{prefix}abc123!def456")
    assert not assigned._is_bare_secret("secret", f"{prefix}abc123!def456")


@pytest.mark.parametrize(
    ("kind", "value", "secret"),
    [
        ("password", "hunter22x!", True),
        ("password", "hunter", False),
        ("password", "hunter-two", False),  # a hyphen alone is how words are written
        ("password", "hunter+two", True),
        ("password", "self.password_1", False),
        ("password", "hunter2", True),
        ("secret", "abc123def456", True),
        ("secret", "abcdefdefghi", False),
        ("secret", "123456789012", False),
        ("secret", "config.api_key_1", False),
    ],
)
def test_a_bare_value_is_a_secret_where_it_cannot_be_a_word_or_a_name(kind, value, secret):
    assert bool(assigned._is_bare_secret(kind, value)) is secret


@pytest.mark.parametrize(
    ("value", "call"), [("config.token_1", True), ("token1", False), ("os.environ", True), ("a.b2c", False), ("Ab.cd", False), ("a b.c", False)]
)
def test_words_joined_by_dots_name_something_in_a_program(value, call):
    assert assigned._is_call(value) is call


@pytest.mark.parametrize(
    ("value", "password", "secret"),
    [
        ("abc1", True, True),
        ("ab1", True, False),
        ("abcd", True, False),
        ("1234", True, True),
        ("abcd!", True, True),
        ("abc1234", False, False),
        ("abc12345", False, True),
        ("1234567890123", False, False),
        ("http://abc123456789", True, False),
        ("[redacted: password]", True, False),
    ],
)
def test_a_spoken_value_is_a_secret_where_it_cannot_be_a_word(value, password, secret):
    assert bool(assigned._is_spoken_secret(value, password=password)) is secret


@pytest.mark.parametrize(
    ("value", "contents"),
    [("abc", (False, True, False)), ("123", (True, False, False)), ("._-/ ", (False, False, False)), ("a1!", (True, True, True)), ("", (False, False, False))],
)
def test_digits_letters_and_signs_are_told_apart(value, contents):
    assert assigned._contents(value) == contents


@pytest.mark.parametrize(
    ("value", "secret"),
    [
        ("abcde", False),
        ("abcd12", True),
        ("abcdefg", False),  # a short word
        ("abcdefgh", True),
        ("Abcdefg", True),
        ("/home/ana/key", False),
        ("./key/1", False),
        ("~/key12", False),
        ("/abcdef12", True),  # a slash alone makes no path
        ("a/bcdef12", True),
        ("changeme", False),
    ],
)
def test_a_variables_value_is_a_secret_unless_it_is_ordinary(value, secret):
    assert environ._is_secret(value) is secret


@pytest.mark.parametrize(
    ("value", "password"),
    [
        ("postgres://ana:s3cr3t@host/db", "s3cr3t"),
        ("postgres://ana@host/db", ""),
        ("ana:s3cr3t@host", ""),
        ("postgres://host/db", ""),
        ("http://[broken:s3cr3t@host", ""),
    ],
)
def test_an_addresss_password_is_found(value, password):
    assert environ._url_password(value) == password


def test_a_secret_is_known_in_every_form_that_may_be_printed():
    value = 'a/b "c"\td\'e'
    forms = list(environ._forms(value))
    urls = ["a%2Fb%20%22c%22%09d%27e", "a%2Fb+%22c%22%09d%27e"]
    escaped = ['a/b \\"c\\"\\td\'e', 'a/b "c"\\td\\\'e']
    assert forms == [value, "a/b &quot;c&quot;\td&#x27;e", *urls, *escaped, "YS9iICJjIglkJ2U", value]
    assert list(environ._forms("one\n  line two \n")) == [
        "one\n  line two \n",
        "one\n  line two \n",
        "one%0A%20%20line%20two%20%0A",
        "one%0A++line+two+%0A",
        "one\\n  line two \\n",
        "one\\n  line two \\n",
        "b25lCiAgbGluZSB0d28gCg",
        "line two",
    ]
    assert list(environ._forms("abc")) == []


def test_a_variable_of_bytes_that_are_no_text_is_redacted_too():
    """P7: the system hands them over as lone surrogates, which no encoder takes by itself."""
    value = "abcde" + "\udcff"
    assert list(environ._forms(value)) == [value, value, "abcde%FF", "abcde%FF", "abcde\\udcff", "abcde\\udcff", "YWJjZGX/", value]
    assert list(environ.secret_values({"MY_TOKEN": value})) == [value, "abcde%FF", "abcde\\udcff", "YWJjZGX/"]


@pytest.mark.parametrize(("text", "start"), [("xx abc", 3), ("xx abcd", 3), ("xx a", 3), ("xx ", 3), ("xx abcde", 8), ("abc", 0)])
def test_the_beginning_of_a_secret_is_held_at_the_end_of_a_text(text, start):
    """P7: a whole one is found by the redactor itself."""
    assert stream._prefix_start(text, "abcde") == start
