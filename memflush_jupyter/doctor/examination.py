"""The examination: each part is looked at by itself, so that one that breaks down hides no other."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from memflush_jupyter.doctor import folder, machine, model
from memflush_jupyter.doctor.report import Check, Report

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from memflush_jupyter.config import MemFlush


@dataclass(frozen=True)
class Place:
    """Where and with what one looks.

    ``model``: the id chosen in this kernel, empty for the configured one. ``notebook``: its path and how it was found; ``None`` from a
    shell. ``answers``: whether a person can be asked; ``None`` from a shell.
    """

    config: MemFlush
    folder: Path
    environ: Mapping[str, str]
    redact: Callable[[str], str]
    model: str = ""
    notebook: tuple[str, str] | None = None
    answers: bool | None = None
    versions: Mapping[str, str] = field(default_factory=dict)


def examine(place: Place) -> Report:
    """Look at everything. Nothing is created, nothing is changed, and nothing is asked that costs money."""
    parts: list[tuple[str, Callable[[Place], list[Check]]]] = [
        ("options", machine.options),
        ("model", model.look),
        ("encodings", model.encodings),
        ("memory folder", folder.memory),
        ("store", folder.store),
        ("notebook", machine.notebook),
        ("stdin", machine.answers),
        ("lab extension", machine.lab),
        ("versions", machine.versions),
    ]
    checks: list[Check] = []
    for name, look in parts:
        try:
            checks += look(place)
        except Exception as error:  # noqa: BLE001 - a doctor who falls ill tells of it and goes on
            checks.append(
                Check(name, "broken", f"could not be looked at: {type(error).__name__}: {error}", "Please report this as a fault of memflush-jupyter.")
            )
    return Report(tuple(Check(check.name, check.state, place.redact(check.seen), place.redact(check.mend)) for check in checks))
