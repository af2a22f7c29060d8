"""The dashboard of ``%budget`` in a live JupyterLab: it follows a turn, its buttons work, and every phase is looked at."""

from __future__ import annotations

import pytest

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
