"""What the signature of a webhook covers, its headers, and the key set that receivers verify it with. Pure.

Source: the public documentation of webhooks. Not here: signing (`keys.proof_key`), sending (`delivery`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Final

from keystead.stamps.base64url import encode_base64url

Headers = Mapping[str, str]

VERSION: Final = "v1"
ALGORITHM: Final = "ed25519"


def key_id(public_key: bytes) -> str:
    """The `kid` of an Ed25519 key of 32 bytes: its JWK thumbprint (RFC 7638, RFC 8037)."""
    jwk = f'{{"crv":"Ed25519","kty":"OKP","x":"{encode_base64url(public_key)}"}}'
    return encode_base64url(hashlib.sha256(jwk.encode()).digest())


def signed_bytes(kid: str, timestamp_ms: int, event_id: str, body: bytes) -> bytes:
    """The bytes that the key signs: version, algorithm, key id, time, event id and body, separated by dots.

    `timestamp_ms`: the time of the attempt, in milliseconds since the epoch.
    """
    return f"{VERSION}.{ALGORITHM}.{kid}.{timestamp_ms}.{event_id}.".encode() + body


def headers(
    *, organization_id: str, event_type: str, event_id: str, kid: str, timestamp_ms: int, signature: bytes
) -> Headers:
    """The headers of one attempt.

    `organization_id`: the organization of the endpoint. `timestamp_ms`: as in `signed_bytes`. `signature`: 64
    bytes.
    """
    return {
        "Content-Type": "application/json",
        "X-Turnkey-Organization-Id": organization_id,
        "X-Turnkey-Event-Type": event_type,
        "X-Turnkey-Timestamp": str(timestamp_ms),
        "X-Turnkey-Webhook-Version": "1",
        "X-Turnkey-Event-Id": event_id,
        "X-Turnkey-Signature-Key-Id": kid,
        "X-Turnkey-Signature-Algorithm": ALGORITHM,
        "X-Turnkey-Signature-Version": VERSION,
        "X-Turnkey-Signature": signature.hex(),
    }


def key_set(public_key: bytes) -> Mapping[str, list[Mapping[str, str]]]:
    """The JWK Set (RFC 7517) with this key of 32 bytes."""
    return {
        "keys": [
            {
                "kid": key_id(public_key),
                "kty": "OKP",
                "crv": "Ed25519",
                "alg": "EdDSA",
                "use": "sig",
                "x": encode_base64url(public_key),
                "turnkey_signature_algorithm": ALGORITHM,
                "turnkey_signature_version": VERSION,
            }
        ]
    }
