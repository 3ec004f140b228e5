"""A pytest plugin: a development server of one's own, and a client that is ready to call it.

Fixture `keystead` (one server per test session, and per worker of a parallel run) and `keystead_server` (a context
manager for as many as a test likes). Not here: the server.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from keystead.client.client import Client
from keystead.client.credentials import Credentials, credentials_in

START_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 10.0


@dataclass(frozen=True)
class DevelopmentServer:
    """A running server with an organization of its own.

    `client` calls as its root user; `credentials` are that user's keys; `base_url` is http://localhost:PORT.
    """

    client: Client
    credentials: Credentials
    base_url: str


@contextmanager
def development_server(*, seed: str = "", oidc_keys_file: Path | None = None) -> Iterator[DevelopmentServer]:
    """Start `keystead dev` on a free port with an empty folder; stop it and remove the folder afterwards.

    seed: identifiers and keys are derived from it, for tests that compare them. oidc_keys_file: the issuers whose
    ID tokens it takes, with their keys, as JSON: `{issuer: JWK Set}`. Raises RuntimeError, with what the server
    printed, if it does not come up.
    """
    with tempfile.TemporaryDirectory(prefix="keystead-") as folder, (Path(folder) / "log").open("w+b") as log:
        data = Path(folder) / "data"
        command = [sys.executable, "-m", "keystead", "dev", "--port", "0", "--data", str(data)]
        process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            [
                *command,
                *(["--seed", seed] if seed else []),
                *(["--oidc-keys-file", str(oidc_keys_file)] if oidc_keys_file else []),
            ],
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            credentials = _ready(process, data / "credentials.json", Path(folder) / "log")
            with Client(
                credentials.base_url,
                credentials.api_public_key,
                credentials.api_private_key,
                credentials.organization_id,
            ) as client:
                yield DevelopmentServer(client, credentials, credentials.base_url)
        finally:
            process.terminate()
            try:
                process.wait(STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _ready(process: subprocess.Popen[bytes], credentials_file: Path, log: Path) -> Credentials:
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"keystead dev ended with code {process.returncode}:\n{log.read_text()}")
        if credentials_file.exists() and (credentials := credentials_in(credentials_file)).base_url:
            try:
                # Not through a proxy of the environment: it cannot reach this machine.
                ready = httpx.get(f"{credentials.base_url}/readyz", timeout=1, trust_env=False)
                if ready.status_code == httpx.codes.OK:
                    return credentials
            except httpx.TransportError:
                pass
        time.sleep(0.02)
    raise RuntimeError(f"keystead dev was not ready within {START_TIMEOUT_S:g} s:\n{log.read_text()}")


@pytest.fixture(scope="session")
def keystead() -> Iterator[DevelopmentServer]:
    """A server for the whole session; safe under parallel workers, which start one each."""
    with development_server() as server:
        yield server


@pytest.fixture(scope="session")
def keystead_server() -> Callable[..., AbstractContextManager[DevelopmentServer]]:
    """`with keystead_server() as server:` starts another server, with an organization nobody else has."""
    return development_server
