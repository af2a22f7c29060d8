"""The agent's cell in a live JupyterLab: what a person sees while it runs, and what is saved when it ended."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import time

import nbformat
import pytest
from nbclient import NotebookClient

from memflush_jupyter.testing import Reply, tool_use
from memflush_jupyter.testing.lab import NARROW, WIDE, notebook_of, start_lab
from memflush_jupyter.testing.server import FakeMessagesServer

pytestmark = pytest.mark.browser

CSV = "species,mass,length\n" + "".join(f"{'abc'[i % 3]},{10 + i % 7},{i % 11}\n" for i in range(60))
SETUP = '%load_ext memflush_jupyter\n%config MemFlush.model = "offline/analyst"\n%config MemFlush.approve = "auto"'
TURN = "%%agent\nRemember that the client is Dr. Ines Okafor.\nLoad data.csv, describe it and plot the distribution of mass."

ANSWER = "\n\n".join(
    [
        "**Mass differs by species.** " + "The three groups lie close together, and their spreads overlap. " * 4,
        "| species | mean |\n|---|---:|\n| a | 12.9 |\n| b | 13.1 |\n| c | 12.8 |",
        "```python\ndata.groupby('species').mass.mean()\n```",
        "It remains to be seen whether more data would part them. " * 4,
    ]
)
BROKEN = "import math\n\ndef share(part, whole):\n    return part / whole\n\nshare(1, 0)"
TABLE = "import pandas as pd\nframe = pd.DataFrame({'species': list('abc'), 'price': ['$5', '$6', '$7']})\nframe"

WATCH = """
const area = panel.content.widgets[INDEX].node.querySelector('.jp-Cell-outputArea');
const seen = window.memflushSeen = {heights: [], changes: [], order: []};
let last = 0;
new MutationObserver(() => {
  const now = performance.now();
  // One drawing gives several mutations in a row: they count as one.
  if (now - last > 50) seen.changes.push(now);
  last = now;
}).observe(area, {childList: true, subtree: true, characterData: true});
const look = () => { seen.heights.push(area.getBoundingClientRect().height); window.memflushLook = requestAnimationFrame(look); };
look();
"""


@pytest.fixture
def folder(lab, request):
    """A folder of the test's own below the server's root, with data in it."""
    made = lab.root / request.node.name
    made.mkdir()
    (made / "data.csv").write_text(CSV)
    return made


def outputs_of(cell):
    """What is compared of outputs: everything but the image's bytes, metadata and counts."""
    kept = []
    for output in cell["outputs"]:
        data = {kind: "".join(value) if isinstance(value, list) else value for kind, value in output.get("data", {}).items()}
        kept.append((output["output_type"], {kind: value for kind, value in data.items() if kind != "image/png"}, "".join(output.get("text", ""))))
    return kept


def test_saved_outputs_of_a_live_turn_equal_those_of_a_headless_run(lab, folder, tmp_path):
    """P9: and strict nbval passes on the file that JupyterLab saved."""
    cells = [SETUP, TURN, "data.shape", "%%agent\nCompare mass by species. Who is the client?"]
    with lab.open(f"{folder.name}/live.ipynb", cells) as live:
        live.run_all()
        saved = live.save()
    (tmp_path / "data.csv").write_text(CSV)
    headless = nbformat.from_dict(notebook_of(cells))
    NotebookClient(headless, timeout=60, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert [outputs_of(cell) for cell in saved["cells"]] == [outputs_of(cell) for cell in headless["cells"]]
    assert any("text/markdown" in data for _, data, _ in outputs_of(saved["cells"][1]))
    (tmp_path / "memory").rename(tmp_path / "old-memory")
    (tmp_path / "live.ipynb").write_text(json.dumps(saved))
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--nbval", "live.ipynb"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={name: value for name, value in os.environ.items() if not name.startswith("PYTEST")},
        check=False,
    )
    assert run.returncode == 0, run.stdout[-3000:]
    assert f"{len(cells)} passed" in run.stdout


@pytest.fixture
def server():
    """A model that answers as a test says, over a real connection."""
    with FakeMessagesServer() as running:
        yield running


def with_model(server):
    """The first cell of a notebook that talks to ``server``."""
    return f'%load_ext memflush_jupyter\n%config MemFlush.base_url = "{server.url}"\n%config MemFlush.model = "local/fake-model"'


def texts(outputs):
    """``text/plain`` of the displays, and what errors say."""
    return ["".join(output.get("data", {}).get("text/plain", output.get("evalue", ""))) for output in outputs]


