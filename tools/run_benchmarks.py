"""Run every benchmark in ``benchmarks/`` that can be run, one process each, and pass its table on.

A benchmark is a file with a ``main`` function. One that fails does not stop the others, but makes the run fail.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def has_main(path: Path) -> bool:
    """Say whether the file defines ``main``; files without are helpers of the others."""
    tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
    return any(isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == "main" for node in tree.body)


def main(names: list[str]) -> int:
    """Run the benchmarks (``names``: only these) and return the exit code."""
    paths = [path for path in sorted((ROOT / "benchmarks").glob("*.py")) if has_main(path) and (not names or path.stem in names)]
    unknown = sorted(set(names) - {path.stem for path in paths})
    if unknown:
        sys.stderr.write(f"No such benchmark: {', '.join(unknown)}\n")
        return 2
    failed = []
    for path in paths:
        print(f"\n== {path.stem} ==", flush=True)
        if subprocess.run([sys.executable, "-m", f"benchmarks.{path.stem}"], cwd=ROOT, check=False).returncode:
            failed.append(path.stem)
    print(f"\n{len(paths)} benchmarks run, {len(failed)} failed{': ' + ', '.join(failed) if failed else ''}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
