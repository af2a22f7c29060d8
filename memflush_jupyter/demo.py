"""The demo: run the packaged quickstart in a fresh folder, offline, and show what it remembered.

``run_demo`` does the work and returns plain data; ``describe`` turns that into the text a person reads in a terminal.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
import signal
import sys
import tempfile
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memflush_jupyter.errors import ConfigError, MemflushError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

NOTEBOOK = "01-quickstart.ipynb"
_MAX_FOLDERS = 1000
_GAUGE = re.compile(r"context (about )?[\d,]+ of [\d,]+ tokens")
_SHOWN_SOURCE_CHARS = 60


@dataclass(frozen=True, slots=True)
class DemoResult:
    """What a run of the demo left behind. Paths are absolute."""

    folder: Path
    notebook: Path
    html: Path
    memory: dict[str, str] = field(default_factory=dict)
    """Memory files by their name from the folder (``memory/2026-01-15.md``), with their text."""
    gauge: str | None = None
    question: str | None = None
    answer: str | None = None


def run_demo(output: Path, *, source: Path | None = None, timeout_s: float = 600.0, environ: Mapping[str, str] | None = None) -> DemoResult:
    """Run the quickstart in ``output`` (or the next free name beside it) and return what came out.

    Args:
        output: the folder to make; one that exists is never touched, ``NAME-2``, ``NAME-3`` … are tried instead.
        source: another notebook than the packaged quickstart.
        timeout_s: seconds one cell may take.
        environ: the environment to start from; ``None``: this process's own. Keys for paid models are taken out of it.

    Raises:
        ConfigError: the folder cannot be made, or the notebook cannot be found or read.
        MemflushError: a cell failed; the sentence names the cell and where the notebook lies as far as it ran.
    """
    import nbformat

    path = source or quickstart()
    try:
        notebook = nbformat.read(path, as_version=4)
    except (OSError, ValueError, nbformat.reader.NotJSONError) as error:
        raise ConfigError(f"The notebook {path} cannot be read: {error}") from error
    folder = fresh_folder(output)
    executed, html = folder / path.name, folder / f"{path.stem}.html"
    try:
        _execute(notebook, folder, timeout_s=timeout_s, environ=dict(os.environ if environ is None else environ))
    finally:
        nbformat.write(notebook, executed)
    html.write_text(_to_html(notebook), encoding="utf-8")
    question, answer = last_exchange(notebook)
    return DemoResult(folder, executed, html, memory_files(folder), last_gauge(notebook), question, answer)


def quickstart() -> Path:
    """Return the quickstart notebook: the one inside the package, or in a checkout the one in ``notebooks/``.

    Raises:
        ConfigError: neither is there.
    """
    packaged = Path(str(resources.files("memflush_jupyter"))) / "notebooks" / NOTEBOOK
    checkout = Path(__file__).resolve().parent.parent / "notebooks" / NOTEBOOK
    for path in (packaged, checkout):
        if path.is_file():
            return path
    raise ConfigError(f"The quickstart notebook {NOTEBOOK} is missing from this installation; install memflush-jupyter again.")


def fresh_folder(wanted: Path) -> Path:
    """Make and return a folder that did not exist before: ``wanted``, or the next free ``wanted-2``, ``wanted-3``, ….

    Raises:
        ConfigError: no folder can be made there.
    """
    wanted = wanted.absolute()
    for number in range(1, _MAX_FOLDERS):
        folder = wanted if number == 1 else wanted.with_name(f"{wanted.name}-{number}")
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            continue
        except OSError as error:
            raise ConfigError(f"The folder {folder} cannot be made ({error.strerror}). Choose another one with --output.") from error
        return folder
    raise ConfigError(f"There are already {_MAX_FOLDERS - 1} demo folders beside {wanted}. Remove some, or choose another with --output.")


def memory_files(folder: Path) -> dict[str, str]:
    """Return the markdown files under ``folder/memory`` by name; what the product keeps for itself there is left out."""
    files = sorted((folder / "memory").rglob("*.md"))
    shown = [file for file in files if not any(part.startswith(".") for part in file.relative_to(folder).parts)]
    return {file.relative_to(folder).as_posix(): file.read_text(encoding="utf-8") for file in shown}


def last_gauge(notebook: Any) -> str | None:
    """Return the text form of the last budget gauge shown in the notebook, or ``None`` when there is none."""
    shown = [_text(output.get("data", {}).get("text/plain", "")) for cell in notebook["cells"] for output in cell.get("outputs", [])]
    return next((text for text in reversed(shown) if _GAUGE.match(text)), None)


def last_exchange(notebook: Any) -> tuple[str | None, str | None]:
    """Return the prompt of the last ``%%agent`` cell and the last markdown text of its reply."""
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code" and _text(cell["source"]).startswith("%%agent")]
    if not cells:
        return None, None
    prompt = _text(cells[-1]["source"]).partition("\n")[2].strip()
    replies = [_text(output["data"]["text/markdown"]).strip() for output in cells[-1].get("outputs", []) if "text/markdown" in output.get("data", {})]
    return prompt, replies[-1] if replies else None


def describe(result: DemoResult) -> str:
    """Return what a person reads after the run: the memory, the gauge, the last answer, and where everything lies."""
    return "\n".join(_lines(result))


def _lines(result: DemoResult) -> Iterator[str]:
    for name, text in result.memory.items():
        yield from ("", _heading(f"What it remembers: {name}"), text.rstrip())
    if not result.memory:
        yield from ("", "Nothing was saved to memory/ in this run.")
    if result.gauge:
        yield from ("", _heading("The context at the end"), result.gauge.rstrip())
    if result.question:
        yield from ("", _heading("The last question"), result.question)
        yield from ("", _heading("The answer"), result.answer or "(no answer was shown)")
    yield from (
        "",
        _heading("Where it lies"),
        f"folder     {result.folder}",
        f"notebook   {result.notebook}",
        f"page       {result.html}",
        "",
        f"To read it in a browser:  {_opener()} {_quoted(result.html)}",
        f"To go on in JupyterLab:   jupyter lab {_quoted(result.notebook)}   (pip install 'memflush-jupyter[lab]' brings it)",
    )


def _execute(notebook: Any, folder: Path, *, timeout_s: float, environ: dict[str, str]) -> None:
    """Run all cells in place, in a kernel of this very Python; a failure becomes one sentence."""
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    environ.pop("ANTHROPIC_API_KEY", None)  # The demo costs nothing, also on a machine that could pay.
    left = f"The notebook as far as it ran is in {folder}."
    with tempfile.TemporaryDirectory(prefix="memflush-ipython-") as ipython:
        # An empty profile: a start-up file or option of the person's must not change what the demo shows.
        environ["IPYTHONDIR"] = ipython
        where = {"metadata": {"path": str(folder)}}
        client = NotebookClient(notebook, kernel_manager_class=_this_python(), timeout=int(timeout_s), resources=where)
        try:
            asyncio.run(_until_interrupted(client, environ))
        except CellExecutionError as error:
            raise MemflushError(f"The demo stopped at {_failed_cell(notebook)}: {error.ename}: {error.evalue}. {left}") from error
        except CellTimeoutError as error:
            raise MemflushError(f"The demo stopped: a cell took longer than {timeout_s:g} s. {left} A longer --timeout may help.") from error
        except (KeyboardInterrupt, AssertionError) as error:
            # The assertion is the client's own: interrupted while its kernel starts, it trips over having shut it down.
            raise MemflushError(f"The demo was interrupted. {left}") from error
        except DeadKernelError as error:
            raise MemflushError(f"The demo stopped: its kernel ended before the notebook did. {left}") from error


async def _until_interrupted(client: Any, environ: dict[str, str]) -> None:
    """Execute the notebook; Ctrl-C cancels it, and the client shuts its kernel down in order.

    Raises:
        KeyboardInterrupt: it was cancelled by Ctrl-C.
    """
    run = asyncio.ensure_future(client.async_execute(env=environ))
    interrupts: list[bool] = []

    def interrupt() -> None:
        interrupts.append(run.cancel())

    def listen(**_: Any) -> None:
        # The client's own handler takes the kernel away under the running cell; this one replaces it once it is set.
        with contextlib.suppress(NotImplementedError, RuntimeError):
            asyncio.get_running_loop().add_signal_handler(signal.SIGINT, interrupt)

    client.on_notebook_start = listen
    try:
        await run
    except BaseException:
        if interrupts:  # The client takes a cancelled cell for a dead kernel.
            raise KeyboardInterrupt from None
        raise


def _this_python() -> Any:
    """A kernel manager class that knows one kernel: the Python that runs the demo, whatever ``python3`` means elsewhere on the machine."""
    from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
    from jupyter_client.manager import AsyncKernelManager
    from traitlets import default

    class Specs(KernelSpecManager):
        def get_kernel_spec(self, kernel_name: str) -> KernelSpec:  # noqa: ARG002 - there is only one
            argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}", "--log-level=40"]
            return KernelSpec(argv=argv, display_name="Python 3", language="python")

    class ThisPython(AsyncKernelManager):
        @default("kernel_spec_manager")
        def _specs(self) -> KernelSpecManager:
            return Specs(parent=self)

    return ThisPython


def _failed_cell(notebook: Any) -> str:
    """Say which cell failed, by number and first line."""
    for number, cell in enumerate(notebook["cells"], start=1):
        if any(output["output_type"] == "error" for output in cell.get("outputs", [])):
            lines = _text(cell["source"]).strip().splitlines() or [""]
            return f"cell {number} ({lines[0][:_SHOWN_SOURCE_CHARS]!r})"
    return "a cell"


_ONE_WIDTH = "<style>div.highlight pre { font-family: var(--jp-code-font-family, monospace); }</style>"
"""The page's own style gives fenced code the letters of the text around it."""


def _to_html(notebook: Any) -> str:
    """Render the executed notebook as one page."""
    from nbconvert import HTMLExporter

    quiet = logging.getLogger("memflush_jupyter.demo.nbconvert")
    quiet.setLevel(logging.ERROR)  # It would list each plot without alternative text.
    page, _ = HTMLExporter(log=quiet).from_notebook_node(notebook)
    return str(page).replace("</head>", f"{_ONE_WIDTH}</head>", 1)


def _text(value: str | list[str]) -> str:
    """Notebook files may hold a text as a list of its lines."""
    return value if isinstance(value, str) else "".join(value)


def _heading(text: str) -> str:
    return f"{text}\n{'-' * len(text)}"


def _quoted(path: Path) -> str:
    return f'"{path}"' if " " in str(path) else str(path)


def _opener() -> str:
    return {"darwin": "open", "win32": "start"}.get(sys.platform, "xdg-open")
