"""Server processes on loopback ports over a database with an organization; tests call, stop and kill them.

Here: bootstrap, starting, the log. Not here: requests (`callers`), databases (`databases`).
"""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import socket
import ssl
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import coverage
import httpx

from keystead.api.enums import CredentialType
from keystead.api.identifiers import new_id
from keystead.api.records import ApiKey, Credential, Timestamp, User
from keystead.client.certificates import certificates_for
from keystead.keys import master_key
from keystead.keys.sealing import MasterKey
from keystead.organizations.kinds.data_key import SealedDataKey
from keystead.organizations.kinds.profile import Profile, RootQuorum
from keystead.organizations.organization import Organization, Record, Version, from_records
from keystead.server.installation.bootstrap import bootstrap
from keystead.server.installation.new_organization import OrganizationParams
from keystead.signer.local import LocalSigner
from keystead.stamps.signing import ApiKeyPair, generate_api_key
from keystead.storage.store import DatabaseStore
from tests.support.callers import Caller, now_ms
from tests.support.databases import Database
from tests.support.direct_client import DirectClient
from tests.support.fork_server import ForkedProcess
from tests.support.hanging import PATIENCE_S
from tests.support.moved_clock import FILE_VARIABLE, SERVE, MovedClock

NO_MAIL_SERVER = {
    "smtp_host": "127.0.0.1",
    "smtp_port": 1,
    "smtp_security": "none",
    "smtp_sender": "wallets@example.com",
}
"""A mail server that does not answer: e-mails wait in the outbox."""

SIGNER = b"keystead.signer"
"""Is in the command of a signer, or is its name."""

_SERVE = "from keystead.cli.operator.serving import serve; serve()"


@dataclass(frozen=True)
class Installation:
    """A database with its first organization, and the secrets that belong to it."""

    database: Database
    mode: Literal["dev", "serve"]
    organization_id: str
    user_id: str
    key: ApiKeyPair
    master_key: MasterKey = field(repr=False)

    def caller(self, http: httpx.Client) -> Caller:
        return Caller(http, self.organization_id, self.user_id, self.key)

    def add_organization(self, *users: User, parent_id: str | None = None, threshold: int = 1) -> Organization:
        """One more organization; its first user is its root user."""
        organization_id = new_id()
        signer = LocalSigner(self.master_key)

        async def data_key(_: DatabaseStore) -> SealedDataKey:
            return SealedDataKey(await signer.new_data_key(organization_id))

        profile = Profile(
            name="Another",
            root_quorum=RootQuorum(threshold, tuple(user.user_id for user in users[:threshold])),
            created_at=Timestamp.from_ms(now_ms()),
            parent_id=parent_id,
        )
        records: list[Record] = [profile, self.database.with_store(data_key), *users]
        organization = from_records(organization_id, Version(1, new_id()), records)
        self.database.add_organization(organization)
        return organization


def bootstrap_installation(
    database: Database, *, organization_id: str = "", mode: Literal["dev", "serve"] = "serve"
) -> Installation:
    """Make the first organization of an empty database."""
    key, master_key = generate_api_key(), MasterKey.generate()
    first = OrganizationParams(
        organization_id=organization_id or new_id(),
        organization_name="Keystead GmbH",
        user_id=new_id(),
        user_name="Root user",
        user_email="root@example.com",
        api_key_name="Root key",
        api_public_key=key.public_key,
    )

    async def run(store: DatabaseStore) -> bool:
        made = await bootstrap(store, mode=mode, master_key=master_key, first=first, now_ms=now_ms(), new_id=new_id)
        return made is not None

    assert database.with_store(run), "the database has an organization already"
    return Installation(database, mode, first.organization_id, first.user_id, key, master_key)


def user_with_key(key: ApiKeyPair, name: str = "Somebody") -> User:
    """A user's record, for a new organization."""
    now = Timestamp.from_ms(now_ms())
    return User(
        user_id=new_id(),
        user_name=name,
        authenticators=(),
        api_keys=(
            ApiKey(
                credential=Credential(public_key=key.public_key, type=CredentialType.API_KEY_P256),
                api_key_id=new_id(),
                api_key_name="key",
                created_at=now,
                updated_at=now,
            ),
        ),
        user_tags=(),
        oauth_providers=(),
        mfa_policies=(),
        created_at=now,
        updated_at=now,
    )


