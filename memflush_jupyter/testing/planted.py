"""Made-up secrets to plant: one of each kind, put together at run time so that nothing key-like stands in a file.

::

    for plant in planted(7):
        assert plant.secret not in Redactor({})(f"before {plant.text} after")

``text`` is how the secret stands in the wild, ``secret`` the part of it that nobody may see.
"""

from __future__ import annotations

import base64
import json
import random
import string
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_DIGITS = string.digits
_HEX = "0123456789abcdef"
_PLAIN = string.ascii_letters + string.digits
_URL_SAFE = _PLAIN + "-_"
_BASE64 = _PLAIN + "+/"
_UPPER = string.ascii_uppercase + string.digits


@dataclass(frozen=True, slots=True)
class Planted:
    """One secret. ``kind`` names it, ``text`` is what is planted, ``secret`` what may be found nowhere afterwards."""

    kind: str
    text: str
    secret: str


def planted(seed: int = 1) -> list[Planted]:
    """One secret of each kind; another ``seed`` gives others. More than 60 kinds."""
    make = _Maker(random.Random(seed))  # noqa: S311 - they protect nothing
    whole = [Planted(kind, secret, secret) for kind, build in _WHOLE.items() for secret in [build(make)]]
    framed = [Planted(kind, frame.replace("@@", secret), secret) for kind, (frame, build) in _FRAMED.items() for secret in [build(make)]]
    return [*whole, *framed, *(Planted(kind, *build(make)) for kind, build in _BLOCKS.items())]


class _Maker:
    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    def of(self, alphabet: str, length: int) -> str:
        """Random characters; the first five hold a letter and a digit, as a real key all but always does early on."""
        made = self._rng.choices(alphabet, k=length)
        for place, kind in ((1, str.isdigit), (3, str.isalpha)):
            own = [character for character in alphabet if kind(character)]
            if own and place < length:
                made[place] = self._rng.choice(own)
        for place in (0, length - 1):  # a key that ends in a sign is cut there by any sentence
            while not made[place].isalnum():
                made[place] = self._rng.choice(alphabet)
        return "".join(made)

    def hex(self, length: int) -> str:
        return self.of(_HEX, length)

    def plain(self, length: int) -> str:
        return self.of(_PLAIN, length)

    def safe(self, length: int) -> str:
        return self.of(_URL_SAFE, length)

    def json64(self, value: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(value, separators=(",", ":")).encode()).decode().rstrip("=")

    def pem(self, kind: str) -> tuple[str, str]:
        lines = [self.of(_BASE64, 64) for _ in range(6)]
        return "\n".join([f"-----BEGIN {kind}PRIVATE KEY-----", *lines, f"-----END {kind}PRIVATE KEY-----"]), lines[2]


_WHOLE: dict[str, Callable[[_Maker], str]] = {
    "AWS access key id": lambda m: "AKI" + "A" + m.of(_UPPER, 16),
    "GitHub classic": lambda m: "gh" + "p_" + m.plain(36),
    "GitHub app": lambda m: "gh" + "s_" + m.plain(36),
    "GitHub fine-grained": lambda m: "github_" + "pat_" + m.plain(22) + "_" + m.plain(59),
    "GitLab": lambda m: "gl" + "pat-" + m.safe(20),
    "Slack bot token": lambda m: "xox" + f"b-{m.of(_DIGITS, 12)}-{m.of(_DIGITS, 12)}-{m.plain(24)}",
    "Stripe": lambda m: "sk_" + "live_" + m.plain(24),
    "OpenAI": lambda m: "sk-" + "proj-" + m.safe(60),
    "OpenAI legacy": lambda m: "sk-" + m.plain(20) + "T3Blbk" + "FJ" + m.plain(20),
    "Anthropic": lambda m: "sk-" + "ant-api03-" + m.safe(90) + "AA",
    "Google API key": lambda m: "AI" + "za" + m.safe(35),
    "Google OAuth token": lambda m: "ya" + "29." + m.safe(60),
    "npm": lambda m: "np" + "m_" + m.plain(36),
    "PyPI": lambda m: "py" + "pi-AgEIcHlwaS5vcmc" + m.safe(90),
    "Twilio": lambda m: "S" + "K" + m.hex(32),
    "SendGrid": lambda m: "S" + "G." + m.safe(22) + "." + m.safe(43),
    "Mailgun": lambda m: "ke" + "y-" + m.hex(32),
    "Mailchimp": lambda m: m.hex(32) + "-us" + "12",
    "Discord bot token": lambda m: "M" + m.plain(23) + "." + m.plain(6) + "." + m.safe(38),
    "Telegram": lambda m: m.of("123456789", 10) + ":AA" + m.safe(33),
    "Heroku": lambda m: "HRKU-" + "AA" + m.safe(58),
    "DigitalOcean": lambda m: "dop" + "_v1_" + m.hex(64),
    "Databricks": lambda m: "da" + "pi" + m.hex(32),
    "Hugging Face": lambda m: "h" + "f_" + m.plain(34),
    "Square": lambda m: "sq0" + "atp-" + m.safe(22),
    "Square access token": lambda m: "EAAA" + "E" + m.safe(59),
    "Shopify": lambda m: "shp" + "at_" + m.hex(32),
    "Docker Hub": lambda m: "dckr" + "_pat_" + m.safe(27),
    "Artifactory": lambda m: "AK" + "Cp8" + m.plain(69),
    "Linear": lambda m: "lin_" + "api_" + m.plain(40),
    "Notion": lambda m: "nt" + "n_" + m.plain(46),
    "Airtable": lambda m: "pa" + "t" + m.plain(14) + "." + m.hex(64),
    "New Relic": lambda m: "NR" + "AK-" + m.of(_UPPER, 27),
    "Vault": lambda m: "hv" + "s." + m.safe(28),
    "Terraform Cloud": lambda m: m.plain(14) + ".atlas" + "v1." + m.safe(60),
    "Groq": lambda m: "gs" + "k_" + m.plain(52),
    "Azure AD": lambda m: m.plain(3) + "8Q" + "~" + m.plain(34),
    "Age": lambda m: "AGE-SECRET" + "-KEY-1" + m.of(_UPPER, 58),
}
"""Keys that carry their own mark: known wherever they stand."""

