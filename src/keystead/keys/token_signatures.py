"""The keys that sign tokens: session tokens, verification tokens, targets of one-time codes, ID tokens of this
server.

Here: the signature. Not here: the claims of a token (`sessions`), where the key is stored.
"""

from __future__ import annotations

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from keystead.api.enums import Curve
from keystead.keys.bundles import otp_target_bundle
from keystead.keys.public_keys import public_key
from keystead.sessions import compact_jwt
from keystead.sessions.oauth_tokens import OauthTokenClaims, oauth_token_signing_input
from keystead.sessions.session_tokens import SessionClaims, session_message, session_signing_input
from keystead.sessions.verification_tokens import VerificationToken, verification_signing_input
from keystead.sessions.wallet_tokens import WalletToken, wallet_signing_input


class TokenSigningKey:
    """A P-256 key that signs tokens. `scalar`: 32 bytes. Raises ValueError unless it is a private key."""

    def __init__(self, scalar: bytes) -> None:
        self._key = ec.derive_private_key(int.from_bytes(scalar), ec.SECP256R1())
        self._public_key = (public_key(Curve.P256, scalar).uncompressed or b"").hex()

    def session_token(self, claims: SessionClaims) -> str:
        text = session_signing_input(claims)
        return compact_jwt.with_signature(text, self._signature(session_message(text)))

    def verification_token(self, token: VerificationToken) -> str:
        text = verification_signing_input(token)
        return compact_jwt.with_signature(text, self._signature(text))

    def wallet_token(self, token: WalletToken) -> str:
        text = wallet_signing_input(token)
        return compact_jwt.with_signature(text, self._signature(text))

    def otp_target(self, organization_id: str, target: bytes) -> str:
        """The bundle that gives a client the key `target` (65 bytes) to which it encrypts a one-time code."""
        return otp_target_bundle(organization_id, target, self._key, self._public_key)

    def oauth_token(self, claims: OauthTokenClaims, encrypted_bearer_token: str | None) -> str:
        text = oauth_token_signing_input(claims, encrypted_bearer_token)
        return compact_jwt.with_signature(text, self._signature(text))

    def _signature(self, message: bytes) -> bytes:
        """r and s over SHA-256 of the message, 32 bytes each."""
        r, s = decode_dss_signature(self._key.sign(message, ec.ECDSA(hashes.SHA256())))
        return r.to_bytes(32) + s.to_bytes(32)
