"""Prompts that know the notebook, on a real kernel: names filled in, Tab, ``%agent fix`` and ``%agent code``."""

from __future__ import annotations

import os

import pytest

from memflush_jupyter.testing import FakeMessagesServer
from memflush_jupyter.testing.kernels import start_kernel

pytestmark = pytest.mark.kernel

CSV = "species,mass\n" + "".join(f"{'abc'[i % 3]},{10 + i % 7}\n" for i in range(60))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("prompts")
    (folder / "data.csv").write_text(CSV)
    return folder


@pytest.fixture(scope="module")
def kernel(folder):
    env = {name: value for name, value in os.environ.items() if not name.startswith("ANTHROPIC")}
    with start_kernel(folder, env=env) as running:
        running.run("%load_ext memflush_jupyter")
        running.run("import pandas as pd\ndf = pd.read_csv('data.csv')\ncol, n, zero = 'mass', 3, 0\nreport = 'ab' * 5000")
        yield running


def test_names_are_filled_in_for_the_offline_analyst_and_the_person_sees_what(kernel):
    run = kernel.run("%%agent --approve auto\nWhat is the mean of {col} by species in {df}?")
    assert "filled in: {col} = mass; {df} = DataFrame 60 rows × 2 columns" in run.plain()
    assert "**The mean of `mass` by `species`: highest for a (12.95)" in run.text
    assert "> What is the mean of mass by species in `df`?" in kernel.run("%agent show").text
    live = kernel.run("%%agent --approve auto --new\nWhat is the mean of {col} by species in {df}?", allow_stdin=True)
    assert live.plain()[-6:-1] == run.plain()[-6:-1]


def test_inputs_outputs_and_errors_of_cells_are_filled_in_and_other_braces_stay(kernel):
    failed = kernel.run("1 / zero")
    assert failed.status == "error"
    count = int(kernel.run("print(len(In) - 1)").text) - 1
    kernel.run("df.shape")
    run = kernel.run(f"%%agent --new\nRemember that {{In[{count}]}} is wrong, {{Out[{count + 2}]}} is the shape and {{nope}} is 'f\"{{n}}\"'.")
    assert "Noted in memory: 1 / zero is wrong, (60, 2) is the shape and {nope} is" in run.text
    assert 'f"{n}"' in run.text
    told = kernel.run(f"%%agent\nhello {{Err[{count}]}} {{report}}")
    assert f"filled in: {{Err[{count}]}} = ZeroDivisionError: division by zero" in told.text
    assert "{report} = text of 10000 characters" in told.text
    assert "{report} was shortened to fit." in told.plain()


@pytest.mark.parametrize(
    ("code", "offered", "replaced"),
    [
        ("%agent sta", "status", "sta"),
        ("x = 1\n%agent ", "resume", ""),
        ("%%agent --ap", "--approve", "--ap"),
        ("%%agent --approve ", "auto", ""),
        ("%%agent --set recall_t", "recall_tokens=", "recall_t"),
        ("%agent config recall_t", "recall_tokens", "recall_t"),
        ("%memory fo", "forget", "fo"),
        ("%budget --he", "--help", "--he"),
        ("%%agent\nwhat is the mean of {d", "df", "d"),
        ("%%agent\nwhat is the mean of {df.ma", "df.mass", "df.ma"),
        ("%%agent -m offline/analyst\nfirst line\nand {In[1", "In[1]}", "In[1"),
        ("%%agent\nload da", "data.csv", "da"),
    ],
)
def test_tab_completes_in_agent_cells_and_on_our_lines(kernel, code, offered, replaced):
    matches, fragment = kernel.complete(code)
    assert offered in matches
    assert fragment == replaced


def test_tab_offers_no_python_in_a_prompt_and_leaves_other_cells_alone(kernel):
    assert kernel.complete("%%agent\nload da")[0] == ["data.csv"]
    assert "df" not in kernel.complete("%%agent\nsay {c")[0]
    assert "head" in kernel.complete("df.he")[0]
    assert "%agent" in kernel.complete("%age")[0]


def test_fix_explains_the_last_error_and_puts_the_corrected_cell_below_where_somebody_is(kernel):
    kernel.run("df['mas'].mean()\n")
    live = kernel.run("%agent fix", allow_stdin=True)
    assert live.status == "ok", live.text
    assert "There is no column or key `mas`. There is `mass`." in live.text
    assert live.next_cells == ["df['mass'].mean()"]
    headless = kernel.run("%agent fix")
    assert headless.next_cells == []
    assert live.plain()[-2] == headless.plain()[-2]
    assert kernel.run(live.next_cells[0]).status == "ok"
    assert "usage: %agent fix" in kernel.run("%agent fix --help").text
    assert "Did you mean" in kernel.run("%agent fix --modle x").text


