"""The keys that sign app proofs (the server's own statements) and webhooks.

Not here: the statements (`pipeline.execute`), where the key is stored.
"""

from __future__ import annotations

from typing import Final

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from keystead.api.enums import Curve
from keystead.api.records import AppProof
from keystead.chains.curves import PRIVATE_KEY_BYTES
from keystead.keys.public_keys import public_key
from keystead.sessions.webhook_signatures import key_id, signed_bytes

PROOF_SCHEME: Final = "SIGNATURE_SCHEME_EPHEMERAL_KEY_P256"


class ProofKey:
    """Signs statements. The encryption key is unused; it completes the 130 bytes of the public key."""

    def __init__(self, scalars: bytes) -> None:
        encryption, signing = scalars[:PRIVATE_KEY_BYTES], scalars[PRIVATE_KEY_BYTES:]
        points = (public_key(Curve.P256, encryption).uncompressed, public_key(Curve.P256, signing).uncompressed)
        self._public_key = b"".join(point for point in points if point is not None).hex()
        self._signing_key = ec.derive_private_key(int.from_bytes(signing), ec.SECP256R1())

    def sign(self, payload: str) -> AppProof:
        der = self._signing_key.sign(payload.encode(), ec.ECDSA(hashes.SHA256()))
        r, s = decode_dss_signature(der)
        return AppProof(
            scheme=PROOF_SCHEME,
            public_key=self._public_key,
            proof_payload=payload,
            signature=(r.to_bytes(32) + s.to_bytes(32)).hex(),
        )


class WebhookKey:
    """An Ed25519 key that signs webhooks and nothing else. `seed`: 32 bytes."""

    def __init__(self, seed: bytes) -> None:
        self._key = Ed25519PrivateKey.from_private_bytes(seed)
        self._key_id = key_id(self._key.public_key().public_bytes_raw())

    def sign(self, *, timestamp_ms: int, event_id: str, body: bytes) -> bytes:
        """The signature of one attempt to deliver an event: 64 bytes."""
        return self._key.sign(signed_bytes(self._key_id, timestamp_ms, event_id, body))
