"""The pool of connections to PostgreSQL, and the translation of their errors.

Here: the settings of every connection, lending, time limits. Not here: statements (`postgres`,
`postgres_transactions`).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import asyncpg

from keystead.api.errors import ServiceError
from keystead.storage.errors import NotMigrated, already_there, unavailable, unwritten
from keystead.storage.postgres_causes import cause_of
from keystead.storage.postgres_hosts import PostgresHosts

_SERVER_SETTINGS = {
    "application_name": "keystead",
    # A process that stops in the middle of a commit must not keep its organizations locked.
    "idle_in_transaction_session_timeout": "10000",
    # Every statement is short, so to compile it would take longer than to run it.
    "jit": "off",
}

_STATEMENT_AT_FAULT = (asyncpg.IntegrityConstraintViolationError, asyncpg.DataError, asyncpg.UndefinedTableError)
"""After these errors of a statement the connection can be used again."""

_DATABASE_AT_FAULT = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError)


class Connections:
    """At most `size` connections. `timeout_s` bounds the time to connect, each statement, and the wait for a
    connection.

    `lost` is called after a connection was dropped because of an error.
    """

    def __init__(self, url: str, *, size: int, timeout_s: float, lost: Callable[[], None]) -> None:
        self._hosts = PostgresHosts(url)
        self._timeout_s = timeout_s
        self._lost = lost
        self.size = size
        self.used = 0
        self._free = asyncio.Semaphore(size)
        self._idle: list[Any] = []

    @asynccontextmanager
    async def lend(self) -> AsyncIterator[Any]:
        """A connection for the block. Errors inside it are translated to ServiceErrors. If the database is the
        cause, the error is Unavailable and the connection is not used again."""
        try:
            async with asyncio.timeout(self._timeout_s):
                await self._free.acquire()
        except TimeoutError as error:
            raise unavailable("is too busy") from error
        self.used += 1
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
            self.used -= 1
            self._free.release()

    async def _connected(self) -> Any:
        """A new connection. Raises Unavailable for every failure."""
        # The same limit for the server: a statement whose caller has given up must not get a lock later.
        limit = {"statement_timeout": str(round(self._timeout_s * 1000))}
        try:
            return await self._hosts.connect(self._timeout_s, {**_SERVER_SETTINGS, **limit})
        except _DATABASE_AT_FAULT as error:
            self._lost()
            raise unavailable(cause_of(error)) from error

    def _take(self) -> Any:
        while self._idle:
            connection = self._idle.pop()
            if not connection.is_closed():
                return connection
        return None

    def discard_idle(self) -> None:
        """Give up the idle connections: they lead to a server that no longer answers."""
        while self._idle:
            self._idle.pop().terminate()

    async def close(self) -> None:
        """Close the idle connections. The caller must not lend any afterwards."""
        while self._idle:
            connection = self._idle.pop()
            try:
                await connection.close(timeout=self._timeout_s)
            except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError):
                connection.terminate()


async def connect(url: str, timeout_s: float) -> Any:
    """`timeout_s` bounds the time to connect and, unless a statement has its own limit, each statement.

    Raises Unavailable.
    """
    try:
        return await PostgresHosts(url).connect(timeout_s, _SERVER_SETTINGS)
    except _DATABASE_AT_FAULT as error:
        raise unavailable(cause_of(error)) from error


def translated(error: Exception) -> ServiceError:
    """The error for the caller. It never has the database's own message, which can quote values and names."""
    if isinstance(error, asyncpg.UndefinedTableError):
        return NotMigrated()
    if isinstance(error, asyncpg.IntegrityConstraintViolationError):
        return already_there(error)
    if isinstance(error, asyncpg.DataError):
        return unwritten(error)
    if isinstance(error, asyncpg.PostgresError):
        return unavailable(f"did not do this ({type(error).__name__})")
    return unavailable("does not answer")
