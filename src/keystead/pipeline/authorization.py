"""The step that authorizes an activity: the rules of the policies, and MFA proofs that are missing.

Here: pure functions of a decision's basis. Not here: the rules (`policies.authorize`), whose proofs are missing
(`mfa`), the next status (`activity`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

import msgspec
from msgspec.structs import replace

from keystead.api.records import Evaluation, PolicyOutcome, Timestamp, Vote
from keystead.organizations.credentials.registrations import registered_after
from keystead.pipeline.activity import Event, Proof, RecordedActivity
from keystead.pipeline.controls import ControlReading
from keystead.pipeline.decision_basis import DecisionBasis
from keystead.pipeline.mfa import MfaStatuses
from keystead.pipeline.operation import NewUser
from keystead.pipeline.proofs import approvals_of
from keystead.policies import request
from keystead.policies.authorize import ALLOWED_BY_ROOT_QUORUM, Authorizer, Decision, Rule, Verdict, is_quorum_met
from keystead.policies.bounds import EXPRESSION_STEPS_MAX
from keystead.policies.language.evaluation_context import Budget, EvaluationContext
from keystead.policies.language.expression import CompiledExpression
from keystead.policies.policy_evaluation import EvaluationOutcome


class VoteAuthorization(msgspec.Struct, frozen=True):
    """The decisions about a vote. `before`: the decision without it. `may_vote`: whether the vote counts. `after`:
    the decision with the approval; None for a rejection, and if the user may not vote."""

    before: Decision
    may_vote: bool
    after: Decision | None


def authorize_activity(basis: DecisionBasis) -> Decision:
    """Decide whether the activity may be executed now, by the rules of the authority and the MFA policies."""
    lacking = MfaStatuses(basis).lacking()
    approvals = _approvals(basis, lacking)
    # If the root quorum allows the activity, no authorization request is built.
    approving = {approval.user_id for approval in approvals}
    if basis.scope is None and is_quorum_met(basis.authority.profile.root_quorum, approving):
        return replace(ALLOWED_BY_ROOT_QUORUM, lacking=lacking) if lacking else ALLOWED_BY_ROOT_QUORUM
    decision = Authorizer(_request(basis, approvals), basis.policies.policy_set).decision()
    return replace(decision, lacking=lacking) if lacking else decision


def authorize_vote(
    basis: DecisionBasis,
    voter_id: str,
    scope: CompiledExpression | None,
    proofs_with_vote: tuple[Proof, ...] | None,
) -> VoteAuthorization:
    """Decide on a vote for an activity on record. The policies are evaluated once.

    `scope`: of the session that casts it. `proofs_with_vote`: the proofs that count with this approval; None for a
    rejection. The submitter always may vote, to prove further methods or to cancel the activity.
    """
    statuses = MfaStatuses(basis, (voter_id,))
    authorizer = Authorizer(_request(basis, _approvals(basis, statuses.lacking())), basis.policies.policy_set)
    if scope is not None and not _is_in_scope(basis, scope):
        return VoteAuthorization(Decision(Verdict.DENY_EXPLICIT, Rule.SESSION_SCOPE), may_vote=False, after=None)
    before = authorizer.decision()
    may_vote = voter_id == basis.submitter_id or authorizer.may_vote(voter_id)
    if not may_vote or proofs_with_vote is None:
        return VoteAuthorization(before, may_vote, after=None)
    lacking = statuses.with_proofs(proofs_with_vote).lacking()
    approvals = _approvals(replace(basis, proofs=proofs_with_vote), lacking)
    after = replace(authorizer.with_approvals(approvals).decision(), lacking=lacking)
    return VoteAuthorization(before, may_vote, after)


def event_of(decision: Decision, submitter_id: str) -> Event:
    """What happens to the activity after this decision. EXECUTED: it may be executed now. A denied activity on
    record waits for other approvals."""
    # The activity always waits for the submitter's proofs. It does not wait for another voter's if the other
    # approvals allow it.
    allowed = decision.verdict is Verdict.ALLOW
    if submitter_id in decision.lacking or (decision.lacking and not allowed):
        return Event.LACKS_AUTHENTICATORS
    return Event.EXECUTED if allowed else Event.LACKS_CONSENSUS


def evaluation_of(
    decision: Decision,
    event: Event,
    evaluation_id: str,
    activity: RecordedActivity,
    vote: Vote,
    now_ms: int,
    limits: Mapping[str, str] = {},
) -> Evaluation:
    """The record of the decision with this vote.

    After a rejection, policies that would have allowed, now or later, are recorded as REJECTED. While a voter has
    further methods of authentication to prove, policies that allow are recorded as REQUIRES_AUTHENTICATORS.
    `limits`: by policy, in words, the velocity controls that its condition names and that the activity is beyond:
    the reason of a condition that is false.
    """
    recorded: dict[EvaluationOutcome, EvaluationOutcome] = {}
    if event is Event.REJECTED:
        allowing = (EvaluationOutcome.ALLOW, EvaluationOutcome.REQUIRES_CONSENSUS)
        recorded = dict.fromkeys(allowing, EvaluationOutcome.REJECTED)
    elif event is Event.LACKS_AUTHENTICATORS:
        recorded = {EvaluationOutcome.ALLOW: EvaluationOutcome.REQUIRES_AUTHENTICATORS}
    outcomes = [
        PolicyOutcome(
            policy_id=evaluation.policy_id,
            outcome=recorded.get(evaluation.outcome, evaluation.outcome),
            clause=evaluation.clause,
            reason=evaluation.reason or (limits.get(evaluation.policy_id) if evaluation.clause else None),
        )
        for evaluation in decision.evaluations
    ]
    return Evaluation(
        id=evaluation_id,
        activity_id=activity.id,
        organization_id=activity.organization_id,
        vote_id=vote.id,
        policy_evaluations=tuple(outcomes),
        created_at=Timestamp.from_ms(now_ms),
        verdict=decision.verdict.value,
        rule=decision.rule.value,
        policy_ids=decision.policy_ids,
    )


def authorization_request(basis: DecisionBasis) -> request.AuthorizationRequest:
    """Everything that the decision depends on besides the policies."""
    return _request(basis, _approvals(basis, MfaStatuses(basis).lacking()))


def may_approve(basis: DecisionBasis, user_id: str) -> bool:
    """Whether this user of the organization may vote: if the vote would count. The submitter always may vote."""
    if user_id == basis.submitter_id:
        return True
    return Authorizer(authorization_request(basis), basis.policies.policy_set).may_vote(user_id)


def limits_by_policy(basis: DecisionBasis) -> Mapping[str, str]:
    """By policy: the velocity controls that its condition names and that the activity is beyond, in words."""
    if basis.controls is None:
        return {}
    reached = {
        reading.measure.control.identifier: reading.sentence()
        for reading in basis.controls.read
        if reading.is_reached
    }
    if not reached:
        return {}
    named = {
        policy.id: policy.condition.controls & reached.keys()
        for policy in basis.policies.policy_set.policies
        if policy.condition is not None
    }
    return {
        policy_id: " ".join(reached[identifier] for identifier in sorted(controls))
        for policy_id, controls in named.items()
        if controls
    }


def controls_in_the_way(basis: DecisionBasis) -> Sequence[ControlReading]:
    """The velocity controls that the decision read and that the activity is beyond: those that the session's scope
    names, and policies whose consensus may count the submitter or who approved."""
    if basis.controls is None:
        return ()
    user_ids = dict.fromkeys([basis.submitter_id, *[proof.user_id for proof in basis.proofs]])
    evaluator = Authorizer(authorization_request(basis), basis.policies.policy_set).evaluators()[0]
    named = set() if basis.scope is None else set(basis.scope.controls)
    for policy in basis.policies.policy_set.policies:
        if policy.condition is None or not policy.condition.controls:
            continue
        consensus = policy.consensus
        if consensus is None or any(evaluator.counts(consensus, user_id) for user_id in user_ids):
            named |= policy.condition.controls
    return [
        reading
        for reading in basis.controls.read
        if reading.is_reached and reading.measure.control.identifier in named
    ]


def _request(basis: DecisionBasis, approvals: Sequence[request.Approval]) -> request.AuthorizationRequest:
    resources, activity = basis.resources, basis.requested
    # The policies of a parent say nothing about the credentials of its sub-organizations.
    added = basis.added if basis.authority is basis.organization else ()
    return request.AuthorizationRequest(
        root_quorum=basis.authority.profile.root_quorum,
        users=basis.authority.users.by_id,
        approvals=approvals,
        submitter_id=basis.submitter_id,
        activity=activity,
        now_ms=basis.now_ms,
        registered_later=_registered_later(basis),
        added=[each.as_value() for each in added],
        new_users=[each.holder.as_approver() for each in added if isinstance(each.holder, NewUser)],
        owner_id=basis.owner_id,
        scope=basis.scope,
        resources=resources.values,
        others=resources.others,
        refuses_raw_payload=basis.refuses_raw_payloads
        and basis.policies.policy_set.reads_transactions
        and request.may_sign_transaction_unseen(activity),
    )


def _is_in_scope(basis: DecisionBasis, scope: CompiledExpression) -> bool:
    """Whether the scope of a session is true for each item of the activity."""
    return all(
        scope.evaluate(
            EvaluationContext(request.condition_values(basis.requested, item)), Budget(EXPRESSION_STEPS_MAX)
        )
        is True
        for item in basis.resources.items
    )


def _approvals(basis: DecisionBasis, lacking: Set[str]) -> list[request.Approval]:
    """The approvals that do not wait for MFA proofs of the approver. The MFA of the submitter is checked after the
    policies, not here."""
    proofs: Sequence[Proof] = basis.proofs
    if lacking:
        others = lacking - {basis.submitter_id}
        proofs = [proof for proof in proofs if proof.user_id not in others]
    return approvals_of(proofs, basis.submission)


def _registered_later(basis: DecisionBasis) -> frozenset[str]:
    """The ids of the credentials that were registered after the submission, if a policy asks about credentials."""
    if basis.submission is None or not basis.policies.policy_set.with_credentials:
        return frozenset()
    return registered_after(basis.authority, basis.submission.at_version)
