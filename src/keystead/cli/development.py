"""`keystead dev`: everything in one process, in one folder, ready in a moment.

Here: the data folder and the first start. Not here: what it prints (`banner`), what is served (`server`).
"""

from __future__ import annotations

import asyncio
import fcntl
import ipaddress
import os
import time
from pathlib import Path
from typing import Annotated

import typer
from msgspec.structs import replace

from keystead.cli.banner import development_banner
from keystead.cli.credentials import read_credentials, write_credentials
from keystead.cli.failure import Failure
from keystead.cli.seeding import Origin, fresh, seeded
from keystead.client.credentials import Credentials
from keystead.keys import master_key
from keystead.pipeline.store import Page
from keystead.server import logs
from keystead.server.founding import Founder, found
from keystead.server.listening import AddressInUse, bind
from keystead.server.run import serve_here
from keystead.server.service import MODE, NotReady, Service
from keystead.server.settings import Settings
from keystead.signer.confinement import keep_memory_private
from keystead.storage.open import open_store
from keystead.storage.schema import migrate

LOOPBACK = ("127.0.0.1", "::1")


def dev(
    host: Annotated[str, typer.Option(help="Address to listen on; both loopback addresses where not given.")] = "",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 chooses a free one.")] = 8080,
    data: Annotated[Path, typer.Option(help="Folder that holds everything.")] = Path(".keystead"),
    seed: Annotated[
        str, typer.Option(help="Derive every identifier and key from this text. Such keys are public.")
    ] = "",
    allow_remote: Annotated[
        bool, typer.Option("--allow-remote", help="Let --host be an address that others reach.")
    ] = False,
    oidc_keys_file: Annotated[
        str,
        typer.Option(
            envvar="KEYSTEAD_OIDC_KEYS_FILE",
            help="JSON file of OpenID Connect issuers and their keys, {issuer: JWK Set}.",
        ),
    ] = "",
    quiet: Annotated[bool, typer.Option("--quiet", help="Log no requests.")] = False,
) -> None:
    """Run a development server: one process, an embedded database, an organization with a key."""
    hosts = _checked_hosts(host, allow_remote)
    os.umask(0o077)
    keep_memory_private()
    with _Folder(data) as folder:
        credentials = folder.prepared(seed)
        try:
            sockets = bind(hosts, port)
        except AddressInUse as refused:
            raise Failure(f"{refused}; choose another with --port") from None
        base_url = f"http://localhost:{sockets[0].getsockname()[1]}"
        if credentials.base_url != base_url:
            credentials = folder.moved(credentials, base_url)
        logs.configure("warning")
        settings = folder.settings(oidc_keys_file=oidc_keys_file, log_requests=not quiet)

        async def show_banner(service: Service) -> None:
            addresses = await _first_addresses(service, credentials.organization_id)
            signer = await service.signer.bundle_signer()
            print(development_banner(credentials, data, addresses, signer, seeded=bool(seed)), flush=True)

        try:
            serve_here(settings, sockets, when_open=show_banner)
        except NotReady as refused:
            raise Failure(str(refused)) from None


def _checked_hosts(host: str, allow_remote: bool) -> tuple[str, ...]:
    if not host:
        return LOOPBACK
    if host == "localhost":
        return LOOPBACK
    try:
        is_loopback = ipaddress.ip_address(host).is_loopback
    except ValueError:
        raise Failure(f"--host {host}: expected an IP address or localhost") from None
    if not is_loopback and not allow_remote:
        raise Failure(
            f"--host {host} can be reached by others, and development keys are for development: "
            "add --allow-remote if that is meant"
        )
    return (host,)


class _Folder:
    """The data folder of a development server; one process at a time has it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._master_key = path / "master.key"
        self._credentials = path / "credentials.json"
        self._database_url = f"sqlite:///{path / 'keystead.db'}"

    def __enter__(self) -> _Folder:
        try:
            self._path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = os.open(self._path / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as refused:
            raise Failure(f"cannot use the data folder {self._path}: {refused.strerror}") from refused
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._lock)
            raise Failure(f"another keystead dev uses the data folder {self._path}") from None
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._lock)

    def settings(self, *, oidc_keys_file: str, log_requests: bool) -> Settings:
        return Settings(
            database_url=self._database_url,
            mode="dev",
            master_key_file=str(self._master_key),
            oidc_keys_file=oidc_keys_file,
            log_requests=log_requests,
        )

    def prepared(self, seed: str) -> Credentials:
        """The credentials of what is there, or of what was founded now. `seed`: "" for none."""
        migrate(self._database_url)
        mode = asyncio.run(self._founded_mode())
        if mode is None:
            return asyncio.run(self._found(seeded(seed) if seed else fresh()))
        if mode != "dev":
            raise Failure(f"{self._path} holds data of keystead {mode}, which keystead dev does not touch")
        if not self._credentials.exists():
            raise Failure(
                f"{self._credentials} is missing, and its private key is kept nowhere else: "
                f"restore it, or remove {self._path} to begin anew"
            )
        credentials = read_credentials(self._credentials)
        if seed and credentials.api_public_key != seeded(seed).api_key.public_key:
            raise Failure(f"the data folder {self._path} was made without this seed: choose another with --data")
        return credentials

    def moved(self, credentials: Credentials, base_url: str) -> Credentials:
        """The same credentials for another address."""
        moved = replace(credentials, base_url=base_url)
        write_credentials(self._credentials, moved)
        return moved

    async def _founded_mode(self) -> str | None:
        store = await open_store(self._database_url)
        try:
            mode = await store.instance_value(MODE)
            return None if mode is None else mode.decode()
        finally:
            await store.close()

    async def _found(self, origin: Origin) -> Credentials:
        """Found the installation. Credentials are written first: a crash in between leaves a folder that the
        next start founds, never an organization whose only key is lost."""
        organization_id, user_id = origin.new_id(), origin.new_id()
        credentials = Credentials(
            base_url="",
            organization_id=organization_id,
            user_id=user_id,
            api_public_key=origin.api_key.public_key,
            api_private_key=origin.api_key.private_key,
        )
        write_credentials(self._credentials, credentials)
        founder = Founder(
            organization_id=organization_id,
            organization_name="Development",
            user_id=user_id,
            user_name="Developer",
            user_email=None,
            api_key_name="Development key",
            api_public_key=credentials.api_public_key,
        )
        self._master_key.unlink(missing_ok=True)  # of a first start that did not come to its end
        try:
            key = master_key.create(self._master_key, origin.master_key)
        except master_key.MasterKeyError as refused:
            raise Failure(str(refused)) from None
        store = await open_store(self._database_url)
        try:
            await found(
                store,
                mode="dev",
                master_key=key,
                founder=founder,
                now_ms=time.time_ns() // 1_000_000,
                new_id=origin.new_id,
                entropy=origin.entropy,
            )
        finally:
            await store.close()
        return credentials


async def _first_addresses(service: Service, organization_id: str) -> list[str]:
    """The addresses of the accounts of the organization's first wallet."""
    organization = await service.store.organization(organization_id)
    if organization is None or not organization.wallets:
        return []
    first = organization.wallets_in_order()[0]
    accounts = await service.store.wallet_accounts(organization_id, first.wallet_id, Page(5))
    return [account.address for account in accounts or ()]
