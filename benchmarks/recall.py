"""Recall in figures: does the sentence that answers come back within 600 tokens, and how fast, over 100,000 messages?

    python -m benchmarks.recall [FACTS.jsonl ...] [--messages 100000] [--questions 400] [--tokens 600] [--show 0]

Sets of facts (invented ones, or those of the files: see ``benchmarks/facts.py``) are told once each, among prose, in one trace; then
questions are asked in other words. *Evidence recall* is the share of questions whose supporting fact stands in what recall puts before the model. Plain
BM25 without any cap (the whole question, whole messages, best first, cut at the same number of tokens) runs over the same rows in the same
run. Every other set is ``told``: a fact is a message of its own. The rest is ``buried``: four facts in a message of a
dozen sentences. The conversation was compacted every 500 messages; it is resumed from its file as after a restart of the kernel, against bare sqlite3 that
opens the file and reads the same rows.
Goals: at least the evidence recall of uncapped BM25; recall <= 20 ms; a commit <= 1 ms also in a store of this size; resume <= 50 ms.
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
from collections.abc import Callable
from pathlib import Path

from benchmarks import facts, report
from memflush_jupyter.clock import FixedClock
from memflush_jupyter.context import recall
from memflush_jupyter.context.tokens import TokenCounter
from memflush_jupyter.trace.store import TraceStore

SETS = 74
COMPACT_EVERY = 500
RESUMES = 15
IDENTITY = "benchmark"
Times = tuple[list[float], list[float]]
"""Seconds of the wall, and of the processor."""

UNRELATED = [
    "Plot a histogram of the last column, with twenty bins.",
    "thanks, that looks good",
    "Now fit a linear regression on it and print the residuals.",
    "Which columns of df hold missing values?",
    "import numpy as np\nnp.arange(3)",
    "ok, go on",
    "Sort the frame by date, newest first, and show ten rows.",
    "谢谢，继续吧",
    "Rename the columns to lower case and save it as parquet.",
    "Why is the second chart empty?",
]


def prose() -> list[str]:
    """Sentences of the English prose that every Python ships."""
    text = re.sub(r"\s+", " ", " ".join(pydoc_data.topics.topics.values()))
    return [piece for piece in re.split(r"(?<=[.:])\s+", text) if 30 < len(piece) < 250]


def tell(told: list[str], buried: list[str], chatter: list[str], total: int, rng: random.Random) -> list[str]:
    """The messages of one long conversation: each fact once, prose around it."""
    texts = list(told)
    for start in range(0, len(buried), 4):
        sentences = buried[start : start + 4] + rng.sample(chatter, 8)
        rng.shuffle(sentences)
        texts.append(" ".join(sentences))
    texts += [" ".join(rng.sample(chatter, rng.randint(1, 6))) for _ in range(total - len(texts))]
    rng.shuffle(texts)
    return texts


def fill(folder: Path, texts: list[str]) -> tuple[TraceStore, str, list[float]]:
    """The trace store, beside it a bare full-text table with the same texts; the trace, and the seconds of each append."""
    store = TraceStore.open(folder / "store.sqlite3", clock=FixedClock("2026-01-15T09:00"))
    trace = store.create_trace(identity=IDENTITY).id
    plain = sqlite3.connect(folder / "plain.sqlite3", isolation_level=None)
    plain.execute("CREATE VIRTUAL TABLE search USING fts5(body, tokenize='porter unicode61')")
    plain.execute("BEGIN")
    seconds = []
    for number, text in enumerate(texts):
        role, kind = (("user", "prompt"), ("assistant", "reply"))[number % 2]
        start = time.perf_counter()
        message = store.append(trace, role=role, kind=kind, content=[{"type": "text", "text": text}])
        seconds.append(time.perf_counter() - start)
        plain.execute("INSERT INTO search (body) VALUES (?)", (text,))
        if number % COMPACT_EVERY == COMPACT_EVERY - 100:
            store.record_compaction(trace, content=[{"type": "text", "text": "summary"}], tokens=5, meta={"first_kept": message.sequence - 50})
    plain.execute("COMMIT")
    plain.close()
    return store, trace, seconds


def resume(path: Path, trace: str) -> int:
    """As after a restart: open the file, read the trace and what of it stands in the context."""
    store = TraceStore.open(path, clock=FixedClock("2026-01-15T09:00"))
    store.trace(trace)
    messages = store.path(trace)
    store.close()
    return messages[1].sequence


def resume_bare(path: Path, trace: str, first: int) -> None:
    """The same rows by bare sqlite3."""
    raw = sqlite3.connect(path)
    for row in raw.execute("SELECT * FROM messages WHERE trace = ? AND sequence >= ? ORDER BY sequence", (trace, first)).fetchall():
        json.loads(row[-1])
    raw.close()


def uncapped(plain: sqlite3.Connection, question: str, budget: int, count: Callable[[str], int]) -> str:
    """What whole messages, best BM25 first, say within the budget; the last one is cut where the budget ends."""
    words = {word.lower() for word in re.findall(r"\w+", question)}
    match = " OR ".join(f'"{word}"' for word in words)
    found: list[str] = []
    for (text,) in plain.execute("SELECT body FROM search WHERE search MATCH ? ORDER BY rank LIMIT 60", (match,)):
        tokens = count(text) + 16  # the same label that a recalled passage carries
        if tokens > budget:
            found.append(text[: budget * 4])
            break
        found.append(text)
        budget -= tokens
    return "\n".join(found)


def measure(questions: list[tuple[str, str]], ask: Callable[[str], str]) -> tuple[float, Times, list[str]]:
    """Evidence recall, seconds per question by the wall and by the processor, and the questions whose evidence did not come."""
    missed: list[str] = []
    times: Times = ([], [])
    for question, fact in questions:
        processor, start = time.thread_time(), time.perf_counter()
        answer = ask(question)
        times[0].append(time.perf_counter() - start)
        times[1].append(time.thread_time() - processor)
        if " ".join(fact.split()) not in " ".join(answer.split()):
            missed.append(question)
    return 1 - len(missed) / len(questions), times, missed


def repeat(times: int, work: Callable[[], object]) -> Times:
    """Seconds of the wall and of the processor for each repeat."""
    walls, processors = [], []
    for _ in range(times):
        processor, start = time.thread_time(), time.perf_counter()
        work()
        walls.append(time.perf_counter() - start)
        processors.append(time.thread_time() - processor)
    return walls, processors


def show_times(name: str, ours: Times, peer: Times, goal: str, limit: float) -> None:
    for which, kind in ((0, "wall"), (1, "processor")):
        mine, bare = report.spread(ours[which], 1e3), report.spread(peer[which], 1e3)
        met = mine.middle <= limit if which == 0 else None
        report.row(f"{name}, {kind} time", mine.show("ms"), bare.show("ms"), mine.middle / bare.middle, goal if which == 0 else "", met=met)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, metavar="FACTS.jsonl")
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--questions", type=int, default=400)
    parser.add_argument("--tokens", type=int, default=600)
    parser.add_argument("--show", type=int, default=0, help="print so many of the questions that were missed")
    options = parser.parse_args()
    sets = facts.read(options.files) if options.files else facts.invented(SETS)
    count = TokenCounter("benchmark", factor=1.0).text
    told, buried = ([fact for one in sets[start::2] for fact in one.facts] for start in (0, 1))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.sqlite3"
        store, trace, commits = fill(Path(folder), tell(told, buried, prose(), options.messages, random.Random(7)))
        plain = sqlite3.connect(Path(folder) / "plain.sqlite3")

        def ours(question: str) -> str:
            return recall.render(recall.search(store, question, identity=IDENTITY, budget=options.tokens, count=count))

        def theirs(question: str) -> str:
            return uncapped(plain, question, options.tokens, count)

        ours(sets[0].questions[0][0])  # the first loads the token encoding
        report.head(f"A conversation of {options.messages:,} messages", "bare sqlite3")
        last = report.spread(commits[-2000:], 1e3)
        report.row("commit, the last 2,000 messages", last.show("ms", 2), goal="<= 1 ms", met=last.middle <= 1)
        store.close()
        first = resume(path, trace)
        show_times("resume to ready", repeat(RESUMES, lambda: resume(path, trace)), repeat(RESUMES, lambda: resume_bare(path, trace, first)), "<= 50 ms", 50)
        store = TraceStore.open(path, clock=FixedClock("2026-01-15T09:00"))
        report.head(f"Recall over these {options.messages:,} messages within {options.tokens} tokens", "uncapped BM25")
        for name, chosen in (("told", sets[0::2]), ("buried", sets[1::2])):
            questions = [question for one in chosen for question in one.questions]
            questions = random.Random(7).sample(questions, min(len(questions), options.questions // 2))
            score, times, missed = measure(questions, ours)
            baseline, plain_times, _ = measure(questions, theirs)
            ratio = score / max(baseline, 1e-9)
            report.row(f"evidence, {name} ({len(questions)} questions)", f"{score:.1%}", f"{baseline:.1%}", ratio, ">= uncapped BM25", met=score >= baseline)
            show_times(name, times, plain_times, "<= 20 ms", 20)
            late, plain_late = (f"{1e3 * report.percentile(found[0], 0.95):.1f} ms" for found in (times, plain_times))
            report.row(f"{name}, wall time, 95th percentile", late, plain_late)
            report.row(f"{name}, tokens put before the model", f"{statistics.mean(count(ours(question)) for question, _ in questions[:50]):.0f}")
            for question in missed[: options.show]:
                print("   missed:", question)
        unasked = sum(1 for prompt in UNRELATED if ours(prompt))
        report.row("prompts that ask for nothing, answered all the same", f"{unasked} of {len(UNRELATED)}")
        store.close()
        plain.close()


if __name__ == "__main__":
    main()
