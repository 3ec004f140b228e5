"""The signer as the server processes see it: a protocol's methods, each a request over one Unix connection.

Here: connecting, several requests in flight, trying again. Not here: what crosses (`calls`), which calls cross as
one (`together`), the other side (`process`).

A call leaves nothing behind in the signer, so one that got no answer is made again, once, on a new connection; its
first result, if there was one, reached nobody.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final, cast

import msgspec

from keystead.api.errors import Internal, Unavailable
from keystead.pipeline.arrivals import Arrivals
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
from keystead.signer.together import Crossing, PendingCall, alone, crossings

CALL_TIMEOUT_S: Final = 20.0
"""How long one call may take, with waiting for a signer that is being started again."""

_CONNECT_PAUSE_S = 0.02


class _Lost(Exception):
    """The connection ended before the answer came."""


class Connection(asyncio.Protocol):
    """One connection: numbers requests, and gives each answer to whoever waits for its number."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._frames = Frames()
        self._waiting: dict[int, Crossing] = {}
        self._number = 0
        self._loop = asyncio.get_running_loop()
        self._arrivals = Arrivals(self._send)  # waking the signer costs as much as a signature

    @property
    def is_open(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        try:
            for frame in self._frames.taken(data):
                answer = read_answer(frame)
                if crossing := self._waiting.get(answer.number):
                    self._give(answer, crossing)
                    del self._waiting[answer.number]
        except (BadFrame, msgspec.MsgspecError, KeyError):
            self.close()

    def connection_lost(self, _: Exception | None) -> None:
        self._transport = None
        waiting, self._waiting = self._waiting, {}
        for crossing in waiting.values():
            _fail(crossing.asked, _Lost())

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    async def ask(self, call: Call, arguments: msgspec.Struct, deadline: float) -> Any:
        """Raises whatever the signer refuses with, _Lost, and TimeoutError at the deadline, a time of the loop."""
        if not self.is_open:
            raise _Lost
        asked = PendingCall(call, arguments, self._loop.create_future())
        self._arrivals.add(asked)
        # One timer, not `asyncio.timeout`, which would cost more than the rest of this.
        timer = self._loop.call_at(deadline, _give_up, asked.result)
        try:
            return await asked.result
        except (TimeoutError, asyncio.CancelledError):
            self._forget(asked)
            raise
        finally:
            timer.cancel()

    def _send(self, asked: Sequence[PendingCall]) -> None:
        self._write(crossings(one for one in asked if not one.result.done()))

    def _write(self, sent: Iterable[Crossing]) -> None:
        frames: list[bytes] = []
        for crossing in sent:
            if self._transport is None:
                _fail(crossing.asked, _Lost())
                continue
            self._number += 1
            try:
                frames.append(request_frame(self._number, crossing.call, crossing.arguments))
            except Exception as failure:  # noqa: BLE001 - it is raised where the call was made
                _fail(crossing.asked, failure)
                continue
            self._waiting[self._number] = crossing
            for one in crossing.asked:
                one.number = self._number
        if self._transport is not None:
            self._transport.write(b"".join(frames))

    def _give(self, answer: Answer, crossing: Crossing) -> None:
        if not answer.refused:
            try:
                results = crossing.results(answer.body)
            except (msgspec.MsgspecError, Internal) as wrong:
                _fail(crossing.asked, wrong)
                return
            for one, result in zip(crossing.asked, results, strict=True):
                if not one.result.done():  # else its caller gave up
                    one.result.set_result(result)
        elif len(crossing.asked) == 1:
            _fail(crossing.asked, refusal_of(answer))
        else:  # perhaps for the message of only one of them
            self._write([alone(one) for one in crossing.asked if not one.result.done()])

    def _forget(self, asked: PendingCall) -> None:
        crossing = self._waiting.get(asked.number)
        if crossing is not None and all(one.result.done() for one in crossing.asked):
            del self._waiting[asked.number]


def _fail(asked: Iterable[PendingCall], failure: Exception) -> None:
    for one in asked:
        if not one.result.done():
            one.result.set_exception(failure)


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
