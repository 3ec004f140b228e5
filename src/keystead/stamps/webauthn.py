"""X-Stamp-WebAuthn: whether the holder of a passkey asserted exactly these body bytes.

Here: reading the header and checking the assertion. Not here: whose passkey it is, its sign counter (which must not
lead to a refusal), and registering one (`attestation`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha256

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.hashes import SHA256

from keystead.api.decoding import explain_invalid
from keystead.api.errors import Unauthenticated
from keystead.stamps import bounds, ceremony
from keystead.stamps.base64url import decode_base64url, encode_base64url
from keystead.stamps.cose import load_cose_key

SCHEME = "SIGNATURE_SCHEME_TK_WEBAUTHN"
"""`scheme` of a vote by a passkey; the stamp itself has no scheme."""

LOADED_KEYS_MAX = 4096

_ECDSA_SHA256 = ECDSA(SHA256())
_PKCS1 = PKCS1v15()
_SHA256 = SHA256()


class Assertion(msgspec.Struct, frozen=True, kw_only=True):
    """A passkey's assertion. `credential_id` is base64url without padding, as registration stores it."""

    credential_id: str
    client_data_json: bytes
    authenticator_data: bytes
    signature: bytes

    @property
    def sign_count(self) -> int:
        """The authenticator's counter of uses, or 0. It can be trusted only after the assertion was verified."""
        return int.from_bytes(self.authenticator_data[33:37], "big")


class _StampFields(msgspec.Struct, frozen=True, rename="camel"):
    credential_id: str
    client_data_json: str
    authenticator_data: str
    signature: str


_decoder = msgspec.json.Decoder(_StampFields)


def read_assertion(header_value: str | bytes) -> Assertion:
    """The assertion in an X-Stamp-WebAuthn header: the JSON object itself, whose four members are base64url.

    Raises Unauthenticated ("could not extract webauthn stamp") if it is malformed or too long.
    """
    if len(header_value) > bounds.PASSKEY_STAMP_CHARACTERS_MAX:
        raise Unauthenticated(
            f"could not extract webauthn stamp: longer than {bounds.PASSKEY_STAMP_CHARACTERS_MAX} characters"
        )
    try:
        wire = _decoder.decode(header_value)
    except msgspec.ValidationError as exc:
        raise Unauthenticated(f"could not extract webauthn stamp: {explain_invalid(exc, _StampFields)}") from exc
    except (ValueError, RecursionError) as exc:  # not JSON, not UTF-8, or nested too deeply
        raise Unauthenticated("could not extract webauthn stamp: the header is not a JSON object") from exc
    return Assertion(
        # Encoded again, because several texts decode to one id.
        credential_id=encode_base64url(_member("credentialId", wire.credential_id, bounds.CREDENTIAL_ID_BYTES_MAX)),
        client_data_json=_member("clientDataJson", wire.client_data_json, bounds.CLIENT_DATA_BYTES_MAX),
        authenticator_data=_member(
            "authenticatorData", wire.authenticator_data, bounds.AUTHENTICATOR_DATA_BYTES_MAX
        ),
        signature=_member("signature", wire.signature, bounds.SIGNATURE_BYTES_MAX),
    )


def _member(name: str, text: str, bytes_max: int) -> bytes:
    try:
        value = decode_base64url(text)
    except ValueError as exc:
        raise Unauthenticated(f"could not extract webauthn stamp: {name} is not base64url") from exc
    if not 0 < len(value) <= bytes_max:
        raise Unauthenticated(
            f"could not extract webauthn stamp: {name} has {len(value)} bytes, expected 1 to {bytes_max}"
        )
    return value


def verify_assertion(
    assertion: Assertion,
    body: bytes,
    cose_public_key_b64url: str,
    origins: Sequence[str] = (),
    *,
    rp_id_hash: bytes | None = None,
) -> None:
    """Raise Unauthenticated unless `assertion` was made over exactly the bytes `body` with the registered key.

    The challenge is the 64 characters of the body's SHA-256 in lower-case hex, as bytes. The user must have been
    present; verification of the user (PIN, finger) is not required. `cose_public_key_b64url`: the COSE key in
    base64url. `origins`: the accepted origins; empty accepts any. `rp_id_hash`: the accepted relying party, 32
    bytes; None accepts any. Unknown members of clientDataJSON are ignored. Follows WebAuthn Level 2 section 7.2,
    except that the counter is not checked.

    The message of the error starts with "could not verify WebAuthN signature".
    """
    try:
        _verify(assertion, body, cose_public_key_b64url, origins, rp_id_hash)
    except InvalidSignature as exc:
        raise Unauthenticated("could not verify WebAuthN signature") from exc
    except ValueError as exc:
        raise Unauthenticated(f"could not verify WebAuthN signature: {exc}") from exc


def challenge_of(body: bytes) -> str:
    """The challenge that a passkey signs for `body`, as in clientDataJSON: base64url, 86 characters."""
    return encode_base64url(sha256(body).hexdigest().encode("ascii"))


def _verify(
    assertion: Assertion, body: bytes, cose_public_key_b64url: str, origins: Sequence[str], rp_id_hash: bytes | None
) -> None:
    client_data = ceremony.read_client_data(assertion.client_data_json)
    if client_data.type != "webauthn.get":
        raise ValueError(f"clientDataJson.type must be webauthn.get, got {client_data.type!r}")
    if client_data.challenge.rstrip("=") != challenge_of(body):
        raise ValueError("clientDataJson.challenge must be base64url of the hex SHA-256 of the request body")
    if origins and client_data.origin not in origins:
        raise ValueError(f"origin {client_data.origin!r} is not among the organization's WebAuthn origins")

    authenticator_data = ceremony.read_authenticator_data(assertion.authenticator_data)
    if rp_id_hash is not None and authenticator_data.rp_id_hash != rp_id_hash:
        raise ValueError("rpIdHash is not the one the passkey was registered with")

    signed = assertion.authenticator_data + sha256(assertion.client_data_json).digest()
    key = _key(cose_public_key_b64url)
    if isinstance(key, RSAPublicKey):
        key.verify(assertion.signature, signed, _PKCS1, _SHA256)
    else:
        key.verify(assertion.signature, signed, _ECDSA_SHA256)


@lru_cache(maxsize=LOADED_KEYS_MAX)
def _key(cose_public_key_b64url: str) -> EllipticCurvePublicKey | RSAPublicKey:
    return load_cose_key(decode_base64url(cose_public_key_b64url))
