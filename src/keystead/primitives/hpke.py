"""HPKE (RFC 9180) in base mode with the suite of bundles: P-256, HKDF-SHA256, AES-256-GCM. Pure.

Here: the one import of `pyhpke`, when the first message is sealed or opened, because the import is slow. Not here:
what is sealed (`keys.bundles`), what a command opens (`cli.development.fixtures`).
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyhpke import CipherSuite

_INFO = b"turnkey_hpke"


class HpkeError(Exception):
    """The ciphertext was sealed to another key, or was changed."""


def seal(plaintext: bytes, target: bytes) -> tuple[bytes, bytes]:
    """The encapsulated key (65 bytes) and the ciphertext. `target`: the receiver's public key, a point of 65
    bytes."""
    suite = _suite()
    encapped, context = suite.create_sender_context(suite.kem.deserialize_public_key(target), _INFO)
    return encapped, context.seal(plaintext, encapped + target)


def open_sealed(private_key: bytes, target: bytes, encapped: bytes, ciphertext: bytes) -> bytes:
    """The plaintext that was sealed to `target`.

    `private_key`: 32 bytes; `target` is its public half, 65 bytes. `encapped`: the encapsulated key, 65 bytes.
    Raises HpkeError.
    """
    from pyhpke import PyHPKEError

    suite = _suite()
    try:
        context = suite.create_recipient_context(encapped, suite.kem.deserialize_private_key(private_key), _INFO)
        return context.open(ciphertext, encapped + target)
    except (PyHPKEError, ValueError):
        raise HpkeError("the ciphertext does not open with this key") from None


def load() -> None:
    """Import the library now, so that the first message does not wait for it."""
    _suite()


@functools.cache
def _suite() -> CipherSuite:
    from pyhpke import AEADId, CipherSuite, KDFId, KEMId

    return CipherSuite.new(KEMId.DHKEM_P256_HKDF_SHA256, KDFId.HKDF_SHA256, AEADId.AES256_GCM)
