"""Which credentials of users exist since when, and which credential began a session. Pure.

Every change of an organization passes through `registration_changes`, so no operation can register a credential
unnoticed. Not here: which credentials count for an approval (`pipeline.proofs`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from keystead.api.enums import OtpType
from keystead.api.records import ApiKey, User
from keystead.organizations.credentials.credentials import is_session_key
from keystead.organizations.kinds.account_contacts import AccountContacts, AccountContactsMap
from keystead.organizations.kinds.credential_registrations import (
    CredentialRegistrations,
    CredentialRegistrationsMap,
    Registration,
)
from keystead.organizations.organization import Change, Organization, Put, Remove
from keystead.organizations.principals import contact_id

_UNRECORDED: Final = Registration(0)


def registration_of(organization: Organization, user_id: str, record_id: str) -> Registration:
    """The registration of a user's credential or contact; in version 0 if none is recorded."""
    recorded = organization.of(CredentialRegistrationsMap).get(user_id)
    return _UNRECORDED if recorded is None else recorded.by_id.get(record_id, _UNRECORDED)


def registered_after(organization: Organization, version: int) -> frozenset[str]:
    """The ids of the credentials of all users that were registered after this version."""
    if version >= organization.version.number:
        return frozenset()
    return frozenset(
        id_
        for recorded in organization.of(CredentialRegistrationsMap).values()
        for id_, registration in recorded.by_id.items()
        if registration.version > version
    )


def registration_changes(
    organization: Organization, changes: Iterable[Change], begun_by: str
) -> tuple[Change, ...]:
    """The changes of registrations that go with these changes, which lead to the organization's next version.

    A credential that is replaced under its id, such as the key of a session that is extended, and a contact with
    another text, are registered again. `begun_by`: the credential that begins the sessions among the changes.
    """
    return tuple(_changes(organization, changes, begun_by))


class _Holder(msgspec.Struct, frozen=True):
    """What a user can approve with: the credentials of the user's record, and the account contacts."""

    user: User | None
    contacts: AccountContacts | None

    @property
    def fields(self) -> tuple[object, ...]:
        """What `by_id` depends on, for a quick comparison."""
        user, contacts = self.user, self.contacts
        return contacts, user and (
            user.api_keys,
            user.authenticators,
            user.oauth_providers,
            user.wallet_authenticators,
        )

    def by_id(self) -> dict[str, object]:
        """Each credential by the id under which it stamps."""
        user, contacts = self.user, self.contacts
        if user is None:
            return {}
        texts = () if contacts is None else ((OtpType.EMAIL, contacts.email), (OtpType.SMS, contacts.phone_number))
        return {
            **{key.api_key_id: key for key in user.api_keys},
            **{authenticator.authenticator_id: authenticator for authenticator in user.authenticators},
            **{provider.provider_id: provider for provider in user.oauth_providers},
            **{wallet.wallet_authenticator_id: wallet for wallet in user.wallet_authenticators},
            **{contact_id(user.user_id, otp_type): text.lower() for otp_type, text in texts if text},
        }


def _changes(organization: Organization, changes: Iterable[Change], begun_by: str) -> Iterator[Change]:
    recorded = organization.of(CredentialRegistrationsMap)
    for user_id, (before, after) in _changed_holders(organization, changes).items():
        if before.fields == after.fields:
            continue
        known, held = recorded.get(user_id), before.by_id()
        earlier = {} if known is None else known.by_id
        by_id = {
            id_: earlier[id_] if held.get(id_) == credential else _registration(organization, credential, begun_by)
            for id_, credential in after.by_id().items()
            if held.get(id_) != credential or id_ in earlier
        }
        if by_id:
            yield Put(CredentialRegistrations(user_id=user_id, by_id=by_id))
        elif known is not None:
            yield Remove(CredentialRegistrations, user_id)


def _registration(organization: Organization, credential: object, begun_by: str) -> Registration:
    version = organization.version.number + 1
    if not (isinstance(credential, ApiKey) and is_session_key(credential)):
        return Registration(version)
    assert begun_by, "an operation that begins a session says in its output which credential began it"
    return Registration(version, begun_by)


def _changed_holders(organization: Organization, changes: Iterable[Change]) -> dict[str, tuple[_Holder, _Holder]]:
    """The users that the changes touch, before and after."""
    users: dict[str, User | None] = {}
    contacts: dict[str, AccountContacts | None] = {}
    for change in changes:
        if isinstance(change, Put):
            if isinstance(change.record, User):
                users[change.record.user_id] = change.record
            elif isinstance(change.record, AccountContacts):
                contacts[change.record.user_id] = change.record
        elif change.kind is User:
            users[change.id] = None
        elif change.kind is AccountContacts:
            contacts[change.id] = None
    before = {
        user_id: _Holder(organization.users.get(user_id), organization.of(AccountContactsMap).get(user_id))
        for user_id in (*users, *contacts)
    }
    return {
        user_id: (held, _Holder(users.get(user_id, held.user), contacts.get(user_id, held.contacts)))
        for user_id, held in before.items()
    }
