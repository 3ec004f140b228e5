"""Authentication: from a request's stamp header and the exact bytes of its body to a verified key and its user.

Here: the headers of stamps, the order of the checks, which organizations are searched for the user. Not here:
signatures (`stamps`), the user of a key in one organization (`organizations.principals`).
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import assert_never

import msgspec

from keystead.api.catalogue import Operation
from keystead.api.decoding import decoder
from keystead.api.enums import CredentialType, FeatureName, OtpType
from keystead.api.errors import InvalidRequest, NotFound, Unauthenticated
from keystead.api.identifiers import Uuid
from keystead.organizations.identities import ProvenIdentity
from keystead.organizations.ip_allowlists import Source, check_source
from keystead.organizations.lookups import Lookup, LookupKind
from keystead.organizations.organization import Organization
from keystead.organizations.principals import (
    KEY_NOT_FOUND,
    Principal,
    ProvenContact,
    ProvenKey,
    principal_in,
    unknown,
)
from keystead.pipeline.ports import Clock, Identities
from keystead.pipeline.requests import Submission
from keystead.pipeline.store import Store
from keystead.pipeline.suborganization_lookup import suborganization_with
from keystead.sessions.key_binding import is_bound
from keystead.sessions.verification_tokens import InvalidVerificationToken, read_verification_token
from keystead.stamps.api_key import read_stamp, verify_stamp
from keystead.stamps.attested import (
    AttestedScheme,
    AttestedStamp,
    read_attested_stamp,
    verify_attested_stamp,
)
from keystead.stamps.base64url import encode_base64url
from keystead.stamps.schemes import CREDENTIAL_TYPES, StampScheme

API_KEY_STAMP = b"x-stamp"
WEBAUTHN_STAMP = b"x-stamp-webauthn"
ATTESTED_STAMP = b"x-stamp-attested"
SESSION = b"x-session"
ATTESTED_VOTE_SCHEME = "SIGNATURE_SCHEME_TK_ATTESTED_P256"
STAMP_HEADERS = (API_KEY_STAMP, WEBAUTHN_STAMP, ATTESTED_STAMP, SESSION)

_WITHOUT_RECOVERY: Mapping[StampScheme, frozenset[CredentialType]] = {
    scheme: types - {CredentialType.RECOVER_USER_KEY_P256} for scheme, types in CREDENTIAL_TYPES.items()
}
"""By scheme of a stamp, the credential types that it matches, for operations that refuse recovery keys."""

_WEBAUTHN_TYPES = frozenset({CredentialType.WEBAUTHN_AUTHENTICATOR})


class _Addressed(msgspec.Struct):
    organization_id: Uuid = msgspec.field(name="organizationId")


_ADDRESSED = decoder(_Addressed)


class Verifiers(msgspec.Struct, frozen=True):
    """What stamps are verified with: the credentials on record, the issuers of ID tokens, this server's
    verification key (a SEC 1 point), the time."""

    store: Store
    identities: Identities
    verification_key: bytes
    clock: Clock


async def prove(
    stamps: Mapping[bytes, bytes], body: bytes, operation: Operation, verifiers: Verifiers
) -> ProvenKey:
    """Verify the request's one stamp over the exact body bytes.

    `stamps`: the request's headers among STAMP_HEADERS. A read-only session beside a stamp is ignored. Raises
    Unauthenticated for a missing or invalid stamp, and for a stamp that this operation does not accept;
    InvalidRequest for more than one stamp.
    """
    if len(stamps) > 1:
        stamps = {name: value for name, value in stamps.items() if name != SESSION}
    if not stamps:
        raise Unauthenticated(
            "no valid authentication signature found for request: cannot authenticate public API activity request "
            "without a stamp (X-Stamp/X-Stamp-Webauthn header)",
            machine_code="SIGNATURE_MISSING",
        )
    if len(stamps) > 1:
        names = ", ".join(sorted(name.decode() for name in stamps))
        raise InvalidRequest(f"a request has exactly one stamp header; this one has {names}")
    ((header, value),) = stamps.items()
    if header == API_KEY_STAMP:
        stamp = read_stamp(value)
        verify_stamp(stamp, body)
        return ProvenKey(
            public_key=stamp.public_key,
            signature=stamp.signature,
            scheme=stamp.scheme,
            credential_types=(CREDENTIAL_TYPES if operation.for_recovery else _WITHOUT_RECOVERY)[stamp.scheme],
        )
    if header == WEBAUTHN_STAMP:
        return await _prove_passkey(value, body, verifiers.store)
    if header == ATTESTED_STAMP:
        return await _prove_attested(value, body, operation, verifiers)
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


async def _prove_attested(value: bytes, body: bytes, operation: Operation, verifiers: Verifiers) -> ProvenKey:
    """Three steps: verify that the key signed the body, that the token names the key, and what the token proves
    about its user."""
    stamp = read_attested_stamp(value)
    verify_attested_stamp(stamp, body)
    if not operation.before_session:
        raise Unauthenticated(
            f"{operation.path} does not accept an attested stamp; log in with stamp_login first, and stamp with "
            "the session's key"
        )
    contact = identity = None
    match stamp.scheme:
        case AttestedScheme.VERIFICATION_TOKEN:
            contact = _proven_contact(stamp, verifiers)
        case AttestedScheme.OIDC:
            identity = await _proven_identity(stamp, verifiers)
        case _:
            assert_never(stamp.scheme)
    return ProvenKey(
        public_key=stamp.public_key.lower(),
        signature=stamp.signature,
        scheme=ATTESTED_VOTE_SCHEME,
        credential_types=frozenset(),
        contact=contact,
        identity=identity,
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
    return ProvenContact(
        type=CredentialType.EMAIL_OTP if token.otp_type is OtpType.EMAIL else CredentialType.SMS_OTP,
        contact=token.contact,
        organization_id=token.organization_id,
    )


async def _proven_identity(stamp: AttestedStamp, verifiers: Verifiers) -> ProvenIdentity:
    try:
        identity = await verifiers.identities.proven(stamp.public_key_attestation, "publicKeyAttestation")
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


async def _prove_passkey(value: bytes, body: bytes, store: Store) -> ProvenKey:
    """Verify a passkey's assertion. It names a credential, not a key. The key is on record in the organization
    that the body names, so this member of the body is read before the signature is verified."""
    from keystead.stamps import webauthn  # slow to import, and a server must start fast

    assertion = webauthn.read_assertion(value)
    addressed: _Addressed = _ADDRESSED.decode(body)
    organization = await _organization(store, addressed.organization_id)
    parent_id = organization.profile.parent_id
    parent = await _organization(store, parent_id) if parent_id else None
    origins = _allowed_origins(organization, parent)
    candidates = [organization] + ([parent] if parent else [])
    found = await store.suborganizations_with(organization.id, LookupKind.CREDENTIAL_ID, assertion.credential_id)
    candidates += [await _organization(store, suborganization_id) for suborganization_id in found]
    for holder in candidates:
        held = holder.users.by_credential_id.get(assertion.credential_id)
        if held is None:
            continue
        _, authenticator = held
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
    raise unknown(
        organization.id,
        ProvenKey(
            public_key="",
            signature="",
            scheme=webauthn.SCHEME,
            credential_types=_WEBAUTHN_TYPES,
            credential_id=assertion.credential_id,
        ),
    )


def _allowed_origins(organization: Organization, parent: Organization | None) -> list[str]:
    """The origins of pages whose passkey stamps are accepted: those that the parent names, otherwise those that the
    organization names."""
    named = (one.profile.features.get(FeatureName.WEBAUTHN_ORIGINS, "") for one in (parent, organization) if one)
    origins = next(filter(None, named), "")
    return [origin.strip() for origin in origins.split(",") if origin.strip()]


async def reader(
    store: Store,
    organization_id: str,
    proven: ProvenKey,
    now_ms: int,
    *,
    before_session: bool,
    of_caller: bool,
    source: Source,
) -> tuple[Organization, Principal]:
    """The organization that a query reads, and the user who reads it.

    The user is searched for in the organization, then in its parent, whose users may read its sub-organizations.
    With `before_session`, the sub-organizations of a parent are searched, too: one of them must have the user, and
    the query reads this one. With `of_caller` (whoami), the query always reads the user's own organization. The IP
    allow-list that applies to the user must have the address of `source`. Raises NotFound, Unauthenticated,
    PermissionDenied.
    """
    organization = await _organization(store, organization_id)
    if (principal := _admitted(organization, proven, now_ms, source)) is not None:
        return organization, principal
    if organization.profile.parent_id is not None:
        parent = await _organization(store, organization.profile.parent_id)
        if (principal := _admitted(parent, proven, now_ms, source)) is not None:
            return (parent if of_caller else organization), principal
    elif before_session:
        return await _in_suborganization(store, organization, proven, now_ms, source)
    raise unknown(organization_id, proven)


def _admitted(organization: Organization, proven: ProvenKey, now_ms: int, source: Source) -> Principal | None:
    """The user of this organization who has the key, if the organization takes requests from there; None if no user
    has it. Raises Unauthenticated, PermissionDenied."""
    principal = principal_in(organization, proven, now_ms)
    if principal is not None:
        check_source(organization, proven.public_key, source)
    return principal


async def _in_suborganization(
    store: Store, organization: Organization, proven: ProvenKey, now_ms: int, source: Source
) -> tuple[Organization, Principal]:
    """The one sub-organization of this organization that has the user, and the user. Raises Unauthenticated."""
    suborganization_id = await suborganization_with(store, organization.id, *proven.lookup())
    if suborganization_id is not None:
        suborganization = await _organization(store, suborganization_id)
        if (principal := _admitted(suborganization, proven, now_ms, source)) is not None:
            return suborganization, principal
    raise unknown(organization.id, proven)


async def submitter(
    store: Store, submission: Submission, proven: ProvenKey, now_ms: int, source: Source
) -> tuple[Organization, Principal]:
    """The organization that a submission changes, and the user who submits it.

    A parent's users may read its sub-organizations, but change them only with operations that are `by_parent`. If
    a parent does not have the user and the operation is `before_session`, its sub-organizations are searched. The
    IP allow-list that applies to the user must have the address of `source`. Raises InvalidRequest, NotFound,
    Unauthenticated, PermissionDenied.
    """
    operation, organization_id = submission.operation, submission.organization_id
    organization = await _organization(store, organization_id)
    if (principal := _admitted(organization, proven, now_ms, source)) is not None:
        if operation.by_parent and organization.profile.parent_id is None:
            organization = await _organization_of_user(store, organization, submission.user_lookup())
        return organization, principal
    if organization.profile.parent_id is not None:
        parent = await _organization(store, organization.profile.parent_id)
        if (principal := _admitted(parent, proven, now_ms, source)) is not None:
            if operation.by_parent:
                return organization, principal
            raise InvalidRequest(
                f'organization mismatch: request is targeting organization ("{organization.id}"), '
                f'but voters are in organization ("{parent.id}")',
                machine_code="ORGANIZATION_MISMATCH",
            )
    elif operation.before_session:
        return await _in_suborganization(store, organization, proven, now_ms, source)
    raise unknown(organization_id, proven)


async def _organization_of_user(store: Store, organization: Organization, lookup: Lookup | None) -> Organization:
    """The one sub-organization that the look-up finds, otherwise the organization itself."""
    if lookup is None:
        return organization
    suborganization_id = await suborganization_with(store, organization.id, lookup.kind, lookup.value)
    return organization if suborganization_id is None else await _organization(store, suborganization_id)


async def _organization(store: Store, organization_id: str) -> Organization:
    organization = await store.organization(organization_id)
    if organization is not None and not organization.profile.deleted:
        return organization
    # Published clients end a session of a deleted organization when they read these words.
    why = "" if organization is None else f"; it was deleted: {KEY_NOT_FOUND}"
    raise NotFound(
        f"no organization found with the given ID: {organization_id}{why}", machine_code="ORGANIZATION_NOT_FOUND"
    )
