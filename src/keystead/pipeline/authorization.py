"""The step that authorizes an activity: builds the authorization request, and finds whose MFA proofs are missing.

Here: pure functions of the organization, its compiled policies and the activity. Not here: the rules
(`policies.authorize`), the next status (`states`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from keystead.api.catalogue import activity_kind
from keystead.api.enums import CredentialType, VoteSelection
from keystead.api.errors import ServiceError
from keystead.api.parameters import RequestStruct
from keystead.api.records import Evaluation, MfaStatus, PolicyOutcome, Timestamp, User
from keystead.organizations.identities import ProvenIdentity
from keystead.organizations.organization import Organization
from keystead.organizations.principals import Principal, contact_record_id
from keystead.pipeline import mfa
from keystead.pipeline.activity import Activity, ActivityOperation, Proof
from keystead.pipeline.policy_sets import CompiledPolicies
from keystead.pipeline.requests import Submission
from keystead.pipeline.states import is_final
from keystead.policies.authorize import BY_ROOT_QUORUM, Decision, Verdict, authorize, is_met, may_vote
from keystead.policies.expression import CompiledExpression
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
    are refused if a policy of the organization reads transactions.
    """

    deny_policies_fail_closed: bool = False
    refuse_raw_payloads: bool = False


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """An activity to decide on: what it asks for, who submitted it and when, the proofs of the approvals so far.

    - `policies`: the organization's, with the MFA conditions of the submitter and of the users who approve.
    - `identities`: what its ID tokens proved when it was submitted, by field.
    - `stamped_with`: the id of the record of the credential that stamped the submission.
    - `session_profile_id`: the profile of the session that submitted it; `scope`: the scope of that profile, for a
      new submission.
    - `context`: what the operation looked up.
    - `missing`: the error, if the look-up failed because a record was deleted after the submission. Then policies
      see no resources, and the execution fails with this error.
    """

    activity_type: str
    operation: ActivityOperation
    intent: RequestStruct
    policies: CompiledPolicies
    submitter_id: str
    stamped_with: str
    submitted_at_ms: int
    identities: Mapping[str, ProvenIdentity]
    proofs: tuple[Proof, ...]
    now_ms: int
    session_profile_id: str = ""
    scope: CompiledExpression | None = None
    context: Any = None
    missing: ServiceError | None = None

    def current_intent(self) -> RequestStruct:
        """The intent as one of the current version."""
        version = self.operation.version_of(self.activity_type)
        assert version is not None, self.activity_type
        return version.upgrade(self.intent)

    def owner_id(self) -> str | None:
        """The user whose own credentials or session the activity is about; None if it is about anything else."""
        if self.operation.owner is None:
            return None
        return self.operation.owner(self.current_intent()) or self.submitter_id


def proof_of(caller: Principal, submission: Submission, now_ms: int) -> Proof:
    """The proof that the caller's stamp on this request gives."""
    return Proof(
        user_id=caller.user.user_id,
        record_id=caller.record_id,
        type=caller.credential_type,
        public_key=caller.proven.public_key,
        credential_id=caller.proven.credential_id or "",
        at_ms=now_ms,
        registered_at_ms=_registered_at_ms(caller.user, caller.record_id),
        fingerprint=submission.fingerprint,
        session_profile_id=caller.session_profile_id,
        identities=submission.identities,
    )


def _registered_at_ms(user: User, record_id: str) -> int:
    """When the user's credential of this id was registered. Raises ValueError if the user has no such
    credential."""
    for api_key in user.api_keys:
        if api_key.api_key_id == record_id:
            return api_key.created_at.epoch_ms
    for authenticator in user.authenticators:
        if authenticator.authenticator_id == record_id:
            return authenticator.created_at.epoch_ms
    for provider in user.oauth_providers:
        if provider.provider_id == record_id:
            return provider.created_at.epoch_ms
    contacts = (CredentialType.EMAIL_OTP, CredentialType.SMS_OTP)
    if record_id in [contact_record_id(user, type_) for type_ in contacts]:
        return 0  # no time is on record for contacts; to change one takes every MFA step (ADDS_CREDENTIALS)
    raise ValueError(f"user {user.user_id} has no credential {record_id}")


def at(activity: Activity, now_ms: int, approvals_last_ms: int) -> Activity:
    """The activity as it is now. If its approvals have lapsed, none of them counts."""
    if is_final(activity.status) or now_ms < activity.approvals_since_ms + approvals_last_ms:
        return activity
    return replace(activity, approvals_since_ms=now_ms)


def counted_proofs(activity: Activity, organization: Organization) -> tuple[Proof, ...]:
    """The proofs of the approvals that count, one for each credential.

    An approval counts if it has not lapsed, was not withdrawn, and its user still exists. Its credential may have
    been deleted since: what it signed stays signed."""
    approving = {
        vote.user_id
        for vote in activity.votes
        if vote.selection is VoteSelection.APPROVED and vote.user_id in organization.users
    }
    counted: dict[str, Proof] = {}
    for proof in activity.proofs:
        if proof.user_id in approving and proof.at_ms >= activity.approvals_since_ms:
            counted.setdefault(proof.record_id, proof)
    return tuple(counted.values())


