"""A signature, and the schemes by which one is computed.

Here: the values alone. Not here: computing a signature (`keys`), choosing the scheme for a payload
(`payload_schemes`).
"""

from __future__ import annotations

from enum import StrEnum

import msgspec


class SignatureScheme(StrEnum):
    """The kind of signature. All but ED25519 sign a digest of 32 bytes.

    SCHNORR: BIP-340 with the key itself. SCHNORR_KEY_PATH: BIP-340 with the key after the tweak of BIP-341 for an
    output without scripts.
    """

    ECDSA = "ecdsa"
    SCHNORR = "schnorr"
    SCHNORR_KEY_PATH = "schnorr-key-path"
    ED25519 = "ed25519"


class Signature(msgspec.Struct, frozen=True):
    """`r` and `s` are 32 bytes each; `v` is the recovery id of ECDSA, 0 or 1, and 0 in other schemes.

    In Schnorr and Ed25519, r and s are the halves of the 64 bytes.
    """

    r: bytes
    s: bytes
    v: int = 0
