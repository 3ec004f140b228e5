"""`keystead check`: checks that a database is whole and fits its master key.

Here: flags and the output. Not here: the checks (`server.checking`, `storage.sqlite_backup`).
"""

from __future__ import annotations

import asyncio
import os
from typing import Annotated

import typer

from keystead.cli.database_failure import database_failures
from keystead.cli.database_url import DatabaseUrl
from keystead.cli.failure import Failure
from keystead.cli.progress import ProgressLine
from keystead.cli.texts import counted
from keystead.server.checking import Checked, check_installation
from keystead.server.status import ORGANIZATIONS_COUNTED_MAX
from keystead.signer.confinement import keep_memory_private
from keystead.signer.master_keys import Master, MasterKeyError, MasterKeySources, open_master_keys, parse_source
from keystead.storage.migrations import is_current
from keystead.storage.open import open_store, sqlite_path
from keystead.storage.sqlite_backup import BackupRefused, integrity_problems


def check(
    database_url: DatabaseUrl,
    master_key_file: Annotated[
        str, typer.Option(envvar="KEYSTEAD_MASTER_KEY_FILE", help="The master key: a file, or a PKCS#11 URI.")
    ],
    other_master_key_file: Annotated[
        str,
        typer.Option(envvar="KEYSTEAD_OTHER_MASTER_KEY_FILE", help="The second master key, during a rotation."),
    ] = "",
    finish_deletions: Annotated[
        bool,
        typer.Option("--finish-deletions", help="Delete the remaining rows of deleted organizations and wallets."),
    ] = False,
) -> None:
    """Check that a database is whole and fits its master key.

    Every sealed value is opened, records, versions and look-ups are compared, and tables, indexes and functions are
    looked for. Changes nothing without --finish-deletions, and servers may run meanwhile. Prints a line for each
    problem; exit code 1 if there is one.
    """
    keep_memory_private()
    pin = os.environ.get("KEYSTEAD_PKCS11_PIN", "")
    try:
        places = [place for place in (master_key_file, other_master_key_file) if place]
        sealing, *others = [parse_source(place, pin) for place in places]
        master = open_master_keys(MasterKeySources(sealing, tuple(others)))
        path = sqlite_path(database_url)
        if path is not None and not path.exists():
            raise Failure(f"there is no database file {path}")
        damages = [] if path is None else integrity_problems(path)
        for damage in damages:
            print(f"the database file: {damage}")
        with database_failures(database_url):
            checked = asyncio.run(_check(database_url, master, finish=finish_deletions))
    except (MasterKeyError, BackupRefused, ValueError) as refused:
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
        count = await store.organization_count(ORGANIZATIONS_COUNTED_MAX)
        with ProgressLine() as line:

            def progress(so_far: Checked) -> None:
                line.show(f"{so_far.organizations} of {count} organizations checked, {so_far.problems} problems")

            return await check_installation(store, master, problem=print, progress=progress, finish=finish)
    finally:
        await store.close()