_FRAMED: dict[str, tuple[str, Callable[[_Maker], str]]] = {
    "AWS secret": ("aws_secret_access_" + "key = @@", lambda m: m.of(_BASE64, 40)),
    "AWS session token": ("AWS_SESSION_" + "TOKEN=@@", lambda m: m.of(_BASE64, 120)),
    "Slack webhook": ("https://hooks.slack." + "com/services/T0@@", lambda m: m.of(_UPPER, 8) + "/B0" + m.of(_UPPER, 8) + "/" + m.plain(24)),
    "Discord webhook": ("https://discord.com/api/web" + "hooks/123456789012345678/@@", lambda m: m.safe(68)),
    "Azure storage": ("DefaultEndpointsProtocol=https;AccountName=acme;Account" + "Key=@@;EndpointSuffix=core.windows.net", lambda m: m.of(_BASE64, 86) + "=="),
    "Azure SAS": ("https://acme.blob.core.windows.net/c/f.csv?sv=2022-11-02&sr=b&si" + "g=@@&se=2030", lambda m: m.plain(40) + "%3D"),
    "Cloudflare": ("CLOUDFLARE_API_" + "TOKEN=@@", lambda m: m.safe(40)),
    "IBM Cloud": ("ibm_cloud_api_" + "key: @@", lambda m: m.safe(44)),
    "Heroku by name": ("heroku_api_" + "key = '@@'", lambda m: f"{m.hex(8)}-{m.hex(4)}-4{m.hex(3)}-9{m.hex(3)}-{m.hex(12)}"),
    "basic-auth URL": ("https://ana:@@@git.example.org/a/b.git", lambda m: m.plain(14)),
    "PostgreSQL URL": ("postgresql+psycopg://ana:@@@db.example.org:5432/sales", lambda m: m.plain(16)),
    "bearer header": ("Authorization: Bea" + "rer @@", lambda m: m.safe(40)),
    "basic header": ("Authorization: Bas" + "ic @@", lambda m: base64.b64encode(f"ana:{m.plain(14)}".encode()).decode().rstrip("=")),
    "password assigned": ("pass" + "word = '@@'", lambda m: m.plain(10) + "!x"),
    "password in YAML": ("pass" + "word: @@", lambda m: m.plain(12) + "$k"),
    "password as keyword": ("connect(user='ana', pass" + "wd='@@')", lambda m: m.plain(12)),
    "netrc": ("machine api.example.org login ana pass" + "word @@", lambda m: m.plain(16)),
    "pgpass": ("db.example.org:5432:sales:ana:@@", lambda m: m.plain(16)),
    "Snowflake": ("snowflake://ana:@@@acme-eu1/sales?warehouse=w", lambda m: m.plain(16)),
    "Snowflake by name": ('"snowflake_pass' + 'word": "@@"', lambda m: m.plain(16)),
    "Sentry DSN": ("https://@@@o1234.ingest.sentry.io/5678", lambda m: m.hex(32)),
    "Twilio auth by name": ("TWILIO_AUTH_" + "TOKEN=@@", lambda m: m.hex(32)),
    "Docker config": (
        '{"auths": {"https://index.docker.io/v1/": {"au' + 'th": "@@"}}}',
        lambda m: base64.b64encode(f"ana:{m.plain(20)}".encode()).decode().rstrip("="),
    ),
    "npm file": ("//registry.example.org/:_auth" + "Token=@@", lambda m: m.plain(36)),
    "query": ("https://api.example.org/v1?x=1&api_" + "key=@@&y=2", lambda m: m.plain(32)),
    "cookie": ("Cookie: session" + "id=@@", lambda m: m.plain(40)),
    "MongoDB URL": ("mongodb+srv://ana:@@@cluster0.example.org/?retryWrites=true", lambda m: m.plain(18)),
    "Redis URL": ("redis://:@@@cache.example.org:6379/0", lambda m: m.plain(18)),
    "command line": ("mysql --pass" + "word=@@ -u ana", lambda m: m.plain(14)),
}
"""Values that are known by where they stand; ``@@`` is the place."""


def _service_account(make: _Maker) -> tuple[str, str]:
    pem, line = make.pem("")
    account = {"type": "service_account", "project_id": "acme", "private_key": pem, "client_email": "a@acme.iam.gserviceaccount.com"}
    return json.dumps(account), line


def _web_token(make: _Maker) -> tuple[str, str]:
    said = f"{make.json64({'sub': make.plain(20), 'iat': 1516239022})}.{make.safe(43)}"
    return f"{make.json64({'alg': 'HS256', 'typ': 'JWT'})}.{said}", said


_BLOCKS: dict[str, Callable[[_Maker], tuple[str, str]]] = {
    "JSON web token": _web_token,
    "PEM RSA": lambda m: m.pem("RSA "),
    "PEM EC": lambda m: m.pem("EC "),
    "PEM OpenSSH": lambda m: m.pem("OPENSSH "),
    "PEM PKCS8": lambda m: m.pem(""),
    "GCP service account": _service_account,
}
"""Secrets whose beginning says nothing: what is looked for afterwards is the part that does, one line out of the middle or the claims."""
