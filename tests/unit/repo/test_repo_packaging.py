"""What the project file says is what the code needs and the pages explain."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

# The name one installs, where it is not the name one imports.
INSTALLED_AS = {
    "IPython": "ipython",
    "detect_secrets": "detect-secrets",
    "docstring_parser": "docstring-parser",
    "markdown_it": "markdown-it-py",
    "sqlalchemy": "SQLAlchemy",
}
# Parts of ipykernel, nbclient, pandas and pydantic, which require them themselves.
COME_ALONG = {
    "jupyter_client": "nbclient",
    "zmq": "ipykernel",
    "tornado": "ipykernel",
    "numpy": "pandas",
    "comm": "ipykernel",
    "pydantic_core": "pydantic",
    "matplotlib_inline": "ipykernel",
}
# Optional: asked for where they are used, with a sentence when they are not there.
OF_EXTRAS = {"aiohttp", "nbval", "openpyxl", "playwright", "pyarrow", "pytest", "_pytest", "rich"}


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    root = Path(__file__).resolve().parents[3]
    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def names(requirements: list[str]) -> set[str]:
    """The distribution names of the requirements, without our own."""
    found = {re.split(r"[\[<>=!~ ]", requirement, maxsplit=1)[0] for requirement in requirements}
    return found - {"memflush-jupyter"}


def imports(package: Path) -> set[str]:
    """Top-level names that the package imports anywhere, lazily or not."""
    found: set[str] = set()
    for module in package.rglob("*.py"):
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module.partition(".")[0])
    return found - set(sys.stdlib_module_names) - {"memflush_jupyter"}


def test_packaging_every_import_is_a_declared_dependency(repository: Path, project: dict[str, Any]) -> None:
    declared = names(project["dependencies"])
    needed = {INSTALLED_AS.get(name, COME_ALONG.get(name, name)) for name in imports(repository / "memflush_jupyter") - OF_EXTRAS}
    assert needed - declared == set()


def test_packaging_every_dependency_is_explained(repository: Path, project: dict[str, Any]) -> None:
    page = (repository / "docs" / "dependencies.md").read_text(encoding="utf-8")
    wanted = names(project["dependencies"]).union(*map(names, project["optional-dependencies"].values()))
    assert {name for name in wanted if f"`{name}`" not in page} == set()


def test_packaging_every_dependency_has_an_upper_bound_that_a_major_release_cannot_cross(project: dict[str, Any]) -> None:
    open_ended = {name for name in project["dependencies"] if "<" not in name}
    assert open_ended == set()


def test_packaging_every_room_has_its_page(repository: Path) -> None:
    """CONTRIBUTING and the style page promise a page a room: why it exists, what it promises."""
    page = (repository / "docs" / "rooms.md").read_text(encoding="utf-8")
    rooms = [path.name for path in sorted((repository / "memflush_jupyter").iterdir()) if (path / "__init__.py").is_file()]
    assert [room for room in rooms if f"## {room}/" not in page] == []


def tracked(repository: Path) -> list[Path]:
    command = ["git", "-c", "safe.directory=*", "ls-files", "-z"]
    try:
        result = subprocess.run(command, cwd=repository, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    return [repository / name for name in result.stdout.split("\0") if name and (repository / name).is_file()]


def test_packaging_no_file_names_a_folder_of_the_machine_it_was_made_on(repository: Path) -> None:
    """P9: nothing in the repository knows where it lies; notebooks above all, whose outputs are compared elsewhere."""
    here = str(repository).encode()
    homes = re.compile(rb"/home/\w+/|/root/|/Users/\w+/|[A-Z]:\\\\Users\\\\")
    found = [
        path.relative_to(repository).as_posix()
        for path in tracked(repository)
        if here in (data := path.read_bytes()) or (path.suffix == ".ipynb" and homes.search(data))
    ]
    assert found == []


def test_packaging_no_ignore_rule_hides_memory(repository: Path) -> None:
    """P9: `memory/` beside a notebook is a person's own text and shows up in `git status`."""
    tracked(repository)
    names = ["notebooks/memory/2026-01-15.md", "notebooks/memory/MEMORY.md", "memory/topics/x.md"]
    command = ["git", "-c", "safe.directory=*", "check-ignore", "--no-index", *names]
    assert subprocess.run(command, cwd=repository, capture_output=True, text=True, check=False).stdout == ""


def test_packaging_modules_stay_small(repository: Path) -> None:
    """A newcomer reads a module in one sitting: at most 450 lines."""
    sizes = {
        path.relative_to(repository).as_posix(): len(path.read_text(encoding="utf-8").splitlines()) for path in (repository / "memflush_jupyter").rglob("*.py")
    }
    assert {name: lines for name, lines in sizes.items() if lines > 450} == {}


def test_packaging_readme_lists_the_commands_that_exist(repository: Path) -> None:
    from memflush_jupyter.cli import main
    from memflush_jupyter.notebook.magics import agent, memory

    page = (repository / "README.md").read_text(encoding="utf-8")
    for magic, commands in (("%agent", agent.COMMANDS), ("%memory", memory.COMMANDS), ("memflush", main.commands)):
        assert set(re.findall(rf"^\| `{magic} (\w+)", page, flags=re.MULTILINE)) == set(commands)
