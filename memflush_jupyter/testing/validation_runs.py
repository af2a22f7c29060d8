"""What a notebook needs around it while it is validated: a throw-away memory, a declared clock, no key (P9)."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memflush_jupyter.testing.copies import copy_memory

if TYPE_CHECKING:
    from collections.abc import MutableMapping

KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
_DECLARED = ("clock", "timezone", "model", "approve")


class ValidationRun:
    """The environment of one notebook's kernel.

    ``memory/`` beside the notebook is copied to a scratch folder that ``MEMFLUSH_MEMORY_DIR`` names, so that the repository stays as
    it is. What the notebook declares in its metadata under ``memflush`` (``clock``, ``timezone``, ``model``, ``approve``) becomes the
    matching variable. Keys of paid services are taken out of the environment: a validation costs nothing.
    """

    def __init__(self, notebook: Path, *, memory: str = "memory") -> None:
        self.notebook = notebook
        self._scratch = tempfile.mkdtemp(prefix="memflush-validation-")
        copied = copy_memory(notebook.parent / memory, Path(self._scratch, "memory"))
        self.variables = {"MEMFLUSH_MEMORY_DIR": str(copied)}
        declared = _metadata(notebook)
        self.variables |= {f"MEMFLUSH_{name.upper()}": str(declared[name]) for name in _DECLARED if declared.get(name)}
        self._before: dict[str, str | None] = {}

    def enter(self, environ: MutableMapping[str, str] = os.environ) -> None:
        """Set the variables, for the kernel that is about to start."""
        for name in (*self.variables, *KEYS):
            self._before[name] = environ.get(name)
        environ.update(self.variables)
        for name in KEYS:
            environ.pop(name, None)

    def leave(self, environ: MutableMapping[str, str] = os.environ) -> None:
        """Give the environment back as it was."""
        for name, value in self._before.items():
            if value is None:
                environ.pop(name, None)
            else:
                environ[name] = value
        self._before.clear()

    def close(self) -> None:
        """Throw the copy away."""
        shutil.rmtree(self._scratch, ignore_errors=True)


def _metadata(notebook: Path) -> dict[str, Any]:
    try:
        declared = json.loads(notebook.read_text(encoding="utf-8")).get("metadata", {}).get("memflush", {})
    except (OSError, ValueError, AttributeError):
        return {}  # what is wrong with the file, nbval says better
    return declared if isinstance(declared, dict) else {}
