"""What ``%load_ext memflush_jupyter`` costs beyond IPython, in fresh processes.

    python -m benchmarks.start [--repeats 11]

Each process makes an IPython shell with the kernel's widgets loaded, as a notebook kernel has them, and then loads the extension. The floor is an
extension that does nothing.
Goals: <= 150 ms, and neither anthropic nor SQLAlchemy imported.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks import report

ROOT = Path(__file__).parent.parent
HEAVY = ["anthropic", "sqlalchemy", "alembic", "tiktoken", "pandas", "matplotlib", "detect_secrets", "httpx2", "markdown_it"]

_PROBE = """
import json, sys, time
begin = time.perf_counter()
import ipykernel.zmqshell
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
ready = time.perf_counter()
shell.run_line_magic("load_ext", sys.argv[1])
loaded = time.perf_counter()
heavy = [name for name in json.loads(sys.argv[2]) if name in sys.modules]
print(json.dumps({"shell": ready - begin, "load": loaded - ready, "heavy": heavy}))
"""


def probe(extension: str, folder: str) -> dict[str, object]:
    environment = {**os.environ, "IPYTHONDIR": folder, "PYTHONPATH": os.pathsep.join([folder, str(ROOT)]), "HOME": folder}
    command = [sys.executable, "-c", _PROBE, extension, json.dumps(HEAVY)]
    found = subprocess.run(command, cwd=folder, env=environment, check=False, capture_output=True, text=True)
    if found.returncode:
        raise RuntimeError(found.stderr)
    return dict(json.loads(found.stdout.splitlines()[-1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=11)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "empty_extension.py").write_text("def load_ipython_extension(shell):\n    pass\n", encoding="utf-8")
        for extension in ("memflush_jupyter", "empty_extension"):
            probe(extension, folder)  # the first run compiles and reads from the disk
        ours, empty = [], []
        for _ in range(options.repeats):
            ours.append(probe("memflush_jupyter", folder))
            empty.append(probe("empty_extension", folder))
    load, floor, shell = (report.spread([float(str(run[name])) for run in runs], 1e3) for runs, name in ((ours, "load"), (empty, "load"), (empty, "shell")))
    extra = load.middle - floor.middle
    heavy = sorted({str(name) for run in ours for name in run["heavy"]})  # type: ignore[attr-defined]
    report.head(f"%load_ext memflush_jupyter, {options.repeats} fresh processes", "an empty extension")
    report.row("%load_ext", load.show("ms"), floor.show("ms", 2), goal="<= 150 ms beyond IPython", met=extra <= 150)
    report.row("the same, against the start of IPython itself", load.show("ms"), shell.show("ms"), load.middle / shell.middle)
    report.row("heavy modules imported", ", ".join(heavy) or "none", goal="no anthropic, no SQLAlchemy", met=not {"anthropic", "sqlalchemy"} & set(heavy))


if __name__ == "__main__":
    main()
