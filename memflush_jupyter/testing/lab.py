"""A real JupyterLab in a real browser: open a notebook, run its cells, answer, interrupt, look, and read what it would save.

Nothing here sleeps: every wait is for a condition on the notebook's model or on the page. Needs the ``test`` extra (JupyterLab, Playwright)
and a Chromium of the system; Playwright's own browser download is not used.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

from memflush_jupyter.testing.lab_server import WAIT_S, NoBrowserError, find_browser, serve

ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run", "--force-color-profile=srgb")
ARTEFACTS = "MEMFLUSH_ARTEFACTS"
"""Environment variable that names the folder for screenshots."""
WIDE, NARROW = (1280, 900), (560, 900)

Theme = Literal["light", "dark"]
_THEMES = {"light": "JupyterLab Light", "dark": "JupyterLab Dark"}

_PANEL = """
const app = window.jupyterapp;
const panel = Array.from(app.shell.widgets('main')).find(w => w.context && w.content && w.content.model && w.context.path === PATH);
"""


def artefacts(default: Path) -> Path:
    """The folder for screenshots, made when it is missing: ``MEMFLUSH_ARTEFACTS``, or ``default``."""
    folder = Path(os.environ.get(ARTEFACTS) or default)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def code_cell(source: str, ident: str) -> dict[str, Any]:
    """A code cell that has not run."""
    return {"cell_type": "code", "id": ident, "metadata": {}, "source": source, "outputs": [], "execution_count": None}


def notebook_of(sources: Sequence[str]) -> dict[str, Any]:
    """A notebook of code cells, with ids ``cell-0``, ``cell-1``, …."""
    return {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}, "language_info": {"name": "python"}},
        "cells": [code_cell(source, f"cell-{number}") for number, source in enumerate(sources)],
    }


@dataclass
class Lab:
    """A running server. ``root``: the folder it serves; kernels run in the folder of their notebook."""

    url: str
    root: Path
    browser: Any

    @contextlib.contextmanager
    def open(
        self, name: str, cells: Sequence[str] | Mapping[str, Any] = (), *, theme: Theme = "light", size: tuple[int, int] = WIDE, app: str = "lab"
    ) -> Iterator[LabNotebook]:
        """Write a notebook (unless ``cells`` is empty), open it on a page of its own, and shut its kernel down afterwards. ``name`` is relative to ``root``."""
        if cells:
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            content = dict(cells) if isinstance(cells, Mapping) else notebook_of(cells)
            path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        context = self.browser.new_context(viewport={"width": size[0], "height": size[1]}, device_scale_factor=1, reduced_motion="reduce")
        page = context.new_page()
        notebook = LabNotebook(self, page, name, app)
        try:
            notebook.load()
            if theme != "light":
                notebook.theme(theme)
            yield notebook
        finally:
            with contextlib.suppress(Exception):
                notebook.shutdown()
            context.close()

    def request(self, method: str, path: str) -> Any:
        """Ask the server's REST interface."""
        made = urllib.request.Request(f"{self.url}/{path}", method=method)  # noqa: S310 - loopback
        with urllib.request.urlopen(made, timeout=10) as reply:  # noqa: S310 - loopback
            body = reply.read()
        return json.loads(body) if body else None


