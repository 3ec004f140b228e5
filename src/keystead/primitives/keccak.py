"""Keccak-256, the hash of Ethereum: SHA-3 with its first padding. Pure.

Here: the one import of `tiny_keccak`. Not here: what is hashed.
"""

from __future__ import annotations

import tiny_keccak


def keccak256(octets: bytes) -> bytes:
    """The 32 bytes of the digest."""
    return tiny_keccak.keccak256(octets)
