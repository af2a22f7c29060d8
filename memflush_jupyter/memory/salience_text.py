"""What of a message is prose: injected blocks, code, tables and tracebacks are told apart before anything is read.

The floor reads whole conversations, and most of their bytes are not sentences: fenced and bare code, printed data
frames, tracebacks, our own recalled notes. Each line gets one kind; neighbouring prose lines that were wrapped by hand
become one paragraph; a bullet knows the line that introduces it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

LineKind = Literal["prose", "bullet", "code"]

_INJECTED = re.compile(
    r"<(?P<tag>recalled|memory|memories|notes|candidates|notices?|snapshot|knowledge|goals|summary|earlier|system-reminder|"
    r"memory_[a-z_]+)\b[^>\n]*>[\s\S]*?</(?P=tag)>"
    r"|<(?:recalled|memory)\b[^>\n]*>[\s\S]*\Z",
    re.IGNORECASE,
)
_COMMENT = re.compile(r"<!--[\s\S]*?(?:-->|\Z)")
_FENCE = re.compile(r"^\s{0,8}(`{3,}|~{3,})")
_HEADING = re.compile(r"^\s{0,3}#{1,6}\s")
_BULLET = re.compile(r"^\s*(?:[-*+•·]\s+|\(?\d{1,3}[.)]\s+|（?[一二三四五六七八九十\d]{1,3}[、）]\s*)(?=\S)")
_RULE = re.compile(r"^[\s\-=_*~.+|:─━═│┃┌┐└┘├┤┬┴┼]+$")
_TRACEBACK = re.compile(r"^\s*(?:Traceback \(most recent call last\)|-{20,}$|[A-Za-z_.]*(?:Error|Exception|Warning|Interrupt)\b.*Traceback)")
_TRACEBACK_LINE = re.compile(r"^\s*(?:File \"|File ~?/|-{2,}> ?\d+|\d+ .*|[~^]+\s*$|Cell In\[|During handling|The above exception)|^\s{2,}\S|^\s*$")
_ERROR_LINE = re.compile(r"^(?:[A-Za-z_][\w.]*\.)?[A-Z]\w*(?:Error|Exception|Warning|Interrupt|Exit)(?::|$)|^\S+:\d+: \w+Warning")
_CODE = re.compile(
    r"^\s*(?:>>> |\.\.\. |In ?\[\d*\]:|Out ?\[\d*\]:|import \w|from [\w.]+ import|def \w+\s*\(|async |class \w+[\s(:]|@\w[\w.]*(?:\(|$)|with .+:\s*$|"
    r"for \w.* in .+:\s*$|while .+:\s*$"
    r"|(?:el)?if .+:\s*$|else:\s*$|try:\s*$|except\b.*:\s*$|finally:\s*$|return\b(?!.*\.\s*$)|raise \w+|print\s*\(|[%!]{1,2}[a-z]\w*|\$ \w|pip install |"
    r"conda install |SELECT\s.+\sFROM\s|#\s?\w+.*=|[)\]}]+[,;]?\s*$"
    r"|[A-Za-z_][\w.]*(?:\[[^\]]*\])*(?:\s*,\s*[A-Za-z_][\w.]*)*\s*(?:[-+*/|&]?=)(?!=)\s*\S|[A-Za-z_][\w.]*(?:\[[^\]]*\])*(?:\.\w+)?\(.*\)?[;,]?\s*$|"
    r"\.\w+\(.*|[A-Za-z_]\w*(?:\.\w+)+\s*$|[A-Za-z_]\w*\[.+\]\s*$)"
)
_PROSE_AFTER_EQUALS = re.compile(r"=\s*[-+]?[\d.,]+\s*\S*\s+\S+\s+\S+")
_COLUMNS = re.compile(r"\S(?: {2,}|\t)(?=\S)")
_CSV = re.compile(r"^[^,\s]*(?:[^,]*),[^\s,]*(?:,[^\s,]*)+$")
_NUMBERS_ONLY = re.compile(r"^[\s\d.,;:%eE+\-\[\]()|/NaN<>]+$")
_INDEX_ROW = re.compile(r"^\s*\S+\s+[-+]?[\d.]+(?:[eE][-+]?\d+)?\s*$")
_ENDS = (".", "!", "?", "。", "！", "？", ":", "：", ";", "；")
_WRAPPED = 50
_LOOKED_AT = 400
_FEWEST_WORDS = 4
_PROSE_WORD = re.compile(r"[A-Za-z]{2,}|[\u4e00-\u9fff]")
_SURE_CODE = re.compile(r"^(?:import|from|print|>>>|%|!)")


@dataclass(frozen=True, slots=True)
class Passage:
    """One paragraph or bullet of prose, or one run of code. ``lead``: the line ending in a colon that introduces a bullet."""

    kind: LineKind
    text: str
    lead: str = ""


def without_injected(text: str) -> str:
    """Remove what we put there ourselves: recalled notes, memory blocks, candidates, comments (G6: never learned again)."""
    if "<" not in text:
        return text
    return _COMMENT.sub(" ", _INJECTED.sub("\n", text))


def passages(text: str) -> list[Passage]:
    """Return the prose and code of a message in order; tables, rules, headings and tracebacks are left out."""
    found: list[Passage] = []
    lead = fence = ""
    in_traceback = False
    for line in without_injected(text).splitlines():
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence):
                fence = ""
            else:
                found.append(Passage("code", line))
        elif mark:
            fence = mark[1]
        elif not line.strip():
            in_traceback = False
            _close(found)
        elif in_traceback or _TRACEBACK.match(line):
            in_traceback = not _ERROR_LINE.match(line)
        else:
            lead = _add_line(found, line, lead)
    return [passage for passage in found if passage.text]


def _add_line(found: list[Passage], line: str, lead: str) -> str:
    """Add a line outside of fences and tracebacks; return the lead that holds for bullets after it."""
    kind = line_kind(line)
    if kind == "skip":
        return ""
    if kind == "code":
        found.append(Passage("code", line))
        return lead
    return _add_prose(found, line, lead)


def _close(found: list[Passage]) -> None:
    """A blank line ends a paragraph: an empty passage keeps the next line from being joined to it."""
    if found and found[-1].text and found[-1].kind != "code":
        found.append(Passage("prose", ""))


def _add_prose(found: list[Passage], line: str, lead: str) -> str:
    """Add a line of prose; return the lead that holds for bullets after it."""
    bullet = _BULLET.match(line)
    if bullet:
        found.append(Passage("bullet", line[bullet.end() :].strip(), lead))
        return lead
    text = line.strip()
    last = found[-1] if found else None
    if last and last.text and last.kind != "code" and not last.text.endswith(_ENDS) and _continues(last.text, text, indented=line[:1].isspace()):
        found[-1] = Passage(last.kind, f"{last.text} {text}", last.lead)
        return lead
    found.append(Passage("prose", text))
    return text.rstrip("*_ ") if text.rstrip("*_ ").endswith((":", "：")) else ""


def _continues(before: str, text: str, *, indented: bool) -> bool:
    return (len(before) >= _WRAPPED or indented) and (text[0].islower() or text[0].isdigit())


def line_kind(line: str) -> Literal["prose", "code", "skip"]:
    """Tell prose, code, and what is neither (table rows, rules, headings, numbers, error lines)."""
    line = line[:_LOOKED_AT]
    stripped = line.strip()
    if stripped.startswith("|") or _RULE.match(stripped) or _HEADING.match(line) or _NUMBERS_ONLY.match(stripped) or _ERROR_LINE.match(stripped):
        return "skip"
    if _is_table_row(stripped):
        return "skip"
    if _CODE.match(line) and not _looks_like_prose(stripped):
        return "code"
    return "prose"


def _is_table_row(line: str) -> bool:
    gaps = len(_COLUMNS.findall(line))
    return gaps > 1 or bool(_CSV.match(line)) or bool(_INDEX_ROW.match(line) and (gaps == 1 or line.split(maxsplit=1)[0].isidentifier()))


def _looks_like_prose(line: str) -> bool:
    """A line such as ``slope = 49.7 g per mm of flipper length.`` is a sentence although it holds an equals sign."""
    if line.endswith((".", "。")) and " " in line and not line.endswith("..."):
        return len(_PROSE_WORD.findall(line)) >= _FEWEST_WORDS and not _SURE_CODE.match(line)
    return bool(_PROSE_AFTER_EQUALS.search(line))
