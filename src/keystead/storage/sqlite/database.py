"""SQLite: one file, which one server uses. Commands on the same machine may use it meanwhile.

Here: reads, on the event loop's thread, because they take microseconds; and the one connection of a process that
writes, on its own thread; the lock on a file between processes. Not here: which commits share a transaction
(`group_commit`), the settings of a connection (`connection`).

Why a read is fresh: in WAL mode each statement starts from the newest committed state of the file, of any process.
No transaction stays open between two reads.

Why a commit is safe: BEGIN IMMEDIATE takes the database's one write lock, so no other process writes between the
compare-and-swap of a version and COMMIT. With synchronous=FULL, COMMIT returns after the log was flushed to disk.
Only then are results reported. A transaction that fails in any part is rolled back.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import random
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO, Any, Final, TypeVar

import msgspec

from keystead.organizations.organization import Version
from keystead.organizations.record_kinds import RecordKinds
from keystead.organizations.velocity.counters import Counted
from keystead.pipeline.store import LOCK_S, CommitResult
from keystead.primitives.share import Share
from keystead.storage import counting
from keystead.storage.database import Selected
from keystead.storage.errors import NotMigrated, duplicate_key_error, failed_write_error, unavailable
from keystead.storage.rows import Outcome, Row, Rows, by_table
from keystead.storage.sqlite.connection import DatabaseFile, error_for_caller
from keystead.storage.statements import Dialect, Reads, SqliteStatements, Statement, sqlite_statements
from keystead.storage.tables import tables_of

_POLL_S = 0.005


class FileLock:
    """A lock file beside the database. The operating system releases the lock when its process ends."""

    def __init__(self, database: Path) -> None:
        self._database = database
        self._path = database.with_name(f"{database.name}-lock")
        self._owners = 0

    @asynccontextmanager
    async def lock(self, wait_s: float) -> AsyncIterator[None]:
        """Lock the file. After `wait_s` seconds continue without the lock, because its owner may be suspended.

        Raises Unavailable if there is no database, or if the lock file cannot be created.
        """
        with self._open() as file:  # closing it releases the lock
            deadline_s = asyncio.get_running_loop().time() + wait_s
            while (  # noqa: ASYNC110 (another process releases the lock, so nothing here can wait for an event)
                not _try_lock(file, fcntl.LOCK_EX) and asyncio.get_running_loop().time() < deadline_s
            ):
                await asyncio.sleep(random.uniform(0, _POLL_S))  # noqa: S311 (not a secret)
            self._owners += 1
            try:
                yield
            finally:
                self._owners -= 1

    def is_locked_by_another_process(self) -> bool:
        """Whether another process has locked the file now. Any thread may call this."""
        if self._owners:
            return False
        try:
            file = self._path.open("rb")
        except OSError:  # no process has taken it yet
            return False
        with file:
            return not _try_lock(file, fcntl.LOCK_SH)

    def _open(self) -> IO[bytes]:
        if not self._database.exists():
            raise unavailable("has no file")
        try:
            return self._path.open("ab")
        except OSError:
            raise unavailable("cannot be locked") from None


def _try_lock(file: IO[bytes], mode: int) -> bool:
    try:
        fcntl.flock(file, mode | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


ResultT = TypeVar("ResultT")

_READ_LOCK_WAIT_S = 1.0
"""How long a read waits for a lock. It waits only while another process recovers the log after a crash; the event
loop is blocked for this time."""

ROWS_AT_ONCE = 500
"""A larger organization is read in slices."""


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
    counters = _counters(rows.counted, connection, sql)
    if counters is None:
        return CommitResult.CONFLICT
    inserted_by_table = by_table([*rows.inserted, *counters])
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


def _counters(
    additions: Sequence[Counted], connection: sqlite3.Connection, sql: SqliteStatements
) -> list[tuple[str, Row]] | None:
    """The rows of the counters after these additions. None if a decision relied on what does not hold."""
    statement, rows = sql.reads.counters, list[tuple[str, Row]]()
    for organization_id, counted in counting.by_organization(additions):
        ids = msgspec.json.encode(counting.counter_ids(counted)).decode()
        values = {"organization_id": organization_id, "ids": ids, "now_ms": counting.newest_ms(counted)}
        known = counting.states(connection.execute(statement.sql, statement.arguments(values)).fetchall())
        after = counting.rows_of_counters(organization_id, counted, known)
        if after is None:
            return None
        rows += after
    return rows


def _insert(connection: sqlite3.Connection, inserts: dict[int, str], rows: Sequence[Row]) -> int:
    inserted = done = 0
    for at_once, sql in inserts.items():
        while len(rows) - done >= at_once:
            values = [value for row in rows[done : done + at_once] for value in row]
            inserted += connection.execute(sql, values).rowcount
            done += at_once
    return inserted


class FileLocked:
    """Implements `DatabaseLock`. The lock is that of the whole database file, so commits are written like
    others."""

    changes: Final = None

    async def write(self, _: Sequence[Rows]) -> CommitResult | None:
        return None


class SqliteDatabase:
    """Implements `Database`."""

    dialect: Dialect = "sqlite"

    def __init__(self, path: Path, kinds: RecordKinds, share: Share, *, lock_wait_s: float) -> None:
        statements = sqlite_statements(tables_of(kinds.attached_tables))
        self._share = share
        self._lost: Callable[[], None] = lambda: None
        self._reads = statements.reads
        self._version_sql = self._reads.version.sql
        self._file = DatabaseFile(path, lock_wait_s=min(lock_wait_s, _READ_LOCK_WAIT_S))
        self._whole_reads_file = DatabaseFile(path, lock_wait_s=min(lock_wait_s, _READ_LOCK_WAIT_S))
        self._cursor: sqlite3.Cursor | None = None
        self._versions: dict[str, Version] = {}
        self._is_closed = False
        self._contention_lock = FileLock(path)
        writing = DatabaseFile(path, lock_wait_s=lock_wait_s)
        self._writer = SqliteWriter(writing, self._contention_lock, statements, self._reset)

    def when_lost(self, call: Callable[[], None]) -> None:
        self._lost = call

    @property
    def reads(self) -> Reads:
        return self._reads

    async def version(self, organization_id: str) -> Version | None:
        """One read answers all calls in the same iteration of the event loop. This is as fresh: every request that
        an iteration handles arrived before it began."""
        known = self._versions.get(organization_id)
        if known is not None:
            return known
        try:
            cursor = self._cursor or self._connect()
            row = cursor.execute(self._version_sql, (organization_id,)).fetchone()
            if row is None:
                return None
            cursor.fetchone()  # the statement ends here, and its read transaction with it
        except sqlite3.Error as error:
            self._reset()
            raise error_for_caller(error) from error
        if not self._versions:
            asyncio.get_running_loop().call_soon(self._versions.clear)
        version = self._versions[organization_id] = Version(row[0], row[1])
        return version

    async def rows(self, statement: Statement, arguments: Sequence[Any]) -> Selected:
        with self._reading() as cursor:
            return cursor.execute(statement.sql, arguments).fetchall()

    async def whole(self, organization_id: str) -> Selected:
        """A large organization is read in slices, over a connection of its own: while a statement has not ended,
        other reads of its connection would not see newer commits."""
        whole, arguments = self._reads.whole, self._reads.whole.arguments({"id": organization_id})
        with self._reading() as cursor:
            with contextlib.closing(cursor.connection.cursor()) as first:
                rows = first.execute(whole.sql, arguments).fetchmany(ROWS_AT_ONCE)
            if len(rows) == ROWS_AT_ONCE:
                with contextlib.closing(self._whole_reads_file.connect()) as connection:
                    if not self._file.is_same_file():
                        self._reset()  # the second connection is to another file, and the cache is of the first
                    selected = connection.execute(whole.sql, arguments)
                    rows = await self._share.each(organization_id, tuple, selected)
        return rows

    @contextlib.contextmanager
    def _reading(self) -> Iterator[sqlite3.Cursor]:
        """The cursor for a read, which may see newer versions than the reads before it. Translates its errors."""
        self._versions.clear()
        try:
            yield self._cursor or self._connect()
        except sqlite3.Error as error:
            refusal = error_for_caller(error)
            if not isinstance(refusal, NotMigrated):
                self._reset()
            raise refusal from error

    async def is_distributed(self) -> bool:
        return False

    def list_argument(self, values: Sequence[str]) -> str:
        return msgspec.json.encode(values).decode()

    async def write(self, rows: Rows) -> Outcome:
        outcome = await self._writer.write(rows)
        self._versions.clear()  # a version read before these commits would look as if they were lost
        return outcome

    @contextlib.asynccontextmanager
    async def locked(self, *_: object) -> AsyncIterator[FileLocked]:
        async with self._contention_lock.lock(LOCK_S):
            yield FileLocked()

    def connections(self) -> Mapping[str, tuple[int, int]]:
        return {}

    def exclusively(self, work: Callable[[sqlite3.Connection], ResultT]) -> ResultT:
        """Run `work` on a connection, then drop the caches. No commit may be under way.

        For development servers. It blocks the event loop, so that no request sees an intermediate state.
        """
        try:
            connection = self._file.connect()
            try:
                result = work(connection)
            finally:
                connection.close()
        except sqlite3.Error as error:
            raise error_for_caller(error) from error
        finally:
            self._reset()
        return result

    async def check(self) -> None:
        if not self._file.is_same_file():
            self._reset()
        with contextlib.suppress(NotMigrated):
            await self.rows(self.reads.schema_version, [])

    async def close(self) -> None:
        self._is_closed = True
        await self._writer.close()
        self._reset()

    def _connect(self) -> sqlite3.Cursor:
        if self._is_closed:
            raise unavailable("is being closed")
        self._cursor = self._file.connect().cursor()
        return self._cursor

    def _reset(self) -> None:
        """Drop the connection and the caches, after an error or after the writer lost the file. The next read
        connects again."""
        self._lost()
        self._versions.clear()
        if self._cursor is not None:
            with contextlib.suppress(sqlite3.Error):
                self._cursor.connection.close()
            self._cursor = None
