"""Encrypted bundles: what passes between the signer and a client, closed to everyone in between.

Here: HPKE (RFC 9180) to a client and from one, the signed envelope around what the server sends, the bundle key.
Pure, but for ephemeral keys from the operating system. Not here: what is inside a bundle (`exporting`,
`importing`). HPKE's library is loaded when the first bundle is sealed or opened.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from msgspec import Meta

from keystead.api.enums import Curve
from keystead.api.errors import InvalidRequest
from keystead.chains.curves import PRIVATE_KEY_BYTES
from keystead.keys.public_keys import public_key

if TYPE_CHECKING:
    from pyhpke import CipherSuite

MESSAGE_LENGTH_MAX: Final = 8_192
"""Characters of a client's message. A mnemonic with the longest passphrase we take needs about a third of it."""

_VERSION = "v1.0.0"
_INFO = b"turnkey_hpke"
_POINT = re.compile(r"04[0-9a-fA-F]{128}|0[23][0-9a-fA-F]{64}")


class BundleBroken(Exception):
    """These bytes were not sealed to this key, or were changed since."""


class Message(msgspec.Struct, frozen=True, rename="camel"):
    """Something sealed to a key, as a client sends it, in hex: a point, and a ciphertext with its tag."""

    encapped_public: Annotated[str, Meta(pattern=r"^04[0-9a-fA-F]{128}\Z")]
    ciphertext: Annotated[str, Meta(pattern=r"^(?:[0-9a-fA-F]{2}){16,}\Z")]


_read_message = msgspec.json.Decoder(Message).decode


class _Envelope(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    version: str = _VERSION
    data: str
    data_signature: str
    enclave_quorum_public: str


class _Exported(msgspec.Struct, frozen=True, rename="camel"):
    encapped_public: str
    ciphertext: str
    organization_id: str


class _Target(msgspec.Struct, frozen=True, rename="camel"):
    target_public: str
    organization_id: str
    user_id: str


class BundleKey:
    """The server's key of bundles. Clients are told its public half beforehand and trust no bundle without it.

    `scalars`: 64 bytes, the encryption key's and then the signing key's. Nothing is encrypted to the first yet; it
    completes the form in which some clients want to be told (`composite_public_key`).
    """

    def __init__(self, scalars: bytes) -> None:
        """Raises ValueError unless `scalars` are two private keys of P-256."""
        encryption, signing = scalars[:PRIVATE_KEY_BYTES], scalars[PRIVATE_KEY_BYTES:]
        self._signing_key = ec.derive_private_key(int.from_bytes(signing), ec.SECP256R1())
        self.signing_public_key = _uncompressed(signing).hex()
        """Lower-case hex of 65 bytes: clients compare the text."""
        self.composite_public_key = _uncompressed(encryption).hex() + self.signing_public_key
        """Lower-case hex of 130 bytes: encryption key, signing key."""

    def export_bundle(self, organization_id: str, plaintext: bytes, target: bytes) -> str:
        """`plaintext` sealed to the client's key `target` (65 bytes), signed: the text of an export bundle."""
        encapped, ciphertext = seal(plaintext, target)
        return self._signed(_Exported(encapped.hex(), ciphertext.hex(), organization_id))

    def import_bundle(self, organization_id: str, user_id: str, target: bytes) -> str:
        """A key (65 bytes) for this user to seal to, signed: the text of an import bundle."""
        return self._signed(_Target(target.hex(), organization_id, user_id))

    def _signed(self, content: _Exported | _Target) -> str:
        data = msgspec.json.encode(content)
        envelope = _Envelope(
            data=data.hex(),
            data_signature=self._signing_key.sign(data, ec.ECDSA(hashes.SHA256())).hex(),
            enclave_quorum_public=self.signing_public_key,
        )
        return msgspec.json.encode(envelope).decode()


def read_target(text: str, field: str) -> bytes:
    """The 65 bytes of a client's P-256 public key, given as the hex of 33 or 65. Raises InvalidRequest."""
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


def read_message(text: str, field: str) -> tuple[bytes, bytes]:
    """Encapsulated key (65 bytes, not yet known to be a point) and ciphertext of a client's message.

    Raises InvalidRequest if the text is not such a message.
    """
    try:
        message = _read_message(text if len(text) <= MESSAGE_LENGTH_MAX else "")
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        raise InvalidRequest(
            f"failed to decrypt bundle: field `{field}`: expected JSON text "
            '{"encappedPublic": hex of 65 bytes, "ciphertext": hex of at least 16 bytes} of at most '
            f"{MESSAGE_LENGTH_MAX} characters"
        ) from None
    return bytes.fromhex(message.encapped_public), bytes.fromhex(message.ciphertext)


def seal(plaintext: bytes, target: bytes) -> tuple[bytes, bytes]:
    """Encapsulated key (65 bytes) and ciphertext. `target`: 65 bytes of a point (`read_target`)."""
    suite = _suite()
    encapped, context = suite.create_sender_context(suite.kem.deserialize_public_key(target), _INFO)
    return encapped, context.seal(plaintext, encapped + target)


def open_sealed(private_key: bytes, encapped: bytes, ciphertext: bytes) -> bytes:
    """What was sealed to the P-256 key `private_key` (32 bytes). Raises BundleBroken."""
    from pyhpke import PyHPKEError

    suite = _suite()
    target = _uncompressed(private_key)
    try:
        context = suite.create_recipient_context(encapped, suite.kem.deserialize_private_key(private_key), _INFO)
        return context.open(ciphertext, encapped + target)
    except (PyHPKEError, ValueError):
        raise BundleBroken("the ciphertext does not open with this key") from None


@functools.cache
def _suite() -> CipherSuite:
    from pyhpke import AEADId, CipherSuite, KDFId, KEMId

    return CipherSuite.new(KEMId.DHKEM_P256_HKDF_SHA256, KDFId.HKDF_SHA256, AEADId.AES256_GCM)


def _uncompressed(private_key: bytes) -> bytes:
    point = public_key(Curve.P256, private_key).uncompressed
    assert point is not None
    return point
