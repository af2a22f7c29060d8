"""The offline analyst in a plain namespace: its tool calls run for real, without a kernel, a server or a client."""

from __future__ import annotations

import contextlib
import io
import sys
import traceback
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from memflush_jupyter.models.offline.analyst import respond

if TYPE_CHECKING:
    from collections.abc import Callable

TOOLS = ("run_python", "inspect_variables", "read_file", "list_files", "search_files", "memory_write", "memory_search", "read_message")


def inspect_text(namespace: dict[str, Any]) -> str:
    """What ``inspect_variables`` says of a namespace, in the form the tool gives it."""
    import pandas as pd

    blocks = []
    for name, value in namespace.items():
        if name.startswith("_") or callable(value) or type(value).__name__ == "module":
            continue
        if isinstance(value, pd.DataFrame):
            lines = [f"{name}: DataFrame {len(value)} rows × {value.shape[1]} columns"]
            for at, column in enumerate(value.columns):
                series = value.iloc[:, at]
                examples = ", ".join(str(item) for item in series.dropna().head(2))
                lines.append(f"  - {column} ({series.dtype}): {int(series.isna().sum())} missing; e.g. {examples}")
            blocks.append("\n".join(lines))
        else:
            blocks.append(f"{name}: {type(value).__name__} {str(value)[:60]!r}")
    return "\n".join(blocks) or "no variables"


@dataclass
class Loop:
    """A conversation with the analyst. ``namespace`` plays the kernel; ``notes`` collects what it remembers."""

    namespace: dict[str, Any] = field(default_factory=dict)
    system: str = ""
    tools: tuple[str, ...] = TOOLS
    deny: bool = False
    search: Callable[[str], str] = "Nothing stored matches {!r}.".format
    files: str = ""
    messages: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    codes: list[str] = field(default_factory=list)
    inspections: int = 0

    def request(self) -> dict[str, Any]:
        """The request body as it stands."""
        return {"model": "analyst", "max_tokens": 4096, "system": self.system, "messages": self.messages, "tools": [{"name": name} for name in self.tools]}

    def ask(self, prompt: str, rounds: int = 12) -> str:
        """Run one turn; gives the final text."""
        self.messages.append({"role": "user", "content": [{"type": "text", "text": prompt}]})
        for _ in range(rounds):
            content, stop = respond(self.request(), "turn")
            self.messages.append({"role": "assistant", "content": content})
            if stop != "tool_use":
                return "\n".join(block["text"] for block in content)
            results = [self._result(block) for block in content if block["type"] == "tool_use"]
            self.messages.append({"role": "user", "content": results})
        raise AssertionError(f"no answer within {rounds} rounds")

    def _result(self, block: dict[str, Any]) -> dict[str, Any]:
        text, error = self._run(block["name"], block["input"])
        return {"type": "tool_result", "tool_use_id": block["id"], "content": [{"type": "text", "text": text}], "is_error": error}

    def _run(self, name: str, given: dict[str, Any]) -> tuple[str, bool]:
        if name == "inspect_variables":
            self.inspections += 1
            return inspect_text(self.namespace), False
        if name == "memory_write":
            self.notes += given["notes"]
            return "saved", False
        if name == "memory_search":
            return self.search(given["query"]), False
        if name == "list_files":
            return self.files, False
        if name != "run_python":
            return f"unknown tool {name}", True
        if self.deny:
            return "Denied: the person did not approve this code.", True
        self.codes.append(given["code"])
        out = io.StringIO()
        try:
            with contextlib.redirect_stdout(out):
                exec(compile(given["code"], "<cell>", "exec"), self.namespace)  # noqa: S102 - running the produced code is the point
        except Exception:  # noqa: BLE001 - whatever the code raises is what the model must read
            return out.getvalue() + traceback.format_exc(), True
        finally:
            if "matplotlib.pyplot" in sys.modules:
                sys.modules["matplotlib.pyplot"].close("all")
        return out.getvalue(), False
