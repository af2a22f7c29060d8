"""The scripts that a newcomer runs first say in a sentence what is missing."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the scripts are for POSIX shells")


def bare_path(folder: Path, *programs: str) -> str:
    """A PATH that holds these programs only."""
    folder.mkdir()
    for program in programs:
        found = shutil.which(program)
        if found is None:
            pytest.skip(f"{program} is not installed")
        (folder / program).symlink_to(found)
    return str(folder)


def ensure_browser(repository: Path, path: str, **variables: str) -> subprocess.CompletedProcess[str]:
    shell = shutil.which("sh") or "/bin/sh"
    return subprocess.run([shell, "tools/ensure_browser.sh"], cwd=repository, env={"PATH": path, **variables}, capture_output=True, text=True, check=False)


def test_tools_browser_tests_are_skipped_with_a_sentence_where_there_is_no_browser(repository: Path, tmp_path: Path) -> None:
    result = ensure_browser(repository, bare_path(tmp_path / "bin"))
    assert result.returncode == 0
    assert "the browser tests are skipped" in result.stdout


def test_tools_a_missing_browser_is_an_error_in_ci(repository: Path, tmp_path: Path) -> None:
    result = ensure_browser(repository, bare_path(tmp_path / "bin"), CI="true")
    assert result.returncode == 1
    assert "in CI the browser tests must run" in result.stderr


def test_tools_a_browser_that_is_there_is_enough(repository: Path, tmp_path: Path) -> None:
    path = bare_path(tmp_path / "bin")
    (tmp_path / "bin" / "chromium").symlink_to(sys.executable)
    result = ensure_browser(repository, path, CI="true")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


@pytest.fixture
def clone(repository: Path, tmp_path: Path) -> Path:
    """A folder with nothing but the Makefile."""
    folder = tmp_path / "a clone"
    folder.mkdir()
    shutil.copy(repository / "Makefile", folder)
    shutil.copy(repository / "pyproject.toml", folder)
    return folder


def make(clone: Path, path: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["make", *arguments], cwd=clone, env={"PATH": path}, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("target", ["demo", "test", "lint", "format", "bench"])
def test_tools_make_says_so_when_there_is_no_python(clone: Path, tmp_path: Path, target: str) -> None:
    result = make(clone, bare_path(tmp_path / "bin", "make", "sh"), target)
    assert result.returncode == 2
    assert "memflush-jupyter needs Python 3.11 or newer and found none." in result.stderr
    assert not (clone / ".venv").exists()


def test_tools_make_passes_over_a_python_that_is_too_old(clone: Path, tmp_path: Path) -> None:
    path = bare_path(tmp_path / "bin", "make", "sh")
    old = tmp_path / "bin" / "python3"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    young = tmp_path / "bin" / "python3.12"
    young.write_text('#!/bin/sh\ncase "$2" in *ensurepip*) exit 1;; esac\n')
    young.chmod(0o755)
    result = make(clone, path, "demo")
    assert result.returncode == 2
    assert "python3.12 cannot make virtual environments. On Debian and Ubuntu: apt-get install python3-venv" in result.stderr


def test_tools_make_help_names_every_target(clone: Path, tmp_path: Path) -> None:
    result = make(clone, bare_path(tmp_path / "bin", "make", "sh", "awk"))
    assert [line.split()[1] for line in result.stdout.splitlines()] == ["help", "demo", "test", "lint", "format", "notebooks", "bench", "mutation", "clean"]


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def benchmarks(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The runner, over a folder with one benchmark that works, one that fails, and a helper."""
    module = load(repository / "tools" / "run_benchmarks.py")
    monkeypatch.setattr(module, "ROOT", tmp_path)
    folder = tmp_path / "benchmarks"
    folder.mkdir()
    (folder / "helper.py").write_text("def mainly(): ...\n")
    (folder / "works.py").write_text("def main():\n    print('a table')\n\nif __name__ == '__main__':\n    main()\n")
    (folder / "fails.py").write_text("async def main(): ...\n\nraise SystemExit(3)\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path)]))
    return module


def test_tools_bench_runs_every_benchmark_and_fails_when_one_does(benchmarks: ModuleType, capfd: pytest.CaptureFixture[str]) -> None:
    assert benchmarks.main([]) == 1
    output = capfd.readouterr().out
    assert output.split() == "== fails == == works == a table 2 benchmarks run, 1 failed: fails".split()


def test_tools_bench_runs_one_by_name_and_knows_which_there_are(benchmarks: ModuleType, capfd: pytest.CaptureFixture[str]) -> None:
    assert benchmarks.main(["works"]) == 0
    assert "a table" in capfd.readouterr().out
    assert benchmarks.main(["helper"]) == 2
    assert capfd.readouterr().err == "No such benchmark: helper\n"
