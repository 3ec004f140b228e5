"""Calls to sign with one key that come together are one; nobody gets another's signature, or another's refusal."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from keystead.api.enums import AddressFormat, Curve, PathFormat
from keystead.api.errors import Internal, ServiceError, Unavailable
from keystead.chains.signatures import Signature, SignatureScheme
from keystead.keys.sealing import SealBroken
from keystead.pipeline.ports import AccountRequest, WalletKey
from keystead.signer import client as remote
from keystead.signer.client import Channel, Connection, remote_signer
from keystead.signer.local import LocalSigner
from keystead.signer.rpc import calls, result_frame
from keystead.signer.supervision import SignerProcess
from keystead.signer.together import MESSAGE_BYTES_MAX, Crossing, PendingCall, crossings
from tests.signer.conftest import MASTER_KEY, pid_of

LOCAL = LocalSigner(MASTER_KEY)
KEYS = LOCAL.new_server_keys()
SIGN = calls()["sign"]


async def new_key(organization_id: str, path: str = "m/0") -> dict[str, Any]:
    """What signs with an account of a new wallet, but the messages."""
    data_key = await LOCAL.new_data_key(organization_id)
    account = AccountRequest(
        curve=Curve.SECP256K1, path_format=PathFormat.BIP32, path=path, address_format=AddressFormat.COMPRESSED
    )
    wallet = await LOCAL.create_wallet(
        organization_id=organization_id,
        data_key=data_key,
        wallet_id="wallet",
        mnemonic_length=12,
        accounts=[account],
    )
    key = WalletKey(
        wallet_id="wallet",
        sealed=wallet.sealed_mnemonic,
        curve=Curve.SECP256K1,
        path=path,
        public_key=bytes.fromhex(wallet.accounts[0].public_key),
    )
    return {
        "organization_id": organization_id,
        "data_key": data_key,
        "key": key,
        "scheme": SignatureScheme.ECDSA,
    }


MINE, FOREIGN = asyncio.run(new_key("mine")), asyncio.run(new_key("foreign"))
D = [bytes([number]) * 32 for number in range(9)]
OTHERS: dict[str, dict[str, Any]] = {
    "organization": {"organization_id": "foreign"},
    "data key": {"data_key": FOREIGN["data_key"]},
    "key": {"key": FOREIGN["key"]},
    "path": {"key": replace(MINE["key"], path="m/1")},
    "wallet": {"key": replace(MINE["key"], wallet_id="another")},
    "scheme": {"scheme": SignatureScheme.SCHNORR},
}
"""What tells a key, or how it signs, from another."""


def crossed(*asked: dict[str, Any]) -> list[Sequence[bytes]]:
    """The messages of each call that crosses."""

    async def run() -> list[Crossing]:
        loop = asyncio.get_running_loop()
        return crossings(PendingCall(SIGN, SIGN.parameters(**one), loop.create_future()) for one in asked)

    return [crossing.arguments.messages for crossing in asyncio.run(run())]


def test_one_key_one_call() -> None:
    assert crossed(*[MINE | {"messages": [digest]} for digest in D]) == [D]


@pytest.mark.parametrize("instead", OTHERS.values(), ids=OTHERS)
def test_what_is_different_crosses_alone(instead: dict[str, Any]) -> None:
    other = MINE | instead
    asked = [one | {"messages": [digest]} for one, digest in zip((MINE, other, MINE, other), D, strict=False)]
    assert crossed(*asked) == [[D[0], D[2]], [D[1], D[3]]]


NOT_JOINED = {
    "several messages": [D[0], D[1]],
    "none": [],
    "a long message": [bytes(MESSAGE_BYTES_MAX + 1)],
}


@pytest.mark.parametrize("messages", NOT_JOINED.values(), ids=NOT_JOINED)
def test_what_is_not_one_short_message_crosses_alone(messages: list[bytes]) -> None:
    longest = [bytes(MESSAGE_BYTES_MAX)]
    found = crossed(MINE | {"messages": messages}, MINE | {"messages": longest}, MINE | {"messages": [D[0]]})
    assert found == [messages, [*longest, D[0]]]


class Nowhere(asyncio.Transport):
    """What is written to it gets no answer."""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Nobody reads it."""

    def is_closing(self) -> bool:
        return False


MADE = [Signature(r=bytes(32), s=bytes(32), v=number) for number in range(3)]
NOT_UNDERSTOOD: dict[str, tuple[Any, type[Exception]]] = {
    "too few": (MADE[:1], Internal),
    "too many": (MADE, Internal),
    "no signatures": (7, msgspec.ValidationError),
}


async def both_kinds() -> tuple[Connection, list[asyncio.Task[Any]]]:
    """Two calls with one key, crossing as number 1, and one with another, as number 2, all written."""
    connection = Connection()
    connection.connection_made(Nowhere())
    deadline = asyncio.get_running_loop().time() + 20
    arguments = [SIGN.parameters(**key, messages=[D[0]]) for key in (MINE, MINE, FOREIGN)]
    asked = [asyncio.create_task(connection.ask(SIGN, each, deadline)) for each in arguments]
    while not connection._waiting:  # noqa: ASYNC110 - nothing says when it is
        await asyncio.sleep(0)
    return connection, asked


