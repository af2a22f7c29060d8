"""P7: how often ordinary data is taken for a secret: measured on the shipped notebooks, on sample data, and on tables made to look like secrets."""

from __future__ import annotations

import base64
import hashlib
import json
import random
import string
import uuid
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from memflush_jupyter.memory.redaction import Redactor

ROOT = Path(__file__).resolve().parents[3]
ROWS = 2_000
ALLOWED = 1 / 10_000
"""Cells of a table in which something may be redacted wrongly, at most; docs/secrets.md tells the measured rate."""

Cell = Callable[[random.Random], str]


def _of(alphabet: str, low: int, high: int | None = None) -> Cell:
    return lambda rng: "".join(rng.choices(alphabet, k=rng.randint(low, high or low)))


def _pick(*words: str) -> Cell:
    return lambda rng: rng.choice(words)


HEX = "0123456789abcdef"
COLUMNS: dict[str, Cell] = {
    "id": lambda rng: str(uuid.UUID(int=rng.getrandbits(128))),
    "uuid_upper": lambda rng: str(uuid.UUID(int=rng.getrandbits(128))).upper(),
    "commit_sha": _of(HEX, 40),
    "short_sha": _of(HEX, 7, 12),
    "md5": _of(HEX, 32),
    "sha256": lambda rng: hashlib.sha256(rng.randbytes(8)).hexdigest(),
    "checksum": lambda rng: f"sha256:{hashlib.sha256(rng.randbytes(8)).hexdigest()}",
    "integrity": lambda rng: f"sha512-{base64.b64encode(rng.randbytes(64)).decode()}",
    "base64_id": lambda rng: base64.b64encode(rng.randbytes(12)).decode(),
    "url_id": lambda rng: base64.urlsafe_b64encode(rng.randbytes(16)).decode().rstrip("="),
    "embedding": lambda rng: base64.b64encode(rng.randbytes(48)).decode(),
    "gene": lambda rng: rng.choice(["BRCA1", "TP53", "ENSG00000139618", "rs7412", "NM_000546.6", "chr17:43044295-43125483", "p.Val600Glu"]),
    "sequence": _of("ACGT", 20, 80),
    "protein": _of("ACDEFGHIKLMNPQRSTVWY", 20, 60),
    "smiles": _pick("CC(=O)OC1=CC=CC=C1C(=O)O", "CN1C=NC2=C1C(=O)N(C(=O)N2C)C", "C[C@H](N)C(=O)O"),
    "sku": lambda rng: f"{rng.choice(['SKU', 'ACME', 'PK', 'SK', 'AC'])}-{rng.randint(1000, 99_999)}-{rng.choice('ABCXYZ')}{rng.randint(1, 99)}",
    "product_key_no": lambda rng: f"key-{rng.randint(1, 9_999_999)}",
    "isbn": lambda rng: f"978-{rng.randint(0, 9)}-{rng.randint(100, 999)}-{rng.randint(10_000, 99_999)}-{rng.randint(0, 9)}",
    "iban": lambda rng: f"DE{rng.randint(10, 99)}{rng.randint(10**17, 10**18 - 1)}",
    "long_number": lambda rng: str(rng.getrandbits(90)),
    "float": lambda rng: repr(rng.gauss(0, 1e6)),
    "colour": lambda rng: f"#{rng.getrandbits(24):06x}",
    "time": lambda rng: f"2026-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}T{rng.randint(0, 23):02}:{rng.randint(0, 59):02}:07.123456+00:00",
    "url": lambda rng: f"https://example.org/a/{rng.randint(1, 999)}?page={rng.randint(1, 99)}&key=body_mass&id={rng.getrandbits(40):x}#top",
    "doi": lambda rng: (
        f"https://doi.org/10.{rng.randint(1000, 9999)}/j.{rng.choice(['cell', 'ecolmodel', 'pone'])}.{rng.randint(2000, 2026)}.{rng.randint(1, 9999):04}"
    ),
    "arn": lambda rng: f"arn:aws:s3:::bucket-{rng.randint(1, 99)}/data/part-{rng.randint(0, 9999):05}-{uuid.UUID(int=rng.getrandbits(128))}.snappy.parquet",
    "path": lambda rng: f"/data/{rng.choice(['tokens', 'keys', 'secrets', 'pass'])}/run_{rng.getrandbits(32):08x}/part-{rng.randint(0, 99)}.csv",
    "mail": lambda rng: f"ana.{rng.choice(['m', 'k'])}{rng.randint(1, 999)}@example.org",
    "ip": lambda rng: ".".join(str(rng.randint(0, 255)) for _ in range(4)) + f":{rng.randint(1024, 65_535)}",
    "mac": lambda rng: ":".join(f"{rng.getrandbits(8):02x}" for _ in range(6)),
    "token": _pick("NOUN", "VERB", "B-PER", "I-LOC2", "##ing", "[CLS]", "don't", "2024", "state-of-the-art", "O'Neill", "x=1"),
    "token_id": lambda rng: str(rng.randint(0, 128_000)),
    "password_strength": lambda rng: f"{rng.random():.3f}",
    "key": _pick("species", "body_mass_g", "region_2024", "customer_id", "A4", "C#", "Enter"),
    "secret_santa": _pick("Ana", "Bo", "Kim"),
    "pass": _pick("True", "False", "1", "0", "12.5 %", "boarding"),
    "note": _pick("the key is customer_id", "token: 5 per line", "password reset on 2024-01-05", "ask Ana for the secret", "see https://a.example.org/x@v2"),
    "version": lambda rng: f"v{rng.randint(0, 9)}.{rng.randint(0, 30)}.{rng.randint(0, 9)}-rc.{rng.randint(0, 9)}+{rng.getrandbits(28):07x}",
    "docker": lambda rng: f"registry.example.org/team/app@sha256:{hashlib.sha256(rng.randbytes(8)).hexdigest()}",
    "module": _pick("sklearn.linear_model.LogisticRegression", "MyVeryLongModuleNameWithSome.submod.functions", "torch.nn.functional.pad"),
    "hashed_name": lambda rng: "".join(rng.choices(string.ascii_letters + string.digits, k=40)),
}


