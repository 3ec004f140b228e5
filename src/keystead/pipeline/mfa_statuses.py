"""How far the voters of one activity have met the MFA policies that apply to it.

Pure. Not here: the matching of proofs and methods (`mfa`), what a missing proof means for the activity
(`authorization`).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from keystead.api.catalogue import activity_kind
from keystead.api.records import MfaPolicy, MfaStatus
from keystead.organizations.organization import Organization
from keystead.pipeline import mfa
from keystead.pipeline.activity import Proof
from keystead.pipeline.case import Case, requested_activity, resource_keywords
from keystead.pipeline.mfa_conditions import MfaConditions
from keystead.pipeline.policy_set_cache import evaluated_conditions
from keystead.pipeline.proofs import credentials_that_count
from keystead.policies.request import condition_values, may_sign_transaction_unseen
from keystead.policies.resources import ADDS_CREDENTIALS


def voters_lacking_proofs(case: Case, organization: Organization) -> frozenset[str]:
    """The voters whose approval waits for further proofs by the voter."""
    statuses = MfaStatuses(case, organization).of_voters()
    return frozenset(status.user_id for status in statuses if not status.satisfied)


class MfaStatuses:
    """The MFA statuses for one activity, each computed once, when it is asked for.

    The voters are the submitter, whose approval may have lapsed, and every user whose approval counts.
    `further_users`: users who are not voters, and are asked about as well.
    """

    def __init__(self, case: Case, organization: Organization, further_users: Iterable[str] = ()) -> None:
        self._case = case
        self._organization = organization
        self._voters = list(dict.fromkeys([case.submitter_id, *[proof.user_id for proof in case.proofs]]))
        self._users = list(dict.fromkeys([*self._voters, *further_users]))
        self._statuses: dict[str, list[MfaStatus]] = {}

    def of_voters(self) -> list[MfaStatus]:
        return [status for user_id in self._voters for status in self.of(user_id)]

    def of(self, user_id: str) -> list[MfaStatus]:
        """How far this user has met each MFA policy that applies to the activity; empty if no policy applies."""
        if user_id not in self._statuses:
            self._statuses[user_id] = [
                mfa.policy_status(policy, user_id, self._credentials(user_id)) for policy in self._applying(user_id)
            ]
        return self._statuses[user_id]

    def lacks_proofs(self, user_id: str) -> bool:
        """Whether this user's approval waits for further proofs by that user."""
        return not all(status.satisfied for status in self.of(user_id))

    def _applying(self, user_id: str) -> list[MfaPolicy]:
        user = self._organization.users.get(user_id)
        if user is None or not user.mfa_policies:
            return []
        if self._case.owner_id == user_id and self._adds_credentials:
            # With one stolen credential, nobody must be able to add the credentials that prove the other steps.
            return mfa.in_order(user)
        return mfa.enforced_policies(user, self._conditions)

    def _credentials(self, user_id: str) -> list[list[Proof]]:
        own = [proof for proof in self._case.proofs if proof.user_id == user_id]
        return credentials_that_count(own, self._case.submission)

    @property
    def _adds_credentials(self) -> bool:
        return activity_kind(self._case.version.activity_type) in ADDS_CREDENTIALS

    @cached_property
    def _conditions(self) -> MfaConditions:
        case, organization = self._case, self._organization
        users = [organization.users[id_] for id_ in self._users if id_ in organization.users]
        compiled = case.policies.mfa_conditions
        resources, activity = resource_keywords(case, organization), requested_activity(case)
        return MfaConditions(
            {text: compiled[text] for text in evaluated_conditions(users) if text in compiled},
            [condition_values(activity, item) for item in resources.items],
            may_be_transaction=case.refuses_raw_payloads and may_sign_transaction_unseen(activity),
        )
