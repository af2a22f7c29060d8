"""Notes as bullets, appended to the day's file so that they render as bullets whatever a person left there (C1, C2)."""

from __future__ import annotations

import contextlib
import re
import unicodedata
from typing import TYPE_CHECKING, Final

from memflush_jupyter.errors import MemoryFileError
from memflush_jupyter.memory import names as rules
from memflush_jupyter.memory import provenance

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from memflush_jupyter.memory.files import MemoryFolder
    from memflush_jupyter.memory.provenance import Origin

_ESCAPED: Final = re.compile(r"^(\d{0,9})\\(.)")
_BLOCK_START: Final = re.compile(
    r"(?:[-+*]|\d{1,9}[.)]|#{1,6})(?=\s|$)|[-_*](?=[-_* ]+$)|>|`{3,}|~{3,}|<(?=[A-Za-z/?])(?![A-Za-z][A-Za-z0-9+.-]*:)|\[(?=[^\]]*\]:)"
)


def render_note(note_id: str, text: str, trace: str | None, sequence: int | None, origin: Origin, floor: bool = False) -> str:
    """Return a note as one bullet line with its source, without a line ending.

    Text of several lines is folded into one. What would make it something else than the text of a bullet (a heading, a fence, a
    nested list, a comment of its own that forges a source) is escaped, so that it reads the same and means nothing.

    Raises:
        MemoryFileError: the text is empty, or an identifier cannot stand in the comment.
    """
    words = " ".join(_clean(text).split())
    if not words:
        raise MemoryFileError("A note needs some text; there was none to write.")
    source = provenance.render(provenance.Provenance(note_id, trace, sequence, origin, floor))
    return f"- {_plain(words)} {source}"


def _clean(text: str) -> str:
    """Drop control characters other than blanks, and make lone surrogates visible: neither belongs in a file of text."""
    kinds = {"Cc": "", "Cs": "\ufffd"}
    return "".join(character if character.isspace() else kinds.get(unicodedata.category(character), character) for character in text)


def _plain(words: str) -> str:
    words = words.replace("<!", "&lt;!").replace("-->", "--&gt;")
    start = _BLOCK_START.match(words)
    if start is None:
        return words
    position = start.end() - 1 if start[0][0].isdigit() else 0
    return f"{words[:position]}\\{words[position:]}"


def note_text(line: str) -> str:
    """Return what a bullet line says, without marker and source; where ``render_note`` made the line, without its escapes too."""
    words = provenance.strip(line).strip().removeprefix("- ")
    if provenance.parse(line) is None:
        return words
    plain = _ESCAPED.sub(r"\1\2", words, count=1)
    return (plain if _plain(plain) == words else words).replace("&lt;!", "<!").replace("--&gt;", "-->")


def append_notes(folder: MemoryFolder, lines: Sequence[str], *, file: str | None = None) -> str:
    """Append rendered notes to the day's file, or to a topic or declared file (G7), and return its logical name.

    The day is that of the moment of the write (C1). A note whose id already stands in the file is not written again (C9). A new
    file begins with a heading; nothing is created when nothing is left to write.

    Raises:
        MemoryFileError: the file is not one that notes go to, or cannot be written; then nothing was.
    """
    with folder.locked():
        name = folder.append_target(file)  # after waiting for the lock: midnight may have passed
        folder.append_built(name, lambda existing: compose(existing, lines, title=_title(name)))
    return rules.logical(name)


def _title(name: str) -> str:
    return name.rpartition("/")[2].removesuffix(".md")


def compose(existing: str | None, lines: Iterable[str], *, title: str) -> str:
    """Return what to append to a file's text so that ``lines`` are ordinary bullets after it (C2). Pure.

    ``existing`` is ``None`` or blank for a new file, which then gets ``title`` as its heading.
    """
    from memflush_jupyter.memory.document import BOM, ending, newline

    text = existing or ""
    known = provenance.ids(text)
    fresh = [line for line in dict.fromkeys(lines) if (source := provenance.parse(line)) is None or source.id not in known]
    if not fresh:
        return ""
    end = newline(text)
    notes = "".join(line + end for line in fresh)
    if not text.removeprefix(BOM).strip():
        return f"{_repair(text, end)}# {title}{end}{end}{notes}"
    close, joins = ending(text)
    before = _repair(text, end) + (close + end if close else "")
    apart = "" if joins or (not close and _ends_blank(text)) else _blank(text + before, end)
    return f"{before}{apart}{notes}"


def _repair(text: str, end: str) -> str:
    return "" if not text.removeprefix("\ufeff") or text.endswith(("\n", "\r")) else end


def _ends_blank(text: str) -> bool:
    return re.search(r"(?:\r\n|\r(?!\n)|\n)[ \t]*(?:\r\n|\r|\n)\Z", text) is not None


def _blank(text: str, end: str) -> str:
    """Return an ending that makes a blank line: after a lone carriage return a line feed would only complete it."""
    return "\r\n" if text.endswith("\r") else end


def written_ids(folder: MemoryFolder, ids: Iterable[str]) -> dict[str, str]:
    """Return which of these notes already stand in a file, and in which (canonical name): asked after a restart (C9)."""
    wanted = set(ids)
    found: dict[str, str] = {}
    for name in reversed(folder.names()):
        if wanted <= found.keys():
            break
        with contextlib.suppress(MemoryFileError):  # a file that cannot be read now is looked at again at the next start
            found |= {note: name for note in provenance.ids(folder.read(name)) & wanted if note not in found}
    return found
