"""Serving in this process: an event loop, the sockets, the signals that end it.

Here: start and stop. Not here: what is served (`application`), several processes (`workers`), the commands (`cli`).
"""

from __future__ import annotations

import asyncio
import gc
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Sequence

import uvloop

from keystead.server.application import Application
from keystead.server.connection import Answer, HttpConnection
from keystead.server.connections import ConnectionLimits, Connections
from keystead.server.console_link import ConsoleLink
from keystead.server.listening import BACKLOG, connection_limits
from keystead.server.logs import logger
from keystead.server.opening import open_checked
from keystead.server.service import Service
from keystead.server.settings import Settings

SWITCH_INTERVAL_S = 0.001
"""The event loop gives up the interpreter lock at each read of the database, and would by default wait 5 ms for the
thread that writes to give it back."""

GARBAGE_THRESHOLDS = (20_000, 20, 20)
"""A request makes hundreds of objects and hardly a cycle: looking for cycles as often as Python does by default
costs a submission a thirtieth of its time."""


def serve_here(
    settings: Settings,
    sockets: Sequence[socket.socket],
    *,
    connector: socket.socket | None = None,
    when_open: Callable[[Service], Awaitable[None]] | None = None,
    console_link: ConsoleLink | None = None,
) -> None:
    """Serve in this process until SIGTERM or SIGINT. `connector`: as Service takes it; `console_link`: as
    Application does.

    `when_open` is called before the first request is answered. Raises NotReady, SettingsError.
    """
    _tune_interpreter()
    limits = connection_limits(settings)
    service = Service(settings, connector=connector)

    async def served() -> None:
        await service.open()
        try:
            if when_open is not None:
                await when_open(service)
            answer = Application(service, console_link).answer
            await serve(answer, limits, sockets, _stop_on_signals(), settings.shutdown_timeout_s)
        finally:
            await service.close()

    uvloop.run(served())


async def serve(
    answer: Answer,
    limits: ConnectionLimits,
    sockets: Sequence[socket.socket],
    stop: asyncio.Event,
    shutdown_timeout_s: float,
) -> None:
    """Answer callers on these sockets until `stop` is set; requests under way then have `shutdown_timeout_s`."""
    loop = asyncio.get_running_loop()
    connections = Connections(limits)
    listening = [
        await loop.create_server(lambda: HttpConnection(connections, answer), sock=listener, backlog=BACKLOG)
        for listener in sockets
    ]
    for listener in sockets:
        host, port = listener.getsockname()[:2]
        logger.info("listening on %s", f"[{host}]:{port}" if ":" in host else f"{host}:{port}")
    await stop.wait()
    logger.info("stopping: requests under way are answered")
    for server in listening:
        server.close()
    await connections.stop(shutdown_timeout_s)


def check(settings: Settings, connector: socket.socket) -> None:
    """What a worker process would find, before any is started. Raises NotReady, SettingsError."""
    connection_limits(settings)

    async def opened() -> None:
        await (await open_checked(settings, connector)).close()

    uvloop.run(opened())


def _stop_on_signals() -> asyncio.Event:
    """Set by SIGTERM, and by SIGINT (Ctrl-C), whose second one ends the process at once."""
    loop, stop = asyncio.get_running_loop(), asyncio.Event()

    def interrupted() -> None:
        if stop.is_set():
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            signal.raise_signal(signal.SIGINT)
        stop.set()

    loop.add_signal_handler(signal.SIGTERM, stop.set)
    loop.add_signal_handler(signal.SIGINT, interrupted)
    return stop


def _tune_interpreter() -> None:
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    gc.collect()
    gc.freeze()  # what is imported by now stays
    gc.set_threshold(*GARBAGE_THRESHOLDS)
