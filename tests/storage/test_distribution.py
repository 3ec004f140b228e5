"""Which node has the rows of which table: declared for every table, and possible for every unique index."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from keystead.api.errors import Unavailable
from keystead.pipeline.store import CommitResult
from keystead.storage.group_commit import CommitQueues, Waiting
from keystead.storage.postgres.distribution import (
    COLUMNS,
    NotDistributable,
    distribution_statement,
    in_distribution_order,
)
from keystead.storage.rows import Rows
from keystead.storage.schema import distribute, migrate
from keystead.storage.statements import postgres_statements
from keystead.storage.tables import TABLES, distributed_insert
from tests.storage.conftest import MakeDatabase


def rows(url: str, sql: str) -> list[tuple[Any, ...]]:
    async def fetch() -> list[tuple[Any, ...]]:
        connection = await asyncpg.connect(url)
        try:
            return [tuple(row) for row in await connection.fetch(sql)]
        finally:
            await connection.close()

    return asyncio.run(fetch())


def test_every_table_is_declared(new_postgres: MakeDatabase) -> None:
    tables = rows(new_postgres(), "SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    assert COLUMNS.keys() == {name for (name,) in tables}


def test_every_unique_index_has_the_column(new_postgres: MakeDatabase) -> None:
    """Otherwise no node could tell that a value is unique."""
    found = rows(
        new_postgres(),
        """
        SELECT indrelid::regclass::text, indexrelid::regclass::text, array_agg(attname::text)
        FROM pg_index
        JOIN pg_attribute ON attrelid = indrelid AND attnum = ANY(indkey)
        WHERE indisunique AND indrelid IN (SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace)
        GROUP BY indrelid, indexrelid
        """,
    )
    assert {table for table, _, _ in found} == COLUMNS.keys()
    assert [(name, columns) for table, name, columns in found if COLUMNS[table] not in (None, *columns)] == []


def test_tables_of_an_organization_follow_it() -> None:
    tables = in_distribution_order(frozenset(COLUMNS))
    assert tables[0] == "organization"
    assert "'id', colocate_with => 'none'" in distribution_statement("organization")
    assert "'organization_id', colocate_with => 'organization'" in distribution_statement("record")
    assert "'value', colocate_with => 'none'" in distribution_statement("lookup")
    assert distribution_statement("instance") == "SELECT create_reference_table('instance')"
    with pytest.raises(KeyError):
        distribution_statement("another")


def test_statements_without_what_citus_lacks() -> None:
    statements = postgres_statements(is_distributed=True)
    assert "RECURSIVE" not in statements.reads.waiting_endpoints.sql
    assert not [name for name, purge in statements.expired_purges.items() if "LOCKED" in purge.sql]
    assert statements.reads.waiting_endpoints.names == postgres_statements().reads.waiting_endpoints.names


def test_an_insert_names_its_values() -> None:
    (snapshot,) = [table for table in TABLES if table.name == "snapshot"]
    assert distributed_insert(snapshot, 2) == (
        "INSERT INTO snapshot (organization_id, digest, body) VALUES ($1, $2, $3), ($4, $5, $6) "
        "ON CONFLICT DO NOTHING"
    )


def test_refused_on_a_database_of_one_node(new_postgres: MakeDatabase) -> None:
    url = new_postgres()
    with pytest.raises(NotDistributable, match="no extension citus"):
        distribute(url)
    assert rows(url, "SELECT 1 FROM instance WHERE name = 'distribution'") == []


def test_refused_on_sqlite(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'one.db'}"
    migrate(url)
    with pytest.raises(ValueError, match="SQLite cannot be distributed"):
        distribute(url)


class Commits:
    """Six commits of three organizations, handed in at once; the sizes of the transactions that wrote them."""

    def __init__(self, distributed: bool | Unavailable) -> None:
        self.written: list[tuple[int, bool]] = []
        self.results: list[CommitResult | BaseException] = []
        self._running = 0
        self._distributed = distributed

    async def run(self) -> None:
        database: Any = self
        commits = CommitQueues(database, lambda _: None, {}, lambda _: None, lambda _: None)
        sizes: list[int] = []
        commits.on_transaction = lambda count, _: sizes.append(count)
        loop = asyncio.get_running_loop()
        handed_in = [Waiting(organization_id, Rows(), loop.create_future()) for organization_id in "abcabc"]
        for one in handed_in:
            commits.add(one)
        assert commits.waiting == len(handed_in)
        await commits.finish()
        assert commits.waiting == 0
        self.results = await asyncio.gather(*[one.result for one in handed_in], return_exceptions=True)
        self.sizes = sizes

    async def is_distributed(self) -> bool:
        await asyncio.sleep(0)
        if isinstance(self._distributed, Unavailable):
            raise self._distributed
        return self._distributed

    async def write(self, _: Rows) -> CommitResult:
        await asyncio.sleep(0)
        return CommitResult.COMMITTED


@pytest.mark.parametrize(("distributed", "sizes"), [(False, [6]), (True, [2, 2, 2])])
def test_commits_that_share_a_transaction(distributed: bool, sizes: list[int]) -> None:
    commits = Commits(distributed)
    asyncio.run(commits.run())
    assert commits.sizes == sizes
    assert commits.results == [CommitResult.COMMITTED] * 6


def test_while_it_is_not_known_nothing_is_written() -> None:
    error = Unavailable("the database is away")
    commits = Commits(error)
    asyncio.run(commits.run())
    assert commits.results == [error] * 6
    assert commits.sizes == []
