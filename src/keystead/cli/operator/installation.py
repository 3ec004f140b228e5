"""`keystead init`: migrates the database and makes the first organization of a production installation.

Here: flags, the master key's file, what is printed. Not here: the records (`server.installation.bootstrap`),
serving (`serving`)."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from keystead.api.identifiers import new_id
from keystead.cli.credentials import (
    BaseUrl,
    NewCredentials,
    PublicKeyOption,
    check_is_new,
    check_new_key,
    kept_if_on_record,
    remove,
    write_credentials,
)
from keystead.cli.failure import Failure
from keystead.cli.operator.database_url import DatabaseUrl, database_failures
from keystead.cli.texts import printable
from keystead.client.credentials import Credentials
from keystead.server.installation.bootstrap import bootstrap
from keystead.server.installation.new_organization import OrganizationParams
from keystead.server.opening import MODE
from keystead.signer import master_keys
from keystead.stamps.signing import ApiKeyPair, generate_api_key
from keystead.storage import schema
from keystead.storage.open import open_store
from keystead.storage.schema import migrate


class Distribution(Enum):
    """The software that can distribute the tables."""

    CITUS = "citus"


OrganizationName = Annotated[str, typer.Option(envvar="KEYSTEAD_ORGANIZATION_NAME", help="Its name.")]
MasterKeyOption = Annotated[
    str,
    typer.Option(
        envvar="KEYSTEAD_MASTER_KEY_FILE",
        help="The file of the master key. A file that does not exist is made, readable by its owner only. "
        "Or the PKCS#11 URI of an existing key.",
    ),
]
UserName = Annotated[str, typer.Option(help="Name of the root user.")]
UserEmail = Annotated[str, typer.Option(help="E-mail address of the root user.")]
Distribute = Annotated[
    Distribution | None,
    typer.Option(help="Distribute the tables over the nodes of a cluster: see the page on scaling."),
]


def init(
    database_url: DatabaseUrl,
    organization_name: OrganizationName,
    master_key_file: MasterKeyOption,
    user_name: UserName = "Root user",
    user_email: UserEmail = "",
    api_public_key: PublicKeyOption = "",
    credentials: NewCredentials = None,
    base_url: BaseUrl = "http://localhost:8080",
    distribute: Distribute = None,
) -> None:
    """Migrate the database, and make the first organization and its root user unless there is one already.

    Running it again changes nothing more, so a deployment may run it before every start.
    """
    check_new_key(credentials, api_public_key, base_url)
    os.umask(0o077)  # only the operator may read a SQLite file
    existing = _migrated(database_url, distribute is not None)
    if existing is not None:
        print(f"Nothing to do: this database is initialised already, with organization {existing.id}.")
        for line in _ignored_options(existing, organization_name, credentials):
            print(line)
        return
    check_is_new(credentials)
    key = _master_key(master_key_file)
    pair = None if api_public_key else generate_api_key()
    first = OrganizationParams(
        organization_id=new_id(),
        organization_name=organization_name,
        user_id=new_id(),
        user_name=user_name,
        user_email=user_email or None,
        api_key_name="Root key",
        api_public_key=api_public_key if pair is None else pair.public_key,
    )
    written = None if pair is None else credentials
    if pair is not None and written is not None:
        # They are written before the organization is made, so that its only key is never lost.
        write_credentials(written, _credentials(base_url, first, pair))
    if not _is_made(database_url, key, first, written):
        print("Nothing to do: another process initialised this database at the same time.")
        return
    print(f"Organization {first.organization_id} ({organization_name}), root user {first.user_id}.")
    print(f"Master key: {master_key_file}. Without it no key in the database can be used: keep a copy elsewhere.")
    if written is not None:
        print(f"Credentials of the root user: {written}.")


class _Existing(NamedTuple):
    """The first organization. `name` is empty if it was deleted."""

    id: str
    name: str


def _migrated(database_url: str, distribute: bool) -> _Existing | None:
    """Bring the database's tables up to date, and say what changed. Returns the first organization."""
    with database_failures(database_url):
        migrated = migrate(database_url)
        distributed = distribute and schema.distribute(database_url)
        existing = asyncio.run(_first_organization(database_url))
    if migrated:
        print("The database is migrated.")
    if distributed:
        print("The tables are distributed over the nodes of the cluster.")
    return existing


async def _first_organization(database_url: str) -> _Existing | None:
    store = await open_store(database_url)
    try:
        if await store.installation.value(MODE) is None:
            return None
        organization_id = (await store.installation.value("first_organization_id") or b"").decode()
        organization = await store.organization(organization_id)
        if organization is None or organization.profile.deleted:
            return _Existing(organization_id, "")
        return _Existing(organization_id, organization.profile.name)
    finally:
        await store.close()


def _ignored_options(existing: _Existing, organization_name: str, credentials: Path | None) -> Iterator[str]:
    """A line for each option that has no effect, because the organization exists. None for an unchanged command."""
    if existing.name and organization_name != existing.name:
        name = printable(existing.name)
        yield f"--organization-name is ignored: the organization exists, and its name stays {name!r}."
    if credentials is not None and not credentials.exists():
        yield f"--credentials is ignored: no key was made, so {credentials} is not written."


def _credentials(base_url: str, first: OrganizationParams, pair: ApiKeyPair) -> Credentials:
    return Credentials(
        base_url=base_url,
        organization_id=first.organization_id,
        user_id=first.user_id,
        api_public_key=pair.public_key,
        api_private_key=pair.private_key,
    )


def _is_made(database_url: str, key: master_keys.Master, first: OrganizationParams, written: Path | None) -> bool:
    """Make the first organization. Returns False if another process has made it at the same time. `written`: the
    file with its credentials, which is removed if the organization is certainly not made."""
    with database_failures(database_url), kept_if_on_record(written):
        is_new = asyncio.run(_bootstrap(database_url, key, first))
    if not is_new:
        remove(written)
    return is_new


async def _bootstrap(database_url: str, key: master_keys.Master, first: OrganizationParams) -> bool:
    """Make the first organization. Returns False if another process has made it at the same time."""
    store = await open_store(database_url)
    try:
        made = await bootstrap(
            store,
            mode="serve",
            master_key=key,
            first=first,
            now_ms=time.time_ns() // 1_000_000,
            new_id=new_id,
        )
        return made is not None
    finally:
        await store.close()


def _master_key(place: str) -> master_keys.Master:
    try:
        source = master_keys.parse_source(place, os.environ.get("KEYSTEAD_PKCS11_PIN", ""))
        is_missing = isinstance(source, master_keys.KeyFile) and not Path(source.path).exists()
        return master_keys.create_master_key(source) if is_missing else master_keys.open_master_key(source)
    except master_keys.MasterKeyError as refused:
        raise Failure(str(refused)) from None
