"""Schema changes, by Alembic. Imported only when a store's revision is not the present one: Alembic costs 150 ms."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from memflush_jupyter.errors import TraceError
from memflush_jupyter.trace import schema

if TYPE_CHECKING:
    from alembic.config import Config

    from memflush_jupyter.trace.database import Database

FOLDER = Path(__file__).parent


def config() -> Config:
    """Alembic's configuration, without a file: the scripts are those beside this module."""
    from alembic.config import Config

    settings = Config()
    settings.set_main_option("script_location", str(FOLDER).replace("%", "%%"))
    settings.set_main_option("path_separator", "os")
    return settings


def upgrade(database: Database, found: str) -> None:
    """Lead a store from revision ``found`` (empty: before the first) up to the present one, in one transaction.

    Raises:
        TraceError: the store was written by a newer version.
    """
    from alembic import command
    from alembic.script import ScriptDirectory

    settings = config()
    known = {script.revision for script in ScriptDirectory.from_config(settings).walk_revisions()}
    if found and found not in known:
        raise TraceError(
            f"The trace store {database.name} was written by a newer version of memflush-jupyter (schema {found}; this version knows "
            f"{schema.REVISION}). Upgrade with 'pip install --upgrade memflush-jupyter'; nothing was changed."
        )
    with database.write() as connection:
        settings.attributes["connection"] = connection
        command.upgrade(settings, "head")
