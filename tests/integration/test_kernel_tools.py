"""``run_python`` and ``inspect_variables`` on a real kernel, without any agent around them."""

from __future__ import annotations

import json
import os

import pytest

from memflush_jupyter.testing.kernels import Kernel, start_kernel

pytestmark = pytest.mark.kernel

SETUP = """
from memflush_jupyter.notebook.interrupts import Interrupts as _Interrupts
from memflush_jupyter.notebook.kernel_tools import InspectVariables as _Inspect, RunPython as _Run
from memflush_jupyter.agent.tools.base import ToolCall as _Call
import asyncio as _asyncio, json as _json

async def _tool(code, vision=False, timeout_s=None):
    interrupts = _Interrupts()
    try:
        async with interrupts.watch():
            result = await _Run(get_ipython(), interrupts, timeout_s=timeout_s).run({"code": code}, _Call("t", "x", 1, vision=vision))
    except _asyncio.CancelledError:
        _asyncio.current_task().uncancel()
        print(_json.dumps({"stopped": interrupts.requested}))
        return
    print(_json.dumps({"text": result.text, "error": result.is_error, "kinds": [sorted(k for k in d if k != "metadata") for d in result.displays],
                       "blocks": [b["type"] for b in result.content]}))

async def _inspect(*names):
    print(_json.dumps({"text": (await _Inspect(get_ipython()).run({"names": list(names)}, _Call("t", "x", 1))).text}))
"""


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    with start_kernel(tmp_path_factory.mktemp("kernel"), env={**os.environ, "PYTHONWARNINGS": "default"}) as running:
        running.run(SETUP)
        yield running


def tool(kernel: Kernel, code: str, **options):
    run = kernel.run(f"await _tool({code!r}{''.join(f', {k}={v!r}' for k, v in options.items() if k != 'when')})", interrupt_when=options.get("when"))
    assert run.status == "ok", run.outputs
    assert len(run.outputs) == 1, run.outputs
    return json.loads(run.outputs[0]["text"]), run


def test_run_python_gives_prints_then_value_and_shares_the_variables(kernel):
    result, _ = tool(kernel, "print('hello')\nshared = [1, 2]\nshared")
    assert result == {"text": "hello\n[1, 2]\n", "error": False, "kinds": [], "blocks": ["text"]}
    assert kernel.run("shared.append(3); print(shared)").text == "[1, 2, 3]"
    assert tool(kernel, "len(shared)")[0]["text"] == "3\n"


def test_run_python_leaves_history_and_counter_alone(kernel):
    before = int(kernel.run("print(get_ipython().execution_count)").text)
    tool(kernel, "'secret value'")
    assert kernel.run("print(get_ipython().execution_count, 'secret value' in [v for v in Out.values() if isinstance(v, str)])").text == f"{before + 2} False"


def test_run_python_tells_errors_by_the_agents_own_lines_without_kernel_paths(kernel):
    result, _ = tool(kernel, "def f(d):\n    return d['nope']\n\nf({})")
    assert result["error"] is True
    assert result["text"] == "Traceback:\n  line 4: f({})\n  line 2 in f: return d['nope']\nKeyError: 'nope'"
    assert "line 1" in tool(kernel, "x = = 3")[0]["text"]


def test_run_python_flushes_figures_as_png_and_sends_them_to_a_model_that_sees(kernel):
    code = "import matplotlib.pyplot as plt\nfig, ax = plt.subplots()\n_ = ax.plot([1, 2])"
    blind, _ = tool(kernel, code)
    assert blind["kinds"] == [["image/png", "text/plain"]]
    assert blind["blocks"] == ["text"]
    seeing, _ = tool(kernel, code, vision=True)
    assert seeing["blocks"] == ["text", "image"]


