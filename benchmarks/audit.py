"""How long does the audit of a compaction take, and does it report what is lost and nothing else?

    python -m benchmarks.audit [--repeats 15] [--seed 3]

About 20,000 tokens leave the context: requests, answers, code and what it printed. They are looked for in a summary of 700 tokens, in memory files
of 6,000 and in a tail of 5,000. Then items are planted in messages that leave, one a message, each kind in several notations: *reported* is the share
of those that stand nowhere else and are listed, *held* the share of those that stand in summary, memory or tail in another notation and are not.
Goals: <= 50 ms; 100 % reported; 100 % held.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from pathlib import Path

from benchmarks import report
from memflush_jupyter.context.audit import audit
from memflush_jupyter.context.tokens import TokenCounter
from memflush_jupyter.trace.models import Block, Message

CASES = Path(__file__).with_name("salience_cases.json")
TOKENS = 20_000
PLANTED = [
    ("The dose was 10 mg in the first arm.", "100 mg", "a dose of 0.01 g"),
    ("Mean body mass is 4,201.75 g over all birds.", "4,301.75 g", "mean body mass about 4.2 kg"),
    ("The test set holds 87.3 % of the variance.", "86.1 %", "explains 0.873 of the variance"),
    ("The board meets on January 15th, 2026.", "2026-01-16", "board: 2026-01-15"),
    ("The report is due on 3 March.", "3 May", "due 2026-03-03"),
    ("Die Sitzung ist am 7. Oktober 2025.", "8. Oktober 2025", "2025-10-07"),
    ("会议定在2026年1月20日。", "2026年1月21日", "会议定于1月20日"),
    ("Ilse Marquardt checks the figures.", "Tom Marquardt", "Marquardt checks the figures"),
    ("The data came from the World Wetland Observatory.", "the observatory", "data: WWO"),
    ("欧阳明教授负责校对。", "别人校对", "由欧阳明校对"),
    ("The raw data lie in archive/2024/buoys_7.parquet.", "archive/2023/buoys_7.parquet", "buoys_7.parquet holds the raw data"),
    ("The column `salinity_psu` was made from conductivity.", "`salinity_ppt`", "salinity (psu)"),
    ("We agreed to leave out the Zadar buoys after the storm.", "the buoys were looked at", "Decision: Zadar buoys are left out after the storm"),
    ("Never overwrite the calibration files.", "calibration files were read", "Do not overwrite calibration files"),
    ("I prefer log axes for every turbidity chart.", "turbidity was plotted", "Preference: log axes for turbidity charts"),
    ("所有图表必须使用对数坐标轴。", "图表已经画好", "图表一律使用对数坐标轴"),
]
"""What is said, what else may stand there without meaning it, and the same in another notation."""


def message(sequence: int, kind: str, *blocks: Block) -> Message:
    return Message("bench", sequence, sequence - 1 or None, "assistant" if kind == "reply" else "user", kind, list(blocks))  # type: ignore[arg-type]


def text(body: str) -> Block:
    return {"type": "text", "text": body}


def conversation(rng: random.Random, tokens: int) -> list[Message]:
    """Rounds of a request, code, what it printed, and an answer."""
    cases = json.loads(CASES.read_text(encoding="utf-8"))
    asked, answered, printed = ([*cases["keep"].get(who, []), *cases["drop"].get(who, [])] for who in ("user", "agent", "tool"))
    count = TokenCounter("benchmark", factor=1.0).text
    made: list[Message] = []
    size = 0
    while size < tokens:
        at = len(made) + 1
        rows = "\n".join(f"{row}  Adelie  {rng.random() * 50:.1f}  {rng.randint(170, 230)}.0  {rng.randint(2700, 6300)}.0" for row in range(12))
        code = f"df_{at} = pd.read_csv('part_{at}.csv')\ndf_{at}['ratio_{at}'] = df_{at}['length_mm'] / df_{at}['depth_mm']\n"
        code += f"print(df_{at}.groupby('species').mean())"
        output = "\n".join(rng.choices(printed, k=2)) + f"\n   species  length  depth  mass\n{rows}"
        made += [
            message(at, "prompt", text(" ".join(rng.choices(asked, k=3)))),
            message(at + 1, "reply", text(rng.choice(answered)), {"type": "tool_use", "id": f"c{at}", "name": "run_python", "input": {"code": code}}),
            message(at + 2, "results", {"type": "tool_result", "tool_use_id": f"c{at}", "content": [text(output)]}),
            message(at + 3, "reply", text(" ".join(rng.choices(answered, k=5)))),
        ]
        size += sum(count(json.dumps(one.content, ensure_ascii=False)) for one in made[-4:])
    return made


def lines(rng: random.Random, tokens: int) -> str:
    cases = json.loads(CASES.read_text(encoding="utf-8"))
    count = TokenCounter("benchmark", factor=1.0).text
    found: list[str] = []
    while sum(map(count, found)) < tokens:
        found.append(f"- {rng.choice(cases['keep']['user'])}")
    return "\n".join(found)


def planted(rng: random.Random) -> tuple[float, float, list[str]]:
    """The shares reported and held, and what went wrong."""
    talk = conversation(rng, 1500)
    wrong: list[str] = []
    reported = held = 0
    for said, decoy, same in PLANTED:
        body = [*talk, message(len(talk) + 1, "prompt", text(said))]
        alone = [item for item in audit(body, summary=decoy).missing if item.sequence == len(talk) + 1]
        reported += bool(alone)
        wrong += [] if alone else [f"not reported: {said}"]
        for places in ({"summary": same}, {"summary": "", "memory": f"- {same}"}, {"summary": "", "tail": [message(len(talk) + 2, "reply", text(same))]}):
            left = [item.text for item in audit(body, **places).missing if item.sequence == len(talk) + 1]  # type: ignore[arg-type]
            held += not left
            wrong += [f"{said} although {same}: {left}"] if left else []
    return reported / len(PLANTED), held / len(PLANTED) / 3, wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--seed", type=int, default=3)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    removed, tail = conversation(rng, TOKENS), conversation(rng, 5_000)
    summary, memory = lines(rng, 700), lines(rng, 6_000)
    walls, processors = [], []
    for _ in range(options.repeats + 1):
        processor, start = time.thread_time(), time.perf_counter()
        found = audit(removed, summary=summary, memory=memory, tail=tail)
        walls.append(time.perf_counter() - start)
        processors.append(time.thread_time() - processor)
    report.head(f"Audit of {TOKENS:,} tokens that leave the context ({found.checked} items, {len(found.missing)} missing)", "")
    wall, processor_time = report.spread(walls[1:], 1e3), report.spread(processors[1:], 1e3)
    report.row("wall time", wall.show("ms"), goal="<= 50 ms", met=wall.middle <= 50)
    report.row("processor time", processor_time.show("ms"))
    report.row("the first in a process, wall time", f"{walls[0] * 1e3:.1f} ms")
    reported, held, wrong = planted(random.Random(options.seed))
    report.row(f"planted and nowhere else ({len(PLANTED)}): reported", f"{reported:.1%}", goal="100 %", met=reported == 1)
    report.row(f"planted and said in another notation ({3 * len(PLANTED)}): held", f"{held:.1%}", goal="100 %", met=held == 1)
    for line in wrong:
        print("   ", line)


if __name__ == "__main__":
    main()
