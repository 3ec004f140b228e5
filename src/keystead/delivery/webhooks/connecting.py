"""Connects to the address of a webhook after a check, so that nobody can use this server to reach its own network.

A name is resolved once. Each of its addresses is checked, and the connection goes to an allowed address, not to the
name. So a later answer of a name server cannot change the address. Not here: which addresses are allowed
(`organizations.webhooks.addresses`).
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from ipaddress import ip_address
from typing import Any, Final

import httpcore

from keystead.organizations.webhooks.addresses import may_connect_to
from keystead.primitives.ip_addresses import IpAddress, IpNetwork

Resolve = Callable[[str, int], Awaitable[Sequence[IpAddress]]]

RESOLVING_MAX: Final = 64
"""Threads that resolve names. A name server may be slow, and must not delay other work of this process."""

_ADDRESSES_TRIED_MAX: Final = 4
"""Addresses of one name that are tried, one after another, until one accepts."""


class AddressRefused(httpcore.ConnectError):
    """This server may not connect to any address of the host."""


class SystemResolver:
    """Resolves names with the operating system's resolver, in separate threads."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(RESOLVING_MAX, thread_name_prefix="webhook-names")

    async def __call__(self, host: str, port: int) -> Sequence[IpAddress]:
        """The addresses of a host. Raises OSError if it has none."""
        loop = asyncio.get_running_loop()
        entries = await loop.run_in_executor(self._threads, _resolve, host, port)
        return [ip_address(entry[4][0]) for entry in entries]

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


def _resolve(host: str, port: int) -> list[Any]:
    return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)


class CheckedNetwork(httpcore.AsyncNetworkBackend):
    """Connections to public addresses, and to those in the `allowed` networks."""

    def __init__(self, allowed: tuple[IpNetwork, ...], resolve: Resolve) -> None:
        self._allowed = allowed
        self._resolve = resolve
        self._network = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 (the interface of httpcore)
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect to an allowed address of the host. Raises AddressRefused, and httpcore.ConnectError."""
        try:
            addresses = await self._resolve(host, port)
        except (OSError, UnicodeError, ValueError):
            raise httpcore.ConnectError("its name has no address") from None
        allowed = [address for address in addresses if may_connect_to(address, self._allowed)]
        if not allowed:
            raise AddressRefused("its address is not public, and the settings of this server do not allow it")
        failed: Exception | None = None
        for address in allowed[:_ADDRESSES_TRIED_MAX]:
            try:
                return await self._network.connect_tcp(
                    str(address), port, timeout, local_address=local_address, socket_options=socket_options
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as refused:
                failed = refused
        assert failed is not None
        raise failed

    async def connect_unix_socket(self, *_: Any, **__: Any) -> httpcore.AsyncNetworkStream:
        raise AddressRefused("webhooks are not sent to sockets of this machine")

    async def sleep(self, seconds: float) -> None:
        await self._network.sleep(seconds)


def tls_context(ca_file: str) -> ssl.SSLContext:
    """Verifies certificates with the system's authorities, or with those in a PEM file. Raises OSError, and
    ssl.SSLError for a file without certificates."""
    return ssl.create_default_context(cafile=ca_file or None)
