"""A database that tests read and write directly: its rows by table, and more organizations.

Here: both engines behind one handle, and organizations that no operation makes yet. Not here: servers (`servers`).
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import asyncpg
from msgspec.structs import replace

from keystead.organizations.lookups import name_lookup, user_lookups
from keystead.organizations.organization import Organization, Put, Version, apply, records_of
from keystead.organizations.refused_requests import RefusedRequest
from keystead.pipeline.store import Changes, Commit, CommitResult
from keystead.storage import tables
from keystead.storage.open import open_store
from keystead.storage.store import DatabaseStore
from tests.support.hanging import PATIENCE_S

TABLES = tuple(sorted(table.name for table in tables.TABLES))
Rows = list[tuple[Any, ...]]
ResultT = TypeVar("ResultT")


class Database(ABC):
    """A migrated database at `url`. After `close`, the next use opens it again."""

    def __init__(self, url: str) -> None:
        self.url = url

    @abstractmethod
    def rows(self, sql: str) -> Rows: ...

    @abstractmethod
    def close(self) -> None: ...

    def counts(self) -> dict[str, int]:
        """How many rows each table has. Without refused requests: they are recorded some time after the answer."""
        tables = [table for table in TABLES if table != RefusedRequest.table.name]
        columns = ", ".join(f"(SELECT count(*) FROM {table})" for table in tables)
        return dict(zip(tables, self.rows(f"SELECT {columns}")[0], strict=True))

    def values(self) -> list[bytes]:
        """Every value of every table, as bytes."""
        rows = (row for table in TABLES for row in self.rows(f"SELECT * FROM {table}"))
        return [value if isinstance(value, bytes) else str(value).encode() for row in rows for value in row]

    def with_store(self, use: Callable[[DatabaseStore], Awaitable[ResultT]]) -> ResultT:
        """What `use` returns, given the store over this database."""

        async def run() -> ResultT:
            store = await open_store(self.url)
            try:
                return await use(store)
            finally:
                await store.close()

        return asyncio.run(run())

    def add_organization(self, organization: Organization) -> None:
        """Another organization, as the activity that creates it writes it."""
        of_users = [found for user in organization.users.values() for found in user_lookups(user)]
        creation = Changes(
            after=organization,
            records=tuple(Put(record) for record in records_of(organization)),
            attachments=(),
            lookups_added=frozenset({*of_users, name_lookup(organization.profile.name)}),
            shares_credentials=True,
        )
        self._commit(
            Commit(
                organization_id=organization.id,
                decided_on=organization.version,
                activity=None,
                new_organization=creation,
            )
        )

    def set_features(self, organization_id: str, features: dict[str, str]) -> None:
        organization = self.organization(organization_id)
        change = Put(replace(organization.profile, features=features))
        after = apply(organization, [change], Version(organization.version.number + 1, "test"))
        changed = Changes(after=after, records=(change,), attachments=(), lookups_added=frozenset())
        self._commit(
            Commit(organization_id=organization_id, decided_on=organization.version, activity=None, changes=changed)
        )

    def organization(self, organization_id: str) -> Organization:
        async def load(store: DatabaseStore) -> Organization | None:
            return await store.organization(organization_id)

        organization = self.with_store(load)
        assert organization is not None, f"no organization {organization_id} in this database"
        return organization

    def _commit(self, commit: Commit) -> None:
        async def hand_in(store: DatabaseStore) -> CommitResult:
            return await store.commit(commit)

        assert self.with_store(hand_in) is CommitResult.COMMITTED


class SqliteDatabase(Database):
    def __init__(self, path: Path) -> None:
        super().__init__(f"sqlite:///{path}")
        self.path = path
        self._connection: sqlite3.Connection | None = None

    def rows(self, sql: str) -> Rows:
        self._connection = self._connection or sqlite3.connect(self.path, isolation_level=None)
        return self._connection.execute(sql).fetchall()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


class PostgresDatabase(Database):
    def __init__(self, url: str) -> None:
        super().__init__(url)
        self._runner: asyncio.Runner | None = None
        self._connection: Any = None

    def rows(self, sql: str) -> Rows:
        self._runner = self._runner or asyncio.Runner()
        return self._runner.run(self._fetch(sql))

    async def _fetch(self, sql: str) -> Rows:
        if self._connection is None:
            self._connection = await asyncpg.connect(self.url)
        return [tuple(row) for row in await self._connection.fetch(sql)]

    def close(self) -> None:
        if self._runner is not None:
            if self._connection is not None:
                self._connection.terminate()
            self._runner.close()
        self._runner = self._connection = None


def wait_for_deletions(database: Database) -> None:
    """Wait until the server has deleted all rows of deleted wallets and organizations."""
    deadline = time.monotonic() + PATIENCE_S
    while database.counts()["unfinished_deletion"]:
        assert time.monotonic() < deadline, "rows of deleted wallets or organizations are left"
        time.sleep(0.02)