def test_streaming_grows_without_jumps_at_most_ten_times_a_second_and_in_order(lab, folder, server):
    server.script(
        [
            Reply([{"type": "text", "text": "First I count. " * 12}, tool_use("run_python", {"code": "6 * 7"})], event_delay_s=0.02, delta_chars=8),
            Reply(ANSWER, event_delay_s=0.02, delta_chars=8),
        ]
    )
    with lab.open(f"{folder.name}/stream.ipynb", [with_model(server), "%%agent --approve auto\nCompare."]) as live:
        live.run(0)
        live.js(WATCH, INDEX=1)
        outputs = live.run(1)
        seen = live.js("cancelAnimationFrame(window.memflushLook); return window.memflushSeen;")
    assert texts(outputs)[:3] == ["First I count. " * 12, "▸ run_python · 1 line · ok", ANSWER]
    heights = [height for height in seen["heights"] if height > 0]
    drops = [(before, after) for before, after in itertools.pairwise(heights) if after < before - 2]
    assert not drops, drops
    assert len(set(heights)) > 5, "it came in pieces"
    busiest = max(sum(1 for other in seen["changes"] if 0 <= other - change < 1000) for change in seen["changes"])
    assert busiest <= 12, busiest


def test_stop_in_the_toolbar_ends_the_turn_in_one_sentence(lab, folder, server):
    """P10"""
    server.script([Reply("late", delay_s=60)])
    with lab.open(f"{folder.name}/stop.ipynb", [with_model(server), "%%agent\nTell me."]) as live:
        live.run(0)
        live.start(1)
        live.until_text(1, "Waiting for the model")
        started = time.monotonic()
        live.click_stop()
        outputs = live.wait(1)
        assert time.monotonic() - started < 10
        assert outputs[-1]["output_type"] == "error"
        assert outputs[-1]["traceback"] == ["Interrupted. The conversation is kept; go on with another %%agent cell."]


def test_approval_is_asked_in_the_cell_and_the_turn_goes_on(lab, folder, server, pictures):
    server.script([tool_use("run_python", {"code": "answer = 6 * 7\nanswer"}), "It is 42."])
    with lab.open(f"{folder.name}/approve.ipynb", [with_model(server), "%%agent\nCount.", "answer"]) as live:
        live.run(0)
        live.start(1)
        assert "run_python" in live.question()
        assert "answer = 6 * 7" in json.dumps(live.outputs(1))
        live.focus_mode()
        live.screenshot(pictures / "approval.png", cell=1)
        live.answer("y")
        assert "It is 42." in texts(live.wait(1))
        assert texts(live.run(2)) == ["42"]


def test_reload_in_mid_turn_loses_nothing_that_agent_show_does_not_bring_back(lab, folder, server):
    server.script([Reply(ANSWER, event_delay_s=0.03, delta_chars=12)])
    with lab.open(f"{folder.name}/reload.ipynb", [with_model(server), "%%agent\nCompare."]) as live:
        live.run(0)
        live.save()
        live.start(1)
        live.until_text(1, "Mass differs")
        live.reload()
        live.insert(2, "%agent show")
        assert ANSWER in texts(live.run(2))


def test_kernel_killed_in_mid_stream_leaves_what_was_said_readable(lab, folder, server, pictures):
    server.script([Reply("The first words stand. " * 40, event_delay_s=0.05, delta_chars=24)])
    with lab.open(f"{folder.name}/crash.ipynb", [with_model(server), "import os; print(os.getpid())", "%%agent\nCompare."]) as live:
        live.run(0)
        pid = int("".join(live.run(1)[0]["text"]))
        live.start(2)
        live.until_text(2, "The first words stand. The first words stand.")
        os.kill(pid, signal.SIGKILL)
        live.until("panel.sessionContext.session?.kernel?.status !== 'busy'")
        live.page.keyboard.press("Escape")
        live.focus_mode()
        live.screenshot(pictures / "crashed.png", cell=2)
        saved = live.save()
    assert texts(saved["cells"][2]["outputs"])[0].startswith("The first words stand. The first words stand.")


@pytest.fixture(scope="module")
def sample(lab):
    """A notebook as JupyterLab saved it, with a cell of everything that can stand in one."""
    folder = lab.root / "sample"
    folder.mkdir()
    (folder / "data.csv").write_text(CSV)
    with FakeMessagesServer() as server:
        server.script([tool_use("run_python", {"code": BROKEN}), tool_use("run_python", {"code": TABLE}), ANSWER])
        cells = [SETUP, TURN, "%agent flush", with_model(server), "%%agent --new\nCompare, please.", "%%agent --resume none\nGo on."]
        with lab.open("sample/sample.ipynb", cells) as live:
            live.run_all()
            saved = live.save()
    # The server would trust an equal copy, for it saw it run.
    saved["metadata"]["copied"] = True
    return saved