@pytest.mark.parametrize(
    ("cell", "mended"),
    [
        ("%%time\nx = pritn(3)", "%%time\nx = print(3)"),
        ("%%capture out\nx = df['mas'].mean()", "%%capture out\nx = df['mass'].mean()"),
        ("%timeit -n1 -r1 pritn(1)", "%timeit -n1 -r1 print(1)"),
        ("!true\nx = pritn(2)", "!true\nx = print(2)"),
        ("    for i in range(3):\n        pritn(i)", "    for i in range(3):\n        print(i)"),
        ("def f(d):\n    if True:\n        for k in d:\n            v = d['mas']\n    return v\nf(df)", None),
        ("class A:\n    def go(self):\n        return [x for x in self.itmes]\n    items = [1]\nA().go()", None),
        ("async def g():\n    return df.mas\nawait g()", "async def g():\n    return df.mass\nawait g()"),
        ("if n:\n    print('a'\n", "if n:\n    print('a')"),
    ],
)
def test_fix_mends_cells_of_every_shape(kernel, cell, mended):
    kernel.run(cell)
    run = kernel.run("%agent fix", allow_stdin=True)
    expected = mended or cell.replace("'mas'", "'mass'").replace("itmes", "items")
    assert run.next_cells == [expected], run.text
    assert kernel.run(run.next_cells[0]).status == "ok"


def test_fix_explains_where_no_rule_is_sure_and_proposes_nothing(kernel):
    for cell in ("%%bash\nfalse", "exec('pritn(1)')", "try:\n    1 / zero\nexcept Exception as e:\n    raise ValueError('bad') from e"):
        kernel.run(cell)
        run = kernel.run("%agent fix", allow_stdin=True)
        assert run.next_cells == []
        assert "propose no" in run.text


def test_errors_of_the_agents_own_code_are_no_cells_of_the_persons(kernel):
    kernel.run("x = pritn(7)")
    kernel.run("%%agent --approve auto\nWhat is the mean of nosuchcolumn by species in df?")
    assert "line 1: name 'pritn'" in kernel.run("%agent fix").text


def test_code_of_the_last_answer_becomes_a_cell(kernel):
    kernel.run("pritn(n)")
    kernel.run("%agent fix")
    run = kernel.run("%agent code", allow_stdin=True)
    assert run.next_cells == ["print(n)"]
    assert run.text == "Code block 1 of 1 of the last answer, 1 line."
    assert "takes a number from 1 to that" in kernel.run("%agent code 2").text
    kernel.run("%%agent\nthanks")
    assert kernel.run("%agent code").text == "The last answer holds no code block."


def test_a_real_model_gets_values_as_labelled_data_and_images_where_it_sees(tmp_path):
    """The wire: the person's words, then the values; nothing of them counts as the person's own (P8)."""
    answer = "Twice.\n\n```python\na = 1\n```\n\nor\n\n```python\na = 2\nb = 3\n```\n"
    with FakeMessagesServer() as server:
        server.script(lambda _: answer)
        env = {name: value for name, value in os.environ.items() if not name.startswith("ANTHROPIC")}
        with start_kernel(tmp_path, env=env | {"MEMFLUSH_BASE_URL": server.url, "MEMFLUSH_MODEL": "local/fake-model"}) as running:
            running.run("%load_ext memflush_jupyter")
            running.run("%config MemFlush.endpoints = {'local/fake-model': {'vision': True}}")
            assert running.run("%agent fix").text == "No cell has failed in this kernel since memflush-jupyter was loaded, so there is nothing to fix."
            running.run("from matplotlib.figure import Figure\nfig = Figure()\nfig.subplots().plot([1, 2])\nrows = list(range(900))")
            run = running.run("%%agent\nWhat is in {fig} and {rows}?", allow_stdin=True)
            assert run.status == "ok", run.text
            blocks = server.requests[-1].body["messages"][-1]["content"]
            assert blocks[0]["text"] == "What is in `fig` and `rows`?"
            assert [block["type"] for block in blocks[1:4]] == ["text", "text", "image"]
            assert "rows: list of 900, the first 30: 0, 1, 2" in blocks[1]["text"]
            assert running.run("%agent code", allow_stdin=True).next_cells == ["a = 2\nb = 3"]
            assert running.run("%agent code 1", allow_stdin=True).next_cells == ["a = 1"]
            running.run("rows.apend(1)")
            fixed = running.run("%agent fix I want one more", allow_stdin=True)
            assert fixed.next_cells == ["a = 2\nb = 3"]
            asked, told = server.requests[-1].body["messages"][-1]["content"][:2]
            assert asked["text"].endswith("I want one more")
            assert "<cell>\nrows.apend(1)\n</cell>" in told["text"]
            assert "- like the missing one: append" in told["text"]
            running.run("%unload_ext memflush_jupyter")
            assert "status" not in running.complete("%agent sta")[0]
            assert running.run("1/0").status == "error"
