"""X-Stamp: whether the holder of an API key or session key signed exactly these body bytes.

Here: reading the header and checking its signature. Not here: whose key it is, whether it expired, whether the
stored credential's type fits the scheme (`schemes.CREDENTIAL_TYPES`, for the caller), and passkeys (`webauthn`).
"""

from __future__ import annotations

from binascii import unhexlify
from collections.abc import Callable
from functools import lru_cache
from hashlib import sha256
from typing import assert_never

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, SECP256R1, EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.hashes import SHA256

from keystead.api.decoding import explain_invalid
from keystead.api.errors import Unauthenticated
from keystead.primitives import secp256k1
from keystead.stamps.base64url import decode_base64url
from keystead.stamps.bounds import API_KEY_STAMP_CHARACTERS_MAX
from keystead.stamps.der import read_ecdsa_signature, write_ecdsa_signature
from keystead.stamps.ed25519 import check_public_key
from keystead.stamps.schemes import PUBLIC_KEY_BYTES, StampScheme, eip191_digest

LOADED_KEYS_MAX = 8192

_ECDSA_SHA256 = ECDSA(SHA256())
_P256 = SECP256R1()

_Verify = Callable[[bytes, bytes], None]


class Stamp(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """What an X-Stamp header says. Encoded as JSON it has the names of the wire.

    `public_key` is lower-case hex without 0x: a compressed point (33 bytes), or an Ed25519 key (32). `signature`
    is hex as sent: ASN.1 DER of (r, s), or the 64 bytes of an Ed25519 signature.
    """

    public_key: str
    scheme: StampScheme
    signature: str


_decoder = msgspec.json.Decoder(Stamp)


def read_stamp(header_value: str | bytes) -> Stamp:
    """The stamp in an X-Stamp header: base64url, padded or not, of a JSON object with its keys in any order.

    Unknown members are ignored. Nothing is verified, and the signature's text is not read. Raises Unauthenticated:
    "malformed activity stamp" if the header is not base64url of JSON, "could not extract api key stamp" if the JSON
    is not a stamp of a known scheme with a public key of that scheme's length.
    """
    if len(header_value) > API_KEY_STAMP_CHARACTERS_MAX:
        raise Unauthenticated(f"malformed activity stamp: longer than {API_KEY_STAMP_CHARACTERS_MAX} characters")
    try:
        encoded = decode_base64url(header_value)
    except ValueError as exc:
        raise Unauthenticated("malformed activity stamp: X-Stamp is not base64url text") from exc
    try:
        stamp = _decoder.decode(encoded)
    except msgspec.ValidationError as exc:
        raise Unauthenticated(f"could not extract api key stamp: {explain_invalid(exc, Stamp)}") from exc
    except (ValueError, RecursionError) as exc:  # not JSON, not UTF-8, or nested too deeply
        raise Unauthenticated("malformed activity stamp: X-Stamp is not base64url of JSON") from exc

    public_key = stamp.public_key.lower().removeprefix("0x")
    if not _is_hex(public_key, PUBLIC_KEY_BYTES[stamp.scheme]):
        raise Unauthenticated(
            f"could not extract api key stamp: publicKey must be {PUBLIC_KEY_BYTES[stamp.scheme]} bytes of hex "
            f"for {stamp.scheme}, got {stamp.public_key!r}"
        )
    if public_key == stamp.public_key:
        return stamp
    return Stamp(public_key, stamp.scheme, stamp.signature)


def verify_stamp(stamp: Stamp, body: bytes) -> None:
    """Raise Unauthenticated unless `stamp` is a signature over exactly the bytes `body` by the key that it names.

    ECDSA stamps sign SHA-256 of the body, or its EIP-191 digest; Ed25519 signs the body itself. For ECDSA, s may be
    in either half and r and s may have superfluous leading zeros, because published clients send both; for Ed25519
    S must be canonical. The error ("could not verify api key signature") is for a wrong signature, a key that is
    not a point on its scheme's curve, a weak Ed25519 key, and text that is not a signature.
    """
    try:
        signature = unhexlify(stamp.signature)
    except ValueError as exc:
        raise Unauthenticated("could not verify api key signature: the signature is not hex") from exc
    try:
        _verifier(stamp.scheme, stamp.public_key)(signature, body)
    except (InvalidSignature, ValueError) as exc:
        raise Unauthenticated("could not verify api key signature") from exc


def _is_hex(text: str, size: int) -> bool:
    try:
        return len(unhexlify(text)) == size
    except ValueError:
        return False


@lru_cache(maxsize=LOADED_KEYS_MAX)
def _verifier(scheme: StampScheme, public_key: str) -> _Verify:
    """The check (signature, body) of one key. Cached, because decompressing a point costs a quarter of a
    verification."""
    key = unhexlify(public_key)
    if len(key) != PUBLIC_KEY_BYTES[scheme]:
        raise ValueError(f"a key of {len(key)} bytes is not a key for {scheme}")
    match scheme:
        case StampScheme.API_P256:
            return _p256(EllipticCurvePublicKey.from_encoded_point(_P256, key))
        case StampScheme.API_SECP256K1:
            return _secp256k1(key, _sha256)
        case StampScheme.API_SECP256K1_EIP191:
            return _secp256k1(key, eip191_digest)
        case StampScheme.API_ED25519:
            check_public_key(key)
            return Ed25519PublicKey.from_public_bytes(key).verify
        case _:
            assert_never(scheme)


def _p256(key: EllipticCurvePublicKey) -> _Verify:
    def verify(signature: bytes, body: bytes) -> None:
        try:
            key.verify(signature, body, _ECDSA_SHA256)
        except InvalidSignature:
            # Wrong, or right but not strict DER; only the latter needs a second verification.
            strict = write_ecdsa_signature(*read_ecdsa_signature(signature))
            if strict == signature:
                raise
            key.verify(strict, body, _ECDSA_SHA256)

    return verify


def _secp256k1(public_key: bytes, digest: Callable[[bytes], bytes]) -> _Verify:
    """The check of one key, with libsecp256k1, which is ten times as fast as OpenSSL on this curve. Raises
    ValueError unless the bytes are a point."""
    key = secp256k1.to_compressed(public_key)

    def verify(signature: bytes, body: bytes) -> None:
        r, s = read_ecdsa_signature(signature)
        if not (0 < r < secp256k1.ORDER and 0 < s < secp256k1.ORDER):
            raise InvalidSignature
        # libsecp256k1 takes only the lower half of s, and clients may send either.
        compact = r.to_bytes(32) + min(s, secp256k1.ORDER - s).to_bytes(32)
        if not secp256k1.verifies(key, compact, digest(body)):
            raise InvalidSignature

    return verify


def _sha256(body: bytes) -> bytes:
    return sha256(body).digest()
