"""A request made definite: the analysis, the frame, the columns, the filters. The code and the answer are made from it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from memflush_jupyter.models.offline.intent import Kind
    from memflush_jupyter.models.offline.intent_details import Details
    from memflush_jupyter.models.offline.schema import Column, Frame

Operator = Literal["==", "!=", ">", ">=", "<", "<=", "between", "in", "not in", "since", "until", "after", "before", "year"]


@dataclass(frozen=True, slots=True)
class Condition:
    """A filter on one column. ``values`` hold numbers as text, or the values of a text column."""

    column: Column
    operator: Operator
    values: tuple[str, ...]

    def words(self) -> str:
        """The condition for people."""
        joined = " or ".join(self.values)
        words = {"in": "is", "not in": "is not", "between": "between", "==": "=", "since": "from", "until": "up to", "year": "in"}
        if self.operator == "between":
            joined = " and ".join(self.values)
        return f"`{self.column.name}` {words.get(self.operator, self.operator)} {joined}"


@dataclass(frozen=True, slots=True)
class Preferences:
    """What the person asked for once and for all."""

    decimals: int | None = None
    colour: str | None = None


@dataclass(frozen=True, slots=True)
class Task:
    """One analysis of one frame."""

    kind: Kind
    frame: Frame
    details: Details
    columns: tuple[Column, ...] = ()
    by: Column | None = None
    filters: tuple[Condition, ...] = ()
    preferences: Preferences = field(default_factory=Preferences)
    notes: tuple[str, ...] = ()
    taken: frozenset[str] = frozenset()

    def with_(self, **changes: object) -> Task:
        """A copy with some parts changed."""
        return replace(self, **changes)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Question:
    """The analyst cannot go on without the person: a sentence that names the candidates."""

    text: str


@dataclass(frozen=True, slots=True)
class NeedsValues:
    """The words left over may be values of text columns: they must be looked up first."""

    frame: Frame


@dataclass(frozen=True, slots=True)
class NeedsInspection:
    """The kernel must be looked at first."""
