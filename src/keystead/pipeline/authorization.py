"""The step that authorizes an activity: builds the authorization request, and finds whose MFA proofs are missing.

Here: pure functions of the organization, its compiled policies and the activity. Not here: the rules
(`policies.authorize`), the next status (`states`).
"""

from __future__ import annotations

import msgspec

from keystead.api.catalogue import activity_kind
from keystead.api.records import Evaluation, MfaStatus, PolicyOutcome, Timestamp, Vote
from keystead.organizations.organization import Organization
from keystead.pipeline import mfa
from keystead.pipeline.activity import Proof, RecordedActivity
from keystead.pipeline.case import Case
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
    RequestedActivity,
    ResourceKeywords,
    condition_values,
    may_sign_transaction_unseen,
    visible_params,
)
from keystead.policies.resources import ADDS_CREDENTIALS


class AuthorizationSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The operator's settings for decisions.

    `deny_policies_fail_closed`: a DENY policy that fails to evaluate denies. `refuse_raw_payloads`: raw payloads
    are refused if a policy of the organization reads transactions, and MFA policies that read transactions apply to
    them.
    """

    deny_policies_fail_closed: bool = False
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
    decision = decision_on(case, organization, settings)
    if _lacks_proofs(case, organization, decision):
        return AuthorizationResult(decision, Event.LACKS_AUTHENTICATORS)
    allowed = decision.verdict is Verdict.ALLOW
    return AuthorizationResult(decision, Event.EXECUTED if allowed else Event.LACKS_CONSENSUS)


def decision_on(case: Case, organization: Organization, settings: AuthorizationSettings) -> Decision:
    """The decision by the rules, without regard to the MFA proofs that it may lack.

    If the root quorum allows the activity, no authorization request is built.
    """
    quorum = organization.profile.root_quorum
    if case.scope is None and any(proof.user_id in quorum.user_ids for proof in case.proofs):
        approving = {proof.user_id for proof in _approvals(case, organization)}
        if is_quorum_met(quorum, approving):
            return ALLOWED_BY_ROOT_QUORUM
    return authorize(authorization_request(case, organization, settings), case.policies.policy_set)


def authorization_request(
    case: Case, organization: Organization, settings: AuthorizationSettings
) -> AuthorizationRequest:
    """Everything that the decision depends on besides the policies."""
    resources = _resources(case, organization)
    activity = _requested_activity(case)
    return AuthorizationRequest(
        root_quorum=organization.profile.root_quorum,
        users=organization.users.by_id,
        approvals=list(map(_approval, _approvals(case, organization))),
        submitter_id=case.submitter_id,
        activity=activity,
        now_ms=case.now_ms,
        owner_id=case.owner_id,
        scope=case.scope,
        resources=resources.values,
        others=resources.others,
        unreadable_call=resources.unreadable_call,
        deny_policies_fail_closed=settings.deny_policies_fail_closed,
        refuses_raw_payload=settings.refuse_raw_payloads
        and case.policies.policy_set.reads_transactions
        and may_sign_transaction_unseen(activity),
    )


def _approvals(case: Case, organization: Organization) -> list[Proof]:
    return [proof for proof in case.proofs if not _approver_lacks_proofs(case, organization, proof)]


def _approver_lacks_proofs(case: Case, organization: Organization, proof: Proof) -> bool:
    """Whether the approval waits for MFA proofs of the approver. The MFA of the submitter is checked after the
    policies, not here."""
    if proof.user_id == case.submitter_id:
        return False
    return lacks_mfa_proofs(case, organization, proof.user_id)


def _approval(proof: Proof) -> Approval:
    return Approval(
        proof.user_id,
        CredentialUsed(
            id=proof.record_id,
            type=proof.type,
            public_key=proof.public_key,
            credential_id=proof.credential_id,
        ),
    )


def _requested_activity(case: Case) -> RequestedActivity:
    """The activity as policies see it. Its parameters are always those of the current version, as values of the
    policy language: text, numbers and lists."""
    intent, type_ = case.intent, case.version.activity_type
    given = {
        name: list(value) if isinstance(value, tuple) else value
        for name in intent.__struct_fields__
        if (value := getattr(intent, name)) is not None and not isinstance(value, msgspec.Struct)
    }
    return RequestedActivity(type=type_, params=visible_params(type_, given))


def _resources(case: Case, organization: Organization) -> ResourceKeywords:
    resources = case.operation.resources
    if resources is None or case.missing is not None:
        return ResourceKeywords()
    return resources(organization, case.intent, case.context)


def mfa_statuses_of(case: Case, organization: Organization, user_id: str) -> list[MfaStatus]:
    """How far this user has met each MFA policy that applies to the activity; empty if no policy applies."""
    user = organization.users.get(user_id)
    if user is None or not user.mfa_policies:
        return []
    if case.owner_id == user_id and activity_kind(case.version.activity_type) in ADDS_CREDENTIALS:
        # With one stolen credential, nobody must be able to add the credentials that prove the other steps.
        applying = sorted(user.mfa_policies, key=lambda policy: policy.order)
    else:
        resources, activity = _resources(case, organization), _requested_activity(case)
        enforced = [
            mfa.enforced_policy(
                user,
                case.policies.mfa_conditions,
                condition_values(activity, item),
                has_unreadable_call=resources.unreadable_call is not None,
                may_be_transaction=case.refuses_raw_payloads and may_sign_transaction_unseen(activity),
            )
            for item in resources.items
        ]
        applying = list({policy.mfa_policy_id: policy for policy in enforced if policy is not None}.values())
    proofs = tuple(mfa.proofs_that_count(case.proofs, case.submitted_at_ms))
    return [mfa.policy_status(policy, user_id, proofs) for policy in applying]


def mfa_statuses(case: Case, organization: Organization) -> list[MfaStatus]:
    """The statuses of the submitter and of every user whose vote counts. The submitter's approval may have
    lapsed."""
    voters = dict.fromkeys((case.submitter_id, *[proof.user_id for proof in case.proofs]))
    return [status for user_id in voters for status in mfa_statuses_of(case, organization, user_id)]


def lacks_mfa_proofs(case: Case, organization: Organization, user_id: str) -> bool:
    """Whether this user's approval waits for further proofs by that user."""
    return not all(status.satisfied for status in mfa_statuses_of(case, organization, user_id))


def _lacks_proofs(case: Case, organization: Organization, decision: Decision) -> bool:
    """Whether an activity with this decision waits for further proofs of a voter.

    It always waits for the submitter's proofs. It does not wait for another voter's if the other approvals allow
    it.
    """
    lacking = [status.user_id for status in mfa_statuses(case, organization) if not status.satisfied]
    return case.submitter_id in lacking or (bool(lacking) and decision.verdict is not Verdict.ALLOW)


def may_approve(case: Case, organization: Organization, user_id: str, settings: AuthorizationSettings) -> bool:
    """Whether this user of the organization may vote: if the vote would count. The submitter always may vote, to
    prove further methods or to cancel the activity."""
    if user_id == case.submitter_id:
        return True
    request = authorization_request(case, organization, settings)
    return may_vote(request, case.policies.policy_set, user_id)
