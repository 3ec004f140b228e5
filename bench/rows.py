"""Writes rows directly to an installation's database, because the API would take an hour for them.

Here: writing, for both databases. Not here: the contents of the rows (`many_organizations`, `histories`).
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing

import asyncpg

from keystead.cli.operator.progress import ProgressLine
from keystead.storage.open import sqlite_path
from keystead.storage.rows import Row

Batch = Iterable[tuple[str, Row]]
"""Rows, each with the name of its table."""

_LOCK_WAIT_S = 30.0
_SHARED = "snapshot"


def shown(batches: Iterable[Batch], what: str, each: int, count: int) -> Iterator[Batch]:
    """The batches; a terminal shows how many of `count` are written. `each`: how many a batch has."""
    with ProgressLine() as line:
        for number, batch in enumerate(batches):
            line.show(f"{min(number * each, count):,} of {count:,} {what} written")
            yield batch


def write(database_url: str, batches: Iterable[Batch]) -> None:
    """Insert the rows, with a transaction for each batch or table. A server may run on the database."""
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
                if table == _SHARED:  # the row may exist, and COPY would fail
                    insert = f"INSERT INTO {table} VALUES ($1, $2, $3) ON CONFLICT DO NOTHING"
                    await connection.executemany(insert, set(rows))
                else:
                    await connection.copy_records_to_table(table, records=rows)
        # Now, because otherwise the server would do it during a measurement.
        await connection.execute("VACUUM ANALYZE")
    finally:
        await connection.close()


def _by_table(batch: Batch) -> dict[str, list[Row]]:
    tables: dict[str, list[Row]] = {}
    for table, row in batch:
        tables.setdefault(table, []).append(row)
    return tables
