"""Credentials that a change registers: each kind of them in a user's record has the version that adds it."""

from __future__ import annotations

import typing

import msgspec
import pytest
from msgspec.structs import replace

from keystead.api.enums import CredentialType
from keystead.api.records import ApiKey, Credential, MfaPolicy, OauthProvider, User
from keystead.organizations.credentials.registrations import registrations
from keystead.organizations.kinds.credential_registrations import CredentialRegistrations
from keystead.organizations.organization import Put
from tests.support.commit_samples import NOW, a_user, a_wallet_authenticator, an_organization

PROVIDER = OauthProvider("p", "issuer", "https://issuer.example", "audience", "subject", NOW, NOW)
LASTING = ApiKey(Credential("02" * 33, CredentialType.API_KEY_P256), "k", "key", NOW, NOW)
ADDED: dict[str, tuple[msgspec.Struct, str]] = {
    "api_keys": (LASTING, "api_key_id"),
    "authenticators": (a_user().authenticators[0], "authenticator_id"),
    "oauth_providers": (PROVIDER, "provider_id"),
    "wallet_authenticators": (a_wallet_authenticator(), "wallet_authenticator_id"),
}


def test_every_kind_of_credential_is_in_the_table() -> None:
    hints = typing.get_type_hints(User)
    lists = {name for name, hint in hints.items() if typing.get_origin(hint) is tuple and _items(hint) is not str}
    assert lists == {*ADDED, *[name for name in lists if _items(hints[name]) is MfaPolicy]}


def _items(hint: object) -> object:
    return typing.get_args(hint)[0]


@pytest.mark.parametrize("field", ADDED)
def test_an_added_credential_is_registered_in_the_next_version(field: str) -> None:
    user, (credential, id_field) = a_user(), ADDED[field]
    organization = an_organization(users=(user,))
    changed = replace(user, **{field: (*getattr(user, field), credential)})
    (put,) = registrations(organization, [Put(changed)], "").changes
    assert isinstance(put, Put)
    assert isinstance(put.record, CredentialRegistrations)
    registration = put.record.by_id[getattr(credential, id_field)]
    assert registration.version == organization.version.number + 1
