"""Names worth keeping from code: which variable holds what, which file was read or written."""

from __future__ import annotations

import re

_READ = re.compile(r"^\s*(?P<name>[A-Za-z_]\w*)\s*=\s*[\w.]*(?P<how>(?:read_\w+|load\w*|open\w*))\(\s*[rfb]?[\"'](?P<file>[^\"'\n]{1,200})[\"']")
_WRITE = re.compile(
    r"(?:(?P<name>[A-Za-z_]\w*)\.)?(?P<how>to_(?:csv|parquet|excel|json|feather|pickle|sql|html|hdf|stata)|savefig|write_\w+|"
    r"save)\(\s*[rfb]?[\"'](?P<file>[^\"'\n]{1,200})[\"']"
)
_ASSIGN = re.compile(r"^(?P<name>[A-Za-z_]\w{1,60})\s*=\s*(?P<value>[^=\s].{0,160})$")
_COLUMN = re.compile(r"^(?P<name>[A-Za-z_]\w*)\[[\"'](?P<column>[^\"'\n]{1,80})[\"']\]\s*=\s*(?P<value>[^=\s].{0,160})$")
_OPENED = (("(", ")"), ("[", "]"), ("{", "}"))
_THROWAWAY = frozenset("_ i j k x y z ax fig axes plt np pd tmp temp res ret out n m s t f e ok".split())


def names(lines: list[str]) -> list[tuple[str, float]]:
    """Return sentences about the names in some lines of code, each with a confidence."""
    found: dict[str, tuple[str, float]] = {}
    for line in lines:
        code = line.removeprefix(">>> ").rstrip()
        for key, sentence, confidence in _line_names(code):
            found.pop(key, None)
            found[key] = (sentence, confidence)
    return list(found.values())


def _line_names(code: str) -> list[tuple[str, str, float]]:
    said: list[tuple[str, str, float]] = []
    if read := _READ.match(code):
        said.append((read["name"], f"Variable `{read['name']}` holds what was read from the file `{read['file']}`.", 0.65))
    for write in _WRITE.finditer(code):
        source = f" from `{write['name']}`" if write["name"] and write["name"] not in _THROWAWAY else ""
        said.append((write["file"], f"The file `{write['file']}` was written{source}.", 0.7))
    if said:
        return said
    if (column := _COLUMN.match(code)) and _whole(column["value"]):
        label = f"{column['name']}[{column['column']!r}]"
        return [(label, f"Column `{column['column']}` of `{column['name']}` is `{column['value'].strip()}`.", 0.6)]
    if (assign := _ASSIGN.match(code)) and assign["name"] not in _THROWAWAY and _whole(assign["value"]):
        return [(assign["name"], f"Variable `{assign['name']}` is `{assign['value'].strip()}`.", 0.6)]
    return []


def _whole(value: str) -> bool:
    """Tell whether the value ends on this line; half an expression says nothing."""
    value = value.strip()
    return not value.endswith(("\\", ",")) and all(value.count(left) == value.count(right) for left, right in _OPENED)
