"""Read-only sessions. A caller with the text of one may send queries until it expires. Only a digest of the text is
on record."""

from __future__ import annotations

import msgspec

from keystead.organizations.limits import Limit
from keystead.organizations.record_map import RecordMap

READ_ONLY_SESSIONS = Limit(
    name="read_only_sessions_per_user",
    default=10,
    description="Most read-only sessions of a user; one more replaces the oldest.",
    called="read-only sessions of one user",
)


class ReadOnlySession(msgspec.Struct, frozen=True, kw_only=True):
    """`digest`: hex of SHA-256 over the session's text."""

    digest: str
    session_id: str
    user_id: str
    expires_at_ms: int


class ReadOnlySessions(RecordMap[ReadOnlySession], frozen=True):
    stored_name = "read_only_session"
    record = ReadOnlySession
    id_field = "digest"
    limits = (READ_ONLY_SESSIONS,)
