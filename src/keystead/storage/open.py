"""The way in: open the store that a database URL names.

Here: choosing the engine by URL. Not here: making or updating tables (`schema`).
"""

from __future__ import annotations

from pathlib import Path

from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from keystead.storage.base import DatabaseStore
from keystead.storage.cache import CacheLimits

TIMEOUT_S = 5.0
"""How long the database may take for one step before Unavailable."""


async def open_store(
    database_url: str, *, cache_limits: CacheLimits | None = None, timeout_s: float = TIMEOUT_S
) -> DatabaseStore:
    """A store over this database, for the running event loop; close it when done.

    `sqlite:///relative/file`, `sqlite:////absolute/file` or `postgresql://…` as libpq takes it. The database
    need not answer yet: until it does, the store's methods raise Unavailable. Raises ValueError for another URL.
    """
    limits = cache_limits or CacheLimits()
    if (path := sqlite_path(database_url)) is not None:
        from keystead.storage.sqlite import SqliteStore

        return SqliteStore(path, limits, lock_wait_s=timeout_s)
    from keystead.storage.postgres import PostgresStore

    return PostgresStore(database_url, limits, timeout_s=timeout_s)


def sqlite_path(database_url: str) -> Path | None:
    """The file of a SQLite URL, None for a PostgreSQL URL. Raises ValueError for anything else.

    The error does not repeat the URL: it may hold a password.
    """
    try:
        url = make_url(database_url)
    except ArgumentError:
        raise ValueError("the database URL cannot be read; see sqlite:///FILE or postgresql://HOST/NAME") from None
    if url.drivername in ("postgresql", "postgres"):
        return None
    if url.drivername != "sqlite":
        raise ValueError(f"database URLs begin with sqlite:/// or postgresql://, not {url.drivername}://")
    if not url.database or url.database == ":memory:":
        raise ValueError("a SQLite URL names a file: sqlite:///FILE")
    return Path(url.database)