@pytest.mark.parametrize(("answered", "raised"), NOT_UNDERSTOOD.values(), ids=NOT_UNDERSTOOD)
def test_an_answer_that_is_none(answered: Any, raised: type[Exception]) -> None:
    """Is an error for those whom it answers, and for nobody else."""

    async def run() -> None:
        connection, asked = await both_kinds()
        connection.data_received(result_frame(1, answered) + result_frame(2, MADE[2:]))
        said = await asyncio.gather(*asked, return_exceptions=True)
        assert [type(one) for one in said[:2]] == [raised, raised]
        assert said[2] == (MADE[2],)
        assert not connection._waiting

    asyncio.run(run())


def test_each_its_own_signature() -> None:
    async def run() -> None:
        connection, asked = await both_kinds()
        connection.data_received(result_frame(2, MADE[2:]) + result_frame(1, MADE[:2]))
        assert await asyncio.gather(*asked) == [(MADE[0],), (MADE[1],), (MADE[2],)]

    asyncio.run(run())


def test_as_many_signatures_as_messages_alone() -> None:
    async def run() -> None:
        asked = PendingCall(
            SIGN, SIGN.parameters(**MINE, messages=D[:2]), asyncio.get_running_loop().create_future()
        )
        (crossing,) = crossings([asked])
        assert crossing.results(msgspec.Raw(msgspec.msgpack.encode(MADE[:2]))) == (tuple(MADE[:2]),)
        with pytest.raises(Internal, match="made 3 signatures of 2 messages"):
            crossing.results(msgspec.Raw(msgspec.msgpack.encode(MADE)))

    asyncio.run(run())


NO_ARGUMENTS: dict[str, dict[str, Any]] = {
    "no messages": {"messages": 5},
    "no bytes": {"messages": [object()]},
    "no data key": {"messages": [D[0]], "data_key": {}},
}


@pytest.mark.parametrize("instead", NO_ARGUMENTS.values(), ids=NO_ARGUMENTS)
def test_a_call_that_cannot_cross(instead: dict[str, Any]) -> None:
    """Fails where it is made, and is in nobody's way."""

    async def run() -> None:
        connection = Connection()
        connection.connection_made(Nowhere())
        deadline = asyncio.get_running_loop().time() + 20
        bad, good = (
            asyncio.create_task(
                connection.ask(SIGN, SIGN.parameters(**MINE | {"messages": [D[0]]} | one), deadline)
            )
            for one in (instead, {})
        )
        with pytest.raises(TypeError):
            await bad
        while not connection._waiting:  # noqa: ASYNC110 - nothing says when it is sent
            await asyncio.sleep(0)
        connection.data_received(result_frame(1, MADE[:1]))
        assert await good == (MADE[0],)

    asyncio.run(run())


@pytest.mark.skipif(sys.platform != "linux", reason="asks the kernel who is there")
def test_each_gets_what_it_would_get_alone(signer_process: SignerProcess) -> None:
    """Beside every other: signatures, and the refusals of those that ask for what is not to be had."""
    asked: list[dict[str, Any]] = [MINE | {"messages": [digest]} for digest in D]
    asked += [MINE | {"messages": [bytes(31)]}, MINE | {"messages": [bytes(33)]}, MINE | {"messages": D}]
    asked += [MINE | {"messages": [D[0]]} | instead for name, instead in OTHERS.items() if name != "scheme"]
    asked += [FOREIGN | {"messages": [D[0]]}]

    async def run() -> tuple[list[Any], list[Any]]:
        channel = Channel(signer_process.path, KEYS)
        await channel.open()
        try:
            signer = remote_signer(channel)
            there = await asyncio.gather(*[signer.sign(**one) for one in asked], return_exceptions=True)
        finally:
            channel.close()
        return there, [await said(one) for one in asked]

    async def said(one: dict[str, Any]) -> Any:
        try:
            return await LOCAL.sign(**one)
        except (ServiceError, SealBroken) as refused:
            return refused

    there, alone = asyncio.run(run())
    assert list(map(told, there)) == list(map(told, alone))
    assert sum(isinstance(one, Exception) for one in alone) == 7
    assert len({one for one in there if isinstance(one, tuple)}) == len(D) + 2


def told(said: Any) -> Any:
    return (type(said), str(said)) if isinstance(said, Exception) else said


@pytest.mark.skipif(sys.platform != "linux", reason="asks the kernel who is there")
@pytest.mark.parametrize("others_wait", [True, False])
def test_who_gives_up(others_wait: bool, signer_process: SignerProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    """Takes nothing from the others; and when all have, nothing stays behind."""
    if not others_wait:
        monkeypatch.setattr(remote, "CALL_TIMEOUT_S", 1.0)

    async def run() -> None:
        channel = Channel(signer_process.path, KEYS)
        await channel.open()
        signer, connection = remote_signer(channel), channel._connection
        assert connection is not None
        asked = MINE | {"messages": [D[0]]}
        os.kill(pid_of(signer_process), signal.SIGSTOP)
        waiting = [asyncio.create_task(signer.sign(**asked)) for _ in range(3)]
        while not connection._waiting:  # noqa: ASYNC110 - nothing says when it is sent
            await asyncio.sleep(0)
        waiting[0].cancel()
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        if others_wait:
            os.kill(pid_of(signer_process), signal.SIGCONT)
        said = await asyncio.gather(*waiting, return_exceptions=True)
        if others_wait:
            assert said[1:] == [await LOCAL.sign(**asked)] * 2
        else:
            assert [type(one) for one in said[1:]] == [Unavailable, Unavailable]
            os.kill(pid_of(signer_process), signal.SIGCONT)
        assert not connection._waiting
        assert await signer.sign(**asked) == await LOCAL.sign(**asked)
        channel.close()

    asyncio.run(run())
