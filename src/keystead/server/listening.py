"""The sockets that a server listens on, and how many connections it can take.

Not here: serving (`run`).
"""

from __future__ import annotations

import errno
import ipaddress
import resource
import socket
from collections.abc import Sequence

from keystead.server.connections import ConnectionLimits, Network
from keystead.server.logs import logger
from keystead.server.settings import Settings, SettingsError

BACKLOG = 2048

OTHER_FILES = 128
"""Files that a process opens for other things than callers: its database, its signer, its log."""


class AddressInUse(Exception):
    """The port is taken; the message is one line for the operator."""


def bind(hosts: Sequence[str], port: int) -> list[socket.socket]:
    """Listening sockets on one port of each host; port 0: a free one. Raises AddressInUse.

    A host that this machine has no address family for is left out, unless all are.
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
        listener.setblocking(False)
        sockets.append(listener)
    if not sockets or (problem and problem.errno == errno.EADDRINUSE):
        raise AddressInUse(f"cannot listen on port {port}: {problem}")
    return sockets


def connection_limits(settings: Settings) -> ConnectionLimits:
    """The limits that these settings name, as far as this process may open files. Raises SettingsError."""
    possible = _files_allowed() - OTHER_FILES
    if settings.connections_max > possible:
        logger.warning(
            "this process may open %d files: at most %d connections are taken", possible + OTHER_FILES, possible
        )
    return ConnectionLimits(
        header_bytes_max=settings.header_bytes_max,
        body_bytes_max=settings.body_bytes_max,
        idle_timeout_s=settings.idle_timeout_s,
        header_timeout_s=settings.header_timeout_s,
        body_timeout_s=settings.body_timeout_s,
        write_timeout_s=settings.write_timeout_s,
        connections_max=max(1, min(settings.connections_max, possible)),
        connections_per_address_max=settings.connections_per_address_max,
        connection_bytes_max=settings.connection_bytes_max,
        proxies=_networks(settings.proxy_networks),
    )


def _files_allowed() -> int:
    """How many files this process may open, once it has raised its own limit as far as it may."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 65_536 if hard == resource.RLIM_INFINITY else hard
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = wanted
    return 65_536 if soft == resource.RLIM_INFINITY else soft


def _networks(text: str) -> tuple[Network, ...]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    try:
        return tuple(ipaddress.ip_network(name) for name in names)
    except ValueError as refused:
        raise SettingsError(f"setting KEYSTEAD_PROXY_NETWORKS: {refused}") from None
