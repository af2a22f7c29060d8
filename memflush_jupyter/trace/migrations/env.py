"""Alembic's environment: runs the revisions on the connection it is given, inside that connection's transaction."""

from __future__ import annotations

from alembic import context

from memflush_jupyter.trace.schema import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata, render_as_batch=True, transactional_ddl=False)
context.run_migrations()
