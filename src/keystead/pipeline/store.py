"""What the pipeline and the operations need of a store. `storage` implements it for each database.

A commit is written completely or not at all. After it was reported, it survives a crash. It is written only if
the organization still has the version that the commit was decided on. Commits of one organization take effect in
the order in which they were handed in. A read sees every commit that any process reported before the read began.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from enum import Enum
from typing import Final, Protocol

import msgspec

from keystead.api.enums import ActivityStatus
from keystead.api.errors import ServiceError
from keystead.api.records import Evaluation, Vote, WalletAccount
from keystead.organizations.attached_rows import VersionedRow
from keystead.organizations.attachments import Attachment
from keystead.organizations.contacts.outgoing_messages import EmailEventRow
from keystead.organizations.lookups import AccountLookupKind, Lookup, LookupKind
from keystead.organizations.organization import Change, Organization, Version
from keystead.organizations.principals import ambiguous_value_error
from keystead.organizations.refused_requests import RefusedRequest
from keystead.organizations.velocity.counters import Counted
from keystead.pipeline.activity import RecordedActivity
from keystead.pipeline.context import AccountLookups, AttachedLookups, ContextReads, SiblingReads
from keystead.pipeline.execution import ComputedOutput

LOCK_S: Final = 2.0
"""The longest time, in seconds, for which an organization is locked. Other processes wait while it is locked."""


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


class Changes(msgspec.Struct, frozen=True, kw_only=True):
    """What a commit changes of an organization, or an organization that it makes.

    `after`: the organization afterwards, in its next version, or a new one. `records`: the records that it puts and
    removes. `lookups_added`: values that find the organization from now on. `lookups_removed`: values that no
    longer find it. `shares_credentials`: other sub-organizations of the same parent may have the public keys and
    credential ids among the added values."""

    after: Organization
    records: tuple[Change, ...]
    attachments: tuple[Attachment, ...]
    lookups_added: frozenset[Lookup]
    lookups_removed: frozenset[Lookup] = frozenset()
    shares_credentials: bool = False


class Commit(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes durable together: an activity, its votes, its changes, the evaluation, rows beside them.

    `decided_on` is the version of the organization that everything was decided on. The commit succeeds only while
    that is the newest version. An activity of revision 0 is new; a later revision replaces exactly the revision
    before it. `new_votes`: the votes of the activity that are not stored yet. They are stored by user: a later vote
    of a user replaces the earlier one. `authorized_by`: if the policies of another organization decided, its id and
    version; this version must be the newest, too. `rows` belong to the organization, or to the one that they name;
    each row succeeds only while its previous revision is stored. `counted`: what is added to the counters of
    velocity controls; it succeeds only if what the decision relied on holds in the transaction.

    `answer`: what the caller gets instead of the activity: the activity with the secrets of its result, or the
    refusal that is on record. `computed`: for the next attempt at the same request, if this one is in conflict."""

    organization_id: str
    decided_on: Version
    activity: RecordedActivity | None
    new_votes: tuple[Vote, ...] = ()
    authorized_by: tuple[str, Version] | None = None
    changes: Changes | None = None
    new_organization: Changes | None = None
    evaluations: tuple[Evaluation, ...] = ()
    rows: tuple[VersionedRow, ...] = ()
    counted: tuple[Counted, ...] = ()
    answer: RecordedActivity | ServiceError | None = None
    computed: ComputedOutput | None = None


class CommitResult(Enum):
    """What became of a commit: it is durable, or nothing of it is."""

    COMMITTED = "committed"
    CONFLICT = "the organization, the activity or a row has changed since the commit was decided on"
    DUPLICATE = "an activity of this fingerprint is on record"
    CREDENTIAL_HELD = "another sub-organization of the same parent has registered a credential of the commit"


async def results_of(commits: Sequence[asyncio.Future[CommitResult]]) -> Sequence[CommitResult | ServiceError]:
    """The result of each commit that was handed in, or the error for its caller."""
    results: list[CommitResult | ServiceError] = []
    for commit in commits:
        try:
            results.append(await commit)
        except ServiceError as error:
            results.append(error)
    return results


class LockedOrganization(Protocol):
    """An organization that this process has locked, so that other processes do not change it meanwhile.

    PostgreSQL guarantees this. On SQLite the lock is advisory: a process that waits too long for it continues
    without it. Commits under the lock are checked like all others, so they are correct in both cases.
    """

    @property
    def organization(self) -> Organization | None:
        """The organization as it was when the lock was taken: its newest version. None if it does not exist."""
        ...

    async def write(self, commits: Sequence[Commit]) -> Sequence[CommitResult | ServiceError]:
        """Write the commits in this order, and unlock. Returns the result of each, or the error for its caller.

        PostgreSQL writes them in the transaction that holds the lock. If that fails although the database answers,
        they are written without the lock. On SQLite they are written like other commits.
        """
        ...


