"""When the credentials of users were registered, and what began their sessions: data that the public API does not
show.

Not here: how it follows from the changes of users (`organizations.credentials.registrations`).
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from keystead.organizations.record_map import RecordMap


class Registration(msgspec.Struct, frozen=True, omit_defaults=True):
    """In which version a credential was registered, and which credential began its session.

    `version`: the number of the first version of the organization that has the credential. `begun_by`: of the
    key of a session, the id of the credential that began it; the key of a session that began a session counts as
    the credential that began the first one. "" for other credentials."""

    version: int
    begun_by: str = ""


class CredentialRegistrations(msgspec.Struct, frozen=True, kw_only=True):
    """The registrations of one user's credentials and contacts, by their ids.

    A credential without one was registered with its organization, or before registrations were recorded.
    """

    user_id: str
    by_id: Mapping[str, Registration]


class CredentialRegistrationsMap(RecordMap[CredentialRegistrations], frozen=True):
    stored_name = "credential_registrations"
    record = CredentialRegistrations
    id_field = "user_id"
