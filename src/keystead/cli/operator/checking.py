"""`keystead check`: checks that a database is whole and fits its master key.

Here: flags and the output. Not here: the checks (`server.installation.checking`, `storage.sqlite.backup`).
"""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from keystead.cli.failure import Failure
from keystead.cli.operator import chosen_installation
from keystead.cli.operator.database_url import database_failures
from keystead.cli.operator.progress import ProgressLine
from keystead.cli.texts import counted
from keystead.server.installation.checking import Checked, check_installation
from keystead.server.installation.master_keys import master_key_sources
from keystead.server.installation.status import ORGANIZATIONS_COUNTED_MAX
from keystead.server.settings.settings import SettingsError
from keystead.signer.confinement import keep_memory_private
from keystead.signer.master_keys import Master, MasterKeyError, open_master_keys
from keystead.storage.migrations import is_current
from keystead.storage.open import open_store, sqlite_path
from keystead.storage.sqlite.backup import BackupRefused, integrity_problems


def check(
    database_url: chosen_installation.ChosenDatabaseUrl = "",
    master_key_file: chosen_installation.ChosenMasterKey = "",
    other_master_key_file: chosen_installation.ChosenOtherMasterKey = "",
    data: chosen_installation.ChosenData = None,
    finish_deletions: Annotated[
        bool,
        typer.Option("--finish-deletions", help="Delete the remaining rows of deleted organizations and wallets."),
    ] = False,
) -> None:
    """Check that a database is whole and fits its master key.

    Every sealed value is opened, records, versions and look-ups are compared, every table is searched for rows that
    lack others, and tables, indexes and functions are looked for. Changes nothing without --finish-deletions, and
    servers may run meanwhile. Prints a line for each problem; exit code 1 if there is one.
    """
    keep_memory_private()
    settings = chosen_installation.chosen_settings(
        database_url=database_url,
        master_key_file=master_key_file,
        other_master_key_file=other_master_key_file,
        data=data,
    )
    database_url = settings.database_url
    try:
        master = open_master_keys(master_key_sources(settings))
        path = sqlite_path(database_url)
        if path is not None and not path.exists():
            raise Failure(f"there is no database file {path}")
        damages = [] if path is None else integrity_problems(path)
        for damage in damages:
            print(f"the database file: {damage}")
        with database_failures(database_url):
            checked = asyncio.run(_check(database_url, master, finish=finish_deletions))
    except (MasterKeyError, SettingsError, BackupRefused, ValueError) as refused:
        raise Failure(str(refused)) from None
    problems = len(damages) + checked.problems
    organizations = counted(checked.organizations, "organization", "organizations")
    print(f"{organizations}, {counted(checked.sealed_values, 'sealed value', 'sealed values')} opened.")
    if problems:
        is_another_key = checked.problems and not checked.sealed_values
        hint = "; no sealed value opened, so the data is probably under another master key"
        raise Failure(f"{counted(problems, 'problem', 'problems')}, listed above{hint if is_another_key else ''}")
    print("No problem found.")


async def _check(database_url: str, master: Master, *, finish: bool) -> Checked:
    store = await open_store(database_url)
    try:
        if not await is_current(store):
            raise Failure("the database is not migrated to this version: run keystead migrate")
        count = await store.installation.organization_count(ORGANIZATIONS_COUNTED_MAX)
        with ProgressLine() as line:

            def progress(so_far: Checked) -> None:
                line.show(f"{so_far.organizations} of {count} organizations checked, {so_far.problems} problems")

            return await check_installation(store, master, problem=print, progress=progress, finish=finish)
    finally:
        await store.close()
