"""Contacts that users have proved to be theirs.

Not here: what proves them (`operations.verification_tokens`).
"""

from __future__ import annotations

import msgspec

from keystead.organizations.lookups import Lookup, LookupKind
from keystead.organizations.record_map import RecordMap


class VerifiedContacts(msgspec.Struct, frozen=True, kw_only=True):
    """The verified contacts of one user. A contact is in this record only while the user has it: code that changes
    a user's contact changes this record, too."""

    user_id: str
    email: str | None = None
    phone_number: str | None = None


class VerifiedContactsMap(RecordMap[VerifiedContacts], frozen=True):
    stored_name = "verified_contacts"
    record = VerifiedContacts
    id_field = "user_id"

    @classmethod
    def lookups(cls, record: VerifiedContacts) -> frozenset[Lookup]:
        values = []
        if record.email:
            values.append(Lookup(LookupKind.VERIFIED_EMAIL, record.email.lower(), record.user_id))
        if record.phone_number:
            values.append(Lookup(LookupKind.VERIFIED_PHONE_NUMBER, record.phone_number, record.user_id))
        return frozenset(values)
