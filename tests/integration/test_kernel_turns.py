"""Turns on a real kernel with the offline model: the face, the conversation's rules, approvals and interrupts."""

from __future__ import annotations

import os
import re
import time

import pytest

from memflush_jupyter.testing.kernels import start_kernel

pytestmark = pytest.mark.kernel

CSV = "species,mass\n" + "".join(f"{'abc'[i % 3]},{10 + i % 7}\n" for i in range(60))
LOAD = "%%agent --approve auto\nLoad data.csv and plot the distribution of mass."


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "data.csv").write_text(CSV)
    return tmp_path


@pytest.fixture
def kernel(folder):
    env = {name: value for name, value in os.environ.items() if not name.startswith("ANTHROPIC")}
    with start_kernel(folder, env=env) as running:
        assert running.run("%load_ext memflush_jupyter").text == ""
        yield running


def data_of(run):
    return [{kind: value for kind, value in output["data"].items() if not kind.startswith("image/")} for output in run.outputs]


def test_headless_turn_equals_live_turn_and_shows_each_output_once(folder, kernel):
    """P9"""
    live = kernel.run(LOAD, allow_stdin=True)
    kernel.run("%agent new")
    headless = kernel.run(LOAD)
    assert [live.status, headless.status] == ["ok", "ok"], (live.text, headless.text)
    assert live.updates > 0
    assert headless.updates == 0
    assert not any("%agent resume" in text for text in headless.plain())
    # The same kernel on an empty memory: earlier conversations would rightly be recalled.
    kernel.run("%unload_ext memflush_jupyter\nimport shutil\nshutil.rmtree('memory')\ndel data")
    kernel.run("%reset -f\n%load_ext memflush_jupyter")
    again = kernel.run(LOAD)
    assert data_of(again) == data_of(live)
    assert not re.search(r"20\d\d-\d\d-\d\d", str(data_of(again)))


def test_agent_works_in_the_persons_kernel(kernel):
    run = kernel.run(LOAD)
    assert any("image/png" in output.get("data", {}) for output in run.outputs)
    assert any(re.fullmatch(r"▸ run_python · \d+ lines · ok", text) for text in run.plain())
    assert kernel.run("print(len(data))").text == "60"
    assert kernel.run("print(LOAD if 'LOAD' in globals() else 'clean')").text == "clean"


def test_headless_denies_code_unless_declared(kernel):
    run = kernel.run("%%agent\nLoad data.csv")
    assert run.status == "ok"
    assert kernel.run("print('data' in globals())").text == "False"
    kernel.run("%config MemFlush.approve = 'auto'")
    kernel.run("%%agent\nLoad data.csv")
    assert kernel.run("print('data' in globals())").text == "True"


def test_approval_is_asked_and_answered_without_blocking(kernel):
    denied = kernel.run("%%agent\nLoad data.csv", allow_stdin=True, answer=lambda _: "n")
    assert len(denied.asked) >= 1
    assert denied.asked[0].startswith("Run run_python?")
    allowed = kernel.run("%%agent\nLoad data.csv", allow_stdin=True, answer=lambda _: "a")
    assert len(allowed.asked) == 1
    assert kernel.run("print('data' in globals())").text == "True"


def test_interrupt_while_asking_ends_the_turn_in_one_sentence_and_runs_nothing(kernel):
    """P10: approval."""
    run = kernel.run("%%agent\nLoad data.csv", allow_stdin=True, answer=lambda _: None, interrupt_when=lambda run: bool(run.asked))
    assert run.seconds < 0.8
    assert run.status == "error"
    assert run.outputs[-1]["traceback"] == ["Interrupted. The conversation is kept; go on with another %%agent cell."]
    assert kernel.run("print('data' in globals())").text == "False"
    after = kernel.run("%%agent --approve auto\nLoad data.csv", allow_stdin=True)
    assert after.status == "ok"
    assert kernel.run("print('data' in globals())").text == "True"


def test_stale_answer_to_an_interrupted_question_approves_nothing(kernel):
    """P10: a yes typed too late must not answer the next question."""
    kernel.run("%%agent\nLoad data.csv", allow_stdin=True, answer=lambda _: None, interrupt_when=lambda run: bool(run.asked))
    kernel._client.input("yes")
    time.sleep(0.2)
    run = kernel.run("%%agent\nLoad data.csv", allow_stdin=True, answer=lambda _: "n")
    assert run.asked
    assert kernel.run("print('data' in globals())").text == "False"


