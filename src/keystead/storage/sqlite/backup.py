"""Backups of a SQLite database: a copy of a running database, a new database from a copy, SQLite's own check.

Here: whole files. Not here: what the tables hold (`server.installation.checking`), PostgreSQL, which has its own
tools (docs/backup.md).

A copy is written to a temporary file in the folder of its target. When it is complete and on disk, it is linked to
the name of the target. So a file of that name is complete, nothing is overwritten, and an interrupted command can
be repeated.
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
_SUFFIXES = ("", "-wal", "-journal")
"""The endings of the files that SQLite reads as parts of a database."""

Report = Callable[[int, int], None]
"""Called with the number of copied pages and the number of all pages."""


class BackupRefused(Exception):
    """The copy was not made, and nothing has changed. The message is one line for the operator."""


def back_up(database: Path, target: Path, report: Report) -> None:
    """Copy a database to a new file while servers use it. The copy has the state at the beginning of the call.

    Raises BackupRefused if there is no database of Keystead, if the file exists, or if it cannot be written.
    """
    if not database.exists():
        raise BackupRefused(f"there is no database file {database}")
    _require_free(target, "", "give another file")
    with _refuse_on_error(f"{database} cannot be copied to {target}"), _open(database, "rw") as source:
        _require_keystead(source, database)
        _copy(source, target, report)


def restore(backup: Path, database: Path, report: Report) -> None:
    """Make a new database from a backup. Returns when it is on disk.

    Raises BackupRefused if there is no backup of Keystead, if a newer version made it, if there is already a
    database or a part of one, or if it cannot be written.
    """
    if not backup.exists():
        raise BackupRefused(f"there is no backup {backup}")
    for ending in _SUFFIXES:
        _require_free(database, ending, "a backup is restored only where there is no database; move the file away")
    with _refuse_on_error(f"{backup} cannot be restored to {database}"), _open(backup, "ro") as source:
        _require_keystead(source, backup)
        _copy(source, database, report)


def integrity_problems(database: Path) -> list[str]:
    """The errors that SQLite finds in a file and its indexes; empty if it has none. Reads the whole file.

    Raises BackupRefused if it cannot be read.
    """
    with _refuse_on_error(f"{database} cannot be read"), _open(database, "rw") as connection:
        lines = [line for (line,) in connection.execute("PRAGMA integrity_check")]
    return [] if lines == ["ok"] else lines


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
    trigger = connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchone()
    if trigger is not None:  # it would change what a server writes
        raise BackupRefused(f"{path} has a trigger, {trigger[0][:100]!r}, which Keystead did not make")


def _copy(source: sqlite3.Connection, target: Path, report: Report) -> None:
    # A read transaction: the copy has the state of this moment, and does not start again when a server commits.
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
                raise BackupRefused("the copy is damaged because the database is damaged; run keystead check")
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
def _open(path: Path, mode: str) -> Iterator[sqlite3.Connection]:
    uri = f"{path.absolute().as_uri()}?mode={mode}"
    with contextlib.closing(sqlite3.connect(uri, uri=True, timeout=TIMEOUT_S, isolation_level=None)) as connection:
        yield connection


@contextlib.contextmanager
def _refuse_on_error(what: str) -> Iterator[None]:
    """Turn errors of SQLite and of files into BackupRefused. SQLite's messages do not quote values."""
    try:
        yield
    except sqlite3.Error as error:
        raise BackupRefused(f"{what}: {error}") from error
    except OSError as error:
        raise BackupRefused(f"{what}: {error.strerror}") from error
