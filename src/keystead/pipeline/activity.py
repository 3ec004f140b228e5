"""An activity on record with its parts.

Here: the values. Not here: the order of the steps (`lifecycle`), what callers see of an activity (`view`).
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from keystead.api.enums import FINAL_STATUSES, ActivityStatus, CredentialType
from keystead.api.records import AppProof, Status, User, Vote
from keystead.api.rendering import encode
from keystead.organizations.identities import ProvenIdentity


class Proof(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A credential with which a user stamped an approval.

    - `record_id`: the id of the API key, authenticator, OAuth provider or contact.
    - `credential_id`: the id of a passkey; "" for an API key.
    - `fingerprint`: the fingerprint of the stamped request.
    - `at_ms`: when the approval was given. `at_version`: the number of the version of the approver's organization
      that it was decided on.
    - `registered_in`: the version that registered the credential. `begun_by`: of the key of a session, the id of
      the credential that began it (`organizations.credential_registrations`).
    - `session_profile_id`: the profile of the session, if the credential is the key of a session with a profile.
    - `identities`: what the ID tokens in that request proved when it arrived, by field.
    """

    user_id: str
    record_id: str
    type: CredentialType
    public_key: str
    credential_id: str
    at_ms: int
    at_version: int = 0
    registered_in: int = 0
    begun_by: str = ""
    fingerprint: str = ""
    session_profile_id: str = ""
    identities: Mapping[str, ProvenIdentity] = {}

    @property
    def origin(self) -> str:
        """The credential that began the session; the credential itself if it is no session."""
        return self.begun_by or self.record_id


class RecordedActivity(msgspec.Struct, frozen=True, kw_only=True):
    """An activity on record.

    `request` is the exact body that was submitted, by the user `submitter_id`; `result` maps its key to its JSON.
    Approvals before `approvals_since_ms` have lapsed. `revision` counts the changes since it was created.
    """

    id: str
    organization_id: str
    type: str
    status: ActivityStatus
    fingerprint: str
    request: bytes
    result: dict[str, msgspec.Raw]
    votes: tuple[Vote, ...]
    app_proofs: tuple[AppProof, ...]
    failure: Status | None
    submitter_id: str
    proofs: tuple[Proof, ...]
    approvals_since_ms: int
    revision: int
    created_at_ms: int
    updated_at_ms: int

    def __repr__(self) -> str:
        # Without what was signed: it is in the votes, too.
        return f"RecordedActivity(id={self.id!r}, organization_id={self.organization_id!r}, type={self.type!r}, …)"

    @property
    def submission(self) -> Proof | None:
        """The first approval: the submitter's stamp. None for an activity of the operator."""
        return self.proofs[0] if self.proofs else None

    def at(self, now_ms: int, approvals_last_ms: int) -> RecordedActivity:
        """The activity at the time `now_ms`. `approvals_last_ms`: how long an approval counts. If the approvals
        have lapsed, none of them counts."""
        if self.status in FINAL_STATUSES or now_ms < self.approvals_since_ms + approvals_last_ms:
            return self
        return replace(self, approvals_since_ms=now_ms)


def voter_bytes(voter: User) -> int:
    """The bytes of a voter's record, which a vote holds: credentials, tags, MFA policies."""
    return len(encode(voter))
