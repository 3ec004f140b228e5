"""`keystead init`: a production installation is founded, once.

Here: flags, the master key's file, what is printed. Not here: founding (`server.founding`), serving (`serving`).
"""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path
from typing import Annotated

import typer

from keystead.api.errors import ServiceError
from keystead.api.identifiers import new_id
from keystead.cli.credentials import write_credentials
from keystead.cli.failure import Failure
from keystead.client.credentials import Credentials
from keystead.keys.custody import KeyFile, create_at, open_source, source_at
from keystead.keys.master_key import MasterKeyError
from keystead.keys.sealing import Master
from keystead.server.founding import Founder, found
from keystead.server.service import MODE
from keystead.stamps.signing import generate_api_key
from keystead.storage.open import open_store
from keystead.storage.schema import migrate

DatabaseUrl = Annotated[
    str,
    typer.Option(
        envvar="KEYSTEAD_DATABASE_URL",
        help="postgresql://… or sqlite:///FILE. With a password: better in the variable.",
    ),
]


def init(
    database_url: DatabaseUrl,
    organization_name: Annotated[str, typer.Option(envvar="KEYSTEAD_ORGANIZATION_NAME", help="Its name.")],
    master_key_file: Annotated[
        str,
        typer.Option(
            envvar="KEYSTEAD_MASTER_KEY_FILE",
            help="Made, readable by its owner only, if missing. Or the PKCS#11 URI of a key that exists.",
        ),
    ],
    user_name: Annotated[str, typer.Option(help="Name of the root user.")] = "Root user",
    user_email: Annotated[str, typer.Option(help="E-mail address of the root user.")] = "",
    api_public_key: Annotated[
        str,
        typer.Option(help="P-256 public key of the root user, compressed hex. Missing: a pair is made."),
    ] = "",
    credentials: Annotated[
        Path | None, typer.Option(help="Where to write the credentials of a key that is made here.")
    ] = None,
    base_url: Annotated[
        str, typer.Option(help="The address to write into the credentials.")
    ] = "http://localhost:8080",
) -> None:
    """Migrate the database; make the first organization and its root user, if there is none yet."""
    if not api_public_key and credentials is None:
        raise typer.BadParameter("give --api-public-key, or --credentials for a key that is made here")
    if credentials is not None and credentials.exists():
        raise Failure(f"{credentials} exists already and is left as it is")
    os.umask(0o077)  # a SQLite file is the operator's alone
    try:
        migrated = migrate(database_url)
        organization_id = asyncio.run(_founded_before(database_url))
    except ServiceError as refused:
        raise Failure(refused.message) from None
    except ValueError as refused:
        raise Failure(str(refused)) from None
    if migrated:
        print("The database is migrated.")
    if organization_id is not None:
        print(f"Nothing to do: this database has been initialised before, with organization {organization_id}.")
        return
    key = _master_key(master_key_file)
    pair = None if api_public_key else generate_api_key()
    founder = Founder(
        organization_id=new_id(),
        organization_name=organization_name,
        user_id=new_id(),
        user_name=user_name,
        user_email=user_email or None,
        api_key_name="Root key",
        api_public_key=pair.public_key if pair else api_public_key,
    )
    if pair is not None and credentials is not None:
        write_credentials(
            credentials,
            Credentials(
                base_url=base_url,
                organization_id=founder.organization_id,
                user_id=founder.user_id,
                api_public_key=pair.public_key,
                api_private_key=pair.private_key,
            ),
        )
    try:
        is_new = asyncio.run(_found(database_url, key, founder))
    except ServiceError as refused:
        if credentials is not None and pair is not None:
            credentials.unlink(missing_ok=True)
        raise Failure(refused.message) from None
    if not is_new:
        if credentials is not None and pair is not None:
            credentials.unlink(missing_ok=True)
        raise Failure("this database has been initialised by somebody else just now; nothing was changed")
    print(f"Organization {founder.organization_id} ({organization_name}), root user {founder.user_id}.")
    print(f"Master key: {master_key_file}. Whoever loses it loses every key in the database: keep a copy apart.")
    if pair is not None:
        print(f"Credentials of the root user: {credentials}.")


async def _founded_before(database_url: str) -> str | None:
    store = await open_store(database_url)
    try:
        if await store.instance_value(MODE) is None:
            return None
        return (await store.instance_value("first_organization_id") or b"").decode()
    finally:
        await store.close()


async def _found(database_url: str, key: Master, founder: Founder) -> bool:
    store = await open_store(database_url)
    try:
        founded = await found(
            store,
            mode="serve",
            master_key=key,
            founder=founder,
            now_ms=time.time_ns() // 1_000_000,
            new_id=new_id,
        )
        return founded is not None
    finally:
        await store.close()


def _master_key(place: str) -> Master:
    try:
        source = source_at(place, os.environ.get("KEYSTEAD_PKCS11_PIN", ""))
        is_new = isinstance(source, KeyFile) and not Path(source.path).exists()
        return create_at(source) if is_new else open_source(source)
    except MasterKeyError as refused:
        raise Failure(str(refused)) from None
