"""Recall in figures: does the sentence that answers come back within 600 tokens, and how fast, over 100,000 messages?

    python -m benchmarks.recall [--messages 100000] [--questions 400] [--tokens 600]

The facts of 74 sets are told once each, among prose, in one trace; then 400 questions are asked. *Evidence recall* is
the share of questions whose supporting fact stands in what recall puts before the model. Plain BM25 without any cap
(the whole question, whole messages, best first, cut at the same number of tokens) runs over the same rows in the same
run. Every other set is ``told``: a fact is a message of its own. The rest is ``buried``: four facts in a message of a
dozen sentences.
Goals: at least the evidence recall of uncapped BM25; median <= 20 ms over 100,000 messages.
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

from memflush_jupyter.clock import FixedClock
from memflush_jupyter.context import recall
from memflush_jupyter.context.terms import query_terms
from memflush_jupyter.context.tokens import TokenCounter
from memflush_jupyter.trace.store import TraceStore

DATA = Path(__file__).parent / "data" / "letta_core_memory_read.json"
IDENTITY = "benchmark"
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


def evidence(question: str, answer: str, facts: list[str]) -> str:
    """The fact that supports the answer: of those that hold it, the one nearest to the question."""
    asked = {term.stem for term in query_terms(question)}
    holding = [fact for fact in facts if answer.lower() in fact.lower()] or facts
    return max(holding, key=lambda fact: len(asked & {term.stem for term in query_terms(fact)}))


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


def fill(folder: Path, texts: list[str]) -> tuple[TraceStore, sqlite3.Connection]:
    """The trace store, and beside it a bare full-text table with the same texts."""
    store = TraceStore.open(folder / "store.sqlite3", clock=FixedClock("2026-01-15T09:00"))
    trace = store.create_trace(identity=IDENTITY).id
    plain = sqlite3.connect(folder / "plain.sqlite3", isolation_level=None)
    plain.execute("CREATE VIRTUAL TABLE search USING fts5(body, tokenize='porter unicode61')")
    plain.execute("BEGIN")
    for number, text in enumerate(texts):
        role, kind = (("user", "prompt"), ("assistant", "reply"))[number % 2]
        store.append(trace, role=role, kind=kind, content=[{"type": "text", "text": text}])
        plain.execute("INSERT INTO search (body) VALUES (?)", (text,))
    plain.execute("COMMIT")
    return store, plain


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


def measure(questions: list[tuple[str, str]], ask: Callable[[str], str]) -> tuple[float, list[float], list[str]]:
    """Evidence recall, seconds per question, and the questions whose evidence did not come."""
    missed, seconds = [], []
    for question, fact in questions:
        start = time.perf_counter()
        answer = ask(question)
        seconds.append(time.perf_counter() - start)
        if " ".join(fact.split()) not in " ".join(answer.split()):
            missed.append(question)
    return 1 - len(missed) / len(questions), seconds, missed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--questions", type=int, default=400)
    parser.add_argument("--tokens", type=int, default=600)
    parser.add_argument("--show", type=int, default=0, help="print so many of the questions that were missed")
    options = parser.parse_args()
    rng, data = random.Random(7), json.loads(DATA.read_text(encoding="utf-8"))
    count = TokenCounter("benchmark", factor=1.0).text
    told, buried = ([fact for group in data["facts"][start::2] for fact in group] for start in (0, 1))
    with tempfile.TemporaryDirectory() as folder:
        store, plain = fill(Path(folder), tell(told, buried, prose(), options.messages, rng))

        def ours(question: str) -> str:
            return recall.render(recall.search(store, question, identity=IDENTITY, budget=options.tokens, count=count))

        def theirs(question: str) -> str:
            return uncapped(plain, question, options.tokens, count)

        ours(data["questions"][0]["question"])  # the first loads the token encoding
        print(f"{options.messages:,} messages, {options.tokens} tokens")
        print(f"{'facts':8} {'questions':>9} {'evidence':>9} {'BM25':>8} {'ms median':>10} {'ms p95':>8} {'BM25 ms':>8} {'tokens':>7}")
        for name, parity in (("told", 0), ("buried", 1)):
            rows = [row for row in data["questions"][: options.questions] if row["facts"] % 2 == parity]
            questions = [(row["question"], evidence(row["question"], row["answer"], data["facts"][row["facts"]])) for row in rows]
            score, seconds, missed = measure(questions, ours)
            baseline, plain_seconds, _ = measure(questions, theirs)
            size = statistics.mean(count(ours(question)) for question, _ in questions[:50])
            p95 = sorted(seconds)[int(len(seconds) * 0.95)]
            times = f"{1000 * statistics.median(seconds):10.1f} {1000 * p95:8.1f} {1000 * statistics.median(plain_seconds):8.1f}"
            print(f"{name:8} {len(questions):9} {score:9.1%} {baseline:8.1%} {times} {size:7.0f}")
            for question in missed[: options.show]:
                print("   missed:", question)
        print(f"recalled although nothing was asked for: {sum(1 for prompt in UNRELATED if ours(prompt))} of {len(UNRELATED)} prompts")
        store.close()
        plain.close()


if __name__ == "__main__":
    main()
