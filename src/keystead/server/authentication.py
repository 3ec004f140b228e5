"""Authentication: from a request's stamp header and the exact bytes of its body to a verified key.

Here: the headers of stamps, the order of the checks. Not here: signatures (`stamps`), the user who has the key
(`callers`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Final, assert_never

import msgspec
from msgspec.structs import replace

from keystead.api.catalogue import Operation
from keystead.api.decoding import decoder
from keystead.api.enums import CredentialType, FeatureName
from keystead.api.errors import InvalidRequest, Unauthenticated
from keystead.api.identifiers import ANY_ORGANIZATION, Uuid
from keystead.organizations.credentials.identities import ProvenIdentity
from keystead.organizations.lookups import LookupKind
from keystead.organizations.organization import Organization
from keystead.organizations.principals import ProvenContact, ProvenKey, ProvenWallet, unknown_key_error
from keystead.pipeline.ports import Clock, Identities
from keystead.pipeline.store import Store
from keystead.server.callers import existing_organization
from keystead.server.http.messages import Header
from keystead.sessions.session_tokens import is_bound
from keystead.sessions.verification_tokens import InvalidVerificationToken, read_verification_token
from keystead.sessions.wallet_tokens import read_wallet_token
from keystead.stamps.api_key import read_stamp, verify_stamp
from keystead.stamps.attested import AttestedScheme, AttestedStamp, read_attested_stamp, verify_attested_stamp
from keystead.stamps.base64url import encode_base64url
from keystead.stamps.schemes import CREDENTIAL_TYPES, StampScheme

if TYPE_CHECKING:
    from keystead.stamps.webauthn import Assertion

API_KEY_STAMP = b"x-stamp"
WEBAUTHN_STAMP = b"x-stamp-webauthn"
ATTESTED_STAMP = b"x-stamp-attested"
SESSION = b"x-session"
STAMP_HEADERS = (API_KEY_STAMP, WEBAUTHN_STAMP, ATTESTED_STAMP, SESSION)

ATTESTED_VOTE_SCHEME = "SIGNATURE_SCHEME_TK_ATTESTED_P256"

_WITHOUT_RECOVERY: Mapping[StampScheme, frozenset[CredentialType]] = {
    scheme: types - {CredentialType.RECOVER_USER_KEY_P256} for scheme, types in CREDENTIAL_TYPES.items()
}
"""By scheme of a stamp, the credential types that it matches, for operations that refuse recovery keys."""

_WEBAUTHN_TYPES = frozenset({CredentialType.WEBAUTHN_AUTHENTICATOR})


_HOLDERS_MAX: Final = 20
"""Most organizations in which a passkey is looked for, if a login names none."""


class _OrganizationField(msgspec.Struct):
    """The one member of a body that is read before the signature of a passkey is verified."""

    organization_id: Uuid = msgspec.field(name="organizationId")


_ORGANIZATION_DECODER = decoder(_OrganizationField)


class Verifiers(msgspec.Struct, frozen=True):
    """What stamps are verified with: the credentials on record, the issuers of ID tokens, this server's
    verification key (a SEC 1 point), the time."""

    store: Store
    identities: Identities
    verification_key: bytes
    clock: Clock


def stamp_of(headers: Iterable[Header]) -> tuple[bytes, bytes]:
    """The request's one stamp: its header and its value. A read-only session beside a stamp is ignored.

    Raises Unauthenticated without a stamp, InvalidRequest for more than one.
    """
    stamps = [header for header in headers if header[0] in STAMP_HEADERS]
    if len(stamps) == 1:
        return stamps[0]
    if not stamps:
        raise Unauthenticated(
            "no valid authentication signature found for request: cannot authenticate public API activity request "
            "without a stamp (X-Stamp/X-Stamp-Webauthn header)",
            machine_code="SIGNATURE_MISSING",
        )
    names = [name for name, _ in stamps]
    for name in names:
        if names.count(name) > 1:
            raise InvalidRequest(f"a request has exactly one stamp header; this one repeats {name.decode()}")
    stamps = [header for header in stamps if header[0] != SESSION]
    if len(stamps) > 1:
        raise InvalidRequest(
            f"a request has exactly one stamp header; this one has {', '.join(sorted(map(bytes.decode, names)))}"
        )
    return stamps[0]


def verify_api_key_stamp(value: bytes, body: bytes, operation: Operation) -> ProvenKey:
    """Verify the stamp of an API key over the exact bytes of the body. Raises Unauthenticated."""
    stamp = read_stamp(value)
    verify_stamp(stamp, body)
    return ProvenKey(
        public_key=stamp.public_key,
        signature=stamp.signature,
        scheme=stamp.scheme,
        credential_types=(CREDENTIAL_TYPES if operation.for_recovery else _WITHOUT_RECOVERY)[stamp.scheme],
    )


async def authenticate(
    header: bytes, value: bytes, body: bytes, operation: Operation, verifiers: Verifiers
) -> ProvenKey:
    """Verify a stamp over the exact bytes of the body. Raises Unauthenticated for an invalid stamp, and for a stamp
    that this operation does not accept."""
    if header == API_KEY_STAMP:
        return verify_api_key_stamp(value, body, operation)
    if header == WEBAUTHN_STAMP:
        return await _authenticate_passkey(value, body, operation, verifiers.store)
    if header == ATTESTED_STAMP:
        return await _authenticate_attested(value, body, operation, verifiers)
    return _read_only_session(value, operation)


def _read_only_session(value: bytes, operation: Operation) -> ProvenKey:
    if operation.kind != "query":
        raise Unauthenticated(
            "a read-only session (X-Session) is valid for queries only; a submission needs a stamp"
        )
    return ProvenKey(
        public_key="",
        signature="",
        scheme="",
        credential_types=frozenset(),
        session_digest=sha256(value).hexdigest(),
    )


async def _authenticate_attested(
    value: bytes, body: bytes, operation: Operation, verifiers: Verifiers
) -> ProvenKey:
    """Verify that the key signed the body and that the token names the key, and read what the token proves about
    the user."""
    stamp = read_attested_stamp(value)
    verify_attested_stamp(stamp, body)
    if not operation.before_session:
        raise Unauthenticated(
            f"{operation.path} does not accept an attested stamp; log in with stamp_login first, and stamp with "
            "the session's key"
        )
    contact = identity = wallet = None
    match stamp.scheme:
        case AttestedScheme.VERIFICATION_TOKEN:
            contact = _proven_contact(stamp, verifiers)
        case AttestedScheme.OIDC:
            identity = await _proven_identity(stamp, verifiers)
        case AttestedScheme.WALLET:
            wallet = _proven_wallet(stamp, verifiers)
        case _:
            assert_never(stamp.scheme)
    return ProvenKey(
        public_key=stamp.public_key.lower(),
        signature=stamp.signature,
        scheme=ATTESTED_VOTE_SCHEME,
        credential_types=frozenset(),
        contact=contact,
        identity=identity,
        wallet=wallet,
    )


def _proven_contact(stamp: AttestedStamp, verifiers: Verifiers) -> ProvenContact:
    try:
        token = read_verification_token(
            stamp.public_key_attestation, verifiers.verification_key, verifiers.clock.now_ms()
        )
    except InvalidVerificationToken as invalid:
        raise Unauthenticated(f"could not verify attested stamp: verification token: {invalid}") from None
    if token.public_key is None or token.public_key.lower() != stamp.public_key.lower():
        raise Unauthenticated(
            "could not verify attested stamp: the verification token was issued for another public key"
        )
    return ProvenContact(otp_type=token.otp_type, contact=token.contact, organization_id=token.organization_id)


def _proven_wallet(stamp: AttestedStamp, verifiers: Verifiers) -> ProvenWallet:
    try:
        token = read_wallet_token(
            stamp.public_key_attestation, verifiers.verification_key, verifiers.clock.now_ms()
        )
    except InvalidVerificationToken as invalid:
        raise Unauthenticated(f"could not verify attested stamp: verification token: {invalid}") from None
    if token.session_public_key != stamp.public_key.lower():
        raise Unauthenticated(
            "could not verify attested stamp: the wallet authorized another key than the stamp's publicKey"
        )
    return ProvenWallet(claim=token.wallet, organization_id=token.organization_id)


async def _proven_identity(stamp: AttestedStamp, verifiers: Verifiers) -> ProvenIdentity:
    try:
        identity = await verifiers.identities.verify_token(stamp.public_key_attestation, "publicKeyAttestation")
    except InvalidRequest as refused:
        raise Unauthenticated(
            f"could not verify attested stamp: {refused.message}", machine_code=refused.machine_code
        ) from None
    if not any(is_bound(nonce, None, stamp.public_key) for nonce in identity.nonces):
        raise Unauthenticated(
            "could not verify attested stamp: claim `nonce` or `tknonce` of the ID token must be the SHA-256, in "
            "lower-case hex, of the stamp's publicKey"
        )
    return identity


async def _authenticate_passkey(value: bytes, body: bytes, operation: Operation, store: Store) -> ProvenKey:
    """Verify a passkey's assertion. It names a credential, not a key. The key is on record in the organization
    that the body names, so this member of the body is read before the signature is verified."""
    from keystead.stamps import webauthn  # slow to import, and a server must start fast

    assertion = webauthn.read_assertion(value)
    addressed: _OrganizationField = _ORGANIZATION_DECODER.decode(body)
    if operation.in_any_organization and addressed.organization_id == ANY_ORGANIZATION:
        return await _authenticate_passkey_anywhere(assertion, body, store)
    organization = await existing_organization(store, addressed.organization_id)
    parent_id = organization.profile.parent_id
    parent = await existing_organization(store, parent_id) if parent_id else None
    origins = _allowed_origins(organization, parent)
    candidates = [organization] + ([parent] if parent else [])
    suborganization_ids = await store.suborganizations.with_value(
        organization.id, LookupKind.CREDENTIAL_ID, assertion.credential_id
    )
    candidates += [await existing_organization(store, id_) for id_ in suborganization_ids]
    for holder in candidates:
        if assertion.credential_id in holder.users.by_credential_id:
            return _proven_passkey(assertion, body, holder, origins)
    raise unknown_key_error(organization.id, _unknown_passkey(assertion))


async def _authenticate_passkey_anywhere(assertion: Assertion, body: bytes, store: Store) -> ProvenKey:
    """Verify an assertion for a login that names no organization: the look-up of the credential finds it. Raises
    Unauthenticated if several organizations have the passkey, and names them to its holder."""
    ids = await store.organizations_with(LookupKind.CREDENTIAL_ID, assertion.credential_id, _HOLDERS_MAX)
    proven: list[ProvenKey] = []
    for id_ in ids:
        holder = await store.organization(id_)
        if holder is None or holder.profile.deleted:
            continue
        parent_id = holder.profile.parent_id
        parent = await existing_organization(store, parent_id) if parent_id else None
        with contextlib.suppress(Unauthenticated):  # somebody else's credential of the same id
            found = _proven_passkey(assertion, body, holder, _allowed_origins(holder, parent))
            proven.append(replace(found, organization_id=holder.id))
    if not proven:
        raise unknown_key_error(ANY_ORGANIZATION, _unknown_passkey(assertion))
    if len(proven) > 1:
        names = ", ".join(str(one.organization_id) for one in proven)
        raise Unauthenticated(
            f"this passkey is registered in several organizations: name one of them in organizationId: {names}",
            machine_code="CREDENTIAL_CONFLICT",
        )
    return proven[0]


def _proven_passkey(assertion: Assertion, body: bytes, holder: Organization, origins: Sequence[str]) -> ProvenKey:
    """What an assertion proves by the passkey that this organization has on record. Raises Unauthenticated."""
    from keystead.stamps import webauthn  # as above

    match = holder.users.by_credential_id.get(assertion.credential_id)
    if match is None:
        raise unknown_key_error(holder.id, _unknown_passkey(assertion))
    _, authenticator = match
    public_key = authenticator.credential.public_key
    webauthn.verify_assertion(
        assertion,
        body,
        public_key,
        origins,
        rp_id_hash=holder.passkeys[authenticator.authenticator_id].rp_id_hash,
    )
    return ProvenKey(
        public_key=public_key,
        signature=encode_base64url(assertion.signature),
        scheme=webauthn.SCHEME,
        credential_types=_WEBAUTHN_TYPES,
        credential_id=assertion.credential_id,
    )


def _unknown_passkey(assertion: Assertion) -> ProvenKey:
    """For the error about a passkey that nobody has."""
    from keystead.stamps import webauthn  # as above

    return ProvenKey(
        public_key="",
        signature="",
        scheme=webauthn.SCHEME,
        credential_types=_WEBAUTHN_TYPES,
        credential_id=assertion.credential_id,
    )


def _allowed_origins(organization: Organization, parent: Organization | None) -> list[str]:
    """The origins of pages whose passkey stamps are accepted. The feature of the parent decides; without it, the
    feature of the organization."""
    features = (holder.profile.features for holder in (parent, organization) if holder is not None)
    origins = next(filter(None, (values.get(FeatureName.WEBAUTHN_ORIGINS, "") for values in features)), "")
    return [origin.strip() for origin in origins.split(",") if origin.strip()]
