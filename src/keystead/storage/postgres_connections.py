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
"""After these the connection is as good as before."""


class Connections:
    """At most `size` connections at a time. `timeout_s` bounds connecting, each statement, and the wait for a turn.

    `lost` is called when a connection had to be given up.
    """

    def __init__(self, url: str, *, size: int, timeout_s: float, lost: Callable[[], None]) -> None:
        self._url = url
        self._timeout_s = timeout_s
        self._lost = lost
        self._turns = asyncio.Semaphore(size)
        self._idle: list[Any] = []

    @asynccontextmanager
    async def lend(self) -> AsyncIterator[Any]:
        """A connection for the block. Errors inside it come out as ServiceErrors, Unavailable where the database
        is the cause; the connection is then not used again."""
        try:
            async with asyncio.timeout(self._timeout_s):
                await self._turns.acquire()
        except TimeoutError as error:
            raise unavailable("is too busy") from error
        connection = None
        try:
            connection = self._take() or await self._connected()
            yield connection
        except _STATEMENT_AT_FAULT as error:
            if connection is not None:  # else the server refused the connection's settings
                self._idle.append(connection)
            raise translated(error) from error
        except (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError) as error:
            if connection is not None:
                connection.terminate()
            self._lost()
            raise translated(error) from error
        except BaseException:
            # Cancelled in the middle of something: what state the connection is in, nobody knows.
            if connection is not None:
                connection.terminate()
            raise
        else:
            self._idle.append(connection)
        finally:
            self._turns.release()

    async def _connected(self) -> Any:
        # The server gives up too: a statement that nobody waits for any more must not get a lock later.
        limit = {"statement_timeout": str(round(self._timeout_s * 1000))}
        return await connect(self._url, self._timeout_s, limit)

    def _take(self) -> Any:
        while self._idle:
            connection = self._idle.pop()
            if not connection.is_closed():
                return connection
        return None

    async def close(self) -> None:
        """Close the idle connections; nobody may borrow one after this."""
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
