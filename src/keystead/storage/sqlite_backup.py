"""Backups of a SQLite database: a copy of a running database, a new database from a copy, SQLite's own check.

Here: whole files. Not here: what the tables hold (`server.checking`), PostgreSQL, which has its own tools
(docs/backup.md).

A copy is written beside its place under a name of its own. When it is complete and on disk, it is linked to its
place. So a file in that place is whole, nothing is overwritten, and an interrupted command can be repeated.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

from keystead.storage.migrations import newest
from keystead.storage.open import TIMEOUT_S

_PAGES_AT_ONCE = 1_000
_BESIDE = ("", "-wal", "-journal")
"""The endings of the files that SQLite reads as parts of a database."""

Report = Callable[[int, int], None]
"""Is called with the pages that are copied, and with all pages."""


class BackupRefused(Exception):
    """The copy was not made, and nothing has changed. The message is one line for the operator."""


def back_up(database: Path, target: Path, report: Report) -> None:
    """Copy a database to a new file while servers use it. The copy is of the moment at which this began.

    Raises BackupRefused: no database, or not one of Keystead; the file exists; it cannot be written.
    """
    if not database.exists():
        raise BackupRefused(f"there is no database file {database}")
    _require_free(target, "", "give another file")
    with _as_refused(f"{database} cannot be copied to {target}"), _opened(database, "rw") as source:
        _require_keystead(source, database)
        _copy(source, target, report)


def restore(backup: Path, database: Path, report: Report) -> None:
    """Make a new database of a backup. Returns when it is on disk.

    Raises BackupRefused: no backup, or not one of Keystead; a newer version made it; there is a database already,
    or a part of one; it cannot be written.
    """
    if not backup.exists():
        raise BackupRefused(f"there is no backup {backup}")
    for ending in _BESIDE:
        _require_free(database, ending, "a backup is restored only where there is no database; move the file away")
    with _as_refused(f"{backup} cannot be restored to {database}"), _opened(backup, "ro") as source:
        _require_keystead(source, backup)
        _copy(source, database, report)


def damage(database: Path) -> list[str]:
    """What SQLite finds wrong with a file and its indexes; nothing if it is whole. Reads all of it.

    Raises BackupRefused if it cannot be read.
    """
    with _as_refused(f"{database} cannot be read"), _opened(database, "rw") as connection:
        found = [line for (line,) in connection.execute("PRAGMA integrity_check")]
    return [] if found == ["ok"] else found


def _require_free(path: Path, ending: str, advice: str) -> None:
    beside = path.with_name(path.name + ending)
    if os.path.lexists(beside):
        raise BackupRefused(f"{beside} exists already: {advice}")


def _require_keystead(connection: sqlite3.Connection, path: Path) -> None:
    try:
        ((version,),) = connection.execute("SELECT version FROM schema_version").fetchall()
    except (sqlite3.OperationalError, ValueError):
        raise BackupRefused(f"{path} is not a database of Keystead") from None
    if version > newest():
        raise BackupRefused(
            f"the tables of {path} have version {version}, this version of Keystead knows {newest()}"
        )
    found = connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchone()
    if found is not None:  # it would change what a server writes
        raise BackupRefused(f"{path} has a trigger, {found[0][:100]!r}, which Keystead did not make")


def _copy(source: sqlite3.Connection, target: Path, report: Report) -> None:
    # A read transaction: the copy is of this moment, and does not begin anew whenever a server commits.
    source.execute("BEGIN")
    source.execute("SELECT version FROM schema_version").fetchall()
    unfinished = target.with_name(f".{target.name}.{secrets.token_hex(4)}.unfinished")
    try:
        with contextlib.closing(sqlite3.connect(unfinished, isolation_level=None)) as copy:
            unfinished.chmod(0o600)
            source.backup(
                copy, pages=_PAGES_AT_ONCE, progress=lambda _, remaining, pages: report(pages - remaining, pages)
            )
            copy.execute("PRAGMA journal_mode=DELETE").fetchall()  # one file, readable on read-only media
            if copy.execute("PRAGMA quick_check(1)").fetchall() != [("ok",)]:
                raise BackupRefused("the copy is damaged, so the database is: run keystead check")
        _flush(unfinished)
        os.link(unfinished, target)  # fails if another process made the file meanwhile
        _flush(target.parent)
    finally:
        unfinished.unlink(missing_ok=True)


def _flush(path: Path) -> None:
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


@contextlib.contextmanager
def _opened(path: Path, mode: str) -> Iterator[sqlite3.Connection]:
    uri = f"{path.absolute().as_uri()}?mode={mode}"
    with contextlib.closing(sqlite3.connect(uri, uri=True, timeout=TIMEOUT_S, isolation_level=None)) as connection:
        yield connection


@contextlib.contextmanager
def _as_refused(what: str) -> Iterator[None]:
    """SQLite's messages do not quote values."""
    try:
        yield
    except sqlite3.Error as error:
        raise BackupRefused(f"{what}: {error}") from error
    except OSError as error:
        raise BackupRefused(f"{what}: {error.strerror}") from error
