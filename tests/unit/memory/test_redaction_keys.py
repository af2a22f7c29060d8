"""P7: a secret never reaches disk or the screen. Every planted key is made up, and put together at run time."""

from __future__ import annotations

import base64
import json

import pytest

from memflush_jupyter.memory.redaction import Redactor

A = "Zq3vT9kLm2Xw8Rb5Nc7Yd1Hf4Gj6Ps0Qa"
LONG = A * 6
HEX = "0f1e2d3c4b5a69788796a5b4c3d2e1f0" * 4
UPPER = "Q7W8E9R1T2Y3U4I5O6P7A8S9"

PLANTED = {
    "anthropic": "sk-" + "ant-api03-" + LONG[:90],
    "openai project": "sk-" + "proj-" + LONG[:60],
    "openai old": "sk-" + LONG[:48],
    "openai service": "sk-" + "svcacct-" + LONG[:50],
    "openrouter": "sk-" + "or-v1-" + HEX[:64],
    "aws id": "AKI" + "A" + UPPER[:16],
    "aws session id": "ASI" + "A" + UPPER[:16],
    "github classic": "gh" + "p_" + LONG[:36],
    "github oauth": "gh" + "o_" + LONG[:36],
    "github fine": "github_" + "pat_" + LONG[:22] + "_" + LONG[:59],
    "gitlab": "gl" + "pat-" + LONG[:20],
    "gitlab runner": "gl" + "rt-" + LONG[:20],
    "google api": "AI" + "za" + LONG[:35],
    "google oauth secret": "GOC" + "SPX-" + LONG[:28],
    "google oauth token": "ya" + "29." + LONG[:60],
    "google refresh": "1/" + "/0" + LONG[:60],
    "slack bot": "xox" + "b-" + "123456789012-123456789012-" + LONG[:24],
    "slack user": "xox" + "p-" + "123456789012-" + LONG[:24],
    "slack app": "xa" + "pp-1-A012-" + LONG[:30],
    "stripe live": "sk_" + "live_" + LONG[:24],
    "stripe restricted": "rk_" + "live_" + LONG[:24],
    "stripe webhook": "wh" + "sec_" + LONG[:32],
    "hugging face": "h" + "f_" + LONG[:34],
    "pypi": "py" + "pi-AgEIcHlwaS5vcmc" + LONG[:90],
    "npm": "np" + "m_" + LONG[:36],
    "sendgrid": "S" + "G." + LONG[:22] + "." + LONG[:43],
    "square": "sq0" + "csp-" + LONG[:43],
    "shopify": "shp" + "at_" + HEX[:32],
    "digitalocean": "dop" + "_v1_" + HEX[:64],
    "databricks": "da" + "pi" + HEX[:32],
    "vault": "hv" + "s." + LONG[:28],
    "terraform": LONG[:14] + ".atlas" + "v1." + LONG[:60],
    "grafana": "gl" + "sa_" + LONG[:32] + "_" + HEX[:8],
    "new relic": "NR" + "AK-" + LONG[:27],
    "postman": "PM" + "AK-" + HEX[:24] + "-" + HEX[:34],
    "linear": "lin_" + "api_" + LONG[:40],
    "notion": "nt" + "n_" + LONG[:46],
    "airtable": "pa" + "t" + LONG[:14] + "." + HEX[:64],
    "figma": "fig" + "d_" + LONG[:40],
    "groq": "gs" + "k_" + LONG[:52],
    "xai": "xa" + "i-" + LONG[:80],
    "perplexity": "pp" + "lx-" + LONG[:48],
    "replicate": "r" + "8_" + LONG[:37],
    "nvidia": "nv" + "api-" + LONG[:64],
    "pinecone": "pc" + "sk_" + LONG[:60],
    "tavily": "tv" + "ly-" + LONG[:32],
    "langsmith": "lsv2" + "_pt_" + HEX[:32] + "_" + HEX[:10],
    "langfuse": "sk-" + "lf-" + "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0",
    "sentry": "sn" + "trys_" + LONG[:60],
    "docker": "dckr" + "_pat_" + LONG[:27],
    "prefect": "pn" + "u_" + LONG[:36],
    "planetscale": "pscale" + "_tkn_" + LONG[:43],
    "supabase": "sb" + "p_" + HEX[:40],
    "atlassian": "AT" + "ATT3" + LONG[:180],
    "mapbox": "sk" + ".eyJ" + LONG[:60] + "." + LONG[:22],
    "rubygems": "ruby" + "gems_" + HEX[:48],
    "age": "AGE-SECRET" + "-KEY-1" + UPPER * 3,
    "alibaba": "LT" + "AI" + LONG[:20],
    "tencent": "AK" + "ID" + LONG[:32],
    "jwt": "ey" + "JhbGciOiJIUzI1NiJ9." + "ey" + "JzdWIiOiIxMjM0NTY3ODkwIn0." + LONG[:43],
    "azure ad": "abc" + "8Q" + "~" + LONG[:34],
    "twilio": "S" + "K" + HEX[:32],
    "mailchimp": HEX[:32] + "-us" + "12",
    "mailgun": "ke" + "y-" + HEX[:32],
    "telegram": "123456789" + ":AA" + LONG[:33],
    "discord": "M" + LONG[:23] + "." + LONG[:6] + "." + LONG[:27],
}

