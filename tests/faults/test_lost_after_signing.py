"""The database is lost between the signer's answer and the commit: 503, and later one activity with one signature.

The signatures are Schnorr's, no two of which are equal, so that one from another try would be noticed.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sqlite3
import sys
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from keystead.chains.signatures import Signature
from keystead.keys import master_key
from keystead.keys.master_key_source import KeyFile, MasterKeySources
from keystead.pipeline.store import CommitResult
from keystead.server.application import Application
from keystead.server.service import Service
from keystead.server.settings.settings import Settings
from keystead.signer.local import LocalSigner
from keystead.signer.supervision import SignerProcess
from keystead.storage.rows import Rows
from keystead.storage.sqlite.database import SqliteWriter
from tests.support import secp256k1
from tests.support.callers import SDK_FORM, Caller, answered, refusal
from tests.support.databases import SqliteDatabase
from tests.support.in_process import ApplicationTransport
from tests.support.organization_fixtures import ETHEREUM_ACCOUNT
from tests.support.servers import Installation
from tests.support.tcp_proxy import TcpProxy, tcp_proxy_to

MESSAGE = bytes(range(32))
TAPROOT_ACCOUNT = ETHEREUM_ACCOUNT | {
    "addressFormat": "ADDRESS_FORMAT_BITCOIN_MAINNET_P2TR",
    "path": "m/86'/0'/0'/0/0",
}


class Outage(ABC):
    """How one engine is lost, and had again. `url`: where the service looks for its database."""

    url: str

    @abstractmethod
    def lose_now(self) -> None:
        """Before anything of the commit reaches the database."""

    @abstractmethod
    def lose_acknowledgement(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Lose the acknowledgement of the next commit. The database keeps that commit."""

    @abstractmethod
    def end(self) -> None: ...


class FileAway(Outage):
    """The SQLite file is moved, or COMMIT reports an error although it took effect."""

    def __init__(self, database: SqliteDatabase, folder: Path) -> None:
        self.url = database.url
        self._database = database
        self._folder = folder
        self._moved: list[Path] = []

    def lose_now(self) -> None:
        self._database.close()
        path = self._database.path
        self._moved = list(path.parent.glob(f"{path.name}*"))
        for file in self._moved:
            file.rename(self._folder / file.name)

    def lose_acknowledgement(self, monkeypatch: pytest.MonkeyPatch) -> None:
        transact = SqliteWriter._transact

        def committed_without_saying_so(writer: SqliteWriter, rows: Rows) -> CommitResult:
            assert transact(writer, rows) is CommitResult.COMMITTED
            monkeypatch.setattr(SqliteWriter, "_transact", transact)
            raise sqlite3.OperationalError("disk I/O error")

        monkeypatch.setattr(SqliteWriter, "_transact", committed_without_saying_so)

    def end(self) -> None:
        for file in self._moved:
            (self._folder / file.name).rename(file)


class LineDown(Outage):
    """The line to PostgreSQL breaks."""

    def __init__(self, proxy: TcpProxy) -> None:
        self.url = proxy.url
        self._proxy = proxy

    def lose_now(self) -> None:
        self._proxy.cut()

    def lose_acknowledgement(self, _: pytest.MonkeyPatch) -> None:
        self._proxy.cut_before_answer_of(b"COMMIT\0")

    def end(self) -> None:
        self._proxy.restore()


@asynccontextmanager
async def outage_of(installation: Installation, folder: Path) -> AsyncIterator[Outage]:
    if isinstance(installation.database, SqliteDatabase):
        yield FileAway(installation.database, folder)
    else:
        async with tcp_proxy_to(installation.database.url) as proxy:
            yield LineDown(proxy)


class Serving:
    """A service in this process, and its root user."""

    def __init__(
        self, service: Service, http: httpx.AsyncClient, caller: Caller, installation: Installation, key_file: Path
    ) -> None:
        self.caller = caller
        self.installation = installation
        self.key_file = key_file
        self._service = service
        self._http = http

    def asks_signer(self) -> bool:
        """Whether a call to the signer's process waits for its answer."""
        channel = self._service._opened.channel
        assert channel is not None
        assert channel._connection is not None
        return bool(channel._connection._pending)

    async def post(self, name: str, body: bytes) -> httpx.Response:
        headers = {**self.caller.stamped(body), **SDK_FORM}
        return await self._http.post(f"/public/v1/submit/{name}", content=body, headers=headers)

    async def new_address(self) -> str:
        parameters = {"walletName": "signs", "accounts": [TAPROOT_ACCOUNT]}
        made = await self.post("create_wallet", self.caller.submit_body("create_wallet", parameters))
        (address,) = answered(made)["activity"]["result"]["createWalletResult"]["addresses"]
        return str(address)

    def signing_body(self, address: str) -> bytes:
        parameters = {
            "signWith": address,
            "payload": MESSAGE.hex(),
            "encoding": "PAYLOAD_ENCODING_HEXADECIMAL",
            "hashFunction": "HASH_FUNCTION_NO_OP",
        }
        return self.caller.submit_body("sign_raw_payload", parameters)

    async def signed(self, body: bytes) -> Any:
        """Sends the same bytes again while the answer is 503: the pause before the next attempt to connect."""
        while (answer := await self.post("sign_raw_payload", body)).status_code == 503:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        return answered(answer)["activity"]


