"""Connecting to one of several PostgreSQL servers: the primary, wherever it is now.

A URL may name several hosts, as libpq has it: `postgresql://user@first,second:5433/name`. Each host has its part of
the time limit, so that a host that accepts no connection, or accepts it and never answers, does not use up the time
of the next. Not here: what a connection is used for (`connections`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

import asyncpg

STARTUP_SETTINGS: Final = {"application_name": "keystead"}
"""What is sent when a connection begins. PgBouncer refuses a connection that sends other settings."""

_BEGIN: Final = "BEGIN ISOLATION LEVEL READ COMMITTED"


async def set_for_session(connection: Any, settings: Mapping[str, str]) -> bool:
    """Apply settings to the whole session. Returns False, with nothing set, if the connection is pooled.

    A pooler tells its client another process id than that of the server's process. The names and values must be
    constants. One message without parameters: it prepares nothing.
    """
    values = ", ".join(f"('{name}', '{value}')" for name, value in settings.items())
    done = await connection.execute(
        f"SELECT set_config(name, value, false) FROM (VALUES {values}) AS setting (name, value) "  # noqa: S608
        f"WHERE pg_backend_pid() = {connection.get_server_pid()}"
    )
    return bool(done != "SELECT 0")


def begin_statement(limits: Mapping[str, str], *, is_pooled: bool) -> str:
    """The statement that begins a transaction; on a pooled connection, with these settings."""
    if not is_pooled:
        return _BEGIN
    return "; ".join([_BEGIN, *(f"SET LOCAL {name} = '{value}'" for name, value in limits.items())])


_DEFAULT_PORT = 5432

_NEXT_HOST = (OSError, asyncpg.TargetServerAttributeNotMatched, asyncpg.CannotConnectNowError)
"""After these errors of one host, the next host is tried. A TimeoutError is an OSError. After a wrong password no
other host is tried."""


class PostgresHosts:
    """The hosts of a URL. The one that answered last is tried first the next time."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._hosts = hosts_of(url)
        self._is_pooled: bool | None = None

    @property
    def is_pooled(self) -> bool:
        """Whether there is a pooler between here and the server. Known once there was a connection."""
        return self._is_pooled is True

    async def connect(self, timeout_s: float, settings: Mapping[str, str]) -> Any:
        """A connection. `settings` hold for its session, unless a pooler shares the sessions of the server.

        `timeout_s` bounds the time to connect and, unless a statement has its own limit, each statement. If there
        are several hosts, the server must accept writes, unless the URL sets `target_session_attrs`. Raises the
        error of asyncpg for the last host.
        """
        while True:
            connection = await self._connect(timeout_s)
            try:
                is_pooled = not await set_for_session(connection, settings)
            except BaseException:
                connection.terminate()
                raise
            if self._is_pooled is is_pooled:
                return connection
            # Whether statements may have names is decided when a connection begins.
            self._is_pooled = is_pooled
            await connection.close(timeout=timeout_s)

    async def _connect(self, timeout_s: float) -> Any:
        if len(self._hosts) < 2:
            return await asyncpg.connect(self._url, **self._options(timeout_s))
        failed: Exception | None = None
        for place in tuple(self._hosts):
            try:
                connection = await self._connect_to(place, timeout_s)
            except _NEXT_HOST as error:
                failed = error
            else:
                self._hosts.remove(place)
                self._hosts.insert(0, place)
                return connection
        assert failed is not None
        raise failed

    async def _connect_to(self, place: tuple[str, int], timeout_s: float) -> Any:
        host, port = place
        chosen = "target_session_attrs" in parse_qs(urlsplit(self._url).query)
        return await asyncpg.connect(
            self._url,
            host=host,
            port=port,
            target_session_attrs=None if chosen else "read-write",
            **self._options(timeout_s),
        )

    def _options(self, timeout_s: float) -> dict[str, Any]:
        options: dict[str, Any] = {
            "timeout": timeout_s / max(len(self._hosts), 1),
            "command_timeout": timeout_s,
            "server_settings": STARTUP_SETTINGS,
        }
        # Without a cache, statements have no names. Until it is known whether there is a pooler, none may have one.
        return options if self._is_pooled is False else {**options, "statement_cache_size": 0}


def hosts_of(url: str) -> list[tuple[str, int]]:
    """The hosts and ports before the path of a URL, in their order; empty if the URL names them in another way."""
    places = urlsplit(url).netloc.rpartition("@")[2].split(",")
    return [_host_and_port(place) for place in places if place]


def _host_and_port(place: str) -> tuple[str, int]:
    host, separator, port = place.rpartition(":")
    if not separator or port.endswith("]"):  # no port: an IPv6 address has colons of its own, in brackets
        return place.strip("[]"), _DEFAULT_PORT
    return host.strip("[]"), int(port)
