"""`keystead backup` and `keystead restore`: copies of a SQLite database.

Here: flags and the output. Not here: copying (`storage.sqlite.backup`), the steps for PostgreSQL (docs/backup.md).
"""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path
from typing import Annotated

import typer

from keystead.cli.failure import Failure
from keystead.cli.operator.database_url import DatabaseUrl, database_failures
from keystead.cli.operator.progress import ProgressLine
from keystead.server.installation.dates import record_backup
from keystead.storage.open import open_store, sqlite_path
from keystead.storage.sqlite.backup import BackupRefused, Report, back_up, restore


def backup(
    database_url: DatabaseUrl,
    target: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="The new file. It must not exist.", show_default=False)
    ] = None,
    made: Annotated[
        bool, typer.Option("--made", help="Copy nothing: other tools have just made a backup, of PostgreSQL.")
    ] = False,
) -> None:
    """Copy a SQLite database to a file, while servers use it.

    The file has everything but the master key: keep a copy of that elsewhere. Can be stopped and run again. The
    time of the backup is recorded in the database, for `keystead status` and the metrics.
    """
    began_ms = time.time_ns() // 1_000_000
    if made == (target is not None):
        raise typer.BadParameter("give the new file, or --made after other tools have made a backup")
    if target is not None:
        _back_up(database_url, target)
    with database_failures(database_url, "the backup is not on record: "):
        asyncio.run(_record(database_url, began_ms))
    if made:
        print("The backup is on record. Nothing was copied.")


def _back_up(database_url: str, target: Path) -> None:
    database = _database_file(database_url, "pg_dump")
    os.umask(0o077)
    with ProgressLine() as line:
        try:
            back_up(database, target, _report(line))
        except BackupRefused as refused:
            raise Failure(str(refused)) from None
    print(f"{target}: {target.stat().st_size} bytes. The master key is not in it.")


async def _record(database_url: str, at_ms: int) -> None:
    store = await open_store(database_url)
    try:
        await record_backup(store, at_ms)
    finally:
        await store.close()


def restore_database(
    source: Annotated[Path, typer.Argument(metavar="FILE", help="What keystead backup wrote.")],
    database_url: DatabaseUrl,
) -> None:
    """Make a new SQLite database from a backup.

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
