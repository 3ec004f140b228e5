"""What the pipeline and the operations need of a store. `storage` implements it, once for each database.

A commit is written whole or not at all, and survives a crash once it was reported. It is written only if the
organization still has the version that the commit was decided on. Commits of one organization take effect in the
order in which they were handed in. A read sees every commit that any process reported before the read began.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from enum import Enum
from typing import Protocol

import msgspec

from keystead.api.enums import ActivityStatus
from keystead.api.records import Evaluation, WalletAccount
from keystead.organizations.attached_rows import VersionedRow
from keystead.organizations.attachments import Attachment
from keystead.organizations.lookups import Lookup, LookupKind
from keystead.organizations.organization import Change, Organization, Version
from keystead.organizations.outgoing_messages import EmailEvent
from keystead.pipeline.activity import Activity
from keystead.pipeline.context import ContextReads


class Page(msgspec.Struct, frozen=True):
    """At most `limit` items of a list, beyond `after` or ahead of `before` (ids, exclusive, not both)."""

    limit: int
    before: str | None = None
    after: str | None = None


class OrganizationChange(msgspec.Struct, frozen=True, kw_only=True):
    """What a commit writes of an organization, which is `after` then: its next version, or a new organization.

    `lookups_added` lead to the organization from now on, `lookups_removed` no longer. `shares_credentials`: the
    public keys and credential ids among them may be those of other sub-organizations of the same parent.
    """

    after: Organization
    changes: tuple[Change, ...]
    attachments: tuple[Attachment, ...]
    lookups_added: frozenset[Lookup]
    lookups_removed: frozenset[Lookup] = frozenset()
    shares_credentials: bool = False


class Commit(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes durable together: an activity, what it changed, the organization it made, the evaluations.

    `decided_on` is the version of the organization that all of it was decided on: the commit succeeds only while
    that is the newest. An activity of revision 0 is new; a later one replaces the revision before it, and only
    that. Its votes are stored by user: a later vote of a user replaces the earlier one. `authorized_by`: the
    organization whose policies decided, where that is another one, and its version, which must be the newest, too.
    `rows` belong to the organization; each succeeds only while the revision before it is what is stored.
    """

    organization_id: str
    decided_on: Version
    activity: Activity | None
    authorized_by: tuple[str, Version] | None = None
    change: OrganizationChange | None = None
    new_organization: OrganizationChange | None = None
    evaluations: tuple[Evaluation, ...] = ()
    rows: tuple[VersionedRow, ...] = ()


class CommitOutcome(Enum):
    COMMITTED = "committed"
    CONFLICT = "the organization, the activity or a row is no longer what the commit began from"
    DUPLICATE = "an activity of this fingerprint is already there"
    CREDENTIAL_HELD = "another sub-organization of the same parent has registered a credential of the commit"


class OrganizationLock(Protocol):
    """An organization that no other process changes until the lock is released.

    The lock ends by itself after a time limit, so that a process that stands still does not keep the others
    waiting.
    """

    @property
    def organization(self) -> Organization | None:
        """The organization as it was when the lock was taken: its newest version."""
        ...

    @property
    def is_released(self) -> bool: ...

    def commit(self, commit: Commit) -> asyncio.Future[CommitOutcome]:
        """As `Store.commit`, but written when the lock is released, together with the others under this lock. After
        that, a commit like any other."""
        ...

    def release(self) -> None:
        """Write what was committed under the lock, in one transaction, and unlock. Returns before that is done."""
        ...


class Store(ContextReads, Protocol):
    """Every method raises Unavailable while the database does not answer."""

    def commit(self, commit: Commit) -> asyncio.Future[CommitOutcome]:
        """Hand in a commit; the future tells its outcome once it is durable. Unavailable: sending the same
        request again is safe, whether or not the commit was kept."""
        ...

    async def lock(self, organization_id: str) -> OrganizationLock:
        """Lock an organization, for those who keep losing races for it to another process.

        Processes get the lock in about the order in which they ask. On SQLite, where one process serves, nothing is
        locked. The caller must release it.
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

    async def email_events(
        self, organization_id: str, recipient: str, event_type: str, page: Page
    ) -> list[EmailEvent]:
        """What became of e-mails to this address, newest first; "" is any type."""
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
