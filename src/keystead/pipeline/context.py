"""What a `load_context` function may read beyond the organization's value, before the activity is decided on.

Here: the reads as protocols, and the function's argument. Not here: their implementation (`storage`), when the
function runs (`decision_basis`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

import msgspec

from keystead.chains.contract_interfaces import ParsedInterface
from keystead.organizations.attached_rows import AttachedRow
from keystead.organizations.attachments import StoredAccount
from keystead.organizations.lookups import LookupKind
from keystead.organizations.organization import Organization, Version
from keystead.organizations.velocity.counters import CounterState
from keystead.primitives.lru import Lru
from keystead.primitives.share import Share

RowT = TypeVar("RowT", bound=AttachedRow)


class SiblingReads(Protocol):
    """Reads of the sub-organizations of one parent. Each is a look-up in an index."""

    async def held_by_siblings(
        self, parent_id: str, organization_id: str, kind: LookupKind, values: Sequence[str]
    ) -> list[str]:
        """The values among these that another sub-organization of this parent has."""
        ...


class TokenReads(Protocol):
    async def is_token_used(self, token_id: str) -> bool:
        """Whether a verification token that can be used once was used, in any organization."""
        ...


class ForeignReads(Protocol):
    """Reads that do not depend on the rows of the organization itself."""

    async def organization(self, organization_id: str) -> Organization | None:
        """The newest committed version."""
        ...

    @property
    def suborganizations(self) -> SiblingReads: ...

    @property
    def attached(self) -> TokenReads: ...


class AccountLookups(Protocol):
    """Look-ups of accounts of wallets, each in an index."""

    async def with_address(self, organization_id: str, address: str) -> StoredAccount | None:
        """The oldest account of any wallet with this address, in any spelling (`chains.addresses.stored_forms`)."""
        ...

    async def at(
        self, organization_id: str, wallet_id: str, normalized_paths: Sequence[str]
    ) -> list[StoredAccount]:
        """The accounts of a wallet at any of these normalized paths."""
        ...

    async def called(self, organization_id: str, names: Sequence[str]) -> list[StoredAccount]:
        """The accounts of any wallet that have one of these names."""
        ...

    async def of_ids(self, organization_id: str, account_ids: Sequence[str]) -> list[StoredAccount]:
        """The accounts of these ids. Deleted accounts are left out."""
        ...


class AttachedLookups(TokenReads, Protocol):
    """Look-ups of rows that belong to an organization and are not in its value, each in an index."""

    async def get(self, kind: type[RowT], organization_id: str, *key: str) -> RowT | None:
        """The row of this kind and key, for example the secret of a wallet. None if it does not exist."""
        ...

    async def counters(
        self, organization_id: str, counter_ids: Sequence[str], now_ms: int
    ) -> dict[str, CounterState]:
        """The counters of velocity controls by id, each with what is in its window now. Those to which nothing was
        added are left out."""
        ...

    async def interface_texts_of(self, organization_id: str, interface_ids: Sequence[str]) -> dict[str, str]:
        """The texts of these contract interfaces, by id. Deleted interfaces are left out."""
        ...


class ContextReads(ForeignReads, Protocol):
    """Also look-ups of rows that belong to an organization and are not in its value."""

    @property
    def accounts(self) -> AccountLookups: ...

    @property
    def attached(self) -> AttachedLookups: ...


class TransactionSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The operator's settings for transactions.

    `legacy_without_chain_id`: legacy Ethereum transactions that name no chain, and so are valid on every chain, are
    signed.
    """

    legacy_without_chain_id: bool = False


class SigningCache(msgspec.Struct, frozen=True):
    """The caches of values that signatures look up repeatedly. Both are bounded in measured bytes, and belong to
    the service.

    `interfaces`: contract interfaces by id; the text of an id never changes. `keys`: what `signWith` names, by
    organization id, version of the organization and the text of `signWith`.
    """

    interfaces: Lru[str, ParsedInterface]
    keys: Lru[tuple[str, Version, str], Any]

    @staticmethod
    def of_bytes(bytes_max: int) -> SigningCache:
        """Each of the two gets half of the bytes."""
        return SigningCache(Lru(bytes_max // 2), Lru(bytes_max // 2))


class ForeignSource(msgspec.Struct, frozen=True, kw_only=True):
    """What a `load_context` function may read that reads rows of other organizations only. Such a function does not
    wait for the commits that led to this version of its own organization."""

    organization: Organization
    submitter_id: str
    store: ForeignReads


class ContextSource(ForeignSource, frozen=True, kw_only=True):
    """What a `load_context` function may read. `store` has everything that led to this version, and possibly later
    commits."""

    store: ContextReads
    transactions: TransactionSettings
    cache: SigningCache
    share: Share
