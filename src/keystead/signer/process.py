"""The process that holds the master key. `supervision` starts it. It answers calls on connections through an
inherited socket (`connector`).

It reads its configuration from standard input, opens the master keys, gives up all rights that it can, and reports
on standard output that it is ready. It ends when standard input ends, because then the process that started it has
ended. After the start it opens no file, and writes only a line about each failure, which never quotes a call.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final, cast

import msgspec
import uvloop

from keystead.api.enums import MnemonicLanguage
from keystead.api.errors import Internal, ServiceError, Unavailable
from keystead.api.rendering import rfc3339
from keystead.failures.defects import TRACEBACK, traceback_of
from keystead.keys.master_key_source import open_master_keys
from keystead.keys.sealing import Master, SealBroken
from keystead.keys.secret_files import MasterKeyError
from keystead.keys.token_key import TokenKeyName
from keystead.keys.word_lists import word_list
from keystead.primitives import hpke
from keystead.signer import confinement, rpc
from keystead.signer.connector import accept, inherited
from keystead.signer.local import LocalSigner, open_signer
from keystead.signer.long_calls import LongCalls
from keystead.signer.rpc import FrameBatch
from keystead.signer.startup import StartReply, StartRequest

IN_FLIGHT_MAX: Final = 1_024
"""Most calls in progress of one connection; later calls wait in the socket. This is more than the long
calls that are accepted, so that a signature never waits in the socket for them."""


class ServerConnection(asyncio.Protocol):
    """The connection of one server process. Calls run concurrently. Each is answered when it is done."""

    def __init__(self, master_key: Master, long_calls: LongCalls) -> None:
        self._master_key = master_key
        self._long_calls = long_calls
        self._signer: LocalSigner | None = None
        self._frames = rpc.Frames()
        self._batch = FrameBatch(self._write)
        self._tasks: set[asyncio.Task[None]] = set()
        self._paused = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        try:
            for frame in self._frames.take(data):
                self._start(rpc.read_request(frame))
        except (rpc.BadFrame, msgspec.MsgspecError):
            _log("closed a connection that sent a malformed request")
            self._transport.abort()

    def connection_lost(self, _: Exception | None) -> None:
        for task in self._tasks:
            task.cancel()

    def _start(self, request: rpc.Request) -> None:
        task = asyncio.get_running_loop().create_task(self._answer(request))
        self._tasks.add(task)
        task.add_done_callback(self._forget_task)
        if len(self._tasks) >= IN_FLIGHT_MAX and not self._paused:
            self._paused = True
            self._transport.pause_reading()

    def _forget_task(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if self._paused and len(self._tasks) < IN_FLIGHT_MAX // 2:
            self._paused = False
            self._transport.resume_reading()

    async def _answer(self, request: rpc.Request) -> None:
        try:
            frame = rpc.result_frame(request.number, await self._result(request))
        except (ServiceError, SealBroken) as refused:
            frame = rpc.refusal_frame(request.number, refused)
        except Exception as failure:  # noqa: BLE001 - a call must not end the process; the error's text may hold secrets
            _log(f"failed at {request.call[:100]!a} with {type(failure).__name__}", failure)
            frame = rpc.refusal_frame(request.number, failure)
        self._batch.add(frame)

    def _write(self, frames: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.write(frames)

    async def _result(self, request: rpc.Request) -> Any:
        call = rpc.calls().get(request.call)
        if call is None:
            raise Internal(f"the signer knows no call {request.call[:100]!a}")
        arguments = rpc.arguments_of(call, request)
        if call.name == "unlock":
            self._signer = open_signer(self._master_key, long_calls=self._long_calls, **arguments)
            return self._master_key.key_id
        if call.name == "master_key_ids":
            return self._master_key.key_ids
        if call.name == "ready":
            return self._check_master_key(**arguments)
        if self._signer is None:
            raise Internal("the first call on a connection to the signer must be unlock")
        method: Callable[..., Awaitable[Any]] = getattr(self._signer, call.name)
        return await method(**arguments)

    def _check_master_key(self, master_key_id: str) -> None:
        key_ids = self._master_key.key_ids
        if master_key_id not in key_ids:
            raise Unavailable(
                f"the data is sealed under master key {master_key_id}, and this server has {', '.join(key_ids)}: "
                "restart it with both master keys"
            )


def main() -> None:
    """Run the signer until standard input ends."""
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # A signal to the process group is for the server, which must finish the requests that it has accepted.
        signal.signal(ignored, signal.SIG_IGN)
    request = msgspec.json.decode(sys.stdin.buffer.readline(), type=StartRequest)
    # The library of a token may need any right, so with a token the process gives up none.
    has_token = any(
        isinstance(source, TokenKeyName) for source in (request.sources.sealing, *request.sources.others)
    )
    left_network = not has_token and confinement.leave_network()
    confinement.keep_memory_private()
    try:
        master_key = open_master_keys(request.sources)
    except MasterKeyError as refused:
        _reply(StartReply(failure=str(refused)))
        sys.exit(1)
    load_everything()
    uvloop.run(_serve(master_key, request, left_network=left_network, has_token=has_token))


def load_everything() -> None:
    """Load everything that would otherwise be read from files at its first use."""
    hpke.load()
    for language in MnemonicLanguage:
        word_list(language)
    rpc.calls()


async def _serve(master_key: Master, request: StartRequest, *, left_network: bool, has_token: bool) -> None:
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(_log_unhandled)
    connector, long_calls = inherited(request.connector), LongCalls()
    connections = set[asyncio.Task[Any]]()

    def connection() -> ServerConnection:
        return ServerConnection(master_key, long_calls)

    def take_connections() -> None:
        while (stream := accept(connector)) is not None:
            task = loop.create_task(loop.connect_accepted_socket(connection, stream))
            connections.add(task)
            task.add_done_callback(connections.discard)

    loop.add_reader(connector.fileno(), take_connections)
    confined = (*(["network"] if left_network else []), *(() if has_token else _confine()))
    ended = asyncio.Event()
    loop.add_reader(sys.stdin.fileno(), lambda: None if os.read(sys.stdin.fileno(), 1) else ended.set())
    _reply(StartReply(confined=confined))
    await ended.wait()
    os._exit(0)  # there is nothing to save, and no server is left


def _confine() -> tuple[str, ...]:
    """Give up the rights that a running loop no longer needs. Returns their names."""
    steps = {"nobody": confinement.become_nobody, "system calls": confinement.refuse_new_sockets_and_programs}
    done = tuple(name for name, step in steps.items() if step())
    confinement.keep_memory_private()  # a change of user makes the process readable again
    return done


def _reply(reply: StartReply) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(reply) + b"\n")
    sys.stdout.buffer.flush()


def _log_unhandled(_loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Handles what the event loop reports. The handler of asyncio would log messages of exceptions."""
    failure = context.get("exception")
    _log("failed outside of a call" if failure else f"reports: {context['message']}", failure)


def _log(event: str, failure: BaseException | None = None) -> None:
    """Write a line to the log. Of a failure it has the types and places of the exceptions, and no message."""
    line = {"time": rfc3339(time.time_ns() // 1_000_000), "level": "warning", "event": f"the signer {event}"}
    if failure is not None:
        line |= {"level": "error", TRACEBACK: traceback_of(failure)}
    sys.stderr.write(msgspec.json.encode(line).decode() + "\n")
    sys.stderr.flush()


if __name__ == "__main__":
    main()
