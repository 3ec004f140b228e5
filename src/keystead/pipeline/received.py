"""A submission or a vote, with its caller, as the steps of a write get it.

Not here: its body (`requests`), the order of the steps (`lifecycle`).
"""

from __future__ import annotations

import msgspec

from keystead.organizations.ip_allowlists import SourceAddress
from keystead.organizations.organization import Organization
from keystead.organizations.principals import Principal
from keystead.pipeline.activity import RecordedActivity
from keystead.pipeline.requests import Submission


class ReceivedRequest(msgspec.Struct, frozen=True):
    """`seen`: the organization in which the caller was found, after the request arrived. `source`: the address that
    the request came from."""

    submission: Submission
    caller: Principal
    seen: Organization
    source: SourceAddress

    @property
    def organization_id(self) -> str:
        return self.submission.organization_id

    @property
    def is_vote(self) -> bool:
        return self.submission.operation.vote is not None

    @property
    def activity_fingerprint(self) -> str:
        """The fingerprint of the activity that the request makes or votes on."""
        if self.is_vote:
            return self.submission.intent.fingerprint  # type: ignore[attr-defined, no-any-return]
        return self.submission.fingerprint

    def is_done_by(self, activity: RecordedActivity) -> bool:
        """Whether the activity on record shows that the same bytes were carried out before."""
        return not self.is_vote or any(
            proof.user_id == self.caller.user.user_id and proof.fingerprint == self.submission.fingerprint
            for proof in activity.proofs
        )