def test_run_python_shows_tables_only_when_asked_to(kernel):
    value, _ = tool(kernel, "import pandas as pd\npd.DataFrame({'a': [1]})")
    # A value's table is folded into the call's own line: the transcript's tests say how.
    assert value["kinds"] == [["text/html", "text/plain"]]
    assert value["text"] == "   a\n0  1\n"
    shown, _ = tool(kernel, "display(pd.DataFrame({'a': [1]}))")
    assert shown["kinds"] == [["text/html", "text/plain"]]


def test_run_python_takes_cell_syntax(kernel):
    assert tool(kernel, "import asyncio\nawait asyncio.sleep(0)\nprint(1)")[0]["text"] == "1\n"
    assert tool(kernel, "!echo from the shell")[0]["text"].strip() == "from the shell"
    local = "def look():\n    word = 'local'\n    !echo {word} one\n    found = !echo {word} two\n    return list(found)\nlook()"
    assert tool(kernel, local)[0]["text"].split() == ["local", "one", "['local", "two']"], "names of a function are filled in as in a cell"
    assert tool(kernel, "%config InlineBackend.close_figures")[0]["error"] is False
    assert tool(kernel, "```python\nprint(2)\n```")[0]["text"] == "2\n"


def test_run_python_captures_subprocess_output(kernel):
    assert tool(kernel, "import subprocess\n_ = subprocess.run(['echo', 'child'])")[0]["text"] == "child\n"
    assert tool(kernel, "import os\n_ = os.system('echo low >&2')")[0]["text"] == "low\n"


def test_run_python_refuses_what_would_hang_or_end_the_kernel(kernel):
    for code, word in [
        ("input('?')", "ask the person"),
        ("import sys\nsys.exit(3)", "SystemExit: 3"),
        ("exit()", "may not end"),
        ("import os\nos._exit(1)", "may not end"),
    ]:
        result, _ = tool(kernel, code)
        assert result["error"] is True
        assert word in result["text"]
    assert kernel.run("print('alive')").text == "alive"


