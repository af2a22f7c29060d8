"""P7: ordinary data stays as it is. A redactor that spoils data frames would be turned off."""

from __future__ import annotations

import base64
import hashlib
import random
import uuid

import pytest

from memflush_jupyter.memory.redaction import Redactor

ORDINARY = [
    "token = tokenizer.encode(text)",
    "tokens = 4096",
    "token: str",
    'token: "NOUN"',
    "max_tokens=1024, api_key=None",
    'api_key = os.environ["OPENAI_API_KEY"]',
    "password = getpass.getpass()",
    "password: str | None = None",
    'password = "<your password>"',
    "PASSWORD=${DB_PASSWORD}",
    "the token count is 12345",
    "The key is customer_id.",
    "primary_key: order_id_2024",
    "sort_key = 'region_2024'",
    'key = "body_mass_g"',
    "The secret is to sample 1000 rows",
    "pass: 12, fail: 3",
    "compass: 123.45",
    "passengers = 1309",
    "pwd: /home/ana/project",
    "if token == 'B-PER2': continue",
    "http://localhost:8888/lab?token=",
    "http://host:8080/path@v1",
    "see https://en.wikipedia.org/wiki/Penguin and mail ana@example.org",
    "df['password_strength'].mean() == 0.7",
    "d41d8cd98f00b204e9800998ecf8427e  penguins.csv",
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
    "Authorization is needed; bearer of the news",
    "the bearer thereafter-unknown-person signed",
    "sk-learn-contrib and sk-image are packages",
    "hf_hub_download(repo_id='a/b')",
    "pypi-search, npm_config_cache",
    "SKU12345 ACME-2024",
    "AKIA is the prefix of AWS keys",
    "密码学是一门学科，令牌环网已经过时。",
    "密码是必填字段",
    "今天分析了333行数据，均值为4201.75克。",
    "2026-01-15T09:00:00+00:00  key=value",
    "Traceback: KeyError: 'token'",
    "cookie_consent = True",
    "the password is required",
    "reset the password to continue",
    "password    object\ntoken        int64\ndtype: object",
    "a // b - c :// d",
    "1//0 raises ZeroDivisionError",
    "passed: 120 failed: 3 pass_rate=0.975",
    "x = 5; secret_santa = 'ana'",
    "keyboard: qwerty123",
    "monkey=banana2024x",
]


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_stays(text):
    """P7, false positives."""
    assert Redactor({})(text) == text


def test_penguins_printed_in_every_way_stay():
    """P7, false positives."""
    pd = pytest.importorskip("pandas")
    from palmerpenguins import load_penguins

    frame = load_penguins()
    redact = Redactor({})
    for text in (
        frame.to_csv(),
        frame.to_string(),
        frame.to_json(),
        frame.describe(include="all").to_string(),
        frame.dtypes.to_string(),
        frame.to_html(),
        pd.crosstab(frame.species, frame.island).to_string(),
    ):
        assert redact(text) == text


def test_identifiers_hashes_and_encoded_images_stay():
    """P7, false positives: entropy alone is never a reason."""
    rng = random.Random(7)  # noqa: S311 - sample data
    redact = Redactor({})
    lines = [str(uuid.UUID(int=rng.getrandbits(128))) for _ in range(500)]
    lines += [hashlib.sha1(str(i).encode()).hexdigest() for i in range(500)]  # noqa: S324 - sample data
    lines += [hashlib.sha256(str(i).encode()).hexdigest() for i in range(500)]
    lines += [f"id={rng.getrandbits(64)} hash:{hashlib.md5(str(i).encode()).hexdigest()}" for i in range(500)]  # noqa: S324 - sample data
    text = "\n".join(lines)
    assert redact(text) == text
    image = "data:image/png;base64," + base64.b64encode(rng.randbytes(60_000)).decode()
    assert redact(image) == image


def test_the_docstrings_of_pandas_and_matplotlib_stay():
    """P7, false positives: at most a handful of documented placeholders may go."""
    import inspect

    import matplotlib.axes
    import pandas as pd

    redact = Redactor({})
    spans = 0
    for owner in (pd.DataFrame, pd.Series, matplotlib.axes.Axes, pd.io.parsers.readers):
        for name in dir(owner):
            doc = inspect.getdoc(getattr(owner, name, None)) or ""
            spans += len(redact.find(doc))
    assert spans == 0
    assert redact.find(pd.read_csv.__doc__) == []


def test_the_detectors_are_not_imported_for_ordinary_text():
    """Start-up: detect-secrets is loaded only near a word that its secrets come with."""
    import subprocess
    import sys

    code = (
        "import sys\nfrom memflush_jupyter.memory.redaction import Redactor\n"
        "Redactor({'A_KEY': 'abc-123-def'})('password = 1; the laws of William; sl ibm token key')\n"
        "assert not [m for m in sys.modules if m.startswith(('detect_secrets', 'pandas', 'anthropic'))]"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
