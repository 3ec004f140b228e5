"""Development servers for tests: starting `keystead dev`, waiting until it answers, stopping it.

A server ends when the pipe at its standard input closes, and the system closes that when this process ends, however
it ends.

Not here: pytest (`keystead.testing`), the developer's controls (`keystead.client.dev_controls`).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO
from weakref import WeakSet

import httpx

from keystead.client.certificates import certificates_for
from keystead.client.client import Client
from keystead.client.credentials import Credentials, credentials_in
from keystead.client.dev_controls import DevControls
from keystead.client.dev_outbox import DevelopmentOutbox
from keystead.client.dev_webhooks import DevWebhooks

START_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 10.0


@dataclass(frozen=True)
class TestOrganization:
    """An organization that no other test uses. `client` calls as its root user, with the keys `credentials`."""

    __test__ = False  # pytest must not collect this class as a test

    client: Client
    credentials: Credentials

    @property
    def organization_id(self) -> str:
        return self.credentials.organization_id


@dataclass(frozen=True)
class DevelopmentServer:
    """A running server with an organization of its own.

    `client` calls as its root user; `credentials` are that user's keys; `base_url` is http://localhost:PORT, or
    https://localhost:PORT with `tls`.
    `controls` are the developer's controls: clock, faults, snapshots and more.
    """

    client: Client
    credentials: Credentials
    base_url: str
    controls: DevControls
    http: httpx.Client = field(repr=False)

    @property
    def outbox(self) -> DevelopmentOutbox:
        """Every e-mail and SMS that the server would have sent."""
        return self.controls.outbox

    @property
    def webhooks(self) -> DevWebhooks:
        """Every webhook that the server sent recently."""
        return self.controls.webhooks

    def new_organization(self, name: str = "Test", *, wallet: bool = False) -> TestOrganization:
        """Make another organization, which takes a few milliseconds; see `DevControls.new_organization`."""
        credentials = self.controls.new_organization(name, wallet=wallet)
        return TestOrganization(client_of(credentials, self.http), credentials)


def client_of(credentials: Credentials, http: httpx.Client) -> Client:
    return Client(
        credentials.base_url,
        credentials.api_public_key,
        credentials.api_private_key,
        credentials.organization_id,
        http_client=http,
    )


@contextmanager
def development_server(
    *, seed: str = "", oidc_keys_file: Path | None = None, tls: bool = False
) -> Iterator[DevelopmentServer]:
    """Start `keystead dev --memory` on a free port, and stop it afterwards.

    seed: identifiers and keys are derived from it, for tests that compare them. oidc_keys_file: a JSON file,
    `{issuer: JWK Set}`, with the issuers whose ID tokens the server accepts, and their keys. tls: it answers https,
    with a certificate that is signed by the authority in `credentials.ca_file`. Raises RuntimeError, with the
    server's output, if it does not start.
    """
    options = [
        *(["--seed", seed] if seed else []),
        *(["--oidc-keys-file", str(oidc_keys_file)] if oidc_keys_file else []),
        *(["--tls"] if tls else []),
    ]
    with (
        _started(options) as (credentials, http),
        DevControls(credentials.base_url, ca_file=credentials.ca_file) as controls,
    ):
        yield DevelopmentServer(client_of(credentials, http), credentials, credentials.base_url, controls, http)


@contextmanager
def _started(options: Sequence[str]) -> Iterator[tuple[Credentials, httpx.Client]]:
    """The credentials of a server that is ready, and a client for all its users. Its files are read and removed."""
    command = [sys.executable, "-m", "keystead", "dev", "--port", "0", "--memory", "--end-with-caller"]
    with ExitStack() as while_running:
        with tempfile.TemporaryDirectory(prefix="keystead-") as folder, (Path(folder) / "log").open("w+b") as log:
            file, log_file = Path(folder) / "credentials.json", Path(folder) / "log"
            process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                [*command, "--credentials", str(file), *options],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
            assert process.stdin is not None
            _pipes.add(process.stdin)
            while_running.callback(_stop, process)
            credentials = _written_credentials(process, file, log_file)
            # A proxy of the environment cannot reach this machine.
            verify = certificates_for(credentials.base_url, is_direct=True, ca_file=credentials.ca_file)
            http = while_running.enter_context(httpx.Client(trust_env=False, verify=verify))
            _wait_until_ready(process, credentials, log_file, http)
        yield credentials, http


_pipes: WeakSet[IO[bytes]] = WeakSet()
"""The pipes to the servers that this process started."""


def _close_pipes() -> None:
    """A forked process has a copy of each pipe, and would keep the servers alive for as long as it lives."""
    for pipe in _pipes:
        pipe.close()


os.register_at_fork(after_in_child=_close_pipes)


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Close the pipe to a server, and wait until it has ended."""
    assert process.stdin is not None
    process.stdin.close()
    try:
        process.wait(STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _written_credentials(process: subprocess.Popen[bytes], file: Path, log: Path) -> Credentials:
    """The credentials, once the server has written them."""
    for _ in _while_starting(process, log):
        if file.exists():
            return credentials_in(file)
    raise AssertionError("unreachable")


def _wait_until_ready(
    process: subprocess.Popen[bytes], credentials: Credentials, log: Path, http: httpx.Client
) -> None:
    for _ in _while_starting(process, log):
        try:
            if http.get(f"{credentials.base_url}/readyz", timeout=1).status_code == httpx.codes.OK:
                return
        except httpx.TransportError:
            pass  # it does not listen yet


def _while_starting(process: subprocess.Popen[bytes], log: Path) -> Iterator[None]:
    """Attempts, until the time for the start is over. Raises RuntimeError then, and if the server has ended."""
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"keystead dev ended with code {process.returncode}:\n{log.read_text()}")
        yield
        time.sleep(0.02)
    raise RuntimeError(f"keystead dev was not ready within {START_TIMEOUT_S:g} s:\n{log.read_text()}")
