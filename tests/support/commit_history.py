"""Commits to an organization, as the pipeline hands them in.

Here: commits from one version to the next, and the revisions of waiting activities. Not here: the records
(`commit_samples`).
"""

from __future__ import annotations

from dataclasses import dataclass

from msgspec.structs import replace

from keystead.api.enums import ActivityStatus
from keystead.api.records import User
from keystead.organizations.attachments import Attachment, InterfaceText
from keystead.organizations.lookups import Lookup, name_lookup, user_lookups
from keystead.organizations.organization import (
    Change,
    Organization,
    Put,
    Record,
    Remove,
    Version,
    apply,
    records_of,
)
from keystead.pipeline.activity import RecordedActivity
from keystead.pipeline.store import Changes, Commit, CommitResult
from keystead.storage.store import DatabaseStore
from tests.support.commit_samples import a_proof, a_vote, an_activity, an_interface, an_organization, incompressible


async def new_history(store: DatabaseStore) -> CommitHistory:
    """The history of the first organization of an empty database."""
    organization = an_organization()
    assert await store.bootstrap(organization, (), found_by(organization), {})
    return CommitHistory(organization)


@dataclass
class CommitHistory:
    """A small model of the pipeline: `head` is the organization on which the next commit is decided."""

    head: Organization

    def step(
        self,
        *changes: Record | Remove,
        attachments: tuple[Attachment, ...] = (),
        fingerprint: str | None = None,
        padding: int = 0,
    ) -> Commit:
        """A commit that changes records; without arguments, it adds an interface with its text."""
        if not changes and not attachments:
            interface = an_interface()
            changes = (interface,)
            attachments = (InterfaceText(interface.id, f"abi of {interface.id}" + incompressible(padding)),)
        activity = an_activity(self.head, fingerprint=fingerprint, padding=padding)
        before = self.head.version
        write = self.write_of(activity, *changes, attachments=attachments)
        return replace(of(activity, self.head), decided_on=before, changes=write)

    def write_of(
        self, activity: RecordedActivity, *changes: Record | Remove, attachments: tuple[Attachment, ...] = ()
    ) -> Changes:
        """The organization write of this activity. Look-ups of users are written and deleted with the users."""
        before = self.head
        steps = tuple(one if isinstance(one, Remove) else Put(one) for one in changes)
        self.head = apply(before, steps, Version(before.version.number + 1, activity.id))
        known, found = _users_found(before, steps), _users_found(self.head, steps)
        return Changes(
            after=self.head,
            records=steps,
            attachments=attachments,
            lookups_added=found - known,
            lookups_removed=known - found,
        )

    def signing(self, *, fingerprint: str | None = None) -> Commit:
        """A commit that changes no record."""
        activity = an_activity(self.head, fingerprint=fingerprint)
        return of(activity, self.head)

    def suborganization(
        self, child: Organization, *attachments: Attachment, shares_credentials: bool = True
    ) -> Commit:
        """A commit by this organization that creates another: by a user of its own, or as a sign-up, which may not
        bring the credentials of others."""
        creation = Changes(
            after=child,
            records=tuple(Put(record) for record in records_of(child)),
            attachments=attachments,
            lookups_added=found_by(child),
            shares_credentials=shares_credentials,
        )
        return replace(of(an_activity(self.head), self.head), new_organization=creation)


def found_by(organization: Organization) -> frozenset[Lookup]:
    """The look-ups of its users and its name."""
    of_users = [lookup for user in organization.users.in_order() for lookup in user_lookups(user)]
    return frozenset({*of_users, name_lookup(organization.profile.name)})


def _users_found(organization: Organization, changes: tuple[Change, ...]) -> frozenset[Lookup]:
    touched = {
        change.record.user_id for change in changes if isinstance(change, Put) and isinstance(change.record, User)
    }
    touched |= {change.id for change in changes if isinstance(change, Remove)}
    users = [user for user in organization.users.in_order() if user.user_id in touched]
    return frozenset(lookup for user in users for lookup in user_lookups(user))


def awaiting(commit: Commit) -> RecordedActivity:
    """The commit's activity, waiting for consensus."""
    assert commit.activity is not None
    return replace(commit.activity, status=ActivityStatus.CONSENSUS_NEEDED, result={})


def of(activity: RecordedActivity, decided_on: Organization) -> Commit:
    """A commit of an activity with all its votes, decided on this version of the organization."""
    return Commit(
        organization_id=activity.organization_id,
        decided_on=decided_on.version,
        activity=activity,
        new_votes=activity.votes,
    )


async def waiting(store: DatabaseStore, history: CommitHistory) -> RecordedActivity:
    """A new activity that waits for consensus."""
    activity = awaiting(history.signing())
    assert await store.commit(of(activity, history.head)) is CommitResult.COMMITTED
    return activity


def approved(activity: RecordedActivity, *voters: User, status: ActivityStatus | None = None) -> RecordedActivity:
    """The activity's next revision: these users have approved it (again)."""
    votes = [a_vote(activity.id, voter, b'{"approves": 1}') for voter in voters]
    kept = [vote for vote in activity.votes if vote.user_id not in {voter.user_id for voter in voters}]
    return replace(
        activity,
        status=status or activity.status,
        votes=(*kept, *votes),
        proofs=(*activity.proofs, *[a_proof(voter) for voter in voters]),
        revision=activity.revision + 1,
        updated_at_ms=activity.updated_at_ms + 1,
    )
