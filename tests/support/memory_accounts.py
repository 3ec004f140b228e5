"""The accounts of wallets in memory, for tests. Not here: the other parts of a store (`memory_store`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from keystead.api.records import WalletAccount
from keystead.chains.addresses.stored_forms import possible_forms, stored_form
from keystead.organizations.attachments import ChangedAccount, StoredAccount
from keystead.pipeline.store import Page

if TYPE_CHECKING:
    from tests.support.memory_store import MemoryStore

Item = TypeVar("Item")


def _stored(one: ChangedAccount) -> StoredAccount:
    return StoredAccount(one.account, one.exported)


def paged(items: list[Item], id_of: Callable[[Item], str], page: Page) -> list[Item] | None:
    """The page's part of a list in its order; None if the cursor is not of the list."""
    cursor = page.after or page.before
    if cursor is None:
        return items[: page.limit]
    ids = [id_of(item) for item in items]
    if cursor not in ids:
        return None
    at = ids.index(cursor)
    return items[at + 1 :][: page.limit] if page.after else items[max(0, at - page.limit) : at]


class MemoryAccounts:
    """Implements `pipeline.store.AccountReads`."""

    def __init__(self, store: MemoryStore) -> None:
        self._database = store.database
        self._pause = store.pause

    async def with_address(self, organization_id: str, address: str) -> StoredAccount | None:
        await self._pause()
        for one in self._database.attached_rows(ChangedAccount, organization_id):
            if stored_form(one.account.address_format, one.account.address) in possible_forms(address):
                return _stored(one)
        return None

    async def at(
        self, organization_id: str, wallet_id: str, normalized_paths: Sequence[str]
    ) -> list[StoredAccount]:
        return await self._accounts(
            organization_id,
            lambda one: one.account.wallet_id == wallet_id and one.normalized_path in normalized_paths,
        )

    async def called(self, organization_id: str, names: Sequence[str]) -> list[StoredAccount]:
        return await self._accounts(organization_id, lambda one: one.account.name in names)

    async def of_ids(self, organization_id: str, account_ids: Sequence[str]) -> list[StoredAccount]:
        return await self._accounts(organization_id, lambda one: one.account.wallet_account_id in account_ids)

    async def _accounts(
        self, organization_id: str, wanted: Callable[[ChangedAccount], bool]
    ) -> list[StoredAccount]:
        await self._pause()
        found = [one for one in self._database.attached_rows(ChangedAccount, organization_id) if wanted(one)]
        return [_stored(one) for one in found]

    async def page(self, organization_id: str, wallet_id: str | None, page: Page) -> list[WalletAccount] | None:
        accounts = [one.account for one in self._database.attached_rows(ChangedAccount, organization_id)]
        fitting = [one for one in accounts if wallet_id in (None, one.wallet_id)]
        return paged(fitting, lambda one: one.wallet_account_id, page)

    async def find(
        self, organization_id: str, wallet_id: str, address: str | None, path: str | None
    ) -> WalletAccount | None:
        for one in self._database.attached_rows(ChangedAccount, organization_id):
            spelling = stored_form(one.account.address_format, one.account.address)
            fits = (address is None or spelling in possible_forms(address)) and path in (None, one.normalized_path)
            if one.account.wallet_id == wallet_id and fits:
                return one.account
        return None
