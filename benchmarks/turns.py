"""What a turn costs on the client's side: wall time less the server's own, against a bare loop over the SDK.

    python -m benchmarks.turns [--repeats 2] [--turns 310] [--long 3050]

One growing conversation, two requests a turn (a tool call, then the answer), a local server without latency in its own process. A turn of
the product and one of the bare loop take turns, so that noise meets both. The bare loop is what a person would write around
``AsyncAnthropic.messages.stream``: same system prompt, tools, prompts and tool results; nothing stored, counted, redacted, recalled.
Goals: at turns 20 and 300 <= 1.3 x bare + 15 ms; with the context held by compaction in a window of 16k, turn 3,000 <= 1.2 x turn 300 of a younger
conversation beside it.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.fake_server import MODEL, Server
from memflush_jupyter.clock import SystemClock
from memflush_jupyter.testing.agents import AgentHarness, ScriptedTool

AROUND = 10
"""Turns on each side of the one that is named: one turn alone says little."""
AROUND_LONG = 50
"""In a compacted conversation: enough to take in a whole cycle."""
COLUMNS = ["bill length", "flipper length", "body mass", "island", "species", "total charge", "visit date", "revenue", "churn rate", "age"]
PLACES = ["Torgersen", "Biscoe", "Dream", "Aachen", "Lyon", "Porto", "Gdansk", "Graz", "Malmo", "Ghent", "Turin"]


def prompt(number: int) -> str:
    column, place, other = COLUMNS[number % len(COLUMNS)], PLACES[number % len(PLACES)], PLACES[(number * 7 + 3) % len(PLACES)]
    return f"Describe the {column} of group {number} in {place}, and say whether it differs from what we found for {other} before. Keep it short."


def result(number: int, lines: int) -> str:
    return "\n".join(
        f"{PLACES[(number + line) % len(PLACES)]:12} {number * 17 % 97 + line / 8:9.3f} {128 - line:5d} {line * 1.7:8.4f}" for line in range(lines)
    )


class Ours:
    """The product's loop, with everything on that is on by default."""

    def __init__(self, folder: Path, url: str, lines: int) -> None:
        self.number = 0
        tool = ScriptedTool("run_python", lambda _given: result(self.number, lines))
        self.harness = AgentHarness(folder, server=_At(url), tools=[tool], clock=SystemClock())  # type: ignore[arg-type]

    async def turn(self, number: int) -> None:
        self.number = number
        self.harness.events.clear()
        await self.harness.say(prompt(number))
        assert self.harness.events[-1].stop == "end", self.harness.events[-1]


class _At:
    """A server that already runs elsewhere."""

    def __init__(self, url: str) -> None:
        self.url = url


class Bare:
    """The least that holds the same conversation."""

    def __init__(self, url: str, frame: Any, lines: int) -> None:
        import anthropic

        self.client = anthropic.AsyncAnthropic(api_key="fake", base_url=url, max_retries=0)
        self.frame = frame
        self.lines = lines
        self.messages: list[Any] = []

    async def turn(self, number: int) -> None:
        self.messages.append({"role": "user", "content": [{"type": "text", "text": prompt(number)}]})
        while True:
            async with self.client.messages.stream(
                model=MODEL, max_tokens=2000, system=self.frame.system, tools=self.frame.tools, messages=self.messages
            ) as stream:
                async for _text in stream.text_stream:
                    pass
                message = await stream.get_final_message()
            self.messages.append({"role": "assistant", "content": [block.to_dict() for block in message.content]})
            calls = [block for block in message.content if block.type == "tool_use"]
            if not calls:
                return
            answers = [{"type": "tool_result", "tool_use_id": call.id, "content": result(number, self.lines)} for call in calls]
            self.messages.append({"role": "user", "content": answers})


