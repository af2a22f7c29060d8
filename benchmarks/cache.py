"""What share of the context that a provider's prompt cache can serve is served by it, by the books of the strict server.

    python -m benchmarks.cache [--turns 100]

100 turns of two requests each; then a flush is asked for, on the same prefix. What can be cached in a request: all that the request before it
held, and in the first request nothing. *Changed bytes* are those of the previous request's tools, system and messages (breakpoints left
out) that the next one does not begin with. Then a window of 16k, where results are pruned and the conversation is compacted:
each compaction begins a new prefix, and what is kept of it is the system prompt and the tools.
Goal: >= 99 % over 100 turns and in the flush request.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.fake_server import MODEL, reply
from benchmarks.turns import prompt, result
from memflush_jupyter.clock import SystemClock
from memflush_jupyter.testing.agents import AgentHarness, ScriptedTool
from memflush_jupyter.testing.server import FakeMessagesServer, SeenRequest, ServedModel


async def converse(window: int, turns: int) -> list[SeenRequest]:
    """All requests of a conversation that ends with a flush."""
    server = FakeMessagesServer(models=[ServedModel(MODEL, window, 8_000)], keys=["fake"])
    server.script(reply)
    number = 0
    with tempfile.TemporaryDirectory() as folder, server:
        tool = ScriptedTool("run_python", lambda _given: result(number, 12))
        async with AgentHarness(Path(folder), server=server, tools=[tool], clock=SystemClock()) as agent:
            for number in range(turns):
                await agent.say(prompt(number))
            await (await agent.runner.room(agent.events.append)).flush_now()
            assert not server.refusals, server.refusals[:3]
    return server.requests


def pieces(request: SeenRequest) -> list[str]:
    """The prefix in the provider's order, one piece a block, without the breakpoints."""
    body = request.body
    blocks: list[Any] = [*body.get("tools", []), *body.get("system", [])]
    blocks += [[message["role"], block] for message in body["messages"] for block in message["content"]]
    return [json.dumps(_bare(block), sort_keys=True, ensure_ascii=False) for block in blocks]


def _bare(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _bare(item) for name, item in value.items() if name != "cache_control"}
    return [_bare(item) for item in value] if isinstance(value, list) else value


def changed_bytes(earlier: list[str], later: list[str]) -> int:
    """Bytes of ``earlier`` after the place where ``later`` first differs."""
    same = next((at for at, (one, other) in enumerate(zip(earlier, later, strict=False)) if one != other), min(len(earlier), len(later)))
    return sum(len(piece.encode()) for piece in earlier[same:])


def is_side(request: SeenRequest) -> bool:
    return "[memory flush]" in request.last_text or "[summary]" in request.last_text


def size(request: SeenRequest) -> int:
    usage = request.usage
    return usage.input + usage.cache_read + usage.cache_write


def cached_share(requests: list[SeenRequest], chosen: list[int]) -> float:
    """Tokens read from the cache in the chosen requests, over those that the request before each of them held."""
    return sum(requests[at].usage.cache_read for at in chosen) / sum(size(requests[at - 1]) for at in chosen)


def show(window: int, requests: list[SeenRequest], *, judged: bool) -> None:
    report.head(f"Prompt cache: window {window:,}, {len(requests)} requests", "of what can be cached")
    sides = [at for at, request in enumerate(requests) if is_side(request)]
    turns = [at for at in range(1, len(requests)) if at not in sides and at - 1 not in sides]
    flushes = [at for at in sides if "[memory flush]" in requests[at].last_text]
    bodies = [pieces(request) for request in requests]
    for name, chosen in (("requests of turns", turns), ("flush requests", flushes)):
        share = cached_share(requests, chosen)
        read, could = (sum(values) for values in ([requests[at].usage.cache_read for at in chosen], [size(requests[at - 1]) for at in chosen]))
        report.row(name, f"{share:.2%} ({read:,} tokens)", f"{could:,} tokens", share, ">= 99 %" if judged else "", met=share >= 0.99 if judged else None)
        broken = [changed_bytes(bodies[at - 1], bodies[at]) for at in chosen]
        hit = sum(1 for value in broken if value)
        report.row(
            f"{name}: bytes of the prefix changed",
            f"{sum(broken):,} in {hit} of {len(broken)}",
            f"{sum(len(piece.encode()) for at in chosen for piece in bodies[at - 1]):,} bytes",
        )
    whole = sum(request.usage.cache_read for request in requests) / sum(map(size, requests))
    report.row("of all input tokens, side branches included", f"{whole:.2%}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=100)
    options = parser.parse_args()
    for window, judged in ((200_000, True), (16_000, False)):
        show(window, asyncio.run(converse(window, options.turns)), judged=judged)


if __name__ == "__main__":
    main()
