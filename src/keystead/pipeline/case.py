"""An activity to decide on; the vote and the proof that a stamp gives; the proofs that count.

Here: the values, from a request or an activity and its organization. Not here: what the operation looks up
(`load_context`), the decision (`authorization`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from keystead.api.enums import CredentialType, VoteSelection
from keystead.api.errors import ServiceError
from keystead.api.parameters import RequestStruct
from keystead.api.records import Timestamp, User, Vote
from keystead.organizations.identities import ProvenIdentity
from keystead.organizations.organization import Organization
from keystead.organizations.principals import Principal, contact_record_id
from keystead.pipeline.activity import Proof, RecordedActivity
from keystead.pipeline.operation import ActivityOperation, IntentVersion
from keystead.pipeline.policy_set_cache import CompiledPolicies
from keystead.pipeline.requests import Submission
from keystead.policies.expression import CompiledExpression


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """An activity to decide on: what it asks for, who submitted it and when, the proofs of the approvals so far.

    - `version`: the version of the activity type that was submitted. `intent`: what it asks for, in the current
      version.
    - `policies`: the organization's, with the MFA conditions of the submitter and of the users who approve.
    - `owner_id`: the user whose own credentials or session it is about; None if it is about anything else.
    - `identities`: what its ID tokens proved when it was submitted, by field.
    - `stamped_with`: the id of the record of the credential that stamped the submission.
    - `session_profile_id`: the profile of the session that submitted it; `scope`: the scope of that profile, for a
      new submission.
    - `refuses_raw_payloads`: the operator's setting, by which MFA policies about transactions apply to raw
      payloads.
    - `context`: what the operation looked up.
    - `missing`: the error, if the look-up failed because a record was deleted after the submission. Then policies
      see no resources, and the execution fails with this error.
    """

    operation: ActivityOperation
    version: IntentVersion
    intent: RequestStruct
    policies: CompiledPolicies
    submitter_id: str
    owner_id: str | None
    stamped_with: str
    submitted_at_ms: int
    identities: Mapping[str, ProvenIdentity]
    proofs: tuple[Proof, ...]
    now_ms: int
    session_profile_id: str = ""
    scope: CompiledExpression | None = None
    refuses_raw_payloads: bool = False
    context: Any = None
    missing: ServiceError | None = None


def owner_of(operation: ActivityOperation, intent: RequestStruct, submitter_id: str) -> str | None:
    """The user whose own credentials or session the activity is about; None if it is about anything else."""
    if operation.owner is None:
        return None
    return operation.owner(intent) or submitter_id


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


def vote_of(
    selection: VoteSelection, activity_id: str, submission: Submission, caller: Principal, vote_id: str, now_ms: int
) -> Vote:
    """The caller's vote, proved by the stamp on the submission."""
    return Vote(
        id=vote_id,
        user_id=caller.user.user_id,
        user=caller.user,
        activity_id=activity_id,
        selection=selection,
        message=submission.request.decode(),
        public_key=caller.proven.public_key,
        signature=caller.proven.signature,
        scheme=caller.proven.scheme,
        created_at=Timestamp.from_ms(now_ms),
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


def counted_proofs(activity: RecordedActivity, organization: Organization) -> tuple[Proof, ...]:
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
