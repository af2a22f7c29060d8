"""What a secret looks like: one table of key formats, and the patterns for secrets that are known by their surroundings.

A rule's ``hints`` are literal strings, one of which stands in every match: text that holds none of them is never
scanned with the pattern, which is what makes the redactor fast on ordinary data. The formats are those that the
services themselves publish (prefix, alphabet, length). Patterns match the secret itself as group ``s`` where more
than the secret is needed to recognise it. A body asks for less than the service's full length: what was cut off for display is a secret too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_ESCAPED = r"(?<=\\[nrtfvb])|(?<=\\u[0-9a-fA-F]{4})|(?<=%[0-9a-fA-F]{2})|(?<=[0-9\[]m)"
"""What a letter before a key may be the end of: an escape of a string, of JSON or of a URL, or a terminal's colour."""

_START = rf"(?:(?<![A-Za-z0-9_])|{_ESCAPED})"
_APART = rf"(?:(?<![A-Za-z0-9])|{_ESCAPED})"
_SLASH = r"\\?/"


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of secret. ``anchored``: each match begins with a hint, so only those places are tried."""

    kind: str
    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    anchored: bool = False


def _key(kind: str, prefixes: str, body: str) -> Rule:
    """Build the rule of a key that starts with one of ``prefixes`` (separated by spaces) followed by ``body``."""
    names = tuple(prefixes.split())
    starts = "|".join(re.escape(name) for name in names)
    return Rule(kind, names, re.compile(rf"{_START}(?:{starts}){body}"), anchored=True)


def _near(kind: str, hints: str, pattern: str) -> Rule:
    """Build the rule of a secret that is told by its surroundings, in any case."""
    return Rule(kind, tuple(hints.split()), re.compile(pattern, re.IGNORECASE))


_URL_SAFE = r"[A-Za-z0-9_-]"

KEYS: tuple[Rule, ...] = (
    _key("Anthropic key", "sk-ant-", rf"{_URL_SAFE}{{16,}}"),
    _key("OpenAI key", "sk-proj- sk-svcacct- sk-admin- sk-None-", rf"{_URL_SAFE}{{20,}}"),
    _key("OpenRouter key", "sk-or-", rf"{_URL_SAFE}{{20,}}"),
    _key("API key", "sk-", r"(?=[A-Za-z]*\d)[A-Za-z0-9]{20,}"),
    _key("AWS access key", "AKIA ASIA ABIA ACCA", r"[0-9A-Z]{16}(?![0-9A-Za-z])"),
    _key("AWS Bedrock key", "ABSK", r"[A-Za-z0-9+/]{30,}={0,2}"),
    _key("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", r"[A-Za-z0-9]{30,}"),
    _key("GitHub token", "github_pat_", r"[A-Za-z0-9_]{22,}"),
    _key("GitLab token", "glpat- gldt- glft- glsoat- glrt- glcbt- glimt- glptt- glagent- gloas- GR1348941", rf"{_URL_SAFE}{{18,}}"),
    _key("Google API key", "AIza", rf"{_URL_SAFE}{{35}}(?!{_URL_SAFE})"),
    _key("Google OAuth secret", "GOCSPX-", rf"{_URL_SAFE}{{20,}}"),
    _key("Google OAuth token", "ya29.", rf"{_URL_SAFE}{{20,}}"),
    _key("Google refresh token", "1//0", rf"{_URL_SAFE}{{30,}}"),
    _key("Slack token", "xoxb- xoxp- xoxa- xoxr- xoxs- xoxo- xoxe- xoxc- xoxd- xapp-", r"[A-Za-z0-9%.-]{10,}"),
    _key("Stripe key", "sk_live_ rk_live_ sk_test_ rk_test_ whsec_", r"[0-9a-zA-Z+/=]{16,}"),
    _key("Hugging Face token", "hf_ api_org_", r"[A-Za-z0-9]{30,}"),
    _key("PyPI token", "pypi-", rf"Ag{_URL_SAFE}{{16,}}"),
    _key("npm token", "npm_", r"[A-Za-z0-9]{24,}"),
    _key("SendGrid key", "SG.", rf"{_URL_SAFE}{{16,}}\.{_URL_SAFE}{{8,}}"),
    _key("Square token", "sq0csp- sq0atp- sq0idp-", rf"{_URL_SAFE}{{22,}}"),
    _key("Square token", "EAAAE EAAAl", rf"(?=[A-Za-z_-]*\d){_URL_SAFE}{{30,}}"),
    _key("Heroku key", "HRKU-", rf"{_URL_SAFE}{{30,}}"),
    _key("Shopify token", "shpat_ shpca_ shppa_ shpss_", r"[a-fA-F0-9]{32}"),
    _key("DigitalOcean token", "dop_v1_ doo_v1_ dor_v1_", r"[a-f0-9]{20,}"),
    _key("Databricks token", "dapi", r"[a-f0-9]{32}(?:-\d)?(?![A-Za-z0-9])"),
    _key("Vault token", "hvs. hvb. hvr.", rf"{_URL_SAFE}{{24,}}"),
    _key("Terraform token", "atlasv1.", rf"{_URL_SAFE}{{12,}}"),
    _key("Grafana token", "glsa_ glc_", r"[A-Za-z0-9+/_=]{32,}"),
    _key("New Relic key", "NRAK- NRJS- NRII-", r"[A-Za-z0-9_-]{19,}"),
    _key("Postman key", "PMAK-", r"[a-f0-9]{24}-[a-f0-9]{8,}"),
    _key("Linear key", "lin_api_ lin_oauth_", r"[A-Za-z0-9]{32,}"),
    _key("Notion token", "ntn_ secret_", r"[A-Za-z0-9]{30,}"),
    _key("Airtable token", "pat", r"[A-Za-z0-9]{14}\.[a-f0-9]{16,}"),
    _key("Figma token", "figd_", rf"{_URL_SAFE}{{30,}}"),
    _key("Groq key", "gsk_", r"[A-Za-z0-9]{30,}"),
    _key("xAI key", "xai-", r"[A-Za-z0-9]{30,}"),
    _key("Perplexity key", "pplx-", r"[A-Za-z0-9]{30,}"),
    _key("Replicate token", "r8_", r"[A-Za-z0-9]{30,}"),
    _key("Fireworks key", "fw_", r"[A-Za-z0-9]{22,}(?<=\d[A-Za-z0-9])"),
    _key("NVIDIA key", "nvapi-", rf"{_URL_SAFE}{{30,}}"),
    _key("Pinecone key", "pcsk_", r"[A-Za-z0-9_]{30,}"),
    _key("Tavily key", "tvly-", rf"{_URL_SAFE}{{20,}}"),
    _key("LangSmith key", "lsv2_pt_ lsv2_sk_", r"[a-f0-9]{24,}(?:_[a-f0-9]+)?"),
    _key("Langfuse key", "sk-lf- pk-lf-", r"[a-f0-9-]{36}"),
    _key("Sentry token", "sntrys_ sntryu_", r"[A-Za-z0-9+/=_]{30,}"),
    _key("Doppler token", "dp.pt. dp.st. dp.ct. dp.sa.", r"[A-Za-z0-9_.-]{30,}"),
    _key("Docker token", "dckr_pat_ dckr_oat_", rf"{_URL_SAFE}{{20,}}"),
    _key("Prefect key", "pnu_ pnb_", r"[A-Za-z0-9]{36}"),
    _key("PlanetScale token", "pscale_tkn_ pscale_pw_ pscale_oauth_", r"[A-Za-z0-9_.=-]{32,}"),
    _key("Supabase key", "sbp_ sb_secret_", r"[A-Za-z0-9_-]{20,}"),
    _key("Netlify token", "nfp_", r"[A-Za-z0-9]{30,}"),
    _key("Fly token", "fo1_", rf"{_URL_SAFE}{{30,}}"),
    _key("Fly token", "fm2_", r"[A-Za-z0-9+/=_-]{100,}"),
    _key("Atlassian token", "ATATT3 ATCTT3 ATBB", r"[A-Za-z0-9_=-]{20,}"),
    _key("Dropbox token", "sl.", rf"(?=[A-Za-z_-]*\d){_URL_SAFE}{{60,}}"),
    _key("Facebook token", "EAACEdEose0cBA EAAG EAAB", r"[0-9A-Za-z]{30,}"),
    _key("Mapbox token", "sk.eyJ", r"[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{16,}"),
    _key("RubyGems key", "rubygems_", r"[a-f0-9]{24,}"),
    _key("crates.io token", "cio", r"[A-Za-z0-9]{32}(?![A-Za-z0-9])"),
    _key("Age key", "AGE-SECRET-KEY-1", r"[0-9A-Z]{20,}"),
    _key("Alibaba access key", "LTAI", r"[A-Za-z0-9]{16,26}(?![A-Za-z0-9])"),
    _key("Tencent secret id", "AKID", r"[A-Za-z0-9]{32}(?![A-Za-z0-9])"),
    _key("Artifactory key", "AKC", r"(?=[A-Za-z]*\d)[A-Za-z0-9]{30,}"),
    _key("JSON web token", "eyJ", rf"{_URL_SAFE}{{8,}}\.eyJ{_URL_SAFE}{{8,}}(?:\.{_URL_SAFE}*)?"),
    _key("encrypted web token", "eyJ", rf"{_URL_SAFE}{{16,}}(?:\.{_URL_SAFE}{{0,}}){{3}}\.{_URL_SAFE}{{10,}}"),
    Rule("Azure AD secret", ("8Q~",), re.compile(rf"(?:(?<![A-Za-z0-9_~.-])|{_ESCAPED})[A-Za-z0-9_~.-]{{3}}8Q~[A-Za-z0-9_~.-]{{31,34}}(?![A-Za-z0-9_~-])")),
    Rule("Twilio key", ("AC", "SK"), re.compile(rf"{_START}(?:AC|SK)[a-f0-9]{{32}}(?![A-Za-z0-9])"), anchored=True),
    Rule("Mailchimp key", ("-us",), re.compile(rf"{_APART}[0-9a-f]{{32}}-us\d{{1,2}}(?![A-Za-z0-9])")),
    Rule("Mailgun key", ("key-",), re.compile(rf"{_APART}key-[0-9a-f]{{32}}(?![A-Za-z0-9])")),
    Rule("Telegram token", (":AA",), re.compile(rf"{_APART}\d{{8,10}}:AA[0-9A-Za-z_-]{{16,40}}(?![0-9A-Za-z_-])")),
    Rule(
        "Discord token",
        ("M", "N", "O"),
        re.compile(rf"(?:(?<![A-Za-z0-9_.-])|{_ESCAPED})[MNO](?=[A-Za-z_-]*\d)[A-Za-z\d_-]{{23,25}}\.[A-Za-z\d_-]{{6}}\.[A-Za-z\d_-]{{8,38}}(?![A-Za-z\d_-])"),
        anchored=True,
    ),
    Rule("Slack webhook", ("hooks.slack.com",), re.compile(rf"hooks\.slack\.com{_SLASH}(?:services|workflows){_SLASH}(?P<s>[A-Za-z0-9_/\\-]{{16,}})")),
    Rule("Discord webhook", ("/webhooks",), re.compile(rf"{_SLASH}webhooks{_SLASH}\d{{15,}}{_SLASH}(?P<s>[A-Za-z0-9_-]{{16,}})")),
    Rule("Teams webhook", ("webhook.office.com",), re.compile(r"webhook\.office\.com\\?/(?P<s>[^\s\"'<>]{20,})")),
    Rule("Azure storage key", ("AccountKey=", "SharedAccessKey="), re.compile(r"(?:AccountKey|SharedAccessKey)=(?P<s>[A-Za-z0-9+/=\\]{16,})")),
    Rule("Sentry DSN", (".ingest.",), re.compile(rf"https:{_SLASH}{_SLASH}(?P<s>[a-f0-9]{{32}})@[a-z0-9.-]*ingest\.")),
)
"""Keys that carry their own mark. The order matters only where two kinds share a prefix: the first wins."""

_NOT_DONE = r"(?!\[redacted)"
_SCHEME, _SCHEMES = r":\\?/\\?/", r":// :\/\/"
"""Between scheme and host of a URL, as it is and as JSON may escape it."""

SURROUNDED: tuple[Rule, ...] = (
    _near("authorization", "authorization", r"authorization[\"']?\s*[:=]\s*[\"']?\s*(?:bearer|basic|token|digest|apikey|key)\s+(?P<s>[A-Za-z0-9._~+/=:-]{6,})"),
    _near("bearer token", "bearer", r"\bbearer\s+(?P<s>(?=[A-Za-z._~+/=-]*\d)[A-Za-z0-9._~+/-]{16,}=*)"),
    _near("password in a URL", _SCHEMES, _SCHEME + r"[^\s:/?#@\"'<>\[\]{}]{0,200}:(?P<s>" + _NOT_DONE + r"[^\s/\"'<>{}`]{1,256})@(?=[a-z0-9\[])"),
    _near("token in a URL", _SCHEMES, _SCHEME + r"(?P<s>(?=[a-z_-]*\d)[a-z0-9_-]{20,})@(?=[a-z0-9\[])"),
    _near(
        "signature in a URL",
        "sig= signature= security-token=",
        r"[?&](?:amp;)?(?:sig|x-amz-signature|x-amz-security-token|x-goog-signature|signature)=(?P<s>[A-Za-z0-9%+/=_-]{16,})",
    ),
    _near(
        "cookie", "cookie", rf"(?:\b|{_ESCAPED})" r"(?:set-)?cookie[\"']?\s*:\s*[\"']?(?P<s>[^\s=;\"']{2,60}=[^\s;\"']{8,}(?:;\s*[^\s=;\"']{2,60}=[^\s;\"']+)*)"
    ),
    _near("password", "machine default", rf"(?:\b|{_ESCAPED})(?:machine\s+\S+|default)\s+login\s+\S+\s+password\s+(?P<s>" + _NOT_DONE + r"[^\s\\\"'<>]{4,})"),
    _near("password", ":5432: :5433: :6432:", r"[a-z0-9*.-]+:\d{4}:[\w*-]+:[\w*-]+:(?P<s>" + _NOT_DONE + r"[^\s:\"'<>]{4,})"),
    _near(
        "basic credentials",
        'auth" auth\\ auth&quot;',
        r"auth(?:\\{0,7}\"{1,2}|&quot;)\s*:\s*(?:\\{0,7}\"{1,2}|&quot;)(?P<s>(?:[A-Za-z0-9+]|\\?/){20,}={0,2})(?:\\{0,7}\"|&quot;)",
    ),
    _near("npm token", ":_authtoken :_password", r":_(?:authtoken|password)\s*=\s*\\?\"?(?P<s>" + _NOT_DONE + r"[^\s\"'\\<>\x1b]{8,})"),
    _near(
        "password",
        "--password --passwd --pass --token --api-key --secret",
        r"--(?:password|passwd|pass|token|api-key|secret)[ =](?P<s>" + _NOT_DONE + r"[^\s\"'-][^\s\"']{3,})",
    ),
)

PEM = re.compile(
    r"-----BEGIN (?P<kind>[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?)-----(?:(?!-----BEGIN )[\s\S])*?-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
)
PEM_OPEN = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:\s|\\[nr])*(?:[A-Za-z-]{3,20}: [^\n]{0,200}\n\s*)*"
    r"(?:[A-Za-z0-9+/=]{16,}(?:\s|\\[nr])*)+(?:[A-Za-z0-9+/=]{1,15}\s*(?=-----|$))?"
)
"""A block whose end was cut off: the lines of base64 after its first line."""

PUTTY = re.compile(r"PuTTY-User-Key-File-\d:[\s\S]*?(?:Private-MAC: *[0-9a-fA-F]+|\Z)")
