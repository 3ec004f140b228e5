"""Which credentials of users exist since when, and which credential began a session. Pure.

Every change of an organization passes through `registrations`, so no operation can register a credential
unnoticed. Not here: which credentials count for an approval (`pipeline.proofs`), whether an operation declares
those that it adds (`pipeline.changes`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, assert_never

import msgspec

from keystead.api.enums import CredentialType, OtpType
from keystead.api.records import ApiKey, Authenticator, OauthProvider, User, WalletAuthenticator
from keystead.organizations.credentials.credentials import CREDENTIAL_KINDS, credentials_by_id, is_session_key
from keystead.organizations.kinds.account_contacts import AccountContacts, AccountContactsMap
from keystead.organizations.kinds.credential_registrations import (
    CredentialRegistrations,
    CredentialRegistrationsMap,
    Registration,
)
from keystead.organizations.organization import Change, Organization, Put, Remove
from keystead.organizations.principals import contact_credential_type, contact_id

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


class AddedByChanges(msgspec.Struct, frozen=True):
    """A credential that changes register. `is_of_new_user`: its user is new, too."""

    user_id: str
    type: CredentialType
    is_of_new_user: bool


class Registrations(msgspec.Struct, frozen=True):
    """What changes register. `changes`: those of the records of registrations, to go with them."""

    changes: tuple[Change, ...]
    added: tuple[AddedByChanges, ...]


def registrations(organization: Organization, changes: Iterable[Change], begun_by: str) -> Registrations:
    """What these changes register. They lead to the organization's next version.

    A credential that is replaced under its id, such as the key of a session that is extended, and a contact with
    another text, are registered again. `begun_by`: the credential that begins the sessions among the changes.
    """
    further: list[Change] = []
    added: list[AddedByChanges] = []
    recorded = organization.of(CredentialRegistrationsMap)
    for user_id, (before, after) in _changed_holders(organization, changes).items():
        if before.fields == after.fields:
            continue
        known, held = recorded.get(user_id), before.by_id()
        by_id = dict[str, Registration]()
        for id_, credential in after.by_id().items():
            if held.get(id_) != credential:
                by_id[id_] = _registration(organization, credential, begun_by)
                added.append(AddedByChanges(user_id, _type_of(credential), user_id not in organization.users))
            elif known is not None and id_ in known.by_id:
                by_id[id_] = known.by_id[id_]
        if by_id:
            further.append(Put(CredentialRegistrations(user_id=user_id, by_id=by_id)))
        elif known is not None:
            further.append(Remove(CredentialRegistrations, user_id))
    return Registrations(tuple(further), tuple(added))


class _Contact(msgspec.Struct, frozen=True):
    """An account contact as a credential. `text`: in lower case."""

    otp_type: OtpType
    text: str


_CredentialOrContact = ApiKey | Authenticator | OauthProvider | WalletAuthenticator | _Contact


class _Holder(msgspec.Struct, frozen=True):
    """What a user can approve with: the credentials of the user's record, and the account contacts."""

    user: User | None
    contacts: AccountContacts | None

    @property
    def fields(self) -> tuple[object, ...]:
        """What `by_id` depends on, for a quick comparison."""
        user, contacts = self.user, self.contacts
        return contacts, user and [kind.held_by(user) for kind in CREDENTIAL_KINDS]

    def by_id(self) -> dict[str, _CredentialOrContact]:
        """Each credential by the id under which it stamps."""
        user, contacts = self.user, self.contacts
        if user is None:
            return {}
        texts = () if contacts is None else ((OtpType.EMAIL, contacts.email), (OtpType.SMS, contacts.phone_number))
        return {
            **credentials_by_id(user),
            **{
                contact_id(user.user_id, otp_type): _Contact(otp_type, text.lower())
                for otp_type, text in texts
                if text
            },
        }


def _type_of(credential: _CredentialOrContact) -> CredentialType:
    match credential:
        case ApiKey() | Authenticator():
            return credential.credential.type
        case OauthProvider():
            return CredentialType.OAUTH
        case WalletAuthenticator():
            return CredentialType.WALLET
        case _Contact():
            return contact_credential_type(credential.otp_type)
        case _:
            assert_never(credential)


def _registration(organization: Organization, credential: _CredentialOrContact, begun_by: str) -> Registration:
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
        match change:
            case Put(User() as user):
                users[user.user_id] = user
            case Put(AccountContacts() as held):
                contacts[held.user_id] = held
            case Remove(kind, id_) if kind is User:
                users[id_] = None
            case Remove(kind, id_) if kind is AccountContacts:
                contacts[id_] = None
            case Put() | Remove():
                pass  # a record of another kind, which holds no credential
            case _:
                assert_never(change)
    before = {
        user_id: _Holder(organization.users.get(user_id), organization.of(AccountContactsMap).get(user_id))
        for user_id in (*users, *contacts)
    }
    return {
        user_id: (held, _Holder(users.get(user_id, held.user), contacts.get(user_id, held.contacts)))
        for user_id, held in before.items()
    }
