"""Goals of a trace, what a trace sends to the knowledge hub, and the side branches that are still to run."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Lead a file of the first revision up to this one; nothing that it holds is changed."""
    op.create_table(
        "goals",
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("id", sa.String(64), nullable=False),
        sa.Column("trace", sa.String(64), nullable=False),
        sa.Column("parent", sa.String(64)),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("result", sa.Text, nullable=False, server_default=""),
        sa.Column("sub_trace", sa.String(64)),
        sa.Column("opened_at", sa.Integer),
        sa.Column("closed_at", sa.Integer),
        sa.Column("statistics", sa.Text, nullable=False, server_default="{}"),
        sa.Column("created_at", sa.String(40), nullable=False),
        sa.Column("updated_at", sa.String(40), nullable=False),
        sa.UniqueConstraint("trace", "id", name="goals_by_id"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "outbox",
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("key", sa.String(200), nullable=False, unique=True),
        sa.Column("trace", sa.String(64), index=True),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("payload", sa.Text, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False, server_default="0"),
        sa.Column("last_error", sa.Text),
        sa.Column("created_at", sa.String(40), nullable=False),
        sa.Column("delivered_at", sa.String(40)),
        sqlite_autoincrement=True,
    )
    op.create_index("outbox_by_delivery", "outbox", ["delivered_at", "number"])
    op.create_table(
        "side_queue",
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("trace", sa.String(64), nullable=False),
        sa.Column("batch", sa.String(64), nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("branch", sa.String(32), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("reason", sa.Text, nullable=False, server_default=""),
        sa.Column("data", sa.Text, nullable=False, server_default="{}"),
        sa.Column("attempts", sa.Integer, nullable=False, server_default="0"),
        sa.Column("created_at", sa.String(40), nullable=False),
        sa.Column("updated_at", sa.String(40), nullable=False),
        sa.UniqueConstraint("trace", "batch", "position", name="side_queue_by_place"),
        sqlite_autoincrement=True,
    )
    op.create_index("side_queue_by_state", "side_queue", ["trace", "state"])
