"""The dashboard of ``%budget`` in a live JupyterLab: it follows a turn, its buttons work, and every phase is looked at."""

from __future__ import annotations

import pytest

from memflush_jupyter.testing import FakeMessagesServer, Reply, ServedModel, rate_limited, text, thinking, tool_use
from memflush_jupyter.testing.lab import NARROW, WIDE

pytestmark = pytest.mark.browser

CSV = "species,mass\n" + "".join(f"{'abc'[i % 3]},{10 + i % 7}\n" for i in range(60))
SETUP = '%load_ext memflush_jupyter\n%config MemFlush.model = "offline/analyst"\n%config MemFlush.approve = "auto"'
TURN = "%%agent\nRemember that the client is Dr. Ines Okafor.\nLoad data.csv and describe it."
SLOW = "%%agent --approve ask\nPlot the distribution of mass."


@pytest.fixture
def folder(lab, request):
    made = lab.root / "".join(letter if letter.isalnum() else "-" for letter in request.node.name)
    made.mkdir()
    (made / "data.csv").write_text(CSV)
    return made


def said(nb, text):
    nb.page.locator(".mf-said", has_text=text).first.wait_for(state="visible")


@pytest.mark.parametrize(("theme", "size"), [("light", WIDE), ("dark", NARROW)], ids=["light-wide", "dark-narrow"])
def test_the_dashboard_follows_turns_and_its_buttons_work(lab, folder, pictures, theme, size):
    name = f"budget-{theme}"
    with lab.open(f"{folder.name}/budget.ipynb", [SETUP, "%budget", TURN, "%budget", SLOW, "%budget --history"], theme=theme, size=size) as nb:
        nb.focus_mode()
        for cell in (0, 1, 2, 3):
            nb.run(cell)
        page = nb.page
        page.locator(".mf-used", has_text="16,384").first.wait_for()
        nb.screenshot(pictures / f"{name}-idle.png", cell=3)

        nb.start(4)
        nb.question()
        page.locator(".mf-phase[data-phase='approval'], .mf-phase[data-phase='tools']").first.wait_for()
        nb.screenshot(pictures / f"{name}-approval.png", cell=3)
        nb.answer("n")
        nb.wait(4)
        page.locator(".mf-phase[data-phase='idle']").first.wait_for()

        for button, text in (("flush", "memory:"), ("compact", "context:"), ("stop", "Nothing is running")):
            page.locator(f"[data-do='{button}']").last.click()
            said(nb, text)
            page.locator(".mf-budget").last.locator(".mf-phase[data-phase='idle']").wait_for()  # C15: never left "saving"
        page.locator("[data-do='memory']").last.click()
        page.locator(".mf-file").last.click()
        page.locator(".mf-budget pre").last.wait_for()
        for summary in page.locator(".mf-budget").last.locator("summary").all():
            summary.click()
        nb.screenshot(pictures / f"{name}-open.png", cell=3)
        assert page.locator(".mf-budget").last.locator("[role='img'][aria-label]").count() >= 1
        assert page.locator(".mf-phase[aria-live='polite']").count() >= 1
        nb.run(5)
        nb.screenshot(pictures / f"{name}-history.png", cell=5)
        saved = nb.save()
        live, figures = (output["data"] for output in saved["cells"][3]["outputs"])
        assert {"text/html", "text/plain"} <= set(live)
        assert "".join(figures["text/html"]).startswith("<details><summary>as of turn 1: context ")  # what does not follow says when it was so
        assert len(saved["cells"][1]["outputs"]) == 1


def test_each_phase_of_a_turn_is_seen_while_it_lasts(lab, folder, pictures):
    """What the dashboard says in each phase is what goes on, and nothing stays behind (C15)."""
    words, code = "Some words of an answer. " * 30, "import asyncio\nawait asyncio.sleep(4)"
    phases = {
        "waiting": [Reply("done", delay_s=4)],
        "thinking": [Reply([thinking("Let me see. " * 30), text("done")], event_delay_s=0.1, delta_chars=8)],
        "streaming": [Reply(words, event_delay_s=0.1, delta_chars=12)],
        "tools": [tool_use("run_python", {"code": code}), "done"],
        "retrying": [rate_limited(4), "done"],
    }
    with FakeMessagesServer(models=[ServedModel("fake-model", 16_000, 4_000)]) as server:
        setup = f"%load_ext memflush_jupyter\n%config MemFlush.base_url = {server.url!r}\n%config MemFlush.model = 'local/fake-model'"
        setup += "\n%config MemFlush.approve = 'auto'\n%config MemFlush.keep_recent_tokens = 200"
        cells = [setup, "%budget", "%%agent\nThe deadline is 14 March. " + "And so on. " * 400, "%%agent\nMore."]
        with lab.open(f"{folder.name}/phases.ipynb", cells, size=WIDE) as nb:
            nb.focus_mode()
            nb.run(0)
            nb.run(1)
            for phase, answers in phases.items():
                server.script(answers)
                nb.start(2)
                seen(nb, phase)
                nb.screenshot(pictures / f"phase-{phase}.png", cell=1)
                nb.wait(2)
                seen(nb, "idle")
            server.script(["done"])
            nb.run(3)
            for button, phase, mark in (("flush", "flushing", "[memory flush]"), ("compact", "compacting", "[summary]")):
                server.script(lambda request, mark=mark: Reply("## Found\nWords.", delay_s=3) if mark in request.last_text else "NO_REPLY")
                nb.page.locator(f"[data-do='{button}']").last.click()
                seen(nb, phase)
                nb.screenshot(pictures / f"phase-{phase}.png", cell=1)
                seen(nb, "idle")


def seen(nb, phase):
    nb.page.locator(f".mf-phase[data-phase='{phase}']").last.wait_for(timeout=30_000)
