"""The tables that the analyst's code prints, read back exactly.

Each section is a line ``# title`` followed by CSV. ``to_csv`` writes numbers so that they read back to the same value,
and the csv reader keeps a quoted line break inside its cell, so data cannot pose as a section.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass

csv.field_size_limit(10_000_000)


@dataclass(frozen=True, slots=True)
class Table:
    """One printed section: header cells and rows of cells, all text."""

    header: list[str]
    rows: list[list[str]]

    def column(self, name: str) -> list[str]:
        """The cells below one header; empty when there is no such header."""
        if name not in self.header:
            return []
        at = self.header.index(name)
        return [row[at] if at < len(row) else "" for row in self.rows]

    def records(self) -> list[dict[str, str]]:
        """Rows as dictionaries."""
        return [dict(zip(self.header, row, strict=False)) for row in self.rows]

    def first(self) -> dict[str, str]:
        """The first row, or an empty dictionary."""
        return self.records()[0] if self.rows else {}


def sections(text: str, titles: frozenset[str]) -> dict[str, Table]:
    """Split printed output into its tables; only known titles open a section, the last of a title wins."""
    found: dict[str, list[list[str]]] = {}
    current: list[list[str]] | None = None
    for row in csv.reader(io.StringIO(text, newline="")):
        if len(row) == 1 and row[0].startswith("# ") and row[0][2:].strip() in titles:
            current = found[row[0][2:].strip()] = []
        elif not row:
            current = None
        elif current is not None:
            current.append(row)
    return {title: Table(rows[0], rows[1:]) for title, rows in found.items() if rows}
