"""Letting the person change a call before it runs.

A terminal opens their editor. A notebook's question takes one line only, so the call is put into a file beside the notebook,
which any front end can open; who cannot, types lines until one that holds a single dot.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

from memflush_jupyter.notebook.asking import interrupted
from memflush_jupyter.notebook.headless import in_kernel
from memflush_jupyter.notebook.signals import raising_sigint

Put = Callable[[str], Awaitable[str]]

END = "."
IN_FILE = "Change and save {file} beside the notebook, then press Enter; or type the new lines here, ended by a line with a single dot; [c]ancel: "
IN_LINES = "Type the new lines, ended by a line with a single dot; [c]ancel: "
NEXT = "Line {number} (a single dot ends): "
UNCHANGED = "Nothing was changed."


class GivenUpError(Exception):
    """The person does not go on with the change; the text says what holds now."""


async def edited(ip: Any, name: str, given: dict[str, Any], put: Put) -> dict[str, Any]:
    """The input as the person changed it.

    Raises:
        GivenUpError: they gave it up, or what they wrote is no input at all.
    """
    code = set(given) == {"code"}
    before = str(given["code"]) if code else json.dumps(given, indent=2, ensure_ascii=False)
    suffix = ".py" if code else ".json"
    if in_kernel(ip):
        after = await _in_notebook(_folder(ip), before, suffix, put)
    else:
        try:
            after = _in_editor(before, suffix)
        except KeyboardInterrupt:
            await interrupted()
    if not after.strip():
        raise GivenUpError(f"Nothing is left of it; say no if {name} shall not run.")
    if code:
        return {"code": after.rstrip("\n")} if after.rstrip("\n") != before.rstrip("\n") else given
    try:
        read = json.loads(after)
    except ValueError as error:
        raise GivenUpError(f"That is not JSON ({error}). It stays as it was.") from error
    if not isinstance(read, dict):
        raise GivenUpError('The input must be a JSON object, such as {"x": 1}. It stays as it was.')
    return read


def _folder(ip: Any) -> Path:
    session = getattr(ip, "memflush_session", None)
    return Path(session.folder) if session is not None else Path.cwd()


def _in_editor(before: str, suffix: str) -> str:
    import click

    with raising_sigint():
        try:
            return click.edit(before, extension=suffix) or before
        except click.ClickException as error:
            raise GivenUpError(f"No editor could be opened ({error.message}); set EDITOR. {UNCHANGED}") from error


async def _in_notebook(folder: Path, before: str, suffix: str, put: Put) -> str:
    with _draft(folder, before, suffix) as draft:
        answer = await put(IN_FILE.format(file=draft.name) if draft else IN_LINES)
        if answer.strip().lower() in {"c", "cancel"}:
            raise GivenUpError(UNCHANGED)
        if not answer.strip() and draft is not None:
            try:
                return draft.read_text(encoding="utf-8")
            except (OSError, ValueError) as error:
                raise GivenUpError(f"{draft.name} cannot be read. {UNCHANGED}") from error
        lines: list[str] = []
        while answer.strip() != END:
            lines.append(answer)
            answer = await put(NEXT.format(number=len(lines) + 1))
        return "\n".join(lines)


@contextlib.contextmanager
def _draft(folder: Path, text: str, suffix: str) -> Iterator[Path | None]:
    """A file of its own that holds the call, removed afterwards; ``None`` where none can be written."""
    path: Path | None = None
    for number in range(1, 100):
        candidate = folder / f"agent-edit{'' if number == 1 else f'-{number}'}{suffix}"
        try:
            with candidate.open("x", encoding="utf-8") as file:
                file.write(text + "\n")
        except FileExistsError:
            continue
        except OSError:
            break
        path = candidate
        break
    try:
        yield path
    finally:
        if path is not None:
            with contextlib.suppress(OSError):
                path.unlink()