class ActivityReads(Protocol):
    """Reads of the activities of an organization."""

    async def get(self, organization_id: str, activity_id: str) -> RecordedActivity | None: ...

    async def with_fingerprint(self, organization_id: str, fingerprint: str) -> RecordedActivity | None: ...

    async def page(
        self,
        organization_id: str,
        statuses: Sequence[ActivityStatus],
        types: Sequence[str],
        page: Page,
    ) -> list[RecordedActivity] | None:
        """Newest first; no statuses or types means any. None if the page's cursor is not of this list."""
        ...

    async def evaluations(self, organization_id: str, activity_id: str) -> list[Evaluation]:
        """The evaluations of an activity, in order: one for its submission and one for each vote. A denied
        submission has one, too."""
        ...

    async def counts(
        self, organization_id: str, statuses: Sequence[ActivityStatus], bounds_ms: Sequence[int]
    ) -> list[ActivityCount]:
        """How many activities of these statuses were submitted between each bound and the next. Bounds are
        milliseconds since the epoch. Counts of 0 are left out."""
        ...


class AccountReads(AccountLookups, Protocol):
    """Also the accounts of wallets in their order."""

    async def page(self, organization_id: str, wallet_id: str | None, page: Page) -> list[WalletAccount] | None:
        """In order of creation. None if the page's cursor is not of this list."""
        ...

    async def find(
        self, organization_id: str, wallet_id: str, address: str | None, path: str | None
    ) -> WalletAccount | None:
        """The oldest account with this address and this normalized path. Either may be None, which means any."""
        ...


class AttachedReads(AttachedLookups, Protocol):
    """Also all contract interfaces, and the events of e-mails."""

    async def interface_texts(self, organization_id: str) -> dict[str, str]:
        """The text of every contract interface of the organization, by id."""
        ...

    async def email_events(
        self, organization_id: str, recipient: str, event_type: str, page: Page
    ) -> list[EmailEventRow] | None:
        """The events of e-mails to this address, newest first. The type "" means any. None if the page's cursor is
        not an event of this address."""
        ...


class RefusedRequestReads(Protocol):
    """Reads of the requests that an organization refused."""

    async def page(self, organization_id: str, page: Page, now_ms: int) -> list[RefusedRequest]:
        """The refused requests that are still kept, newest first, after the id `page.after`."""
        ...

    async def counts(self, organization_id: str, bounds_ms: Sequence[int]) -> list[int]:
        """How many requests were refused between each bound and the next."""
        ...


class SuborganizationReads(SiblingReads, Protocol):
    """Reads of the sub-organizations of a parent."""

    async def with_value(self, parent_id: str, kind: AccountLookupKind, value: str) -> list[str]:
        """Ids of at most two sub-organizations that this value finds."""
        ...

    async def page(self, parent_id: str, lookup: tuple[LookupKind, str] | None, page: Page) -> list[str] | None:
        """Ids of the parent's sub-organizations, in order of creation; with `lookup`, of those with this value. An
        address may have any spelling. None if the page's cursor is not of this list."""
        ...


class Store(ContextReads, Protocol):
    """Every method raises Unavailable while the database does not answer."""

    @property
    def activities(self) -> ActivityReads: ...

    @property
    def accounts(self) -> AccountReads: ...

    @property
    def attached(self) -> AttachedReads: ...

    @property
    def suborganizations(self) -> SuborganizationReads: ...

    @property
    def refused_requests(self) -> RefusedRequestReads: ...

    async def organizations_with(self, kind: LookupKind, value: str, limit: int) -> list[str]:
        """Ids of organizations that this value finds, of any parent. A deleted one may be among them."""
        ...

    def commit(self, commit: Commit) -> asyncio.Future[CommitResult]:
        """Hand in a commit. The future has its result when the commit is durable. After Unavailable the commit
        may or may not be stored; the caller may safely send the same request again."""
        ...

    def locked(self, organization_id: str) -> AbstractAsyncContextManager[LockedOrganization]:
        """Lock an organization for the block, after commits for it were in conflict with another process.

        Processes get the lock in about the order in which they ask. PostgreSQL locks the organization's row. On
        SQLite a file beside the database is locked. The block may last LOCK_S.
        """
        ...


async def suborganization_with(store: Store, parent_id: str, kind: AccountLookupKind, value: str) -> str | None:
    """The id of the parent's sub-organization that this value finds; None if it finds none. Raises Unauthenticated
    if it finds several."""
    ids = await store.suborganizations.with_value(parent_id, kind, value)
    if len(ids) > 1:
        raise ambiguous_value_error(kind)
    return ids[0] if ids else None
