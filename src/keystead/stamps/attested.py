"""X-Stamp-Attested: a fresh P-256 key signed these body bytes, and a token attests the key.

Here: reading the header and checking the body's signature. Not here: the token itself, which is a verification
token (`sessions`) or an ID token (`identities`), and the user that it names.
"""

from __future__ import annotations

from binascii import unhexlify
from contextlib import suppress
from enum import StrEnum

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, SECP256R1, EllipticCurvePublicKey
from cryptography.hazmat.primitives.hashes import SHA256

from keystead.api.decoding import explain_invalid
from keystead.api.errors import Unauthenticated
from keystead.api.secret_fields import repr_without_secrets
from keystead.stamps.base64url import decode_base64url
from keystead.stamps.bounds import ATTESTED_STAMP_CHARACTERS_MAX
from keystead.stamps.der import read_ecdsa_signature, write_ecdsa_signature

_COMPRESSED_DIGITS = 66


class AttestedScheme(StrEnum):
    """Which kind of token attests the key."""

    VERIFICATION_TOKEN = "STAMP_ATTESTED_SCHEME_P256_VERIFICATION_TOKEN"  # noqa: S105 (a name, not a secret)
    OIDC = "STAMP_ATTESTED_SCHEME_P256_OIDC"
    WALLET = "STAMP_ATTESTED_SCHEME_P256_WALLET_VERIFICATION_TOKEN"


class AttestedStamp(msgspec.Struct, frozen=True, rename="camel"):
    """What the header says. `public_key`: compressed P-256 in hex. `signature`: DER in hex.

    `public_key_attestation`: the token, a JWT.
    """

    public_key: str
    scheme: AttestedScheme
    signature: str
    public_key_attestation: str

    __repr__ = repr_without_secrets


_decoder = msgspec.json.Decoder(AttestedStamp)


def read_attested_stamp(header_value: bytes) -> AttestedStamp:
    """The stamp in the header: JSON, or base64url of JSON. Nothing is verified yet. Raises Unauthenticated."""
    if len(header_value) > ATTESTED_STAMP_CHARACTERS_MAX:
        raise Unauthenticated(f"malformed activity stamp: longer than {ATTESTED_STAMP_CHARACTERS_MAX} characters")
    try:
        text = header_value if header_value.lstrip().startswith(b"{") else decode_base64url(header_value)
        return _decoder.decode(text)
    except msgspec.ValidationError as invalid:
        raise Unauthenticated(
            f"could not extract attested stamp: {explain_invalid(invalid, AttestedStamp)}"
        ) from None
    except (ValueError, RecursionError):
        raise Unauthenticated(
            "malformed activity stamp: X-Stamp-Attested is neither JSON nor base64url of JSON"
        ) from None


def verify_attested_stamp(stamp: AttestedStamp, body: bytes) -> None:
    """Raise Unauthenticated unless the stamp's key signed these bytes. The token is not read."""
    key = _public_key(stamp.public_key)
    try:
        r, s = read_ecdsa_signature(unhexlify(stamp.signature))
        key.verify(write_ecdsa_signature(r, s), body, ECDSA(SHA256()))
    except (ValueError, InvalidSignature):
        raise Unauthenticated(
            "could not verify attested stamp: the signature is not this key's over the body"
        ) from None


def _public_key(compressed: str) -> EllipticCurvePublicKey:
    if len(compressed) == _COMPRESSED_DIGITS:
        with suppress(ValueError):
            return EllipticCurvePublicKey.from_encoded_point(SECP256R1(), unhexlify(compressed))
    raise Unauthenticated("could not extract attested stamp: publicKey is not a compressed P-256 key in hex")
