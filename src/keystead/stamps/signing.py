"""Stamping requests: the client's half of X-Stamp.

Here: stampers with a private key in memory or with a signer elsewhere (HSM, KMS), and new key pairs. Not here:
sending (`client`) and verifying (`api_key`).
"""

from __future__ import annotations

import secrets
from binascii import unhexlify
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Protocol, assert_never

import msgspec
from cryptography.hazmat.primitives.asymmetric.ec import (
    ECDSA,
    SECP256R1,
    derive_private_key,
    generate_private_key,
)
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from keystead.api.enums import ApiKeyCurve
from keystead.primitives import secp256k1
from keystead.primitives.p256 import ORDER as P256_ORDER
from keystead.stamps.api_key import Stamp
from keystead.stamps.base64url import encode_base64url
from keystead.stamps.cose import read_ecdsa_signature, write_ecdsa_signature
from keystead.stamps.schemes import API_KEY_HEADER, PUBLIC_KEY_BYTES, StampScheme, eip191_digest

_SCHEMES = {
    ApiKeyCurve.P256: StampScheme.API_P256,
    ApiKeyCurve.SECP256K1: StampScheme.API_SECP256K1,
    ApiKeyCurve.ED25519: StampScheme.API_ED25519,
}
_ORDERS = {
    ApiKeyCurve.P256: P256_ORDER,
    ApiKeyCurve.SECP256K1: secp256k1.ORDER,
}
_ECDSA_SHA256 = ECDSA(SHA256())

_SignMessage = Callable[[bytes], bytes]


class Stamper(Protocol):
    """Signs request bodies. A client authenticates with it."""

    def stamp(self, body: bytes) -> tuple[str, str]:
        """Name and value of the header with the stamp of the bytes `body`."""


@dataclass(frozen=True, slots=True)
class ApiKeyPair:
    """An API key, both halves as hex without 0x. The private half is not in the repr."""

    public_key: str
    private_key: str = field(repr=False)
    curve: ApiKeyCurve = ApiKeyCurve.P256


class ApiKeyStamper:
    """Stamps with a private key held in memory.

    `public_key` and `private_key` are hex, 32 bytes for the private half, a compressed point or an Ed25519 key for
    the public one. `eip191` stamps the way an Ethereum wallet signs a personal message (secp256k1 only). Raises
    ValueError if a half is malformed, or the two do not belong together; the message never shows the private half.
    """

    __slots__ = ("_sign", "public_key", "scheme")

    def __init__(
        self,
        public_key: str,
        private_key: str,
        curve: ApiKeyCurve = ApiKeyCurve.P256,
        *,
        eip191: bool = False,
    ) -> None:
        curve = ApiKeyCurve(curve)
        if eip191 and curve is not ApiKeyCurve.SECP256K1:
            raise ValueError(f"EIP-191 stamps need a key on secp256k1, got {curve}")
        self.scheme = StampScheme.API_SECP256K1_EIP191 if eip191 else _SCHEMES[curve]
        self.public_key = _public_key_text(public_key, self.scheme)
        derived, self._sign = _signer(self.scheme, _private_key_bytes(private_key))
        if derived != self.public_key:
            raise ValueError(
                f"the private key does not belong to public key {self.public_key}: its public half is {derived}"
            )

    def stamp(self, body: bytes) -> tuple[str, str]:
        return _header(self.public_key, self.scheme, self._sign(body))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(public_key={self.public_key!r}, scheme={self.scheme.value!r})"


class CallbackStamper:
    """Stamps with a key that is kept elsewhere: an HSM, a cloud KMS, a wallet.

    `sign` is given the 32-byte digest to sign (SHA-256 of the body, or its EIP-191 digest), for Ed25519 the body
    itself. It returns ASN.1 DER, or the 64 bytes of r and s as PKCS#11 modules do; for Ed25519 its 64 bytes.
    Anything else raises ValueError when stamping.
    """

    __slots__ = ("_sign", "public_key", "scheme")

    def __init__(self, public_key: str, scheme: StampScheme, sign: _SignMessage) -> None:
        self.scheme = StampScheme(scheme)
        self.public_key = _public_key_text(public_key, self.scheme)
        self._sign = sign

    def stamp(self, body: bytes) -> tuple[str, str]:
        match self.scheme:
            case StampScheme.API_ED25519:
                signature = self._sign(body)
                if len(signature) != 64:
                    raise ValueError(f"an Ed25519 signature has 64 bytes, the signer returned {len(signature)}")
            case StampScheme.API_SECP256K1_EIP191:
                signature = _as_der(self._sign(eip191_digest(body)))
            case StampScheme.API_P256 | StampScheme.API_SECP256K1:
                signature = _as_der(self._sign(sha256(body).digest()))
            case _:
                assert_never(self.scheme)
        return _header(self.public_key, self.scheme, signature)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(public_key={self.public_key!r}, scheme={self.scheme.value!r})"


