"""What a commit costs: one message to the trace store, against bare sqlite3 with the same settings.

    python -m benchmarks.trace_store [--messages 2000] [--characters 500 1000 2000]

The store also cleans the text, checks the tree, moves the head and indexes the text with identifiers and CJK split; the floors are one inserted row
a transaction, without and with a plain full-text row. The three take turns, message by message.
Goal: median <= 1 ms. (The same in a store of 100,000 messages, and resume: ``benchmarks/recall.py``.)
"""

from __future__ import annotations

import argparse
import json
import pydoc_data.topics
import random
import re
import sqlite3
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks import report
from memflush_jupyter.clock import SystemClock
from memflush_jupyter.memory.redaction import Redactor
from memflush_jupyter.trace.store import TraceStore

COLUMNS = ["bill_length_mm", "flipper_length_mm", "body_mass_g", "island", "species", "totalCharge", "patientId", "visit_date", "q3_revenue", "churnRate"]


JUDGED_CHARACTERS = 1000
"""Half of the quickstart's messages are below 520 characters and three quarters below 940; longer ones are shown, not judged."""


def make_texts(count: int, characters: int, rng: random.Random) -> list[str]:
    """Texts of about ``characters``: English prose that every Python ships, with a finding about a column in each."""
    prose = [piece for piece in re.split(r"(?<=[.:])\s+", re.sub(r"\s+", " ", " ".join(pydoc_data.topics.topics.values()))) if 30 < len(piece) < 300]
    texts = []
    for _ in range(count):
        parts = [f"We found that {rng.choice(COLUMNS)} is {rng.randint(10, 99)}.{rng.randint(0, 9)} in group {rng.randint(1, 400)}."]
        size = len(parts[0])
        while size < characters:
            parts.append(rng.choice(prose))
            size += len(parts[-1]) + 1
        rng.shuffle(parts)
        texts.append(" ".join(parts))
    return texts


class Floor:
    """Bare sqlite3, one transaction a message."""

    def __init__(self, path: Path, *, full_text: bool) -> None:
        self._raw = sqlite3.connect(path, isolation_level=None)
        self._raw.execute("PRAGMA journal_mode = WAL")
        self._raw.execute("PRAGMA synchronous = NORMAL")
        self._raw.execute("CREATE TABLE messages (id INTEGER PRIMARY KEY, sequence INTEGER, parent INTEGER, role TEXT, content TEXT)")
        self._raw.execute("CREATE VIRTUAL TABLE search USING fts5(body, content='', tokenize='porter unicode61')")
        self._full_text = full_text
        self._number = 0

    def append(self, text: str) -> None:
        self._number += 1
        self._raw.execute("BEGIN IMMEDIATE")
        row = (self._number, self._number - 1, "user", json.dumps([{"type": "text", "text": text}]))
        self._raw.execute("INSERT INTO messages (sequence, parent, role, content) VALUES (?, ?, ?, ?)", row)
        if self._full_text:
            self._raw.execute("INSERT INTO search (rowid, body) VALUES (?, ?)", (self._number, text))
        self._raw.execute("COMMIT")

    def close(self) -> None:
        self._raw.close()


def timed(work: Callable[[str], object], text: str, into: tuple[list[float], list[float]]) -> None:
    processor, start = time.thread_time(), time.perf_counter()
    work(text)
    into[0].append(time.perf_counter() - start)
    into[1].append(time.thread_time() - processor)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=2000)
    parser.add_argument("--characters", type=int, nargs="+", default=[500, 1000, 2000])
    options = parser.parse_args()
    for characters in options.characters:
        measure(options.messages, characters)


def measure(messages: int, characters: int) -> None:
    """Print the table of one size."""
    texts = make_texts(messages, characters, random.Random(7))
    names = ("plain", "redacted", "row", "indexed")
    times: dict[str, tuple[list[float], list[float]]] = {name: ([], []) for name in names}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        stores = [TraceStore.open(folder / "plain.sqlite3", clock=SystemClock())]
        stores.append(TraceStore.open(folder / "redacted.sqlite3", clock=SystemClock(), redact=Redactor({})))
        traces = [store.create_trace(identity="bench").id for store in stores]
        floors = [Floor(folder / "row.sqlite3", full_text=False), Floor(folder / "indexed.sqlite3", full_text=True)]

        def append(at: int) -> Callable[[str], object]:
            return lambda text: stores[at].append(traces[at], role="user", kind="prompt", content=[{"type": "text", "text": text}])

        works = dict(zip(names, [append(0), append(1), floors[0].append, floors[1].append], strict=True))
        for text in texts:
            for kind, work in works.items():
                timed(work, text, times[kind])
        for store in (*stores, *floors):
            store.close()
    report.head(f"Commit of a message of {characters:,} characters, {messages:,} messages, SQLite {sqlite3.sqlite_version}", "bare sqlite3")
    judged = characters <= JUDGED_CHARACTERS
    for which, kind in ((0, "wall"), (1, "processor")):
        mine, redacted, alone, indexed = (report.spread(times[name][which], 1e3) for name in names)
        met = mine.middle <= 1 if which == 0 and judged else None
        goal = "<= 1 ms" if which == 0 and judged else ""
        report.row(f"commit, {kind} time / row and full text", mine.show("ms", 2), indexed.show("ms", 2), mine.middle / indexed.middle, goal, met=met)
        report.row(f"commit, {kind} time / row alone", mine.show("ms", 2), alone.show("ms", 2), mine.middle / alone.middle)
        report.row(f"commit with redaction, {kind} time / row and full text", redacted.show("ms", 2), indexed.show("ms", 2), redacted.middle / indexed.middle)
    late, floor = (f"{1e3 * report.percentile(times[name][0], 0.99):.2f} ms" for name in ("plain", "indexed"))
    report.row("commit, 99th percentile", late, floor)


if __name__ == "__main__":
    main()
