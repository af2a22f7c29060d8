"""Loading data files: which reader, into which variable, and what was found."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from memflush_jupyter.models.offline import figures
from memflush_jupyter.models.offline.code import identifier, quote
from memflush_jupyter.models.offline.printed import sections

if TYPE_CHECKING:
    from memflush_jupyter.models.offline.schema import Kernel

_READERS = {
    ".csv": "pd.read_csv({})",
    ".tsv": 'pd.read_csv({}, sep="\\t")',
    ".parquet": "pd.read_parquet({})",
    ".xlsx": "pd.read_excel({})",
    ".xls": "pd.read_excel({})",
    ".json": "pd.read_json({})",
    ".jsonl": "pd.read_json({}, lines=True)",
    ".ndjson": "pd.read_json({}, lines=True)",
}
_INTO = re.compile(r"\b(?:as|into|in(?:to)? (?:a )?(?:variable|data ?frame)(?: called| named)?|call(?:ed)? it|name(?:d)? it)\s+`?([^\W\d]\w*)`?", re.IGNORECASE)
_NOT_NAMES = {"a", "an", "the", "it", "pandas", "data", "my", "me", "well", "usual", "memory", "kernel"}
_INSTALL = {"pyarrow": "pyarrow", "fastparquet": "pyarrow", "openpyxl": "openpyxl", "xlrd": "xlrd", "palmerpenguins": "palmerpenguins", "pandas": "pandas"}


def variable(path: str, text: str, kernel: Kernel) -> str:
    """The name the data gets: the one asked for, else the file's own; never a name of the person's."""
    asked = _INTO.search(text)
    if asked and asked[1].casefold() not in _NOT_NAMES and asked[1].isidentifier():
        return kernel.free(asked[1])
    stem = PurePosixPath(path.replace("\\", "/")).name.split(".")[0]
    return kernel.free(identifier(stem))


def load_code(path: str, name: str) -> str:
    """Code that loads a file and prints what it holds."""
    suffix = re.sub(r"\.gz$", "", path.lower())
    reader = _READERS["." + suffix.rsplit(".", 1)[-1]].format(quote(path))
    return "\n".join(["import pandas as pd", "", f"{name} = {reader}", *_overview(name)])


def package_code(name: str) -> str:
    """Code that loads the penguins that the package palmerpenguins ships."""
    return "\n".join(["import pandas as pd", "from palmerpenguins import load_penguins", "", f"{name} = load_penguins()", *_overview(name)])


def _overview(name: str) -> list[str]:
    return [
        f'print("# loaded {name}")',
        'print("# rows")',
        f'print(pd.DataFrame({{"rows": [len({name})]}}).to_csv(index=False))',
        'print("# columns")',
        (
            f'about = pd.DataFrame({{"dtype": {name}.dtypes.astype(str), "missing": {name}.isna().sum(), "example": '
            f'{name}.bfill().head(1).T.squeeze(axis=1) if len({name}) else ""}})'
        ),
        'print(about.to_csv(index_label="column"))',
    ]


def load_answer(path: str, name: str, output: str, decimals: int | None) -> str | None:
    """What was loaded, in a sentence and a table."""
    tables = sections(output, frozenset({f"loaded {name}", "rows", "columns"}))
    if "columns" not in tables or "rows" not in tables:
        return None
    records = tables["columns"].records()
    body = [[figures.cell_code(r["column"]), figures.safe(r["dtype"]), r["missing"], figures.cell(r["example"], decimals)] for r in records]
    lead = f"**Loaded {figures.code(path)} as {figures.code(name)}: {tables['rows'].first()['rows']} rows and {len(records)} columns.**"
    return "\n\n".join([lead, figures.table(["column", "type", "missing", "first value"], body)])


def error_sentence(output: str) -> str:
    """What went wrong, for people: the missing package to install, the missing file, else the last line of the error."""
    module = re.search(r"No module named '([\w.]+)'|[Mm]issing optional dependency '([\w.]+)'|Unable to find a usable engine.*?(pyarrow)", output, re.DOTALL)
    if module:
        name = next(filter(None, module.groups())).split(".")[0]
        return f"That needs the package `{_INSTALL.get(name, name)}`, which is not installed here; `%pip install {_INSTALL.get(name, name)}` adds it."
    missing = re.search(r"No such file or directory: '?([^'\n]+)'?", output)
    if missing:
        return f"There is no file {figures.code(missing[1])} here."
    lines = [line.strip() for line in output.strip().splitlines() if line.strip()]
    errors = [line for line in lines if re.match(r"[\w.]*(?:Error|Exception|Interrupt|Warning)\b", line)]
    said = (errors or lines or ["no message"])[-1]
    return f"The code failed with: {figures.safe(said, 200)}"
