"""The user and the organization that sent a request, by the key or credential that its stamp proves.

Here: from a proven key to its user in one organization, and the expiry of keys.
Not here: which organizations are searched (`server.callers`), whether the stamp is valid (`stamps`), and
what its user may do (`policies`).
"""

from __future__ import annotations

from typing import Final, assert_never

import msgspec

from keystead.api.enums import CredentialType, OtpType
from keystead.api.errors import PermissionDenied, Unauthenticated
from keystead.api.records import User
from keystead.organizations.contacts import account_contacts
from keystead.organizations.contacts.contacts import normalized_contact
from keystead.organizations.credentials.identities import ProvenIdentity
from keystead.organizations.credentials.oauth_providers import user_with_identity
from keystead.organizations.credentials.wallet_authenticators import user_with_wallet
from keystead.organizations.lookups import AccountLookupKind, LookupKind, identity_lookup_value, wallet_lookup_value
from keystead.organizations.organization import Organization
from keystead.sessions.wallet_tokens import WalletClaim

_CALLED = {
    LookupKind.CREDENTIAL_ID: "credential ID",
    LookupKind.PUBLIC_KEY: "public key",
    LookupKind.ACCOUNT_EMAIL: "verified email",
    LookupKind.ACCOUNT_PHONE_NUMBER: "verified phone number",
    LookupKind.OAUTH_IDENTITY: "OIDC identity",
    LookupKind.WALLET: "wallet at this domain",
}


class ProvenContact(msgspec.Struct, frozen=True, kw_only=True):
    """What a verification token proves: an e-mail address or a phone number, and which organization issued it."""

    otp_type: OtpType
    contact: str
    organization_id: str

    @property
    def normalized(self) -> str:
        return normalized_contact(self.otp_type, self.contact)


class ProvenWallet(msgspec.Struct, frozen=True, kw_only=True):
    """What a wallet verification token proves: a wallet that logs in at a domain, and which organization issued
    it."""

    claim: WalletClaim
    organization_id: str


class ProvenKey(msgspec.Struct, frozen=True, kw_only=True):
    """What a verified stamp proves: possession of a key, of one of these credential types.

    - `public_key`: hex for an API key, base64url of the COSE key for a passkey.
    - `credential_id`: set for passkeys only.
    - `organization_id`: set for a passkey, if the request names ANY_ORGANIZATION. The organization that has it.
    - `contact`, `identity`, `wallet`: one is set for attested stamps. What the token proves that attests the key.
    - `session_digest`: set if the request has the text of a read-only session instead of a stamp.
    - `signature`, `scheme`: for the vote that the stamp casts.
    """

    public_key: str
    signature: str
    scheme: str
    credential_types: frozenset[CredentialType]
    credential_id: str | None = None
    contact: ProvenContact | None = None
    identity: ProvenIdentity | None = None
    wallet: ProvenWallet | None = None
    session_digest: str | None = None
    organization_id: str | None = None

    @property
    def is_attested(self) -> bool:
        return self.contact is not None or self.identity is not None or self.wallet is not None

    def lookup(self) -> tuple[AccountLookupKind, str]:
        """The kind and the value by which the user's organization is found from its parent."""
        if self.credential_id is not None:
            return LookupKind.CREDENTIAL_ID, self.credential_id
        if self.identity is not None:
            identity = self.identity
            return LookupKind.OAUTH_IDENTITY, identity_lookup_value(identity.iss, identity.aud, identity.sub)
        if self.contact is not None:
            return account_contacts.contact_lookup_kind(self.contact.otp_type), self.contact.normalized
        if self.wallet is not None:
            return LookupKind.WALLET, wallet_lookup_value(self.wallet.claim)
        return LookupKind.PUBLIC_KEY, self.public_key


