"""The fake Messages API in a process of its own, for benchmarks: what it spends can be told from what a client spends.

``Server`` starts it. It answers at once by what the last message asks for: a tool call to a prompt, a sentence to a tool result, a note to a
flush, a summary to a compression. ``strict=False`` leaves out its rules and its books: it then costs little more than the JSON, and
usage is estimated from the size of the request.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import urllib.request
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from memflush_jupyter.testing.replies import Drop, Refuse, Reply, as_reply, tool_use
from memflush_jupyter.testing.server import FakeMessagesServer, SeenRequest, ServedModel
from memflush_jupyter.testing.service import MessagesService
from memflush_jupyter.trace.models import Usage

MODEL = "fake-model"
_BYTES_PER_TOKEN = 4


class _Quick(MessagesService):
    """Admits everything and estimates usage."""

    def admit(self, seen: SeenRequest) -> list[Any]:  # noqa: ARG002 - whatever is asked
        return []

    def answer(self, seen: SeenRequest, turns: list[Any]) -> Reply | Refuse | Drop:  # noqa: ARG002 - as above
        answer = self._issue(as_reply(self._next(seen)), str(seen.body["model"]))
        size = sum(len(json.dumps(seen.body.get(part, ""))) for part in ("system", "tools", "messages"))
        seen.usage = replace(Usage(), input=size // _BYTES_PER_TOKEN, output=80)
        return answer


class _Timed(FakeMessagesServer):
    """Keeps account of the seconds spent on requests once they were read; the bodies are kept only in a strict run."""

    def __init__(self, window: int, *, strict: bool) -> None:
        super().__init__(models=[ServedModel(MODEL, window, 8_000)], keys=["fake"])
        self._strict = strict
        if not strict:
            self.service = _Quick(models=[ServedModel(MODEL, window, 8_000)], count=len, now=time.monotonic)
        self.answers["/spent"] = self.spent = {"seconds": 0.0, "requests": 0}

    async def _handle(self, request: Any) -> Any:
        await request.read()
        start = time.perf_counter()
        response = await super()._handle(request)
        if request.method == "POST":
            self.spent["seconds"] += time.perf_counter() - start
            self.spent["requests"] += 1
        if not self._strict:
            self.service.requests.clear()
        return response


def reply(seen: SeenRequest) -> Any:
    """What an agreeable model says."""
    content = seen.messages[-1]["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    text = seen.last_text
    if "[summary]" in text:
        return "## Goal\nDescribe the groups of the survey.\n\n## Done and found\nThe last means and counts were computed, one group after the other."
    if "[memory flush]" in text:
        return [tool_use("memory_write", {"notes": [f"The survey was described up to request {seen.number}, group by group."]})]
    if any(block["type"] == "tool_result" for block in blocks):
        return "The mean is 41.3 over 128 rows, with 7 values missing; it lies a little above that of the group before, within one deviation of it."
    return [tool_use("run_python", {"code": "df.groupby('group')['value'].agg(['mean', 'count', 'std'])"})]


class Server:
    """The process. ``url`` is where it listens; ``spent()`` the seconds it spent on requests so far."""

    def __init__(self, window: int, *, strict: bool = False) -> None:
        command = [sys.executable, "-m", "benchmarks.fake_server", "--window", str(window), *(["--strict"] if strict else [])]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parent.parent)
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().strip()
        if not self.url:
            raise RuntimeError("The fake server did not start.")
        self._open = urllib.request.build_opener(urllib.request.ProxyHandler({})).open

    def spent(self) -> float:
        with self._open(f"{self.url}/spent") as response:
            return float(json.load(response)["seconds"])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def serve() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--window", type=int, required=True)
    parser.add_argument("--strict", action="store_true")
    options = parser.parse_args()
    with _Timed(options.window, strict=options.strict) as server:
        server.script(reply)
        print(server.url, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    serve()
