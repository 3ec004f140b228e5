"""The signer as a process: calls and refusals cross, bounds hold, it is started again when it dies."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pytest
from msgspec.structs import replace

from keystead.api.enums import AddressFormat, Curve, PathFormat
from keystead.api.errors import InvalidRequest, TooLarge, Unavailable
from keystead.chains.signatures import SignatureScheme
from keystead.keys.master_key_source import KeyFile, KeyText, MasterKeySources
from keystead.keys.sealing import MasterKey, SealBroken
from keystead.keys.secret_files import MasterKeyError
from keystead.organizations.kinds.data_key import Sealed
from keystead.pipeline.signer_port import Signer
from keystead.pipeline.signer_values import AccountRequest, StandaloneKey, WalletKey
from keystead.signer import client as remote
from keystead.signer.bounds import FRAME_BYTES_MAX
from keystead.signer.client import Channel, remote_signer
from keystead.signer.connector import connect
from keystead.signer.installation_keys import PROOF_KEY, SealedInstallationKeys, WrongMasterKey
from keystead.signer.local import LocalSigner
from keystead.signer.rpc import calls, request_frame
from keystead.signer.supervision import SignerProcess
from tests.signer.conftest import MASTER_KEY, pid_of
from tests.support.hanging import PATIENCE_S

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")

LOCAL = LocalSigner(MASTER_KEY)
KEYS = LOCAL.new_installation_keys()
ORGANIZATION = "0190f3a2-0000-7000-8000-000000000001"
WALLET = "0190f3a2-0000-7000-8000-000000000002"
ETHEREUM = AccountRequest(
    curve=Curve.SECP256K1,
    path_format=PathFormat.BIP32,
    path="m/44'/60'/0'/0/0",
    address_format=AddressFormat.ETHEREUM,
)
ResultT = TypeVar("ResultT")


def asked(
    process: SignerProcess,
    use: Callable[[Signer], Awaitable[ResultT]],
    *,
    sealed: SealedInstallationKeys = KEYS,
) -> ResultT:
    """What `use` returns, given the signer of this process."""

    async def run() -> ResultT:
        channel = Channel(process.connector, sealed)
        await channel.open()
        try:
            return await use(remote_signer(channel))
        finally:
            channel.close()

    return asyncio.run(run())


def test_every_call_crosses(signer_process: SignerProcess) -> None:
    async def use(signer: Signer) -> None:
        data_key = await signer.new_data_key(ORGANIZATION)
        place: dict[str, Any] = {"organization_id": ORGANIZATION, "data_key": data_key}
        wallet = await signer.create_wallet(**place, wallet_id=WALLET, mnemonic_length=12, accounts=[ETHEREUM])
        (again,) = await signer.derive_accounts(
            **place, wallet_id=WALLET, sealed_mnemonic=wallet.sealed_mnemonic, accounts=[ETHEREUM]
        )
        assert (again,) == wallet.accounts
        key = WalletKey(
            wallet_id=WALLET,
            sealed=wallet.sealed_mnemonic,
            curve=Curve.SECP256K1,
            path=ETHEREUM.path,
            public_key=bytes.fromhex(wallet.accounts[0].public_key),
        )
        signing: dict[str, Any] = {**place, "key": key, "scheme": SignatureScheme.ECDSA, "messages": [bytes(32)]}
        assert await signer.sign(**signing) == await LOCAL.sign(**signing)
        alone = await signer.create_private_key(
            **place, private_key_id=WALLET, curve=Curve.ED25519, address_formats=[AddressFormat.SOLANA]
        )
        standalone = StandaloneKey(
            private_key_id=WALLET,
            sealed=alone.sealed,
            curve=Curve.ED25519,
            public_key=bytes.fromhex(alone.public_key),
        )
        signing |= {"key": standalone, "scheme": SignatureScheme.ED25519, "messages": [b"x", b"y"]}
        assert await signer.sign(**signing) == await LOCAL.sign(**signing)
        (proof,) = await signer.sign_app_proofs(["{}"])
        assert proof.proof_payload == "{}"

    asked(signer_process, use)


REFUSED: list[tuple[type[Exception], str, dict[str, Any]]] = [
    (InvalidRequest, "invalid mnemonic length", {"mnemonic_length": 13}),
    (InvalidRequest, "invalid path", {"accounts": [msgspec.structs.replace(ETHEREUM, path="m/x")]}),
    (SealBroken, "data-key", {"organization_id": WALLET}),
]


@pytest.mark.parametrize(("kind", "message", "instead"), REFUSED)
def test_refusals_cross(
    kind: type[Exception], message: str, instead: dict[str, Any], signer_process: SignerProcess
) -> None:
    """As the signer in the same process refuses: the same type, the same words."""
    data_key = asyncio.run(LOCAL.new_data_key(ORGANIZATION))
    arguments: dict[str, Any] = {
        "organization_id": ORGANIZATION,
        "data_key": data_key,
        "wallet_id": WALLET,
        "mnemonic_length": 12,
        "accounts": [ETHEREUM],
    }
    with pytest.raises(kind, match=message) as here:
        asyncio.run(LOCAL.create_wallet(**arguments | instead))
    with pytest.raises(kind) as there:
        asked(signer_process, lambda signer: signer.create_wallet(**arguments | instead))
    assert str(there.value) == str(here.value)
    assert type(there.value) is type(here.value)


def test_many_calls_at_once(signer_process: SignerProcess) -> None:
    async def use(signer: Signer) -> list[Sealed]:
        return await asyncio.gather(*[signer.new_data_key(f"{number}") for number in range(1_000)])

    for number, sealed in enumerate(asked(signer_process, use)):
        MASTER_KEY.open_data_key(sealed, f"{number}")


def test_killed_again_and_again(signer_process: SignerProcess) -> None:
    """Callers only notice that it takes longer."""

    async def use(signer: Signer) -> int:
        done, ended = 0, asyncio.Event()

        async def ask() -> None:
            nonlocal done
            while not ended.is_set():
                await signer.new_data_key(ORGANIZATION)
                done += 1

        askers = [asyncio.create_task(ask()) for _ in range(4)]
        for _ in range(3):
            before, pid = done, pid_of(signer_process)
            os.kill(pid, signal.SIGKILL)
            while done < before + 20 or pid_of(signer_process) == pid:  # noqa: ASYNC110 - a thread starts it
                await asyncio.sleep(0.01)
        ended.set()
        await asyncio.gather(*askers)
        return done

    assert asked(signer_process, use) > 60


def test_that_does_not_come_back(signer_process: SignerProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "CALL_TIMEOUT_S", 0.5)

    async def use(signer: Signer) -> None:
        os.kill(pid_of(signer_process), signal.SIGSTOP)
        with pytest.raises(Unavailable, match="the signer does not answer; sending the same request again is safe"):
            await signer.new_data_key(ORGANIZATION)
        os.kill(pid_of(signer_process), signal.SIGCONT)
        await signer.new_data_key(ORGANIZATION)

    asked(signer_process, use)


def test_another_installation(signer_process: SignerProcess) -> None:
    other = LocalSigner(MasterKey.generate())

    async def use(signer: Signer) -> None:
        raise AssertionError

    with pytest.raises(WrongMasterKey, match=f"the given key is '{MASTER_KEY.key_id}', the data is under"):
        asked(signer_process, use, sealed=replace(KEYS, master_key_check=other.check_value()))
    with pytest.raises(SealBroken, match="proof-key"):
        asked(
            signer_process,
            use,
            sealed=replace(KEYS, keys={**KEYS.keys, PROOF_KEY.name: other.new_installation_key(PROOF_KEY)}),
        )


NO_KEY = [
    (KeyFile("/nonexistent"), "does not exist"),
    (KeyText("KEYSTEAD_MASTER_KEY", "secret"), "environment variable KEYSTEAD_MASTER_KEY holds no master key"),
]


@pytest.mark.parametrize(("source", "message"), NO_KEY)
def test_no_key(source: KeyFile | KeyText, message: str) -> None:
    with (
        pytest.raises(MasterKeyError, match=message) as refused,
        SignerProcess(MasterKeySources(source)) as process,
    ):
        process.wait_until_ready()
    assert "secret" not in str(refused.value)


@pytest.fixture
def connection(signer_process: SignerProcess) -> Iterator[socket.socket]:
    with connect(signer_process.connector) as connected:
        connected.settimeout(20)
        yield connected


NO_CALLS = {
    "nonsense": b"\x00\x00\x00\x03abc",
    "too long": (FRAME_BYTES_MAX + 1).to_bytes(4),
    "HTTP": b"GET / HTTP/1.1\r\n\r\n",
}


@pytest.mark.parametrize("sent", NO_CALLS.values(), ids=NO_CALLS)
def test_what_is_no_call(sent: bytes, connection: socket.socket, signer_process: SignerProcess) -> None:
    """Ends that connection, and no other."""
    connection.sendall(sent)
    assert connection.recv(1) == b""
    asked(signer_process, lambda signer: signer.new_data_key(ORGANIZATION))


def test_before_unlocking(connection: socket.socket) -> None:
    call = calls()["new_data_key"]
    connection.sendall(request_frame(1, call, call.parameters(ORGANIZATION)))
    assert b"must be unlock" in connection.recv(4_096)


def test_confined(signer_process: SignerProcess) -> None:
    status = dict(
        line.split(":\t", 1) for line in Path(f"/proc/{pid_of(signer_process)}/status").read_text().splitlines()
    )
    assert status["NoNewPrivs"] == "1"
    assert status["Seccomp"] == "2"
    limits = Path(f"/proc/{pid_of(signer_process)}/limits").read_text()
    assert "Max core file size 0" in " ".join(limits.split())
    assert Path(f"/proc/{pid_of(signer_process)}/mem").stat().st_uid == 0  # not dumpable: root's alone


def test_ends_with_its_service(key_file: Path, tmp_path: Path) -> None:
    """Even when that is killed. Neither leaves a file or a folder behind."""
    code = (
        "import sys, time; from keystead.signer.master_keys import *; from keystead.signer.supervision import *\n"
        "with SignerProcess(MasterKeySources(KeyFile(sys.argv[1]))) as signer:\n"
        "    signer.wait_until_ready(); print(signer._process.pid, flush=True); time.sleep(60)"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, "-c", code, str(key_file)], stdout=subprocess.PIPE, text=True, env=environment
    ) as service:
        assert service.stdout is not None
        pid = int(service.stdout.readline())
        service.kill()
    deadline = time.monotonic() + PATIENCE_S
    while Path(f"/proc/{pid}").exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert list(tmp_path.iterdir()) == []


def test_is_ready_with_the_master_key_that_data_is_sealed_under(signer_process: SignerProcess) -> None:
    async def run() -> None:
        channel = Channel(signer_process.connector, KEYS)
        await channel.ready(MASTER_KEY.key_id)
        with pytest.raises(Unavailable, match=f"under master key another, and this server has {MASTER_KEY.key_id}"):
            await channel.ready("another")
        channel.close()

    asyncio.run(run())


OUT_OF_BOUNDS: dict[str, dict[str, Any]] = {
    "a number beyond 64 bits": {"mnemonic_length": 10**40},
    "a negative number": {"mnemonic_length": -1},
    "a long identifier": {"wallet_id": "x" * 129},
    "many accounts": {"accounts": [ETHEREUM] * 65_537},
    "a long path": {"accounts": [replace(ETHEREUM, path="m" + "/0" * 10_000)]},
    "too deep in all": {"accounts": [replace(ETHEREUM, path="m" + "/0" * 250)] * 41},
    "another type": {"accounts": 5},
}


@pytest.mark.parametrize("instead", OUT_OF_BOUNDS.values(), ids=OUT_OF_BOUNDS)
def test_out_of_bounds(instead: dict[str, Any], signer_process: SignerProcess) -> None:
    """Refused with a typed error, and the connection goes on."""

    async def use(signer: Signer) -> None:
        arguments: dict[str, Any] = {
            "organization_id": ORGANIZATION,
            "data_key": await signer.new_data_key(ORGANIZATION),
            "wallet_id": WALLET,
            "mnemonic_length": 12,
            "accounts": [ETHEREUM],
        }
        with pytest.raises((InvalidRequest, TooLarge)):
            await signer.create_wallet(**arguments | instead)
        await signer.create_wallet(**arguments)

    asked(signer_process, use)


def test_everything_that_crosses_has_a_bound() -> None:
    for call in calls().values():
        for field in msgspec.inspect.type_info(call.parameters).fields:  # type: ignore[attr-defined]
            assert list(unbounded_in(field.type, f"{call.name}.{field.name}")) == []


def unbounded_in(kind: Any, place: str) -> Iterator[str]:
    inspect = msgspec.inspect
    match kind:
        case inspect.IntType():
            if kind.le is None or kind.ge is None:
                yield place
        case inspect.StrType() | inspect.BytesType():
            if kind.max_length is None:
                yield place
        case inspect.ListType() | inspect.VarTupleType():
            if kind.max_length is None:
                yield place
            yield from unbounded_in(kind.item_type, f"{place}[]")
        case inspect.StructType():
            for field in kind.fields:
                yield from unbounded_in(field.type, f"{place}.{field.name}")
        case inspect.UnionType():
            for one in kind.types:
                yield from unbounded_in(one, place)
        case inspect.DictType():
            if kind.max_length is None:
                yield place
            yield from unbounded_in(kind.key_type, f"{place} key")
            yield from unbounded_in(kind.value_type, f"{place}[]")
        case inspect.EnumType() | inspect.NoneType() | inspect.LiteralType():
            pass
        case _:
            raise NotImplementedError(kind)
