"""From an activity and its votes to what the rules say: the facts, the judgement, whose MFA is outstanding.

Here: pure functions of the organization and the activity; a judgement that holds of many is kept. Not here: the
rules (`policies`), the next status (`states`), the execution and the commit (`lifecycle`).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from keystead.api.enums import VoteSelection
from keystead.api.errors import ServiceError
from keystead.api.parameters import Asked, OidcClaims
from keystead.api.records import Evaluation, MfaStatus, Policy, PolicyOutcome, Timestamp
from keystead.organizations.organization import Organization
from keystead.organizations.persistent_map import PersistentMap
from keystead.organizations.principals import Principal
from keystead.pipeline import mfa
from keystead.pipeline.activity import Activity, ActivityOperation, Proof
from keystead.pipeline.requests import Submission
from keystead.pipeline.states import is_final
from keystead.policies.facts import (
    RECURRING,
    UNREAD_CALL,
    Approval,
    AskedActivity,
    CredentialUsed,
    Facts,
    NamedPolicy,
    condition_values,
    user_value,
    visible_params,
)
from keystead.policies.judgement import Judgement, Verdict, allowed_by_root_quorum, judge, lasts, may_vote
from keystead.policies.policy import compile_stored_policy
from keystead.policies.standing import Kept

COMPILED_MAX = 1_000
"""Organizations whose compiled policies are kept."""


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """An activity to decide on: what it asks for, who asked, who approves so far and how they proved it.

    `identities` are what its ID tokens proved when it was submitted, by field.
    `gathered` is what the operation looked up; `missing` why that failed: what the activity is about has gone since
    it was submitted. Then policies see none of it, and the execution fails so.
    """

    activity_type: str
    operation: ActivityOperation
    intent: Asked
    submitter_id: str
    identities: Mapping[str, OidcClaims]
    proofs: tuple[Proof, ...]
    now_ms: int
    gathered: Any = None
    missing: ServiceError | None = None

    def current_intent(self) -> Asked:
        """The intent as one of the current version."""
        version = self.operation.version_of(self.activity_type)
        assert version is not None, self.activity_type
        return version.upgrade(self.intent)


def proof_of(caller: Principal, submission: Submission, now_ms: int) -> Proof:
    """What the caller's stamp on this request proves."""
    return Proof(
        user_id=caller.user.user_id,
        record_id=caller.record_id,
        type=caller.credential_type,
        public_key=caller.proven.public_key,
        credential_id=caller.proven.credential_id or "",
        at_ms=now_ms,
        fingerprint=submission.fingerprint,
        identities=submission.identities,
    )


def at(activity: Activity, now_ms: int, approvals_last_ms: int) -> Activity:
    """The activity as it is now: with no approvals that count, if those it had have lapsed."""
    if is_final(activity.status) or now_ms < activity.approvals_since_ms + approvals_last_ms:
        return activity
    return replace(activity, approvals_since_ms=now_ms)


def counted_proofs(activity: Activity, organization: Organization) -> tuple[Proof, ...]:
    """The proofs of approvals that count: not lapsed, not withdrawn, by users who are still there; one of each
    credential, whether it is still there or not: what it signed stays signed."""
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


def judged(case: Case, organization: Organization, *, fail_closed: bool) -> Judgement:
    """What the rules say. Where the root quorum allows, nobody asks for the facts, and they are not gathered."""
    quorum = organization.profile.root_quorum
    if any(proof.user_id in quorum.user_ids for proof in case.proofs):
        approving = {proof.user_id for proof in _approvals(case, organization)}
        if (allowed := allowed_by_root_quorum(quorum, approving)) is not None:
            return allowed
    alike = _alike(case, organization, fail_closed=fail_closed)
    if alike is None:
        return judge(facts(case, organization, fail_closed=fail_closed))
    policies = _compiled(organization.policies.by_id)
    judgement = _JUDGED.of(policies, alike)
    if judgement is None:
        found = facts(case, organization, fail_closed=fail_closed)
        judgement = judge(found)
        if lasts(found, judgement):
            _JUDGED.keep(policies, alike, judgement)
    return judgement


_JUDGED = Kept[Judgement]()


def _alike(case: Case, organization: Organization, *, fail_closed: bool) -> Hashable | None:
    """What activities have in common that are judged alike by the same policies, if the judgement lasts: all that
    the rules look at but the parameters and the moment. None where hardly two have it."""
    submitter, proofs = organization.users.get(case.submitter_id), case.proofs
    if case.operation.changes_organization or submitter is None:
        return None
    if len(proofs) != 1 or proofs[0].user_id != submitter.user_id:
        return None
    resources, proof = _resources(case, organization), proofs[0]
    if not resources.keys() <= RECURRING:
        return None
    return (
        case.activity_type,
        fail_closed,
        submitter.user_id in organization.profile.root_quorum.user_ids,
        *user_value(submitter).values(),
        *(proof.record_id, proof.type, proof.public_key, proof.credential_id),
        *[(name, *fields.values()) for name, fields in resources.items()],
    )


