"""How much of what is worth keeping does the floor find, and how much of what is not does it let through?

    python benchmarks/salience.py [FACTS.jsonl ...]

Each FACTS file holds one JSON object a line with ``agent_args.extra.facts``: declarative facts, told here by a user
among chatter, requests and questions. Without files only the cases written for this benchmark are measured.
"""

from __future__ import annotations

import json
import random
import sys
import time
from pathlib import Path

from memflush_jupyter.memory.salience import HIGH_CONFIDENCE, SourceText, extract

CASES = Path(__file__).with_name("salience_cases.json")
GOAL_RECALL = 0.90


def main(paths: list[str]) -> None:
    cases = json.loads(CASES.read_text(encoding="utf-8"))
    print(f"{'what':44} {'n':>5} {'found':>7} {'high':>7}")
    for side in ("keep", "drop"):
        for origin, texts in cases[side].items():
            any_found = sum(bool(extract([SourceText(text, origin, "t", 1)])) for text in texts)
            high = sum(any(c.confidence >= HIGH_CONFIDENCE for c in extract([SourceText(text, origin, "t", 1)])) for text in texts)
            _row(f"{side}, told by the {origin}", len(texts), any_found, high)
    for path in paths:
        _facts(path, cases["drop"]["user"])
    _speed(cases)


def _row(label: str, total: int, found: int, high: int) -> None:
    print(f"{label:44} {total:5} {found / total:7.1%} {high / total:7.1%}")


def _facts(path: str, noise: list[str]) -> None:
    """Tell each row's facts among as much noise, one conversation a row, and count what comes back."""
    rng = random.Random(7)
    rows = [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines() if line.strip()]
    sets = {tuple(row["agent_args"]["extra"]["facts"]) for row in rows}
    told = found = high = extra = 0
    for facts in sorted(sets):
        messages = [*facts, *rng.choices(noise, k=len(facts))]
        rng.shuffle(messages)
        candidates = extract([SourceText(text, "user", "t", index) for index, text in enumerate(messages)])
        told += len(facts)
        found += sum(any(fact in candidate.text for candidate in candidates) for fact in facts)
        high += sum(any(fact in candidate.text for candidate in candidates if candidate.confidence >= HIGH_CONFIDENCE) for fact in facts)
        extra += sum(not any(fact in candidate.text for fact in facts) for candidate in candidates if candidate.confidence >= HIGH_CONFIDENCE)
    _row(f"facts of {Path(path).name}", told, found, high)
    print(
        f"{'':44} goal recall {GOAL_RECALL:.0%}: {'met' if high / told >= GOAL_RECALL else 'NOT met'}; precision of high candidates {high / (high + extra):.1%}"
    )


def _speed(cases: dict[str, dict[str, list[str]]]) -> None:
    """Measure a conversation of about 20,000 tokens: prose of both sides, and printed tables."""
    rng = random.Random(3)
    user = "\n".join(rng.choices(cases["keep"]["user"] + cases["drop"]["user"], k=200))
    agent = "\n".join(rng.choices(cases["keep"]["agent"] + cases["drop"]["agent"], k=200))
    tool = "\n".join(rng.choices(cases["drop"]["tool"], k=100)) + "\n" + "0  Adelie  39.1  18.7  181.0  3750.0\n" * 1200
    items = [SourceText(user, "user", "t", 1), SourceText(agent, "agent", "t", 2), SourceText(tool, "tool", "t", 3)]
    extract(items)
    best = min(_seconds(items) for _ in range(5))
    print(f"{sum(len(item.text) for item in items):,} characters in {best * 1000:.0f} ms (goal 50 ms for 20,000 tokens)")


def _seconds(items: list[SourceText]) -> float:
    start = time.perf_counter()
    extract(items)
    return time.perf_counter() - start


if __name__ == "__main__":
    main(sys.argv[1:])
