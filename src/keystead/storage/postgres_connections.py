"""Connections to PostgreSQL: made when needed, kept while they work, and what their errors mean.

Here: settings of every connection, lending, time limits. Not here: what is done with them (`postgres`,
`postgres_transactions`).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import asyncpg

from keystead.api.errors import ServiceError
from keystead.storage.errors import NotMigrated, already_there, unavailable, unwritten

_SERVER_SETTINGS = {
    "application_name": "keystead",
    # A process that stops in the middle of a commit must not keep its organizations locked.
    "idle_in_transaction_session_timeout": "10000",
    # Every statement is short: compiling one would take longer than running it.
    "jit": "off",
}

_STATEMENT_AT_FAULT = (asyncpg.IntegrityConstraintViolationError, asyncpg.DataError, asyncpg.UndefinedTableError)
"""After these errors of a statement the connection is as good as before."""

_DATABASE_AT_FAULT = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError)


class Connections:
    """At most `size` connections at a time. `timeout_s` bounds connecting, each statement, and the wait for one.

    `lost` is called when a connection had to be given up.
    """

    def __init__(self, url: str, *, size: int, timeout_s: float, lost: Callable[[], None]) -> None:
        self._url = url
        self._timeout_s = timeout_s
        self._lost = lost
        self._free = asyncio.Semaphore(size)
        self._idle: list[Any] = []

    @asynccontextmanager
    async def lend(self) -> AsyncIterator[Any]:
        """A connection for the block. Errors inside it come out as ServiceErrors, Unavailable where the database
        is the cause; the connection is then not used again."""
        try:
            async with asyncio.timeout(self._timeout_s):
                await self._free.acquire()
        except TimeoutError as error:
            raise unavailable("is too busy") from error
        try:
            connection = self._take() or await self._connected()
            try:
                yield connection
            except _STATEMENT_AT_FAULT as error:
                self._idle.append(connection)
                raise translated(error) from error
            except _DATABASE_AT_FAULT as error:
                connection.terminate()
                self._lost()
                raise translated(error) from error
            except BaseException:
                connection.terminate()  # cancelled in the middle of a statement: its state is unknown
                raise
            else:
                self._idle.append(connection)
        finally:
            self._free.release()

    async def _connected(self) -> Any:
        """A new connection. Raises Unavailable, whatever the server refuses."""
        # The server gives up too: a statement that its caller no longer waits for must not get a lock later.
        limit = {"statement_timeout": str(round(self._timeout_s * 1000))}
        try:
            return await connect(self._url, self._timeout_s, limit)
        except _DATABASE_AT_FAULT as error:
            self._lost()
            raise unavailable("does not accept a connection") from error

    def _take(self) -> Any:
        while self._idle:
            connection = self._idle.pop()
            if not connection.is_closed():
                return connection
        return None

    async def close(self) -> None:
        """Close the idle connections. None may be borrowed after this."""
        while self._idle:
            connection = self._idle.pop()
            try:
                await connection.close(timeout=self._timeout_s)
            except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError):
                connection.terminate()


async def connect(url: str, timeout_s: float, server_settings: Mapping[str, str]) -> Any:
    """`timeout_s` bounds connecting and, unless another is given with it, each statement."""
    settings = {**_SERVER_SETTINGS, **server_settings}
    return await asyncpg.connect(url, timeout=timeout_s, command_timeout=timeout_s, server_settings=settings)


def translated(error: Exception) -> ServiceError:
    """What a caller may be told: never the database's own message, which can quote values and names."""
    if isinstance(error, asyncpg.UndefinedTableError):
        return NotMigrated()
    if isinstance(error, asyncpg.IntegrityConstraintViolationError):
        return already_there(error)
    if isinstance(error, asyncpg.DataError):
        return unwritten(error)
    if isinstance(error, asyncpg.PostgresError):
        return unavailable(f"did not do this ({type(error).__name__})")
    return unavailable("does not answer")
