"""Records for the tests of rules, with only the fields that the rules read."""

from __future__ import annotations

import itertools
from typing import Any

from msgspec.structs import replace

from keystead.api.enums import CredentialType
from keystead.api.records import ApiKey, Authenticator, Credential, OauthProvider, Timestamp, User
from keystead.organizations.kinds.data_key import Sealed, SealedDataKey
from keystead.organizations.kinds.profile import Profile, RootQuorum
from keystead.organizations.organization import Organization, Version, from_records

NOW_MS = 1_800_000_000_000
NOW = Timestamp.from_ms(NOW_MS)
_serial = itertools.count(1)


def an_api_key(*, age_s: int = 0, expires_after_s: int | None = None, **members: Any) -> ApiKey:
    """Made `age_s` before NOW."""
    serial = next(_serial)
    made = Timestamp.from_ms(NOW_MS - age_s * 1000)
    key = ApiKey(
        credential=Credential(public_key=f"02{serial:064x}", type=CredentialType.API_KEY_P256),
        api_key_id=f"key-{serial:04}",
        api_key_name="key",
        created_at=made,
        updated_at=made,
        expiration_seconds=None if expires_after_s is None else str(expires_after_s),
    )
    return replace(key, **members)


def an_authenticator(**members: Any) -> Authenticator:
    serial = next(_serial)
    authenticator = Authenticator(
        transports=(),
        attestation_type="none",
        aaguid="",
        credential_id=f"credential-{serial}",
        model="",
        credential=Credential(public_key=f"cose-{serial}", type=CredentialType.WEBAUTHN_AUTHENTICATOR),
        authenticator_id=f"authenticator-{serial}",
        authenticator_name="passkey",
        created_at=NOW,
        updated_at=NOW,
    )
    return replace(authenticator, **members)


def a_provider(**members: Any) -> OauthProvider:
    provider = OauthProvider(
        provider_id=f"provider-{next(_serial)}",
        provider_name="provider",
        issuer="https://issuer.example",
        audience="tests",
        subject="ada",
        created_at=NOW,
        updated_at=NOW,
    )
    return replace(provider, **members)


def a_user(**members: Any) -> User:
    user = User(
        user_id=f"user-{next(_serial)}",
        user_name="Ada",
        authenticators=(),
        api_keys=(),
        user_tags=(),
        oauth_providers=(),
        mfa_policies=(),
        created_at=NOW,
        updated_at=NOW,
    )
    return replace(user, **members)


def an_organization(
    *users: User, features: dict[str, str] | None = None, threshold: int = 1, organization_id: str = "organization"
) -> Organization:
    """Its users are its root quorum."""
    profile = Profile(
        name="Keystead GmbH",
        root_quorum=RootQuorum(threshold, tuple(user.user_id for user in users)),
        created_at=NOW,
        features=features or {},
    )
    return from_records(organization_id, Version(1, "bootstrap"), [profile, SealedDataKey(Sealed("", b"")), *users])
