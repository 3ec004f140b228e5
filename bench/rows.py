"""Rows written straight to an installation's database, where making them through the API would take an hour.

Here: how they get there, for either store. Not here: what they hold (`crowd`, `histories`).
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterable
from contextlib import closing

import asyncpg

from keystead.storage.open import sqlite_path
from keystead.storage.write_set import Row

Batch = Iterable[tuple[str, Row]]
"""Rows, each with the name of its table."""

_LOCK_WAIT_S = 30.0
_SHARED = "snapshot"


def write(database_url: str, batches: Iterable[Batch]) -> None:
    """Insert the rows, one transaction a batch or a table; a server may be running on the database."""
    path = sqlite_path(database_url)
    if path is None:
        asyncio.run(_copy(database_url, batches))
        return
    with closing(sqlite3.connect(path, timeout=_LOCK_WAIT_S)) as database:
        for batch in batches:
            with database:
                for table, rows in _by_table(batch).items():
                    insert = "INSERT OR IGNORE" if table == _SHARED else "INSERT"
                    database.executemany(f"{insert} INTO {table} VALUES ({', '.join('?' * len(rows[0]))})", rows)


async def _copy(database_url: str, batches: Iterable[Batch]) -> None:
    connection = await asyncpg.connect(database_url)
    try:
        for batch in batches:
            for table, rows in _by_table(batch).items():
                if table == _SHARED:  # perhaps written before, which COPY does not forgive
                    insert = f"INSERT INTO {table} VALUES ($1, $2, $3) ON CONFLICT DO NOTHING"
                    await connection.executemany(insert, set(rows))
                else:
                    await connection.copy_records_to_table(table, records=rows)
        # Now, since the server would do it by itself in the middle of a measurement.
        await connection.execute("VACUUM ANALYZE")
    finally:
        await connection.close()


def _by_table(batch: Batch) -> dict[str, list[Row]]:
    tables: dict[str, list[Row]] = {}
    for table, row in batch:
        tables.setdefault(table, []).append(row)
    return tables
