"""The curve secp256k1, with the C library libsecp256k1: keys, ECDSA, Schnorr signatures (BIP-340).

Here: the one import of `btclib_libsecp256k1`, which contains the compiled library, and typed functions for its
functions. Not here: which keys sign, and the verification of each new signature (`keys.signatures`).

Public keys are SEC 1: 33 bytes, or 65 with both coordinates. Private keys, digests and scalars are 32 bytes, big
endian. Pure: the cached parsed public keys are a function of their bytes.
"""

from __future__ import annotations

import functools
from typing import Any, Final

from btclib_libsecp256k1 import ffi, lib
from btclib_libsecp256k1.context import ctx

SCALAR_BYTES: Final = 32
SIGNATURE_BYTES: Final = 64
ORDER: Final = 0xFFFFFFFF_FFFFFFFF_FFFFFFFF_FFFFFFFE_BAAEDCE6_AF48A03B_BFD25E8C_D0364141
"""The order of the group (SEC 2): private keys are 1 to ORDER - 1."""

PUBLIC_KEYS_CACHED_MAX: Final = 4_096
"""How many parsed public keys are cached. Parsing one computes a square root."""

# The flags of secp256k1_ec_pubkey_serialize, from secp256k1.h.
_COMPRESSED: Final = 0x102
_UNCOMPRESSED: Final = 0x002


def public_key(private_key: bytes) -> bytes:
    """The 33 bytes of the public key. Raises ValueError for bytes that are not a private key."""
    point = ffi.new("secp256k1_pubkey *")
    if not lib.secp256k1_ec_pubkey_create(ctx, point, _scalar(private_key)):
        raise _not_a_private_key()
    return _serialize(point, _COMPRESSED, 33)


def to_compressed(public_key: bytes) -> bytes:
    """A public key of 33 or 65 bytes, as 33 bytes. Raises ValueError for bytes that are not a point of the
    curve."""
    return _serialize(_parse(public_key), _COMPRESSED, 33)


def to_uncompressed(public_key: bytes) -> bytes:
    """A public key of 33 or 65 bytes, as 65 bytes. Raises ValueError for bytes that are not a point of the
    curve."""
    return _serialize(_parse(public_key), _UNCOMPRESSED, 65)


def add_scalar(public_key: bytes, scalar: bytes) -> bytes:
    """The public key plus `scalar` times the generator, as 33 bytes.

    Raises ValueError for bytes that are not a point, a scalar that is not below ORDER, and a sum without a point.
    """
    # The library changes the key in place, so it gets a copy of the cached one.
    point = ffi.new("secp256k1_pubkey *", _parse(public_key)[0])
    if not lib.secp256k1_ec_pubkey_tweak_add(ctx, point, _scalar(scalar)):
        raise ValueError("the scalar is not below the order of the group, or the sum is the point at infinity")
    return _serialize(point, _COMPRESSED, 33)


def sign_recoverable(private_key: bytes, digest: bytes) -> tuple[bytes, int]:
    """r and s, 32 bytes each, and the recovery id, 0 to 3. The nonce is that of RFC 6979, s is in the lower half.
    The new signature is not verified.

    Raises ValueError for a digest that is not 32 bytes and for bytes that are not a private key.
    """
    signature = ffi.new("secp256k1_ecdsa_recoverable_signature *")
    if not lib.secp256k1_ecdsa_sign_recoverable(
        ctx, signature, _scalar(digest), _scalar(private_key), ffi.NULL, ffi.NULL
    ):
        raise _not_a_private_key()
    compact, recovery_id = ffi.new("unsigned char[64]"), ffi.new("int *")
    lib.secp256k1_ecdsa_recoverable_signature_serialize_compact(ctx, compact, recovery_id, signature)
    return bytes(ffi.buffer(compact)), int(recovery_id[0])


def verifies(public_key: bytes, signature: bytes, digest: bytes) -> bool:
    """Whether r and s, 32 bytes each, sign the digest under the public key. False if s is in the upper half.

    Raises ValueError for bytes that are not a point of the curve.
    """
    if len(signature) != SIGNATURE_BYTES or len(digest) != SCALAR_BYTES:
        return False
    parsed = ffi.new("secp256k1_ecdsa_signature *")
    if not lib.secp256k1_ecdsa_signature_parse_compact(ctx, parsed, signature):
        return False
    return bool(lib.secp256k1_ecdsa_verify(ctx, parsed, digest, _parse(public_key)))