class Server:
    """One server process. `settings` are names of settings with their values; the port stays the same for ever.

    `clock`: the process's, if a test is to move it.
    """

    def __init__(
        self,
        installation: Installation,
        log: Path,
        settings: Mapping[str, object] | None = None,
        clock: MovedClock | None = None,
    ) -> None:
        self.installation = installation
        self.clock = clock
        self.log = log
        self.port = free_port()
        self._settings = settings or {}
        # A server with TLS of its own has a certificate that it signed itself.
        certificate = self._settings.get("tls_cert")
        self.base_url = f"{'https' if certificate else 'http'}://127.0.0.1:{self.port}"
        tls = ssl.create_default_context(cafile=str(certificate)) if certificate else None
        verify = tls or certificates_for(self.base_url, is_direct=True)
        self.http = DirectClient(self.base_url, timeout=PATIENCE_S, verify=verify)
        self._process: ForkedProcess | None = None

    @property
    def caller(self) -> Caller:
        """The root user."""
        root = self.installation.caller(self.http)
        return root if self.clock is None else replace(root, clock=self.clock.now_ms)

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def children(self, word: bytes) -> list[int]:
        """The processes that it started (Linux), those with this word in their command or name."""
        tasks = Path(f"/proc/{self.pid}/task").glob("*/children")
        pids = [int(pid) for task in tasks for pid in task.read_text().split()]
        return [pid for pid in pids if word in _command(pid)]

    @property
    def signer_pid(self) -> int:
        """The id of the signer's process, which must exist."""
        (pid,) = self.children(SIGNER)
        return pid

    def start(self, *, log: Path | None = None) -> None:
        """Start, and return once it is ready to answer."""
        assert self._process is None, "the server is running"
        installation = self.installation
        settings = {
            "database_url": installation.database.url,
            "master_key_file": self._master_key_file(),
            "mode": installation.mode,
            "port": self.port,
            "sandbox_contacts": True,  # the examples of operations use these
        }
        mail_server = (
            {} if installation.mode == "dev" else NO_MAIL_SERVER
        )  # a development server keeps its messages
        variables = {
            f"KEYSTEAD_{name.upper()}": str(value)
            for name, value in {**settings, **mail_server, **self._settings}.items()
        }
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("KEYSTEAD_")}
        program = _SERVE
        if self.clock is not None:
            program, variables[FILE_VARIABLE] = SERVE, str(self.clock.file)
        self._process = ForkedProcess(program, inherited | variables, log or self.log)
        deadline = time.monotonic() + PATIENCE_S
        while not self.is_ready():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                raise RuntimeError(f"the server did not start:\n{self.log.read_text()[-4000:]}")
            time.sleep(0.02)

    def _master_key_file(self) -> Path:
        path = self.log.with_name(f"{self.log.name}-master.key")
        if not path.exists():
            master_key.create(path, self.installation.master_key)
        return path

    def is_ready(self) -> bool:
        try:
            return self.http.get("/readyz").status_code == 200
        except httpx.TransportError:
            return False

    def kill(self) -> None:
        """Kill the process, as in a crash: no handler of the process runs."""
        self._end(signal.SIGKILL)

    def interrupt(self) -> None:
        """Ask the process to stop, and do not wait."""
        os.kill(self.pid, signal.SIGTERM)

    def stop(self) -> int:
        """Ask the process to stop, and wait. Returns its exit code."""
        return self._end(signal.SIGTERM)

    def wait(self) -> int:
        assert self._process is not None
        code = self._process.wait(PATIENCE_S)
        self._process = None
        return code

    def _end(self, how: signal.Signals) -> int:
        assert self._process is not None
        self._process.send_signal(how)
        return self.wait()

    def limit_files(self, bytes_max: int) -> None:
        """From now on the process cannot make a file longer than this, as on a full disk; -1: any length."""
        _, hard = resource.prlimit(self.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(self.pid, resource.RLIMIT_FSIZE, (bytes_max, hard))

    def log_lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.read_text().splitlines()]

    def request_line(self, response: httpx.Response) -> dict[str, Any]:
        """The log's line about a request, by the id in its answer. It is written once the answer is sent."""
        request_id = response.headers["x-request-id"]
        deadline = time.monotonic() + PATIENCE_S
        while not (found := [line for line in self.log_lines() if line.get("request_id") == request_id]):
            assert time.monotonic() < deadline, f"no line about request {request_id}"
            time.sleep(0.01)
        (line,) = found
        return line

    def close(self) -> None:
        if self._process is not None:
            if coverage.Coverage.current() is None:
                self.kill()  # that is fast
            else:
                self.stop()  # a killed process writes no coverage
        self.http.close()


@contextmanager
def running(
    installation: Installation,
    log: Path,
    settings: Mapping[str, object] | None = None,
    clock: MovedClock | None = None,
) -> Iterator[Server]:
    server = Server(installation, log, settings, clock)
    try:
        server.start()
        yield server
    finally:
        server.close()


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes() + Path(f"/proc/{pid}/comm").read_bytes()
    except OSError:  # it has ended
        return b""


def free_port() -> int:
    """Below those that outgoing connections use, so that it stays free while the server is down."""
    for port in random.SystemRandom().sample(range(10_000, 20_000), 100):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise RuntimeError("found no free port on 127.0.0.1 between 10000 and 20000")
