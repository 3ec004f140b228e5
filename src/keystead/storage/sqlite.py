"""The store over SQLite: one file, which one server uses. Commands on the same machine may use it meanwhile.

Here: reads, on the event loop's thread, because they take microseconds. Not here: writing (`sqlite_writer`).

Why a read is fresh: in WAL mode each statement starts from the newest committed state of the file, of any process.
No transaction stays open between two reads.
"""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from keystead.api.errors import ServiceError
from keystead.organizations.organization import Organization, Version
from keystead.organizations.record_kinds import RecordKinds
from keystead.pipeline.store import LOCK_S, Commit, CommitResult, results_of
from keystead.storage.base import DatabaseStore
from keystead.storage.cache import CacheLimits
from keystead.storage.errors import NotMigrated, unavailable
from keystead.storage.file_lock import FileLock
from keystead.storage.group_commit import Outcome, Waiting
from keystead.storage.rows import Rows
from keystead.storage.sqlite_connection import DatabaseFile, error_for_caller
from keystead.storage.sqlite_writer import SqliteWriter
from keystead.storage.statements import Statement, sqlite_statements
from keystead.storage.tables import tables_of

ResultT = TypeVar("ResultT")

_READ_LOCK_WAIT_S = 1.0
"""How long a read waits for a lock. It waits only while another process recovers the log after a crash; the event
loop is blocked for this time."""


ROWS_AT_ONCE = 500
"""A larger organization is read in slices."""


class LockedFile(msgspec.Struct, frozen=True):
    """Implements `pipeline.store.LockedOrganization`. The lock is that of the whole database file."""

    store: SqliteStore
    organization: Organization | None

    async def write(self, commits: Sequence[Commit]) -> Sequence[CommitResult | ServiceError]:
        return await results_of([self.store.commit(commit) for commit in commits])


class SqliteStore(DatabaseStore):
    dialect = "sqlite"

    def __init__(self, path: Path, limits: CacheLimits, kinds: RecordKinds, *, lock_wait_s: float) -> None:
        statements = sqlite_statements(tables_of(kinds.attached_tables))
        super().__init__(statements.reads, limits, kinds)
        self._version_sql = self._reads.version.sql
        self._file = DatabaseFile(path, lock_wait_s=min(lock_wait_s, _READ_LOCK_WAIT_S))
        self._whole_reads_file = DatabaseFile(path, lock_wait_s=min(lock_wait_s, _READ_LOCK_WAIT_S))
        self._cursor: sqlite3.Cursor | None = None
        self._versions: dict[str, Version] = {}
        self._contention_lock = FileLock(path)
        writing = DatabaseFile(path, lock_wait_s=lock_wait_s)
        self._writer = SqliteWriter(writing, self._contention_lock, statements, self._reset)

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

    async def _rows(self, statement: Statement, arguments: Sequence[Any]) -> Sequence[Sequence[Any]]:
        with self._reading() as cursor:
            return cursor.execute(statement.sql, arguments).fetchall()

    async def _select_whole(self, organization_id: str) -> Sequence[Sequence[Any]]:
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
                    rows = await self.share.each(organization_id, tuple, selected)
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

    def _list_argument(self, values: Sequence[str]) -> str:
        return msgspec.json.encode(values).decode()

    async def _write(self, rows: Rows) -> Outcome:
        return await self._writer.write(rows)

    def _committed(self, commits: Sequence[Waiting]) -> None:
        self._versions.clear()  # a version read before these commits would look as if they were lost
        super()._committed(commits)

    @contextlib.asynccontextmanager
    async def locked(self, organization_id: str) -> AsyncIterator[LockedFile]:
        async with self._contention_lock.lock(LOCK_S):
            yield LockedFile(self, await self.organization(organization_id))

    async def exclusively(self, work: Callable[[sqlite3.Connection], ResultT]) -> ResultT:
        """Run `work` on a connection while this process writes nothing else, then drop the caches.

        For development servers. It blocks the event loop, so that no request sees an intermediate state.
        """
        await self._group_commit.close()
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

    async def ready(self) -> None:
        """Raise Unavailable unless the file exists and can be read."""
        if not self._file.is_same_file():
            self._reset()
        await self.schema_version()

    async def close(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            await self._group_commit.close()
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
        self._cache.clear()
        self._versions.clear()
        if self._cursor is not None:
            with contextlib.suppress(sqlite3.Error):
                self._cursor.connection.close()
            self._cursor = None
