"""Deletes rows in small steps: rows of deleted wallets and organizations, and old tombstones of removed records.

Here: which step is next. Not here: when steps are taken (`server.installation.deletions`), the transactions.

A step may be repeated, and several processes may do the same step, because it deletes rows that nobody reads. The
commit that deletes a wallet or an organization writes a row of `unfinished_deletion`. The last step deletes that
row.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec

from keystead.organizations.lookups import LookupKind
from keystead.storage.database import Queries
from keystead.storage.row_encoding import WHOLE_ORGANIZATION
from keystead.storage.rows import EntryPurge, ExpiredPurge, OrganizationPurge, Rows, TombstonePurge


class Deletion(msgspec.Struct, frozen=True):
    """The deletion of a wallet, or of an organization if `wallet_id` is WHOLE_ORGANIZATION."""

    organization_id: str
    wallet_id: str

    @property
    def is_of_organization(self) -> bool:
        return self.wallet_id == WHOLE_ORGANIZATION


class Purger:
    """`write` writes rows of an organization in a transaction. Raises Unavailable."""

    def __init__(self, queries: Queries, write: Callable[[str, Rows], Awaitable[object]]) -> None:
        self._queries = queries
        self._write = write

    async def unfinished(self, limit: int) -> list[Deletion]:
        """The deletions of all organizations whose rows are not all deleted yet."""
        selected = await self._queries.select(self._queries.reads.unfinished_deletions, cursor="", limit=limit)
        return [Deletion(organization_id, wallet_id) for organization_id, wallet_id in selected]

    async def begin(self, organization_id: str) -> None:
        """Write the row that says that rows of a deleted organization are not all deleted yet."""
        row = ("unfinished_deletion", (organization_id, WHOLE_ORGANIZATION))
        await self._write(organization_id, Rows(inserted=[row]))

    async def take_step(self, deletion: Deletion, parent_id: str, limit: int) -> bool:
        """Delete at most `limit` rows of one table, and their look-ups. False if the deletion ended with this step.

        `parent_id`: the parent under which the organization's look-ups are stored; "" if it has no parent.
        """
        organization_id = deletion.organization_id
        step = await self._accounts(deletion, parent_id, limit)
        if step is None and deletion.is_of_organization:
            step = await self._rows(organization_id, limit)
        if step is None:
            key = (organization_id, deletion.wallet_id)
            await self._write(organization_id, Rows(deleted=[("unfinished_deletion", key)]))
            return False
        await self._write(organization_id, step)
        return True

    async def tables_with_rows(self, organization_id: str) -> list[str]:
        """The tables that have rows of an organization and must have none once it is deleted."""
        return [
            table
            for table, statement in self._queries.reads.rows_of_organization.items()
            if await self._queries.select(statement, organization_id=organization_id)
        ]

    async def purge_tombstones(self, organization_id: str, kept: int, limit: int) -> bool:
        """Delete at most `limit` tombstones of an organization, the oldest first. The `kept` newest ones stay.
        Returns False if there was nothing to delete."""
        step = await self._tombstones(organization_id, kept, limit)
        if step is not None:
            await self._write(organization_id, step)
        return step is not None

    async def has_expired(self, table: str, before_ms: int) -> bool:
        """Whether the table has rows that expired before this moment, in milliseconds since the epoch."""
        return bool(await self._queries.select(self._queries.reads.expired_rows[table], before_ms=before_ms))

    async def purge_expired(self, table: str, before_ms: int, limit: int) -> None:
        """Delete at most `limit` rows of the table that expired before this moment, the oldest first."""
        await self._write("", Rows(purges=[ExpiredPurge(table, before_ms, limit)]))

    async def has_old_entries(self) -> bool:
        """Whether a counter has entries that are older than its window."""
        return bool(await self._queries.select(self._queries.reads.counter_with_old_entries))

    async def purge_entries(self, limit: int) -> None:
        """Delete at most `limit` entries of counters that are older than the window of their counter."""
        await self._write("", Rows(purges=[EntryPurge(limit)]))

    async def _accounts(self, deletion: Deletion, parent_id: str, limit: int) -> Rows | None:
        statement = self._queries.reads.first_accounts_of_wallet
        if deletion.is_of_organization:
            statement = self._queries.reads.first_accounts
        accounts = await self._queries.select(
            statement, organization_id=deletion.organization_id, wallet_id=deletion.wallet_id, limit=limit
        )
        if not accounts:
            return None
        step, kind = Rows(), LookupKind.WALLET_ACCOUNT_ADDRESS.value
        for account_id, address in accounts:
            step.deleted.append(("lookup", (kind, address, parent_id, deletion.organization_id, account_id)))
            step.deleted.append(("wallet_account", (deletion.organization_id, account_id)))
        return step

    async def _rows(self, organization_id: str, limit: int) -> Rows | None:
        selected = await self._queries.select(
            self._queries.reads.first_lookups, organization_id=organization_id, limit=limit
        )
        if selected:
            return Rows(deleted=[("lookup", tuple(key)) for key in selected])
        for table in await self.tables_with_rows(organization_id):
            return Rows(purges=[OrganizationPurge(table, organization_id, limit)])
        return await self._tombstones(organization_id, 0, limit)

    async def _tombstones(self, organization_id: str, kept: int, limit: int) -> Rows | None:
        selected = await self._queries.select(
            self._queries.reads.newest_purgeable_tombstone, organization_id=organization_id, kept=kept
        )
        if not selected:
            return None
        return Rows(purges=[TombstonePurge(organization_id, selected[0][0], limit)])
