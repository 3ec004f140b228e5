"""A passkey's registration as a browser would hand it over: fmt `none`, ES256, challenge of 32 random bytes."""

from __future__ import annotations

import hashlib
import json
import secrets
from base64 import urlsafe_b64encode
from typing import Any

import cbor2
from cryptography.hazmat.primitives.asymmetric import ec


def new_passkey() -> dict[str, Any]:
    """`challenge` and `attestation`, the two members of AuthenticatorParamsV2 that a browser provides."""
    challenge = _base64url(secrets.token_bytes(32))
    credential_id = secrets.token_bytes(32)
    client_data = {"type": "webauthn.create", "challenge": challenge, "origin": "http://localhost"}
    attestation_object = {"fmt": "none", "attStmt": {}, "authData": _authenticator_data(credential_id)}
    return {
        "challenge": challenge,
        "attestation": {
            "credentialId": _base64url(credential_id),
            "clientDataJson": _base64url(json.dumps(client_data).encode()),
            "attestationObject": _base64url(cbor2.dumps(attestation_object)),
            "transports": ["AUTHENTICATOR_TRANSPORT_INTERNAL", "AUTHENTICATOR_TRANSPORT_HYBRID"],
        },
    }


def _authenticator_data(credential_id: bytes) -> bytes:
    """WebAuthn, section 6.1: RP id hash, flags, counter, then the attested credential data."""
    point = ec.generate_private_key(ec.SECP256R1()).public_key().public_numbers()
    cose_key = {1: 2, 3: -7, -1: 1, -2: point.x.to_bytes(32, "big"), -3: point.y.to_bytes(32, "big")}
    user_present, user_verified, has_credential = 0x01, 0x04, 0x40
    return b"".join(
        [
            hashlib.sha256(b"localhost").digest(),
            bytes([user_present | user_verified | has_credential]),
            bytes(4),
            bytes(16),
            len(credential_id).to_bytes(2, "big"),
            credential_id,
            cbor2.dumps(cose_key),
        ]
    )


def _base64url(raw: bytes) -> str:
    return urlsafe_b64encode(raw).decode().rstrip("=")
