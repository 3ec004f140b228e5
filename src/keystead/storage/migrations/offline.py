"""The SQL of migrations, as Alembic writes it.

Here: starting Alembic. Not here: the steps (`versions`), running the SQL (`keystead.storage.schema`).
"""

from __future__ import annotations

import io
from pathlib import Path

from alembic import command
from alembic.config import Config

MIGRATIONS = Path(__file__).parent
"""Alembic's folder."""


def upgrade_sql(dialect: str, revision: str | None) -> str:
    """The SQL that leads from this revision (None: no tables) to the newest. `dialect`: sqlite or postgresql."""
    script = io.StringIO()
    config = alembic_config(output_buffer=script)
    config.attributes["dialect"] = dialect
    command.upgrade(config, f"{revision or 'base'}:head", sql=True)
    return "".join(f"{line.rstrip()}\n" for line in script.getvalue().strip().splitlines())


def alembic_config(*, output_buffer: io.StringIO | None = None) -> Config:
    config = Config(output_buffer=output_buffer)
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config