@asynccontextmanager
async def serving(
    installation: Installation, url: str, key_file: Path, connector: socket.socket | None = None
) -> AsyncIterator[Serving]:
    settings = Settings(database_url=url, master_key_file=str(key_file), log_requests=False)
    service = Service(settings, connector=connector)
    await service.open()
    try:
        transport = ApplicationTransport(Application(service))
        async with httpx.AsyncClient(transport=transport, base_url="http://keystead") as http:
            with httpx.Client() as unused:
                yield Serving(service, http, installation.caller(unused), installation, key_file)
    finally:
        await service.close()


@pytest.fixture
def key_file(installation: Installation, tmp_path: Path) -> Path:
    path = tmp_path / "master.key"
    master_key.create(path, installation.master_key)
    return path


def signature_of(activity: Any) -> tuple[str, str]:
    assert activity["status"] == "ACTIVITY_STATUS_COMPLETED"
    made = activity["result"]["signRawPayloadResult"]
    return made["r"], made["s"]


async def activities(installation: Installation) -> int:
    """How many there are."""
    return len(await asyncio.to_thread(rows, installation, "SELECT id FROM activity"))


def rows(installation: Installation, sql: str) -> list[tuple[Any, ...]]:
    """On a connection of this thread's own: a loop may run in the caller's."""
    try:
        return installation.database.rows(sql)
    finally:
        installation.database.close()


async def check_one_outcome(it: Serving, address: str, done: Any, body: bytes) -> None:
    """What these bytes did is done once, on record, and answered whenever they come again; the signature holds."""
    installation = it.installation
    assert await it.signed(body) == done
    found = await asyncio.to_thread(rows, installation, "SELECT id, request FROM activity")
    assert [id_ for id_, request in found if bytes(request) == body] == [done["id"]]
    votes = await asyncio.to_thread(rows, installation, "SELECT activity_id FROM vote")
    assert votes.count((done["id"],)) == 1
    signature = bytes.fromhex("".join(signature_of(done)))
    assert secp256k1.verifies_schnorr(witness_program(address), signature, MESSAGE)
    async with serving(installation, installation.database.url, it.key_file) as anew:
        assert await anew.signed(body) == done


def witness_program(address: str) -> bytes:
    """The witness program of a bech32m address of version 1. The checksum is not verified."""
    letters = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
    bits = "".join(f"{letters.index(letter):05b}" for letter in address.removeprefix("bc1")[1:-6])
    return bytes(int(bits[at : at + 8], 2) for at in range(0, 256, 8))


class TestDatabase:
    """Lost exactly when the signer has answered."""

    @pytest.fixture
    def answers(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
        """What to do when the signer next has an answer; then, the signatures that it gave, in order."""
        todo: list[Any] = []
        sign = LocalSigner.sign

        async def signs_and_then(signer: LocalSigner, **call: Any) -> Sequence[Signature]:
            made = await sign(signer, **call)
            if todo and callable(todo[0]):
                todo.pop(0)()
            todo.extend((one.r.hex(), one.s.hex()) for one in made)
            return made

        monkeypatch.setattr(LocalSigner, "sign", signs_and_then)
        yield todo
        assert not [one for one in todo if callable(one)], "the signer was not asked"

    def test_before_the_commit(
        self, installation: Installation, key_file: Path, tmp_path: Path, answers: list[Any]
    ) -> None:
        async def run() -> None:
            async with (
                outage_of(installation, tmp_path) as outage,
                serving(installation, outage.url, key_file) as it,
            ):
                address = await it.new_address()
                body = it.signing_body(address)
                answers.append(outage.lose_now)
                for _ in range(2):
                    assert refusal(await it.post("sign_raw_payload", body))[0] == 503
                (reached_nobody,) = answers
                outage.end()
                assert await activities(installation) == 1  # the wallet's
                done = await it.signed(body)
                assert signature_of(done) == answers[1] != reached_nobody
                await check_one_outcome(it, address, done, body)

        asyncio.run(run())

    def test_before_its_acknowledgement(
        self,
        installation: Installation,
        key_file: Path,
        tmp_path: Path,
        answers: list[Any],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        async def run() -> None:
            async with (
                outage_of(installation, tmp_path) as outage,
                serving(installation, outage.url, key_file) as it,
            ):
                address = await it.new_address()
                body = it.signing_body(address)
                answers.append(lambda: outage.lose_acknowledgement(monkeypatch))
                assert refusal(await it.post("sign_raw_payload", body))[0] == 503
                outage.end()
                assert await activities(installation) == 2
                done = await it.signed(body)
                assert signature_of(done) == answers[0]  # of the try that nobody heard the end of
                await check_one_outcome(it, address, done, body)

        asyncio.run(run())


@pytest.mark.skipif(sys.platform != "linux", reason="the signer asks the kernel who is there")
def test_signer_killed_between_request_and_answer(installation: Installation, key_file: Path) -> None:
    """Its successor is asked; the caller notices nothing."""

    async def run() -> None:
        with SignerProcess(MasterKeySources(KeyFile(str(key_file)))) as process:
            process.wait_until_ready()
            url = installation.database.url
            async with serving(installation, url, key_file, process.connector) as it:
                address = await it.new_address()
                body = it.signing_body(address)
                assert process._process is not None
                os.kill(pid := process._process.pid, signal.SIGSTOP)
                signing = asyncio.create_task(it.signed(body))
                while not it.asks_signer():
                    assert not signing.done()
                    await asyncio.sleep(0.001)
                os.kill(pid, signal.SIGKILL)
                done = await signing
                assert process._process.pid != pid
                await check_one_outcome(it, address, done, body)

    asyncio.run(run())
