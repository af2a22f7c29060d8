"""The doctor: each part is broken on purpose, and what the row says mends it. Looking makes nothing, and shows no key (point 6 of the face)."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest
from click.testing import CliRunner

from memflush_jupyter.cli import main
from memflush_jupyter.clock import FixedClock
from memflush_jupyter.config import MemFlush
from memflush_jupyter.context import encoding
from memflush_jupyter.doctor import Place, examine, machine
from memflush_jupyter.doctor import folder as rooms
from memflush_jupyter.memory.redaction import Redactor
from memflush_jupyter.testing import FakeMessagesServer, ServedModel
from memflush_jupyter.trace.schema import INDEX_VERSION, REVISION
from memflush_jupyter.workspace import Workspace

KEY = "sk-ant-api03-" + "Zm9vYmFyYmF6cXV4" * 3


def look(folder, environ=None, config=None, **more):
    environ = environ or {}
    config = config or MemFlush()
    report = examine(Place(config, folder, environ, Redactor(environ), **more))
    return report, {check.name: check for check in report.checks}


def opened(folder, **options):
    return Workspace.open(MemFlush(**options), folder, clock=FixedClock("2026-01-15T09:00", "UTC"), environ={})


def contents(folder):
    return sorted((path.relative_to(folder).as_posix(), path.is_file() and (path.stat().st_mtime_ns, path.read_bytes())) for path in folder.rglob("*"))


def test_a_fresh_folder_is_well_and_looking_makes_nothing(tmp_path):
    report, rows = look(tmp_path)
    assert not report.broken
    assert report.troubles == ()
    assert list(rows) == [
        "options", "key", "model", "server", "window", "encodings", "memory folder", "store", "notebook", "stdin", "lab extension", "versions"
    ]  # fmt: skip
    assert rows["window"].seen == "16,384 tokens, built in"
    assert rows["store"].seen.endswith("made with the first turn")
    assert rows["lab extension"].seen == "not installed; the notebook works without it"
    assert rows["stdin"].state == rows["notebook"].state == "n/a"
    assert list(tmp_path.iterdir()) == []


def test_a_used_folder_is_left_as_it_is_to_the_byte(tmp_path):
    workspace = opened(tmp_path)
    workspace.store.create_trace(identity="me")
    workspace.store.set_setting("factor:local/x", "1.2345")
    workspace.close()
    before = contents(tmp_path)
    _, rows = look(tmp_path, config=MemFlush(base_url="http://127.0.0.1:9", model="local/x"))
    assert contents(tmp_path) == before
    assert f"intact, 1 conversation, schema {REVISION}, index {INDEX_VERSION}" in rows["store"].seen
    assert rows["encodings"].seen == "cl100k × 1.23, learned from this model"


def test_a_store_that_is_being_written_can_be_looked_at(tmp_path):
    workspace = opened(tmp_path)
    workspace.store.create_trace(identity="me")
    _, rows = look(tmp_path)
    assert (rows["store"].state, "1 conversation" in rows["store"].seen) == ("ok", True)
    workspace.store.create_trace(identity="me")
    workspace.close()


@pytest.mark.parametrize(
    ("value", "state", "words"),
    [(None, "broken", "ANTHROPIC_API_KEY is not set"), ("  ", "broken", "is not set"), ("schlüssel", "broken", "holds characters that no key has"),
     (KEY, "ok", "ANTHROPIC_API_KEY is set")],
)  # fmt: skip
def test_a_key_is_named_and_never_shown(tmp_path, value, state, words):
    """P7"""
    environ = {} if value is None else {"ANTHROPIC_API_KEY": value}
    report, rows = look(tmp_path, environ, MemFlush(model="anthropic/claude-sonnet-4-5"))
    assert rows["key"].state == state
    assert words in rows["key"].seen
    assert report.broken == (state == "broken")
    shown = report.as_text() + report.as_json()
    assert str(len(KEY)) not in rows["key"].seen
    assert KEY not in shown
    assert (value or "never").strip() not in shown or not (value or "").strip()


def test_the_key_of_another_endpoint_is_its_own(tmp_path):
    config = MemFlush(model="local/q", endpoints={"local/q": {"base_url": "http://127.0.0.1:9", "api_key_env": "MY_KEY"}})
    _, rows = look(tmp_path, {"ANTHROPIC_API_KEY": KEY}, config)
    assert rows["key"].seen == "MY_KEY is not set"
    assert "environment variable MY_KEY" in rows["key"].mend


def test_a_server_is_asked_without_a_key_and_tells_its_models_and_window(tmp_path):
    with FakeMessagesServer(models=[ServedModel("fake-model", 12_345, 800)]) as server:
        config = MemFlush(base_url=server.url, model="local/fake-model")
        report, rows = look(tmp_path, {"ANTHROPIC_API_KEY": KEY}, config)
        assert rows["server"].seen == f"{server.url} answers"
        assert rows["window"].seen == "12,345 tokens, told by the Models API"
        assert not report.broken
        assert server.requests == []
        _, rows = look(tmp_path, {}, MemFlush(base_url=server.url, model="local/other"))
        assert rows["model"].state == "warning"
        assert "It lists fake-model." in rows["model"].mend
        _, rows = look(tmp_path, {}, MemFlush(base_url=server.url, model="local/fake-model", window=4_000))
        assert rows["window"].seen == "4,000 tokens, set by you"


def test_a_dead_server_is_broken_and_its_window_assumed(tmp_path):
    report, rows = look(tmp_path, {}, MemFlush(base_url="http://127.0.0.1:9"))
    assert report.broken
    assert "does not answer" in rows["server"].seen
    assert rows["server"].mend == "Start the server, or set MemFlush.base_url to where it runs."
    assert (rows["window"].state, "32,768 tokens, assumed" in rows["window"].seen) == ("warning", True)


def test_a_server_that_hangs_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr("memflush_jupyter.doctor.model.REACH_S", 0.1)

    class Mute(BaseHTTPRequestHandler):
        def do_GET(self):
            release.wait(5)

        def log_message(self, *_):
            pass

    from threading import Event

    release = Event()
    server = HTTPServer(("127.0.0.1", 0), Mute)
    thread = Thread(target=server.handle_request, daemon=True)
    thread.start()
    _, rows = look(tmp_path, {}, MemFlush(base_url=f"http://127.0.0.1:{server.server_port}"))
    release.set()
    thread.join()
    server.server_close()
    assert "no answer within 0.1 s" in rows["server"].seen


def test_a_model_that_does_not_exist_is_told(tmp_path):
    report, rows = look(tmp_path, {}, MemFlush(model="gpt-9"))
    assert report.broken
    assert "'gpt-9' is not a model id" in rows["model"].mend


def test_the_flush_model_is_looked_at_too(tmp_path):
    _, rows = look(tmp_path, {}, MemFlush(flush_model="anthropic/claude-haiku-4-5"))
    assert "ANTHROPIC_API_KEY is not set" in rows["flush model"].mend


def test_a_damaged_encoding_is_a_warning(tmp_path, monkeypatch):
    def damaged():
        raise encoding.EncodingError("The token encoding file is damaged.")

    monkeypatch.setattr(encoding, "load", damaged)
    report, rows = look(tmp_path)
    assert (rows["encodings"].state, report.broken) == ("warning", False)
    assert rows["encodings"].seen == "tokens are estimated from bytes"


def test_a_damaged_store_is_broken_and_the_way_out_keeps_memory(tmp_path):
    workspace = opened(tmp_path)
    workspace.close()
    path = workspace.memory.store_path
    path.write_bytes(b"no database at all" * 500)
    report, rows = look(tmp_path)
    assert report.broken
    assert "damaged" in rows["store"].seen
    assert "the memory files beside it stay" in rows["store"].mend


def test_a_store_with_a_spoiled_page_is_found(tmp_path):
    workspace = opened(tmp_path)
    for number in range(50):
        workspace.store.create_trace(identity="me", title=f"conversation number {number} " * 20)
    workspace.store.close()
    path = workspace.memory.store_path
    data = bytearray(path.read_bytes())
    for offset in range(8192, len(data) - 4096, 4096):
        data[offset : offset + 64] = b"\xff" * 64
    path.write_bytes(data)
    assert look(tmp_path)[1]["store"].state == "broken"


def test_a_store_of_a_newer_version_or_another_program_is_told(tmp_path):
    workspace = opened(tmp_path)
    workspace.close()
    path = workspace.memory.store_path
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()
    row = look(tmp_path)[1]["store"]
    assert row.state == "broken"
    assert "newer memflush-jupyter" in row.mend
    path.write_bytes(b"")
    assert look(tmp_path)[1]["store"].state == "ok"
    path.unlink()
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE recipes (name TEXT)")
    connection.close()
    assert "a database of another program" in look(tmp_path)[1]["store"].seen


def test_the_memory_folder_may_be_a_file_a_link_or_nowhere(tmp_path):
    (tmp_path / "memory").write_text("not a folder")
    assert "is a file" in look(tmp_path)[1]["memory folder"].seen
    (tmp_path / "memory").unlink()
    (tmp_path / "memory").symlink_to(tmp_path / "gone")
    row = look(tmp_path)[1]["memory folder"]
    assert (row.state, "which is not there" in row.seen) == ("broken", True)
    (tmp_path / "gone").mkdir()
    row = look(tmp_path)[1]["memory folder"]
    assert (row.state, f"a link to {tmp_path / 'gone'}" in row.seen) == ("ok", True)
    assert look(tmp_path, config=MemFlush(memory=False))[1]["memory folder"].seen.startswith("memory is off")


def test_a_read_only_memory_is_a_warning(tmp_path, monkeypatch):
    """G4; the permissions of root know no read-only folder, so the answer is played."""
    (tmp_path / "memory").mkdir()
    monkeypatch.setattr(rooms.MemoryFolder, "writable", property(lambda _: False))
    report, rows = look(tmp_path)
    assert (rows["memory folder"].state, report.broken) == ("warning", False)
    assert "nothing is saved" in rows["memory folder"].mend
    (tmp_path / "memory").rmdir()
    assert "cannot be made" in look(tmp_path)[1]["memory folder"].seen


def test_a_git_repository_is_seen_and_whether_it_ignores_memory(tmp_path):
    (tmp_path / "memory").mkdir()
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    assert "in a git repository (notes show up in `git status`)" in look(tmp_path)[1]["memory folder"].seen
    (tmp_path / ".gitignore").write_text("memory/\n")
    assert "in a git repository that ignores it" in look(tmp_path)[1]["memory folder"].seen


def test_slips_in_the_configuration_are_rows(tmp_path):
    config = MemFlush()
    config.apply_environment({"MEMFLUSH_MODLE": "x"})
    report, rows = look(tmp_path, config=config)
    assert (rows["options"].state, report.broken) == ("warning", False)
    assert "Did you mean MEMFLUSH_MODEL?" in rows["options"].mend
    config.apply_environment({"MEMFLUSH_MAX_COST_USD": "much"})
    assert look(tmp_path, config=config)[0].broken


def test_versions_that_do_not_fit_are_broken(tmp_path, monkeypatch):
    monkeypatch.setattr(machine.metadata, "requires", lambda _: ["anthropic>=2.10,<3", "ipykernel>=6.29,<8", 'jupyterlab>=4.2,<5; extra == "lab"'])
    report, rows = look(tmp_path, versions={"anthropic": "1.9.0"})
    assert report.broken
    assert "anthropic 1.9.0 does not fit" in rows["versions"].mend
    assert "`pip install 'anthropic<3,>=2.10'`" in rows["versions"].mend
    monkeypatch.setattr(machine, "_full_text", lambda: False)
    assert "without FTS5" in look(tmp_path)[1]["versions"].mend


def test_the_lab_extension_is_found_where_jupyter_looks(tmp_path):
    place = tmp_path / "data" / "labextensions" / "memflush-jupyter"
    place.mkdir(parents=True)
    (place / "package.json").write_text("{}")
    assert look(tmp_path, {"JUPYTER_PATH": str(tmp_path / "data")})[1]["lab extension"].seen == str(place)


@pytest.mark.parametrize(("answers", "approve", "state"), [(True, "", "ok"), (False, "", "warning"), (False, "auto", "ok"), (False, "deny", "ok")])
def test_whether_the_person_can_be_asked(tmp_path, answers, approve, state):
    assert look(tmp_path, config=MemFlush(approve=approve), answers=answers, notebook=("a.ipynb", "told by Jupyter"))[1]["stdin"].state == state


def test_a_part_that_cannot_be_looked_at_hides_no_other(tmp_path, monkeypatch):
    monkeypatch.setattr(machine, "lab", lambda _: 1 / 0)
    monkeypatch.setattr(rooms, "_git", lambda _: 1 / 0)
    (tmp_path / "memory").mkdir()
    report, rows = look(tmp_path)
    assert report.broken
    assert "could not be looked at: ZeroDivisionError" in rows["memory folder"].seen
    assert rows["versions"].state == "ok"


def test_the_shell_command_tells_by_its_exit_code(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("MEMFLUSH_")]:
        monkeypatch.delenv(name)
    well = CliRunner().invoke(main, ["doctor"])
    assert (well.exit_code, "Everything is well." in well.output) == (0, True)
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setenv("MEMFLUSH_MODLE", "x")
    assert CliRunner().invoke(main, ["doctor"]).exit_code == 0
    monkeypatch.setenv("MEMFLUSH_MODEL", "anthropic/claude-sonnet-4-5")
    broken = CliRunner().invoke(main, ["doctor", "--json"])
    assert broken.exit_code == 1
    data = json.loads(broken.output)
    assert data["ok"] is False
    assert {"name": "key", "state": "broken", "seen": "ANTHROPIC_API_KEY is not set"}.items() <= next(c for c in data["checks"] if c["name"] == "key").items()


def test_the_shell_reads_the_profile_of_ipython(tmp_path, monkeypatch):
    profile = tmp_path / "ipython" / "profile_default"
    profile.mkdir(parents=True)
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("MEMFLUSH_MAX_ROUNDS", "9")
    (profile / "ipython_config.py").write_text("c = get_config()\nc.MemFlush.offline_window = 9999\nc.MemFlush.max_rounds = 3\nc.MemFlush.modle = 'x'\n")
    found = CliRunner().invoke(main, ["doctor", str(tmp_path)])
    assert "9,999 tokens" in found.output
    assert "Did you mean c.MemFlush.model?" in found.output
    (profile / "ipython_config.py").write_text("1 / 0\n")
    failed = CliRunner().invoke(main, ["doctor", str(tmp_path)])
    assert failed.exit_code == 1
    assert "cannot be read: ZeroDivisionError" in failed.output
