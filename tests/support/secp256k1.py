"""secp256k1 with the library's own Python functions, to compare with `keystead.primitives.secp256k1`."""

from __future__ import annotations

from btclib_libsecp256k1 import dsa, recovery, ssa, xonly


def sign_der(private_key: bytes, digest: bytes) -> bytes:
    """ECDSA with the nonce of RFC 6979, as DER."""
    return dsa.sign(digest, private_key)


def sign_recoverable(private_key: bytes, digest: bytes) -> bytes:
    """65 bytes: r, s and the recovery id."""
    signature, recovery_id = recovery.sign(digest, private_key)
    return signature + bytes([recovery_id])


def recovered(signature: bytes, digest: bytes) -> bytes:
    """The 33 bytes of the public key that made this signature of 65 bytes."""
    return recovery.recover(digest, signature[:64], signature[64])


def verifies_schnorr(x_only: bytes, signature: bytes, digest: bytes) -> bool:
    return ssa.verify(digest, x_only, signature)


def output_key(x_only: bytes, tweak: bytes) -> bytes:
    """The x coordinate of an internal key plus `tweak` times the generator."""
    return xonly.tweak_add(x_only, tweak)[0]
