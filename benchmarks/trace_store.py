"""The trace store in figures, each against a floor measured in the same run.

    python benchmarks/trace_store.py [--messages 100000] [--characters 2000] [--questions 200]

Goals: commit per message median <= 1 ms with its full-text row; resume of 100,000 messages <= 50 ms; recall over them <= 20 ms with
nearly the evidence recall of uncapped BM25.
"""

from __future__ import annotations

import argparse
import json
import pydoc_data.topics
import random
import re
import sqlite3
import statistics
import tempfile
import time
from pathlib import Path

from memflush_jupyter.clock import SystemClock
from memflush_jupyter.trace import fulltext
from memflush_jupyter.trace.store import TraceStore

COMPACT_EVERY = 500
COLUMNS = ["bill_length_mm", "flipper_length_mm", "body_mass_g", "island", "species", "totalCharge", "patientId", "visit_date", "q3_revenue", "churnRate"]


def sentences() -> list[str]:
    """English prose that every Python ships, as sentences."""
    prose = " ".join(pydoc_data.topics.topics.values())
    return [piece for piece in re.split(r"(?<=[.:])\s+", re.sub(r"\s+", " ", prose)) if 30 < len(piece) < 300]


def make_texts(count: int, characters: int, rng: random.Random) -> tuple[list[str], list[str]]:
    """``count`` texts of about ``characters``, and for each the question that its one finding answers."""
    prose = sentences()
    words = sorted({word for piece in prose for word in re.findall(r"[a-z]{5,12}", piece)})
    texts, questions = [], []
    for _ in range(count):
        subject, quality, column = rng.choice(words), rng.choice(words), rng.choice(COLUMNS)
        finding = f"We found that the {quality} {subject} shows {column} of {rng.randint(10, 99)}.{rng.randint(0, 9)} in group {rng.randint(1, 400)}."
        parts, size = [finding], len(finding)
        while size < characters:
            piece = rng.choice(prose)
            parts.append(piece)
            size += len(piece) + 1
        rng.shuffle(parts)
        texts.append(" ".join(parts))
        questions.append(f"What did we find about the {column} of the {quality} {subject}?")
    return texts, questions


def commit_floor(folder: Path, texts: list[str]) -> tuple[list[float], list[float]]:
    """Seconds per commit of bare sqlite3: the row alone, and with a plain full-text row."""
    timings: list[list[float]] = []
    for full_text in (False, True):
        raw = sqlite3.connect(folder / f"floor{full_text}.sqlite3", isolation_level=None)
        raw.execute("PRAGMA journal_mode = WAL")
        raw.execute("PRAGMA synchronous = NORMAL")
        raw.execute("CREATE TABLE messages (id INTEGER PRIMARY KEY, sequence INTEGER, parent INTEGER, role TEXT, content TEXT)")
        raw.execute("CREATE VIRTUAL TABLE search USING fts5(body, content='', tokenize='porter unicode61')")
        seconds = []
        for number, text in enumerate(texts):
            start = time.perf_counter()
            raw.execute("BEGIN IMMEDIATE")
            content = json.dumps([{"type": "text", "text": text}])
            raw.execute("INSERT INTO messages (sequence, parent, role, content) VALUES (?, ?, ?, ?)", (number, number - 1, "user", content))
            if full_text:
                raw.execute("INSERT INTO search (rowid, body) VALUES (?, ?)", (number + 1, text))
            raw.execute("COMMIT")
            seconds.append(time.perf_counter() - start)
        raw.close()
        timings.append(seconds)
    return timings[0], timings[1]


def fill(store: TraceStore, trace: str, texts: list[str]) -> list[float]:
    """Append all texts, a compaction every ``COMPACT_EVERY`` messages; seconds per append."""
    seconds = []
    for number, text in enumerate(texts):
        start = time.perf_counter()
        message = store.append(
            trace, role="assistant" if number % 2 else "user", kind="reply" if number % 2 else "prompt", content=[{"type": "text", "text": text}]
        )
        seconds.append(time.perf_counter() - start)
        if number % COMPACT_EVERY == COMPACT_EVERY - 100:
            store.record_compaction(trace, content=[{"type": "text", "text": "summary"}], tokens=5, meta={"first_kept": message.sequence - 50})
    return seconds


def resume_floor(path: Path, trace: str, first: int) -> float:
    """Seconds for bare sqlite3 to open the file and read the same messages."""
    start = time.perf_counter()
    raw = sqlite3.connect(path)
    rows = raw.execute("SELECT * FROM messages WHERE trace = ? AND sequence >= ? ORDER BY sequence", (trace, first)).fetchall()
    for row in rows:
        json.loads(row[-1])
    raw.close()
    return time.perf_counter() - start


