"""What a user may still do with an activity that waits for votes or proofs. Not here: the vote itself
(`vote`)."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from keystead.organizations.organization import Organization
from keystead.pipeline import authorization
from keystead.pipeline.activity import Activity
from keystead.pipeline.authorization import Case
from keystead.pipeline.cases import case_of_activity
from keystead.pipeline.environment import Environment


class OpenActivities(msgspec.Struct, frozen=True):
    environment: Environment

    def now(self, activity: Activity) -> Activity:
        """The activity as it is now. Approvals lapse with time, without a request."""
        rules = self.environment.rules
        return authorization.at(activity, self.environment.clock.now_ms(), rules.approvals_last_ms)

    async def case_of(self, activity: Activity, organization: Organization, user_ids: Sequence[str] = ()) -> Case:
        """The case on which a vote of these users would be decided now."""
        return await case_of_activity(activity, organization, self.environment, user_ids)

    def may_vote(self, case: Case, organization: Organization, user_id: str) -> bool:
        """Whether this user of the organization may vote on an open activity."""
        return authorization.may_approve(case, organization, user_id, self.environment.rules.authorization)

    @staticmethod
    def lacks_proofs(case: Case, organization: Organization, user_id: str) -> bool:
        """Whether this user's approval waits for further proofs by the same user."""
        return authorization.lacks_mfa_proofs(case, organization, user_id)
