"""A failed cell mended by rules: the corrected cell is exactly the right one, or none is proposed."""

from __future__ import annotations

import re

import pandas as pd
import pytest

from memflush_jupyter.models.offline.analyst import respond
from memflush_jupyter.models.offline.mending import NO_CELL, UNKNOWN, answer
from memflush_jupyter.notebook.failures import failure_of
from memflush_jupyter.notebook.fixing import ASK, NO_ERROR, code_blocks, describe, known
from memflush_jupyter.notebook.reaching import Names


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "penguins.csv").write_text("a\n1\n")
    (tmp_path / "data.csv").write_text("a\n1\n")
    return tmp_path


def failed(cell, folder, **variables):
    """What the host tells about a cell that fails when it is run."""
    namespace = dict(variables)
    try:
        exec(compile(cell, "<ipython-input-1-x>", "exec"), namespace)  # noqa: S102 - the cells of this file
    except Exception as error:  # noqa: BLE001 - any error is the subject here
        failure = failure_of(error, cell, 1)
    else:
        raise AssertionError("the cell did not fail")
    return describe(failure, known(failure, Names(variables, {}, [""], {}, lambda _: None), folder))


FRAME = pd.DataFrame({"mass": [1, 2], "species": ["a", "b"]})

MENDED = [
    ("dta.head()", "data.head()"),
    ("# dta\nprint('dta', dta)", "# dta\nprint('dta', data)"),
    ("pritn(data)", "print(data)"),
    ("np.zeros(3)", "import numpy as np\nnp.zeros(3)"),
    ("df['Mass'].mean()", "df['mass'].mean()"),
    ('df[["species", "mas"]]', 'df[["species", "mass"]]'),
    ("d['colour']", "d['color']"),
    ("df.hed()", "df.head()"),
    ("df.spceies.unique()", "df.species.unique()"),
    ("text.uper()", "text.upper()"),
    ("import pandsa as pd", "import pandas as pd"),
    ("import sklearn_missing_one", "%pip install sklearn_missing_one\nimport sklearn_missing_one"),
    ("from math import sqr", "from math import sqrt"),
    ("import math\nmath.sqroot(2)", "import math\nmath.sqrt(2)"),
    ("open('dat.csv')", "open('data.csv')"),
    ("open('penguin.csv')", "open('raw/penguins.csv')"),
    ("n / zero", '(n / zero if zero != 0 else float("nan"))'),
    ("for i in range(2):\n    x = n / zero", 'for i in range(2):\n    x = (n / zero if zero != 0 else float("nan"))'),
    ("print('n is ' + n)", "print('n is ' + str(n))"),
    ("'é' + n", "'é' + str(n)"),
    ("n + 'px'", "str(n) + 'px'"),
    ("for i in n:\n    pass", "for i in range(n):\n    pass"),
    ("df[df.mass > 0 and df.mass < 2]", "df[(df.mass > 0) & (df.mass < 2)]"),
    ("print('a'", "print('a')"),
    ("print(len([1, 2])", "print(len([1, 2]))"),
    ("x = [1, 2", "x = [1, 2]"),
    ("if n\n    pass", "if n:\n    pass"),
    ("for i in [1]  # loop\n    pass", "for i in [1]:  # loop\n    pass"),
    ("x = 'abc", "x = 'abc'"),
    ("print('abc)", "print('abc')"),
    ("print 'abc'", "print('abc')"),
    ("if n = 3:\n    pass", "if n == 3:\n    pass"),
    ("x = (1))", "x = (1)"),
    ("def f():\nreturn 1", "def f():\n    return 1"),
    ("def f():", "def f():\n    pass"),
    ("x = 1\n  y = 2", "x = 1\ny = 2"),
    ("if n:\n        a = 1\n      b = 2", "if n:\n        a = 1\n        b = 2"),
    ("if n:\n\ta = 1\n        b = 2", "if n:\n    a = 1\n    b = 2"),
    ("return n", "n"),
    ("if n\n  print('a'\n", "if n:\n  print('a')\n"),
]


@pytest.mark.parametrize(("cell", "mended"), MENDED)
def test_common_errors_are_mended_exactly(cell, mended, folder, monkeypatch):
    monkeypatch.chdir(folder)
    told = failed(cell, folder, data=FRAME, df=FRAME, d={"color": 1}, text="a", n=3, zero=0)
    text = answer(told)
    (block,) = code_blocks(text) or [None]
    assert block is not None, told + text
    assert block.code.rstrip("\n") == mended.rstrip("\n")
    assert "I did not run it" in text


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("zzzqqq", "nothing here has a similar name"),
        ("df['qqqq']", "none with a similar name"),
        ("x = None\nx.upper()", "What stands before `.upper` is `None`"),
        ("1 / 0", "there is no such quotient"),
        ("n / len([])", "`len([])` gave zero"),
        ("n / zero + n / zero", "Decide what the result is then"),
        ("n()", "Brackets `[…]` take items"),
        ("[1][5]", "counting starts at 0"),
        ("float('a,5')", "pd.to_numeric"),
        ("a, b = 1, 2, 3", "number of names on the left"),
        ("assert n == 4", "A check in the code failed"),
        ("def f(): f()\nf()", "calls itself without end"),
        ("open('zzz.qqq')", "none with a similar name beside the notebook"),
        ("{[1]: 2}", "no dictionary key"),
        ("x = 1 2", "Python cannot read line 1"),
    ],
)
def test_where_no_rule_is_sure_it_explains_and_proposes_nothing(cell, said, folder, monkeypatch):
    monkeypatch.chdir(folder)
    text = answer(failed(cell, folder, df=FRAME, n=3, zero=0))
    assert said in text
    assert code_blocks(text) == []
    assert NO_CELL in text


def test_an_unknown_error_is_answered_plainly(folder):
    text = answer(failed("class OddError(Exception): pass\nraise OddError('boo')", folder))
    assert text == f"> **OddError** in line 2: boo\n\n{UNKNOWN}"


def test_a_cell_cannot_end_its_own_block_and_long_ones_are_cut(folder):
    told = failed("x = '</failed>'\nraise ValueError('</failed>')", folder)
    assert told.count("</failed>") == 1
    assert len(failed("# " + "x" * 50_000 + "\n1/0", folder)) < 10_000
    assert answer("<failed note>\nnonsense\n</failed>") == "I cannot read the failed cell."


def test_the_analyst_answers_the_last_failed_cell_and_not_an_earlier_one(folder):
    """The block stands beside the prompt, and counts only for that prompt."""
    block = {"type": "text", "text": failed("pritn(1)", folder)}
    asked = {"role": "user", "content": [{"type": "text", "text": ASK}, block]}
    request = {"messages": [asked], "tools": []}
    (reply,), stop = respond(request)
    assert stop == "end_turn"
    assert re.search(r"```python\nprint\(1\)\n```", reply["text"])
    later = {"messages": [asked, {"role": "assistant", "content": [reply]}, {"role": "user", "content": "thanks"}], "tools": []}
    assert respond(later)[0][0]["text"] == "You are welcome."
    assert NO_ERROR.startswith("No cell has failed")


def test_code_blocks_of_an_answer():
    text = "a\n\n```python\nx = 1\n```\n\n```sql\nselect 1\n```\n~~~~\ny\n```\n~~~~\n````py\n```\nz\n```\n````"
    assert [(block.code, block.language, block.python) for block in code_blocks(text)] == [
        ("x = 1", "python", True),
        ("select 1", "sql", False),
        ("y\n```", "", True),
        ("```\nz\n```", "py", True),
    ]
    assert code_blocks("no code") == []
