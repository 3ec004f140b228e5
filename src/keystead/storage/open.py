"""Opens the store that a database URL names.

Here: the choice of the database by its URL. Not here: creating or migrating tables (`schema`).
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from keystead.organizations.record_kinds import RECORD_KINDS, RecordKinds
from keystead.primitives.share import Share
from keystead.storage.cache import CacheLimits
from keystead.storage.store import DatabaseStore

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
    limits, share = cache_limits or CacheLimits(), Share()
    if (path := sqlite_path(database_url)) is not None:
        from keystead.storage.sqlite.database import SqliteDatabase

        return DatabaseStore(SqliteDatabase(path, kinds, share, lock_wait_s=timeout_s), limits, kinds, share)
    from keystead.storage.postgres.database import PostgresDatabase

    return DatabaseStore(PostgresDatabase(database_url, kinds, timeout_s=timeout_s), limits, kinds, share)


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


VARIABLE: Final = "KEYSTEAD_DATABASE_URL_FILE"
"""The variable that names the file."""


def read_database_url(path: str) -> str:
    """The one line of the file, without white space around it. Raises ValueError, which does not repeat it."""
    try:
        lines = Path(path).read_text().split()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise ValueError(f"{VARIABLE}: {path} cannot be read: {reason}") from None
    if len(lines) != 1:
        raise ValueError(f"{VARIABLE}: {path} must hold one line, the database URL")
    return lines[0]