def uncapped(path: Path, question: str) -> tuple[list[int], float]:
    """Message ids by plain BM25 over every term, and the seconds it took."""
    raw = sqlite3.connect(path)
    start = time.perf_counter()
    match = " OR ".join(f'"{word}"' for word in fulltext.query_terms(question))
    rows = raw.execute("SELECT rowid FROM search_index WHERE search_index MATCH ? ORDER BY rank LIMIT 10", (match,)).fetchall()
    seconds = time.perf_counter() - start
    raw.close()
    return [row // 2 for (row,) in rows], seconds


def milliseconds(seconds: list[float], share: float = 0.5) -> str:
    ordered = sorted(seconds)
    return f"{ordered[min(len(ordered) - 1, int(len(ordered) * share))] * 1e3:.2f} ms"


def row(name: str, ours: str, floor: str, ratio: float | None, goal: str) -> None:
    print(f"| {name:<44} | {ours:>22} | {floor:>22} | {'' if ratio is None else f'{ratio:.2f} x':>8} | {goal:<18} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--characters", type=int, default=2000)
    parser.add_argument("--questions", type=int, default=200)
    options = parser.parse_args()
    rng = random.Random(7)
    texts, questions = make_texts(options.messages, options.characters, rng)
    print(f"{options.messages:,} messages of about {options.characters:,} characters, SQLite {sqlite3.sqlite_version}\n")
    row("measure", "ours", "floor (bare sqlite3)", None, "goal")
    row("-" * 44, "-" * 22, "-" * 22, None, "-" * 18)
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "store.sqlite3"
        trace = measure_commits(path, texts)
        measure_resume(path, trace)
        measure_recall(path, trace, texts, questions, rng.sample(range(len(questions)), min(options.questions, len(questions))))
        row("size of the file", f"{path.stat().st_size / 1e6:.0f} MB", f"{sum(map(len, texts)) / 1e6:.0f} MB of text", None, "")


def measure_commits(path: Path, texts: list[str]) -> str:
    plain, with_text = commit_floor(path.parent, texts[:2000])
    store = TraceStore.open(path, clock=SystemClock())
    trace = store.create_trace(identity="bench").id
    commits = fill(store, trace, texts)
    store.close()
    for label, floor in (("row alone", plain), ("with full text", with_text)):
        ratio = statistics.median(commits[:2000]) / statistics.median(floor)
        row(f"commit, median of 2,000 / {label}", milliseconds(commits[:2000]), milliseconds(floor), ratio, "<= 1 ms")
    row("commit, median of the last 2,000", milliseconds(commits[-2000:]), "", None, "<= 1 ms")
    row("commit, 99th percentile of all", milliseconds(commits, 0.99), milliseconds(with_text, 0.99), None, "")
    return trace


def measure_resume(path: Path, trace: str) -> None:
    resumes, floors, whole = [], [], []
    for _ in range(15):
        start = time.perf_counter()
        store = TraceStore.open(path, clock=SystemClock())
        store.trace(trace)
        messages = store.path(trace)
        resumes.append(time.perf_counter() - start)
        store.close()
        floors.append(resume_floor(path, trace, messages[1].sequence))
    ratio = statistics.median(resumes) / statistics.median(floors)
    row(f"resume to ready ({len(messages)} in context)", milliseconds(resumes), milliseconds(floors), ratio, "<= 50 ms")
    store = TraceStore.open(path, clock=SystemClock())
    for _ in range(2):
        start = time.perf_counter()
        store.path(trace, whole=True)
        whole.append(time.perf_counter() - start)
    store.close()
    row("the whole path (export)", milliseconds(whole), "", None, "")


def measure_recall(path: Path, trace: str, texts: list[str], questions: list[str], asked: list[int]) -> None:
    store = TraceStore.open(path, clock=SystemClock())
    sequences = {message.content[0]["text"]: message.sequence for message in store.path(trace, whole=True)}
    raw = sqlite3.connect(path)
    ids = dict(raw.execute("SELECT sequence, id FROM messages").fetchall())
    raw.close()
    seconds, plain_seconds, found, plain_found = [], [], 0, 0
    for number in asked:
        wanted = sequences[texts[number]]
        start = time.perf_counter()
        hits = store.search(questions[number], identity="bench", limit=10)
        seconds.append(time.perf_counter() - start)
        found += any(hit.sequence == wanted for hit in hits)
        best, took = uncapped(path, questions[number])
        plain_seconds.append(took)
        plain_found += ids[wanted] in best
    row("recall, median", milliseconds(seconds), milliseconds(plain_seconds), statistics.median(seconds) / statistics.median(plain_seconds), "<= 20 ms")
    row("recall, 95th percentile", milliseconds(seconds, 0.95), milliseconds(plain_seconds, 0.95), None, "")
    row(
        "evidence in the first 10 / uncapped BM25", f"{found / len(asked):.1%}", f"{plain_found / len(asked):.1%}", found / max(1, plain_found), "near uncapped"
    )
    common = [store_seconds(store, "the value of an object and a function in the class") for _ in range(5)]
    row("recall by everyday words only, median", milliseconds(common), "", None, "<= 20 ms")
    store.close()


def store_seconds(store: TraceStore, question: str) -> float:
    start = time.perf_counter()
    store.search(question, identity="bench", limit=10)
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
