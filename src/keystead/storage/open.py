"""Opens the store that a database URL names.

Here: the choice of the database by its URL. Not here: creating or migrating tables (`schema`).
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
"""A host name, an IPv4 address, or an IPv6 address in brackets, with or without a port; or nothing."""


async def open_store(
    database_url: str,
    *,
    cache_limits: CacheLimits | None = None,
    kinds: RecordKinds = RECORD_KINDS,
    timeout_s: float = TIMEOUT_S,
) -> DatabaseStore:
    """A store on this database, for the running event loop. The caller must close it.

    The URL is `sqlite:///relative/file`, `sqlite:////absolute/file` or `postgresql://…` in the form of libpq. The
    database need not answer yet: until it does, the store's methods raise Unavailable. `kinds` are the record
    kinds of organizations. Raises ValueError for any other URL.
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
    """The hosts, with their ports, of `user:password@host:port,host:port/name?settings`."""
    return re.split("[/?#]", rest, maxsplit=1)[0].rpartition("@")[2].split(",")
