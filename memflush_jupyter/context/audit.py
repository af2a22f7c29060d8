"""What a compaction lost, and what its summary says that stands nowhere (D13).

The numbers, dates, names, files, columns, variables, decisions, constraints and instructions of the part that left the context are
looked for in the summary, in memory and in the messages that stay. Pure and without a model. What counts
as the same in another notation stands with each kind, in the modules ``audit_…`` beside this one.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal

from memflush_jupyter.context.audit_code import PathIndex
from memflush_jupyter.context.audit_dates import Moment, MomentIndex
from memflush_jupyter.context.audit_extract import Found, extract, lexicon, stated
from memflush_jupyter.context.audit_names import Name, NameIndex
from memflush_jupyter.context.audit_numbers import Number, NumberIndex
from memflush_jupyter.context.audit_sentences import SentenceIndex
from memflush_jupyter.context.audit_sources import parts_of, spoken_form, text_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memflush_jupyter.trace.models import Message

Kind = Literal["number", "date", "name", "path", "column", "variable", "decision", "constraint", "instruction"]

KINDS: Final[tuple[Kind, ...]] = ("number", "date", "name", "path", "column", "variable", "decision", "constraint", "instruction")
RANK: Final = {kind: place for place, kind in enumerate(("instruction", "constraint", "decision", "date", "number", "name", "path", "column", "variable"))}
"""What is missed most comes first, wherever a list is cut."""

_JOINS: Final = frozenset(".,:/'’_-−+$€£¥@#\\")
LISTED: Final = 60
"""Missing items that are kept with the record of a compaction; all are counted."""


@dataclass(frozen=True, slots=True)
class Item:
    """Something a person would call lost: what it is, the sentence it stands in, and the message that said it."""

    kind: Kind
    text: str
    trace: str
    sequence: int
    origin: Literal["user", "agent", "tool"] = "user"
    sentence: str = ""


@dataclass(frozen=True, slots=True)
class Untraceable:
    """A number, date or name of the summary that stands nowhere in what it summarises (D13)."""

    kind: Kind
    text: str
    sentence: str = ""


@dataclass(frozen=True, slots=True)
class Audit:
    """The findings. ``checked`` counts the different items of the removed part; ``missing`` holds all that were not found, in order."""

    checked: int
    missing: tuple[Item, ...]
    untraceable: tuple[Untraceable, ...] = ()

    @property
    def score(self) -> float:
        """The share of the items that summary, memory and tail hold, 0-1; 1 where there was nothing to lose."""
        return 1.0 if not self.checked else 1 - len(self.missing) / self.checked

    def as_data(self, recovered: Sequence[Item] = ()) -> dict[str, Any]:
        """The findings as they are kept: the worst losses first, at most :data:`LISTED`. ``recovered`` were written to memory afterwards."""
        saved = {(item.kind, item.text, item.sequence) for item in recovered}
        ordered = sorted(self.missing, key=lambda item: (RANK[item.kind], item.sequence))
        listed = [
            {"kind": one.kind, "text": one.text, "trace": one.trace, "sequence": one.sequence, "recovered": (one.kind, one.text, one.sequence) in saved}
            for one in ordered[:LISTED]
        ]
        lost = len(self.missing) - len(saved)
        return {
            "score": round(1.0 if not self.checked else 1 - lost / self.checked, 4),
            "score_before": round(self.score, 4),
            "checked": self.checked,
            "missing": listed,
            "missing_total": len(self.missing),
            "recovered": len(saved),
            "untraceable": [asdict(one) for one in self.untraceable[:LISTED]],
            "untraceable_total": len(self.untraceable),
        }


def audit(removed: Sequence[Message], *, summary: str, memory: str = "", tail: Sequence[Message] = (), beside: str = "") -> Audit:
    """Look for what ``removed`` says in ``summary``, ``memory`` and ``tail``.

    Args:
        removed: the messages that leave the context, the previous summary among them (D6).
        summary: the new summary, without its tags.
        memory: the memory files' text.
        tail: the messages that stay, as they are sent.
        beside: what else stands in the summary's message: open goals and the last request, word for word.
    """
    parts = parts_of(removed)
    found = extract(parts)
    held = Held([summary, beside, memory, *(text_of(message) for message in tail)])
    missing = tuple(_item(one) for one in found if not held.holds(one))
    return Audit(len(found), missing, _untraceable(summary, removed))


def _item(found: Found) -> Item:
    return Item(found.kind, found.text, found.part.trace, found.part.sequence, found.part.origin, found.sentence)


def _untraceable(summary: str, removed: Sequence[Message]) -> tuple[Untraceable, ...]:
    texts = [text_of(message) for message in removed]
    claims = stated(summary, lexicon([*texts, summary]))
    if not claims:
        return ()
    held = Held(texts)
    return tuple(Untraceable(one.kind, one.text, one.sentence) for one in claims if not held.holds(one))


class Held:
    """Texts in which items are looked for; each index is made when the first item of its kind asks for it."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = [text for text in texts if text]

    @cached_property
    def norm(self) -> str:
        """All words in small letters between single blanks."""
        return f" {' '.join(spoken_form(text) for text in self._texts)} "

    @cached_property
    def _numbers(self) -> NumberIndex:
        return NumberIndex(self._texts)

    @cached_property
    def _moments(self) -> MomentIndex:
        return MomentIndex(self._texts)

    @cached_property
    def _names(self) -> NameIndex:
        return NameIndex(self._texts, self.norm)

    @cached_property
    def _paths(self) -> PathIndex:
        return PathIndex(self._texts)

    @cached_property
    def _sentences(self) -> SentenceIndex:
        return SentenceIndex(self._texts)

    def _verbatim(self, words: str) -> bool:
        """Whether these characters stand there, with nothing before or after that would make them another number."""
        for text in self._texts:
            at = text.find(words)
            while at >= 0:
                before, after = text[max(0, at - 1) : at], text[at + len(words) : at + len(words) + 2]
                joined = after[:1].isalnum() or (after[:1] in _JOINS and after[1:].isdigit()) or (after[:1] == "/" and after[1:].isalpha())
                if not joined and not before.isalnum() and before not in _JOINS:
                    return True
                at = text.find(words, at + 1)
        return False

    def holds(self, found: Found) -> bool:
        """Tell whether an item stands in one of the texts, in any notation."""
        value = found.value
        if isinstance(value, Number):
            return self._verbatim(value.text) or self._numbers.holds(value)
        if isinstance(value, Moment):
            return self._moments.holds(value)
        if isinstance(value, Name):
            return self._names.holds(value)
        if found.kind == "path":
            return self._paths.holds(found.text)
        if found.kind in {"column", "variable"}:
            return f" {spoken_form(found.text)} " in self.norm
        return f" {spoken_form(found.text)} " in self.norm or self._sentences.holds(found.text)
