"""The statement that writes most batches on PostgreSQL: inserts, and a compare-and-swap, in one round trip.

Here: its text. Not here: when it is used (`postgres_transactions`), the statement of the compare-and-swap
(`statements`), the tables (`tables`).
"""

from __future__ import annotations

import functools
import itertools

from keystead.storage.statements import Statement
from keystead.storage.tables import Table, insert_of

_ARRAYS = {str: "text[]", int: "bigint[]", bool: "boolean[]", bytes: "bytea[]"}


@functools.cache
def postgres_write(swap: Statement | None, tables: tuple[Table, ...]) -> str:
    """The statement that inserts any number of rows into each of these tables. With a compare-and-swap of one row,
    it inserts nothing unless that succeeds.

    It returns the number of rows that the compare-and-swap changed, if there is one, and then the number of
    inserted rows of each table. Parameters: those of the compare-and-swap, then one array for each column, table by
    table.
    """
    parts, counted, condition = [], [], ""
    numbers = itertools.count(1)
    if swap is not None:
        numbers = itertools.count(1 + len(swap.names))
        parts.append(f"swapped AS ({swap.sql} RETURNING 1)")
        counted.append("swapped")
        condition = " WHERE EXISTS (SELECT FROM swapped)"
    for table in tables:
        arrays = [f"${next(numbers)}::{_ARRAYS[type_]}" for _, type_ in table.columns]
        insert = insert_of(table, f"SELECT * FROM unnest({', '.join(arrays)}){condition}")  # noqa: S608
        parts.append(f"into_{table.name} AS ({insert} RETURNING 1)")
        counted.append(f"into_{table.name}")
    counts = ", ".join(f"(SELECT count(*) FROM {name})" for name in counted)  # noqa: S608
    return f"WITH {', '.join(parts)} SELECT {counts}"
