"""Invitations that were not accepted yet."""

from __future__ import annotations

import msgspec

from keystead.api.enums import AccessType
from keystead.api.records import Timestamp
from keystead.organizations.limits import Limit
from keystead.organizations.record_map import RecordMap

INVITATIONS = Limit(
    name="invitations",
    default=1_000,
    description="Most open invitations of an organization.",
    called="invitations",
)


class Invitation(msgspec.Struct, frozen=True, kw_only=True):
    """An invitation that the user `sender_id` sent to somebody who may join the organization.

    `user_id`: the user that it made, who has nothing but the key of the link; "" if it has no link.
    `expires_at_ms`: when the link expires, in milliseconds since the epoch.
    """

    id: str
    receiver_user_name: str
    receiver_user_email: str
    receiver_user_tags: tuple[str, ...]
    access_type: AccessType
    sender_id: str
    created_at: Timestamp
    user_id: str = ""
    expires_at_ms: int = 0


class Invitations(RecordMap[Invitation], frozen=True):
    stored_name = "invitation"
    record = Invitation
    id_field = "id"
    limits = (INVITATIONS,)
