"""What surrounds the agent: options that were given, the notebook, the person, JupyterLab, and the versions of what it stands on."""

from __future__ import annotations

import os
import platform
import sqlite3
import sys
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from memflush_jupyter.doctor.report import Check

if TYPE_CHECKING:
    from memflush_jupyter.doctor.examination import Place

DISTRIBUTION = "memflush-jupyter"
LAB_EXTENSION = "memflush-jupyter"
_SHOWN = ("ipykernel", "ipython", "jupyterlab", "anthropic")
OLDEST_PYTHON = (3, 11)


def options(place: Place) -> list[Check]:
    """What was wrong in configuration files and variables."""
    faults = place.config.faults
    if not faults:
        changed = sum(place.config.source(name) != "default" for name in place.config.options)
        return [Check("options", "ok", f"{changed} set, the others at their default (`%agent config` lists them)")]
    return [Check("options", "broken" if fault.held else "warning", "one could not be used", fault.sentence) for fault in faults]


def notebook(place: Place) -> list[Check]:
    """Where the notebook is, and how that was found."""
    if place.notebook is None:
        return [Check("notebook", "n/a", f"looked at from a shell, for notebooks in {place.folder}")]
    path, how = place.notebook
    return [Check("notebook", "ok", f"{path or place.folder} ({how})")]


def answers(place: Place) -> list[Check]:
    """Whether the person can be asked before agent code runs."""
    policy = place.config.approve
    if place.answers is None:
        return [Check("stdin", "n/a", "only a running notebook can tell whether you can be asked")]
    if place.answers:
        return [Check("stdin", "ok", "you can be asked before code runs")]
    if policy in {"auto", "deny"}:
        return [Check("stdin", "ok", f"nobody can be asked here; the policy is '{policy}'")]
    return [
        Check(
            "stdin", "warning", "nobody can be asked here, so agent code does not run", "Declare `%config MemFlush.approve = 'auto'` where that is meant to be."
        )
    ]


def lab(place: Place) -> list[Check]:
    """Whether the JupyterLab extension is installed; nothing depends on it."""
    data = [Path(folder) for folder in place.environ.get("JUPYTER_PATH", "").split(os.pathsep) if folder]
    own = place.environ.get("JUPYTER_DATA_DIR")
    data += [Path(own)] if own else [Path.home() / ".local/share/jupyter"]
    data += [Path(sys.prefix, "share/jupyter"), Path("/usr/local/share/jupyter")]
    for folder in data:
        manifest = folder / "labextensions" / LAB_EXTENSION / "package.json"
        if manifest.is_file():
            return [Check("lab extension", "ok", str(manifest.parent))]
    return [Check("lab extension", "ok", "not installed; the notebook works without it")]


def versions(place: Place) -> list[Check]:
    """The versions in use, against what this package needs."""
    found = {name: place.versions.get(name) or _version(name) for name in _SHOWN}
    shown = [f"python {platform.python_version()}", *(f"{name} {version}" for name, version in found.items() if version), f"sqlite {sqlite3.sqlite_version}"]
    faults = [fault for name, version in found.items() if (fault := _misfit(name, version))]
    if sys.version_info[:2] < OLDEST_PYTHON:
        faults.append(f"Python {OLDEST_PYTHON[0]}.{OLDEST_PYTHON[1]} or newer is needed.")
    if not _full_text():
        faults.append("This Python's SQLite was built without FTS5, which search needs: use a Python from python.org, conda or your system.")
    else:
        shown[-1] += " with fts5"
    own = _version(DISTRIBUTION)
    seen = ", ".join([f"memflush-jupyter {own}" if own else "memflush-jupyter from source", *shown])
    return [Check("versions", "broken" if faults else "ok", seen, " ".join(faults))]


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _misfit(name: str, version: str | None) -> str:
    """Why a version does not do, or an empty text."""
    from packaging.requirements import Requirement

    try:
        needed = [Requirement(text) for text in metadata.requires(DISTRIBUTION) or []]
    except metadata.PackageNotFoundError:
        return ""
    for requirement in needed:
        if requirement.name.lower() != name or (requirement.marker and not requirement.marker.evaluate({"extra": ""}) and version is None):
            continue
        if version is None:
            return f"{name} is not installed: `pip install '{name}{requirement.specifier}'`."
        if not requirement.specifier.contains(version, prereleases=True):
            return f"{name} {version} does not fit, {requirement.specifier} is needed: `pip install '{name}{requirement.specifier}'`."
    return ""


def _full_text() -> bool:
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute("CREATE VIRTUAL TABLE probe USING fts5(body)")
    except sqlite3.OperationalError:
        return False
    finally:
        connection.close()
    return True
