"""Every test runs away from the person's home, configuration and keys."""

from __future__ import annotations

import functools
import os
import shutil
import sys
import tempfile
from importlib.metadata import entry_points
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL")

# Where the package is installed, as `make test` does, pytest loads our plug-in by itself.
pytest_plugins = [] if any(point.name == "memflush" for point in entry_points(group="pytest11")) else ["memflush_jupyter.pytest_plugin"]

_scratch = pytest.StashKey[str]()


def pytest_configure(config: pytest.Config) -> None:
    """Point all of Jupyter at a scratch folder before anything reads it; the kernels that tests start inherit it."""
    scratch = tempfile.mkdtemp(prefix="memflush-tests-")
    config.stash[_scratch] = scratch
    for key in KEYS:
        os.environ.pop(key, None)
    for name in ("HOME", "IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        folder = Path(scratch, name.lower())
        folder.mkdir()
        os.environ[name] = str(folder)
    # The cache of installed fonts takes seconds to build and holds nothing of the person's: one for all runs.
    os.environ.setdefault("MPLCONFIGDIR", str(Path(tempfile.gettempdir(), f"memflush-tests-matplotlib-{os.getuid() if hasattr(os, 'getuid') else 0}")))
    os.environ["JUPYTER_PLATFORM_DIRS"] = "1"
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))


def pytest_unconfigure(config: pytest.Config) -> None:
    """Leave nothing behind."""
    shutil.rmtree(config.stash[_scratch], ignore_errors=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """MEMFLUSH_EXAMPLES=8 (mutation testing sets it) caps what each property test tries, and makes it the same each time."""
    if not (examples := os.environ.get("MEMFLUSH_EXAMPLES")):
        return
    from hypothesis import settings

    for item in items:
        test = getattr(item, "obj", None)
        # Decorators name their own number of examples, which a profile cannot lower.
        if (own := getattr(test, "_hypothesis_internal_use_settings", None)) is not None:
            few = settings(own, max_examples=min(own.max_examples, int(examples)), derandomize=True, database=None, deadline=None)
            test._hypothesis_internal_use_settings = few
    # Each mutant runs in a fork of a process that ran the tests before: what that one remembers would hide the mutant.
    for name in [name for name in sys.modules if name.startswith("memflush_jupyter.")]:
        for value in vars(sys.modules[name]).values():
            if isinstance(value, functools._lru_cache_wrapper):
                value.cache_clear()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Browser tests need a browser: without one they are skipped, in CI they fail."""
    if item.get_closest_marker("browser") and not any(map(shutil.which, CHROMIUM)):
        sentence = "No Chromium on this machine; tools/ensure_browser.sh installs it on Debian and Ubuntu."
        if os.environ.get("CI") == "true":
            pytest.fail(sentence, pytrace=False)
        pytest.skip(sentence)


@pytest.fixture(autouse=True)
def _person(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give each test a home of its own that holds no key."""
    for key in KEYS:
        monkeypatch.delenv(key, raising=False)
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("IPYTHONDIR", str(home / "ipython"))


@pytest.fixture
def repository() -> Path:
    """The root of the checkout."""
    return ROOT
