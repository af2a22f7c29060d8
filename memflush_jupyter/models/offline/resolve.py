"""From a clause to a task: which frame, which columns, which rows. Asks where the words allow more than one reading."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memflush_jupyter.models.offline import figures
from memflush_jupyter.models.offline.columns import mentions
from memflush_jupyter.models.offline.complete import complete
from memflush_jupyter.models.offline.filters import MARK, comparisons, values
from memflush_jupyter.models.offline.intent import Kind, kind_of
from memflush_jupyter.models.offline.intent_details import FILE, details, without_counts
from memflush_jupyter.models.offline.task import Condition, NeedsInspection, NeedsValues, Preferences, Question, Task
from memflush_jupyter.models.offline.words import IDLE, english

if TYPE_CHECKING:
    from memflush_jupyter.models.offline.columns import Mention
    from memflush_jupyter.models.offline.intent import Clause
    from memflush_jupyter.models.offline.schema import Column, Frame, Kernel

_M = "[\ue000-\uf8ff]"
ANALYSES: frozenset[Kind] = frozenset(
    {
        "describe",
        "missing",
        "distribution",
        "counts",
        "compare",
        "correlation",
        "outliers",
        "trend",
        "top",
        "regression",
        "aggregate",
        "rows",
        "columns",
        "head",
        "plot",
    }
)
_BY = re.compile(
    r"\b(?:by|per|across|among|for each|in each|within each|within|each|every|grouped by|group by|split by|between"
    r"|separates?|separating|distinguish(?:es)?|discriminates?"
    r"|differs? (?:by|between|across)|which|broken down by|of each|over|as a function of)\s*(?:the\s+)?(?:different\s+"
    r"|various\s+|individual\s+|three\s+|two\s+|all\s+)?$",
    re.IGNORECASE,
)
_SHORT = 4
"""Words of a clause that may be a follow-up without saying so."""
_STRONG_POINTER = re.compile(r"\b(?:it|them|that|this|those|these|same|again|instead)\b", re.IGNORECASE)

Resolution = Task | Question | NeedsValues | NeedsInspection | None


def resolve(clause: Clause, kernel: Kernel, previous: Task | None, preferences: Preferences, *, default: str = "") -> Resolution:
    """Make a clause definite. ``None``: it asks for nothing this model can do. ``default``: the frame just loaded."""
    if not kernel.frames:
        kind = kind_of(clause)
        if kind == "unknown" and previous is None:
            return None
        return NeedsInspection() if not kernel.inspected else _no_frame(clause, kernel)
    frame = _frame(clause, kernel, previous, default)
    if isinstance(frame, Question):
        return frame
    return _resolve_in(clause, frame, kernel, previous, preferences)


def _no_frame(clause: Clause, kernel: Kernel) -> Question:
    named = [name for name in kernel.others if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", clause.written)]
    if named:
        return Question(
            f"{figures.code(named[0])} is a {kernel.others[named[0]].strip()}, not a data frame. I analyse data frames; "
            f"`{named[0]}.to_frame()` or `pd.DataFrame({named[0]})` makes one."
        )
    return Question("There is no data frame in the kernel yet. Tell me which file to load, for example “load penguins.csv”.")


def _frame(clause: Clause, kernel: Kernel, previous: Task | None, default: str) -> Frame | Question:
    frames = kernel.frames
    named = [name for name in frames if re.search(rf"(?<![\w.]){re.escape(name)}(?![\w(])(?!\.(?:csv|tsv|xlsx?|json|parquet))", clause.written)]
    sure = [name for name in named if name.casefold() not in IDLE] or named
    others = [
        name
        for name in kernel.others
        if name.casefold() not in IDLE
        and len(name) > 1
        and re.search(rf"`{re.escape(name)}`|\b(?:of|in|describe|plot|summari[sz]e) {re.escape(name)}\W*$", clause.written)
    ]
    if others and not sure and not any(c.name == others[0] for frame in frames.values() for c in frame.columns):
        return _no_frame(clause, kernel)
    if len(sure) > 1:
        fitting = [name for name in sure if mentions(_without(clause.written, name), frames[name].columns)]
        if len(fitting) != 1:
            return Question(f"You name {figures.listing(sure)}. I look at one data frame at a time: which one?")
        sure = fitting
    if sure:
        return frames[sure[0]]
    if len(frames) == 1:
        return next(iter(frames.values()))
    if default in frames:
        return frames[default]
    fitting = [name for name, frame in frames.items() if any(not m.ambiguous for m in mentions(clause.written, frame.columns))]
    if previous is not None and previous.frame.name in frames and (previous.frame.name in fitting or len(fitting) != 1 or _STRONG_POINTER.search(clause.text)):
        return frames[previous.frame.name]
    if len(fitting) == 1:
        return frames[fitting[0]]
    return Question(f"There are several data frames in the kernel: {figures.listing(fitting or list(frames))}. Which one do you mean?")


def _without(text: str, name: str) -> str:
    return re.sub(rf"(?<![\w.]){re.escape(name)}(?!\w)", " ", text)


def marked(clause: Clause, frame: Frame, *, frame_named: bool = True) -> tuple[str, list[Mention]]:
    """The clause in English with each mention of a column as one mark, file and frame names taken out."""
    text = FILE.sub(lambda match: " " * len(match[0]), clause.written)
    if frame_named and not any(column.name == frame.name for column in frame.columns):
        text = re.sub(rf"(?<![\w.])`?{re.escape(frame.name)}`?(?!\w)", lambda match: " " * len(match[0]), text, flags=re.IGNORECASE)
    found = mentions(text, frame.columns)
    for number in range(len(found) - 1, -1, -1):
        text = text[: found[number].start] + f" {chr(ord(MARK) + number)} " + text[found[number].end :]
    return english(text), found


def _resolve_in(clause: Clause, frame: Frame, kernel: Kernel, previous: Task | None, preferences: Preferences) -> Resolution:
    text, found = marked(clause, frame)
    kind = kind_of(clause, text)
    follow = previous if previous is not None and previous.frame.name == frame.name else None
    short = follow is not None and (found or clause.points_back or len(text.split()) <= _SHORT)
    if kind in {"cannot", "causal"} or (kind not in ANALYSES and not short):
        return None
    refused = _cannot_tell(clause, frame, found)
    if refused is not None:
        return refused
    columns = [mention.column for mention in found]
    rest, conditions, used = comparisons(text, columns, frame)
    by, measures = _roles(kind, text, columns, used)
    read = values(_leftover(rest), frame, columns)
    if not isinstance(read, tuple):
        return read
    more, unexplained = read
    if unexplained:
        return _not_understood(unexplained, frame) if kind in ANALYSES else None
    measures, filters, by = _values_name_groups(kind, measures, (*conditions, *more), by, text)
    taken = frozenset({*kernel.frames, *kernel.others} - kernel.ours | {frame.name})
    task = Task(kind, frame, details(re.sub(_M, " \x00 ", text)), tuple(dict.fromkeys(measures)), by, filters, preferences, taken=taken)
    return _in_context(task, clause, follow)


def _cannot_tell(clause: Clause, frame: Frame, found: list[Mention]) -> Question | None:
    """The question to ask when the frame or a mention allows no single reading."""
    if frame.layered:
        return Question(
            f"The columns of {figures.code(frame.name)} have several levels (a MultiIndex), which I cannot analyse. Flatten them "
            f"first, e.g. `{frame.name}.columns = ['_'.join(map(str, c)) for c in {frame.name}.columns]` on a copy."
        )
    ambiguous = next((mention for mention in found if mention.ambiguous), None)
    if ambiguous is None:
        return None
    said = clause.written[ambiguous.start : ambiguous.end].strip() or "that"
    names = [column.name for column in ambiguous.candidates]
    if len(set(names)) == 1:
        return Question(
            f"{figures.code(frame.name)} has {len(names)} columns named {figures.code(names[0])}. Rename one of them, so that I can tell them apart."
        )
    return Question(f"“{said}” matches several columns of {figures.code(frame.name)}: {figures.listing(names)}. Which one do you mean?")


def _in_context(task: Task, clause: Clause, follow: Task | None) -> Task | Question | None:
    """Complete a task, with what the last one says where it leans on it."""
    if task.kind not in ANALYSES:
        if follow is None or not (task.columns or task.by or task.filters or task.details.stats or clause.points_back):
            return None
        return complete(_continue(task, follow), follow)
    pointing = bool(_STRONG_POINTER.search(clause.text))
    if follow is not None and (pointing or (not task.columns and (task.kind == "plot" or clause.points_back))):
        task = _inherit(task, follow)
    return _honest(complete(task, follow), task)


def _honest(found: Task | Question, asked: Task) -> Task | Question:
    """Say which of the columns named play no part in the answer; dropping one in silence would answer another question."""
    if not isinstance(found, Task):
        return found
    used = {*found.columns, found.by, *(condition.column for condition in found.filters)}
    lost = [column.name for column in (*asked.columns, *([asked.by] if asked.by else [])) if column not in used]
    return found.with_(notes=(*found.notes, f"Not taken into account: {figures.listing(lost)}.")) if lost else found


_READ_ELSEWHERE = re.compile(
    r"\b\d+(?:\.\d+)?[\s-]*(?:sigmas?|σ|standard deviations?|sds?|bins|decimals?(?: places)?|digits)(?!\w)|\bbins?\s*=?\s*\d+"
    r"|\b(?:more|bigger|larger|less|fewer|smaller|greater|higher|lower) than\b"
    r"|\b(?:longest|heaviest|tallest|deepest|oldest|newest|latest|shortest|lightest|youngest|earliest|ascending|descending)\b|σ|[’'](?:s|t|re|m|d|ve|ll)\b|[’']",
    re.IGNORECASE,
)


def _leftover(text: str) -> str:
    """The text without the numbers and words that `details` read."""
    return _READ_ELSEWHERE.sub(" ", without_counts(text))


def _roles(kind: Kind, text: str, columns: list[Column], used: set[int]) -> tuple[Column | None, list[Column]]:
    """Which mention is the grouping, which are measured: by the words before each."""
    by: Column | None = None
    measures: list[Column] = []
    places = [(match.start(), ord(match[0]) - ord(MARK)) for match in re.finditer(_M, text)]
    last = 0
    for start, number in places:
        if number not in used:
            before = text[last:start]
            pair = kind == "correlation" and re.search(r"\bbetween\s*(?:the\s+)?$", before, re.IGNORECASE)
            if by is None and not pair and _BY.search(before) and columns[number].role != "other":
                by = columns[number]
            else:
                measures.append(columns[number])
        last = start + 1
    return by, measures


def _values_name_groups(
    kind: Kind, measures: list[Column], filters: tuple[Condition, ...], by: Column | None, text: str
) -> tuple[list[Column], tuple[Condition, ...], Column | None]:
    """Take values that name the groups ("compare males and females") as the grouping; a column beside its value is no measure."""
    measures = [column for column in measures if not any(f.column == column and f.operator in {"in", "not in"} for f in filters)]
    if by is None and kind in {"compare", "aggregate", "plot", "distribution"}:
        several = [f for f in filters if f.operator == "in" and len(f.values) > 1]
        if len(several) == 1 and (kind == "compare" or re.search(r"\bbetween\b|\bvs\b|\bversus\b|\beach\b", text)):
            by = several[0].column
    return measures, filters, by


def _not_understood(words: list[str], frame: Frame) -> Question:
    said = ", ".join(f"“{word}”" for word in dict.fromkeys(words))
    return Question(
        f"I could not match {said} to a column or a value in {figures.code(frame.name)}, and I do not guess. Its columns are "
        f"{figures.listing([c.name for c in frame.columns], 20)}."
    )


def _continue(task: Task, previous: Task) -> Task:
    """A follow-up that names only what changes: "and for females?", "same by island", "and bill depth?"."""
    kind: Kind = "aggregate" if task.details.stats and not task.columns else previous.kind
    changed = {condition.column for condition in task.filters}
    kept = tuple(condition for condition in previous.filters if condition.column not in changed) if not task.filters else ()
    return previous.with_(
        kind=kind,
        details=task.details if kind != previous.kind else previous.details,
        frame=task.frame,
        columns=task.columns or previous.columns,
        by=task.by or (None if any(c == previous.by for c in changed) else previous.by),
        filters=(*kept, *task.filters),
        preferences=task.preferences,
        notes=(),
        taken=task.taken,
    )


def _inherit(task: Task, previous: Task) -> Task:
    """A new analysis of what was looked at before: "plot it", "correlate them", "describe those"."""
    if task.kind in {"correlation", "regression"} and len(task.columns) == 1 and previous.columns and previous.columns[0] != task.columns[0]:
        return task.with_(columns=(previous.columns[0], task.columns[0]), filters=task.filters or previous.filters)
    return task.with_(columns=task.columns or previous.columns, by=task.by or previous.by, filters=task.filters or previous.filters)
