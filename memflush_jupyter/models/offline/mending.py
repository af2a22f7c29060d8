"""A failed cell explained by rules, with a corrected cell where a rule is sure of one. It says so where none is."""

from __future__ import annotations

import ast
import re
import textwrap
import warnings
from collections.abc import Callable

from memflush_jupyter.models.offline import figures, mending_names, mending_syntax, mending_values
from memflush_jupyter.models.offline.mending_case import Case, Mended

_PARTS = re.compile(
    r'<cell>\n(?P<cell>.*)\n</cell>\n<error kind="(?P<kind>\w+)" line="(?P<line>\d+)">\n(?P<message>.*?)\n</error>\n'
    r"<traceback>\n.*?\n</traceback>(?:\n<known>\n(?P<known>.*?)\n</known>)?\n</failed>",
    re.DOTALL,
)
_LIKE = re.compile(r"^- like the missing one: (.*)$", re.MULTILINE)
_TYPES = re.compile(r"^- types: (.*)$", re.MULTILINE)

_RULES: dict[str, Callable[[Case], Mended]] = {
    "NameError": mending_names.name,
    "UnboundLocalError": mending_names.unbound,
    "KeyError": mending_names.key,
    "AttributeError": mending_names.attribute,
    "ModuleNotFoundError": mending_names.module,
    "ImportError": mending_names.imported,
    "FileNotFoundError": mending_names.file,
    "SyntaxError": mending_syntax.syntax,
    "IndentationError": mending_syntax.indentation,
    "TabError": mending_syntax.indentation,
    "ZeroDivisionError": mending_values.zero_division,
    "TypeError": mending_values.types,
    "ValueError": mending_values.value,
    "IndexError": mending_values.index,
    "UnicodeDecodeError": mending_values.encoding,
    "AssertionError": mending_values.assertion,
    "RecursionError": mending_values.recursion,
    "MemoryError": mending_values.memory,
}
_PARSING = frozenset({"SyntaxError", "IndentationError", "TabError"})
MOST_FAULTS = 5
"""Faults of one cell that are mended one after the other."""
UNKNOWN = "I am rule-based and have no rule for this error, so I propose nothing. A language model may know more: see “Who answers” in the README."
NO_CELL = "I have no correction that I am sure of, so I propose none."
CHECKED = "I am rule-based: I checked that this parses, not that it does what you mean, and I did not run it."


def answer(failed: str) -> str:
    """The answer to a failed cell as the host describes it."""
    case = read(failed)
    if case is None:
        return "I cannot read the failed cell."
    where = f" in line {case.line}" if case.line else ""
    said = f": {figures.safe(case.message, 300)}" if case.message else ""
    head = f"**{case.kind}**{where}{said}"
    rule = _RULES.get(case.kind)
    if rule is None:
        return f"> {head}\n\n{UNKNOWN}"
    mended = _to_the_end(case, rule(case))
    # A quotation: what a cell failed with today is nothing to remember, and nothing is learned from what an answer quotes.
    explained = f"> {head}\n>\n> {mended.why}"
    if mended.code is None or mended.code == case.cell or syntax_fault(mended.code) is not None:
        return f"{explained}\n\n{NO_CELL}"
    fence = "`" * max([3, *(len(run) + 1 for run in re.findall(r"`{3,}", mended.code))])
    did = f" {mended.did}" if mended.did else ""
    return f"{explained}{did}\n\nThe corrected cell:\n\n{fence}python\n{mended.code}\n{fence}\n\n{CHECKED}"


def read(failed: str) -> Case | None:
    """The case in the host's block, or ``None`` when it is not in the form that is known."""
    match = _PARTS.search(failed)
    if match is None:
        return None
    known = match["known"] or ""
    like, types = _LIKE.search(known), _TYPES.search(known)
    pairs = [item.rpartition(" is ") for item in types[1].split(", ")] if types else []
    return Case(
        match["cell"], match["kind"], match["message"], int(match["line"]), tuple(like[1].split(", ")) if like else (), {name: kind for name, _, kind in pairs}
    )


def _to_the_end(case: Case, mended: Mended) -> Mended:
    """A cell that does not parse may hold further faults of the same kind: mend them too, some at most."""
    for _ in range(MOST_FAULTS):
        fault = syntax_fault(mended.code) if mended.code is not None and case.kind in _PARSING else None
        if fault is None or mended.code is None:
            break
        more = _RULES[type(fault).__name__](Case(mended.code, type(fault).__name__, str(fault.msg), fault.lineno or 0))
        if more.code is None or more.code == mended.code:
            break
        mended = Mended(mended.why, more.code, " ".join(dict.fromkeys(part for part in (mended.did, more.did) if part)))
    return mended


def syntax_fault(code: str) -> SyntaxError | None:
    """Why a cell is no Python, its magics and shell lines left out; top-level ``await`` is allowed. ``None``: it is."""
    # The shell takes away the indent of the first line from every line.
    plain = textwrap.dedent("\n".join(re.sub(r"^(\s*)[%!].*$", r"\1pass", line) for line in code.splitlines()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(plain, "<cell>", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        except SyntaxError as error:
            return error
        except (ValueError, RecursionError, MemoryError) as error:
            return SyntaxError(str(error))
    return None