SURROUNDED = {
    "bearer header": ("Authorization: Bear" + "er {}", LONG[:40]),
    "basic header": ("Authorization: Bas" + "ic {}", base64.b64encode(b"ana:open-sesame-77").decode()),
    "token header": ('headers = {{"Authorization": "tok' + 'en {}"}}', LONG[:30]),
    "bare bearer": ("curl -H 'bearer {}'", LONG[:30]),
    "url password": ("postgresql://ana:{}@db.example.org:5432/sales", "s3cr3t-pw"),
    "url password with an at sign": ("mysql://ana:{}@db.example.org/sales", "pa@ss9"),
    "redis": ("redis://:{}@cache:6379/0", "hunter22"),
    "url token": ("git clone https://{}@git.example.org/a/b.git", LONG[:24]),
    "slack webhook": ("https://hooks.slack." + "com/services/{}", "T01ABCDEF/B02ABCDEF/" + LONG[:24]),
    "discord webhook": ("https://discord.com/api/webhooks/123456789012345678/{}", LONG[:68]),
    "azure storage": ("DefaultEndpointsProtocol=https;AccountName=a;Account" + "Key={};EndpointSuffix=x", LONG[:86] + "=="),
    "sas signature": ("https://a.blob.core.windows.net/c/f.csv?sv=2022&sig={}", LONG[:40] + "%3D"),
    "amazon signature": ("https://b.s3.amazonaws.com/k?X-Amz-Expires=60&X-Amz-Signature={}", HEX[:64]),
    "cookie": ("Cookie: {}", "session=" + LONG[:40]),
    "env file": ("export MY_SERVICE_API_" + "KEY={}", LONG[:30]),
    "python": ("client = Client(api_" + 'key="{}")', LONG[:30]),
    "json": ('{{"client_' + 'secret": "{}"}}', LONG[:30]),
    "yaml": ("pass" + "word: {}", "Tr0ub4dor&3"),
    "python password": ("pass" + "word = '{}'", "correcthorse"),
    "passphrase with blanks": ("pass" + 'phrase = "{}"', "correct horse 9 battery"),
    "query": ("https://api.example.org/v1?x=1&api_" + "key={}&y=2", LONG[:30]),
    "camel case": ('"access' + 'Token": "{}"', LONG[:30]),
    "attribute": ("cfg.db_pass" + "word = '{}'", "hunter-two"),
    "command line": ("mytool --pass" + "word {} run", "hunter22x"),
    "spoken": ("the pass" + "word for the warehouse is {}.", "Tr0ub4dor&3"),
    "spoken in Chinese": ("数据库的密" + "码是{}，请不要外传", "abc12345"),
    "escaped JSON": ('"{{\\"pass' + 'word\\": \\"{}\\"}}"', "hunter22"),
    "aws secret": ("aws_secret_access_" + 'key = "{}"', LONG[:40]),
    "npm file": ("//registry.example.org/:_authTo" + "ken={}", "npx" + LONG[:36]),
    "x-api-key header": ("x-api-" + "key: {}", LONG[:32]),
}