def facts(case: Case, organization: Organization, *, fail_closed: bool) -> Facts:
    """Everything the rules look at. The intent is the one that was sent, in its own version."""
    owner, resources = case.operation.owner, _resources(case, organization)
    return Facts(
        root_quorum=organization.profile.root_quorum,
        users=organization.users.by_id,
        policies=_compiled(organization.policies.by_id),
        approvals=list(map(_approval, _approvals(case, organization))),
        submitter_id=case.submitter_id,
        activity=_asked(case),
        now_ms=case.now_ms,
        owner_id=owner(case.intent) if owner else None,
        resources={name: value for name, value in resources.items() if name != UNREAD_CALL},
        fail_closed=fail_closed or UNREAD_CALL in resources,
    )


def _approvals(case: Case, organization: Organization) -> list[Proof]:
    return [proof for proof in case.proofs if not _mfa_outstanding(case, organization, proof)]


def _mfa_outstanding(case: Case, organization: Organization, proof: Proof) -> bool:
    """An approver's vote counts once the approver's MFA is met. The submitter's is asked for after the rules."""
    if proof.user_id == case.submitter_id:
        return False
    found = mfa_status(case, organization, proof.user_id)
    return found is not None and not found.satisfied


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


def _asked(case: Case) -> AskedActivity:
    """The activity as policies see it, in values that their language knows: text, numbers, lists of them."""
    intent = case.intent
    given = {
        name: list(value) if isinstance(value, tuple) else value
        for name in intent.__struct_fields__
        if (value := getattr(intent, name)) is not None and not isinstance(value, msgspec.Struct)
    }
    return AskedActivity(type=case.activity_type, params=visible_params(case.activity_type, given))


def _resources(case: Case, organization: Organization) -> Mapping[str, Any]:
    resources = case.operation.resources
    if resources is None or case.missing is not None:
        return {}
    return resources(organization, case.current_intent(), case.gathered)


def mfa_status(case: Case, organization: Organization, user_id: str) -> MfaStatus | None:
    """How far this user has met the MFA policy that applies; None if none does."""
    user = organization.users.get(user_id)
    if user is None or not user.mfa_policies:
        return None
    resources = _resources(case, organization)
    values = condition_values(_asked(case), resources)
    policy = mfa.enforced(user, values, fail_closed=UNREAD_CALL in resources)
    return None if policy is None else mfa.status(policy, user_id, case.proofs)


def mfa_statuses(case: Case, organization: Organization) -> list[MfaStatus]:
    """The statuses of the submitter, whose approval may have lapsed, and of everybody else whose vote counts."""
    voters = dict.fromkeys((case.submitter_id, *[proof.user_id for proof in case.proofs]))
    return [found for user_id in voters if (found := mfa_status(case, organization, user_id)) is not None]


def lacks_proofs(case: Case, organization: Organization, judgement: Judgement) -> bool:
    """Whether the activity, judged so, waits for a voter's further proofs.

    What others' approvals allow does not wait for one more approver; it does wait for the submitter's proofs.
    """
    lacking = [status.user_id for status in mfa_statuses(case, organization) if not status.satisfied]
    return case.submitter_id in lacking or (bool(lacking) and judgement.verdict is not Verdict.ALLOW)


def may_approve(case: Case, organization: Organization, user_id: str, *, fail_closed: bool) -> bool:
    """Whether this user, who is in the organization, may vote: whose vote would count, and the submitter, who may
    have more to prove or may cancel."""
    return user_id == case.submitter_id or may_vote(facts(case, organization, fail_closed=fail_closed), user_id)


def evaluation(
    evaluation_id: str, activity_id: str, vote_id: str, organization_id: str, judgement: Judgement, now_ms: int
) -> Evaluation:
    """The record of a judgement."""
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
            for each in judgement.evaluations
        ),
        created_at=Timestamp.from_ms(now_ms),
        verdict=judgement.verdict.value,
        rule=judgement.rule.value,
        policy_ids=judgement.policy_ids,
    )


_COMPILED: OrderedDict[int, tuple[PersistentMap[str, Policy], Sequence[NamedPolicy]]] = OrderedDict()


def _compiled(policies: PersistentMap[str, Policy]) -> Sequence[NamedPolicy]:
    """The policies made ready, in order of creation. Kept for as long as the very same map is used."""
    kept = _COMPILED.get(id(policies))
    if kept is not None and kept[0] is policies:
        _COMPILED.move_to_end(id(policies))
        return kept[1]
    ready = [
        NamedPolicy(
            policy_id,
            compile_stored_policy(policy.effect, policy.consensus, policy.condition, policy.time or ""),
        )
        for policy_id, policy in sorted(policies.items())
    ]
    _COMPILED[id(policies)] = (policies, ready)
    if len(_COMPILED) > COMPILED_MAX:
        _COMPILED.popitem(last=False)
    return ready