def recover(signature: bytes, recovery_id: int, digest: bytes) -> bytes:
    """The 65 bytes of the public key under which r and s, 32 bytes each, sign the digest.

    `recovery_id`: 0 to 3. Raises ValueError if there is no such key, and if s is in the upper half: then another
    text of the signature would verify, too.
    """
    if len(signature) != SIGNATURE_BYTES or len(digest) != SCALAR_BYTES or not 0 <= recovery_id <= 3:
        raise ValueError("a recoverable signature has 64 bytes and a recovery id from 0 to 3")
    parsed, point = ffi.new("secp256k1_ecdsa_recoverable_signature *"), ffi.new("secp256k1_pubkey *")
    if not (
        lib.secp256k1_ecdsa_recoverable_signature_parse_compact(ctx, parsed, signature, recovery_id)
        and lib.secp256k1_ecdsa_recover(ctx, point, parsed, digest)
    ):
        raise ValueError("no public key of secp256k1 has made this signature")
    key = _serialize(point, _UNCOMPRESSED, 65)
    if not verifies(key, signature, digest):
        raise ValueError("s of the signature is in the upper half")
    return key


def sign_schnorr(private_key: bytes, digest: bytes, randomness: bytes) -> bytes:
    """The 64 bytes of a BIP-340 signature, made with 32 bytes of randomness. The new signature is not verified.
    Raises the errors of `sign_recoverable`."""
    pair, signature = ffi.new("secp256k1_keypair *"), ffi.new("unsigned char[64]")
    if not (
        lib.secp256k1_keypair_create(ctx, pair, _scalar(private_key))
        and lib.secp256k1_schnorrsig_sign32(ctx, signature, _scalar(digest), pair, _scalar(randomness))
    ):
        raise _not_a_private_key()
    return bytes(ffi.buffer(signature))


def verifies_schnorr(x_only: bytes, signature: bytes, digest: bytes) -> bool:
    """Whether a BIP-340 signature of 64 bytes signs the digest under `x_only`, the x coordinate (32 bytes) of a
    key.

    Raises ValueError for bytes that are not the x coordinate of a point.
    """
    if len(signature) != SIGNATURE_BYTES or len(digest) != SCALAR_BYTES:
        return False
    point = _parse_x_only(x_only)
    return bool(lib.secp256k1_schnorrsig_verify(ctx, signature, digest, SCALAR_BYTES, point))


def _scalar(octets: bytes) -> bytes:
    if len(octets) != SCALAR_BYTES:  # the library reads 32 bytes without a check
        raise ValueError(f"a private key, a digest and a scalar have 32 bytes each, not {len(octets)}")
    return octets


def _not_a_private_key() -> ValueError:
    return ValueError("a private key of secp256k1 is above zero and below the order of the group")


@functools.lru_cache(maxsize=PUBLIC_KEYS_CACHED_MAX)
def _parse(public_key: bytes) -> Any:
    point = ffi.new("secp256k1_pubkey *")
    if not lib.secp256k1_ec_pubkey_parse(ctx, point, public_key, len(public_key)):
        raise ValueError("a public key of secp256k1 is 33 or 65 bytes of SEC 1 that name a point of the curve")
    return point


@functools.lru_cache(maxsize=PUBLIC_KEYS_CACHED_MAX)
def _parse_x_only(x_only: bytes) -> Any:
    point = ffi.new("secp256k1_xonly_pubkey *")
    if not lib.secp256k1_xonly_pubkey_parse(ctx, point, _scalar(x_only)):
        raise ValueError("an x-only public key of secp256k1 is the x coordinate of a point of the curve")
    return point


def _serialize(point: Any, flag: int, size: int) -> bytes:
    octets, length = ffi.new("unsigned char[]", size), ffi.new("size_t *", size)
    lib.secp256k1_ec_pubkey_serialize(ctx, octets, length, point, flag)
    return bytes(ffi.buffer(octets))
