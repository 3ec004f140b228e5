"""Reads of the accounts of wallets.

Here: these reads, for both databases. Not here: running a statement (`database`), the SQL (`sql`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from keystead.api.records import WalletAccount
from keystead.chains.addresses.stored_forms import possible_forms
from keystead.organizations.attachments import StoredAccount
from keystead.pipeline.store import Page
from keystead.primitives.share import pause
from keystead.storage import row_decoding
from keystead.storage.database import LOWEST, Queries, Selected

_ROWS_AT_ONCE = 500
"""Accounts that one statement reads, while accounts of deleted wallets are left out."""


class AccountTables:
    """Implements `pipeline.store.AccountReads`."""

    def __init__(self, queries: Queries) -> None:
        self._queries = queries

    async def with_address(self, organization_id: str, address: str) -> StoredAccount | None:
        selected = await self._with_address(organization_id, address)
        return min((stored for stored, _ in selected), key=_account_id, default=None)

    async def _with_address(self, organization_id: str, address: str) -> list[tuple[StoredAccount, str]]:
        """The accounts with this address, each with its normalized path."""
        selected = await self._queries.select(
            self._queries.reads.accounts_with_address,
            organization_id=organization_id,
            addresses=self._queries.list_argument(possible_forms(address)),
        )
        return [(row_decoding.stored_account_from(row), row[2]) for row in selected]

    async def at(
        self, organization_id: str, wallet_id: str, normalized_paths: Sequence[str]
    ) -> list[StoredAccount]:
        selected = await self._queries.select(
            self._queries.reads.accounts_at,
            organization_id=organization_id,
            wallet_id=wallet_id,
            paths=self._queries.list_argument(normalized_paths),
        )
        return [row_decoding.stored_account_from(row) for row in selected]

    async def called(self, organization_id: str, names: Sequence[str]) -> list[StoredAccount]:
        selected = await self._queries.select(
            self._queries.reads.accounts_called,
            organization_id=organization_id,
            names=self._queries.list_argument(names),
        )
        return [row_decoding.stored_account_from(row) for row in selected]

    async def of_ids(self, organization_id: str, account_ids: Sequence[str]) -> list[StoredAccount]:
        selected = await self._queries.select(
            self._queries.reads.accounts_of_ids,
            organization_id=organization_id,
            ids=self._queries.list_argument(account_ids),
        )
        return [row_decoding.stored_account_from(row) for row in selected]

    async def page(self, organization_id: str, wallet_id: str | None, page: Page) -> list[WalletAccount] | None:
        scope = {"organization_id": organization_id}
        if wallet_id is not None:
            scope["wallet_id"] = wallet_id
        cursor = page.before or page.after
        if cursor is not None:
            exists_statement = (
                self._queries.reads.has_account if wallet_id is None else self._queries.reads.has_account_of_wallet
            )
            if not await self._queries.select(exists_statement, id=cursor, **scope):
                return None
        if wallet_id is None:
            selected = await self._page_of_wallets(organization_id, page)
        else:
            pages = self._queries.reads.accounts_of_wallet
            statement = pages.below if page.before else pages.above
            selected = await self._queries.select(statement, cursor=cursor or LOWEST, limit=page.limit, **scope)
        accounts = [row_decoding.account_from(row) for row in selected]
        return accounts[::-1] if page.before else accounts

    async def _page_of_wallets(self, organization_id: str, page: Page) -> Selected:
        """A page of the accounts of all wallets, without those of deleted wallets, whose rows are deleted in
        steps."""
        deleted = await self.unfinished_deletions(organization_id)
        statement = self._queries.reads.accounts.below if page.before else self._queries.reads.accounts.above
        cursor, kept = page.before or page.after or LOWEST, list[Sequence[Any]]()
        limit = max(page.limit, _ROWS_AT_ONCE) if deleted else page.limit
        while len(kept) < page.limit:
            selected = await self._queries.select(
                statement, organization_id=organization_id, cursor=cursor, limit=limit
            )
            kept += [row for row in selected if row[1] not in deleted]
            if len(selected) < limit:
                break
            cursor = selected[-1][2]
            await pause()
        return kept[: page.limit]

    async def unfinished_deletions(self, organization_id: str) -> set[str]:
        """The ids of deleted wallets whose rows are not all deleted yet, or WHOLE_ORGANIZATION."""
        selected = await self._queries.select(
            self._queries.reads.unfinished_deletions_of, organization_id=organization_id
        )
        return {wallet_id for (wallet_id,) in selected}

    async def find(
        self, organization_id: str, wallet_id: str, address: str | None, path: str | None
    ) -> WalletAccount | None:
        if address is not None:
            matching = [
                stored
                for stored, normalized_path in await self._with_address(organization_id, address)
                if stored.account.wallet_id == wallet_id and path in (None, normalized_path)
            ]
        else:
            assert path is not None, "an account is found by its address, its path, or both"
            matching = await self.at(organization_id, wallet_id, [path])
        return min(matching, key=_account_id).account if matching else None


def _account_id(stored: StoredAccount) -> str:
    return stored.account.wallet_account_id
