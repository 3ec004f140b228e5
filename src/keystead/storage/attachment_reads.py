"""Reads of the attached tables: contract interfaces, accounts, secrets, codes, messages.

Here: these reads, for both databases. Not here: running a statement (`sqlite`, `postgres`), the SQL (`sql`).
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, TypeVar

from keystead.api.records import WalletAccount
from keystead.chains.addresses.stored_forms import possible_forms
from keystead.organizations.attached_rows import AttachedRow
from keystead.organizations.attachments import StoredAccount
from keystead.organizations.outgoing_messages import EmailEventRow
from keystead.pipeline.store import Page
from keystead.pipeline.time_slices import TimeSlices
from keystead.storage import row_decoding
from keystead.storage.statements import Reads, Statement

RowT = TypeVar("RowT", bound=AttachedRow)

_ROWS_AT_ONCE = 500
"""Accounts that one statement reads, while accounts of deleted wallets are left out."""

LOWEST, HIGHEST = "", "~"
"""Cursors below and above every id, which is a UUID."""


class AttachmentReads(ABC):
    """Every method raises Unavailable while the database does not answer."""

    def __init__(self, reads: Reads) -> None:
        self._reads = reads
        self._loading = TimeSlices()
        """The slices of time in which large organizations and activities are read."""

    @abstractmethod
    async def _rows(self, statement: Statement, arguments: Sequence[Any]) -> Sequence[Sequence[Any]]:
        """Run a statement that reads."""

    @abstractmethod
    def _list_argument(self, values: Sequence[str]) -> Any:
        """The values as one argument of a statement."""

    async def _select(self, statement: Statement, **values: Any) -> Sequence[Sequence[Any]]:
        return await self._rows(statement, statement.arguments(values))

    async def attached_row(self, kind: type[RowT], organization_id: str, *key: str) -> RowT | None:
        selected = await self._rows(self._reads.attached_rows[kind.table.name], [organization_id, *key])
        return kind.from_row(selected[0]) if selected else None

    async def interface_texts(self, organization_id: str) -> dict[str, str]:
        selected = await self._select(self._reads.interface_texts, organization_id=organization_id)
        return {interface_id: text.decode() for interface_id, text in selected}

    async def interface_texts_of(self, organization_id: str, interface_ids: Sequence[str]) -> dict[str, str]:
        selected = await self._select(
            self._reads.interface_texts_of, organization_id=organization_id, ids=self._list_argument(interface_ids)
        )
        return {interface_id: text.decode() for interface_id, text in selected}

    async def account_with_address(self, organization_id: str, address: str) -> StoredAccount | None:
        selected = await self._accounts_with_address(organization_id, address)
        return min((stored for stored, _ in selected), key=_account_id, default=None)

    async def _accounts_with_address(self, organization_id: str, address: str) -> list[tuple[StoredAccount, str]]:
        """The accounts with this address, each with its normalized path."""
        selected = await self._select(
            self._reads.accounts_with_address,
            organization_id=organization_id,
            addresses=self._list_argument(possible_forms(address)),
        )
        return [(row_decoding.stored_account_from(row), row[2]) for row in selected]

    async def accounts_at(
        self, organization_id: str, wallet_id: str, normalized_paths: Sequence[str]
    ) -> list[StoredAccount]:
        selected = await self._select(
            self._reads.accounts_at,
            organization_id=organization_id,
            wallet_id=wallet_id,
            paths=self._list_argument(normalized_paths),
        )
        return [row_decoding.stored_account_from(row) for row in selected]

    async def accounts_called(self, organization_id: str, names: Sequence[str]) -> list[StoredAccount]:
        selected = await self._select(
            self._reads.accounts_called, organization_id=organization_id, names=self._list_argument(names)
        )
        return [row_decoding.stored_account_from(row) for row in selected]

    async def accounts_of_ids(self, organization_id: str, account_ids: Sequence[str]) -> list[StoredAccount]:
        selected = await self._select(
            self._reads.accounts_of_ids, organization_id=organization_id, ids=self._list_argument(account_ids)
        )
        return [row_decoding.stored_account_from(row) for row in selected]

    async def is_token_used(self, token_id: str) -> bool:
        return bool(await self._select(self._reads.used_token, id=token_id))

    async def email_events(
        self, organization_id: str, recipient: str, event_type: str, page: Page
    ) -> list[EmailEventRow] | None:
        scope = {"organization_id": organization_id, "recipient": recipient.lower()}
        cursor = page.before or page.after
        if cursor is not None and not await self._select(self._reads.has_email_event, id=cursor, **scope):
            return None
        pages = self._reads.email_events
        selected = await self._select(
            pages.above if page.before else pages.below,
            event_type=event_type,
            cursor=cursor or HIGHEST,
            limit=page.limit,
            **scope,
        )
        return [EmailEventRow.from_row(row) for row in selected]

    async def wallet_accounts(
        self, organization_id: str, wallet_id: str | None, page: Page
    ) -> list[WalletAccount] | None:
        scope = {"organization_id": organization_id}
        if wallet_id is not None:
            scope["wallet_id"] = wallet_id
        cursor = page.before or page.after
        if cursor is not None:
            exists_statement = self._reads.has_account if wallet_id is None else self._reads.has_account_of_wallet
            if not await self._select(exists_statement, id=cursor, **scope):
                return None
        if wallet_id is None:
            selected = await self._accounts_of_wallets(organization_id, page)
        else:
            pages = self._reads.accounts_of_wallet
            statement = pages.below if page.before else pages.above
            selected = await self._select(statement, cursor=cursor or LOWEST, limit=page.limit, **scope)
        accounts = [row_decoding.account_from(row) for row in selected]
        return accounts[::-1] if page.before else accounts

    async def _accounts_of_wallets(self, organization_id: str, page: Page) -> Sequence[Sequence[Any]]:
        """A page of the accounts of all wallets, without those of deleted wallets, whose rows are deleted in
        steps."""
        deleted = await self.unfinished_deletions_of(organization_id)
        statement = self._reads.accounts.below if page.before else self._reads.accounts.above
        cursor, kept = page.before or page.after or LOWEST, list[Sequence[Any]]()
        limit = max(page.limit, _ROWS_AT_ONCE) if deleted else page.limit
        while len(kept) < page.limit:
            selected = await self._select(statement, organization_id=organization_id, cursor=cursor, limit=limit)
            kept += [row for row in selected if row[1] not in deleted]
            if len(selected) < limit:
                break
            cursor = selected[-1][2]
            await asyncio.sleep(0)  # other requests run in between
        return kept[: page.limit]

    async def unfinished_deletions_of(self, organization_id: str) -> set[str]:
        """The ids of deleted wallets whose rows are not all deleted yet, or WHOLE_ORGANIZATION."""
        selected = await self._select(self._reads.unfinished_deletions_of, organization_id=organization_id)
        return {wallet_id for (wallet_id,) in selected}

    async def wallet_account(
        self, organization_id: str, wallet_id: str, address: str | None, path: str | None
    ) -> WalletAccount | None:
        if address is not None:
            matching = [
                stored
                for stored, normalized_path in await self._accounts_with_address(organization_id, address)
                if stored.account.wallet_id == wallet_id and path in (None, normalized_path)
            ]
        else:
            assert path is not None, "an account is found by its address, its path, or both"
            matching = await self.accounts_at(organization_id, wallet_id, [path])
        return min(matching, key=_account_id).account if matching else None


def _account_id(stored: StoredAccount) -> str:
    return stored.account.wallet_account_id
