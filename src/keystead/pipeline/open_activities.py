"""What a user may still do with an activity that waits for votes or proofs. Not here: the vote itself
(`vote`), which never uses what is remembered here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from keystead.organizations.organization import Organization, Version
from keystead.pipeline import authorization
from keystead.pipeline.activity import RecordedActivity
from keystead.pipeline.decision_basis import DecisionBasis, basis_of_activity
from keystead.pipeline.environment import Environment
from keystead.pipeline.mfa import MfaStatuses
from keystead.primitives.lru import Lru
from keystead.primitives.share import Work

VOTE_RIGHTS_MAX: Final = 100_000
"""Entries, of some 500 bytes each."""


class VoteRights(NamedTuple):
    """`lacks_proofs`: the user may vote, and an approval waits for further proofs by the same user."""

    may_vote: bool
    lacks_proofs: bool


class _RightsKey(NamedTuple):
    """Everything that the vote rights of a user depend on.

    The version stands for the users, the policies and the settings of the organization, the revision for the
    votes, `approvals_since_ms` for the approvals that have not lapsed. `now_s`: the second of the server's clock
    if a policy reads the time, otherwise None.
    """

    activity_id: str
    revision: int
    approvals_since_ms: int
    version: Version
    user_id: str
    now_s: int | None


class OpenActivities:
    """The open activities, as one process sees them.

    The console and the clients of approvers list waiting activities every few seconds. So that such a list does not
    evaluate the same policies again, the vote rights that answers show are remembered.
    """

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._vote_rights = Lru[_RightsKey, VoteRights](VOTE_RIGHTS_MAX)

    def now(self, activity: RecordedActivity) -> RecordedActivity:
        """The activity as it is now. Approvals lapse with time, without a request."""
        settings = self._environment.settings
        return activity.at(self._environment.clock.now_ms(), settings.approvals_last_ms)

    async def basis_of(
        self, activity: RecordedActivity, organization: Organization, user_ids: Sequence[str] = ()
    ) -> DecisionBasis:
        """What a vote of these users would be decided on now."""
        return await basis_of_activity(
            self.now(activity), organization, self._environment, self._environment.clock.now_ms(), user_ids
        )

    async def vote_rights(self, activity: RecordedActivity, organization: Organization, user_id: str) -> VoteRights:
        """What this user of the organization may do with an open activity. `activity`: as it is now."""
        environment, now_s = self._environment, self._environment.clock.now_ms() // 1_000
        timeless = _RightsKey(
            activity.id, activity.revision, activity.approvals_since_ms, organization.version, user_id, now_s=None
        )
        timed = timeless._replace(now_s=now_s)
        for key in (timeless, timed):
            if (known := self._vote_rights.get(key)) is not None:
                return known
        basis = await self.basis_of(activity, organization, (user_id,))
        rights = await environment.share.run(
            organization.id,
            Work.DECISION,
            lambda: _vote_rights(basis, user_id),
        )
        # What is left of a velocity control changes without a new version, too.
        changes = basis.policies.policy_set.reads_time or basis.controls is not None
        self._vote_rights.put(timed if changes else timeless, rights)
        return rights


def _vote_rights(basis: DecisionBasis, user_id: str) -> VoteRights:
    may_vote = authorization.may_approve(basis, user_id)
    return VoteRights(may_vote, may_vote and MfaStatuses(basis, (user_id,)).lacks_proofs(user_id))
