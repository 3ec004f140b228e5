"""Opening the store that a database URL names.

Here: choosing the engine by URL. Not here: making or updating tables (`schema`).
"""

from __future__ import annotations

import re
from pathlib import Path

from keystead.organizations.record_kinds import RECORD_KINDS, RecordKinds
from keystead.storage.base import DatabaseStore
from keystead.storage.cache import CacheLimits

TIMEOUT_S = 5.0
"""How long the database may take for one step before Unavailable."""

_SCHEME = re.compile(r"[\w+]+")
_HOST = re.compile(r"(\[[^\[\]]+\]|[^\[\]:]*)(:[0-9]*)?")
"""A name, an address, or one of IPv6 in brackets, each with its port, or nothing."""


async def open_store(
    database_url: str,
    *,
    cache_limits: CacheLimits | None = None,
    kinds: RecordKinds = RECORD_KINDS,
    timeout_s: float = TIMEOUT_S,
) -> DatabaseStore:
    """A store over this database, for the running event loop; close it when done.

    `sqlite:///relative/file`, `sqlite:////absolute/file` or `postgresql://…` as libpq takes it. The database
    need not answer yet: until it does, the store's methods raise Unavailable. `kinds` are the record kinds that
    organizations have. Raises ValueError for another URL.
    """
    limits = cache_limits or CacheLimits()
    if (path := sqlite_path(database_url)) is not None:
        from keystead.storage.sqlite import SqliteStore

        return SqliteStore(path, limits, kinds, lock_wait_s=timeout_s)
    from keystead.storage.postgres import PostgresStore

    return PostgresStore(database_url, limits, kinds, timeout_s=timeout_s)


def sqlite_path(database_url: str) -> Path | None:
    """The file of a SQLite URL, None for a PostgreSQL URL. Raises ValueError for anything else.

    The error does not repeat the URL: it may hold a password.
    """
    scheme, _, rest = database_url.partition("://")
    if scheme in ("postgresql", "postgres"):
        if all(map(_HOST.fullmatch, _hosts(rest))):
            return None
    elif scheme == "sqlite":
        slash, file = rest[:1], rest[1:]
        if slash != "/" or file in ("", ":memory:") or "?" in file:
            raise ValueError("a SQLite URL names a file and nothing else: sqlite:///FILE")
        return Path(file)
    elif _SCHEME.fullmatch(scheme) and scheme != database_url:
        raise ValueError(f"database URLs begin with sqlite:/// or postgresql://, not {scheme}://")
    raise ValueError("the database URL cannot be read; see sqlite:///FILE or postgresql://HOST/NAME")


def _hosts(rest: str) -> list[str]:
    """Of `user:password@host:port,host:port/name?settings`, with anything but the hosts left out."""
    return re.split("[/?#]", rest, maxsplit=1)[0].rpartition("@")[2].split(",")
