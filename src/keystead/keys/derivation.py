"""From the seed of a wallet to the private key at a path: BIP-32 on secp256k1, SLIP-10 on P-256 and ed25519.

Pure. The child step is our own: the library at hand (bip_utils) takes most of a second to import and several
times as long for a key. The tests hold it against the published vectors and against that library. Not here:
paths as text (`paths`), public keys (`curves`).
"""

from __future__ import annotations

import hmac
from collections.abc import Sequence

from keystead.api.enums import Curve
from keystead.keys.curves import GROUP_ORDERS, PRIVATE_KEY_BYTES, public_key
from keystead.keys.paths import HARDENED, effective_segments

_MASTER_SALTS = {
    Curve.SECP256K1: b"Bitcoin seed",
    Curve.P256: b"Nist256p1 seed",
    Curve.ED25519: b"ed25519 seed",
}


def derive_private_key(curve: Curve, seed: bytes, segments: Sequence[int]) -> bytes:
    """The 32-byte private key at `segments` (as `paths.parse_path` gives them) under a 16 to 64-byte seed.

    On ed25519 every segment is derived hardened. With no segments: the master key.
    """
    key, chain_code = _master(curve, seed)
    for segment in effective_segments(curve, segments):
        key, chain_code = _child(curve, key, chain_code, segment)
    return key


def _master(curve: Curve, seed: bytes) -> tuple[bytes, bytes]:
    order = GROUP_ORDERS.get(curve)
    block = hmac.digest(_MASTER_SALTS[curve], seed, "sha512")
    while order is not None and not 0 < int.from_bytes(block[:PRIVATE_KEY_BYTES]) < order:
        block = hmac.digest(_MASTER_SALTS[curve], block, "sha512")
    return block[:PRIVATE_KEY_BYTES], block[PRIVATE_KEY_BYTES:]


def _child(curve: Curve, key: bytes, chain_code: bytes, segment: int) -> tuple[bytes, bytes]:
    number = segment.to_bytes(4)
    parent = b"\0" + key if segment & HARDENED else public_key(curve, key).compressed
    order = GROUP_ORDERS.get(curve)
    block = hmac.digest(chain_code, parent + number, "sha512")
    if order is None:
        return block[:PRIVATE_KEY_BYTES], block[PRIVATE_KEY_BYTES:]
    while True:
        tweak = int.from_bytes(block[:PRIVATE_KEY_BYTES])
        child = (tweak + int.from_bytes(key)) % order
        if tweak < order and child:
            return child.to_bytes(PRIVATE_KEY_BYTES), block[PRIVATE_KEY_BYTES:]
        # SLIP-10 hashes on where BIP-32 has no key at that number: about once in 2^32 steps on P-256, and on
        # secp256k1 too rarely (2^-127) for the two rules to ever differ.
        block = hmac.digest(chain_code, b"\x01" + block[PRIVATE_KEY_BYTES:] + number, "sha512")
