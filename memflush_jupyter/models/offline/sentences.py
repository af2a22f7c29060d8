"""What the analyst says of itself: what it can do, what it cannot, and what went wrong."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memflush_jupyter.models.offline import figures
from memflush_jupyter.models.offline.intent_details import FILE
from memflush_jupyter.models.offline.loading import error_sentence

if TYPE_CHECKING:
    from memflush_jupyter.models.offline.conversation import Outcome
    from memflush_jupyter.models.offline.schema import Frame, Kernel

STOP = "\x00"
"""Put before a part after which the rest of a prompt makes no sense (the data could not be loaded)."""

_CAN = """\
- load csv, tsv, parquet, xlsx and json files, and say what the kernel holds
- describe a data frame, count missing values, rows and values
- distributions, means and medians (by group), the largest and smallest rows
- compare groups (η²), correlation, outliers, trends over time, a least-squares line
- histograms, bar charts, scatter, line and box plots with matplotlib
- filters such as “only for …” or “where year > 2007”, and follow-ups such as “plot it”
- “remember that …”, and questions about what was said or found before"""


def abilities() -> str:
    """What it is and what it can do."""
    return (
        f"I am the offline analyst: rules, not a language model, so I understand plain data-analysis requests only. I "
        f"can:\n\n{_CAN}\n\nSet an API key or an endpoint for open questions."
    )


def greeting(text: str = "") -> str:
    """A short answer to small talk."""
    if re.search(r"thank|thx|great|nice|cool|perfect|谢", text, re.IGNORECASE):
        return "You are welcome."
    if re.match(r"\W*(?:ok|okay|bye)", text, re.IGNORECASE):
        return "Good."
    return "Hello. I am the offline analyst, rule-based; ask me about the data in this kernel, or “help” for what I can do."


def unknown(text: str) -> str:
    """A refusal that helps."""
    said = figures.safe(text, 120)
    return f"I do not understand “{said}”, and I do not guess: I am rule-based, not a language model. I can:\n\n{_CAN}"


def cannot(text: str, *, causal: bool) -> str:
    """A refusal of what is known to be out of reach."""
    if causal:
        return (
            "I cannot answer why, what causes what, or what you should do: data alone does not say, and I am rule-based. I can "
            "show how columns are associated, for example with “correlation between A and B” or “compare A by B”."
        )
    return f"I cannot do that (“{figures.safe(text, 120)}”): I am the rule-based offline model. I can:\n\n{_CAN}"


def noted(text: str) -> str:
    """A statement or wish was heard."""
    return f"Noted: {figures.safe(text.rstrip(' .'), 300)}."


def no_tool(name: str, code: str = "") -> str:
    """The request offers no such tool."""
    shown = f" This is the code:\n\n```python\n{code}\n```" if code else ""
    return f"The tool `{name}` is not available in this session, so I cannot do that here.{shown}"


def denied(code: str, outcome: Outcome | None = None) -> str:
    """The person said no, or nobody was there to say yes: then it says how to allow it."""
    alone = outcome is not None and "nobody is here" in outcome.text
    way = " Nobody is here to say yes; `%%agent --approve auto` or `%config MemFlush.approve = 'auto'` allows it." if alone else ""
    return f"The code was not run, because it was not approved. Nothing was computed.{way} This is what I wanted to run:\n\n```python\n{code}\n```"


def failed(tool: str, outcome: Outcome, code: str = "") -> str:
    """A tool answered with an error."""
    if outcome.denied:
        return denied(code, outcome) if code else f"`{tool}` was not approved, so I cannot go on."
    return error_sentence(outcome.text) if tool == "run_python" else f"`{tool}` failed: {figures.safe(outcome.text, 200)}"


def unreadable() -> str:
    """The output does not hold the tables that the code prints."""
    return "The code ran, but its output does not hold the figures I expected (it may have been shortened), so I give no numbers."


def columns(frame: Frame) -> str:
    """The columns of a frame."""
    body = [[figures.cell_code(c.name), figures.safe(c.dtype), str(c.missing)] for c in frame.columns]
    return f"**{figures.code(frame.name)} has {len(frame.columns)} columns.**\n\n" + figures.table(["column", "type", "missing"], body)


def variables(kernel: Kernel) -> str:
    """What the kernel holds."""
    if not kernel.frames and not kernel.others:
        return "The kernel holds no variables yet."
    lines = [
        f"- {figures.code(name)}: a data frame, {frame.rows if frame.rows is not None else '?'} rows × {len(frame.columns)} "
        f"columns: {figures.listing([c.name for c in frame.columns], 10)}"
        for name, frame in kernel.frames.items()
    ]
    lines += [f"- {figures.code(name)}: {figures.safe(kind, 100)}" for name, kind in kernel.others.items() if name not in kernel.ours]
    return "**The kernel holds:**\n\n" + "\n".join(lines)


def file_names(listing: str) -> list[str]:
    """The names in a ``list_files`` result, without their sizes."""
    lines = [line.strip().lstrip("-* ").strip() for line in listing.splitlines() if line.strip() and not line.startswith("…")]
    return [re.split(r"\s{2,}", line)[0] for line in lines]


def data_files(listing: str) -> list[str]:
    """Those of them that can be loaded."""
    return [name for name in file_names(listing) if FILE.fullmatch(name)]


def files(outcome: Outcome) -> str:
    """The files here."""
    if outcome.is_error:
        return f"The files could not be listed: {figures.safe(outcome.text, 200)}"
    names = file_names(outcome.text)
    return f"Files here: {figures.listing(names, 40)}." if names else "There are no files here."


def which_file(names: list[str]) -> str:
    """Ask which file to load."""
    return f"Which file shall I load? Data files here: {figures.listing(names, 20)}." if names else "Which file shall I load? I see no data file here."


def asks_first_request(question: str) -> bool:
    """Whether the question is about the very first request itself."""
    return bool(
        re.search(
            r"\bfirst (?:thing|question|prompt|request|message|task)\b(?! (?:you )?(?:found|computed))(?!.*\b(?:about|regarding|concerning)\b)"
            r"|我.{0,4}(?:第一个|最初)(?:的)?(?:问题|要求|请求)",
            question,
            re.IGNORECASE,
        )
    )
