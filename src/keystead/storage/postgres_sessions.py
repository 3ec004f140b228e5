"""The settings of a session, with and without a pooler such as PgBouncer between the server and PostgreSQL.

In transaction mode, PgBouncer gives every transaction any session of the database. So a pooled connection
prepares no statement under a name and sets nothing beyond its transaction. Not here: connecting
(`postgres_hosts`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

STARTUP_SETTINGS: Final = {"application_name": "keystead"}
"""What is sent when a connection begins. PgBouncer refuses a connection that sends other settings."""

_BEGIN: Final = "BEGIN ISOLATION LEVEL READ COMMITTED"


async def set_for_session(connection: Any, settings: Mapping[str, str]) -> bool:
    """Apply settings to the whole session. Returns False, with nothing set, if the connection is pooled.

    A pooler tells its client another process id than that of the server's process. The names and values must be
    constants. One message without parameters: it prepares nothing.
    """
    values = ", ".join(f"('{name}', '{value}')" for name, value in settings.items())
    done = await connection.execute(
        f"SELECT set_config(name, value, false) FROM (VALUES {values}) AS setting (name, value) "  # noqa: S608
        f"WHERE pg_backend_pid() = {connection.get_server_pid()}"
    )
    return bool(done != "SELECT 0")


def begin_statement(limits: Mapping[str, str], *, is_pooled: bool) -> str:
    """The statement that begins a transaction; on a pooled connection, with these settings."""
    if not is_pooled:
        return _BEGIN
    return "; ".join([_BEGIN, *(f"SET LOCAL {name} = '{value}'" for name, value in limits.items())])
