"""A real kernel to test against: start, run a cell, interrupt it, answer its questions, see its outputs as a front end would."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty
from typing import Any


@dataclass
class CellRun:
    """What one execution gave. ``outputs`` are as a notebook would save them: streams merged, updates applied."""

    outputs: list[dict[str, Any]] = field(default_factory=list)
    status: str = ""
    error: str = ""
    asked: list[str] = field(default_factory=list)
    seconds: float = 0.0
    ids: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    updates: int = 0
    next_cells: list[str] = field(default_factory=list)
    """What the cell put into new cells below."""

    @property
    def text(self) -> str:
        """Streams and ``text/plain`` of everything shown, in order."""
        parts = [output.get("text") or output.get("data", {}).get("text/plain") or output.get("evalue", "") for output in self.outputs]
        return "\n".join(part.rstrip("\n") for part in parts if part)

    def plain(self) -> list[str]:
        """``text/plain`` of each display, in order."""
        return [output["data"].get("text/plain", "") for output in self.outputs if output["kind"] == "display"]


class Kernel:
    """A running kernel. Use :func:`start_kernel`."""

    def __init__(self, manager: Any, client: Any) -> None:
        self._manager = manager
        self._client = client

    def run(
        self,
        code: str,
        *,
        allow_stdin: bool = False,
        answer: Callable[[str], str | None] = lambda _: "",
        cell_id: str | None = None,
        interrupt_when: Callable[[CellRun], bool] | None = None,
        timeout_s: float = 60.0,
    ) -> CellRun:
        """Execute a cell and wait for its end.

        ``answer`` replies to input requests (``None``: leave the question open); ``cell_id`` is sent as JupyterLab sends it;
        once ``interrupt_when`` is true of what was seen so far, the kernel is interrupted once, and ``seconds`` counts from there.
        """
        run = CellRun()
        message = self._client.session.msg("execute_request", _request(code, allow_stdin), metadata={"cellId": cell_id} if cell_id else {})
        self._client.shell_channel.send(message)
        ident = message["header"]["msg_id"]
        started = time.monotonic()
        interrupted = False
        idle = False
        while not (idle and run.status):
            if time.monotonic() - started > timeout_s:
                raise TimeoutError(f"The cell did not end within {timeout_s:g} s. So far: {run.text!r}")
            if allow_stdin:
                self._answer(run, answer)
            if interrupt_when is not None and not interrupted and interrupt_when(run):
                interrupted = True
                started = time.monotonic()
                self._manager.interrupt_kernel()
            idle = self._receive(ident, run) or idle
            if idle:
                self._reply(ident, run)
        run.seconds = time.monotonic() - started
        return run

    def complete(self, code: str, *, timeout_s: float = 60.0) -> tuple[list[str], str]:
        """What Tab offers at the end of ``code``, and the text that it replaces."""
        ident = self._client.complete(code, len(code))
        while True:
            reply = self._client.get_shell_msg(timeout=timeout_s)
            if reply["parent_header"].get("msg_id") == ident:
                content = reply["content"]
                return list(content["matches"]), code[content["cursor_start"] : content["cursor_end"]]

    def interrupt(self) -> None:
        """Interrupt as a front end does."""
        self._manager.interrupt_kernel()

    def restart(self) -> None:
        """Restart; the client stays connected."""
        self._manager.restart_kernel(now=True)
        self._client.wait_for_ready(timeout=60)

    def kill(self) -> None:
        """End the process without any clean-up."""
        self._manager.shutdown_kernel(now=True)

    def alive(self) -> bool:
        """Whether the process is there."""
        return bool(self._manager.is_alive())

    def _answer(self, run: CellRun, answer: Callable[[str], str | None]) -> None:
        with contextlib.suppress(Empty):
            request = self._client.get_stdin_msg(timeout=0)
            prompt = str(request["content"]["prompt"])
            run.asked.append(prompt)
            reply = answer(prompt)
            if reply is not None:
                self._client.input(reply)

    def _receive(self, ident: str, run: CellRun) -> bool:
        try:
            message = self._client.get_iopub_msg(timeout=0.05)
        except Empty:
            return False
        if message["parent_header"].get("msg_id") != ident:
            return False
        kind, content = message["msg_type"], message["content"]
        if kind == "stream":
            _add_stream(run, content)
        elif kind in {"display_data", "execute_result"}:
            output = {"kind": "display" if kind == "display_data" else "result", "data": content["data"], "metadata": content["metadata"]}
            run.outputs.append(output)
            display_id = content.get("transient", {}).get("display_id")
            if display_id:
                run.ids.setdefault(display_id, []).append(output)
        elif kind == "update_display_data":
            run.updates += 1
            for output in run.ids.get(content["transient"]["display_id"], []):
                output.update(data=content["data"], metadata=content["metadata"])
        elif kind == "clear_output":
            run.outputs.clear()
        elif kind == "error":
            run.outputs.append({"kind": "error", "ename": content["ename"], "evalue": content["evalue"], "traceback": content["traceback"]})
            run.error = content["evalue"]
        return bool(kind == "status" and content["execution_state"] == "idle")

    def _reply(self, ident: str, run: CellRun) -> None:
        with contextlib.suppress(Empty):
            reply = self._client.get_shell_msg(timeout=0.05)
            if reply["parent_header"].get("msg_id") == ident:
                run.status = reply["content"]["status"]
                run.next_cells = [item["text"] for item in reply["content"].get("payload", []) if item.get("source") == "set_next_input"]


def _request(code: str, allow_stdin: bool) -> dict[str, Any]:
    return {"code": code, "silent": False, "store_history": True, "user_expressions": {}, "allow_stdin": allow_stdin, "stop_on_error": True}


def _add_stream(run: CellRun, content: Mapping[str, Any]) -> None:
    last = run.outputs[-1] if run.outputs else {}
    if last.get("kind") == "stream" and last["name"] == content["name"]:
        last["text"] += content["text"]
    else:
        run.outputs.append({"kind": "stream", "name": content["name"], "text": content["text"]})


@contextlib.contextmanager
def start_kernel(folder: Path, *, env: Mapping[str, str] | None = None) -> Iterator[Kernel]:
    """A fresh Python kernel in ``folder`` with ``env`` as its whole environment (default: the present one)."""
    from jupyter_client.manager import start_new_kernel

    keywords: dict[str, Any] = {} if env is None else {"env": dict(env)}
    manager, client = start_new_kernel(kernel_name="python3", cwd=str(folder), startup_timeout=60, **keywords)
    try:
        yield Kernel(manager, client)
    finally:
        client.stop_channels()
        if manager.is_alive():
            manager.shutdown_kernel(now=True)
        manager.cleanup_resources()
