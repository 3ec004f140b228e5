"""The step that authorizes an activity: builds the authorization request, and waits for missing MFA proofs.

Here: pure functions of the organization, its compiled policies and the activity. Not here: the rules
(`policies.authorize`), whose proofs are missing (`mfa_statuses`), the next status (`states`).
"""

from __future__ import annotations

from collections.abc import Sequence, Set

import msgspec

from keystead.api.records import Evaluation, PolicyOutcome, Timestamp, Vote
from keystead.organizations.organization import Organization
from keystead.pipeline.activity import Proof, RecordedActivity
from keystead.pipeline.case import Case, requested_activity, resource_keywords
from keystead.pipeline.mfa_statuses import voters_lacking_proofs
from keystead.pipeline.proofs import credentials_that_count
from keystead.pipeline.states import Event
from keystead.policies.authorize import (
    ALLOWED_BY_ROOT_QUORUM,
    Decision,
    Verdict,
    as_recorded,
    authorize,
    is_quorum_met,
    may_vote,
)
from keystead.policies.request import (
    Approval,
    AuthorizationRequest,
    CredentialUsed,
    may_sign_transaction_unseen,
)


class AuthorizationSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The operator's settings for decisions.

    `refuse_raw_payloads`: raw payloads are refused if a policy of the organization reads transactions, and MFA
    policies that read transactions apply to them.
    """

    refuse_raw_payloads: bool = False


class AuthorizationResult(msgspec.Struct, frozen=True):
    """The result of the step. `event`: what happens to the activity. EXECUTED: it may be executed now."""

    decision: Decision
    event: Event

    def evaluation(self, evaluation_id: str, activity: RecordedActivity, vote: Vote, now_ms: int) -> Evaluation:
        """The record of the decision with this vote."""
        decision = as_recorded(
            self.decision,
            rejected=self.event is Event.REJECTED,
            authenticators_needed=self.event is Event.LACKS_AUTHENTICATORS,
        )
        return Evaluation(
            id=evaluation_id,
            activity_id=activity.id,
            organization_id=activity.organization_id,
            vote_id=vote.id,
            policy_evaluations=tuple(
                PolicyOutcome(
                    policy_id=evaluation.policy_id,
                    outcome=evaluation.outcome,
                    clause=evaluation.clause,
                    reason=evaluation.reason,
                )
                for evaluation in decision.evaluations
            ),
            created_at=Timestamp.from_ms(now_ms),
            verdict=decision.verdict.value,
            rule=decision.rule.value,
            policy_ids=decision.policy_ids,
        )


def authorize_activity(
    case: Case, organization: Organization, settings: AuthorizationSettings
) -> AuthorizationResult:
    """Decide whether the activity may be executed now, by the rules of this organization and the MFA policies.

    A denied activity on record waits for other approvals.
    """
    lacking = voters_lacking_proofs(case, organization)
    decision = _decision(case, organization, settings, lacking)
    # The activity always waits for the submitter's proofs. It does not wait for another voter's if the other
    # approvals allow it.
    if case.submitter_id in lacking or (lacking and decision.verdict is not Verdict.ALLOW):
        return AuthorizationResult(decision, Event.LACKS_AUTHENTICATORS)
    allowed = decision.verdict is Verdict.ALLOW
    return AuthorizationResult(decision, Event.EXECUTED if allowed else Event.LACKS_CONSENSUS)


def decision_on(case: Case, organization: Organization, settings: AuthorizationSettings) -> Decision:
    """The decision by the rules, without regard to the MFA proofs that it may lack."""
    return _decision(case, organization, settings, voters_lacking_proofs(case, organization))


def _decision(
    case: Case, organization: Organization, settings: AuthorizationSettings, lacking: Set[str]
) -> Decision:
    approvals = _approvals(case, lacking)
    # If the root quorum allows the activity, no authorization request is built.
    approving = {approval.user_id for approval in approvals}
    if case.scope is None and is_quorum_met(organization.profile.root_quorum, approving):
        return ALLOWED_BY_ROOT_QUORUM
    return authorize(_request(case, organization, settings, approvals), case.policies.policy_set)


def authorization_request(
    case: Case, organization: Organization, settings: AuthorizationSettings
) -> AuthorizationRequest:
    """Everything that the decision depends on besides the policies."""
    approvals = _approvals(case, voters_lacking_proofs(case, organization))
    return _request(case, organization, settings, approvals)


def _request(
    case: Case, organization: Organization, settings: AuthorizationSettings, approvals: Sequence[Approval]
) -> AuthorizationRequest:
    resources = resource_keywords(case, organization)
    activity = requested_activity(case)
    return AuthorizationRequest(
        root_quorum=organization.profile.root_quorum,
        users=organization.users.by_id,
        approvals=approvals,
        submitter_id=case.submitter_id,
        activity=activity,
        now_ms=case.now_ms,
        owner_id=case.owner_id,
        scope=case.scope,
        resources=resources.values,
        others=resources.others,
        refuses_raw_payload=settings.refuse_raw_payloads
        and case.policies.policy_set.reads_transactions
        and may_sign_transaction_unseen(activity),
    )


def _approvals(case: Case, lacking: Set[str]) -> list[Approval]:
    """The approvals that do not wait for MFA proofs of the approver. The MFA of the submitter is checked after the
    policies, not here."""
    proofs = [proof for proof in case.proofs if proof.user_id == case.submitter_id or proof.user_id not in lacking]
    counted = set[str]()
    for of_one in credentials_that_count(proofs, case.submission):
        ids = [proof.record_id for proof in of_one]
        # A credential counts in place of the sessions that it began; of such sessions alone, the first counts.
        counted.add(of_one[0].origin if of_one[0].origin in ids else ids[0])
    return [Approval(proof.user_id, _used(proof) if proof.record_id in counted else None) for proof in proofs]


def _used(proof: Proof) -> CredentialUsed:
    return CredentialUsed(
        id=proof.record_id, type=proof.type, public_key=proof.public_key, credential_id=proof.credential_id
    )


def may_approve(case: Case, organization: Organization, user_id: str, settings: AuthorizationSettings) -> bool:
    """Whether this user of the organization may vote: if the vote would count. The submitter always may vote, to
    prove further methods or to cancel the activity."""
    if user_id == case.submitter_id:
        return True
    request = authorization_request(case, organization, settings)
    return may_vote(request, case.policies.policy_set, user_id)
