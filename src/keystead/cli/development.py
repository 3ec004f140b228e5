"""`keystead dev`: a development server in one process, with its data in one folder.

Here: the command. Not here: the folder and the first start (`development_folder`), what is printed (`banner`), what
is served (`server`).
"""

from __future__ import annotations

import ipaddress
import os
from pathlib import Path
from typing import Annotated

import typer

from keystead.cli.banner import development_banner
from keystead.cli.development_folder import DEFAULT, DevelopmentFolder
from keystead.cli.failure import Failure
from keystead.pipeline.store import Page
from keystead.server import logs
from keystead.server.connection import Answer
from keystead.server.console_link import ConsoleLink
from keystead.server.development.development import Development
from keystead.server.listening import AddressInUse, bind
from keystead.server.opening import NotReady
from keystead.server.run import serve_service
from keystead.server.service import Service
from keystead.signer.confinement import keep_memory_private

LOOPBACK = ("127.0.0.1", "::1")


def dev(
    host: Annotated[str, typer.Option(help="Address to listen on; both loopback addresses where not given.")] = "",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port to listen on; 0 chooses a free one.")] = 8080,
    data: Annotated[Path, typer.Option(help="Folder that holds everything.")] = DEFAULT,
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
    oidc_issuers: Annotated[
        str,
        typer.Option(
            envvar="KEYSTEAD_OIDC_ISSUERS",
            help="OpenID Connect issuers, separated by commas, that are asked for their keys.",
        ),
    ] = "",
    quiet: Annotated[bool, typer.Option("--quiet", help="Log no requests.")] = False,
) -> None:
    """Run a development server: one process, an embedded database, an organization with a key."""
    hosts = _checked_hosts(host, allow_remote)
    os.umask(0o077)
    keep_memory_private()
    with DevelopmentFolder(data) as folder:
        credentials = folder.prepare(seed)
        try:
            sockets = bind(hosts, port)
        except AddressInUse as refused:
            raise Failure(f"{refused}; choose another with --port") from None
        base_url = f"http://localhost:{sockets[0].getsockname()[1]}"
        if credentials.base_url != base_url:
            credentials = folder.with_base_url(credentials, base_url)
        logs.configure("warning")
        settings = folder.settings(oidc_keys_file=oidc_keys_file, oidc_issuers=oidc_issuers, log_requests=not quiet)

        console_link = ConsoleLink(credentials)
        development = Development(settings, console_link)

        async def application(service: Service) -> Answer:
            addresses = await _first_addresses(service, credentials.organization_id)
            signer = await service.signer.bundle_signer()
            proxy_id = await _auth_proxy_id(service, credentials.organization_id)
            banner = development_banner(
                credentials, data, addresses, signer, proxy_id, console_link.url(base_url), seeded=bool(seed)
            )
            answer = await development.application()
            print(banner, flush=True)
            return answer

        try:
            serve_service(development.service, sockets, application)
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


async def _auth_proxy_id(service: Service, organization_id: str) -> str:
    """The configuration of the organization's first authentication proxy."""
    organization = await service.store.organization(organization_id)
    return min(organization.auth_proxies, default="none") if organization is not None else "none"


async def _first_addresses(service: Service, organization_id: str) -> list[str]:
    """The addresses of the accounts of the organization's first wallet."""
    organization = await service.store.organization(organization_id)
    if organization is None or not organization.wallets:
        return []
    first = organization.wallets.in_order()[0]
    accounts = await service.store.wallet_accounts(organization_id, first.wallet_id, Page(5))
    return [account.address for account in accounts or ()]