def authorize_activity(case: Case, organization: Organization, settings: AuthorizationSettings) -> Decision:
    """The decision. If the root quorum allows the activity, no authorization request is built."""
    quorum = organization.profile.root_quorum
    if case.scope is None and any(proof.user_id in quorum.user_ids for proof in case.proofs):
        approving = {proof.user_id for proof in _approvals(case, organization)}
        if is_met(quorum, approving):
            return BY_ROOT_QUORUM
    return authorize(authorization_request(case, organization, settings), case.policies.policy_set)


def authorization_request(
    case: Case, organization: Organization, settings: AuthorizationSettings
) -> AuthorizationRequest:
    """Everything that the decision depends on besides the policies."""
    resources = _resources(case, organization)
    activity = _requested(case)
    return AuthorizationRequest(
        root_quorum=organization.profile.root_quorum,
        users=organization.users.by_id,
        approvals=list(map(_approval, _approvals(case, organization))),
        submitter_id=case.submitter_id,
        activity=activity,
        now_ms=case.now_ms,
        owner_id=case.owner_id(),
        scope=case.scope,
        resources=resources.values,
        unreadable_call=resources.unreadable_call,
        deny_policies_fail_closed=settings.deny_policies_fail_closed,
        refuses_raw_payload=settings.refuse_raw_payloads
        and case.policies.policy_set.reads_transactions
        and may_sign_transaction_unseen(activity),
    )


def _approvals(case: Case, organization: Organization) -> list[Proof]:
    return [proof for proof in case.proofs if not _mfa_outstanding(case, organization, proof)]


def _mfa_outstanding(case: Case, organization: Organization, proof: Proof) -> bool:
    """Whether the approval waits for the approver's MFA. The submitter's MFA is checked after the policies
    instead."""
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


def _requested(case: Case) -> RequestedActivity:
    """The activity as policies see it. Its parameters are always those of the current version, as values of the
    policy language: text, numbers and lists."""
    intent = case.current_intent()
    given = {
        name: list(value) if isinstance(value, tuple) else value
        for name in intent.__struct_fields__
        if (value := getattr(intent, name)) is not None and not isinstance(value, msgspec.Struct)
    }
    return RequestedActivity(type=case.activity_type, params=visible_params(case.activity_type, given))


def _resources(case: Case, organization: Organization) -> ResourceKeywords:
    resources = case.operation.resources
    if resources is None or case.missing is not None:
        return ResourceKeywords()
    return resources(organization, case.current_intent(), case.context)


def mfa_statuses_of(case: Case, organization: Organization, user_id: str) -> list[MfaStatus]:
    """How far this user has met each MFA policy that applies to the activity; empty if no policy applies."""
    user = organization.users.get(user_id)
    if user is None or not user.mfa_policies:
        return []
    if case.owner_id() == user_id and activity_kind(case.activity_type) in ADDS_CREDENTIALS:
        # One stolen credential must not add those that prove the other steps.
        applying = sorted(user.mfa_policies, key=lambda policy: policy.order)
    else:
        resources = _resources(case, organization)
        policy = mfa.enforced(
            user,
            case.policies.mfa_conditions,
            condition_values(_requested(case), resources.values),
            has_unreadable_call=resources.unreadable_call is not None,
        )
        applying = [] if policy is None else [policy]
    proofs = tuple(mfa.proofs_that_count(case.proofs, case.submitted_at_ms))
    return [mfa.status(policy, user_id, proofs) for policy in applying]


def mfa_statuses(case: Case, organization: Organization) -> list[MfaStatus]:
    """The statuses of the submitter and of every user whose vote counts. The submitter's approval may have
    lapsed."""
    voters = dict.fromkeys((case.submitter_id, *[proof.user_id for proof in case.proofs]))
    return [status for user_id in voters for status in mfa_statuses_of(case, organization, user_id)]


def lacks_mfa_proofs(case: Case, organization: Organization, user_id: str) -> bool:
    """Whether this user's approval waits for further proofs by that user."""
    return not all(status.satisfied for status in mfa_statuses_of(case, organization, user_id))


def lacks_proofs(case: Case, organization: Organization, decision: Decision) -> bool:
    """Whether an activity with this decision waits for further proofs of a voter.

    It always waits for the submitter's proofs. It does not wait for another voter's if the other approvals allow
    it.
    """
    lacking = [status.user_id for status in mfa_statuses(case, organization) if not status.satisfied]
    return case.submitter_id in lacking or (bool(lacking) and decision.verdict is not Verdict.ALLOW)


def may_approve(case: Case, organization: Organization, user_id: str, settings: AuthorizationSettings) -> bool:
    """Whether this user of the organization may vote. A user may if the vote would count. The submitter always
    may: to prove further methods, or to cancel the activity."""
    if user_id == case.submitter_id:
        return True
    request = authorization_request(case, organization, settings)
    return may_vote(request, case.policies.policy_set, user_id)


def evaluation(
    evaluation_id: str, activity_id: str, vote_id: str, organization_id: str, decision: Decision, now_ms: int
) -> Evaluation:
    """The record of a decision."""
    return Evaluation(
        id=evaluation_id,
        activity_id=activity_id,
        organization_id=organization_id,
        vote_id=vote_id,
        policy_evaluations=tuple(
            PolicyOutcome(
                policy_id=each.policy_id,
                outcome=each.outcome,
                clause=each.clause,
                reason=each.reason,
            )
            for each in decision.evaluations
        ),
        created_at=Timestamp.from_ms(now_ms),
        verdict=decision.verdict.value,
        rule=decision.rule.value,
        policy_ids=decision.policy_ids,
    )
