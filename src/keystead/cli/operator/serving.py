"""`keystead serve`: serves an installation that `init` made.

Here: flags, their environment variables, the order of the start. Not here: serving (`server.run`,
`server.workers`), the process of the signer (`signer.supervision`).
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Annotated, Any

import typer

from keystead.cli.failure import Failure
from keystead.cli.operator.setting_flags import LogLevel, TlsCert, TlsKey, TrustedProxies, Workers
from keystead.server.installation.master_keys import master_key_sources
from keystead.server.settings.settings import (
    PREFIX,
    SECRET_NAMES,
    Settings,
    SettingsError,
    as_variables,
    from_environment,
    variable_of,
)
from keystead.signer.confinement import keep_memory_private
from keystead.signer.master_keys import MasterKeyError
from keystead.signer.supervision import SignerProcess


def serve(
    database_url: Annotated[str, typer.Option(help="postgresql://… or sqlite:///FILE.")] = "",
    master_key_file: Annotated[str, typer.Option(help="File that holds the master key, or its PKCS#11 URI.")] = "",
    other_master_key_file: Annotated[
        str, typer.Option(help="A second master key during a rotation: it opens what it sealed, and seals nothing.")
    ] = "",
    host: Annotated[str, typer.Option(help="Address to listen on. [default: 127.0.0.1]")] = "",
    port: Annotated[int | None, typer.Option(min=0, max=65_535, help="Port to listen on. [default: 8080]")] = None,
    tls_cert: TlsCert = "",
    tls_key: TlsKey = "",
    workers: Workers = None,
    trusted_proxies: TrustedProxies = "",
    log_level: LogLevel = "",
) -> None:
    """Serve an installation that `init` made. Every setting is also a variable KEYSTEAD_…."""
    options: dict[str, Any] = {
        "database_url": database_url,
        "master_key_file": master_key_file,
        "other_master_key_file": other_master_key_file,
        "host": host,
        "port": port,
        "tls_cert": tls_cert,
        "tls_key": tls_key,
        "workers": workers,
        "trusted_proxies": trusted_proxies,
        "log_level": log_level,
    }
    # Also an error in the settings is a line of the log, for programs that read it.
    Failure.log_format = "pretty" if os.environ.get(variable_of("log_format")) == "pretty" else "json"
    # The worker processes read their settings from the environment, so the values of flags are put there too.
    os.environ.update(as_variables(options))
    if database_url:
        os.environ.pop(f"{PREFIX}DATABASE_URL_FILE", None)  # the flag takes precedence
    os.umask(0o077)
    keep_memory_private()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        settings = from_environment(os.environ)
        with SignerProcess(master_key_sources(settings)) as signer:
            _serve(settings, signer)
    except (SettingsError, MasterKeyError) as refused:
        raise Failure(str(refused)) from None


def _serve(settings: Settings, signer: SignerProcess) -> None:
    # Loading the server takes as long as the signer's start, so both are done at the same time.
    from keystead.server import logs
    from keystead.server.console.logins import console_logins
    from keystead.server.http.listening import AddressInUse, bind
    from keystead.server.http.tls import warn_of_plain_http
    from keystead.server.metrics.serving import serving_metrics
    from keystead.server.opening import NotReady
    from keystead.server.pretty_logs import formatter
    from keystead.server.run import check, serve_here
    from keystead.server.settings.database_url_file import warn_of_readable_password
    from keystead.server.workers import check_workers, serve_in_workers

    logs.configure(settings.log_level, formatter(settings.log_format))
    warn_of_readable_password(settings)
    warn_of_plain_http(settings)
    check_workers(settings)
    console_logins(settings)
    signer.wait_until_ready()
    try:
        with serving_metrics(settings.metrics_address, signer):
            # A process cannot erase its environment: with a secret in it, this process serves no requests itself.
            if settings.workers > 1 or SECRET_NAMES & os.environ.keys():
                check(settings, signer.connector)
                serve_in_workers(settings, bind([settings.host], settings.port), signer.connector)
            else:
                serve_here(settings, bind([settings.host], settings.port), connector=signer.connector)
    except AddressInUse as refused:
        raise Failure(f"{refused}; choose another with --port") from None
    except NotReady as refused:
        raise Failure(str(refused)) from None
