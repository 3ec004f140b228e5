"""`keystead keys new-master` and `rotate-master`: create a master key, and replace one by another.

Here: the flags and what is printed. Not here: how a key is read (`signer`), the rotation
(`server.installation.rotation`)."""

from __future__ import annotations

import asyncio
import os
import time
from typing import Annotated

import typer

from keystead.api.identifiers import new_id
from keystead.cli.failure import Failure
from keystead.cli.operator.database_url import DatabaseUrl, database_failures
from keystead.cli.operator.progress import ProgressLine
from keystead.server.installation.rotation import Progress, RotationRefused, rotate_master
from keystead.server.installation.status import ORGANIZATIONS_COUNTED_MAX
from keystead.server.opening import NotReady
from keystead.signer.confinement import keep_memory_private
from keystead.signer.master_keys import Master, MasterKeyError, create_master_key, open_master_key, parse_source
from keystead.storage.migrations import is_current
from keystead.storage.open import open_store


def new_master(
    place: Annotated[
        str, typer.Argument(metavar="PLACE", help="A file, made readable by its owner only; or a PKCS#11 URI.")
    ],
) -> None:
    """Create a master key, in a file or in a token."""
    keep_memory_private()
    try:
        key = create_master_key(parse_source(place, os.environ.get("KEYSTEAD_PKCS11_PIN", "")))
    except MasterKeyError as refused:
        raise Failure(str(refused)) from None
    print(f"Master key {key.key_id}: {place}. Without it every key that it seals is lost: keep a copy elsewhere.")


def rotate(
    database_url: DatabaseUrl,
    master_key_file: Annotated[
        str, typer.Option(envvar="KEYSTEAD_MASTER_KEY_FILE", help="The old master key: a file, or a PKCS#11 URI.")
    ],
    new_master_key_file: Annotated[str, typer.Option(help="The new master key.")],
) -> None:
    """Seal everything under a new master key, while servers run.

    Restart every server with both keys first. Can be stopped and run again.
    """
    keep_memory_private()
    pin = os.environ.get("KEYSTEAD_PKCS11_PIN", "")
    try:
        old, new = (open_master_key(parse_source(place, pin)) for place in (master_key_file, new_master_key_file))
        with database_failures(database_url):
            progress = asyncio.run(_rotate(database_url, old, new))
    except (MasterKeyError, RotationRefused, NotReady) as refused:
        raise Failure(str(refused)) from None
    others = progress.installation_values
    print(f"{progress.resealed} of {progress.seen} data keys and {others} other values sealed again.")
    print(
        f"Everything is under master key {new.key_id}. Restart the servers with it alone, then retire {old.key_id}."
    )


async def _rotate(database_url: str, old: Master, new: Master) -> Progress:
    store = await open_store(database_url)
    try:
        if not await is_current(store):
            raise NotReady("the database is not migrated to this version: run keystead migrate")
        now_ms = time.time_ns() // 1_000_000
        count = await store.installation.organization_count(ORGANIZATIONS_COUNTED_MAX)
        with ProgressLine() as line:

            def report(so_far: Progress) -> None:
                line.show(f"{so_far.seen} of {count} organizations seen, {so_far.resealed} data keys sealed again")

            return await rotate_master(store, old=old, new=new, new_id=new_id, now_ms=now_ms, report=report)
    finally:
        await store.close()
