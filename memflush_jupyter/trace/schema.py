"""The tables of the trace store (SQLAlchemy Core) and the full-text index beside them.

Times are UTC in ISO 8601 with microseconds, so that their order as text is their order in time. Content, usage and other
structured values are JSON text. A row of ``messages`` is never changed after it was written, apart from ``on_path``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlalchemy import Boolean, Column, Float, Index, Integer, MetaData, String, Table, Text, UniqueConstraint, text

if TYPE_CHECKING:
    from sqlalchemy import Connection

REVISION: Final = "0002"
"""The Alembic revision this code reads and writes; ``migrations/versions`` leads up to it."""

INDEX_VERSION: Final = "2"
"""Raised whenever ``fulltext.split`` changes: an index made by another version is rebuilt when the store is opened."""

metadata = MetaData()

traces = Table(
    "traces",
    metadata,
    # A number that is never used twice: ids derived from it stay unique after a deletion.
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("id", String(64), nullable=False, unique=True),
    Column("identity", Text, nullable=False),
    Column("notebook", Text, nullable=False, server_default=""),
    Column("model", Text, nullable=False, server_default=""),
    Column("kind", String(32), nullable=False, server_default="main"),
    Column("parent_trace", String(64)),
    Column("title", Text, nullable=False, server_default=""),
    Column("head", Integer),
    Column("last_sequence", Integer, nullable=False, server_default="0"),
    Column("compaction_count", Integer, nullable=False, server_default="0"),
    Column("flushed_through", Integer),
    Column("memory_flush_at", String(40)),
    Column("memory_flush_compaction_count", Integer),
    Column("flush_failures", Integer, nullable=False, server_default="0"),
    Column("last_flush_error", Text),
    Column("reflected_at", Integer),
    Column("meta", Text, nullable=False, server_default="{}"),
    Column("created_at", String(40), nullable=False),
    Column("updated_at", String(40), nullable=False),
    Index("traces_by_identity", "identity", "updated_at"),
    sqlite_autoincrement=True,
)

messages = Table(
    "messages",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("trace", String(64), nullable=False),
    Column("sequence", Integer, nullable=False),
    Column("parent", Integer),
    # The latest summary on the way from the root to this message, itself included: where loading may begin.
    Column("mark", Integer),
    # Whether the message lies on its trace's main path; what was rewound away keeps its row and is not found by search.
    Column("on_path", Boolean, nullable=False),
    Column("role", String(16), nullable=False),
    Column("kind", String(16), nullable=False),
    Column("branch", String(64), nullable=False),
    Column("tokens", Integer, nullable=False),
    Column("usage", Text),
    Column("stop_reason", String(64)),
    Column("cell_id", Text),
    Column("created_at", String(40), nullable=False),
    Column("meta", Text, nullable=False),
    Column("content", Text, nullable=False),
    UniqueConstraint("trace", "sequence", name="messages_by_sequence"),
    sqlite_autoincrement=True,
)

notes = Table(
    "notes",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("id", String(64), nullable=False, unique=True),
    Column("file", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("trace", String(64), index=True),
    Column("sequence", Integer),
    Column("origin", String(16), nullable=False),
    Column("state", String(16), nullable=False),
    Column("floor", Boolean, nullable=False),
    Column("signals", Integer, nullable=False),
    Column("queries", Text, nullable=False),
    Column("created_at", String(40)),
    Index("notes_by_file", "file", "state"),
    sqlite_autoincrement=True,
)

cognition_events = Table(
    "cognition_events",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("trace", String(64), index=True),
    Column("event", String(32), nullable=False),
    Column("data", Text, nullable=False),
    Column("created_at", String(40), nullable=False),
    sqlite_autoincrement=True,
)

goals = Table(
    "goals",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=True),
    # Short and unique within its trace, so that a model and a person can name it.
    Column("id", String(64), nullable=False),
    Column("trace", String(64), nullable=False),
    Column("parent", String(64)),
    Column("kind", String(16), nullable=False),
    Column("title", Text, nullable=False),
    Column("status", String(16), nullable=False),
    Column("result", Text, nullable=False, server_default=""),
    Column("sub_trace", String(64)),
    # Sequences of the messages at which the goal was opened and closed.
    Column("opened_at", Integer),
    Column("closed_at", Integer),
    Column("statistics", Text, nullable=False, server_default="{}"),
    Column("created_at", String(40), nullable=False),
    Column("updated_at", String(40), nullable=False),
    UniqueConstraint("trace", "id", name="goals_by_id"),
    sqlite_autoincrement=True,
)

# What is to reach the knowledge hub: written in the transaction of its effect, delivered afterwards, once by its key.
outbox = Table(
    "outbox",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("key", String(200), nullable=False, unique=True),
    Column("trace", String(64), index=True),
    Column("kind", String(16), nullable=False),
    Column("payload", Text, nullable=False),
    Column("attempts", Integer, nullable=False, server_default="0"),
    Column("last_error", Text),
    Column("created_at", String(40), nullable=False),
    Column("delivered_at", String(40)),
    Index("outbox_by_delivery", "delivered_at", "number"),
    sqlite_autoincrement=True,
)

# Side branches that are to run, in their order; a batch belongs to one compaction or one completion of its trace.
side_queue = Table(
    "side_queue",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("trace", String(64), nullable=False),
    Column("batch", String(64), nullable=False),
    Column("position", Integer, nullable=False),
    Column("branch", String(32), nullable=False),
    Column("state", String(16), nullable=False),
    Column("reason", Text, nullable=False, server_default=""),
    Column("data", Text, nullable=False, server_default="{}"),
    Column("attempts", Integer, nullable=False, server_default="0"),
    Column("created_at", String(40), nullable=False),
    Column("updated_at", String(40), nullable=False),
    UniqueConstraint("trace", "batch", "position", name="side_queue_by_place"),
    Index("side_queue_by_state", "trace", "state"),
    sqlite_autoincrement=True,
)

settings = Table("settings", metadata, Column("key", String(200), primary_key=True), Column("value", Text, nullable=False))

locks = Table(
    "locks",
    metadata,
    Column("name", String(200), primary_key=True),
    Column("owner", Text, nullable=False),
    Column("heartbeat", Float, nullable=False),
)

# Contentless: the index holds terms only, the text stays in `messages` and `notes`. Marks are token characters so that the
# vowel signs of Indic and South-East Asian scripts do not cut their words.
FULL_TEXT: Final = "CREATE VIRTUAL TABLE search_index USING fts5(body, content='', tokenize=\"porter unicode61 remove_diacritics 2 categories 'L* N* M*'\")"


def create(connection: Connection) -> None:
    """Create every table and stamp the revision, in the transaction of ``connection``: what ``alembic upgrade head`` would do."""
    metadata.create_all(connection, checkfirst=False)
    connection.execute(text(FULL_TEXT))
    connection.execute(text("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL, CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num))"))
    connection.execute(text("INSERT INTO alembic_version (version_num) VALUES (:revision)"), {"revision": REVISION})
    connection.execute(settings.insert().values(key="index_version", value=INDEX_VERSION))
