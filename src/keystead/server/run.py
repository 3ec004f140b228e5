"""Serves in this process: an event loop, the sockets, the signals that end it.

Here: start and stop. Not here: the answers (`application`), several processes (`workers`), the commands (`cli`).
"""

from __future__ import annotations

import asyncio
import gc
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import uvloop

from keystead.server.application import Application
from keystead.server.background import log_unhandled
from keystead.server.http.connection import AnswerRequest, HttpConnection
from keystead.server.http.connections import Connections
from keystead.server.http.listening import BACKLOG, connection_limits
from keystead.server.http.tls import HANDSHAKE_S, SHUTDOWN_S, TlsCertificate, certificate_of
from keystead.server.limits.rate_table import RateTable
from keystead.server.logs import logger
from keystead.server.opening import open_checked
from keystead.server.service import Service
from keystead.server.settings.settings import Settings

SWITCH_INTERVAL_S = 0.0001
"""How long the thread that writes to SQLite waits for the interpreter lock before it asks for it. It needs the
lock several times for each statement. A wait begins again whenever the event loop releases the lock and takes it
back, as it does for each read of a socket. With 1 ms, the loop always did so in time while requests of 0.8 ms came
one after another, and a commit took a third of a second."""

GARBAGE_THRESHOLDS = (20_000, 20, 20)
"""A request makes hundreds of objects and almost no cycles. A search for cycles as often as by default in Python
takes a thirtieth of the time of a submission."""


def serve_here(
    settings: Settings,
    sockets: Sequence[socket.socket],
    *,
    connector: socket.socket | None = None,
    rates: RateTable | None = None,
) -> None:
    """Serve in this process until SIGTERM or SIGINT. `connector`: see `Service`. `rates`: see `Application`.

    Raises NotReady, SettingsError.
    """

    async def application(service: Service) -> AnswerRequest:
        return Application(service, rates=rates).answer

    serve_service(Service(settings, connector=connector), sockets, application)


def serve_service(
    service: Service, sockets: Sequence[socket.socket], application: Callable[[Service], Awaitable[AnswerRequest]]
) -> None:
    """Serve this service in this process until SIGTERM or SIGINT.

    `application` is called with the open service, before the first request is answered. Raises NotReady,
    SettingsError.
    """
    _tune_interpreter()
    settings = service.settings
    limits = connection_limits(settings)

    async def serve_until_stopped() -> None:
        asyncio.get_running_loop().set_exception_handler(log_unhandled)
        await service.open()
        try:
            answer = await application(service)
            connections = Connections(limits, service.clock)
            stop = _stop_on_signals()
            await serve(answer, connections, sockets, stop, settings.shutdown_timeout_s, service.certificate)
        finally:
            await service.close()

    uvloop.run(serve_until_stopped())


async def serve(
    answer: AnswerRequest,
    connections: Connections,
    sockets: Sequence[socket.socket],
    stop: asyncio.Event,
    shutdown_timeout_s: float,
    certificate: TlsCertificate | None = None,
) -> None:
    """Answer callers on these sockets until `stop` is set. Requests that are then under way have
    `shutdown_timeout_s`. With a certificate the server speaks TLS, and nothing else."""
    loop = asyncio.get_running_loop()
    tls: dict[str, Any] = {}
    if certificate is not None:
        loop.add_signal_handler(signal.SIGHUP, certificate.load_again)
        tls["ssl"] = certificate.context
        tls["ssl_handshake_timeout"], tls["ssl_shutdown_timeout"] = HANDSHAKE_S, SHUTDOWN_S
    listening = [
        await loop.create_server(lambda: HttpConnection(connections, answer), sock=listener, backlog=BACKLOG, **tls)
        for listener in sockets
    ]
    for listener in sockets:
        host, port = listener.getsockname()[:2]
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        logger.info("listening on %s%s", address, "" if certificate is None else ", with TLS")
    await stop.wait()
    logger.info("stopping: requests under way are answered")
    for server in listening:
        server.close()
    await connections.stop(shutdown_timeout_s)


def check(settings: Settings, connector: socket.socket) -> None:
    """Check the installation before worker processes are started. Raises NotReady, SettingsError."""
    connection_limits(settings)
    certificate_of(settings)

    async def open_and_close() -> None:
        await (await open_checked(settings, connector)).close()

    uvloop.run(open_and_close())


def _stop_on_signals() -> asyncio.Event:
    """An event that SIGTERM and SIGINT (Ctrl-C) set. A second SIGINT ends the process at once."""
    loop, stop = asyncio.get_running_loop(), asyncio.Event()

    def stop_or_end() -> None:
        if stop.is_set():
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            signal.raise_signal(signal.SIGINT)
        stop.set()

    loop.add_signal_handler(signal.SIGTERM, stop.set)
    loop.add_signal_handler(signal.SIGINT, stop_or_end)
    return stop


def _tune_interpreter() -> None:
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    gc.collect()
    gc.freeze()  # imported modules are never garbage
    gc.set_threshold(*GARBAGE_THRESHOLDS)