def generate_api_key(curve: ApiKeyCurve = ApiKeyCurve.P256, seed: bytes | None = None) -> ApiKeyPair:
    """A new key pair. Without `seed` it is random; from one seed it is always the same (HKDF-SHA256, one output for
    each curve).

    A key from a seed is as easy to guess as its seed: use a seed for fixtures and development, or use 32 secret
    bytes. Raises ValueError for an empty seed.
    """
    curve = ApiKeyCurve(curve)
    secret = _random_secret(curve) if seed is None else _seeded_secret(curve, seed)
    public_key, _ = _signer(_SCHEMES[curve], secret)
    return ApiKeyPair(public_key, secret.hex(), curve)


def api_key_of(private_key: str) -> ApiKeyPair:
    """The P-256 key pair with this private half, 32 bytes of hex. Raises ValueError if it is not a private key."""
    secret = _private_key_bytes(private_key)
    public_key, _ = _signer(StampScheme.API_P256, secret)
    return ApiKeyPair(public_key, secret.hex(), ApiKeyCurve.P256)


def _random_secret(curve: ApiKeyCurve) -> bytes:
    match curve:
        case ApiKeyCurve.P256:
            return generate_private_key(SECP256R1()).private_numbers().private_value.to_bytes(32, "big")
        case ApiKeyCurve.SECP256K1:
            return (secrets.randbelow(secp256k1.ORDER - 1) + 1).to_bytes(32)
        case ApiKeyCurve.ED25519:
            return Ed25519PrivateKey.generate().private_bytes_raw()
        case _:
            assert_never(curve)


def _seeded_secret(curve: ApiKeyCurve, seed: bytes) -> bytes:
    if not seed:
        raise ValueError("the seed of an API key must not be empty")
    # 16 bytes more than a scalar has, so that the bias of the remainder below is negligible (FIPS 186-5, A.2.1).
    derived = HKDF(SHA256(), length=48, salt=None, info=f"keystead {curve}".encode("ascii")).derive(seed)
    if curve is ApiKeyCurve.ED25519:
        return derived[:32]
    return (int.from_bytes(derived, "big") % (_ORDERS[curve] - 1) + 1).to_bytes(32, "big")


def _signer(scheme: StampScheme, secret: bytes) -> tuple[str, _SignMessage]:
    """The public half (hex) of `secret`, and a function that signs a body by `scheme`."""
    match scheme:
        case StampScheme.API_P256:
            p256 = derive_private_key(int.from_bytes(secret, "big"), SECP256R1())
            point = p256.public_key().public_bytes(Encoding.X962, PublicFormat.CompressedPoint)
            return point.hex(), lambda body: p256.sign(body, _ECDSA_SHA256)
        case StampScheme.API_SECP256K1:
            return secp256k1.public_key(secret).hex(), lambda body: _secp256k1(secret, sha256(body).digest())
        case StampScheme.API_SECP256K1_EIP191:
            return secp256k1.public_key(secret).hex(), lambda body: _secp256k1(secret, eip191_digest(body))
        case StampScheme.API_ED25519:
            ed25519 = Ed25519PrivateKey.from_private_bytes(secret)
            return ed25519.public_key().public_bytes_raw().hex(), ed25519.sign
        case _:
            assert_never(scheme)


def _secp256k1(secret: bytes, digest: bytes) -> bytes:
    """The signature as DER."""
    signed, _ = secp256k1.sign_recoverable(secret, digest)
    return write_ecdsa_signature(int.from_bytes(signed[:32]), int.from_bytes(signed[32:]))


def _public_key_text(public_key: str, scheme: StampScheme) -> str:
    text = public_key.lower().removeprefix("0x")
    try:
        size = len(unhexlify(text))
    except ValueError as exc:
        raise ValueError(f"the public key is not hex: {public_key!r}") from exc
    if size != PUBLIC_KEY_BYTES[scheme]:
        raise ValueError(f"a public key for {scheme} has {PUBLIC_KEY_BYTES[scheme]} bytes, got {size}")
    return text


def _private_key_bytes(private_key: str) -> bytes:
    try:
        secret = unhexlify(private_key.lower().removeprefix("0x"))
    except ValueError:
        raise ValueError("the private key is not hex") from None
    if len(secret) != 32:
        raise ValueError(f"a private key has 32 bytes, got {len(secret)}")
    return secret


def _as_der(signature: bytes) -> bytes:
    try:
        return write_ecdsa_signature(*read_ecdsa_signature(signature))
    except ValueError:
        if len(signature) != 64:
            raise ValueError(
                f"the signer returned {len(signature)} bytes that are neither DER nor r and s of 32 bytes each"
            ) from None
    return write_ecdsa_signature(int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big"))


def _header(public_key: str, scheme: StampScheme, signature: bytes) -> tuple[str, str]:
    stamp = Stamp(public_key, scheme, signature.hex())
    return API_KEY_HEADER, encode_base64url(msgspec.json.encode(stamp))
