"""What the pipeline and the operations need of a store. `storage` implements it for each database.

A commit is written completely or not at all. After it was reported, it survives a crash. It is written only if
the organization still has the version that the commit was decided on. Commits of one organization take effect in
the order in which they were handed in. A read sees every commit that any process reported before the read began.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from enum import Enum
from typing import Protocol

import msgspec

from keystead.api.enums import ActivityStatus
from keystead.api.records import Evaluation, Vote, WalletAccount
from keystead.organizations.attached_rows import VersionedRow
from keystead.organizations.attachments import Attachment
from keystead.organizations.lookups import AccountLookupKind, Lookup, LookupKind
from keystead.organizations.organization import Change, Organization, Version
from keystead.organizations.outgoing_messages import EmailEventRow
from keystead.organizations.refused_requests import RefusedRequest
from keystead.pipeline.activity import RecordedActivity
from keystead.pipeline.context import ContextReads


class Page(msgspec.Struct, frozen=True):
    """At most `limit` items of a list, those that follow the id `after` or precede the id `before` (not both)."""

    limit: int
    before: str | None = None
    after: str | None = None


class ActivityCount(msgspec.Struct, frozen=True):
    """How many activities of a type and status are in a period. `period`: its number, from 0."""

    period: int
    activity_type: str
    status: ActivityStatus
    count: int


class OrganizationWrite(msgspec.Struct, frozen=True, kw_only=True):
    """What a commit writes of an organization. `after`: the organization afterwards, in its next version, or a new
    one.

    `lookups_added`: values that find the organization from now on. `lookups_removed`: values that no longer find
    it. `shares_credentials`: other sub-organizations of the same parent may have the public keys and credential ids
    among the added values.
    """

    after: Organization
    changes: tuple[Change, ...]
    attachments: tuple[Attachment, ...]
    lookups_added: frozenset[Lookup]
    lookups_removed: frozenset[Lookup] = frozenset()
    shares_credentials: bool = False


class Commit(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes durable together: an activity, its changes, the organization that it created, the evaluations.

    `decided_on` is the version of the organization that everything was decided on. The commit succeeds only while
    that is the newest version. An activity of revision 0 is new; a later revision replaces exactly the revision
    before it. `new_votes`: the votes of the activity that are not stored yet. They are stored by user: a later vote
    of a user replaces the earlier one. `authorized_by`: if the policies of another organization decided, its id and
    version; this version must be the newest, too. `rows` belong to the organization, or to the one that
    they name; each row succeeds only while its previous revision is stored.
    """

    organization_id: str
    decided_on: Version
    activity: RecordedActivity | None
    new_votes: tuple[Vote, ...] = ()
    authorized_by: tuple[str, Version] | None = None
    write: OrganizationWrite | None = None
    new_organization: OrganizationWrite | None = None
    evaluations: tuple[Evaluation, ...] = ()
    rows: tuple[VersionedRow, ...] = ()


class CommitResult(Enum):
    COMMITTED = "committed"
    CONFLICT = "the organization, the activity or a row has changed since the commit was decided on"
    DUPLICATE = "an activity of this fingerprint is on record"
    CREDENTIAL_HELD = "another sub-organization of the same parent has registered a credential of the commit"


class OrganizationLock(Protocol):
    """An organization that this process has locked, so that other processes do not change it meanwhile.

    PostgreSQL guarantees this. On SQLite the lock is advisory: a process that waits too long for it continues
    without it. Commits under the lock are checked like all others, so they are correct in both cases. The lock ends
    after a time limit, so that a process that hangs does not block the others.
    """

    @property
    def organization(self) -> Organization | None:
        """The organization as it was when the lock was taken: its newest version."""
        ...

    @property
    def is_released(self) -> bool: ...

    def commit(self, commit: Commit) -> asyncio.Future[CommitResult]:
        """Like `Store.commit`, but the commit is written when the lock is released, together with the others
        under this lock. After the release it is the same as `Store.commit`."""
        ...

    def release(self) -> None:
        """Start to write what was committed under the lock, and then to unlock. Returns at once.

        PostgreSQL writes these commits in the transaction that holds the lock. If that fails although the database
        answers, they are written without the lock. On SQLite they are written like other commits.
        """
        ...


class Store(ContextReads, Protocol):
    """Every method raises Unavailable while the database does not answer."""

    def commit(self, commit: Commit) -> asyncio.Future[CommitResult]:
        """Hand in a commit. The future has its result when the commit is durable. After Unavailable the commit
        may or may not be stored; the caller may safely send the same request again."""
        ...

    async def lock(self, organization_id: str) -> OrganizationLock:
        """Lock an organization, after commits for it were in conflict with another process.

        Processes get the lock in about the order in which they ask. PostgreSQL locks the organization's row. On
        SQLite a file beside the database is locked. The caller must release the lock.
        """
        ...

    async def activity(self, organization_id: str, activity_id: str) -> RecordedActivity | None: ...

    async def activity_with_fingerprint(
        self, organization_id: str, fingerprint: str
    ) -> RecordedActivity | None: ...

    async def activities(
        self,
        organization_id: str,
        statuses: Sequence[ActivityStatus],
        types: Sequence[str],
        page: Page,
    ) -> list[RecordedActivity] | None:
        """Newest first; no statuses or types means any. None if the page's cursor is not of this list."""
        ...

    async def interface_texts(self, organization_id: str) -> dict[str, str]:
        """The text of every contract interface of the organization, by id."""
        ...

    async def wallet_accounts(
        self, organization_id: str, wallet_id: str | None, page: Page
    ) -> list[WalletAccount] | None:
        """In order of creation. None if the page's cursor is not of this list."""
        ...

    async def wallet_account(
        self, organization_id: str, wallet_id: str, address: str | None, path: str | None
    ) -> WalletAccount | None:
        """The oldest account with this address and this normalized path. Either may be None, which means any."""
        ...

    async def evaluations(self, organization_id: str, activity_id: str) -> list[Evaluation]:
        """The evaluations of an activity, in order: one for its submission and one for each vote. A denied
        submission has one, too."""
        ...

    async def email_events(
        self, organization_id: str, recipient: str, event_type: str, page: Page
    ) -> list[EmailEventRow] | None:
        """The events of e-mails to this address, newest first. The type "" means any. None if the page's cursor is
        not an event of this address."""
        ...

    async def activity_counts(
        self, organization_id: str, statuses: Sequence[ActivityStatus], bounds_ms: Sequence[int]
    ) -> list[ActivityCount]:
        """How many activities of these statuses were submitted between each bound and the next. Bounds are
        milliseconds since the epoch. Counts of 0 are left out."""
        ...

    async def refused_requests(self, organization_id: str, page: Page, now_ms: int) -> list[RefusedRequest]:
        """The refused requests that are still kept, newest first, after the id `page.after`."""
        ...

    async def refused_request_counts(self, organization_id: str, bounds_ms: Sequence[int]) -> list[int]:
        """How many requests were refused between each bound and the next."""
        ...

    async def organizations_with(self, kind: LookupKind, value: str, limit: int) -> list[str]:
        """Ids of organizations that this value finds, of any parent. A deleted one may be among them."""
        ...

    async def suborganizations_with(self, parent_id: str, kind: AccountLookupKind, value: str) -> list[str]:
        """Ids of at most two sub-organizations that this value finds."""
        ...

    async def suborganizations(
        self, parent_id: str, found_by: tuple[LookupKind, str] | None, page: Page
    ) -> list[str] | None:
        """Ids of the parent's sub-organizations, in order of creation; with `found_by`, of those with this value.
        An address may have any spelling. None if the page's cursor is not of this list."""
        ...
