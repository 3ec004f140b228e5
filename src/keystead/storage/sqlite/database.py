"""SQLite: one file, which one server uses. Commands on the same machine may use it meanwhile.

Here: reads, on the event loop's thread, because they take microseconds. Not here: writing (`writer`).

Why a read is fresh: in WAL mode each statement starts from the newest committed state of the file, of any process.
No transaction stays open between two reads.
"""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from keystead.organizations.organization import Version
from keystead.organizations.record_kinds import RecordKinds
from keystead.pipeline.store import LOCK_S, CommitResult
from keystead.primitives.share import Share
from keystead.storage.database import Selected
from keystead.storage.errors import NotMigrated, unavailable
from keystead.storage.group_commit import Outcome
from keystead.storage.rows import Rows
from keystead.storage.sqlite.connection import DatabaseFile, error_for_caller
from keystead.storage.sqlite.file_lock import FileLock
from keystead.storage.sqlite.writer import SqliteWriter
from keystead.storage.statements import Dialect, Reads, Statement, sqlite_statements
from keystead.storage.tables import tables_of

ResultT = TypeVar("ResultT")

_READ_LOCK_WAIT_S = 1.0
"""How long a read waits for a lock. It waits only while another process recovers the log after a crash; the event
loop is blocked for this time."""

ROWS_AT_ONCE = 500
"""A larger organization is read in slices."""


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
