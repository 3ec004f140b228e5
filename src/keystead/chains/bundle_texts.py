"""The texts that clients send for exports and imports: a target key, a sealed message.

Here: reading them, without secrets. Not here: sealing and opening (`keys.bundles`).
"""

from __future__ import annotations

import re
from typing import Annotated

import msgspec
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from msgspec import Meta

from keystead.api.errors import InvalidRequest
from keystead.chains.bounds import BUNDLE_MESSAGE_CHARACTERS_MAX

_POINT = re.compile(r"04[0-9a-fA-F]{128}|0[23][0-9a-fA-F]{64}")


class SealedMessage(msgspec.Struct, frozen=True, rename="camel"):
    """The JSON of a client's sealed message. `encapped_public`: the encapsulated key in hex. `ciphertext`: with its
    tag, in hex."""

    encapped_public: Annotated[str, Meta(pattern=r"^04[0-9a-fA-F]{128}\Z")]
    ciphertext: Annotated[str, Meta(pattern=r"^(?:[0-9a-fA-F]{2}){16,}\Z")]


_read_message = msgspec.json.Decoder(SealedMessage).decode


def read_target(text: str, field: str) -> bytes:
    """The 65 bytes of a client's P-256 public key, given as the hex of 33 or 65 bytes. Raises InvalidRequest."""
    try:
        # `bytes.fromhex` alone would skip white space.
        encoded = bytes.fromhex(text) if _POINT.fullmatch(text) else b""
        point = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), encoded)
    except ValueError:
        raise InvalidRequest(
            f"invalid request: field `{field}`: expected a P-256 public key, the hex of 65 bytes (uncompressed) or "
            f"33 (compressed), not these {len(text)} characters"
        ) from None
    return point.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def compress_point(point: bytes) -> bytes:
    """The 33 bytes of a P-256 point that is given as 65 bytes."""
    return bytes([2 + point[-1] % 2]) + point[1:33]


def read_message(text: str, field: str, length_max: int = BUNDLE_MESSAGE_CHARACTERS_MAX) -> tuple[bytes, bytes]:
    """The encapsulated key (65 bytes, not yet checked to be a point) and the ciphertext of a client's message.

    `length_max`: the most characters of the text. Raises InvalidRequest if the text is not such a message.
    """
    try:
        message = _read_message(text if len(text) <= length_max else "")
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        raise InvalidRequest(
            f"failed to decrypt bundle: field `{field}`: expected JSON text "
            '{"encappedPublic": hex of 65 bytes, "ciphertext": hex of at least 16 bytes} of at most '
            f"{length_max} characters"
        ) from None
    return bytes.fromhex(message.encapped_public), bytes.fromhex(message.ciphertext)
