"""PostgreSQL: any number of processes on any number of machines.

Here: reads, the query for the versions of several organizations, the lock of an organization. Not here: the
statements of a transaction (`transactions`).

Why a read is fresh: every statement is sent after the read began, to the server that commits. At READ COMMITTED it
sees everything that was committed before it arrived.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

import asyncpg

from keystead.api.errors import ServiceError
from keystead.organizations.organization import Version
from keystead.organizations.record_kinds import RecordKinds
from keystead.pipeline.store import CommitResult
from keystead.storage.database import Selected
from keystead.storage.errors import NotMigrated, failed_write_error, unavailable
from keystead.storage.group_commit import TRANSACTIONS_AT_ONCE
from keystead.storage.postgres.connections import ROW_AT_FAULT, ConnectionPool
from keystead.storage.postgres.distribution import CITUS, DISTRIBUTION
from keystead.storage.postgres.reconnection import Reconnection
from keystead.storage.postgres.transactions import end_transaction, lock_and_read, run_transaction, write
from keystead.storage.rows import Outcome, Rows, merge
from keystead.storage.statements import Dialect, Reads, Statement, postgres_statements
from keystead.storage.tables import merged_key_lengths, tables_of

_READ_CONNECTIONS = 6
_WRITE_CONNECTIONS = 1
_LOCK_CONNECTIONS = 4


class LockedRow:
    """Implements `DatabaseLock`: a transaction that has locked the organization's row.

    While the row is locked, another process that changes the organization loses its race and then asks for the
    lock, too. The server queues the requests for one row. If a process dies, its connection and therefore its lock
    end. If a process hangs, the server closes its connection after a time limit."""

    def __init__(self, database: PostgresDatabase, connection: Any) -> None:
        self.changes: Selected = []
        self._database = database
        self._connection = connection
        self._is_open = True

    async def write(self, commits: Sequence[Rows]) -> CommitResult | None:
        """Write the rows in the transaction that holds the lock, and end it. None if it has ended, or if a row was
        refused."""
        if not self._is_open:
            return None
        merged = merge(commits, self._database.key_lengths)
        result: CommitResult | None = CommitResult.CONFLICT
        try:
            if merged is not None:
                result = await write(self._connection, self._database.statements, merged)
        except ROW_AT_FAULT:
            result = None
        await self.end(is_committed=result is CommitResult.COMMITTED)
        return result

    async def end(self, *, is_committed: bool = False) -> None:
        """End the transaction, unless it has ended."""
        if self._is_open:
            self._is_open = False
            await end_transaction(self._connection, is_committed=is_committed, timeout_s=self._database.timeout_s)


class PostgresDatabase:
    """Implements `Database`. Uses at most eleven connections: six to read, one to commit, four to lock
    organizations. On a distributed database, eight commit."""

    dialect: Dialect = "postgresql"

    def __init__(self, url: str, kinds: RecordKinds, *, timeout_s: float) -> None:
        self._tables = tables_of(kinds.attached_tables)
        self.key_lengths = merged_key_lengths(self._tables)
        self.statements = postgres_statements(self._tables)
        self.timeout_s = timeout_s
        self._when_lost: Callable[[], None] = lambda: None
        self._knows_distribution = False
        self._is_closed = False
        self._reconnection = Reconnection(url)
        self._readers = self._pool(_READ_CONNECTIONS)
        self._writers = self._pool(_WRITE_CONNECTIONS)
        self._lockers = self._pool(_LOCK_CONNECTIONS)
        self._version_requests: list[tuple[str, asyncio.Future[Version | None]]] = []
        self._version_task: asyncio.Task[None] | None = None

    def when_lost(self, call: Callable[[], None]) -> None:
        self._when_lost = call

    @property
    def reads(self) -> Reads:
        return self.statements.reads

    def _pool(self, size: int) -> ConnectionPool:
        return ConnectionPool(self._reconnection, size=size, timeout_s=self.timeout_s, lost=self._lost)

    def connections(self) -> Mapping[str, tuple[int, int]]:
        pools = {"read": self._readers, "write": self._writers, "lock": self._lockers}
        return {name: (pool.used, pool.size) for name, pool in pools.items()}

    def _lost(self) -> None:
        """Discard the caches and the idle connections after a connection was lost. If its server hangs, a caller
        would wait for each idle connection too."""
        self._when_lost()
        for connections in (self._readers, self._writers, self._lockers):
            connections.discard_idle()

    async def is_distributed(self) -> bool:
        """It does not change while servers run (`schema.distribute_postgres`)."""
        if not self._knows_distribution:
            selected = await self.rows(self.reads.instance_value, [DISTRIBUTION])
            self._knows_distribution = True
            if selected and selected[0][0] == CITUS:
                self.statements = postgres_statements(self._tables, is_distributed=True)
                self._writers.discard_idle()
                self._writers = self._pool(TRANSACTIONS_AT_ONCE)
        return self.statements.is_distributed

    async def version(self, organization_id: str) -> Version | None:
        """Calls during a query for versions wait. The next query answers all of them."""
        answer: asyncio.Future[Version | None] = asyncio.get_running_loop().create_future()
        self._version_requests.append((organization_id, answer))
        if self._version_task is None:
            self._version_task = asyncio.create_task(self._read_versions())
        return await answer

    async def _read_versions(self) -> None:
        try:
            while self._version_requests:
                requests, self._version_requests = self._version_requests, []
                await self._answer_requests(requests)
        finally:
            self._version_task = None

    async def _answer_requests(self, requests: Sequence[tuple[str, asyncio.Future[Version | None]]]) -> None:
        try:
            ids = list({organization_id for organization_id, _ in requests})
            selected = await self.rows(self.reads.versions, [ids])
        except Exception as error:  # noqa: BLE001 - after any error, no caller may wait for ever
            for _, answer in requests:
                if not answer.done():
                    answer.set_exception(error)
            return
        versions = {
            organization_id: Version(number, changed_by) for organization_id, number, changed_by in selected
        }
        for organization_id, answer in requests:
            if not answer.done():
                answer.set_result(versions.get(organization_id))

    async def rows(self, statement: Statement, arguments: Sequence[Any]) -> Selected:
        if self._is_closed:
            raise unavailable("is being closed")
        async with self._readers.lend() as connection:
            try:
                selected: Selected = await connection.fetch(statement.sql, *arguments)
            except (asyncpg.CharacterNotInRepertoireError, asyncpg.UntranslatableCharacterError):
                return []  # text in PostgreSQL cannot hold U+0000, so no stored row has this id
            return selected

    async def whole(self, organization_id: str) -> Selected:
        return await self.rows(self.reads.whole, self.reads.whole.arguments({"id": organization_id}))

    def list_argument(self, values: Sequence[str]) -> list[str]:
        return list(values)

    async def write(self, rows: Rows) -> Outcome:
        try:
            async with self._writers.lend() as connection:
                return await run_transaction(
                    connection,
                    lambda: write(connection, self.statements, rows),
                    begin=self._writers.begin,
                    timeout_s=self._writers.timeout_s,
                )
        except ServiceError as error:
            return error
        except Exception as error:  # noqa: BLE001 - it is reported to the callers that wait for the commit
            return failed_write_error(error)

    @contextlib.asynccontextmanager
    async def locked(self, organization_id: str, known_version: int | None) -> AsyncIterator[LockedRow]:
        async with self._lockers.lend() as connection:
            await connection.execute(self._lockers.begin)
            lock = LockedRow(self, connection)
            try:
                lock.changes = await lock_and_read(connection, self.statements, organization_id, known_version)
                yield lock
            finally:
                await lock.end()

    async def check(self) -> None:
        with contextlib.suppress(NotMigrated):
            await self.rows(self.reads.schema_version, [])

    async def close(self) -> None:
        self._is_closed = True
        for connections in (self._readers, self._writers, self._lockers):
            await connections.close()
