"""What an activity may look up before it is decided on, beyond the organization's own value.

Here: the reads that it has, as a protocol, and what its `load_context` function gets. Not here: their
implementation (`storage`), when the function runs (`cases`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec

from keystead.api.lru import Lru
from keystead.chains.contract_interfaces import ContractInterface
from keystead.organizations.attachments import StoredAccount
from keystead.organizations.kinds.data_key import Sealed
from keystead.organizations.lookups import LookupKind
from keystead.organizations.one_time_codes import CodeCount, OneTimeCode
from keystead.organizations.organization import Organization, Version


class ContextReads(Protocol):
    """Reads of what belongs to an organization and is not in its value; each is a look-up in an index."""

    async def organization(self, organization_id: str) -> Organization | None:
        """The newest committed version."""
        ...

    async def account_with_address(self, organization_id: str, address: str) -> StoredAccount | None:
        """The oldest account of any wallet that this address names (`organizations.addresses`)."""
        ...

    async def accounts_at(
        self, organization_id: str, wallet_id: str, normalized_paths: Sequence[str]
    ) -> list[StoredAccount]:
        """The accounts of a wallet at any of these normalized paths."""
        ...

    async def accounts_called(self, organization_id: str, names: Sequence[str]) -> list[StoredAccount]:
        """The accounts of any wallet that have one of these names."""
        ...

    async def accounts_of_ids(self, organization_id: str, account_ids: Sequence[str]) -> list[StoredAccount]:
        """These accounts; those that are gone are left out."""
        ...

    async def sealed_secret(self, organization_id: str, record_id: str, purpose: str) -> Sealed | None:
        """The secret of a record: of a wallet, of a private key. None if the record is gone."""
        ...

    async def held_by_siblings(
        self, parent_id: str, organization_id: str, kind: LookupKind, values: Sequence[str]
    ) -> list[str]:
        """Those of the values by which another sub-organization of this parent can be found."""
        ...

    async def interface_texts_of(self, organization_id: str, interface_ids: Sequence[str]) -> dict[str, str]:
        """The texts of these contract interfaces, by id; those that are gone are left out."""
        ...

    async def one_time_code(self, organization_id: str, otp_id: str) -> OneTimeCode | None: ...

    async def is_token_used(self, token_id: str) -> bool:
        """Whether a verification token that is good for one use was used, in any organization."""
        ...

    async def code_count(self, organization_id: str, subject: str) -> CodeCount | None:
        """The codes lately started for a subject. None if there are none."""
        ...


class TransactionRules(msgspec.Struct, frozen=True, kw_only=True):
    """The operator's settings for transactions.

    `legacy_without_chain_id`: legacy Ethereum transactions that name no chain, and so are valid on every chain, are
    signed.
    """

    legacy_without_chain_id: bool = False


class SigningCache(msgspec.Struct, frozen=True):
    """What signatures look up again and again. Both are bounded by measured bytes and belong to the service.

    `interfaces`: contract interfaces by id; the text of an id never changes. `keys`: what `signWith` names, by
    organization, version of the organization and the text itself.
    """

    interfaces: Lru[str, ContractInterface]
    keys: Lru[tuple[str, Version, str], Any]

    @staticmethod
    def of_bytes(bytes_max: int) -> SigningCache:
        """Half of the bytes are for each."""
        return SigningCache(Lru(bytes_max // 2), Lru(bytes_max // 2))


class ContextSource(msgspec.Struct, frozen=True):
    """What a `load_context` function may look at. `store` has everything that led to this version, and maybe
    more; of an operation that says `context_is_own=False`, maybe less."""

    organization: Organization
    submitter_id: str
    store: ContextReads
    transactions: TransactionRules
    cache: SigningCache
