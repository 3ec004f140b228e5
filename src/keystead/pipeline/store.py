"""What the activity road and the operations need of a store. `storage` implements it, once per database.

The promises: a commit is kept whole or not at all, and once reported it survives a crash. Commits of one
organization take effect in the order in which they were handed in. A read sees every commit that was reported
before the read began, by whichever process.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from enum import Enum
from typing import Protocol

import msgspec

from keystead.api.enums import ActivityStatus
from keystead.api.records import Evaluation, WalletAccount
from keystead.organizations.attachments import Attachment
from keystead.organizations.lookups import Lookup, LookupKind
from keystead.organizations.organization import Change, Organization, Version
from keystead.pipeline.activity import Activity
from keystead.pipeline.arrivals import Coming
from keystead.pipeline.gathering import AttachmentReads


class Page(msgspec.Struct, frozen=True):
    """At most `limit` items of a list, beyond `after` or ahead of `before` (ids, exclusive, not both)."""

    limit: int
    before: str | None = None
    after: str | None = None


class OrganizationChange(msgspec.Struct, frozen=True, kw_only=True):
    """From one version of an organization to the next. `before` is None where the organization is founded.

    `lookups` are new, `forgotten` no longer lead anywhere.
    """

    before: Version | None
    after: Organization
    changes: tuple[Change, ...]
    attachments: tuple[Attachment, ...]
    lookups: frozenset[Lookup]
    forgotten: frozenset[Lookup] = frozenset()


class Commit(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes durable together: an activity, what it changed, whom it founded, what the rules said of it.

    An activity of revision 0 is new; a later one takes the place of the revision before it, and only of that. Its
    votes are kept by user: a later vote of a user takes the place of the earlier one.
    """

    organization_id: str
    activity: Activity | None
    change: OrganizationChange | None = None
    founding: OrganizationChange | None = None
    evaluations: tuple[Evaluation, ...] = ()


class CommitOutcome(Enum):
    COMMITTED = "committed"
    CONFLICT = "the organization or the activity is no longer what the commit began from"
    DUPLICATE = "an activity of this fingerprint is already there"


class Held(Protocol):
    """An organization that nobody else changes meanwhile."""

    def commit(self, commit: Commit) -> asyncio.Future[CommitOutcome]:
        """As `Store.commit`, once at most. No other change of the organization comes first, unless the hold was
        given up because it took too long: then this is a commit like any other."""
        ...


class Store(AttachmentReads, Protocol):
    """Every method raises Unavailable while the database does not answer."""

    async def organization(self, organization_id: str) -> Organization | None:
        """The newest committed version."""
        ...

    def commit(self, commit: Commit) -> asyncio.Future[CommitOutcome]:
        """Hand in a commit; the future tells its outcome once it is durable. Unavailable: sending the same
        request again is safe, whether or not the commit was kept."""
        ...

    def commit_coming(self) -> Coming:
        """Until this ends, a commit is about to be handed in. Others may wait some milliseconds to share its
        transaction, so it must end before whoever comes waits for one of them."""
        ...

    def hold(self, organization_id: str) -> AbstractAsyncContextManager[Held]:
        """From entering until the commit or leaving, nobody else's change of the organization is committed, by
        whichever process; who tries waits, and then finds what became of it. Those who want to enter are served in
        about the order in which they came. Leaving without a commit changes nothing.

        Whoever enters must not wait for a commit of their own that was handed in and is not settled.
        """
        ...

    async def activity(self, organization_id: str, activity_id: str) -> Activity | None: ...

    async def activity_with_fingerprint(self, organization_id: str, fingerprint: str) -> Activity | None: ...

    async def activities(
        self,
        organization_id: str,
        statuses: Sequence[ActivityStatus],
        types: Sequence[str],
        page: Page,
    ) -> list[Activity] | None:
        """Newest first; no statuses or types means any. None if the page's cursor is not of this list."""
        ...

    async def interface_texts(self, organization_id: str) -> dict[str, str]:
        """The text of every contract interface of the organization, by id."""
        ...

    async def interface_text(self, organization_id: str, contract_interface_id: str) -> str | None: ...

    async def wallet_accounts(
        self, organization_id: str, wallet_id: str | None, page: Page
    ) -> list[WalletAccount] | None:
        """In order of creation. None if the page's cursor is not of this list."""
        ...

    async def wallet_account(
        self, organization_id: str, wallet_id: str, address: str | None, path: str | None
    ) -> WalletAccount | None:
        """The oldest account that this address names and of this normalized path. None, not of both: any."""
        ...

    async def evaluations(self, organization_id: str, activity_id: str) -> list[Evaluation]:
        """What the rules said, vote by vote, in order; of a denied submission too."""
        ...

    async def suborganizations_with(self, parent_id: str, kind: LookupKind, value: str) -> list[str]:
        """Ids of at most two sub-organizations that can be found by this value."""
        ...

    async def suborganizations(
        self, parent_id: str, found_by: tuple[LookupKind, str] | None, page: Page
    ) -> list[str] | None:
        """Ids of the parent's sub-organizations, or of those found by a value, in order of creation; an address in
        any spelling. None if the page's cursor is not of this list."""
        ...
