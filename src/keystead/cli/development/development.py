"""`keystead dev`: a development server in one process, with its data in one folder.

Here: the command. Not here: the folder and the first start (`folder`), what is printed (`banner`), what
is served (`server`).
"""

from __future__ import annotations

import ipaddress
import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Annotated, Literal

import typer
from msgspec.structs import replace

from keystead.api.records import WalletAccount
from keystead.cli.credentials import write_credentials
from keystead.cli.development.banner import ReadyServer, development_banner, loaded_keys
from keystead.cli.development.caller import end_with_standard_input
from keystead.cli.development.folder import DEFAULT, LOOPBACK_HOST, DevelopmentFolder
from keystead.cli.development.memory_folder import memory_folder
from keystead.cli.failure import Failure
from keystead.cli.operator.setting_flags import LogLevel, TlsCert, TlsKey, TrustedProxies, Workers
from keystead.console import CONSOLE_PATH
from keystead.pipeline.store import Page
from keystead.server import logs
from keystead.server.console.link import ConsoleLinks
from keystead.server.development.development import Development
from keystead.server.development.fixture_file import FixtureError, Fixtures, read_fixtures
from keystead.server.http.connection import AnswerRequest
from keystead.server.http.listening import AddressInUse, bind
from keystead.server.http.loopback import is_loopback
from keystead.server.metrics.serving import serving_metrics
from keystead.server.opening import NotReady
from keystead.server.pretty_logs import formatter
from keystead.server.run import serve_service
from keystead.server.service import Service
from keystead.server.settings.settings import Settings, SettingsError, as_variables, differences
from keystead.server.workers import check_workers
from keystead.signer.confinement import keep_memory_private

LOOPBACK = ("127.0.0.1", "::1")


HostOption = Annotated[
    str, typer.Option(help="Address to listen on. [default: both loopback addresses]", show_default=False)
]
PortOption = Annotated[
    int | None,
    typer.Option(min=0, max=65_535, help="Port to listen on; 0 chooses a free one. [default: 8080]"),
]
DataOption = Annotated[
    Path | None, typer.Option(help=f"Folder that holds everything. [default: {DEFAULT}]", show_default=False)
]
MemoryOption = Annotated[
    bool, typer.Option("--memory", help="Keep everything in memory: nothing is left when the server ends.")
]
CredentialsOption = Annotated[
    Path | None,
    typer.Option(
        "--credentials", help="Also write the credentials to this file, which is removed when the server ends."
    ),
]
SeedOption = Annotated[
    str, typer.Option(help="Derive every identifier and key from this text. Such keys are public.")
]
FreshOption = Annotated[
    bool,
    typer.Option(
        "--fresh",
        help="Make a first organization with identifiers and keys of its own. Without this they are published, and "
        "the same on every machine.",
    ),
]
RemoteOption = Annotated[
    bool, typer.Option("--allow-remote", help="Allow --host to be an address that other machines can reach.")
]
KeysFileOption = Annotated[
    str,
    typer.Option(metavar="PATH", help="JSON file of OpenID Connect issuers and their keys, {issuer: JWK Set}."),
]
IssuersOption = Annotated[
    str, typer.Option(help="OpenID Connect issuers, separated by commas, whose keys the server fetches.")
]
ConsoleOption = Annotated[
    str,
    typer.Option(help="Issuers at which people log in to the console: NAME=AUTHORIZATION-ENDPOINT?client_id=ID, …"),
]
FixturesOption = Annotated[
    Path | None,
    typer.Option("--fixtures", help="TOML or JSON file with organizations. Those that do not exist yet are made."),
]
TlsOption = Annotated[
    bool,
    typer.Option("--tls", help="Answer https in place of http, with a certificate that the first start makes."),
]
CallerOption = Annotated[
    bool,
    typer.Option(
        "--end-with-caller",
        help="End when the pipe at standard input closes: when the process that started this one has ended.",
    ),
]
QuietOption = Annotated[bool, typer.Option("--quiet", help="Log no requests.")]
LogForm = Literal["json", "pretty", "auto"]
LogOption = Annotated[
    LogForm,
    typer.Option("--log", help="Form of the log: json, or pretty for people; auto: pretty on a terminal."),
]