class Principal(msgspec.Struct, frozen=True, kw_only=True):
    """A user, the organization that the user belongs to, and the key that proved it.

    `record_id`: the id of the credential's record. `expires_at_ms`: when the key expires, if it does.
    `session_profile_id`: the profile of the session, if the key belongs to a session with a profile; otherwise "".
    """

    organization_id: str
    user: User
    record_id: str
    credential_type: CredentialType
    proven: ProvenKey
    expires_at_ms: int | None = None
    session_profile_id: str = ""

    def has_expired(self, now_ms: int) -> bool:
        return self.expires_at_ms is not None and now_ms >= self.expires_at_ms


def principal_in(organization: Organization, proven: ProvenKey, now_ms: int) -> Principal | None:
    """The user of this organization who has the proven key; None if no user has it.

    Raises Unauthenticated if the key has expired, or if the stamp's scheme does not fit the key on record;
    PermissionDenied for a recovery key that stamps anything but a recovery.
    """
    if proven.session_digest is not None:
        return _principal_of_read_only_session(organization, proven, proven.session_digest, now_ms)
    if proven.contact is not None:
        return _principal_of_contact(organization, proven, proven.contact)
    if proven.identity is not None:
        return _principal_of_identity(organization, proven, proven.identity)
    if proven.wallet is not None:
        return _principal_of_wallet(organization, proven, proven.wallet)
    if proven.credential_id is not None:
        return _principal_of_passkey(organization, proven, proven.credential_id)
    return _principal_of_api_key(organization, proven, now_ms)


def _principal_of_passkey(organization: Organization, proven: ProvenKey, credential_id: str) -> Principal | None:
    holder = organization.users.by_credential_id.get(credential_id)
    if holder is None or holder[1].credential.public_key != proven.public_key:
        return None
    user_id, authenticator = holder
    return Principal(
        organization_id=organization.id,
        user=organization.users.by_id[user_id],
        record_id=authenticator.authenticator_id,
        credential_type=authenticator.credential.type,
        proven=proven,
    )


def _principal_of_api_key(organization: Organization, proven: ProvenKey, now_ms: int) -> Principal | None:
    holder = organization.users.by_public_key.get(proven.public_key)
    if holder is None:
        return None
    user_id, api_key = holder
    if api_key.credential.type not in proven.credential_types:
        if api_key.credential.type is CredentialType.RECOVER_USER_KEY_P256:
            raise PermissionDenied(
                "this key was sent to recover or invite a user: it stamps recover_user and opens nothing else; "
                "log in with the passkey that recover_user registers"
            )
        raise Unauthenticated(
            f"could not verify api key signature: scheme {proven.scheme} does not fit an API key of type "
            f"{api_key.credential.type}"
        )
    expires_at_ms = api_key.expires_at_ms
    if expires_at_ms is not None and now_ms >= expires_at_ms:
        raise expired_key_error(proven, expires_at_ms)
    return Principal(
        organization_id=organization.id,
        user=organization.users.by_id[user_id],
        record_id=api_key.api_key_id,
        credential_type=api_key.credential.type,
        proven=proven,
        expires_at_ms=expires_at_ms,
        session_profile_id=api_key.credential.session_profile_id or "",
    )


def contact_credential_type(otp_type: OtpType) -> CredentialType:
    """The type of a contact as a credential."""
    match otp_type:
        case OtpType.EMAIL:
            return CredentialType.EMAIL_OTP
        case OtpType.SMS:
            return CredentialType.SMS_OTP
        case _:
            assert_never(otp_type)


def contact_id(user_id: str, otp_type: OtpType) -> str:
    """The id of a user's address or number as a credential. Other credentials have the id of their record
    instead."""
    return f"{user_id} {contact_credential_type(otp_type)}"


