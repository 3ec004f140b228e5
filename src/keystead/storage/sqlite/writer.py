"""The one connection of a process that writes to its SQLite database, on its own thread.

Here: the thread, transactions, the translation of their errors. Not here: reads (`sqlite`), which commits share a
transaction (`group_commit`).

Why a commit is safe: BEGIN IMMEDIATE takes the database's one write lock, so no other process writes between the
compare-and-swap of a version and COMMIT. With synchronous=FULL, COMMIT returns after the log was flushed to disk.
Only then are results reported. A transaction that fails in any part is rolled back.
"""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from keystead.pipeline.store import CommitResult
from keystead.storage.errors import duplicate_key_error, failed_write_error
from keystead.storage.group_commit import Outcome
from keystead.storage.rows import Row, Rows, by_table
from keystead.storage.sqlite.connection import DatabaseFile, error_for_caller
from keystead.storage.sqlite.file_lock import FileLock
from keystead.storage.statements import SqliteStatements


class SqliteWriter:
    """`lost` is called on the event loop after the connection had to be closed."""

    def __init__(
        self, file: DatabaseFile, lock: FileLock, statements: SqliteStatements, lost: Callable[[], None]
    ) -> None:
        self._file = file
        self._lock = lock
        self._statements = statements
        self._lost = lost
        self._loop = asyncio.get_running_loop()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="sqlite-writer")
        self._connection: sqlite3.Connection | None = None

    async def write(self, rows: Rows) -> Outcome:
        """Write the rows in one transaction. Returns its result, or the error for the callers that wait for it."""
        return await self._loop.run_in_executor(self._thread, self._write, rows)

    async def close(self) -> None:
        """Disconnect. The caller must not write at the same time or afterwards."""
        await self._loop.run_in_executor(self._thread, self._disconnect)
        self._thread.shutdown()

    def _write(self, rows: Rows) -> Outcome:
        try:
            return self._transact(rows)
        except sqlite3.IntegrityError as error:
            return duplicate_key_error(error)
        except sqlite3.Error as error:
            self._disconnect()
            return error_for_caller(error)
        except Exception as error:  # noqa: BLE001 - it is reported to the callers that wait for the commit
            self._disconnect()
            return failed_write_error(error)

    def _transact(self, rows: Rows) -> CommitResult:
        if rows.version_swaps and self._lock.is_locked_by_another_process():
            return CommitResult.CONFLICT  # the other process has lost a race before, and is next
        connection = self._open_connection()
        self._file.begin(connection)
        try:
            result = _write_rows(rows, connection, self._statements)
            connection.execute("COMMIT" if result is CommitResult.COMMITTED else "ROLLBACK")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        return result

    def _open_connection(self) -> sqlite3.Connection:
        if self._connection is not None and not self._file.is_same_file():
            self._disconnect()
        if self._connection is None:
            self._connection = self._file.connect()
        return self._connection

    def _disconnect(self) -> None:
        """Close the connection; its state after an error is unknown. The next transaction opens a new one."""
        if self._connection is not None:
            with contextlib.suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None
            # If the loop was closed before the store, the call fails.
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._lost)


def _write_rows(rows: Rows, connection: sqlite3.Connection, sql: SqliteStatements) -> CommitResult:
    """Write rows inside a transaction. The caller must roll it back unless the result is COMMITTED."""
    for table_name, swaps in rows.swaps():
        statement = sql.swaps[table_name]
        for swap in swaps:
            if connection.execute(statement.sql, statement.arguments(swap.parameters())).rowcount != 1:
                return CommitResult.CONFLICT
    inserted_by_table = by_table(rows.inserted)
    for table in sql.tables:
        if values := inserted_by_table.get(table.name):
            inserted = _insert(connection, sql.inserts[table.name], values)
            if inserted != len(values) and table.if_skipped is not None:
                return table.if_skipped
    for name, keys in by_table(rows.deleted).items():
        connection.executemany(sql.deletions[name], keys)
    for purge in rows.purges:
        for statement in sql.of_purge(purge):
            connection.execute(statement.sql, statement.arguments(purge.parameters()))
    for organization_id in rows.deleted_organizations:
        for statement_text in sql.delete_organization:
            connection.execute(statement_text, (organization_id,))
    for organization_id, version in rows.version_checks:
        row = connection.execute(sql.reads.version.sql, (organization_id,)).fetchone()
        if row != (version.number, version.changed_by):
            return CommitResult.CONFLICT
    return CommitResult.COMMITTED


def _insert(connection: sqlite3.Connection, inserts: dict[int, str], rows: Sequence[Row]) -> int:
    inserted = done = 0
    for at_once, sql in inserts.items():
        while len(rows) - done >= at_once:
            values = [value for row in rows[done : done + at_once] for value in row]
            inserted += connection.execute(sql, values).rowcount
            done += at_once
    return inserted
