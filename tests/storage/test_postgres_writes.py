"""The statement that swaps a version and inserts in one round trip. A lost race writes nothing."""

from __future__ import annotations

import asyncio
from typing import Any

import asyncpg
import pytest

from keystead.storage.postgres.transactions import postgres_write
from keystead.storage.statements import Statement
from keystead.storage.tables import TABLES
from tests.storage.conftest import MakeDatabase

(INSTANCE,) = [table for table in TABLES if table.name == "instance"]
SWAP = Statement("UPDATE organization SET version = $2 WHERE id = $1 AND version = $3", ("id", "after", "before"))


def test_the_text() -> None:
    assert postgres_write(SWAP, (INSTANCE,)) == (
        "WITH swapped AS (UPDATE organization SET version = $2 WHERE id = $1 AND version = $3 RETURNING 1), "
        "into_instance AS (INSERT INTO instance (name, value) SELECT * FROM unnest($4::text[], $5::bytea[]) "
        "WHERE EXISTS (SELECT FROM swapped) ON CONFLICT DO NOTHING RETURNING 1) "
        "SELECT (SELECT count(*) FROM swapped), (SELECT count(*) FROM into_instance)"
    )
    assert postgres_write(None, (INSTANCE,)) == (
        "WITH into_instance AS (INSERT INTO instance (name, value) SELECT * FROM unnest($1::text[], $2::bytea[]) "
        "ON CONFLICT DO NOTHING RETURNING 1) SELECT (SELECT count(*) FROM into_instance)"
    )


CASES: dict[str, tuple[int, list[str], list[int], list[str], int]] = {
    "the version is swapped": (1, ["b", "c"], [1, 2], ["a", "b", "c"], 2),
    "a row exists already": (1, ["a", "b"], [1, 1], ["a", "b"], 2),
    "the version is another": (7, ["b", "c"], [0, 0], ["a"], 1),
}


@pytest.mark.parametrize(("before", "inserted", "counts", "names", "version"), CASES.values(), ids=CASES)
def test_nothing_is_inserted_if_the_swap_fails(
    before: int, inserted: list[str], counts: list[int], names: list[str], version: int, new_postgres: MakeDatabase
) -> None:
    url = new_postgres()

    async def run() -> tuple[list[int], list[str], int]:
        connection: Any = await asyncpg.connect(url)
        try:
            await connection.execute("DELETE FROM instance")
            await connection.execute("INSERT INTO instance VALUES ('a', '')")
            await connection.execute("INSERT INTO organization VALUES ('o', NULL, 1, 'x')")
            arguments = ["o", 2, before, inserted, [b""] * len(inserted)]
            row = await connection.fetchrow(postgres_write(SWAP, (INSTANCE,)), *arguments)
            rows = await connection.fetch("SELECT name FROM instance ORDER BY name")
            now = await connection.fetchval("SELECT version FROM organization")
            return list(row), [name for (name,) in rows], now
        finally:
            await connection.close()

    assert asyncio.run(run()) == (counts, names, version)
