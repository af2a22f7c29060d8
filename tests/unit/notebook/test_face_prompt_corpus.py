"""The braces test: every cell of a hundred real notebooks, pasted as a prompt, comes through unchanged apart from names that exist.

Notebooks are those that the installed packages ship, and those below ``build/notebooks``, where ``make test`` puts the examples
of HoloViews and hvPlot (``tools/real_notebooks.sh``). Where that is too few, documentation and doctests of installed packages stand in: a file is a
notebook, its paragraphs and examples are the cells.
"""

from __future__ import annotations

import json
import keyword
import re
import sysconfig
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from memflush_jupyter.notebook.interpolate import interpolate
from memflush_jupyter.notebook.reaching import Names
from memflush_jupyter.notebook.references import find

ROOT = Path(__file__).resolve().parents[3]
WANTED = 100
MOST_FILES = 400
VALUE = "«value»"


class Cell(NamedTuple):
    """One cell, and where it is from."""

    source: str
    code: bool
    file: str


def notebook_cells(path: Path) -> list[Cell]:
    try:
        cells = json.loads(path.read_text(encoding="utf-8")).get("cells", [])
    except (ValueError, OSError):
        return []
    return [Cell("".join(cell["source"]), cell["cell_type"] == "code", str(path)) for cell in cells if isinstance(cell, dict) and "source" in cell]


def document_cells(path: Path) -> list[Cell]:
    text = path.read_text(encoding="utf-8", errors="replace")[:100_000]
    return [Cell(part, path.suffix == ".py", str(path)) for part in re.split(r"\n{3,}" if path.suffix == ".py" else r"\n{2,}", text) if part.strip()]


@cache
def corpus() -> tuple[list[Path], list[Path], list[Cell]]:
    """Notebooks, the files that stand in for more, and all their cells."""
    places = {Path(sysconfig.get_path(name)) for name in ("purelib", "platlib")} | {
        Path(sysconfig.get_path("data")) / "share",
        ROOT / "build" / "notebooks",
        ROOT / "notebooks",
    }
    notebooks = sorted({path for place in places if place.is_dir() for path in place.rglob("*.ipynb") if ".ipynb_checkpoints" not in path.parts})
    cells = [cell for path in notebooks for cell in notebook_cells(path)]
    documents: list[Path] = []
    if len(notebooks) < WANTED:
        site = Path(sysconfig.get_path("purelib"))
        found = sorted(path for ending in ("*.py", "*.md", "*.rst") for path in site.rglob(ending) if 500 < path.stat().st_size < 100_000)
        braced = [path for path in found if re.search(r"\{[A-Za-z]\w*\}", path.read_text(encoding="utf-8", errors="ignore"))]
        documents = braced[:: max(len(braced) // MOST_FILES, 1)]
        cells += [cell for path in documents for cell in document_cells(path)]
    return notebooks, documents, cells


def every_name(source: str) -> Iterator[str]:
    yield from (name for name in re.findall(r"\{([^\W\d]\w*)", source) if not keyword.iskeyword(name))


def test_the_corpus_is_a_hundred_notebooks_or_what_stands_for_them(record_property: Callable[[str, object], None]) -> None:
    notebooks, documents, cells = corpus()
    for name, found in (("notebooks", notebooks), ("documents", documents), ("cells", cells)):
        record_property(name, len(found))
    assert len(notebooks) + len(documents) >= WANTED
    assert len(cells) >= 20 * WANTED
    assert sum("{" in cell.source for cell in cells) >= WANTED


def test_cells_of_real_notebooks_come_through_byte_for_byte_where_no_name_exists() -> None:
    nothing = Names({}, {}, [""], {}, lambda _: None)
    for cell in corpus()[2]:
        filled = interpolate(cell.source, nothing, vision=True)
        assert (filled.text, filled.beside, filled.lines) == (cell.source, [], []), cell.file


def test_only_names_that_exist_change_in_real_notebooks_and_no_code_does() -> None:
    """The hardest case: every word after a brace is the name of a variable."""
    for cell in corpus()[2]:
        names = dict.fromkeys(every_name(cell.source), VALUE)
        filled = interpolate(cell.source, Names(names, {}, [""], {}, lambda _: None), vision=False)
        rebuilt, place = [], 0
        for reference in find(cell.source):
            if reference.head == "name" and reference.name in names and not reference.path and not reference.name.startswith("_"):
                rebuilt += [cell.source[place : reference.start], VALUE]
                place = reference.end
        assert filled.text == "".join([*rebuilt, cell.source[place:]]), cell.file
        if cell.code and parses(cell.source):
            assert filled.text == cell.source, cell.file


def parses(source: str) -> bool:
    try:
        tree = compile(source, "<cell>", "exec", 0x400 | 0x2000, dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return bool(tree.body)


@pytest.mark.parametrize("fenced", [True, False])
def test_names_in_prose_around_a_real_cell_are_filled_and_the_cell_is_not(fenced: bool) -> None:
    names = Names({"target": "mass"}, {}, [""], {}, lambda _: None)
    for cell in [cell for cell in corpus()[2] if cell.code and "```" not in cell.source and "~~~" not in cell.source][:2000]:
        pasted = f"```python\n{cell.source}\n```" if fenced else cell.source
        filled = interpolate(f"What does this do to {{target}}?\n\n{pasted}", names, vision=False)
        assert filled.text.endswith(f"\n\n{pasted}"), cell.file
        if fenced or "`" not in cell.source:
            assert filled.text.startswith("What does this do to mass?\n"), cell.file
