"""Encrypted bundles: key material between the signer and a client, which nobody else can read.

Here: the signed envelope of what the server sends, the bundle key, what an export contains. Not here: encryption
(`primitives.hpke`), the imported contents (`importing`), the texts that clients send (`chains.bundle_texts`).
"""

from __future__ import annotations

import msgspec
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from keystead.api.enums import Curve, MnemonicLanguage
from keystead.chains.addresses.text import base58check
from keystead.chains.curves import PRIVATE_KEY_BYTES
from keystead.keys.material import WalletSecret
from keystead.keys.mnemonic import entropy_from_mnemonic, mnemonic_from_entropy
from keystead.keys.public_keys import new_p256_key, public_key
from keystead.primitives import hpke

_VERSION = "v1.0.0"


class BundleBroken(Exception):
    """The ciphertext was sealed to another key, or was changed."""


class _ExportBundle(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    version: str = _VERSION
    data: str
    data_signature: str
    enclave_quorum_public: str


class _ExportData(msgspec.Struct, frozen=True, rename="camel"):
    encapped_public: str
    ciphertext: str
    organization_id: str


class _ImportTargetData(msgspec.Struct, frozen=True, rename="camel"):
    target_public: str
    organization_id: str
    user_id: str


class BundleKey:
    """The server's key for bundles. Clients are configured with its public half and reject bundles of other keys.

    `scalars`: 64 bytes, the encryption key and then the signing key. Nothing is encrypted to the encryption key,
    but some clients are configured with both (`composite_public_key`).
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
        """The text of an export bundle: `plaintext` sealed to the client's key `target` (65 bytes), signed."""
        encapped, ciphertext = hpke.seal(plaintext, target)
        return self._sign(_ExportData(encapped.hex(), ciphertext.hex(), organization_id))

    def import_bundle(self, organization_id: str, user_id: str, target: bytes) -> str:
        """The text of an import bundle: the signed key (65 bytes) to which this user seals."""
        return self._sign(_ImportTargetData(target.hex(), organization_id, user_id))

    def _sign(self, content: _ExportData | _ImportTargetData) -> str:
        return signed_envelope(content, self._signing_key, self.signing_public_key)


class _OtpTargetData(msgspec.Struct, frozen=True, rename="camel"):
    target_public: str
    organization_id: str


def otp_target_bundle(
    organization_id: str, target: bytes, signing_key: ec.EllipticCurvePrivateKey, signing_public_key: str
) -> str:
    """The signed text that gives a client the key (65 bytes) to which it encrypts a one-time code."""
    return signed_envelope(_OtpTargetData(target.hex(), organization_id), signing_key, signing_public_key)


def signed_envelope(
    content: msgspec.Struct, signing_key: ec.EllipticCurvePrivateKey, signing_public_key: str
) -> str:
    """The JSON of `content` with its signature. `signing_public_key`: lower-case hex of 65 bytes."""
    data = msgspec.json.encode(content)
    envelope = _ExportBundle(
        data=data.hex(),
        data_signature=signing_key.sign(data, ec.ECDSA(hashes.SHA256())).hex(),
        enclave_quorum_public=signing_public_key,
    )
    return msgspec.json.encode(envelope).decode()


def new_credential(target: bytes) -> tuple[bytes, str]:
    """A new P-256 API key for a client: its compressed public key (33 bytes), and a credential bundle.

    The bundle is the private key, sealed to the client's key `target` (65 bytes), in base58check: the compressed
    encapsulated key, then the ciphertext. It is not signed. The private key is not stored. Its randomness always
    comes from the operating system.
    """
    secret, key = new_p256_key()
    return key.compressed, bundle_of(secret, target)


def bundle_of(secret: bytes, target: bytes) -> str:
    """The secret in the form of a credential bundle: sealed to `target` (65 bytes), in base58check."""
    encapped, ciphertext = hpke.seal(secret, target)
    point = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), encapped)
    compressed = point.public_bytes(Encoding.X962, PublicFormat.CompressedPoint)
    return base58check(compressed + ciphertext)


def open_sealed(private_key: bytes, encapped: bytes, ciphertext: bytes) -> bytes:
    """The plaintext sealed to the P-256 key `private_key` (32 bytes). Raises BundleBroken."""
    try:
        return hpke.open_sealed(private_key, _uncompressed(private_key), encapped, ciphertext)
    except hpke.HpkeError as broken:
        raise BundleBroken(str(broken)) from None


def _uncompressed(private_key: bytes) -> bytes:
    point = public_key(Curve.P256, private_key).uncompressed
    assert point is not None
    return point


def wallet_text(secret: WalletSecret, language: MnemonicLanguage) -> bytes:
    """The mnemonic in UTF-8; if the wallet has a passphrase, it follows after a line feed.

    A mnemonic in another language than the wallet's has the same entropy, but another seed: BIP-39 derives the
    seed from the words, so other software derives other accounts from them.
    """
    mnemonic = secret.mnemonic
    if language is not secret.language:
        mnemonic = mnemonic_from_entropy(entropy_from_mnemonic(mnemonic)[0], language)
    return "\n".join(filter(None, (mnemonic, secret.passphrase))).encode()
