"""The sockets that a server listens on, and how many connections it can accept.

Not here: serving (`run`).
"""

from __future__ import annotations

import errno
import ipaddress
import resource
import socket
from collections.abc import Sequence

from keystead.primitives.ip_addresses import IpNetwork
from keystead.server.http.caller_address import CallerAddresses
from keystead.server.http.connections import ConnectionLimits
from keystead.server.logs import logger
from keystead.server.settings.settings import PREFIX, Settings, SettingsError

BACKLOG = 2048

OTHER_FILES = 128
"""File descriptors that a process needs for its database, its signer and its log, beside connections."""


class AddressInUse(Exception):
    """The port is in use. The message is one line for the operator."""


def bind(hosts: Sequence[str], port: int) -> list[socket.socket]:
    """Listening sockets on one port of each host; port 0 chooses a free one. Raises AddressInUse.

    A host is skipped if this machine lacks its address family. At least one host must remain.
    """
    sockets: list[socket.socket] = []
    problem: OSError | None = None
    for host in hosts:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            listener = socket.socket(family, socket.SOCK_STREAM)
        except OSError as refused:
            problem = problem or refused
            continue
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            listener.bind((host, port))
        except OSError as refused:
            listener.close()
            problem = problem or refused
            continue
        port = listener.getsockname()[1]
        listener.listen(BACKLOG)
        listener.setblocking(False)
        sockets.append(listener)
    if not sockets or (problem and problem.errno == errno.EADDRINUSE):
        for listener in sockets:
            listener.close()
        raise AddressInUse(f"cannot listen on port {port}: {_problem_text(problem)}")
    return sockets


def _problem_text(problem: OSError | None) -> str:
    if problem is None:
        return "no host is given"
    if problem.errno == errno.EADDRINUSE:
        return "another program listens on it"
    return problem.strerror or str(problem)


def connection_limits(settings: Settings) -> ConnectionLimits:
    """The limits of these settings, reduced to the files that this process may open. Raises SettingsError."""
    possible = _files_allowed() - OTHER_FILES
    if settings.connections_max > possible:
        logger.warning(
            "this process may open only %d files, so it accepts at most %d connections",
            possible + OTHER_FILES,
            possible,
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
        addresses=CallerAddresses(
            trusted=_networks(settings.trusted_proxies, "TRUSTED_PROXIES"),
            header=settings.forwarded_header,
            shared=_networks(settings.proxy_networks, "PROXY_NETWORKS"),
        ),
    )


def _files_allowed() -> int:
    """Raise the limit of open files as far as allowed, and return it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 65_536 if hard == resource.RLIM_INFINITY else hard
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = wanted
    return 65_536 if soft == resource.RLIM_INFINITY else soft


def _networks(text: str, name: str) -> tuple[IpNetwork, ...]:
    entries = [entry.strip() for entry in text.split(",") if entry.strip()]
    try:
        return tuple(ipaddress.ip_network(entry) for entry in entries)
    except ValueError as refused:
        expected = "expected networks such as 10.0.0.0/8, separated by commas"
        raise SettingsError(f"setting {PREFIX}{name}: {refused}; {expected}") from None
