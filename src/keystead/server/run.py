"""Running the application under uvicorn: in this process, or in several that share its sockets.

Here: uvicorn's configuration and the sockets. Not here: what is served (`application`), the commands (`cli`).
"""

from __future__ import annotations

import errno
import gc
import os
import socket
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import uvicorn
import uvloop
from uvicorn.supervisors import Multiprocess

from keystead.server import logs
from keystead.server.application import Application
from keystead.server.protocol import LimitedProtocol
from keystead.server.service import Service, open_checked
from keystead.server.settings import SECRET_NAMES, SIGNER_SOCKET, Settings, from_environment
from keystead.signer import confinement

BACKLOG = 2048

SWITCH_INTERVAL_S = 0.001
"""The event loop gives up the interpreter lock at each read of the database, and would by default wait 5 ms for the
thread that writes to give it back."""

GARBAGE_THRESHOLDS = (20_000, 20, 20)
"""A request makes hundreds of objects and hardly a cycle: looking for cycles as often as Python does by default
costs a submission a thirtieth of its time."""


class AddressInUse(Exception):
    """The port is taken; the message is one line for the operator."""


def bind(hosts: Sequence[str], port: int) -> list[socket.socket]:
    """Listening sockets on one port of each host; port 0: a free one. Raises AddressInUse.

    A host that this machine has no address family for is left out, unless none is left.
    """
    sockets: list[socket.socket] = []
    problem: OSError | None = None
    for host in hosts:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            listener = socket.socket(family, socket.SOCK_STREAM)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            listener.bind((host, port))
        except OSError as refused:
            problem = problem or refused
            continue
        port = listener.getsockname()[1]
        listener.listen(BACKLOG)
        listener.set_inheritable(True)
        sockets.append(listener)
    if not sockets or (problem and problem.errno == errno.EADDRINUSE):
        raise AddressInUse(f"cannot listen on port {port}: {problem}")
    return sockets


def serve_here(
    settings: Settings,
    sockets: list[socket.socket],
    *,
    signer_socket: Path | None = None,
    when_open: Callable[[Service], Awaitable[None]] | None = None,
) -> None:
    """Serve in this process until told to stop. `signer_socket`: as Service takes it.

    `when_open` is called before the first request is answered. Raises NotReady.
    """
    _tune_interpreter()
    service = Service(settings, signer_socket=signer_socket)
    configuration = uvicorn_configuration(Application(service), settings)
    configuration.lifespan = "off"  # what fails before is told to the operator, not to a log

    async def served() -> None:
        await service.open()
        try:
            if when_open is not None:
                await when_open(service)
            await uvicorn.Server(configuration).serve(sockets)
        finally:
            await service.close()

    uvloop.run(served())


def check(settings: Settings, signer_socket: Path) -> None:
    """What a worker process would find, before any is started. Raises NotReady."""

    async def opened() -> None:
        await (await open_checked(settings, signer_socket)).close()

    uvloop.run(opened())


def serve_in_workers(settings: Settings, sockets: list[socket.socket], signer_socket: Path) -> None:
    """Serve in `settings.workers` processes, which read their settings from the environment, all but secrets."""
    for name in SECRET_NAMES:
        os.environ.pop(name, None)
    os.environ[SIGNER_SOCKET] = str(signer_socket)
    configuration = uvicorn_configuration("keystead.server.run:application_of_environment", settings)
    configuration.factory = True
    Multiprocess(configuration, sockets=sockets).run()


def application_of_environment() -> Application:
    """What each worker process runs."""
    confinement.keep_memory_private()
    confinement.die_with_parent()
    _tune_interpreter()
    settings = from_environment(os.environ)
    logs.configure(settings.log_level)
    return Application(Service(settings, signer_socket=Path(os.environ[SIGNER_SOCKET])))


def _tune_interpreter() -> None:
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    gc.collect()
    gc.freeze()  # what is imported by now stays
    gc.set_threshold(*GARBAGE_THRESHOLDS)


def uvicorn_configuration(application: Application | str, settings: Settings) -> uvicorn.Config:
    return uvicorn.Config(
        application,
        interface="asgi3",
        http=LimitedProtocol,
        ws="none",
        lifespan="on",
        workers=settings.workers,
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=settings.idle_timeout_s,
        timeout_graceful_shutdown=settings.shutdown_timeout_s,
        backlog=BACKLOG,
    )