def dev(
    host: HostOption = "",
    port: PortOption = None,
    data: DataOption = None,
    memory: MemoryOption = False,
    credentials_file: CredentialsOption = None,
    seed: SeedOption = "",
    fresh: FreshOption = False,
    allow_remote: RemoteOption = False,
    oidc_keys_file: KeysFileOption = "",
    oidc_issuers: IssuersOption = "",
    console_oidc: ConsoleOption = "",
    fixtures_file: FixturesOption = None,
    tls: TlsOption = False,
    end_with_caller: CallerOption = False,
    tls_cert: TlsCert = "",
    tls_key: TlsKey = "",
    workers: Workers = None,
    trusted_proxies: TrustedProxies = "",
    log_level: LogLevel = "",
    quiet: QuietOption = False,
    log_format: LogOption = "auto",
) -> None:
    """Run a development server: one process, an embedded database, an organization with a key.

    Every setting of `keystead serve` is also one here: a variable KEYSTEAD_…, except those that name a database or
    a master key.
    """
    if end_with_caller:
        end_with_standard_input()
    _check_options(memory, data, credentials_file, seed, fresh)
    fixtures = None if fixtures_file is None else _read_fixtures(fixtures_file)
    flags = as_variables(
        {
            "host": host,
            "port": port,
            "oidc_keys_file": oidc_keys_file,
            "oidc_issuers": oidc_issuers,
            "console_oidc": console_oidc,
            "tls_cert": tls_cert,
            "tls_key": tls_key,
            "workers": workers,
            "trusted_proxies": trusted_proxies,
            "log_level": log_level,
            "log_requests": False if quiet else None,
            "log_format": None if log_format == "auto" else log_format,
        }
    )
    os.umask(0o077)
    keep_memory_private()
    with memory_folder() if memory else nullcontext(data or DEFAULT) as place, _failures():
        folder = DevelopmentFolder(place)
        settings = folder.settings(os.environ, flags, tls=tls)
        hosts = _checked_hosts(settings.host, allow_remote)
        check_workers(settings)
        logs.configure(settings.log_level, formatter(settings.log_format))
        with folder, _remove_at_end(credentials_file), serving_metrics(settings.metrics_address):
            # Published keys would let in everybody who reaches the server.
            first = folder.prepare(seed, is_private=fresh or not all(map(is_loopback, hosts)))
            sockets = _bind(hosts, settings.port)
            ca_file = folder.certificate_authority(hosts) if tls else None
            changed = differences(settings, folder.settings(tls=tls))
            if settings.console and not settings.console_url:
                settings = replace(settings, console_url=f"{_base_url(settings, sockets)}{CONSOLE_PATH}")
            links = ConsoleLinks(first)
            development = Development(settings, folder.source(seed), links)

            async def application(service: Service) -> AnswerRequest:
                ready = await _ready_server(service, first.organization_id)
                credentials = folder.with_server(first, _base_url(settings, sockets), ca_file, ready.auth_proxy_id)
                banner = development_banner(
                    credentials,
                    None if memory else place,
                    credentials_file if memory else place / "credentials.json",
                    ready,
                    credentials.base_url + links.new_link() if settings.console else "",
                    changed,
                    seed=seed,
                )
                if fixtures is not None:
                    banner += loaded_keys(await development.load(fixtures))
                answer = await development.application(ready.auth_proxy_id)
                if credentials_file is not None:
                    write_credentials(credentials_file, credentials)
                print(banner, flush=True)
                return answer

            serve_service(development.service, sockets, application)


@contextmanager
def _failures() -> Iterator[None]:
    """Turn the errors that prevent a start into Failure."""
    try:
        yield
    except (AddressInUse, FixtureError, NotReady, SettingsError) as refused:
        raise Failure(str(refused)) from None


def _base_url(settings: Settings, sockets: Sequence[socket.socket]) -> str:
    scheme = "https" if settings.tls_cert else "http"
    return f"{scheme}://localhost:{sockets[0].getsockname()[1]}"


def _bind(hosts: Sequence[str], port: int) -> list[socket.socket]:
    try:
        return bind(hosts, port)
    except AddressInUse as refused:
        raise Failure(f"{refused}; choose another with --port") from None


def _read_fixtures(file: Path) -> Fixtures:
    try:
        return read_fixtures(file)
    except FixtureError as refused:
        raise Failure(f"--fixtures {refused}") from None


@contextmanager
def _remove_at_end(file: Path | None) -> Iterator[None]:
    try:
        yield
    finally:
        if file is not None:
            file.unlink(missing_ok=True)


def _check_options(memory: bool, data: Path | None, credentials_file: Path | None, seed: str, fresh: bool) -> None:
    if seed and fresh:
        raise Failure("--seed and --fresh: give one of them")
    if memory and data is not None:
        raise Failure("--memory and --data: give one of them")
    if credentials_file is not None and credentials_file.exists():
        raise Failure(f"--credentials {credentials_file}: this file exists already and is not overwritten")


def _checked_hosts(host: str, allow_remote: bool) -> tuple[str, ...]:
    if host in ("", LOOPBACK_HOST):
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


async def _ready_server(service: Service, organization_id: str) -> ReadyServer:
    """What the banner shows of the organization that was made first."""
    organization = await service.store.organization(organization_id)
    if organization is None:
        return ReadyServer((), "")
    accounts: Sequence[WalletAccount] = ()
    if organization.wallets:
        first = organization.wallets.in_order()[0]
        accounts = await service.store.accounts.page(organization_id, first.wallet_id, Page(5)) or ()
    addresses = [account.address for account in accounts]
    return ReadyServer(addresses, min(organization.auth_proxies, default=""))
