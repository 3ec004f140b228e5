"""Which user of which organization sent a request, given the key or credential that its stamp proves.

Here: from a proven key to its user in one organization, and the expiry of keys.
Not here: which organizations are searched (`server.authentication`), whether the stamp is valid (`stamps`), and
what its user may do (`policies`).
"""

from __future__ import annotations

import msgspec

from keystead.api.enums import CredentialType
from keystead.api.errors import Unauthenticated
from keystead.api.records import User
from keystead.organizations.lookups import LookupKind
from keystead.organizations.organization import Organization


class ProvenKey(msgspec.Struct, frozen=True, kw_only=True):
    """What a verified stamp proves: possession of a key, of one of these credential types.

    `public_key` is hex (API keys) or base64url COSE (passkeys); `credential_id` is set for passkeys only.
    `signature` and `scheme` are recorded with the vote that the stamp casts.
    """

    public_key: str
    signature: str
    scheme: str
    credential_types: frozenset[CredentialType]
    credential_id: str | None = None

    def lookup(self) -> tuple[LookupKind, str]:
        """By what the user's organization is found from its parent."""
        if self.credential_id is not None:
            return LookupKind.CREDENTIAL_ID, self.credential_id
        return LookupKind.PUBLIC_KEY, self.public_key


class Principal(msgspec.Struct, frozen=True, kw_only=True):
    """A user, the organization that the user belongs to, and the key that proved it.

    `session_profile_id`: of a session's key whose session is under a profile.
    """

    organization_id: str
    user: User
    record_id: str
    credential_type: CredentialType
    proven: ProvenKey
    session_profile_id: str = ""


def principal_in(organization: Organization, proven: ProvenKey, now_ms: int) -> Principal | None:
    """The user of this organization who has the proven key; None if no user has it.

    Raises Unauthenticated if the key has expired, or if the stamp's scheme does not fit the key on record.
    """
    if proven.credential_id is not None:
        held = organization.users.by_credential_id.get(proven.credential_id)
        if held is None or held[1].credential.public_key != proven.public_key:
            return None
        user_id, authenticator = held
        return Principal(
            organization_id=organization.id,
            user=organization.users[user_id],
            record_id=authenticator.authenticator_id,
            credential_type=authenticator.credential.type,
            proven=proven,
        )
    holder = organization.users.by_public_key.get(proven.public_key)
    if holder is None:
        return None
    user_id, api_key = holder
    if api_key.credential.type not in proven.credential_types:
        raise Unauthenticated(
            f"could not verify api key signature: scheme {proven.scheme} does not fit an API key of type "
            f"{api_key.credential.type}"
        )
    expires_at_ms = api_key.expires_at_ms
    if expires_at_ms is not None and now_ms >= expires_at_ms:
        raise expired(proven, expires_at_ms)
    return Principal(
        organization_id=organization.id,
        user=organization.users[user_id],
        record_id=api_key.api_key_id,
        credential_type=api_key.credential.type,
        proven=proven,
        session_profile_id=api_key.credential.session_profile_id or "",
    )


def expired(proven: ProvenKey, expires_at_ms: int) -> Unauthenticated:
    """The first half of this message is literal: published clients end a session when they read it."""
    return Unauthenticated(
        f"authentication failed: rpc error: code = Unauthenticated desc = expired api key publicKey="
        f"{proven.public_key}: it expired at {expires_at_ms} ms since the epoch",
        machine_code="API_KEY_EXPIRED",
    )


def unknown(organization_id: str, proven: ProvenKey) -> Unauthenticated:
    """The words about a public key are literal: published clients end a session when they read them."""
    if proven.credential_id is not None:
        return Unauthenticated(
            "credential ID could not be found in organization or its parent organization "
            f"organizationId={organization_id} credentialId={proven.credential_id}",
            machine_code="CREDENTIAL_NOT_FOUND",
        )
    return Unauthenticated(
        "could not find public key in organization or its parent organization "
        f"organizationId={organization_id} publicKey={proven.public_key}",
        machine_code="PUBLIC_KEY_NOT_FOUND",
    )


def ambiguous(proven: ProvenKey) -> Unauthenticated:
    what = "credential ID" if proven.credential_id is not None else "public key"
    return Unauthenticated(
        f"more than one suborg associated with a {what}: name the sub-organization in organizationId",
        machine_code="CREDENTIAL_CONFLICT",
    )
