"""Connecting to one of several PostgreSQL servers: the primary, wherever it is now.

A URL may name several hosts, as libpq has it: `postgresql://user@first,second:5433/name`. Each host has its part of
the time limit, so that a host that accepts no connection, or accepts it and never answers, does not use up the time
of the next. Not here: what a connection is used for (`postgres_connections`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

import asyncpg

_DEFAULT_PORT = 5432

_NEXT_HOST = (OSError, asyncpg.TargetServerAttributeNotMatched, asyncpg.CannotConnectNowError)
"""With these errors of one host, the next is tried. A TimeoutError is an OSError. A wrong password ends it."""


class PostgresHosts:
    """The hosts of a URL. The one that answered last is tried first the next time."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._hosts = hosts_of(url)

    async def connect(self, timeout_s: float, settings: Mapping[str, str]) -> Any:
        """`timeout_s` bounds the time to connect and, unless a statement has its own limit, each statement.

        Of several hosts, only a server that accepts writes will do, unless the URL says otherwise
        (`target_session_attrs`). Raises what asyncpg raises for the last host.
        """
        if len(self._hosts) < 2:
            return await asyncpg.connect(
                self._url, timeout=timeout_s, command_timeout=timeout_s, server_settings=dict(settings)
            )
        failed: Exception | None = None
        for place in tuple(self._hosts):
            try:
                connection = await self._connect_to(place, timeout_s, settings)
            except _NEXT_HOST as error:
                failed = error
            else:
                self._hosts.remove(place)
                self._hosts.insert(0, place)
                return connection
        assert failed is not None
        raise failed

    async def _connect_to(self, place: tuple[str, int], timeout_s: float, settings: Mapping[str, str]) -> Any:
        host, port = place
        chosen = "target_session_attrs" in parse_qs(urlsplit(self._url).query)
        return await asyncpg.connect(
            self._url,
            host=host,
            port=port,
            timeout=timeout_s / len(self._hosts),
            command_timeout=timeout_s,
            server_settings=dict(settings),
            target_session_attrs=None if chosen else "read-write",
        )


def hosts_of(url: str) -> list[tuple[str, int]]:
    """The hosts and ports before the path of a URL, in their order; none where they are given in another way."""
    places = urlsplit(url).netloc.rpartition("@")[2].split(",")
    return [_host_and_port(place) for place in places if place]


def _host_and_port(place: str) -> tuple[str, int]:
    host, separator, port = place.rpartition(":")
    if not separator or port.endswith("]"):  # no port: an IPv6 address has colons of its own, in brackets
        return place.strip("[]"), _DEFAULT_PORT
    return host.strip("[]"), int(port)
