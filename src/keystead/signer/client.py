"""The signer as the server processes see it: a protocol's methods, each a request over one Unix connection.

Here: connecting, several requests in flight, trying again. Not here: the frames (`rpc`), the other side
(`process`).

A call leaves nothing behind in the signer, so one that got no answer is made again, once, on a new connection; its
first result, if there was one, reached nobody.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

import msgspec

from keystead.api.errors import Unavailable
from keystead.pipeline.ports import Signer
from keystead.signer.peers import peer_of
from keystead.signer.rpc import (
    Answer,
    BadFrame,
    Call,
    Frames,
    calls,
    read_answer,
    refusal_of,
    request_frame,
)
from keystead.signer.server_keys import ServerKeys

CALL_TIMEOUT_S: Final = 20.0
"""How long one call may take, with waiting for a signer that is being started again."""

_CONNECT_PAUSE_S = 0.02


class _Lost(Exception):
    """The connection ended before the answer came."""


class PendingCall(NamedTuple):
    call: Call
    result: asyncio.Future[Any]


class Connection(asyncio.Protocol):
    """One connection: numbers the requests, and gives each answer to the caller that waits for its number."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._frames = Frames()
        self._pending: dict[int, PendingCall] = {}
        self._unsent: list[bytes] = []
        self._number = 0
        self._loop = asyncio.get_running_loop()

    @property
    def is_open(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        try:
            for frame in self._frames.taken(data):
                answer = read_answer(frame)
                pending = self._pending.pop(answer.number, None)
                if pending is not None:
                    _settle(pending, answer)
        except (BadFrame, msgspec.MsgspecError, KeyError):
            self.close()

    def connection_lost(self, _: Exception | None) -> None:
        self._transport = None
        lost, self._pending = self._pending, {}
        for pending in lost.values():
            if not pending.result.done():
                pending.result.set_exception(_Lost())

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    async def ask(self, call: Call, arguments: msgspec.Struct, deadline: float) -> Any:
        """Raises what the signer refuses with, _Lost, and TimeoutError at the deadline, a time of the loop."""
        if not self.is_open:
            raise _Lost
        self._number += 1
        number, result = self._number, self._loop.create_future()
        frame = request_frame(number, call, arguments)
        self._pending[number] = PendingCall(call, result)
        if not self._unsent:  # waking the signer costs as much as a signature: once in a turn of the event loop
            self._loop.call_soon(self._send)
        self._unsent.append(frame)
        # One timer, not `asyncio.timeout`, which would cost more than the rest of this.
        timer = self._loop.call_at(deadline, _give_up, result)
        try:
            return await result
        finally:
            timer.cancel()
            self._pending.pop(number, None)

    def _send(self) -> None:
        unsent, self._unsent = self._unsent, []
        if self._transport is not None:
            self._transport.write(b"".join(unsent))


def _settle(pending: PendingCall, answer: Answer) -> None:
    if pending.result.done():  # its caller gave up
        return
    if answer.refused:
        pending.result.set_exception(refusal_of(answer))
        return
    try:
        pending.result.set_result(pending.call.result.decode(answer.body))
    except msgspec.MsgspecError as wrong:
        pending.result.set_exception(wrong)


def _give_up(future: asyncio.Future[Any]) -> None:
    if not future.done():
        future.set_exception(TimeoutError())


class Channel:
    """Connections to the signer at `path`, one at a time, made anew when one ends. Belongs to one event loop.

    Each connection shows `server_keys` first, which the installation keeps.
    """

    def __init__(self, path: Path, server_keys: ServerKeys) -> None:
        self._path = path
        self._server_keys = server_keys
        self._connection: Connection | None = None
        self._connecting = asyncio.Lock()
        self._unlock = calls()["unlock"]

    async def open(self) -> None:
        """Connect now. Raises Unavailable, and as `Door.unlock` does."""
        try:
            await self._connected(_deadline())
        except TimeoutError:
            raise _no_answer() from None

    async def ready(self) -> None:
        """Raises Unavailable unless the signer answers now, and as `Door.unlock` does."""
        await self.ask(self._unlock, self._unlock.parameters(self._server_keys))

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()

    async def ask(self, call: Call, arguments: msgspec.Struct) -> Any:
        """What the signer answers. Raises what it refuses with, and Unavailable if it does not answer."""
        deadline = _deadline()
        for _ in range(2):
            try:
                connection = self._connection
                if connection is None or not connection.is_open:
                    connection = await self._connected(deadline)
                return await connection.ask(call, arguments, deadline)
            except _Lost:
                continue
            except TimeoutError:
                break
        raise _no_answer()

    async def _connected(self, deadline: float) -> Connection:
        """An open connection that the signer has accepted; waits while there is none to be had.

        Raises TimeoutError at the deadline, and as `Door.unlock` does.
        """
        async with asyncio.timeout_at(deadline), self._connecting:
            while self._connection is None or not self._connection.is_open:
                try:
                    self._connection = await self._connect(deadline)
                except TimeoutError:  # which is an OSError
                    raise
                except (OSError, _Lost):
                    await asyncio.sleep(_CONNECT_PAUSE_S)
            return self._connection

    async def _connect(self, deadline: float) -> Connection:
        loop = asyncio.get_running_loop()
        transport, connection = await loop.create_unix_connection(Connection, str(self._path))
        if peer_of(transport.get_extra_info("socket")).uid != os.getuid():
            transport.close()
            raise Unavailable("the signer's socket belongs to another user of this machine")
        try:
            await connection.ask(self._unlock, self._unlock.parameters(self._server_keys), deadline)
        except BaseException:
            transport.close()
            raise
        return connection


def _deadline() -> float:
    return asyncio.get_running_loop().time() + CALL_TIMEOUT_S


def _no_answer() -> Unavailable:
    return Unavailable("the signer does not answer; sending the same request again is safe")


def remote_signer(channel: Channel) -> Signer:
    """The signer's protocol over the channel: one method per call."""
    methods = {name: _method(channel, call) for name, call in calls().items()}
    return cast(Signer, type("RemoteSigner", (), methods)())


def _method(channel: Channel, call: Call) -> Any:
    def method(_: object, *arguments: Any, **named: Any) -> Awaitable[Any]:
        return channel.ask(call, call.parameters(*arguments, **named))

    method.__name__ = call.name
    return method
