"""The key that signs webhooks, and the name under which receivers find its public half.

Here: the signature. Not here: the signed bytes (`sessions.webhook_signatures`), where the key is stored.
"""

from __future__ import annotations

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from keystead.sessions.webhook_signatures import key_id, signed_bytes


class WebhookKey:
    """An Ed25519 key that signs webhooks and nothing else. `seed`: 32 bytes."""

    def __init__(self, seed: bytes) -> None:
        self._key = Ed25519PrivateKey.from_private_bytes(seed)
        self._key_id = key_id(self._key.public_key().public_bytes_raw())

    def sign(self, *, timestamp_ms: int, event_id: str, body: bytes) -> bytes:
        """The signature of one attempt to deliver an event: 64 bytes."""
        return self._key.sign(signed_bytes(self._key_id, timestamp_ms, event_id, body))
