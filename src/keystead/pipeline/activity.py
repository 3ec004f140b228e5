"""An activity on record with its parts, and its statuses.

Here: the values; every transition between statuses: nothing else changes a status. Not here: what causes a
transition (`execute`, `vote`), how a caller sees the activity (`submission`).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

import msgspec
from msgspec.structs import replace

from keystead.api.enums import FINAL_STATUSES, ActivityStatus, CredentialType
from keystead.api.errors import InvalidRequest
from keystead.api.records import AppProof, Status, User, Vote
from keystead.api.rendering import encode
from keystead.organizations.credentials.identities import ProvenIdentity


class Proof(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A credential with which a user stamped an approval.

    - `record_id`: the id of the API key, authenticator, OAuth provider or contact.
    - `credential_id`: the id of a passkey; "" for an API key.
    - `fingerprint`: the fingerprint of the stamped request.
    - `at_ms`: when the approval was given. `at_version`: the number of the version of the approver's organization
      that it was decided on.
    - `registered_in`: the version that registered the credential. `origin`: the id of the credential that began the
      session, if it is the key of one, else its own (`organizations.credentials.registrations`).
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
    origin: str = ""
    fingerprint: str = ""
    session_profile_id: str = ""
    identities: Mapping[str, ProvenIdentity] = {}


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


class Event(Enum):
    """What happened to an activity at its submission, and at each vote."""

    EXECUTED = "allowed, and the execution succeeded"
    FAILED = "allowed, and the execution was refused"
    LACKS_CONSENSUS = "more approvals are needed"
    LACKS_AUTHENTICATORS = "a voter has not proved every method that an MFA policy asks for"
    REJECTED = "a user who may vote rejected it"


_OPEN = (
    ActivityStatus.CREATED,
    ActivityStatus.PENDING,
    ActivityStatus.CONSENSUS_NEEDED,
    ActivityStatus.AUTHENTICATORS_NEEDED,
)
_NEXT: Mapping[Event, ActivityStatus] = {
    Event.EXECUTED: ActivityStatus.COMPLETED,
    Event.FAILED: ActivityStatus.FAILED,
    Event.LACKS_CONSENSUS: ActivityStatus.CONSENSUS_NEEDED,
    Event.LACKS_AUTHENTICATORS: ActivityStatus.AUTHENTICATORS_NEEDED,
    Event.REJECTED: ActivityStatus.REJECTED,
}

TRANSITIONS: Mapping[tuple[ActivityStatus, Event], ActivityStatus] = {
    (status, event): next_
    for status in _OPEN
    for event, next_ in _NEXT.items()
    # A submission does not reject itself. If its execution fails at once, it is refused, and nothing is recorded.
    if not (status is ActivityStatus.CREATED and event in (Event.REJECTED, Event.FAILED))
}
"""The next status by status and event. CREATED stands for a submission that is being decided."""


def next_status(status: ActivityStatus, event: Event) -> ActivityStatus:
    """The status after the event. Raises InvalidRequest for a vote on an activity in a final status."""
    next_ = TRANSITIONS.get((status, event))
    if next_ is None:
        raise InvalidRequest(f"the activity is already in status {status}; votes on it are closed")
    return next_


def chosen_by_developer(status: ActivityStatus, chosen: ActivityStatus) -> ActivityStatus:
    """The status of a new activity that a developer chose. Only a development server has such choices."""
    assert status is ActivityStatus.CREATED, status
    return chosen
