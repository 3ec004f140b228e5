"""Which credentials a request adds: what the operations that add some declare (`adds`).

Not here: whether they may be added (`policies.added_credentials`), their records (`organizations`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress

from keystead.api.enums import ApiKeyCurve, CredentialType, OtpType
from keystead.api.errors import InvalidRequest
from keystead.api.parameters import ApiKeyParamsV2, AuthenticatorParamsV2, WalletAuthenticatorParams
from keystead.api.records import User
from keystead.operations.logins.session_keys import compressed_public_key
from keystead.operations.users.user_intents import UserParamsV4
from keystead.organizations.contacts.account_contacts import account_contacts_of
from keystead.organizations.contacts.contact_evidence import ContactEvidence
from keystead.organizations.credentials.api_keys import API_KEY_TYPES, normalized_public_key
from keystead.organizations.credentials.authenticators import normalized_credential_id
from keystead.organizations.organization import Organization
from keystead.organizations.principals import contact_credential_type, contact_id
from keystead.pipeline.operation import AddedCredential, NewUser


def api_keys(params: Iterable[ApiKeyParamsV2], holder: str | NewUser) -> list[AddedCredential]:
    return [
        AddedCredential(
            type=API_KEY_TYPES[each.curve_type or ApiKeyCurve.P256],
            holder=holder,
            public_key=normalized_public_key(each.public_key),
        )
        for each in params
    ]


def authenticators(params: Iterable[AuthenticatorParamsV2], holder: str | NewUser) -> list[AddedCredential]:
    """The public key of a passkey is in its attestation, which the execution verifies."""
    return [
        AddedCredential(
            type=CredentialType.WEBAUTHN_AUTHENTICATOR,
            holder=holder,
            credential_id=normalized_credential_id(each.attestation.credential_id),
        )
        for each in params
    ]


def identity(holder: str | NewUser) -> AddedCredential:
    """An OAuth identity. The key of each stamp by it is new."""
    return AddedCredential(type=CredentialType.OAUTH, holder=holder)


def wallets(params: Iterable[WalletAuthenticatorParams], holder: str) -> list[AddedCredential]:
    """Wallets that log in. The key of each stamp by one is new."""
    return [AddedCredential(type=CredentialType.WALLET, holder=holder) for _ in params]


def contacts(holder: str | NewUser, email: str | None, phone_number: str | None) -> list[AddedCredential]:
    """The contacts that a request writes. "" and None write none."""
    written = ((OtpType.EMAIL, email), (OtpType.SMS, phone_number))
    return [
        AddedCredential(
            type=contact_credential_type(otp_type),
            holder=holder,
            id=contact_id(holder, otp_type) if isinstance(holder, str) else "",
        )
        for otp_type, contact in written
        if contact
    ]


def proven_contacts(
    organization: Organization, user: User, evidence: Iterable[ContactEvidence]
) -> list[AddedCredential]:
    """The contacts of a user that find the account because of this evidence, and did not before."""
    before = account_contacts_of(organization, user)
    after = account_contacts_of(organization, user, evidence)
    return contacts(
        user.user_id,
        None if before.email else after.email,
        None if before.phone_number else after.phone_number,
    )


def new_users(params: Iterable[UserParamsV4]) -> list[AddedCredential]:
    return [credential for each in params for credential in _of_new_user(each)]


def _of_new_user(params: UserParamsV4) -> Iterator[AddedCredential]:
    user = NewUser(params.user_name, params.user_email or "", params.user_tags)
    yield from api_keys(params.api_keys, user)
    yield from authenticators(params.authenticators, user)
    yield from (identity(user) for _ in params.oauth_providers)
    yield from contacts(user, params.user_email, params.user_phone_number)


def session(type_: CredentialType, holder: str | None, public_key: str | None = None) -> tuple[AddedCredential]:
    """The key of a session. Without a public key, the server makes the key."""
    key = ""
    if public_key is not None:
        with suppress(InvalidRequest):  # the execution refuses a malformed key
            key = compressed_public_key(public_key)
    return (AddedCredential(type=type_, holder=holder, is_session=True, public_key=key),)
