"""Opening: the schema made at once equals the one migrations make; older stores are led up, newer and foreign ones refused (P4)."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading

import pytest
from sqlalchemy import create_engine

from memflush_jupyter.errors import TraceError
from memflush_jupyter.trace import migrations
from memflush_jupyter.trace.schema import REVISION
from memflush_jupyter.trace.store import TraceStore


def shape(path) -> list[tuple[object, ...]]:
    """Every column and index of a database, whatever the text of its DDL."""
    raw = sqlite3.connect(path)
    tables = [name for (name,) in raw.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
    columns = [(table, *row[1:]) for table in tables for row in raw.execute(f"PRAGMA table_info({table})")]
    indexes = [(table, *row[1:]) for table in tables for row in sorted(raw.execute(f"PRAGMA index_list({table})"), key=lambda row: row[1])]
    virtual = raw.execute("SELECT name, sql FROM sqlite_master WHERE sql LIKE 'CREATE VIRTUAL%' ORDER BY name").fetchall()
    autoincrement = raw.execute("SELECT name FROM sqlite_master WHERE sql LIKE '%AUTOINCREMENT%' ORDER BY name").fetchall()
    raw.close()
    return [*columns, *((table, *sorted(map(str, row))) for table, *row in [(item[0], *item[2:]) for item in indexes]), *virtual, *autoincrement]


def empty_but_stamped(path) -> None:
    path.parent.mkdir(parents=True)
    raw = sqlite3.connect(path)
    raw.execute("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL, CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num))")
    raw.commit()
    raw.close()


def test_migrations_make_the_schema_that_a_new_store_has(store, path, tmp_path, clock):
    """Two ways to one schema, so that a store made today and one led up from the first version are the same."""
    by_migration = tmp_path / "migrated" / "store.sqlite3"
    empty_but_stamped(by_migration)
    TraceStore.open(by_migration, clock=clock).close()
    assert shape(by_migration) == shape(path)
    raw = sqlite3.connect(by_migration)
    assert raw.execute("SELECT version_num FROM alembic_version").fetchall() == [(REVISION,)]
    raw.close()


def test_migrated_store_works(tmp_path, clock):
    path = tmp_path / "x" / "store.sqlite3"
    empty_but_stamped(path)
    store = TraceStore.open(path, clock=clock)
    trace = store.create_trace(identity="me").id
    store.append(trace, role="user", kind="prompt", content=[{"type": "text", "text": "penguin"}])
    assert [hit.sequence for hit in store.search("penguin", identity="me")] == [1]
    store.close()


def test_store_of_the_first_version_is_led_up_with_all_that_it_holds(tmp_path, clock):
    """P4: an upgrade of the package loses no conversation."""
    from alembic import command

    path = tmp_path / "x" / "store.sqlite3"
    empty_but_stamped(path)
    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        settings = migrations.config()
        settings.attributes["connection"] = connection
        command.upgrade(settings, "0001")
        connection.exec_driver_sql(
            "INSERT INTO traces (id, identity, head, last_sequence, created_at, updated_at) "
            "VALUES ('abcd', 'me', 1, 1, '2026-01-15T09:00:00', '2026-01-15T09:00:00')"
        )
        connection.exec_driver_sql(
            "INSERT INTO messages (trace, sequence, on_path, role, kind, branch, tokens, created_at, meta, content) VALUES "
            "('abcd', 1, 1, 'user', 'prompt', 'main', 3, '2026-01-15T09:00:00', '{}', '[{\"type\": \"text\", \"text\": \"the penguins of Biscoe\"}]')"
        )
    engine.dispose()
    store = TraceStore.open(path, clock=clock)
    assert [message.text for message in store.path("abcd")] == ["the penguins of Biscoe"]
    assert [hit.sequence for hit in store.search("penguins", identity="me")] == [1]
    store.close()


def test_revision_of_the_code_is_the_last_of_the_scripts():
    from alembic.script import ScriptDirectory

    assert ScriptDirectory.from_config(migrations.config()).get_current_head() == REVISION


def test_opening_a_present_store_imports_neither_alembic_nor_the_orm(store, path):
    """Start-up is measured."""
    code = (
        "import sys\nfrom pathlib import Path\nfrom memflush_jupyter.clock import SystemClock\nfrom memflush_jupyter.trace.store import TraceStore\n"
        f"TraceStore.open(Path({str(path)!r}), clock=SystemClock()).close()\n"
        "print([name for name in ('alembic', 'sqlalchemy.orm', 'anthropic') if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


@pytest.mark.parametrize("version", ["9999", "zzz"])
def test_store_of_a_newer_version_is_refused_and_left_alone(store, path, clock, version):
    store.close()
    raw = sqlite3.connect(path)
    raw.execute("UPDATE alembic_version SET version_num = ?", (version,))
    raw.commit()
    raw.close()
    before = path.read_bytes()
    with pytest.raises(TraceError, match="newer version of memflush-jupyter") as error:
        TraceStore.open(path, clock=clock)
    assert "pip install --upgrade" in str(error.value)
    assert path.read_bytes() == before


def test_database_of_another_program_is_refused_and_left_alone(path, clock):
    path.parent.mkdir(parents=True)
    raw = sqlite3.connect(path)
    raw.execute("CREATE TABLE theirs (x)")
    raw.commit()
    raw.close()
    with pytest.raises(TraceError, match="another program"):
        TraceStore.open(path, clock=clock)
    raw = sqlite3.connect(path)
    assert raw.execute("SELECT name FROM sqlite_master").fetchall() == [("theirs",)]
    raw.close()


def test_several_kernels_may_make_the_store_at_once(path, clock):
    stores, faults = [], []

    def open_one() -> None:
        try:
            stores.append(TraceStore.open(path, clock=clock))
        except Exception as error:  # noqa: BLE001 - told by the assertion below
            faults.append(error)

    threads = [threading.Thread(target=open_one) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    ids = {store.create_trace(identity="me").id for store in stores}
    assert len(ids) == 6
    assert len(stores[0].traces("me")) == 6
    for store in stores:
        store.close()


@pytest.mark.parametrize("name", ["with space", "ünïcödé 企鹅", "a?b#c%20d&e=f", "'quoted\"", "-dash", "file:x"])
def test_store_may_lie_on_odd_paths(tmp_path, clock, name):
    path = tmp_path / name / f"{name}.sqlite3"
    for number in (1, 2):
        store = TraceStore.open(path, clock=clock)
        store.create_trace(identity="me")
        assert len(store.traces()) == number
        store.close()
    assert path.is_file()
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_promised_durability_is_what_the_file_is_opened_with(store, path, clock):
    """P4: a write-ahead log, NORMAL by default, FULL on request, freed pages overwritten."""

    def pragma(opened, name):
        return opened._database._raw.execute(f"PRAGMA {name}").fetchone()[0]

    assert [pragma(store, name) for name in ("journal_mode", "synchronous", "secure_delete")] == ["wal", 1, 1]
    full = TraceStore.open(path, clock=clock, synchronous="FULL")
    assert pragma(full, "synchronous") == 2
    full.close()
