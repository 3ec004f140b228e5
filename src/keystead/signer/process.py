"""The process that holds the master key: started by `supervision`, it answers calls on one inherited socket.

It reads from standard input what it needs, opens the keys, gives up whatever it can, and says on standard output
that it is ready. It ends when standard input does: whoever started it is gone. It opens no file and no socket after
that, writes nothing, and logs no more than what went wrong, never with what.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final, cast

import msgspec
import uvloop

from keystead.api.errors import Internal, ServiceError
from keystead.api.rendering import rfc3339
from keystead.keys.master_key import MasterKeyError
from keystead.keys.master_key_source import TokenKeyName, open_master_keys
from keystead.keys.sealing import Master, SealBroken
from keystead.signer import confinement
from keystead.signer.local import LocalSigner, open_signer
from keystead.signer.peers import parent_of, peer_of
from keystead.signer.rpc import (
    BadFrame,
    Frames,
    calls,
    read_request,
    refusal_frame,
    result_frame,
)
from keystead.signer.startup import Orders, Ready

IN_FLIGHT_MAX: Final = 256
"""How many calls of one connection are under way at most; the next wait in the socket."""


class _Caller(asyncio.Protocol):
    """One connection of a server process: its calls run at once. Each is answered when it is done, in one writing
    with those that are done at the same time: the server would wake for each, and take the core that they share."""

    def __init__(self, master: Master, may_connect: Callable[[socket.socket], bool]) -> None:
        self._master = master
        self._may_connect = may_connect
        self._signer: LocalSigner | None = None
        self._frames = Frames()
        self._answers: list[bytes] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._paused = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        if not self._may_connect(transport.get_extra_info("socket")):
            _complain("refused a connection of a process that is not of this service")
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        try:
            for frame in self._frames.taken(data):
                self._begin(frame)
        except (BadFrame, msgspec.MsgspecError):
            _complain("closed a connection that sent what is no call")
            self._transport.abort()

    def connection_lost(self, _: Exception | None) -> None:
        for task in self._tasks:
            task.cancel()

    def _begin(self, frame: bytes) -> None:
        request = read_request(frame)
        task = asyncio.get_running_loop().create_task(self._answer(request.number, request.call, request.arguments))
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        if len(self._tasks) >= IN_FLIGHT_MAX and not self._paused:
            self._paused = True
            self._transport.pause_reading()

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if self._paused and len(self._tasks) < IN_FLIGHT_MAX // 2:
            self._paused = False
            self._transport.resume_reading()

    async def _answer(self, number: int, name: str, arguments: msgspec.Raw) -> None:
        try:
            frame = result_frame(number, await self._done(name, arguments))
        except (ServiceError, SealBroken) as refused:
            frame = refusal_frame(number, refused)
        except Exception as failure:  # noqa: BLE001 - a call must not end the process; its text may hold secrets
            _complain(f"failed at {name} with {type(failure).__name__}")
            frame = refusal_frame(number, failure)
        if not self._answers:  # the answers of one turn of the event loop are written together
            asyncio.get_running_loop().call_soon(self._send)
        self._answers.append(frame)

    def _send(self) -> None:
        answers, self._answers = self._answers, []
        if not self._transport.is_closing():
            self._transport.write(b"".join(answers))

    async def _done(self, name: str, arguments: msgspec.Raw) -> Any:
        call = calls().get(name)
        if call is None:
            raise Internal(f"the signer knows no call {name[:100]!a}")
        given = msgspec.structs.astuple(call.arguments.decode(arguments))
        if name == "unlock":
            self._signer = open_signer(self._master, *given)
            return self._master.key_id
        if self._signer is None:
            raise Internal("the signer was not told which installation it serves")
        method: Callable[..., Awaitable[Any]] = getattr(self._signer, name)
        return await method(**dict(zip(call.parameters.__struct_fields__, given, strict=True)))


def main() -> None:
    """Run the signer until standard input ends."""
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # Whoever stops the whole group means the server, which must still finish what it has accepted.
        signal.signal(ignored, signal.SIG_IGN)
    orders = msgspec.json.decode(sys.stdin.buffer.readline(), type=Orders)
    # The library of a token may need anything, so with one the process keeps what else it gives up.
    has_token = any(isinstance(one, TokenKeyName) for one in (orders.sources.sealing, *orders.sources.others))
    left_network = not has_token and confinement.leave_network()
    confinement.keep_memory_private()
    try:
        master = open_master_keys(orders.sources)
    except MasterKeyError as refused:
        _tell(Ready(failure=str(refused)))
        sys.exit(1)
    uvloop.run(_serve(master, orders, left_network=left_network, has_token=has_token))


async def _serve(master: Master, orders: Orders, *, left_network: bool, has_token: bool) -> None:
    loop = asyncio.get_running_loop()
    listener = socket.socket(fileno=orders.listener)
    user = os.getuid()
    calls()

    def may_connect(connected: socket.socket) -> bool:
        peer = peer_of(connected)
        return peer.uid == user and (peer.pid in (0, orders.service) or parent_of(peer.pid) == orders.service)

    server = await loop.create_unix_server(lambda: _Caller(master, may_connect), sock=listener)
    confined = (*(["network"] if left_network else []), *(() if has_token else _confined()))
    ended = asyncio.Event()
    loop.add_reader(sys.stdin.fileno(), lambda: None if os.read(sys.stdin.fileno(), 1) else ended.set())
    _tell(Ready(confined=confined))
    await ended.wait()
    server.close()
    os._exit(0)  # nothing to save, and calls that are under way have nobody left to answer


def _confined() -> tuple[str, ...]:
    """Give up what a loop that runs needs no more; what that was."""
    steps = {"nobody": confinement.become_nobody, "system calls": confinement.refuse_new_sockets_and_programs}
    done = tuple(name for name, step in steps.items() if step())
    confinement.keep_memory_private()  # a change of user makes a process readable again
    return done


def _tell(ready: Ready) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(ready) + b"\n")
    sys.stdout.buffer.flush()


def _complain(what: str) -> None:
    line = {"time": rfc3339(time.time_ns() // 1_000_000), "level": "warning", "event": f"the signer {what}"}
    sys.stderr.write(msgspec.json.encode(line).decode() + "\n")
    sys.stderr.flush()


if __name__ == "__main__":
    main()
