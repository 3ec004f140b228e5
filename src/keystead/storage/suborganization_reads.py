"""Reads of sub-organizations: their lists, and look-ups of what they have.

Here: these reads, for both databases. Not here: organizations themselves (`cache`), the SQL (`sql`).
"""

from __future__ import annotations

from collections.abc import Sequence

from keystead.organizations.lookups import LookupKind, possible_values
from keystead.pipeline.store import Page
from keystead.storage.account_reads import AccountTables
from keystead.storage.database import LOWEST, Queries
from keystead.storage.row_encoding import WHOLE_ORGANIZATION


class SuborganizationTables:
    """Implements `pipeline.store.SuborganizationReads`."""

    def __init__(self, queries: Queries, accounts: AccountTables) -> None:
        self._queries = queries
        self._accounts = accounts

    async def with_value(self, parent_id: str, kind: LookupKind, value: str) -> list[str]:
        return await self.page(parent_id, (kind, value), Page(limit=2)) or []

    async def held_by_siblings(
        self, parent_id: str, organization_id: str, kind: LookupKind, values: Sequence[str]
    ) -> list[str]:
        selected = await self._queries.select(
            self._queries.reads.held_by_siblings,
            parent_id=parent_id,
            organization_id=organization_id,
            kind=kind.value,
            values=self._queries.list_argument(values),
        )
        return [value for (value,) in selected]

    async def page(self, parent_id: str, lookup: tuple[LookupKind, str] | None, page: Page) -> list[str] | None:
        cursor = page.before or page.after
        # Any sub-organization of the parent is accepted: it may have lost the value since the last page.
        if cursor is not None and not await self._queries.select(
            self._queries.reads.has_suborganization, parent_id=parent_id, id=cursor
        ):
            return None
        if lookup is None or lookup[0] is not LookupKind.WALLET_ACCOUNT_ADDRESS:
            return await self._one_page(parent_id, lookup, page)
        kept: list[str] = []
        while True:
            ids = await self._one_page(parent_id, lookup, page)
            with_address = [id_ for id_ in ids if await self._has_address(id_, lookup[1])]
            kept = [*with_address, *kept] if page.before else [*kept, *with_address]
            if len(ids) < page.limit or len(kept) >= page.limit:
                return kept[-page.limit :] if page.before else kept[: page.limit]
            page = Page(page.limit, before=ids[0]) if page.before else Page(page.limit, after=ids[-1])

    async def _has_address(self, organization_id: str, address: str) -> bool:
        """Whether the look-up of an address belongs to a wallet that is not deleted. The look-ups of deleted
        wallets are deleted in steps."""
        deleted = await self._accounts.unfinished_deletions(organization_id)
        if not deleted or WHOLE_ORGANIZATION in deleted:
            return not deleted
        return await self._accounts.with_address(organization_id, address) is not None

    async def _one_page(self, parent_id: str, lookup: tuple[LookupKind, str] | None, page: Page) -> list[str]:
        pages = (
            self._queries.reads.suborganizations
            if lookup is None
            else self._queries.reads.suborganizations_with_value
        )
        statement = pages.below if page.before else pages.above
        cursor = page.before or page.after
        parameters = {"parent_id": parent_id, "cursor": cursor or LOWEST, "limit": page.limit}
        if lookup is None:
            selected = {row[0] for row in await self._queries.select(statement, **parameters)}
        else:
            kind, requested = lookup
            selected = {
                row[0]
                for value in possible_values(kind, requested)
                for row in await self._queries.select(statement, kind=kind.value, value=value, **parameters)
            }
        ids = sorted(selected)
        return ids[-page.limit :] if page.before else ids[: page.limit]
