"""The client of the signer's process: each method of the protocol is a request over one connection.

Here: connecting, several requests in flight, repeating a call. Not here: how calls are encoded (`rpc`), how a
connection is made (`connector`), the other side (`process`).

A call stores nothing in the signer. Therefore a call whose connection ended before the answer is repeated once, on
a new connection. The first result, if there was one, is lost.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable
from typing import Any, Final, cast

import msgspec

from keystead.api.errors import Unavailable
from keystead.pipeline.signer_port import Signer
from keystead.signer import rpc
from keystead.signer.connector import connect
from keystead.signer.installation_keys import SealedInstallationKeys

CALL_TIMEOUT_S: Final = 20.0
"""How long one call may take, including the restart of a signer that died."""

_CONNECT_PAUSE_S = 0.02


class _ConnectionLost(Exception):
    """The connection ended before the answer arrived."""


class Connection(asyncio.Protocol):
    """One connection. It numbers requests, and gives each answer to the call with its number."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._frames = rpc.Frames()
        self._pending: dict[int, tuple[rpc.Call, asyncio.Future[Any]]] = {}
        self._number = 0
        self._loop = asyncio.get_running_loop()
        self._batch = rpc.FrameBatch(self._write)

    @property
    def is_open(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        try:
            for frame in self._frames.take(data):
                answer = rpc.read_answer(frame)
                if pending := self._pending.pop(answer.number, None):
                    _settle(*pending, answer)
        except (rpc.BadFrame, msgspec.MsgspecError, KeyError):
            self.close()

    def connection_lost(self, _: Exception | None) -> None:
        self._transport = None
        pending, self._pending = self._pending, {}
        for _call, result in pending.values():
            if not result.done():
                result.set_exception(_ConnectionLost())

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    async def ask(self, call: rpc.Call, arguments: msgspec.Struct, deadline: float) -> Any:
        """The call's result. `deadline` is a time of the event loop.

        Raises the signer's refusal, the errors of `request_frame`, _ConnectionLost, and TimeoutError.
        """
        if not self.is_open:
            raise _ConnectionLost
        self._number = number = self._number + 1
        frame = rpc.request_frame(number, call, arguments)
        result = self._loop.create_future()
        self._pending[number] = call, result
        self._batch.add(frame)
        # One timer, because `asyncio.timeout` would cost more than the rest of this function.
        timer = self._loop.call_at(deadline, _time_out, result)
        try:
            return await result
        finally:
            timer.cancel()
            self._pending.pop(number, None)

    def _write(self, frames: bytes) -> None:
        if self._transport is not None:
            self._transport.write(frames)


def _settle(call: rpc.Call, result: asyncio.Future[Any], answer: rpc.CallAnswer) -> None:
    if result.done():  # the caller gave up
        return
    if answer.refused:
        result.set_exception(rpc.refusal_of(answer))
        return
    try:
        result.set_result(call.result.decode(answer.body))
    except msgspec.MsgspecError as wrong:
        result.set_exception(wrong)


def _time_out(result: asyncio.Future[Any]) -> None:
    if not result.done():
        result.set_exception(TimeoutError())


class Channel:
    """The connection to the signer; a new one is made when it ends. Belongs to one event loop.

    `connector`: the inherited end (`signer.connector`). The first call of each connection presents `sealed`, the
    installation's sealed values.
    """

    def __init__(self, connector: socket.socket, sealed: SealedInstallationKeys) -> None:
        self._connector = connector
        self._sealed = sealed
        self._connection: Connection | None = None
        self._connecting = asyncio.Lock()
        self._unlock = rpc.calls()["unlock"]
        self._ready = rpc.calls()["ready"]

    async def open(self) -> None:
        """Connect now. Raises Unavailable and the errors of `Handshake.unlock`."""
        try:
            await self._open_connection(_deadline())
        except TimeoutError:
            raise _no_answer() from None

    async def ready(self, master_key_id: str) -> None:
        """Raise Unavailable unless the signer answers now and has this master key."""
        await self.ask(self._ready, self._ready.parameters(master_key_id))

    async def master_key_ids(self) -> tuple[str, ...]:
        """The ids of the master keys that the signer has, first the one that seals. Raises Unavailable."""
        call = rpc.calls()["master_key_ids"]
        key_ids: tuple[str, ...] = await self.ask(call, call.parameters())
        return key_ids

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()

    async def ask(self, call: rpc.Call, arguments: msgspec.Struct) -> Any:
        """The signer's answer. Raises the signer's refusal, and Unavailable if the signer does not answer."""
        deadline = _deadline()
        for _ in range(2):
            try:
                connection = self._connection
                if connection is None or not connection.is_open:
                    connection = await self._open_connection(deadline)
                return await connection.ask(call, arguments, deadline)
            except _ConnectionLost:
                continue
            except TimeoutError:
                break
        raise _no_answer()

    async def _open_connection(self, deadline: float) -> Connection:
        """Wait for an open connection that the signer has accepted.

        Raises TimeoutError at the deadline, and the errors of `Handshake.unlock`.
        """
        async with asyncio.timeout_at(deadline), self._connecting:
            while self._connection is None or not self._connection.is_open:
                try:
                    self._connection = await self._connect(deadline)
                except TimeoutError:  # TimeoutError is an OSError
                    raise
                except (OSError, _ConnectionLost):
                    await asyncio.sleep(_CONNECT_PAUSE_S)
            return self._connection

    async def _connect(self, deadline: float) -> Connection:
        loop = asyncio.get_running_loop()
        stream = connect(self._connector)
        transport, connection = await loop.create_unix_connection(Connection, sock=stream)
        try:
            await connection.ask(self._unlock, self._unlock.parameters(self._sealed), deadline)
        except BaseException:
            transport.close()
            raise
        return connection


def _deadline() -> float:
    return asyncio.get_running_loop().time() + CALL_TIMEOUT_S


def _no_answer() -> Unavailable:
    return Unavailable("the signer does not answer; sending the same request again is safe")


def remote_signer(channel: Channel) -> Signer:
    """The signer's protocol over the channel, with one method for each call."""
    methods = {name: _method(channel, call) for name, call in rpc.calls().items()}
    return cast(Signer, type("RemoteSigner", (), methods)())


def _method(channel: Channel, call: rpc.Call) -> Any:
    def method(_: object, *arguments: Any, **named: Any) -> Awaitable[Any]:
        return channel.ask(call, call.parameters(*arguments, **named))

    method.__name__ = call.name
    return method
