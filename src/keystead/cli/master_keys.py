"""`keystead keys`: master keys made, and one put in the place of another.

Here: the flags and what is printed. Not here: how a key is read (`keys.custody`), the rotation (`server.rotation`).
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Annotated

import typer

from keystead.api.errors import ServiceError
from keystead.api.identifiers import new_id
from keystead.cli.failure import Failure
from keystead.cli.installation import DatabaseUrl
from keystead.keys import master_key
from keystead.keys.custody import create_at, open_source, source_at
from keystead.keys.sealing import Master
from keystead.server.rotation import Progress, RotationRefused, rotate_master
from keystead.server.service import NotReady
from keystead.signer.confinement import keep_memory_private
from keystead.storage.migrations import is_current
from keystead.storage.open import open_store


def new_master(
    place: Annotated[str, typer.Argument(help="A file, made readable by its owner only; or a PKCS#11 URI.")],
) -> None:
    """Make a master key, in a file or in a token."""
    keep_memory_private()
    try:
        made = create_at(source_at(place, os.environ.get("KEYSTEAD_PKCS11_PIN", "")))
    except master_key.MasterKeyError as refused:
        raise Failure(str(refused)) from None
    print(f"Master key {made.key_id}: {place}. Whoever loses it loses all that it seals: keep a copy apart.")


def rotate(
    database_url: DatabaseUrl,
    master_key_file: Annotated[str, typer.Option(help="The old master key: a file, or a PKCS#11 URI.")],
    new_master_key_file: Annotated[str, typer.Option(help="The new one.")],
) -> None:
    """Seal everything anew under a new master key, while the servers run with both. Can be stopped and repeated."""
    keep_memory_private()
    pin = os.environ.get("KEYSTEAD_PKCS11_PIN", "")
    try:
        old, new = (open_source(source_at(place, pin)) for place in (master_key_file, new_master_key_file))
        progress = asyncio.run(_rotated(database_url, old, new))
    except (master_key.MasterKeyError, RotationRefused, NotReady, ValueError) as refused:
        raise Failure(str(refused)) from None
    except ServiceError as refused:
        raise Failure(refused.message) from None
    print(f"{progress.moved} of {progress.seen} data keys and {progress.facts} other values were sealed anew.")
    print(f"All is under master key {new.key_id}. Restart the servers with it alone, then retire {old.key_id}.")


async def _rotated(database_url: str, old: Master, new: Master) -> Progress:
    store = await open_store(database_url)
    try:
        if not await is_current(store):
            raise NotReady("the database is not migrated to this version: run keystead init")
        return await rotate_master(store, old=old, new=new, new_id=new_id, tell=_tell)
    finally:
        await store.close()


def _tell(progress: Progress) -> None:
    print(f"{progress.seen} organizations seen, {progress.moved} data keys sealed anew", file=sys.stderr)
