"""The vote and the proof that a caller's stamp gives, and the proofs of an activity that count.

Not here: what a credential proves to an MFA policy (`mfa`), app proofs (`execute`), the step of a vote (`vote`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from keystead.api.enums import CredentialType, VoteSelection
from keystead.api.records import Timestamp, Vote
from keystead.organizations.credentials.registrations import registration_of
from keystead.organizations.organization import Organization
from keystead.organizations.principals import Principal
from keystead.pipeline.activity import Proof, RecordedActivity
from keystead.pipeline.submission import Submission
from keystead.policies.request import Approval, CredentialUsed


def proof_of(caller: Principal, submission: Submission, organization: Organization, now_ms: int) -> Proof:
    """The proof that the caller's stamp on this request gives. `organization`: the caller's, in the version that is
    decided on."""
    registration = registration_of(organization, caller.user.user_id, caller.record_id)
    return Proof(
        user_id=caller.user.user_id,
        record_id=caller.record_id,
        type=caller.credential_type,
        public_key=caller.proven.public_key,
        credential_id=caller.proven.credential_id or "",
        at_ms=now_ms,
        at_version=organization.version.number,
        registered_in=registration.version,
        origin=registration.begun_by or caller.record_id,
        fingerprint=submission.body.fingerprint,
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
        message=submission.body.request.decode(),
        public_key=caller.proven.public_key,
        signature=caller.proven.signature,
        scheme=caller.proven.scheme,
        created_at=Timestamp.from_ms(now_ms),
    )


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


def credentials_that_count(proofs: Iterable[Proof], submission: Proof | None) -> list[list[Proof]]:
    """The proofs by credentials that existed when the activity was submitted. Those of one origin, which are a
    credential and the sessions that it began, are together in a list, since they count as one credential.

    Otherwise one stolen credential would be enough: its holder could submit, register a second credential or begin
    a session, and approve with that. A code counts beside a session that an earlier code began: each is new.
    """
    by_origin: dict[tuple[str, bool], list[Proof]] = {}
    for proof in proofs:
        if submission is not None and proof.registered_in <= submission.at_version:
            is_code = proof.type in (CredentialType.EMAIL_OTP, CredentialType.SMS_OTP)
            by_origin.setdefault((proof.origin or proof.record_id, is_code), []).append(proof)
    return list(by_origin.values())


def approvals_of(proofs: Sequence[Proof], submission: Proof | None) -> list[Approval]:
    """The approvals that these proofs give, each with its credential if that counts."""
    counted = set[str]()
    for of_one in credentials_that_count(proofs, submission):
        ids, origin = [proof.record_id for proof in of_one], of_one[0].origin
        # A credential counts in place of the sessions that it began; of such sessions alone, the first counts.
        counted.add(origin if origin in ids else ids[0])
    return [Approval(proof.user_id, _used(proof) if proof.record_id in counted else None) for proof in proofs]


def _used(proof: Proof) -> CredentialUsed:
    return CredentialUsed(
        id=proof.record_id, type=proof.type, public_key=proof.public_key, credential_id=proof.credential_id
    )