def _principal_of_contact(
    organization: Organization, proven: ProvenKey, contact: ProvenContact
) -> Principal | None:
    if contact.organization_id not in (organization.id, organization.profile.parent_id):
        return None
    users = account_contacts.users_found_by(organization, contact.otp_type, contact.normalized)
    if organization.profile.parent_id is None and not account_contacts.has_logins_by_code(
        organization, contact.otp_type
    ):
        return None  # for the users of a parent, logins by code are off until the feature is set
    if users:
        account_contacts.check_logins_by_code(organization, contact.otp_type)
    if len(users) > 1:
        raise Unauthenticated(
            "more than one user of the organization has this verified contact", machine_code="CREDENTIAL_CONFLICT"
        )
    for user in users:
        return Principal(
            organization_id=organization.id,
            user=user,
            record_id=contact_id(user.user_id, contact.otp_type),
            credential_type=contact_credential_type(contact.otp_type),
            proven=proven,
        )
    return None


def _principal_of_identity(
    organization: Organization, proven: ProvenKey, identity: ProvenIdentity
) -> Principal | None:
    holder = user_with_identity(organization, identity)
    if holder is None:
        return None
    user, provider = holder
    return Principal(
        organization_id=organization.id,
        user=user,
        record_id=provider.provider_id,
        credential_type=CredentialType.OAUTH,
        proven=proven,
    )


def _principal_of_wallet(organization: Organization, proven: ProvenKey, wallet: ProvenWallet) -> Principal | None:
    if wallet.organization_id not in (organization.id, organization.profile.parent_id):
        return None
    holder = user_with_wallet(organization, wallet.claim)
    if holder is None:
        return None
    user, authenticator = holder
    return Principal(
        organization_id=organization.id,
        user=user,
        record_id=authenticator.wallet_authenticator_id,
        credential_type=CredentialType.WALLET,
        proven=proven,
    )


def _principal_of_read_only_session(
    organization: Organization, proven: ProvenKey, digest: str, now_ms: int
) -> Principal | None:
    session = organization.read_only_sessions.get(digest)
    user = None if session is None else organization.users.get(session.user_id)
    if session is None or user is None:
        return None
    if now_ms >= session.expires_at_ms:
        raise expired_key_error(proven, session.expires_at_ms)
    return Principal(
        organization_id=organization.id,
        user=user,
        record_id=session.session_id,
        credential_type=CredentialType.LOGIN,
        proven=proven,
        expires_at_ms=session.expires_at_ms,
    )


def expired_key_error(proven: ProvenKey, expires_at_ms: int) -> Unauthenticated:
    """The refusal of an expired key or session. The beginning of its message must not change: published clients end
    a session when they read it."""
    return Unauthenticated(
        f"authentication failed: rpc error: code = Unauthenticated desc = expired api key publicKey="
        f"{proven.public_key}: it expired at {expires_at_ms} ms since the epoch",
        machine_code="API_KEY_EXPIRED",
    )


KEY_NOT_FOUND: Final = "could not find public key in organization or its parent organization"
"""Published clients end a session when a message has these words."""


def unknown_key_error(organization_id: str, proven: ProvenKey) -> Unauthenticated:
    """The refusal of a key, credential or read-only session that no user of the organization has."""
    if proven.credential_id is not None:
        return Unauthenticated(
            "credential ID could not be found in organization or its parent organization "
            f"organizationId={organization_id} credentialId={proven.credential_id}",
            machine_code="CREDENTIAL_NOT_FOUND",
        )
    if proven.is_attested:
        kind, _ = proven.lookup()
        return Unauthenticated(
            f"no user of organization {organization_id} has the {_CALLED[kind]} that the attested stamp proves",
            machine_code="CREDENTIAL_NOT_FOUND",
        )
    read_only = ": no read-only session has the text of header X-Session" if proven.session_digest else ""
    return Unauthenticated(
        f"{KEY_NOT_FOUND} organizationId={organization_id} publicKey={proven.public_key}{read_only}",
        machine_code="PUBLIC_KEY_NOT_FOUND",
    )


def ambiguous_value_error(kind: AccountLookupKind) -> Unauthenticated:
    """The refusal of a value of this kind by which several sub-organizations are found."""
    return Unauthenticated(
        f"more than one suborg associated with a {_CALLED[kind]}: name the sub-organization in organizationId",
        machine_code="CREDENTIAL_CONFLICT",
    )
