"""The first schema: traces, messages, notes, the cognition log, settings, locks and the full-text index."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Lead an empty file up to this revision."""
    op.create_table(
        "traces",
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("id", sa.String(64), nullable=False, unique=True),
        sa.Column("identity", sa.Text, nullable=False),
        sa.Column("notebook", sa.Text, nullable=False, server_default=""),
        sa.Column("model", sa.Text, nullable=False, server_default=""),
        sa.Column("kind", sa.String(32), nullable=False, server_default="main"),
        sa.Column("parent_trace", sa.String(64)),
        sa.Column("title", sa.Text, nullable=False, server_default=""),
        sa.Column("head", sa.Integer),
        sa.Column("last_sequence", sa.Integer, nullable=False, server_default="0"),
        sa.Column("compaction_count", sa.Integer, nullable=False, server_default="0"),
        sa.Column("flushed_through", sa.Integer),
        sa.Column("memory_flush_at", sa.String(40)),
        sa.Column("memory_flush_compaction_count", sa.Integer),
        sa.Column("flush_failures", sa.Integer, nullable=False, server_default="0"),
        sa.Column("last_flush_error", sa.Text),
        sa.Column("reflected_at", sa.Integer),
        sa.Column("meta", sa.Text, nullable=False, server_default="{}"),
        sa.Column("created_at", sa.String(40), nullable=False),
        sa.Column("updated_at", sa.String(40), nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("traces_by_identity", "traces", ["identity", "updated_at"])
    op.create_table(
        "messages",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("trace", sa.String(64), nullable=False),
        sa.Column("sequence", sa.Integer, nullable=False),
        sa.Column("parent", sa.Integer),
        sa.Column("mark", sa.Integer),
        sa.Column("on_path", sa.Boolean, nullable=False),
        sa.Column("role", sa.String(16), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("branch", sa.String(64), nullable=False),
        sa.Column("tokens", sa.Integer, nullable=False),
        sa.Column("usage", sa.Text),
        sa.Column("stop_reason", sa.String(64)),
        sa.Column("cell_id", sa.Text),
        sa.Column("created_at", sa.String(40), nullable=False),
        sa.Column("meta", sa.Text, nullable=False),
        sa.Column("content", sa.Text, nullable=False),
        sa.UniqueConstraint("trace", "sequence", name="messages_by_sequence"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "notes",
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("id", sa.String(64), nullable=False, unique=True),
        sa.Column("file", sa.Text, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("trace", sa.String(64), index=True),
        sa.Column("sequence", sa.Integer),
        sa.Column("origin", sa.String(16), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("floor", sa.Boolean, nullable=False),
        sa.Column("signals", sa.Integer, nullable=False),
        sa.Column("queries", sa.Text, nullable=False),
        sa.Column("created_at", sa.String(40)),
        sqlite_autoincrement=True,
    )
    op.create_index("notes_by_file", "notes", ["file", "state"])
    op.create_table(
        "cognition_events",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("trace", sa.String(64), index=True),
        sa.Column("event", sa.String(32), nullable=False),
        sa.Column("data", sa.Text, nullable=False),
        sa.Column("created_at", sa.String(40), nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_table("settings", sa.Column("key", sa.String(200), primary_key=True), sa.Column("value", sa.Text, nullable=False))
    op.create_table(
        "locks",
        sa.Column("name", sa.String(200), primary_key=True),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("heartbeat", sa.Float, nullable=False),
    )
    op.execute("CREATE VIRTUAL TABLE search_index USING fts5(body, content='', tokenize=\"porter unicode61 remove_diacritics 2 categories 'L* N* M*'\")")
    op.execute("INSERT INTO settings (key, value) VALUES ('index_version', '1')")
