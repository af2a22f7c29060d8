"""The arrows between the rooms hold, and the linter that says so really bites (design, section 4)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("alembic", "anthropic", "detect_secrets", "markdown_it", "matplotlib", "pandas", "sqlalchemy", "tiktoken")
BREACHES = {
    "layers": ("trace/__init__.py", "from memflush_jupyter.agent import anything", "Arrows run down only"),
    "layers-siblings": ("context/__init__.py", "import memflush_jupyter.models", "Arrows run down only"),
    "no-jupyter": ("agent/__init__.py", "import IPython", "Nothing below the notebook knows Jupyter"),
    "no-client": ("memory/__init__.py", "import httpx2", "Trace, memory and context know no model client"),
    "one-wire": ("agent/__init__.py", "import anthropic", "Only the models room speaks to the SDK"),
    "no-testing": ("models/__init__.py", "import memflush_jupyter.testing", "The product does not lean on its test helpers"),
}


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the linter on the package in ``folder`` with the configuration there."""
    code = "import sys; sys.path.insert(0, '.'); from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"
    return subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture
def skeleton(repository: Path, tmp_path: Path) -> Path:
    """Every module of the package, each of them empty, under the configuration of the repository."""
    package = repository / "memflush_jupyter"
    for module in package.rglob("*.py"):
        copy = tmp_path / "memflush_jupyter" / module.relative_to(package)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.touch()
    (tmp_path / "pyproject.toml").write_bytes((repository / "pyproject.toml").read_bytes())
    return tmp_path


@pytest.mark.usefixtures("linter")
def test_arrows_hold_in_the_package(repository: Path) -> None:
    result = lint_imports(repository)
    assert result.returncode == 0, result.stdout


@pytest.mark.usefixtures("linter")
@pytest.mark.parametrize("breach", sorted(BREACHES))
def test_arrows_linter_fails_when_an_arrow_is_broken(skeleton: Path, breach: str) -> None:
    module, line, contract = BREACHES[breach]
    (skeleton / "memflush_jupyter" / module).write_text(f"{line}\n", encoding="utf-8")
    result = lint_imports(skeleton)
    assert result.returncode == 1
    assert f"{contract} BROKEN" in result.stdout


@pytest.mark.usefixtures("linter")
def test_arrows_linter_is_content_with_empty_rooms(skeleton: Path) -> None:
    assert lint_imports(skeleton).returncode == 0


@pytest.fixture
def linter() -> None:
    """Linting is an extra of its own; `make lint` checks the same where it is not installed."""
    pytest.importorskip("importlinter", reason="the lint extra is not installed")


def imported(code: str) -> set[str]:
    """Which heavy packages a fresh Python has imported after ``code``."""
    script = f"{code}\nimport sys\nprint(*(name for name in {HEAVY!r} if name in sys.modules))"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(result.stdout.split())


def test_arrows_importing_the_package_is_light() -> None:
    """Neither the SDK nor SQLAlchemy, Alembic, pandas … at `import memflush_jupyter` (recipes, start-up)."""
    assert imported("import memflush_jupyter, memflush_jupyter.config, memflush_jupyter.events, memflush_jupyter.errors") == set()


def test_arrows_loading_the_extension_is_light() -> None:
    """`%load_ext memflush_jupyter` beyond IPython imports nothing heavy either."""
    code = "from IPython.core.interactiveshell import InteractiveShell\nInteractiveShell.instance().run_line_magic('load_ext', 'memflush_jupyter')"
    assert imported(code) == set()


def test_arrows_the_pytest_plugin_is_light_for_those_who_only_have_us_installed() -> None:
    """The plug-in is loaded in every pytest run of an environment that holds the package: it must need no test extra."""
    code = "import sys; sys.modules['aiohttp'] = None\nimport memflush_jupyter.pytest_plugin"
    assert imported(code) == set()