def tables() -> list[list[str]]:
    """Rows of all columns, the names first."""
    rng = random.Random(11)  # noqa: S311 - sample data
    return [list(COLUMNS), *([make(rng) for make in COLUMNS.values()] for _ in range(ROWS))]


def wrong(text: str) -> list[str]:
    """What would be redacted."""
    return [text[max(0, span.start - 40) : span.end] for span in Redactor({}).find(text)]


@pytest.mark.parametrize("form", ["csv", "json records", "json columns", "markdown", "repr"])
def test_tables_that_look_like_secrets_lose_at_most_one_cell_in_ten_thousand(form):
    """P7, false positives: identifiers, hashes, checksums, genes, product codes, addresses, 40 columns × 2,000 rows, as they are printed."""
    names, *rows = tables()
    lines = {
        "csv": lambda: ",".join(names) + "\n" + "\n".join(",".join(row) for row in rows),
        "json records": lambda: json.dumps([dict(zip(names, row, strict=True)) for row in rows]),
        "json columns": lambda: json.dumps({name: [row[place] for row in rows] for place, name in enumerate(names)}),
        "markdown": lambda: "\n".join("| " + " | ".join(row) + " |" for row in rows),
        "repr": lambda: repr([dict(zip(names, row, strict=True)) for row in rows]),
    }
    found = wrong(lines[form]())
    assert len(found) <= ALLOWED * len(names) * ROWS, found[:20]


@pytest.mark.parametrize("column", ["id", "uuid_upper", "commit_sha", "md5", "sha256", "checksum", "integrity", "hashed_name", "base64_id", "arn", "docker"])
def test_identifiers_and_checksums_are_never_touched(column):
    """P7, false positives: not one of these, beside the name of their column."""
    names, *rows = tables()
    values = [row[names.index(column)] for row in rows]
    assert wrong("\n".join(f"{column}: {value}\n{column}={value}\n{column},{value}" for value in values)) == []


def test_the_shipped_notebooks_hold_nothing_that_is_taken_for_a_secret():
    """P7, false positives: sources and saved outputs."""
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        assert wrong(path.read_text(encoding="utf-8")) == []


def test_the_sample_data_of_installed_packages_is_left_as_it_is():
    """P7, false positives: every CSV file that pandas, scikit-learn, statsmodels, matplotlib and palmerpenguins ship, where they are installed."""
    cells = 0
    for package in ("palmerpenguins", "sklearn", "statsmodels", "matplotlib", "pandas", "scipy", "vega_datasets"):
        found = find_spec(package)
        if found is None or found.origin is None:
            continue
        for path in sorted(Path(found.origin).parent.rglob("*.csv"))[:60]:
            text = path.read_text(encoding="utf-8", errors="replace")[:500_000]
            cells += text.count(",") + text.count("\n")
            assert wrong(text) == []
    assert cells > 2_000
