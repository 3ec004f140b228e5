"""The client's part of a bundle, as in published clients: all checks, then HPKE. An independent implementation.

Written on the primitives of RFC 9180 and not on the library that the server uses.
"""

from __future__ import annotations

import hmac
import json
import secrets
from hashlib import sha256
from typing import Any

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from keystead.chains.addresses.text import base58check, decode_base58

SUITE = b"HPKE" + bytes.fromhex("001000010002")
KEM = b"KEM" + bytes.fromhex("0010")
INFO = b"turnkey_hpke"


class Refused(Exception):
    """The client does not trust or understand the bundle."""


def private_key(scalar: bytes) -> ec.EllipticCurvePrivateKey:
    return ec.derive_private_key(int.from_bytes(scalar), ec.SECP256R1())


def point(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def scalar(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_numbers().private_value.to_bytes(32)


def fresh() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def schedule(dh: bytes, encapped: bytes, receiver: bytes) -> dict[str, bytes]:
    """Every intermediate value of base mode, from the Diffie-Hellman result."""
    shared = _expand(_extract(KEM, b"", b"eae_prk", dh), KEM, b"shared_secret", encapped + receiver, 32)
    context = b"\0" + _extract(SUITE, b"", b"psk_id_hash", b"") + _extract(SUITE, b"", b"info_hash", INFO)
    secret = _extract(SUITE, shared, b"secret", b"")
    return {
        "dh": dh,
        "kemSharedSecret": shared,
        "keyScheduleContext": context,
        "key": _expand(secret, SUITE, b"key", context, 32),
        "baseNonce": _expand(secret, SUITE, b"base_nonce", context, 12),
        "aad": encapped + receiver,
    }


def opened(key: ec.EllipticCurvePrivateKey, encapped: bytes, ciphertext: bytes) -> bytes:
    try:
        sender = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), encapped)
        steps = schedule(key.exchange(ec.ECDH(), sender), encapped, point(key))
        return AESGCM(steps["key"]).decrypt(steps["baseNonce"], ciphertext, steps["aad"])
    except (ValueError, InvalidTag):
        raise Refused("the ciphertext does not open") from None


def client_secret(plaintext: bytes, receiver: bytes) -> str:
    """An OAuth 2.0 client secret encrypted to `receiver` (65 bytes), in hex."""
    sender, nonce = fresh(), secrets.token_bytes(12)
    of_receiver = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), receiver)
    shared = sender.exchange(ec.ECDH(), of_receiver)
    key = hmac.digest(point(sender) + receiver + shared, b"qos_encryption_hmac_message", "sha512")[:32]
    ciphertext = AESGCM(key).encrypt(nonce, plaintext, point(sender) + b"A" + receiver + b"A")
    return (nonce + point(sender) + len(ciphertext).to_bytes(4, "little") + ciphertext).hex()


def message(plaintext: bytes, receiver: bytes) -> str:
    """The message of a client: `plaintext` sealed to `receiver` (65 bytes)."""
    sender = fresh()
    of_receiver = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), receiver)
    steps = schedule(sender.exchange(ec.ECDH(), of_receiver), point(sender), receiver)
    ciphertext = AESGCM(steps["key"]).encrypt(steps["baseNonce"], plaintext, steps["aad"])
    return json.dumps({"encappedPublic": point(sender).hex(), "ciphertext": ciphertext.hex()})


def trusted(bundle: str, signer: str, **expected: str) -> dict[str, Any]:
    """The data of an envelope signed by `signer` for these ids. Raises Refused."""
    envelope = json.loads(bundle)
    if envelope["version"] != "v1.0.0" or envelope["enclaveQuorumPublic"] != signer:
        raise Refused("another signer")
    data = bytes.fromhex(envelope["data"])
    key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), bytes.fromhex(signer))
    try:
        key.verify(bytes.fromhex(envelope["dataSignature"]), data, ec.ECDSA(hashes.SHA256()))
    except InvalidSignature:
        raise Refused("the signature does not hold") from None
    content: dict[str, Any] = json.loads(data)
    for name, value in expected.items():
        if content.get(name) != value:
            raise Refused(f"{name} is another's")
    return content


def exported(bundle: str, signer: str, organization_id: str, key: ec.EllipticCurvePrivateKey) -> bytes:
    """The plaintext of an export bundle. Raises Refused."""
    content = trusted(bundle, signer, organizationId=organization_id)
    return opened(key, bytes.fromhex(content["encappedPublic"]), bytes.fromhex(content["ciphertext"]))


def for_import(bundle: str, signer: str, organization_id: str, user_id: str, plaintext: bytes) -> str:
    """The encrypted bundle that answers an import bundle. Raises Refused."""
    content = trusted(bundle, signer, organizationId=organization_id, userId=user_id)
    return message(plaintext, bytes.fromhex(content["targetPublic"]))


def credential(bundle: str, key: ec.EllipticCurvePrivateKey) -> ec.EllipticCurvePrivateKey:
    """The API key in a credential bundle. Raises Refused."""
    return private_key(bundle_contents(bundle, key))


def bundle_contents(bundle: str, key: ec.EllipticCurvePrivateKey) -> bytes:
    """What is in a text of the form of a credential bundle. Raises Refused."""
    decoded = decode_base58(bundle, 200)
    if decoded is None or len(decoded) <= 33 or base58check(decoded[:-4]) != bundle:
        raise Refused("not base58check of more than 33 bytes")
    encapped = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), decoded[:33])
    uncompressed = encapped.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
    return opened(key, uncompressed, decoded[33:-4])


def compressed(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.public_key().public_bytes(Encoding.X962, PublicFormat.CompressedPoint)


def _extract(suite: bytes, salt: bytes, label: bytes, material: bytes) -> bytes:
    return hmac.digest(salt or bytes(32), b"HPKE-v1" + suite + label + material, "sha256")


def _expand(key: bytes, suite: bytes, label: bytes, info: bytes, length: int) -> bytes:
    assert length <= sha256().digest_size
    labeled = length.to_bytes(2) + b"HPKE-v1" + suite + label + info
    return hmac.digest(key, labeled + b"\x01", "sha256")[:length]


def otp_attempt(bundle: str, signer: str, organization_id: str, code: str, public_key: str) -> str:
    """The encrypted bundle that answers the bundle of a one-time code. Raises Refused."""
    content = trusted(bundle, signer, organizationId=organization_id)
    attempt = json.dumps({"otp_code": code, "public_key": public_key}).encode()
    return message(attempt, bytes.fromhex(content["targetPublic"]))