PLACES = [("light", WIDE), ("light", NARROW), ("dark", WIDE), ("dark", NARROW)]
GITHUB = (
    "a b blockquote br code dd del details div dl dt em h1 h2 h3 hr i img li ol p pre s small span strong sub summary sup table tbody td th thead tr ul".split()
)
AGENT_CELLS = {1: "turn", 4: "errors"}
OPEN = "for (const line of document.querySelectorAll('.jp-OutputArea details')) line.open = true;"


@pytest.mark.parametrize(("theme", "size"), PLACES)
def test_the_cell_reads_well_in_jupyterlab(lab, sample, pictures, theme, size):
    """Light and dark, wide and narrow; a copy is not trusted, and its kernel knows nothing of it."""
    name = f"{theme}-{size[0]}"
    with lab.open(f"{name}.ipynb", sample, theme=theme, size=size) as copy:
        copy.focus_mode()
        for index, what in AGENT_CELLS.items():
            copy.screenshot(pictures / f"lab-{name}-{what}.png", cell=index)
        assert copy.js("return [1, 4].every(index => !panel.content.widgets[index].model.trusted);")
        copy.js(OPEN)
        copy.screenshot(pictures / f"lab-{name}-opened.png", cell=4)
        shown = copy.js("return document.querySelectorAll('.jp-Cell')[4].innerText;")
        assert "ZeroDivisionError" in shown
        assert "Error in code that the agent ran" in shown
        assert not copy.page.locator(".jp-OutputArea button").count()
        # Code is coloured by the front end itself.
        assert copy.page.locator(".jp-OutputArea pre code span, .jp-OutputArea pre span[class]").count() > 5
        too_wide = copy.js("return [...document.querySelectorAll('.jp-OutputArea-output')].filter(o => o.scrollWidth > o.clientWidth + 1).length;")
        assert too_wide <= 2


def test_copy_button_appears_where_the_page_is_trusted(lab, folder):
    with lab.open(f"{folder.name}/copy.ipynb", [SETUP, TURN]) as live:
        live.run(0)
        live.run(1)
        live.js(OPEN)
        live.page.wait_for_selector(".jp-OutputArea details button")
        live.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        live.page.locator(".jp-OutputArea details button").first.click()
        live.page.wait_for_selector(".jp-OutputArea details button:text('Copied')")
        assert "read_csv" in live.page.evaluate("navigator.clipboard.readText()")


def test_the_cell_reads_well_as_a_page_in_print_and_where_markup_is_cleaned(lab, sample, pictures, tmp_path):
    """nbconvert's HTML, its PDF through Chromium, and what is left when only the elements stay that GitHub lets through."""
    import bleach
    from nbconvert import HTMLExporter

    notebook = nbformat.reads(json.dumps(sample), as_version=4)
    for name, options in {"html": {}, "cleaned": {}, "dark": {"theme": "dark"}}.items():
        body, _ = HTMLExporter(**options).from_notebook_node(notebook)
        page_file = tmp_path / f"{name}.html"
        page_file.write_text(body, encoding="utf-8")
        context = lab.browser.new_context(viewport={"width": 1100, "height": 900}, offline=True)
        page = context.new_page()
        page.goto(page_file.as_uri(), wait_until="domcontentloaded")
        if name == "cleaned":
            kept = bleach.clean(page.evaluate("document.querySelector('main').innerHTML"), tags=GITHUB, attributes=["href", "open", "align"], strip=True)
            assert "clipboard" not in kept
            page.set_content(f"<body style='font-family:sans-serif'>{kept}</body>")
        page.evaluate("for (const line of [...document.querySelectorAll('details')].slice(-3)) line.open = true;")
        page.screenshot(path=str(pictures / f"nbconvert-{name}.png"), full_page=True)
        assert page.locator("details summary").count() > 4
        assert "Error in code that the agent ran" in page.content()
        if name == "html":
            page.pdf(path=str(pictures / "nbconvert.pdf"))
        context.close()


def test_the_cell_works_in_notebook_7(lab, sample, pictures, tmp_path_factory):
    root = tmp_path_factory.mktemp("notebook7")
    (root / "data.csv").write_text(CSV)
    with start_lab(root, app="notebook", browser=lab.browser) as classic, classic.open("seven.ipynb", [SETUP, TURN], app="notebook") as live:
        live.run(0)
        live.run(1)
        live.screenshot(pictures / "notebook7.png", cell=1)
        assert outputs_of(live.save()["cells"][1]) == outputs_of(sample["cells"][1])