class Stopwatch:
    """Client seconds of a turn: wall less what the server spent; and the client's processor seconds."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._before = server.spent()

    async def time(self, turn: Callable[[int], Awaitable[None]], number: int) -> tuple[float, float]:
        processor, start = time.process_time(), time.perf_counter()
        await turn(number)
        wall, processor = time.perf_counter() - start, time.process_time() - processor
        spent = self._server.spent()
        client, self._before = wall - (spent - self._before), spent
        return client, processor


Times = list[tuple[float, float]]


async def growing(turns: int) -> tuple[Times, Times]:
    """Both loops through one growing conversation each, turn by turn."""
    with tempfile.TemporaryDirectory() as folder, Server(1_000_000) as server:
        ours = Ours(Path(folder), server.url, lines=12)
        async with ours.harness:
            watch, mine, theirs = Stopwatch(server), [], []
            mine.append(await watch.time(ours.turn, 0))
            bare = Bare(server.url, (await ours.harness.runner.room(lambda _event: None)).frame, lines=12)
            theirs.append(await watch.time(bare.turn, 0))
            for number in range(1, turns):
                mine.append(await watch.time(ours.turn, number))
                theirs.append(await watch.time(bare.turn, number))
            await bare.client.close()
    return mine, theirs


async def held(early: int, late: int) -> tuple[Times, Times, int]:
    """Two conversations with compaction in a small window, one ``late`` turns old and one ``early``, turn by turn beside each other."""
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second, Server(16_000) as server:
        young, old = Ours(Path(first), server.url, lines=4), Ours(Path(second), server.url, lines=4)
        async with young.harness, old.harness:
            for conversation, age in ((old, late), (young, early)):
                for number in range(age - AROUND_LONG):
                    await conversation.turn(number)
            watch, times = Stopwatch(server), ([], [])
            for step in range(-AROUND_LONG, AROUND_LONG):
                times[0].append(await watch.time(young.turn, early + step))
                times[1].append(await watch.time(old.turn, late + step))
            compactions = old.harness.runner.conversation.trace.compaction_count
    return *times, compactions


def around(times: Times, turn: int, width: int, which: int = 0) -> list[float]:
    return [pair[which] for pair in times[max(1, turn - width) : turn + width]]


def show_growing(runs: list[tuple[Times, Times]], turns: list[int]) -> None:
    report.head(f"Client time a turn, {len(runs)} conversations, median of {2 * AROUND} turns each", "bare loop over the SDK")
    for turn in turns:
        for which, name in ((0, "wall less server"), (1, "processor time")):
            mine = [value for run, _ in runs for value in around(run, turn, AROUND, which)]
            theirs = [value for _, run in runs for value in around(run, turn, AROUND, which)]
            ours, bare = report.spread(mine, 1e3), report.spread(theirs, 1e3)
            limit = 1.3 * bare.middle + 15
            goal = f"<= 1.3 x + 15 ms = {limit:.1f} ms" if which == 0 else ""
            met = ours.middle <= limit if which == 0 else None
            report.row(f"turn {turn}, {name}", ours.show("ms"), bare.show("ms"), ours.middle / bare.middle, goal, met=met)


def show_held(young: Times, old: Times, compactions: int, early: int, late: int) -> None:
    report.head(f"Context held by compaction: window 16,000, {late:,} turns, {compactions} compactions", f"turn {early}, beside it")
    for which, name in ((0, "wall less server"), (1, "processor time")):
        last, first = (report.spread([pair[which] for pair in times], 1e3) for times in (old, young))
        ratio = last.middle / first.middle
        goal, met = ("<= 1.2 x", ratio <= 1.2) if which == 0 else ("", None)
        report.row(f"turn {late:,}, {name}", last.show("ms"), first.show("ms"), ratio, goal, met=met)
    last_mean, first_mean = (1e3 * statistics.mean(pair[0] for pair in times) for times in (old, young))
    report.row("mean, with its share of flushes and compactions", f"{last_mean:.1f} ms", f"{first_mean:.1f} ms", last_mean / first_mean)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--turns", type=int, default=300)
    parser.add_argument("--long", type=int, default=3000)
    options = parser.parse_args()
    gc.freeze()
    runs = [asyncio.run(growing(options.turns + AROUND)) for _ in range(options.repeats)]
    if runs:
        show_growing(runs, [20, options.turns])
    if options.long:
        early = min(300, options.long // 2)
        show_held(*asyncio.run(held(early, options.long)), early, options.long)


if __name__ == "__main__":
    main()
