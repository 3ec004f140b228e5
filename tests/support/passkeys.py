"""A software passkey: it produces a registration in the form of a browser, and stamps requests."""

from __future__ import annotations

import hashlib
import json
import secrets
from typing import Any

import cbor2
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256

from keystead.stamps.base64url import encode_base64url
from keystead.stamps.webauthn import challenge_of

_USER_PRESENT, _HAS_CREDENTIAL = 0x01, 0x40


class SoftPasskey:
    """ES256; its registration's attestation has the format `none`."""

    def __init__(
        self,
        origin: str = "https://example.com",
        rp_id: str = "example.com",
        credential_id: bytes | None = None,
        cose_key: dict[int, Any] | None = None,
    ) -> None:
        """`cose_key`: registered in place of the passkey's own."""
        self.credential_id = credential_id or secrets.token_bytes(32)
        self.origin = origin
        self._rp_id_hash = hashlib.sha256(rp_id.encode()).digest()
        self._key = ec.generate_private_key(ec.SECP256R1())
        point = self._key.public_key().public_numbers()
        own = {1: 2, 3: -7, -1: 1, -2: point.x.to_bytes(32), -3: point.y.to_bytes(32)}
        self._cose_key = cose_key or own

    def params(self) -> dict[str, Any]:
        """AuthenticatorParamsV2."""
        challenge = encode_base64url(secrets.token_bytes(32))
        return {
            "authenticatorName": f"passkey {secrets.token_hex(4)}",
            "challenge": challenge,
            "attestation": {
                "credentialId": encode_base64url(self.credential_id),
                "clientDataJson": encode_base64url(self._client_data("webauthn.create", challenge, self.origin)),
                "attestationObject": encode_base64url(self._attestation_object()),
                "transports": ["AUTHENTICATOR_TRANSPORT_INTERNAL"],
            },
        }

    def older_params(self, user_id: str) -> dict[str, Any]:
        """AuthenticatorParams, a browser's PublicKeyCredential."""
        params = self.params()
        attestation = params["attestation"]
        return {
            **params,
            "userId": user_id,
            "attestation": {
                "id": attestation["credentialId"],
                "rawId": attestation["credentialId"],
                "type": "public-key",
                "response": {
                    name: attestation[name] for name in ("clientDataJson", "attestationObject", "transports")
                },
                "clientExtensionResults": {"credProps": {"rk": True}},
            },
        }

    def stamp(self, body: bytes, origin: str | None = None) -> dict[str, str]:
        """The header that asserts these bytes."""
        data = self._rp_id_hash + bytes([_USER_PRESENT]) + bytes(4)
        client_data = self._client_data("webauthn.get", challenge_of(body), origin or self.origin)
        signature = self._key.sign(data + hashlib.sha256(client_data).digest(), ec.ECDSA(SHA256()))
        members = {
            "credentialId": self.credential_id,
            "clientDataJson": client_data,
            "authenticatorData": data,
            "signature": signature,
        }
        stamp = {name: encode_base64url(value) for name, value in members.items()}
        return {"X-Stamp-WebAuthn": json.dumps(stamp)}

    @staticmethod
    def _client_data(kind: str, challenge: str, origin: str) -> bytes:
        return json.dumps({"type": kind, "challenge": challenge, "origin": origin}).encode()

    def _attestation_object(self) -> bytes:
        credential = len(self.credential_id).to_bytes(2) + self.credential_id + cbor2.dumps(self._cose_key)
        data = self._rp_id_hash + bytes([_USER_PRESENT | _HAS_CREDENTIAL]) + bytes(4) + bytes(16) + credential
        return bytes(cbor2.dumps({"fmt": "none", "attStmt": {}, "authData": data}))
