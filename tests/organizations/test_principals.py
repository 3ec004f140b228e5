"""The user of a proven key, contact, identity or read-only session in one organization, and the refusals."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from keystead.api.enums import CredentialType, OtpType
from keystead.api.errors import InvalidRequest, PermissionDenied, ServiceError, Unauthenticated
from keystead.api.records import Credential
from keystead.organizations.credentials.identities import ProvenIdentity
from keystead.organizations.kinds.account_contacts import AccountContacts
from keystead.organizations.kinds.read_only_sessions import ReadOnlySession
from keystead.organizations.lookups import AccountLookupKind, LookupKind
from keystead.organizations.organization import Organization, Put, apply
from keystead.organizations.principals import (
    ProvenContact,
    ProvenKey,
    ambiguous_value_error,
    contact_id,
    principal_in,
    unknown_key_error,
)
from tests.organizations.records import NOW_MS, a_provider, a_user, an_api_key, an_authenticator, an_organization

API_KEYS = frozenset({CredentialType.API_KEY_P256, CredentialType.LOGIN})
EMAIL, SMS = CredentialType.EMAIL_OTP, CredentialType.SMS_OTP
FEATURES = {"FEATURE_NAME_OTP_EMAIL_AUTH": "", "FEATURE_NAME_SMS_AUTH": ""}


def key(public_key: str, type_: CredentialType = CredentialType.API_KEY_P256, **members: Any) -> Any:
    return an_api_key(credential=Credential(public_key=public_key, type=type_), api_key_id=public_key, **members)


ADA = a_user(
    user_id="ada",
    user_email="Ada@example.com",
    user_phone_number="+4915112345678",
    api_keys=(
        key("02lasting"),
        key("02expired", age_s=60, expires_after_s=60),
        key("02last second", age_s=59, expires_after_s=60),
        key("02recovery", CredentialType.RECOVER_USER_KEY_P256),
        replace(
            key("02session"),
            credential=Credential(public_key="02session", type=CredentialType.LOGIN, session_profile_id="profile"),
        ),
    ),
    authenticators=(
        an_authenticator(
            credential_id="passkey",
            authenticator_id="authenticator",
            credential=Credential(public_key="cose", type=CredentialType.WEBAUTHN_AUTHENTICATOR),
        ),
    ),
    oauth_providers=(a_provider(provider_id="provider"),),
)
BOB = a_user(user_id="bob", user_email="ada@example.com", user_phone_number="+4915100000000")


def with_sessions(organization: Organization) -> Organization:
    sessions = [
        ReadOnlySession(digest="open", session_id="open session", user_id="ada", expires_at_ms=NOW_MS + 1),
        ReadOnlySession(digest="over", session_id="session", user_id="ada", expires_at_ms=NOW_MS),
        ReadOnlySession(digest="nobody's", session_id="session", user_id="removed", expires_at_ms=NOW_MS + 1),
    ]
    return apply(organization, [Put(session) for session in sessions], organization.version)


CONTACTS = AccountContacts(user_id="ada", email="Ada@example.com", phone_number="+4915112345678")


def with_contacts(organization: Organization) -> Organization:
    return apply(organization, [Put(CONTACTS)], organization.version)


ORGANIZATION = with_contacts(with_sessions(an_organization(ADA, BOB, features=FEATURES)))


def proven(public_key: str = "", **members: Any) -> ProvenKey:
    fields: dict[str, Any] = {"signature": "", "scheme": "SCHEME", "credential_types": API_KEYS} | members
    return ProvenKey(public_key=public_key, **fields)


def contact(text: str, type_: OtpType = OtpType.EMAIL, issued_by: str = "organization") -> ProvenKey:
    return proven("02", contact=ProvenContact(otp_type=type_, contact=text, organization_id=issued_by))


def identity(subject: str = "ada", issuer: str = "https://issuer.example", audience: str = "tests") -> ProvenKey:
    return proven("02", identity=ProvenIdentity(iss=issuer, sub=subject, aud=audience, nonces=(), email=None))


FOUND = [
    ("an API key", ORGANIZATION, proven("02lasting"), ("ada", "02lasting", CredentialType.API_KEY_P256, "")),
    ("a key in its last second", ORGANIZATION, proven("02last second"), ("ada", "02last second", "*", "")),
    (
        "a session under a profile",
        ORGANIZATION,
        proven("02session"),
        ("ada", "02session", CredentialType.LOGIN, "profile"),
    ),
    ("a passkey", ORGANIZATION, proven("cose", credential_id="passkey"), ("ada", "authenticator", "*", "")),
    ("an identity", ORGANIZATION, identity(), ("ada", "provider", CredentialType.OAUTH, "")),
    (
        "a phone number",
        ORGANIZATION,
        contact("+49 151 12345678", OtpType.SMS),
        ("ada", contact_id("ada", OtpType.SMS), SMS, ""),
    ),
    (
        "an address that another user wrote, too",
        ORGANIZATION,
        contact("ADA@example.com"),
        ("ada", contact_id("ada", OtpType.EMAIL), EMAIL, ""),
    ),
    (
        "a read-only session",
        ORGANIZATION,
        proven(session_digest="open"),
        ("ada", "open session", CredentialType.LOGIN, ""),
    ),
]


@pytest.mark.parametrize(
    ("organization", "stamp", "expected"), [one[1:] for one in FOUND], ids=[one[0] for one in FOUND]
)
def test_found(organization: Organization, stamp: ProvenKey, expected: tuple[str, str, str, str]) -> None:
    principal = principal_in(organization, stamp, NOW_MS)
    assert principal is not None
    user_id, record_id, credential_type, session_profile_id = expected
    assert (principal.user.user_id, principal.record_id) == (user_id, record_id)
    assert credential_type in ("*", principal.credential_type)
    assert principal.session_profile_id == session_profile_id
    assert (principal.organization_id, principal.proven) == (organization.id, stamp)


NOT_FOUND = [
    ("an unknown key", proven("02unknown")),
    ("an unknown passkey", proven("cose", credential_id="unknown")),
    ("a passkey with another key", proven("another", credential_id="passkey")),
    ("another subject", identity(subject="bob")),
    ("another issuer", identity(issuer="https://other.example")),
    ("another audience", identity(audience="other")),
    ("an unknown address", contact("none@example.com")),
    ("a number that is only written", contact("+4915100000000", OtpType.SMS)),
    ("an address as a phone number", contact("ada@example.com", OtpType.SMS)),
    ("a token of another organization", contact("+4915112345678", OtpType.SMS, issued_by="other")),
    ("an unknown read-only session", proven(session_digest="unknown")),
    ("a read-only session of a removed user", proven(session_digest="nobody's")),
]


@pytest.mark.parametrize("stamp", [one[1] for one in NOT_FOUND], ids=[one[0] for one in NOT_FOUND])
def test_not_found(stamp: ProvenKey) -> None:
    assert principal_in(ORGANIZATION, stamp, NOW_MS) is None


REFUSED: list[tuple[str, ProvenKey, type[ServiceError], str]] = [
    (
        "an expired key",
        proven("02expired"),
        Unauthenticated,
        f"expired api key publicKey=02expired: .* {NOW_MS} ms",
    ),
    ("a read-only session that is over", proven(session_digest="over"), Unauthenticated, "expired api key"),
    (
        "another scheme",
        proven("02lasting", credential_types=frozenset({CredentialType.LOGIN})),
        Unauthenticated,
        "scheme SCHEME does not fit an API key of type",
    ),
    ("a recovery key", proven("02recovery"), PermissionDenied, "stamps recover_user"),
]


@pytest.mark.parametrize(
    ("stamp", "error", "message"), [one[1:] for one in REFUSED], ids=[one[0] for one in REFUSED]
)
def test_refused(stamp: ProvenKey, error: type[ServiceError], message: str) -> None:
    with pytest.raises(error, match=message):
        principal_in(ORGANIZATION, stamp, NOW_MS)


def test_a_contact_that_finds_two_users_is_refused() -> None:
    second = Put(AccountContacts(user_id="bob", email="ada@example.com"))
    organization = apply(ORGANIZATION, [second], ORGANIZATION.version)
    with pytest.raises(Unauthenticated, match="more than one user"):
        principal_in(organization, contact("ada@example.com"), NOW_MS)


def test_logins_by_contact_need_their_feature() -> None:
    """A parent's own users are not found; in a sub-organization the caller is told what to enable."""
    parent = with_contacts(an_organization(ADA))
    assert principal_in(parent, contact("+4915112345678", OtpType.SMS), NOW_MS) is None
    profile = replace(parent.profile, parent_id="parent")
    below = apply(parent, [Put(profile)], parent.version)
    with pytest.raises(InvalidRequest, match="feature FEATURE_NAME_SMS_AUTH is not enabled"):
        principal_in(below, contact("+4915112345678", OtpType.SMS, issued_by="parent"), NOW_MS)