def test_rerun_of_the_latest_cell_goes_back_and_of_an_earlier_one_appends(kernel):
    kernel.run(LOAD, cell_id="one", allow_stdin=True)
    kernel.run("%%agent --approve auto\nHow many missing values are there?", cell_id="two", allow_stdin=True)
    kernel.run("%%agent --approve auto\nWhat is the mean of mass by species?", cell_id="two", allow_stdin=True)
    status = kernel.run("%agent status").text
    assert re.search(r"turns +2", status)
    earlier = kernel.run(LOAD, cell_id="one", allow_stdin=True)
    assert earlier.plain()[0].startswith("This cell ran earlier in the conversation")
    assert re.search(r"turns +3", kernel.run("%agent status").text)


def test_restart_begins_afresh_and_resume_goes_on(kernel):
    kernel.run(LOAD, allow_stdin=True)
    kernel.restart()
    kernel.run("%load_ext memflush_jupyter")
    assert kernel.run("%agent status").text.count("none yet") == 1
    resumed = kernel.run("%agent resume", allow_stdin=True)
    assert re.search(r"Going on with \w+ “Load data.csv and plot.*”: 1 turn", resumed.text)
    assert "Load data.csv and plot" in kernel.run("%agent show").text
    kernel.run("%agent rewind")
    assert re.search(r"turns +0", kernel.run("%agent status").text)


def test_a_turn_inside_a_turn_is_refused(kernel):
    run = kernel.run(
        "import asyncio\ncells = [get_ipython().run_cell_magic('agent', '', 'hello') for _ in range(2)]\n"
        "results = await asyncio.gather(*cells, return_exceptions=True)\nprint([str(r) for r in results])"
    )
    assert "A turn is running already" in run.text


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("%%agent\n  \n", "The cell holds no prompt."),
        ("%%agent do it\nhi", "lines below"),
        ("%%agent -m nowhere/x\nhi", "nowhere/x"),
        ("%%agent --resume zzzz\nhi", "zzzz"),
        ("%agent stats", "Did you mean `%agent status`?"),
        ("%agent show", "No conversation has begun"),
        ("%memory show nothing.md", "nothing.md"),
        ("%memory forget", "%memory forget"),
        ("%agent delete zzzz --yes", "zzzz"),
    ],
)
def test_errors_are_one_sentence_without_traceback(kernel, code, sentence):
    run = kernel.run(code)
    assert run.status == "error"
    assert [output["kind"] for output in run.outputs].count("error") == 1
    assert len(run.outputs[-1]["traceback"]) == 1
    assert sentence in run.outputs[-1]["traceback"][0]
    assert "File " not in run.outputs[-1]["traceback"][0]


def test_unexpected_error_is_one_sentence_and_a_log(folder, kernel):
    kernel.run("%agent list")
    kernel.run("get_ipython().memflush_session.workspace.store.traces = lambda *a, **k: 1 / 0")
    run = kernel.run("%agent list")
    assert run.outputs[0]["traceback"][0].startswith(
        "Something in memflush-jupyter went wrong (ZeroDivisionError: division by zero). The details are in memory/.memflush/errors.log."
    )
    assert "ZeroDivisionError" in (folder / "memory/.memflush/errors.log").read_text()


def test_memory_cell_writes_what_the_person_wrote_and_forget_needs_a_yes(folder, kernel):
    kernel.run("%%memory MEMORY.md\n# Ours\n\n- Outliers are dropped above 3 sigma.\n- Plots are blue.")
    assert (folder / "memory/MEMORY.md").read_text().splitlines()[2] == "- Outliers are dropped above 3 sigma."
    assert "Plots are blue." in kernel.run("%memory show MEMORY.md").text
    assert kernel.run("%memory forget blue").status == "error"
    assert "Forgot 1 line." in kernel.run("%memory forget blue --yes").text
    assert "blue" not in (folder / "memory/MEMORY.md").read_text()


def test_folder_is_fixed_when_the_extension_is_loaded(folder, kernel, tmp_path_factory):
    """G8"""
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    kernel.run(f"import os\nos.chdir({str(elsewhere)!r})")
    kernel.run("%agent list")
    assert (folder / "memory").is_dir()
    assert not (elsewhere / "memory").exists()


def test_unload_takes_everything_back(kernel):
    kernel.run("%agent list")
    kernel.run("%unload_ext memflush_jupyter")
    run = kernel.run(
        "import threading\nip = get_ipython()\nnames = [t.name for t in threading.enumerate() if 'memflush' in t.name]\n"
        "print('agent' in ip.magics_manager.magics['cell'], hasattr(ip, 'memflush_session'), names)"
    )
    assert run.text == "False False []"


def test_text_and_json_forms(kernel):
    kernel.run(LOAD)
    run = kernel.run("%%agent --approve auto --format json\nHow many rows are there?")
    assert [sorted(output["data"]) for output in run.outputs] == [["application/json", "text/plain"]]
    assert run.outputs[0]["data"]["application/json"]["stop"] == "end"
