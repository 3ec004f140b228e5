"""What a user may still do with an activity that waits for votes or proofs. Not here: the vote itself
(`vote`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from keystead.organizations.organization import Organization
from keystead.pipeline import authorization
from keystead.pipeline.activity import Activity
from keystead.pipeline.case import Case
from keystead.pipeline.environment import Environment
from keystead.pipeline.load_context import case_of_activity


class OpenActivities(msgspec.Struct, frozen=True):
    """The decisions about activities that are not final, without a vote."""

    environment: Environment

    def now(self, activity: Activity) -> Activity:
        """The activity as it is now. Approvals lapse with time, without a request."""
        settings = self.environment.settings
        return activity.at(self.environment.clock.now_ms(), settings.approvals_last_ms)

    async def case_of(self, activity: Activity, organization: Organization, user_ids: Sequence[str] = ()) -> Case:
        """The case on which a vote of these users would be decided now."""
        return await case_of_activity(
            self.now(activity), organization, self.environment, self.environment.clock.now_ms(), user_ids
        )

    async def standing(self, activity: Activity, organization: Organization, user_id: str) -> Standing:
        """What this user of the organization may do with an open activity.

        It is cached under everything that it depends on: the version of the organization with its policies, the
        votes, the lapse of approvals, and the second on the server's clock if policies read time.
        """
        now_s, settings = self.environment.clock.now_ms() // 1_000, self.environment.settings.authorization
        key = (activity.id, activity.revision, activity.approvals_since_ms, organization.version, user_id)
        for second in (None, now_s):
            if (cached := self.environment.standings.get((*key, second))) is not None:
                return Standing(*cached)
        case = await self.case_of(activity, organization, (user_id,))
        standing = await self.environment.long_work.decide(
            organization.id, lambda: _standing(case, organization, user_id, settings)
        )
        reads_time = case.policies.policy_set.reads_time
        self.environment.standings.put((*key, now_s if reads_time else None), standing)
        return standing


class Standing(NamedTuple):
    """What a user may do with an activity. `lacks_proofs`: the user may vote, and an approval waits for further
    proofs by the same user."""

    may_vote: bool
    lacks_proofs: bool


def _standing(
    case: Case, organization: Organization, user_id: str, settings: authorization.AuthorizationSettings
) -> Standing:
    may_vote = authorization.may_approve(case, organization, user_id, settings)
    return Standing(may_vote, may_vote and authorization.lacks_mfa_proofs(case, organization, user_id))
