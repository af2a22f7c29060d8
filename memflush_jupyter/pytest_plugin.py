"""The pytest plug-in: fixtures for testing agents and memory, and a guard that no test reaches a paid API.

Loaded in every pytest run of an environment that has the package, so it imports next to nothing until a fixture is used.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memflush_jupyter.testing.guard import PaidApiGuard
    from memflush_jupyter.testing.server import FakeMessagesServer
    from memflush_jupyter.testing.validation_runs import ValidationRun

_GUARD_OPTION = "memflush_guard"
_MEMORY_OPTION = "memflush_memory"
_guard = pytest.StashKey["PaidApiGuard"]()
_runs: pytest.StashKey[dict[Path, ValidationRun]] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options of the configuration file."""
    parser.addini(_GUARD_OPTION, "Refuse requests of anthropic and httpx2 to other machines during tests (default: true).", type="bool", default=True)
    parser.addini(_MEMORY_OPTION, "The memory folder that the fixture memory_folder copies, relative to the test file's folder.", default="memory")


def pytest_configure(config: pytest.Config) -> None:
    """Put the guard up before any test module is imported."""
    config.addinivalue_line("markers", "paid_api: this test may reach a paid API; without the mark such requests fail")
    if config.getini(_GUARD_OPTION):
        from memflush_jupyter.testing.guard import PaidApiGuard

        guard = config.stash[_guard] = PaidApiGuard(_refuse)
        guard.install()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Take the guard down, and throw the copies of memory away."""
    guard = config.stash.get(_guard, None)
    if guard is not None:
        guard.uninstall()
    for run in config.stash.get(_runs, {}).values():
        run.close()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    """Around the start of a notebook's kernel under ``--nbval``: a throw-away memory, its declared clock, no key (P9)."""
    if type(item).__name__ != "IPyNbCell":
        return (yield)
    from memflush_jupyter.testing.validation_runs import ValidationRun

    runs = item.config.stash.setdefault(_runs, {})
    notebook = Path(item.path)
    if notebook not in runs:
        runs[notebook] = ValidationRun(notebook, memory=str(item.config.getini(_MEMORY_OPTION)))
    runs[notebook].enter()
    try:
        return (yield)
    finally:
        runs[notebook].leave()


def _refuse(sentence: str) -> None:
    # Not an ordinary exception: a client that retries on errors must not catch it.
    pytest.fail(sentence, pytrace=False)


@pytest.fixture(autouse=True)
def no_paid_api(request: pytest.FixtureRequest) -> Iterator[PaidApiGuard | None]:
    """Refuse every request that anthropic or httpx2 makes to another machine, unless the test is marked ``paid_api``.

    Yields the guard; ``guard.refused`` lists the hosts. ``None`` when the ini option ``memflush_guard`` is false.
    """
    guard = request.config.stash.get(_guard, None)
    if guard is None:
        yield None
        return
    guard.allowed = request.node.get_closest_marker("paid_api") is not None
    yield guard
    guard.allowed = False


@pytest.fixture
def messages_server() -> Iterator[FakeMessagesServer]:
    """Run a strict fake Messages API server on loopback; see :class:`memflush_jupyter.testing.FakeMessagesServer`."""
    from memflush_jupyter.testing.server import FakeMessagesServer

    with FakeMessagesServer() as server:
        yield server


@pytest.fixture
def memory_folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Give a throw-away copy of the memory folder beside the test file (ini option ``memflush_memory``); empty if there is none."""
    from memflush_jupyter.testing.copies import copy_memory

    source = Path(request.path).parent / str(request.config.getini(_MEMORY_OPTION))
    return copy_memory(source, tmp_path / "memory")
