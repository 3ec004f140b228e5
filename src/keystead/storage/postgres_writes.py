"""The statement that writes most batches on PostgreSQL: compare-and-swaps and inserts in one round trip.

Here: its text. Not here: when it is used (`postgres_transactions`), the statement of each swap (`statements`), the
tables (`tables`).
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterator

from keystead.storage.statements import Statement
from keystead.storage.tables import Table, insert_of

_ARRAYS = {str: "text[]", int: "bigint[]", bool: "boolean[]", bytes: "bytea[]"}
_PLACEHOLDER = re.compile(r"\$(\d+)")


@functools.cache
def postgres_write(swaps: tuple[Statement, ...], tables: tuple[Table, ...]) -> str:
    """The statement that swaps one row with each of `swaps`, in this order, and then inserts any number of rows
    into each table. After a swap that fails, nothing else is written.

    It returns the number of rows that the last swap changed, if there are swaps, and then the number of inserted
    rows of each table. Parameters: those of each swap, then one array for each column, table by table.
    """
    parts: list[str] = []
    numbers = itertools.count(1)
    condition = ""
    for position, swap in enumerate(swaps, 1):
        if condition:
            condition = f" AND {condition}"
        parts.append(f"swap_{position} AS ({_renumbered(swap, numbers)}{condition} RETURNING 1)")
        condition = f"EXISTS (SELECT FROM swap_{position})"
    where = f" WHERE {condition}" if condition else ""
    counts = [f"swap_{len(swaps)}"] if swaps else []
    for table in tables:
        arrays = [f"${next(numbers)}::{_ARRAYS[type_]}" for _, type_ in table.columns]
        insert = insert_of(table, f"SELECT * FROM unnest({', '.join(arrays)}){where}")  # noqa: S608
        parts.append(f"into_{table.name} AS ({insert} RETURNING 1)")
        counts.append(f"into_{table.name}")
    counted = ", ".join(f"(SELECT count(*) FROM {name})" for name in counts)  # noqa: S608
    return f"WITH {', '.join(parts)} SELECT {counted}"


def _renumbered(statement: Statement, numbers: Iterator[int]) -> str:
    """The statement with the next placeholders in place of its own."""
    new = [next(numbers) for _ in statement.names]
    return _PLACEHOLDER.sub(lambda match: f"${new[int(match[1]) - 1]}", statement.sql)
