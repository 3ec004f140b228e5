"""The pool of connections to PostgreSQL, and the translation of their errors.

Here: the settings of every connection, lending, time limits. Not here: statements (`postgres`,
`transactions`).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import asyncpg

from keystead.api.errors import ServiceError
from keystead.storage.errors import NotMigrated, duplicate_key_error, failed_write_error, unavailable
from keystead.storage.postgres.hosts import PostgresHosts, begin_statement
from keystead.storage.postgres.reconnection import DATABASE_AT_FAULT, Reconnection, cause_of

# Every statement is short, so to compile it would take longer than to run it.
_SESSION_SETTINGS = {"jit": "off"}

# A process that stops in the middle of a commit must not keep its organizations locked.
_LIMITS = {"idle_in_transaction_session_timeout": "10000"}

_STATEMENT_LIMIT_SHARE = 0.9
"""The server's time limit for a statement, as a share of the client's. The server must give up first: a statement
without a caller must not get a lock later, and a connection stays usable if the server ends its statement."""

ROW_AT_FAULT = (asyncpg.IntegrityConstraintViolationError, asyncpg.DataError)
"""The errors of a row that contradicts the tables."""

STATEMENT_AT_FAULT = (*ROW_AT_FAULT, asyncpg.UndefinedTableError, asyncpg.QueryCanceledError)
"""After these errors of a statement the connection can be used again."""


class ConnectionPool:
    """At most `size` connections. `timeout_s` bounds the time to connect, each statement, and the wait for a
    connection.

    Pools of one database share `reconnection`. `lost` is called after a connection was dropped because of an error.
    """

    def __init__(
        self, reconnection: Reconnection, *, size: int, timeout_s: float, lost: Callable[[], None]
    ) -> None:
        self._reconnection = reconnection
        self.timeout_s = timeout_s
        self._lost = lost
        self.size = size
        self.used = 0
        self._free = asyncio.Semaphore(size)
        self._idle: list[Any] = []
        limit_ms = round(timeout_s * _STATEMENT_LIMIT_SHARE * 1000)
        self._limits = {**_LIMITS, "statement_timeout": str(limit_ms)}

    @property
    def begin(self) -> str:
        """The statement that begins a transaction on a connection of this pool."""
        return begin_statement(self._limits, is_pooled=self._reconnection.is_pooled)

    @asynccontextmanager
    async def lend(self) -> AsyncIterator[Any]:
        """A connection for the block. Errors inside it are translated to ServiceErrors. If the database is the
        cause, the error is Unavailable and the connection is not used again."""
        try:
            async with asyncio.timeout(self.timeout_s):
                await self._free.acquire()
        except TimeoutError as error:
            raise unavailable("is too busy") from error
        self.used += 1
        try:
            connection = self._take() or await self._connect()
            try:
                yield connection
            except STATEMENT_AT_FAULT as error:
                self._idle.append(connection)
                raise error_for_caller(error) from error
            except DATABASE_AT_FAULT as error:
                connection.terminate()
                self._lost()
                raise error_for_caller(error) from error
            except BaseException:
                connection.terminate()  # cancelled in the middle of a statement: its state is unknown
                raise
            else:
                self._idle.append(connection)
        finally:
            self.used -= 1
            self._free.release()

    async def _connect(self) -> Any:
        """A new connection. Raises Unavailable for every failure."""
        try:
            return await self._reconnection.connect(self.timeout_s, {**_SESSION_SETTINGS, **self._limits})
        except DATABASE_AT_FAULT as error:
            self._lost()
            raise unavailable(cause_of(error)) from error

    def _take(self) -> Any:
        while self._idle:
            connection = self._idle.pop()
            if not connection.is_closed():
                return connection
            self._lost()  # its server closed it, and the next one may be another
        return None

    def discard_idle(self) -> None:
        """Close the idle connections, because their server no longer answers."""
        while self._idle:
            self._idle.pop().terminate()

    async def close(self) -> None:
        """Wait until no connection is lent, and close them. The caller must not lend any afterwards."""
        for _ in range(self.size):
            await self._free.acquire()
        while self._idle:
            connection = self._idle.pop()
            try:
                await connection.close(timeout=self.timeout_s)
            except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError):
                connection.terminate()


async def connect(url: str, timeout_s: float) -> Any:
    """A connection outside of a pool. `timeout_s` bounds the time to connect and, unless a statement has its own
    limit, each statement. Raises Unavailable.
    """
    try:
        return await PostgresHosts(url).connect(timeout_s, {**_SESSION_SETTINGS, **_LIMITS})
    except DATABASE_AT_FAULT as error:
        raise unavailable(cause_of(error)) from error


def error_for_caller(error: Exception) -> ServiceError:
    """The error for the caller. It never has the database's own message, which can quote values and names."""
    if isinstance(error, asyncpg.UndefinedTableError):
        return NotMigrated()
    if isinstance(error, asyncpg.IntegrityConstraintViolationError):
        return duplicate_key_error(error)
    if isinstance(error, asyncpg.DataError):
        return failed_write_error(error)
    if isinstance(error, asyncpg.PostgresError):
        return unavailable(f"did not do this ({type(error).__name__})")
    return unavailable("does not answer")
