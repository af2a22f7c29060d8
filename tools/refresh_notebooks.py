"""Execute the notebooks of the course in place, as a validation would run them, so that their saved outputs are those of this version.

Memory is a throw-away copy, and what differs from run to run (times, language versions) is left out.
"""

from __future__ import annotations

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

from memflush_jupyter.testing.validation_runs import ValidationRun

ROOT = Path(__file__).resolve().parent.parent


def refresh(path: Path) -> None:
    """Execute one notebook and save it."""
    notebook = nbformat.read(path, as_version=4)
    run = ValidationRun(path)
    run.enter()
    try:
        NotebookClient(notebook, timeout=300, record_timing=False, resources={"metadata": {"path": str(path.parent)}}).execute()
    finally:
        run.leave()
        run.close()
    notebook.metadata["language_info"] = {"name": "python"}
    path.write_text(nbformat.writes(notebook) + "\n", encoding="utf-8")


def main(names: list[str]) -> int:
    """Refresh the named notebooks, or all."""
    for path in [Path(name) for name in names] or sorted((ROOT / "notebooks").glob("*.ipynb")):
        print(f"running {path.name}", flush=True)
        refresh(path.resolve())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