def test_at_least_forty_kinds_of_keys_are_planted():
    """P7."""
    assert len(PLANTED) >= 40


@pytest.mark.parametrize("name", PLANTED)
@pytest.mark.parametrize("frame", ["{}", "I use {} for this.", "key={}", '{{"k": "{}"}}', "密钥{}。", "x\n{}\ny", "[{}]({})", "<{}>"])
def test_a_key_with_its_own_mark_is_redacted_wherever_it_stands(name, frame):
    """P7: no part of the key that could be used is left."""
    key = PLANTED[name]
    text = Redactor({})(frame.format(key, key))
    assert key not in text
    assert key[-12:] not in text
    assert "[redacted: " in text


@pytest.mark.parametrize("name", SURROUNDED)
def test_a_secret_known_by_its_surroundings_is_redacted_and_the_rest_stays(name):
    """P7."""
    frame, secret = SURROUNDED[name]
    before, after = frame.replace("{{", "{").replace("}}", "}").split("{}")
    text = Redactor({})(frame.format(secret))
    assert secret not in text
    assert text.startswith(before)
    assert text.endswith(after)


@pytest.mark.parametrize("name", [*PLANTED, *SURROUNDED])
def test_redacting_twice_changes_nothing_more(name):
    """P7: what is written again, is written the same."""
    frame, secret = SURROUNDED.get(name, ("I use {} here", PLANTED.get(name)))
    once = Redactor({})(frame.format(secret))
    assert Redactor({})(once) == once


def test_the_kind_of_a_secret_is_named():
    """P7."""
    redact = Redactor({})
    assert redact("a " + PLANTED["github classic"] + " b") == "a [redacted: GitHub token] b"
    assert redact("a " + PLANTED["anthropic"] + " b") == "a [redacted: Anthropic key] b"
    assert redact("pass" + "word = 'hunter-two'") == "password = '[redacted: password]'"
    assert redact("api_" + "key=" + A) == "api_key=[redacted: secret]"


PEM_BODY = "\n".join(A[:32] * 2 for _ in range(12))


@pytest.mark.parametrize("kind", ["RSA ", "EC ", "DSA ", "OPENSSH ", "ENCRYPTED ", "", "PGP "])
def test_a_private_key_block_is_redacted_whole(kind):
    """P7."""
    block = " BLOCK" if kind == "PGP " else ""
    pem = f"-----BEGIN {kind}PRIVATE KEY{block}-----\n{PEM_BODY}\n-----END {kind}PRIVATE KEY{block}-----"
    assert Redactor({})(f"before\n{pem}\nafter") == "before\n[redacted: private key]\nafter"
    inline = json.dumps({"k": pem})
    assert Redactor({})(inline) == '{"k": "[redacted: private key]"}'


def test_a_private_key_block_whose_end_was_cut_off_is_redacted():
    """P7: head of a file."""
    text = Redactor({})("-----BEGIN RSA PRIVATE KEY-----\n" + PEM_BODY)
    assert text == "[redacted: private key]"
    with_headers = Redactor({})("-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n" + PEM_BODY + "\n\nThen prose follows here.")
    assert with_headers == "[redacted: private key]Then prose follows here."


def test_prose_about_private_keys_and_public_certificates_stay():
    """P7, false positives."""
    prose = "The scanner looks for -----BEGIN RSA PRIVATE KEY----- in each file."
    assert Redactor({})(prose) == prose
    certificate = f"-----BEGIN CERTIFICATE-----\n{PEM_BODY}\n-----END CERTIFICATE-----"
    assert Redactor({})(certificate) == certificate


def test_a_putty_key_file_is_redacted():
    """P7."""
    text = "PuTTY-User-Key-File-3: ssh-rsa\nPrivate-Lines: 2\n" + PEM_BODY + "\nPrivate-MAC: " + HEX[:40] + "\nend"
    assert Redactor({})(text) == "[redacted: private key]\nend"
