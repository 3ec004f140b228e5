"""`keystead migrate`: migrates a database's tables to this version, or says whether they need it.

Here: flags and the output. Not here: the migrations (`storage.migrations`), running them (`storage.schema`).
"""

from __future__ import annotations

import os
from typing import Annotated

import typer

from keystead.cli.failure import Failure
from keystead.cli.operator.database_url import DatabaseUrl, database_failures
from keystead.cli.operator.progress import ProgressLine
from keystead.storage.schema import migrate, pending_migrations


def migrate_database(
    database_url: DatabaseUrl,
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; exit code 1 if the database needs migrations.")
    ] = False,
) -> None:
    """Bring the tables of a database to this version."""
    os.umask(0o077)  # only the operator may read a SQLite file
    with database_failures(database_url):
        if check:
            needed = pending_migrations(database_url)
            if needed:
                raise Failure(f"the database needs {len(needed)} migration(s): run keystead migrate")
            print("The database needs no migration.")
        elif _migrate(database_url):
            print("The database is migrated.")
        else:
            print("Nothing to do: the database needs no migration.")


def _migrate(database_url: str) -> bool:
    with ProgressLine() as line:

        def show_beginning(number: int, last: int) -> None:
            line.show(f"migration {number} of {last}")

        return migrate(database_url, show_beginning)
