"""What a reader may still do about an activity that waits for votes or proofs. Not here: the vote itself
(`vote`)."""

from __future__ import annotations

import msgspec

from keystead.organizations.organization import Organization
from keystead.pipeline import deciding
from keystead.pipeline.activity import Activity
from keystead.pipeline.cases import case_of_activity
from keystead.pipeline.deciding import Case
from keystead.pipeline.environment import Environment


class OpenActivities(msgspec.Struct, frozen=True):
    environment: Environment

    def now(self, activity: Activity) -> Activity:
        """The activity as it is now: approvals lapse without a request."""
        rules = self.environment.rules
        return deciding.at(activity, self.environment.clock.now_ms(), rules.approvals_last_ms)

    async def case_of(self, activity: Activity, organization: Organization) -> Case:
        """The activity with its context, as a vote would be decided on now."""
        return await case_of_activity(activity, organization, self.environment)

    def may_vote(self, case: Case, organization: Organization, user_id: str) -> bool:
        """Whether this user of the organization may vote on an open activity."""
        return deciding.may_approve(case, organization, user_id, fail_closed=self.environment.rules.fail_closed)

    @staticmethod
    def lacks_proofs(case: Case, organization: Organization, user_id: str) -> bool:
        """Whether this user's approval waits for further proofs by the same user."""
        found = deciding.mfa_status(case, organization, user_id)
        return found is not None and not found.satisfied
