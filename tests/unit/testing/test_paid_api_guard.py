"""No test reaches a paid API unless it says so; the plug-in is light and leaves nothing behind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from memflush_jupyter.testing.copies import copy_memory, fingerprint
from memflush_jupyter.testing.guard import PaidApiGuard, is_local

pytest_plugins = ["pytester"]

# Blocking the entry point's name first makes this work whether or not the package is installed.
PLUGIN = ("-p", "no:memflush", "-p", "memflush_jupyter.pytest_plugin", "-p", "no:cacheprovider")


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.8.8.8", "::1", "[::1]", "app.localhost"])
def test_this_machine_is_local(host: str) -> None:
    assert is_local(host)


@pytest.mark.parametrize("host", ["api.anthropic.com", "10.0.0.1", "0.0.0.0", "localhost.example.com", "", "127.0.0.1.example.com"])  # noqa: S104 - not bound to
def test_other_machines_are_not(host: str) -> None:
    assert not is_local(host)


def refuse(sentence: str) -> None:
    raise AssertionError(sentence)


def test_guard_names_the_host_and_the_way_out() -> None:
    guard = PaidApiGuard(refuse)
    with pytest.raises(AssertionError, match=r"api\.anthropic\.com.*messages_server.*paid_api"):
        guard.check("api.anthropic.com")
    assert guard.refused == ["api.anthropic.com"]


def test_guard_lets_pass_what_is_allowed() -> None:
    guard = PaidApiGuard(refuse)
    guard.check("127.0.0.1")
    guard.allowed = True
    guard.check("api.anthropic.com")
    assert guard.refused == []


def test_uninstalled_guard_leaves_the_library_as_it_was() -> None:
    import httpx2

    before = (httpx2.HTTPTransport.handle_request, httpx2.AsyncHTTPTransport.handle_async_request)
    guard = PaidApiGuard(refuse)
    guard.install()
    assert httpx2.HTTPTransport.handle_request is not before[0]
    guard.uninstall()
    assert (httpx2.HTTPTransport.handle_request, httpx2.AsyncHTTPTransport.handle_async_request) == before


def test_wrapped_transport_checks_before_it_sends() -> None:
    guard = PaidApiGuard(refuse)
    sent: list[Any] = []
    checked = guard._checked(lambda _transport, request: sent.append(request))
    local, far = (SimpleNamespace(url=SimpleNamespace(host=host)) for host in ("127.0.0.1", "example.com"))
    checked(None, local)
    with pytest.raises(AssertionError):
        checked(None, far)
    assert sent == [local]


def test_guard_stops_the_sdk_whenever_it_is_imported(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import sys
        import pytest

        def test_sdk():
            import anthropic
            client = anthropic.Anthropic(api_key="k", max_retries=0)
            client.messages.create(model="claude-sonnet-4-5", max_tokens=1, messages=[{"role": "user", "content": "hi"}])

        def test_httpx2_already_there():
            import httpx2
            httpx2.get("http://example.com")

        def test_loopback_is_free():
            import httpx2
            with pytest.raises(httpx2.ConnectError):
                httpx2.get("http://127.0.0.1:9")

        @pytest.mark.paid_api
        def test_marked(no_paid_api):
            assert no_paid_api.allowed

        def test_unmarked(no_paid_api):
            assert not no_paid_api.allowed
        """
    )
    result = pytester.runpytest_subprocess(*PLUGIN)
    result.assert_outcomes(passed=3, failed=2)
    result.stdout.fnmatch_lines(["*tried to reach api.anthropic.com*", "*tried to reach example.com*"])


def test_guard_can_be_turned_off(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nmemflush_guard = false\n")
    pytester.makepyfile("def test_off(no_paid_api):\n    assert no_paid_api is None\n")
    pytester.runpytest_subprocess(*PLUGIN).assert_outcomes(passed=1)


def test_fixtures_serve_and_copy(pytester: pytest.Pytester) -> None:
    memory = pytester.mkdir("memory")
    (memory / "MEMORY.md").write_text("- a line\n")
    pytester.makepyfile(
        """
        def test_memory(memory_folder):
            assert (memory_folder / "MEMORY.md").read_text() == "- a line\\n"
            (memory_folder / "MEMORY.md").write_text("changed")

        def test_server(messages_server):
            assert messages_server.url.startswith("http://127.0.0.1:")
            assert messages_server.refusals == []
        """
    )
    pytester.runpytest_subprocess(*PLUGIN).assert_outcomes(passed=2)
    assert (memory / "MEMORY.md").read_text() == "- a line\n"


def test_plugin_imports_nothing_heavy() -> None:
    """It is loaded in every pytest run of the environment."""
    heavy = ("aiohttp", "anthropic", "httpx2", "sqlalchemy", "IPython")
    code = f"import memflush_jupyter.pytest_plugin, memflush_jupyter.testing.guard, sys; print([m for m in {heavy} if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[3])
    assert result.stdout.strip() == "[]"


def test_copy_of_memory_has_the_store_and_no_locks(tmp_path: Path) -> None:
    """P9: a validation works on a throw-away copy."""
    source = tmp_path / "memory"
    (source / ".memflush" / "history").mkdir(parents=True)
    for name in ("MEMORY.md", ".memflush/store.sqlite3", ".memflush/store.sqlite3-wal", ".memflush/files.lock", ".memflush/history/one"):
        (source / name).write_bytes(name.encode())
    before = fingerprint(source)
    copy = copy_memory(source, tmp_path / "deep" / "copy")
    assert set(fingerprint(copy)) == set(before) - {".memflush/files.lock"}
    (copy / "MEMORY.md").write_text("changed")
    assert fingerprint(source) == before


def test_copy_of_a_linked_folder_stands_alone(tmp_path: Path) -> None:
    real = tmp_path / "shared"
    real.mkdir()
    (real / "a.md").write_text("x")
    (tmp_path / "memory").symlink_to(real)
    copy = copy_memory(tmp_path / "memory", tmp_path / "copy")
    assert not copy.is_symlink()
    assert (copy / "a.md").read_text() == "x"


def test_missing_memory_gives_an_empty_folder(tmp_path: Path) -> None:
    assert list(copy_memory(tmp_path / "none", tmp_path / "copy").iterdir()) == []
