"""The statement that swaps and inserts in one round trip: its text, and that a lost race writes nothing."""

from __future__ import annotations

import asyncio
from typing import Any

import asyncpg
import pytest

from keystead.storage.postgres_writes import postgres_write
from keystead.storage.statements import Statement
from keystead.storage.tables import TABLES
from tests.storage.conftest import MakeDatabase

(INSTANCE,) = [table for table in TABLES if table.name == "instance"]
SWAP = Statement("UPDATE instance SET value = $2 WHERE name = $1 AND value = $3", ("name", "after", "before"))
MOVE = Statement("UPDATE organization SET version = $2 WHERE id = $1", ("id", "version"))


def test_the_text() -> None:
    assert postgres_write((SWAP, MOVE), (INSTANCE,)) == (
        "WITH swap_1 AS (UPDATE instance SET value = $2 WHERE name = $1 AND value = $3 RETURNING 1), "
        "swap_2 AS (UPDATE organization SET version = $5 WHERE id = $4 AND EXISTS (SELECT FROM swap_1) "
        "RETURNING 1), "
        "into_instance AS (INSERT INTO instance (name, value) SELECT * FROM unnest($6::text[], $7::bytea[]) "
        "WHERE EXISTS (SELECT FROM swap_2) ON CONFLICT DO NOTHING RETURNING 1) "
        "SELECT (SELECT count(*) FROM swap_2), (SELECT count(*) FROM into_instance)"
    )


CASES: dict[str, tuple[bytes, list[str], list[int], dict[str, bytes], int]] = {
    "both swaps succeed": (b"old", ["b", "c"], [1, 2], {"a": b"new", "b": b"", "c": b""}, 2),
    "a row exists already": (b"old", ["a", "b"], [1, 1], {"a": b"new", "b": b""}, 2),
    "the first swap is lost": (b"another", ["b", "c"], [0, 0], {"a": b"old"}, 1),
}


@pytest.mark.parametrize(("before", "inserted", "counts", "values", "version"), CASES.values(), ids=CASES)
def test_nothing_is_written_after_a_lost_swap(
    before: bytes,
    inserted: list[str],
    counts: list[int],
    values: dict[str, bytes],
    version: int,
    new_postgres: MakeDatabase,
) -> None:
    url = new_postgres()

    async def run() -> tuple[list[int], dict[str, bytes], int]:
        connection: Any = await asyncpg.connect(url)
        try:
            await connection.execute("DELETE FROM instance")
            await connection.execute("INSERT INTO instance VALUES ('a', 'old')")
            await connection.execute("INSERT INTO organization VALUES ('o', NULL, 1, 'x')")
            text = postgres_write((SWAP, MOVE), (INSTANCE,))
            row = await connection.fetchrow(text, "a", b"new", before, "o", 2, inserted, [b""] * len(inserted))
            rows = await connection.fetch("SELECT name, value FROM instance")
            return list(row), dict(map(tuple, rows)), await connection.fetchval("SELECT version FROM organization")
        finally:
            await connection.close()

    assert asyncio.run(run()) == (counts, values, version)
