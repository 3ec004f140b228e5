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
class SentMessage:
    """A message as its recipient would have got it. `secret`: the code or the credential bundle in its text."""

    id: str
    channel: str
    recipient: str
    subject: str
    text: str
    secret: str


class Outbox:
    """The messages that the server kept in place of sending them."""

    def __init__(self, base_url: str) -> None:
        self._url = f"{base_url}/dev/v1/outbox"

    def messages(self, recipient: str | None = None) -> list[SentMessage]:
        """Oldest first; those to one e-mail address or phone number, if one is given."""
        # Not through a proxy of the environment: it cannot reach this machine.
        kept = httpx.get(self._url, timeout=10, trust_env=False).raise_for_status().json()["messages"]
        names = SentMessage.__dataclass_fields__
        sent = [SentMessage(**{name: one["message"].get(name, "") for name in names}) for one in kept]
        return [one for one in sent if recipient is None or one.recipient.lower() == recipient.lower()]

    def wait_for(self, recipient: str, *, count: int = 1, timeout_s: float = 10.0) -> SentMessage:
        """The newest message to a recipient, once there are `count` of them. Raises TimeoutError."""
        deadline = time.monotonic() + timeout_s
        while len(found := self.messages(recipient)) < count:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{len(found)} of {count} messages to {recipient} after {timeout_s:g} s")
            time.sleep(0.02)
        return found[-1]

    def code(self, recipient: str, *, count: int = 1) -> str:
        """The one-time code in the newest message to a recipient; see `wait_for`."""
        return self.wait_for(recipient, count=count).secret


@dataclass(frozen=True)
class DevelopmentServer:
    """A running server with an organization of its own.

    `client` calls as its root user; `credentials` are that user's keys; `base_url` is http://localhost:PORT;
    `outbox` has every e-mail and SMS that the server would have sent.
    """

    client: Client
    credentials: Credentials
    base_url: str

    @property
    def outbox(self) -> Outbox:
        return Outbox(self.base_url)


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