class LabNotebook:
    """One notebook on one page."""

    def __init__(self, lab: Lab, page: Any, name: str, app: str = "lab") -> None:
        self.lab = lab
        self.page = page
        self.name = name
        self._app = app
        page.set_default_timeout(WAIT_S * 1000)

    # -- the page ----------------------------------------------------------------------------------------------------------------

    def load(self) -> Self:
        """Load (or load again) and wait for an idle kernel."""
        where = f"lab/workspaces/memflush-{abs(hash(self.name))}/tree/{self.name}?reset" if self._app == "lab" else f"notebooks/{self.name}"
        self.page.goto(f"{self.lab.url}/{where}", wait_until="domcontentloaded")
        self.until("panel && panel.context.isReady && panel.sessionContext.session?.kernel?.status === 'idle' && panel.content.widgets.length > 0")
        # The spinner lies over the notebook until it is restored.
        self.page.wait_for_function("() => !document.querySelector('.jp-Spinner') && !document.querySelector('#jupyterlab-splash')")
        return self

    reload = load

    def js(self, body: str, **given: Any) -> Any:
        """Run JavaScript in the page with ``app``, ``panel`` and ``given`` in scope; ``body`` returns a value."""
        names = {"PATH": self.name, **given}
        unpacked = "".join(f"const {name} = given.{name};\n" for name in names)
        return self.page.evaluate(f"async (given) => {{\n{unpacked}{_PANEL}\n{body}\n}}", names)

    def until(self, condition: str, *, timeout_s: float = WAIT_S, **given: Any) -> None:
        """Wait until a JavaScript expression over ``app``, ``panel`` and ``given`` is true."""
        names = {"PATH": self.name, **given}
        unpacked = "".join(f"const {name} = given.{name};\n" for name in names)
        code = f"(given) => {{\n{unpacked}if (!window.jupyterapp) return false;\n{_PANEL}\nreturn Boolean({condition});\n}}"
        self.page.wait_for_function(code, arg=names, timeout=timeout_s * 1000)

    def theme(self, theme: Theme) -> None:
        """Set the theme and wait for it."""
        self.js("await app.commands.execute('apputils:change-theme', {theme: THEME});", THEME=_THEMES[theme])
        self.page.wait_for_function("light => document.body.dataset.jpThemeLight === light", arg="true" if theme == "light" else "false")

    def viewport(self, width: int, height: int = 900) -> None:
        """Resize the window."""
        self.page.set_viewport_size({"width": width, "height": height})

    def focus_mode(self) -> None:
        """Close the side bars, so that the notebook has the width."""
        self.js("if (app.shell.collapseLeft) app.shell.collapseLeft(); if (app.shell.collapseRight) app.shell.collapseRight();")

    def screenshot(self, path: Path, *, cell: int | None = None) -> Path:
        """Take a picture of the window, or of one cell with its outputs scrolled to."""
        if cell is None:
            self._settled()
            self.page.screenshot(path=str(path), animations="disabled")
            return path
        size = self.page.viewport_size
        self.js("await panel.content.scrollToItem(INDEX, 'start');", INDEX=cell)
        found = self.page.locator(f".jp-Cell[data-windowed-list-index='{cell}']").last
        box = found.bounding_box() or {"height": 0}
        # A cell that is taller than the window would be cut.
        self.page.set_viewport_size({"width": size["width"], "height": max(size["height"], int(box["height"]) + 300)})
        self.js("await panel.content.scrollToItem(INDEX, 'start');", INDEX=cell)
        self._settled()
        found.screenshot(path=str(path), animations="disabled")
        self.page.set_viewport_size(size)
        return path

    def _settled(self) -> None:
        self.page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    # -- cells -------------------------------------------------------------------------------------------------------------------

    def start(self, index: int) -> None:
        """Begin to run a cell, and do not wait."""
        self.js(
            """
            window.memflushRuns = window.memflushRuns || {};
            window.memflushRuns[INDEX] = 'running';
            panel.content.activeCellIndex = INDEX;
            panel.content.deselectAll();
            app.commands.execute('notebook:run-cell').finally(() => { window.memflushRuns[INDEX] = 'done'; });
            """,
            INDEX=index,
        )

    def wait(self, index: int, *, timeout_s: float = WAIT_S) -> list[dict[str, Any]]:
        """Wait for the end of a cell that was started, and return its outputs."""
        self.until("window.memflushRuns?.[INDEX] === 'done' && panel.sessionContext.session?.kernel?.status === 'idle'", timeout_s=timeout_s, INDEX=index)
        return self.outputs(index)

    def run(self, index: int, *, timeout_s: float = WAIT_S) -> list[dict[str, Any]]:
        """Run a cell to its end."""
        self.start(index)
        return self.wait(index, timeout_s=timeout_s)

    def run_all(self, *, timeout_s: float = WAIT_S) -> None:
        """Run every code cell, one after the other."""
        for index, cell in enumerate(self.content()["cells"]):
            if cell["cell_type"] == "code":
                self.run(index, timeout_s=timeout_s)

    def content(self) -> dict[str, Any]:
        """The notebook as its model holds it now: what would be saved."""
        found: dict[str, Any] = self.js("return panel.content.model.sharedModel.toJSON();")
        return found

    def outputs(self, index: int) -> list[dict[str, Any]]:
        """The outputs of a cell, as they would be saved."""
        found: list[dict[str, Any]] = self.content()["cells"][index].get("outputs", [])
        return found

    def until_text(self, index: int, text: str, *, timeout_s: float = WAIT_S) -> None:
        """Wait until the outputs of a cell hold a text."""
        self.until(
            "JSON.stringify(panel.content.model.sharedModel.cells[INDEX].toJSON().outputs || []).includes(TEXT)", timeout_s=timeout_s, INDEX=index, TEXT=text
        )

    def insert(self, index: int, source: str) -> None:
        """Put a code cell at a place."""
        self.js("panel.content.model.sharedModel.insertCell(INDEX, {cell_type: 'code', source: SOURCE, metadata: {}});", INDEX=index, SOURCE=source)
        self.until("panel.content.widgets.length > INDEX", INDEX=index)

    def save(self) -> dict[str, Any]:
        """Save, and return what is in the file."""
        self.js("await panel.context.save();")
        self.until("!panel.context.model.dirty")
        found: dict[str, Any] = json.loads((self.lab.root / self.name).read_text(encoding="utf-8"))
        return found

    # -- the person --------------------------------------------------------------------------------------------------------------

    def question(self) -> str:
        """Wait for a question on standard input, and return it."""
        self.page.wait_for_selector(".jp-Stdin-input")
        return str(self.page.locator(".jp-Stdin-prompt").last.text_content() or "")

    def answer(self, text: str) -> None:
        """Type the answer to the question that stands open."""
        box = self.page.wait_for_selector(".jp-Stdin-input")
        box.fill(text)
        box.press("Enter")

    def click_stop(self) -> None:
        """Click *Interrupt the kernel* in the toolbar."""
        self.page.locator("jp-button[data-command='notebook:interrupt-kernel'], [data-jp-item-name='interrupt'] jp-button").first.click()

    def kill_kernel(self) -> None:
        """End the kernel's process as a crash does."""
        self.js("await panel.sessionContext.session.kernel.requestExecute({code: 'import os; os.kill(os.getpid(), 9)'}).done.catch(() => null);")

    def shutdown(self) -> None:
        """Shut the notebook's kernel down."""
        for session in self.lab.request("GET", "api/sessions"):
            if session.get("path") == self.name:
                self.lab.request("DELETE", f"api/sessions/{session['id']}")


@contextlib.contextmanager
def start_lab(root: Path, *, env: Mapping[str, str] | None = None, app: str = "jupyterlab", browser: Any = None) -> Iterator[Lab]:
    """A server on loopback with scratch configuration, and a browser beside it. ``app``: ``jupyterlab`` or ``notebook``; ``browser``: one that runs already.

    Raises:
        NoBrowserError: what it needs is not there.
    """
    executable = find_browser()
    try:
        from playwright.sync_api import sync_playwright
    except ImportError as error:
        raise NoBrowserError("Playwright is not installed; `pip install 'memflush-jupyter[test]'` brings it.") from error
    scratch = Path(tempfile.mkdtemp(prefix="memflush-lab-"))
    try:
        with serve(root, scratch, env, app) as url, contextlib.ExitStack() as opened:
            if browser is None:
                playwright = opened.enter_context(sync_playwright())
                browser = playwright.chromium.launch(executable_path=executable, args=list(ARGUMENTS))
                opened.callback(browser.close)
            yield Lab(url, root, browser)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
