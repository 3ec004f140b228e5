"""Reads of whole tables, for the check of a database: which rows lack a row of another table.

Here: what follows from the declarations of the tables, page by page. Not here: what else is checked
(`server.installation.checking`), the declarations (`tables`).

Each page begins above the last key of the page before. If the keys of a page do not grow, OutOfOrder is raised, so
that no walk lasts for ever, whatever the database holds.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from itertools import pairwise
from typing import Any, Final, TypeVar

import msgspec

from keystead.organizations.attached_rows import BODY, AttachedRow
from keystead.storage.database import Queries
from keystead.storage.statements import Statement
from keystead.storage.tables import TABLES, Table, is_of_organizations, references_of, table_of

_ROWS_AT_ONCE: Final = 1_000
_ORGANIZATIONS: Final = next(table for table in TABLES if table.name == "organization")

RowKey = tuple[str | int, ...]
StoredRow = Sequence[Any]
RowT = TypeVar("RowT", bound=AttachedRow)


class OutOfOrder(Exception):
    """The rows of a table are not in the order of its index. The message is one line for the operator."""


class LackingRow(msgspec.Struct, frozen=True):
    """A row that lacks another one. `key`: its key without the organization. `lacks`: what it lacks."""

    table: str
    key: RowKey
    lacks: str


class DamagedRow(msgspec.Struct, frozen=True):
    """A row whose body cannot be read, or says something else than its columns."""

    table: str
    key: RowKey


class IntegrityReads:
    """Every method raises Unavailable and OutOfOrder."""

    def __init__(self, queries: Queries) -> None:
        self._queries = queries

    async def organization_ids(self) -> AsyncIterator[str]:
        """The ids of all organizations, deleted ones included."""

        async def read(after: RowKey) -> Sequence[StoredRow]:
            statement = self._queries.reads.organizations_above
            return await self._queries.select(statement, cursor=after[0], limit=_ROWS_AT_ONCE)

        async for _, page in pages_of(_ORGANIZATIONS, read, ("",)):
            for (organization_id,) in page:
                yield organization_id

    async def organizations_with_rows(self) -> AsyncIterator[tuple[str, list[str]]]:
        """Each table whose rows belong to organizations, with ids of organizations that have rows, in pages."""
        for table in TABLES:
            if is_of_organizations(table):
                statement = self._queries.reads.organizations_with_rows[table.name]

                async def read(after: RowKey, statement: Statement = statement) -> Sequence[StoredRow]:
                    return await self._queries.select(statement, cursor=after[0], limit=_ROWS_AT_ONCE)

                async for _, page in pages_of(table, read, ("",)):
                    yield table.name, [organization_id for (organization_id,) in page]

    async def lacking_rows(self, organization_id: str) -> AsyncIterator[LackingRow]:
        """The rows of an organization that lack what `references_of` says, and the activities that lack their
        newest vote."""
        for table in TABLES:
            references, key_length = references_of(table), table.key_length - 1
            if not references:
                continue
            statement = self._queries.reads.references_above[table.name]
            async for after, page in self._above(table, statement, organization_id):
                for row in page:
                    for is_found, reference in zip(row[key_length:], references, strict=True):
                        if not is_found:
                            yield LackingRow(table.name, tuple(row[:key_length]), reference.name)
                if table.name == "activity":
                    for lacking in await self._without_newest_vote(organization_id, str(after[0]), page[-1][0]):
                        yield lacking

    async def _without_newest_vote(self, organization_id: str, after: str, last: str) -> list[LackingRow]:
        statement = self._queries.reads.activities_without_newest_vote
        selected = await self._queries.select(statement, organization_id=organization_id, cursor=after, last=last)
        return [LackingRow("activity", (id_,), "vote of its newest evaluation") for (id_,) in selected]

    async def attached_rows(self, kind: type[RowT], organization_id: str) -> AsyncIterator[RowT | DamagedRow]:
        """All rows of a kind."""
        table = table_of(kind.table)
        async for _, page in self._above(table, self._queries.reads.rows_above[table.name], organization_id):
            for row in page:
                yield _read(kind, row) or DamagedRow(table.name, tuple(row[: table.key_length - 1]))

    def _above(
        self, table: Table, statement: Statement, organization_id: str
    ) -> AsyncIterator[tuple[RowKey, Sequence[StoredRow]]]:
        names = [f"above_{name}" for name in table.key[1:]]

        async def read(after: RowKey) -> Sequence[StoredRow]:
            above = dict(zip(names, after, strict=True))
            return await self._queries.select(
                statement, organization_id=organization_id, limit=_ROWS_AT_ONCE, **above
            )

        lowest = tuple(["" if kind is str else -1 for _, kind in table.columns[1 : table.key_length]])
        return pages_of(table, read, lowest)


async def pages_of(
    table: Table, read: Callable[[RowKey], Awaitable[Sequence[StoredRow]]], first: RowKey
) -> AsyncIterator[tuple[RowKey, Sequence[StoredRow]]]:
    """The pages of a table, each with the key above which it begins. `first`: a key below all others."""
    after = first
    while page := await read(after):
        keys = [after, *(tuple(row[: len(first)]) for row in page)]
        if not all(one < next_ for one, next_ in pairwise(keys)):
            raise OutOfOrder(f"the rows of {table.name} are not in the order of its index: build it anew (REINDEX)")
        yield after, page
        after = keys[-1]


def _read(kind: type[RowT], row: StoredRow) -> RowT | None:
    """The row; None if it cannot be read, or if its columns differ from its body."""
    try:
        read = kind.from_row(row)
        written = read.row()
    except (msgspec.MsgspecError, ValueError, TypeError):
        return None
    columns = zip(kind.table.names, written, row, strict=True)
    return read if all(name == BODY or value == stored for name, value, stored in columns) else None
