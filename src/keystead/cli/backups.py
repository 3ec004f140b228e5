"""`keystead backup` and `keystead restore`: copies of a SQLite database.

Here: flags and the output. Not here: copying (`storage.sqlite_backup`), the steps for PostgreSQL (docs/backup.md).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from keystead.cli.database_url import DatabaseUrl
from keystead.cli.failure import Failure
from keystead.cli.progress import ProgressLine
from keystead.storage.open import sqlite_path
from keystead.storage.sqlite_backup import BackupRefused, Report, back_up, restore


def backup(
    target: Annotated[Path, typer.Argument(metavar="FILE", help="The new file. It must not exist.")],
    database_url: DatabaseUrl,
) -> None:
    """Copy a SQLite database to a file, while servers use it.

    The file has everything but the master key: keep a copy of that elsewhere. Can be stopped and run again.
    """
    database = _database_file(database_url, "pg_dump")
    os.umask(0o077)
    with ProgressLine() as line:
        try:
            back_up(database, target, _report(line))
        except BackupRefused as refused:
            raise Failure(str(refused)) from None
    print(f"{target}: {target.stat().st_size} bytes. The master key is not in it.")


def restore_database(
    source: Annotated[Path, typer.Argument(metavar="FILE", help="What keystead backup wrote.")],
    database_url: DatabaseUrl,
) -> None:
    """Make a SQLite database of a backup, where there is none.

    Stop the servers first. Can be stopped and run again.
    """
    database = _database_file(database_url, "pg_restore")
    os.umask(0o077)
    with ProgressLine() as line:
        try:
            restore(source, database, _report(line))
        except BackupRefused as refused:
            raise Failure(str(refused)) from None
    print(f"{database} is restored. Now run keystead migrate, then keystead check, before a server starts.")


def _database_file(database_url: str, tool: str) -> Path:
    try:
        path = sqlite_path(database_url)
    except ValueError as refused:
        raise Failure(str(refused)) from None
    if path is None:
        raise Failure(f"this command is for SQLite: use PostgreSQL's own {tool}, as docs/backup.md says")
    return path


def _report(line: ProgressLine) -> Report:
    return lambda copied, pages: line.show(f"{copied} of {pages} pages copied ({100 * copied // max(pages, 1)} %)")
