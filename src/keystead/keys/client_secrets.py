"""OAuth 2.0 client secrets: opens the secrets that operators encrypted to this server.

The envelope is Borsh of a nonce (12 bytes), an ephemeral P-256 point (65 bytes) and a ciphertext with its length
(4 bytes, little endian): AES-256-GCM under a key from ECDH. Not here: where the key is stored.
"""

from __future__ import annotations

import hmac
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from keystead.api.errors import InvalidRequest

_NONCE, _POINT, _LENGTH = 12, 65, 4
_MESSAGE: Final = b"qos_encryption_hmac_message"
_POINT_LENGTH: Final = bytes([_POINT])


class ClientSecretKey:
    """The key to which client secrets are encrypted. `scalar`: 32 bytes. Raises ValueError unless it is a private
    key."""

    def __init__(self, scalar: bytes) -> None:
        self._key = ec.derive_private_key(int.from_bytes(scalar), ec.SECP256R1())
        self._point = self._key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)

    def open(self, envelope: bytes) -> bytes:
        """The secret. Raises InvalidRequest if the envelope is malformed, or encrypted to another key."""
        head = _NONCE + _POINT
        nonce, ephemeral = envelope[:_NONCE], envelope[_NONCE:head]
        length, ciphertext = envelope[head : head + _LENGTH], envelope[head + _LENGTH :]
        if len(length) != _LENGTH or int.from_bytes(length, "little") != len(ciphertext):
            raise _invalid_secret("it is not an envelope of nonce, public key and ciphertext")
        try:
            sender = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), ephemeral)
            shared = self._key.exchange(ec.ECDH(), sender)
            key = hmac.digest(ephemeral + self._point + shared, _MESSAGE, "sha512")[:32]
            data = ephemeral + _POINT_LENGTH + self._point + _POINT_LENGTH
            return AESGCM(key).decrypt(nonce, ciphertext, data)
        except (ValueError, InvalidTag):
            raise _invalid_secret(
                "it does not open with the key `client_secret_key` of GET /installation-keys"
            ) from None


def _invalid_secret(reason: str) -> InvalidRequest:
    return InvalidRequest(f"invalid encrypted client secret: field `parameters.encryptedClientSecret`: {reason}")
