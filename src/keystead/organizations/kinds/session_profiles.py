"""Session profiles: what the sessions that name them may do, and for how long. They never change."""

from __future__ import annotations

from keystead.api.records import SessionProfile
from keystead.organizations.limits import Limit
from keystead.organizations.record_map import RecordMap

SESSION_PROFILES = Limit(
    name="session_profiles",
    default=100,
    description="Most session profiles of an organization.",
    called="session profiles",
)


class SessionProfiles(RecordMap[SessionProfile], frozen=True):
    stored_name = "session_profile"
    record = SessionProfile
    id_field = "session_profile_id"
    limits = (SESSION_PROFILES,)
    label_field = "session_profile_name"
    label_called = "session profile name"