LOOKUPS = [
    (proven("02lasting"), LookupKind.PUBLIC_KEY, "02lasting"),
    (proven("cose", credential_id="passkey"), LookupKind.CREDENTIAL_ID, "passkey"),
    (contact("ADA@example.com"), LookupKind.ACCOUNT_EMAIL, "ada@example.com"),
    (contact("+49 151 12345678", OtpType.SMS), LookupKind.ACCOUNT_PHONE_NUMBER, "+4915112345678"),
]


@pytest.mark.parametrize(("stamp", "kind", "value"), LOOKUPS, ids=[one[1].name for one in LOOKUPS])
def test_the_lookup_that_finds_a_sub_organization(stamp: ProvenKey, kind: AccountLookupKind, value: str) -> None:
    assert stamp.lookup() == (kind, value)
    assert "more than one suborg associated with a " in ambiguous_value_error(kind).message


UNKNOWN = [
    (proven("02"), "PUBLIC_KEY_NOT_FOUND", r"could not find public key .* publicKey=02$"),
    (proven(session_digest="x"), "PUBLIC_KEY_NOT_FOUND", "no read-only session has the text of header X-Session"),
    (proven(credential_id="passkey"), "CREDENTIAL_NOT_FOUND", "credential ID could not be found .*=passkey"),
    (contact("a@example.com"), "CREDENTIAL_NOT_FOUND", "verified email that the attested stamp proves"),
    (identity(), "CREDENTIAL_NOT_FOUND", "OIDC identity that the attested stamp proves"),
]


@pytest.mark.parametrize(("stamp", "machine_code", "message"), UNKNOWN)
def test_the_error_for_an_unknown_credential(stamp: ProvenKey, machine_code: str, message: str) -> None:
    error = unknown_key_error("organization", stamp)
    assert error.machine_code == machine_code
    with pytest.raises(Unauthenticated, match=message):
        raise error
