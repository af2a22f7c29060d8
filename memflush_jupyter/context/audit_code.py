"""Files, columns and variables, in prose and in code (the audit of a compaction)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_EXTENSIONS = (
    "csv|tsv|txt|json|jsonl|ndjson|parquet|feather|arrow|xlsx?|ods|hdf5?|h5|nc|zarr|sqlite3?|db|duckdb|sql|pkl|pickle|joblib|npy|npz|mat|rds|rda|sav|dta|sas7bdat"
    "|ya?ml|toml|ini|cfg|env|md|rst|tex|bib|docx?|pptx?|pdf|html?|xml|svg|png|jpe?g|gif|tiff?|webp|bmp|geojson|shp|gpkg|kml|ipynb|py|r|rmd|jl|sh|bat|zip|gz|tar|7z|bz2|log|wav|mp3|mp4|fasta|fastq|vcf|bam"
)
_FILE = re.compile(rf"(?:\.(?:{_EXTENSIONS}))+(?![\w])(?!\()", re.IGNORECASE)
_IN_PATH = frozenset("._-@%+/\\~:")
_URL = re.compile(r"\b(?:https?|s3|gs|ftp)://[^\s<>\"'`)\]，。；、]+[^\s<>\"'`)\].,;:!?，。；、]")
_FOLDER = re.compile(r"(?<![\w/.:<])(?:~|\.{1,2}|[A-Za-z]:)?[/\\](?:[\w.@+-]+[/\\])*[\w.@+-]*\w[/\\]?(?![\w(])|(?<![\w/.:<])(?:[\w.@-]+/)+(?=[\s`\"',;)]|$)")
_LONGEST_PATH = 200

_TICKED = re.compile(r"(?<!`)`([^`\n]{1,80})`(?!`)")
_SNAKE = re.compile(r"(?<![\w./\\-])[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+(?![\w(]|[./\\]\w)")
_PLAIN = re.compile(r"[^\W\d]\w*")
_ASSIGNED = re.compile(r"^(?P<name>[^\W\d]\w{0,60})(?:\s*:\s*[\w\[\], .]+)?\s*=(?!=)\s*(?P<value>\S.*)$", re.MULTILINE)
_READ = re.compile(r"\b(?:read_\w+|load\w*|open\w*)\(")
_SUBSCRIPT = re.compile(r"(?:\.\w+|\w|\])\[\s*(?P<list>\[[^\[\]\n]{1,300}\]|(?P<quote>[\"'])[^\"'\n]{1,60}(?P=quote))\s*\](?P<set>\s*=(?!=))?")
_QUOTED = re.compile(r"[\"']([^\"'\n]{1,60})[\"']")
_NAMED_ARGUMENT = re.compile(
    r"\b(?:by|on|subset|columns|x|y|hue|index|values|column)\s*=\s*(?:\[[^\[\]\n]{1,200}\]|[\"'][^\"'\n]{1,60}[\"'])|\b(?:groupby|value_counts|sort_values|pivot)\(\s*(?:\[[^\[\]\n]{1,200}\]|[\"'][^\"'\n]{1,60}[\"'])"
)
_THROWAWAY = frozenset(
    "_ i j k x y z ax axs fig axes plt np pd tmp temp res ret out n m s t f e g ok row col label labels title data df1 df2 result results summary "
    "colors colours color colour means counts values value table line lines name names group groups stats size sizes ax1 ax2 ax3 ax4 handles true false "
    "none".split()
)


@dataclass(frozen=True, slots=True)
class Named:
    """A file, column or variable. ``start``: where it stands in its text."""

    kind: Literal["path", "column", "variable"]
    text: str
    start: int


def paths(text: str) -> Iterator[Named]:
    """Yield the files, folders and addresses of a text or of code."""
    ends: list[tuple[int, int]] = []
    if "://" in text:
        for match in _URL.finditer(text):
            ends.append(match.span())
            yield Named("path", match.group(), match.start())
    for match in _FILE.finditer(text):
        start = _left_end(text, match.start())
        if start < match.start() and not any(begin <= start < end for begin, end in ends):
            ends.append((start, match.end()))
            yield Named("path", text[start : match.end()], start)
    if "/" in text or "\\" in text:
        for match in _FOLDER.finditer(text):
            if not any(begin < match.end() and match.start() < end for begin, end in ends) and len(match.group().strip("~./\\")) > 1:
                yield Named("path", match.group(), match.start())


def _left_end(text: str, end: int) -> int:
    """Where the file name begins whose extension begins at ``end``."""
    start = end
    while start > max(0, end - _LONGEST_PATH) and (text[start - 1].isalnum() or text[start - 1] in _IN_PATH):
        start -= 1
    while start < end and text[start] in ":-+%":
        start += 1
    colon = text.rfind(":", start, end)
    if colon >= 0 and text[colon + 1 : colon + 2] not in {"/", "\\"}:
        start = colon + 1
    return start


def spoken_names(text: str, variables: set[str]) -> Iterator[Named]:
    """Yield the columns and variables that prose names: in back-ticks, or with an underscore. ``variables`` are known from code."""
    if "`" in text:
        for match in _TICKED.finditer(text):
            word = match[1].strip()
            if _PLAIN.fullmatch(word) and word.lower() not in _THROWAWAY and len(word) > 1:
                yield Named("variable" if word in variables else "column", word, match.start(1) + match[1].index(word))
    if "_" in text:
        for match in _SNAKE.finditer(text):
            yield Named("variable" if match.group() in variables else "column", match.group(), match.start())


class Code:
    """What the code of a conversation assigns and uses, cell by cell."""

    def __init__(self, cells: Sequence[str]) -> None:
        self._cells = cells
        self.assigned: dict[str, tuple[int, int, bool]] = {}
        """Each variable with the cell and place of its first assignment, and whether it holds a file that was read."""
        self.columns: dict[str, list[tuple[int, int, bool]]] = {}
        """Each column with the cells and places where it is used, and whether it is made there."""
        for number, cell in enumerate(cells):
            self._look(number, cell)

    def _look(self, number: int, cell: str) -> None:
        if "=" in cell:
            for match in _ASSIGNED.finditer(cell):
                name = match["name"]
                if name.lower() not in _THROWAWAY and len(name) > 1:
                    self.assigned.setdefault(name, (number, match.start(), bool(_READ.search(match["value"]))))
        for match in _SUBSCRIPT.finditer(cell):
            for quoted in _QUOTED.finditer(match["list"]):
                self.columns.setdefault(quoted[1], []).append((number, match.start("list") + quoted.start(1), bool(match["set"])))
        for match in _NAMED_ARGUMENT.finditer(cell):
            for quoted in _QUOTED.finditer(match.group()):
                self.columns.setdefault(quoted[1], []).append((number, match.start() + quoted.start(1), False))

    def items(self) -> Iterator[tuple[int, Named]]:
        """Yield, with its cell, what outlives the cell it stands in: read files, what several cells use, and columns that were made."""
        for name, (number, start, read) in self.assigned.items():
            if read or any(_uses(cell, name) for cell in self._cells[number + 1 :]):
                yield number, Named("variable", name, start)
        for column, uses in self.columns.items():
            made = next((use for use in uses if use[2]), None)
            if made is not None or len({number for number, _, _ in uses}) > 1:
                number, start, _ = made or uses[0]
                yield number, Named("column", column, start)


def _uses(cell: str, name: str) -> bool:
    at = cell.find(name)
    while at >= 0:
        before, after = cell[at - 1 : at], cell[at + len(name) : at + len(name) + 1]
        if not (before.isalnum() or (before in {"_", "."} and before)) and not (after.isalnum() or after == "_"):
            return True
        at = cell.find(name, at + 1)
    return False


class PathIndex:
    """The paths of some texts; two are the same when one is the end of the other."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._known: dict[str, list[list[str]]] = {}
        for text in texts:
            for found in paths(text):
                parts = path_parts(found.text)
                if parts:
                    self._known.setdefault(parts[-1], []).append(parts)

    def holds(self, path: str) -> bool:
        """Tell whether a text names the same file, perhaps with fewer or more of its folders."""
        parts = path_parts(path)
        if not parts:
            return True
        return any(known[-len(parts) :] == parts or parts[-len(known) :] == known for known in self._known.get(parts[-1], ()))


def path_parts(path: str) -> list[str]:
    """The folders and the file of a path, whatever the slashes."""
    path = re.sub(r"^\w+://", "", path)
    return [part.casefold() for part in re.split(r"[\\/]+", path) if part not in {"", ".", "~"}]
