"""Messages for the operator after a command or a start failed because of the database: which database, what to do.

Callers of the API get other messages, which name no file and no host (`errors`). Not here: why PostgreSQL does not
accept a connection (`postgres.reconnection`).
"""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path
from typing import Final

from keystead.api.errors import DatabaseUnavailable, ServiceError
from keystead.storage.errors import AGAIN
from keystead.storage.open import sqlite_path

_BY_CODE: Final = {
    sqlite3.SQLITE_BUSY: "another process keeps it locked: run the command again when that process has ended",
    sqlite3.SQLITE_CORRUPT: "it is damaged: restore a backup",
    sqlite3.SQLITE_FULL: "the disk is full: free some space",
    sqlite3.SQLITE_NOTADB: "it is not a SQLite database: name another file in the database URL",
    sqlite3.SQLITE_PERM: "this user may not use it: see its mode and owner",
    sqlite3.SQLITE_READONLY: "this user may not write to it: see the mode and the owner of the file and its folder",
}
"""By SQLite's primary result code."""

_PRIMARY: Final = 0xFF


def operator_message(database_url: str, refused: ServiceError) -> str:
    """One line about what a store on this URL raised. It names the file or the host, and repeats nothing else of
    the URL: it may hold a password."""
    cause = refused.message.removesuffix(AGAIN)
    if not isinstance(refused, DatabaseUnavailable):
        return cause
    path = sqlite_path(database_url)
    if path is None:
        place = _hosts(database_url)
        return f"{cause} (at {place})" if place else cause
    if not isinstance(refused.__cause__, sqlite3.Error):
        return f"database file {path}: {cause}"
    return f"database file {path}: {_sqlite_cause(path, refused.__cause__)}"


def _sqlite_cause(path: Path, error: sqlite3.Error) -> str:
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & _PRIMARY
    if code != sqlite3.SQLITE_CANTOPEN:
        return _BY_CODE.get(code, f"error of SQLite: {error}")
    if not path.absolute().parent.is_dir():
        return "its folder does not exist: make it first, or name another file in the database URL"
    return "it cannot be opened: this user must be able to read and write the file and its folder"


def _hosts(database_url: str) -> str:
    """`host:port,host:port` of a URL, without user and password; "" if they cannot be read for certain."""
    authority, *rest = re.split("[/?#]", database_url.partition("://")[2], maxsplit=1)
    if any(
        "@" in part for part in rest
    ):  # the password has one of these characters, so the split is in the password
        return ""
    return authority.rpartition("@")[2]
