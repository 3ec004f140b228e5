"""Signatures by libsecp256k1, through the functions that coincurve loads it with: no more is computed than needed.

coincurve's own PrivateKey computes two public keys before it signs, and its `verify` wants DER. Here: the thin,
typed door to the library's functions, all of them in its published headers. Not here: which keys sign, and that
each signature is verified (`signatures`).
"""

from __future__ import annotations

import functools
from typing import Any, Final

import coincurve
from coincurve._libsecp256k1 import ffi, lib
from coincurve.context import GLOBAL_CONTEXT

DIGEST_BYTES: Final = 32
_COMPACT_BYTES: Final = 64
_CONTEXT: Final[Any] = GLOBAL_CONTEXT.ctx

PUBLIC_KEYS_KEPT: Final = 4_096
"""Public keys that were used last, parsed: parsing one takes a square root."""


def sign_recoverable(private_key: bytes, digest: bytes) -> tuple[bytes, int]:
    """r and s, 32 bytes each, and the recovery id, 0 to 3. RFC 6979, s in the lower half. Does not verify.

    Raises ValueError for a digest that is not 32 bytes and for what is no private key.
    """
    if len(private_key) != DIGEST_BYTES or len(digest) != DIGEST_BYTES:  # the library reads 32 bytes of each
        raise ValueError("a private key and a digest have 32 bytes each")
    made = ffi.new("secp256k1_ecdsa_recoverable_signature *")
    if not lib.secp256k1_ecdsa_sign_recoverable(_CONTEXT, made, digest, private_key, ffi.NULL, ffi.NULL):
        raise ValueError("a private key of secp256k1 is above zero and below the order of the group")
    compact, recovery_id = ffi.new("unsigned char[64]"), ffi.new("int *")
    lib.secp256k1_ecdsa_recoverable_signature_serialize_compact(_CONTEXT, compact, recovery_id, made)
    return bytes(ffi.buffer(compact)), int(recovery_id[0])


def sign_schnorr(private_key: bytes, digest: bytes, randomness: bytes) -> bytes:
    """The 64 bytes of BIP-340, with 32 bytes of randomness. Does not verify. Raises as `sign_recoverable`."""
    if not len(private_key) == len(digest) == len(randomness) == DIGEST_BYTES:
        raise ValueError("a private key, a digest and the randomness have 32 bytes each")
    pair, made = ffi.new("secp256k1_keypair *"), ffi.new("unsigned char[64]")
    if not (
        lib.secp256k1_keypair_create(_CONTEXT, pair, private_key)
        and lib.secp256k1_schnorrsig_sign32(_CONTEXT, made, digest, pair, randomness)
    ):
        raise ValueError("a private key of secp256k1 is above zero and below the order of the group")
    return bytes(ffi.buffer(made))


def verifies(public_key: bytes, signature: bytes, digest: bytes) -> bool:
    """Whether these 64 bytes sign the digest under a public key of 33 or 65 bytes. One of high s never does.

    Raises ValueError for what is no public key.
    """
    if len(signature) != _COMPACT_BYTES or len(digest) != DIGEST_BYTES:
        return False
    parsed = ffi.new("secp256k1_ecdsa_signature *")
    if not lib.secp256k1_ecdsa_signature_parse_compact(_CONTEXT, parsed, signature):
        return False
    return bool(lib.secp256k1_ecdsa_verify(_CONTEXT, parsed, digest, _parsed(public_key).public_key))


@functools.lru_cache(maxsize=PUBLIC_KEYS_KEPT)
def _parsed(public_key: bytes) -> coincurve.PublicKey:
    return coincurve.PublicKey(public_key)
