"""Mending what was not found: names, keys, attributes, modules, files."""

from __future__ import annotations

import re

from memflush_jupyter.models.offline import figures
from memflush_jupyter.models.offline.mending_case import Case, Mended, rename, requote

_IMPORTS = {
    "pd": "import pandas as pd",
    "np": "import numpy as np",
    "plt": "import matplotlib.pyplot as plt",
    "sns": "import seaborn as sns",
    "pl": "import polars as pl",
    "sp": "import scipy as sp",
    "Path": "from pathlib import Path",
    "datetime": "from datetime import datetime",
    "timedelta": "from datetime import timedelta",
    "Counter": "from collections import Counter",
    "defaultdict": "from collections import defaultdict",
    "dataclass": "from dataclasses import dataclass",
    "partial": "from functools import partial",
    "reduce": "from functools import reduce",
    "glob": "from glob import glob",
    **{name: f"import {name}" for name in ("os", "sys", "re", "math", "json", "random", "time", "csv", "itertools", "functools", "collections", "statistics")},
}
_PACKAGES = {
    "sklearn": "scikit-learn",
    "cv2": "opencv-python",
    "PIL": "pillow",
    "yaml": "pyyaml",
    "bs4": "beautifulsoup4",
    "skimage": "scikit-image",
    "dateutil": "python-dateutil",
}
_GONE = {
    ("DataFrame", "append"): "`DataFrame.append` was removed in pandas 2; `pd.concat([a, b], ignore_index=True)` does it.",
    ("Series", "append"): "`Series.append` was removed in pandas 2; `pd.concat([a, b])` does it.",
    ("DataFrame", "ix"): "`.ix` was removed from pandas; use `.loc` for labels and `.iloc` for positions.",
    ("Series", "ix"): "`.ix` was removed from pandas; use `.loc` for labels and `.iloc` for positions.",
    ("DataFrame", "iteritems"): "`iteritems` was removed in pandas 2; it is called `items` now.",
}


def _near(case: Case) -> str:
    return case.like[0] if case.like else ""


def _also(case: Case) -> str:
    return f" (also near: {figures.listing(list(case.like[1:]), 4)})" if len(case.like) > 1 else ""


def name(case: Case) -> Mended:
    """A name that is not defined: an import that is well known, or a name like it."""
    missing, near = case.quoted, _near(case)
    code = figures.code(missing)
    if missing in _IMPORTS:
        line = _IMPORTS[missing]
        return Mended(f"{code} is not defined here: the import is missing. I add `{line}`.", f"{line}\n{case.cell}")
    if near:
        return Mended(f"{code} is not defined. {figures.code(near)} is, and it is spelt almost the same{_also(case)}.", rename(case.cell, missing, near))
    return Mended(f"{code} is not defined in this kernel, and nothing here has a similar name. Run the cell that defines it first, or define it.")


def unbound(case: Case) -> Mended:
    """A local name read before it has a value."""
    return Mended(
        f"{figures.code(case.quoted)} is assigned somewhere in the function, which makes it local, and it is read before that. Give it a value first, "
        f"pass it as an argument, or declare it `global` where the outer one is meant."
    )


def key(case: Case) -> Mended:
    """A key or column that is not there."""
    missing, near = case.quoted, _near(case)
    if near:
        return Mended(f"There is no column or key {figures.code(missing)}. There is {figures.code(near)}{_also(case)}.", requote(case.cell, missing, near))
    return Mended(
        f"There is no column or key {figures.code(missing)}, and none with a similar name in what the cell uses. "
        f"`df.columns` or `list(d)` shows those that exist."
    )


def attribute(case: Case) -> Mended:
    """An attribute that an object does not have."""
    match = re.match(r"(?:module )?'(?P<owner>[\w.]+)'(?: object)? has no attribute '(?P<name>\w+)'", case.message) or re.match(
        r"type object '(?P<owner>[\w.]+)' has no attribute '(?P<name>\w+)'", case.message
    )
    if match is None:
        return Mended("An object does not have the attribute that is asked of it.")
    owner, missing, near = match["owner"], match["name"], _near(case)
    if owner == "NoneType":
        return Mended(
            f"What stands before `.{missing}` is `None`. Something gave nothing back: many methods that change an object in place return `None`, "
            f"as does a function without `return`. Look at where it was assigned."
        )
    if (owner.rpartition(".")[2], missing) in _GONE:
        new = rename(case.cell, missing, "items", after_dot=True) if missing == "iteritems" else None
        return Mended(_GONE[owner.rpartition(".")[2], missing], new)
    if near:
        return Mended(
            f"A {figures.code(owner)} has no {figures.code(missing)}. It has {figures.code(near)}{_also(case)}.",
            rename(case.cell, missing, near, after_dot=True),
        )
    return Mended(
        f"A {figures.code(owner)} has no {figures.code(missing)}, and nothing with a similar name. "
        f"`dir(x)` lists what it has; perhaps it is of another type than expected."
    )


def module(case: Case) -> Mended:
    """A module that cannot be found: misspelt, or not installed."""
    missing, near = case.quoted, _near(case)
    top = missing.partition(".")[0]
    if near and top not in _PACKAGES:
        return Mended(
            f"There is no module {figures.code(missing)}. {figures.code(near)} is installed, and it is spelt almost the same{_also(case)}.",
            rename(case.cell, top, near),
        )
    package = _PACKAGES.get(top, top)
    named = f" (the package is called {figures.code(package)})" if package != top else ""
    return Mended(
        f"{figures.code(top)} is not installed in this kernel's environment{named}. I put `%pip install` before your code; "
        f"look whether that is the package you mean before you run it.",
        f"%pip install {package}\n{case.cell}" if re.fullmatch(r"[A-Za-z0-9._-]+", package) else None,
    )


def imported(case: Case) -> Mended:
    """A name that a module does not have."""
    missing, near = case.quoted, _near(case)
    if near:
        return Mended(f"The module has no {figures.code(missing)}. It has {figures.code(near)}{_also(case)}.", rename(case.cell, missing, near))
    return Mended(
        f"The module was found, and it has no {figures.code(missing)}: it may have been renamed, removed, or belong to another version of the package."
    )


def file(case: Case) -> Mended:
    """A file that is not there."""
    missing, near = case.quoted, _near(case)
    if near:
        return Mended(f"There is no file {figures.code(missing)}. There is {figures.code(near)}{_also(case)}.", requote(case.cell, missing, near))
    return Mended(
        f"There is no file {figures.code(missing)}, and none with a similar name beside the notebook or one folder below. Paths are relative to the kernel's "
        f"folder; `import os; os.getcwd()` shows it."
    )