def test_run_python_gives_halves_of_characters_as_such(kernel):
    """Half a surrogate pair, as ``json`` and file names hold it, can be sent to no front end and ended the turn."""
    done, _ = tool(kernel, "print('a\\ud800b', '\\ud83d\\ude00')\n'c\\udfffd'")
    assert "a\ufffdb \U0001f600" in done["text"]
    assert not done["error"]
    shown, _ = tool(kernel, "from IPython.display import display\ndisplay({'text/plain': 'p\\ud800', 'text/markdown': '**m\\ud800**'}, raw=True)")
    assert "p\ufffd" in shown["text"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
@pytest.mark.parametrize(("ending", "status"), [("sys.exit(3)", 3), ("1 / 0", 1), ("pass", 0)])
def test_a_process_that_code_forks_never_becomes_a_second_kernel(kernel, ending, status):
    """P10: it would answer the person's front end and write to the store."""
    code = f"import os, sys\npid = os.fork()\nif not pid:\n    {ending}\nelse:\n    print('ended with', os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))"
    done, _ = tool(kernel, code)
    assert f"ended with {status}" in done["text"]
    assert kernel.run("print('mine')").text == "mine"


def test_endless_recursion_is_told_at_once(kernel):
    """P10: the kernel's own drawing of a thousand frames takes longer than the code did, and nobody sees it."""
    done, run = tool(kernel, "def f(): return f()\nf()")
    assert done["error"]
    assert "RecursionError" in done["text"]
    assert run.seconds < 5


def test_run_python_does_not_swallow_later_logging_and_prints(kernel):
    code = "import logging, sys\nlog = logging.getLogger('mine')\nlog.addHandler(logging.StreamHandler(sys.stderr))\nlog.warning('during')\nkept = sys.stdout"
    assert tool(kernel, code)[0]["text"] == "during\n"
    assert kernel.run("log.warning('later')\nkept.write('too\\n')").text.splitlines()[:2] == ["later", "too"]


def test_run_python_bounds_huge_output_and_says_so(kernel):
    result, _ = tool(kernel, "print('a' * 3_000_000, 'end')")
    assert "1,000,005 characters of output were not kept" in result["text"]
    assert result["text"].endswith("end\n")


def test_run_python_shows_progress_bars_once(kernel):
    assert tool(kernel, "import sys\nfor i in range(5):\n    sys.stderr.write(f'\\r{i}/4')")[0]["text"] == "4/4"


def test_interrupt_stops_blocking_code_at_once_and_restores_the_kernel(kernel):
    """P10: a blocking tool."""
    marker = "import time\nprint('x', file=sys.__stdout__)\ntime.sleep(30)\nafter = 1"
    result, run = tool(kernel, marker, when=_started())
    assert result == {"stopped": True}
    assert run.seconds < 0.5
    check = kernel.run("import signal, sys\nprint('after' in globals(), type(sys.stdout).__name__, type(get_ipython().display_pub).__name__)")
    assert check.text == "False OutStream ZMQDisplayPublisher"


@pytest.mark.parametrize(
    "code",
    [
        "import asyncio\nawait asyncio.sleep(30)",
        "!sleep 30\nafter = 1",
        "import subprocess\nsubprocess.run(['sleep', '30'])",
        "while True:\n    pass",
        "import time\ntry:\n    time.sleep(30)\nexcept BaseException:\n    pass",
    ],
    ids=["async", "shell", "subprocess", "busy", "swallowed"],
)
def test_interrupt_stops_every_kind_of_code(kernel, code):
    """P10: async tool, shell, subprocess, busy loop, and code that swallows the interrupt."""
    result, run = tool(kernel, code, when=_started())
    assert result == {"stopped": True}
    assert run.seconds < 0.9
    assert kernel.run("print('after' in globals())").text == "False"


def test_timeout_stops_synchronous_code_with_a_sentence(kernel):
    result, _ = tool(kernel, "import time\nprint('begun')\ntime.sleep(30)", timeout_s=0.1)
    assert result["error"] is True
    assert result["text"] == "begun\nStopped: the code ran longer than tool_timeout_s = 0.1 seconds. Do less at once, or ask the person to raise it."


def test_inspect_lists_what_the_person_made_and_runs_nothing_of_theirs(kernel):
    kernel.run(
        "%reset -f\nimport numpy as np\nimport pandas as pd\n"
        "class Trap:\n    def __repr__(self): raise SystemError('ran')\n    def __getattr__(self, name): raise SystemError('ran')\n"
        "trap = Trap()\ntraps = [trap]\ndf = pd.DataFrame({'species': ['a', None, 'b'], 'mass g': [1.5, 2, 3], 'odd': [trap] * 3})\n"
        "arr = np.zeros((2, 3))\nname = 'x' * 500\nn = 3\n"
        "def area(w, h):\n    'Width times height.'\n    return w * h\n"
    )
    kernel.run(SETUP)
    run = kernel.run("await _inspect()")
    text = json.loads(run.outputs[0]["text"])["text"]
    assert text == "\n".join(
        [
            "Trap: class Trap",
            "trap: Trap object",
            "traps: list of 1: Trap object",
            "df: DataFrame 3 rows × 3 columns",
            "  - species (str): 1 missing; e.g. a, b",
            "  - mass g (float64): 0 missing; e.g. 1.5, 2.0, 3.0",
            "  - odd (object): 0 missing; e.g. Trap object",
            "arr: numpy.ndarray 2 × 3 (float64): 0.0, 0.0, 0.0, 0.0, 0.0, …",
            f"name: str of 500 characters: {chr(39)}{'x' * 199}…",
            "n: int 3",
            "area: function (w, h): Width times height.",
        ]
    )
    unknown = json.loads(kernel.run("await _inspect('dff', 'n')").outputs[0]["text"])["text"]
    assert unknown == "dff: not defined; similar names: df\nn: int 3"


def _started():
    """True a third of a second after the first look: by then the code runs."""
    import time

    begun: list[float] = []

    def when(_run):
        begun.append(time.monotonic())
        return time.monotonic() - begun[0] > 0.6

    return when
