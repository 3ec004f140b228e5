"""Account contacts: the contacts by which the account of a user is found.

Not here: what entitles a contact to find an account (`contacts.contact_evidence`), the change of these records
(`account_contacts`).
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from msgspec.structs import replace

from keystead.organizations.lookups import Lookup, LookupKind
from keystead.organizations.persistent_map import PersistentMap
from keystead.organizations.record_map import RecordMap
from keystead.organizations.value_index import ValueIndex, with_id, without_id

_HOLDER_BYTES = 180
"""Bytes of one entry in an index of contacts, with its tuple."""


class AccountContacts(msgspec.Struct, frozen=True, kw_only=True):
    """The account contacts of one user. A contact that the user has and that is not here finds nobody.

    `email_verified`, `phone_number_verified`: whether a code or an ID token verified the contact. Otherwise a user
    of the parent wrote it.
    """

    user_id: str
    email: str | None = None
    phone_number: str | None = None
    email_verified: bool = True
    phone_number_verified: bool = True


class AccountContactsMap(RecordMap[AccountContacts], frozen=True):
    """The account contacts, with these indexes:

    - `by_email`: from an e-mail address in lower case to the ids of its users;
    - `by_phone_number`: from a phone number to the ids of its users.
    """

    stored_name = "verified_contacts"  # the first releases stored verified contacts only
    record = AccountContacts
    id_field = "user_id"
    has_index = True

    by_email: ValueIndex = PersistentMap()
    by_phone_number: ValueIndex = PersistentMap()

    @classmethod
    def lookups(cls, record: AccountContacts) -> frozenset[Lookup]:
        values = []
        if record.email:
            values.append((LookupKind.ACCOUNT_EMAIL, record.email.lower()))
            values += [(LookupKind.VERIFIED_EMAIL, record.email.lower())] * record.email_verified
        if record.phone_number:
            values.append((LookupKind.ACCOUNT_PHONE_NUMBER, record.phone_number))
            values += [(LookupKind.VERIFIED_PHONE_NUMBER, record.phone_number)] * record.phone_number_verified
        return frozenset(Lookup(kind, value, record.user_id) for kind, value in values)

    @classmethod
    def _bytes(cls, record: AccountContacts) -> int:
        return super()._bytes(record) + _HOLDER_BYTES * (bool(record.email) + bool(record.phone_number))

    def _index(self, record: AccountContacts) -> AccountContactsMap:
        return self._with_contacts(record, with_id)

    def _unindex(self, record: AccountContacts) -> AccountContactsMap:
        return self._with_contacts(record, without_id)

    def _with_contacts(
        self, record: AccountContacts, change: Callable[[ValueIndex, str, str], ValueIndex]
    ) -> AccountContactsMap:
        """This map after `change` of its indexes for each contact of the record."""
        emails, numbers = self.by_email, self.by_phone_number
        if record.email:
            emails = change(emails, record.email.lower(), record.user_id)
        if record.phone_number:
            numbers = change(numbers, record.phone_number, record.user_id)
        return replace(self, by_email=emails, by_phone_number=numbers)
