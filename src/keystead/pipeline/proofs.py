"""The vote and the proof that a caller's stamp gives, and the proofs of an activity that count.

Not here: what a credential proves to an MFA policy (`mfa`), app proofs (`app_proofs`), the plan of a vote (`vote`).
"""

from __future__ import annotations

from keystead.api.enums import CredentialType, VoteSelection
from keystead.api.records import Timestamp, User, Vote
from keystead.organizations.organization import Organization
from keystead.organizations.principals import Principal, contact_record_id
from keystead.pipeline.activity import Proof, RecordedActivity
from keystead.pipeline.requests import Submission


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
    for wallet in user.wallet_authenticators:
        if wallet.wallet_authenticator_id == record_id:
            return wallet.created_at.epoch_ms
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
