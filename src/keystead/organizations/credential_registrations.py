"""Which credentials of users exist since when, and which credential began a session. Pure.

Every change of an organization passes through `registration_changes`, so no operation can register a credential
unnoticed. Not here: which credentials count for an approval (`pipeline.proofs`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from keystead.api.enums import CredentialType
from keystead.api.records import ApiKey, Authenticator, OauthProvider, User
from keystead.organizations.kinds.credential_registrations import (
    CredentialRegistrations,
    CredentialRegistrationsMap,
    Registration,
)
from keystead.organizations.organization import Change, Organization, Put, Remove
from keystead.organizations.principals import contact_record_id

SESSION_KEYS: Final = frozenset(
    {
        CredentialType.LOGIN,
        CredentialType.READ_WRITE_SESSION_KEY_P256,
        CredentialType.OTP_AUTH_KEY_P256,
        CredentialType.OAUTH_KEY_P256,
        CredentialType.EMAIL_AUTH_KEY_P256,
        CredentialType.RECOVER_USER_KEY_P256,
    }
)
"""The types of API keys that another credential begins: sessions, and recovery keys."""

_UNRECORDED: Final = Registration(0)

_Held = Mapping[str, ApiKey | Authenticator | OauthProvider | str]


def registration_of(organization: Organization, user_id: str, record_id: str) -> Registration:
    """The registration of a user's credential or contact; in version 0 if none is recorded."""
    recorded = organization.of(CredentialRegistrationsMap).get(user_id)
    return _UNRECORDED if recorded is None else recorded.by_id.get(record_id, _UNRECORDED)


def registration_changes(
    organization: Organization, changes: Iterable[Change], begun_by: str
) -> tuple[Change, ...]:
    """The changes of registrations that go with these changes, which lead to the organization's next version.

    A credential that is replaced under its id, such as the key of a session that is extended, and a contact with
    another text, are registered again. `begun_by`: the credential that begins the sessions among the changes.
    """
    return tuple(_changes(organization, changes, begun_by))


def _changes(organization: Organization, changes: Iterable[Change], begun_by: str) -> Iterator[Change]:
    recorded = organization.of(CredentialRegistrationsMap)
    for user_id, after in _users_after(changes).items():
        before, known = organization.users.get(user_id), recorded.get(user_id)
        if before is not None and after is not None and _credentials(before) == _credentials(after):
            continue
        held, earlier = _held(before), {} if known is None else known.by_id
        by_id = {
            id_: _registration(organization, credential, begun_by) if held.get(id_) != credential else earlier[id_]
            for id_, credential in _held(after).items()
            if held.get(id_) != credential or id_ in earlier
        }
        if by_id:
            yield Put(CredentialRegistrations(user_id=user_id, by_id=by_id))
        elif known is not None:
            yield Remove(CredentialRegistrations, user_id)


def _registration(organization: Organization, credential: object, begun_by: str) -> Registration:
    version = organization.version.number + 1
    if not (isinstance(credential, ApiKey) and credential.credential.type in SESSION_KEYS):
        return Registration(version)
    assert begun_by, "an operation that begins a session says in its output which credential began it"
    return Registration(version, begun_by)


def _users_after(changes: Iterable[Change]) -> dict[str, User | None]:
    """The users among the changes as they are afterwards; None for one who is removed."""
    users: dict[str, User | None] = {}
    for change in changes:
        if isinstance(change, Put) and isinstance(change.record, User):
            users[change.record.user_id] = change.record
        elif isinstance(change, Remove) and change.kind is User:
            users[change.id] = None
    return users


def _credentials(user: User) -> tuple[object, ...]:
    return user.api_keys, user.authenticators, user.oauth_providers, user.user_email, user.user_phone_number


def _held(user: User | None) -> _Held:
    """What a user can approve with, by the id under which it stamps."""
    if user is None:
        return {}
    contacts = ((CredentialType.EMAIL_OTP, user.user_email), (CredentialType.SMS_OTP, user.user_phone_number))
    return {
        **{key.api_key_id: key for key in user.api_keys},
        **{authenticator.authenticator_id: authenticator for authenticator in user.authenticators},
        **{provider.provider_id: provider for provider in user.oauth_providers},
        **{contact_record_id(user, type_): contact.lower() for type_, contact in contacts if contact},
    }
