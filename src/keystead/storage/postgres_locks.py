"""Locks of organizations on PostgreSQL: each is a transaction that locks the organization's row.

Here: taking the lock, and writing when it is released. Not here: the statements (`postgres_transactions`).

While the row is locked, another process that changes the organization loses its race and then asks for the lock,
too. The server queues the requests for one row. If a process dies, its connection and therefore its lock end. If a
process hangs, the server closes its connection after a time limit.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from keystead.api.errors import ServiceError, Unavailable
from keystead.pipeline.store import CommitResult
from keystead.storage.batch import merge
from keystead.storage.errors import failed_write_error
from keystead.storage.group_commit import GroupCommit
from keystead.storage.pending import LockRequest, Settled
from keystead.storage.postgres_connections import ConnectionPool
from keystead.storage.postgres_transactions import run_transaction, write
from keystead.storage.statements import PostgresStatements
from keystead.storage.tables import merged_key_lengths


class PostgresLocks:
    """Each lock uses a connection while it lasts.

    `group_commit` gets the commits under a lock that cannot be written together.
    """

    def __init__(
        self,
        connections: ConnectionPool,
        statements: PostgresStatements,
        settle: Callable[[Settled], None],
        group_commit: GroupCommit,
    ) -> None:
        self._connections = connections
        self.statements = statements
        self._key_lengths = merged_key_lengths(statements.tables)
        self._settle = settle
        self._group_commit = group_commit
        self._tasks: set[asyncio.Task[None]] = set()

    def request(self, organization_id: str, known_version: int | None) -> LockRequest:
        request = LockRequest(organization_id, known_version)
        task = asyncio.create_task(self._serve(request))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return request

    async def close(self) -> None:
        """Wait until every lock is released."""
        await asyncio.gather(*self._tasks)

    async def _serve(self, request: LockRequest) -> None:
        result: CommitResult | Exception
        try:
            async with self._connections.lend() as connection:
                result = await run_transaction(
                    connection,
                    lambda: self._commit_under_lock(connection, request),
                    begin=self._connections.begin,
                    timeout_s=self._connections.timeout_s,
                )
        except ServiceError as error:
            result = error
        except Exception as error:  # noqa: BLE001 - it is reported to the callers that wait for the commits
            result = failed_write_error(error)
        if isinstance(result, Exception):
            request.fail(result)
        commits = request.released.result()
        if len(commits) <= 1 or result is CommitResult.COMMITTED or isinstance(result, Unavailable):
            self._settle([(pending, result) for pending in commits])
        else:
            for pending in commits:
                self._group_commit.add(pending)

    async def _commit_under_lock(self, connection: Any, request: LockRequest) -> CommitResult:
        request.grant(await self._lock_and_read(connection, request.organization_id, request.known_version))
        commits = await request.released
        batch = merge((pending.write_set for pending in commits), self._key_lengths)
        if batch is None or not commits:
            return CommitResult.CONFLICT
        return await write(connection, self.statements, batch)

    async def _lock_and_read(
        self, connection: Any, organization_id: str, known_version: int | None
    ) -> Sequence[Sequence[Any]]:
        """The rows of `changed_since` after the known version, as they are under the lock."""
        sql, values = self.statements, {"id": organization_id, "version": known_version}
        read = sql.lock_and_read
        if sql.is_distributed:  # the function may be missing on some nodes
            await connection.execute(sql.lock_organization.sql, organization_id)
            read = sql.reads.changed_since
        selected: Sequence[Sequence[Any]] = await connection.fetch(read.sql, *read.arguments(values))
        return selected
