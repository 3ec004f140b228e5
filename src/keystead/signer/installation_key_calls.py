"""The signer's calls that use a key of the installation: tokens, webhooks, client secrets, app proofs."""

from __future__ import annotations

from collections.abc import Sequence

from keystead.api.errors import Internal
from keystead.api.records import AppProof
from keystead.keys.bundles import bundle_of
from keystead.pipeline.signer_values import PublicInstallationKey
from keystead.sessions.oauth_tokens import OauthTokenClaims
from keystead.sessions.session_tokens import SessionClaims
from keystead.sessions.verification_tokens import VerificationToken
from keystead.sessions.wallet_tokens import WalletToken
from keystead.signer.held_keys import HeldKeys
from keystead.signer.installation_keys import IDENTITY_KEY, SESSION_KEY, VERIFICATION_KEY, WEBHOOK_KEY


class InstallationKeyCalls(HeldKeys):
    """Part of `LocalSigner`."""

    async def installation_keys(self) -> tuple[PublicInstallationKey, ...]:
        return self._published

    async def sign_webhook(self, *, timestamp_ms: int, event_id: str, body: bytes) -> bytes:
        """Raises Internal if the server has no webhook key."""
        if self._webhook_key is None:
            raise Internal(f"this server has no key that {WEBHOOK_KEY.use}")
        return self._webhook_key.sign(timestamp_ms=timestamp_ms, event_id=event_id, body=body)

    async def sign_session_token(self, claims: SessionClaims) -> str:
        """Raises Internal if the server has no session key."""
        return self._token_key(SESSION_KEY).session_token(claims)

    async def sign_verification_token(self, token: VerificationToken) -> str:
        """Raises Internal if the server has no verification key."""
        return self._token_key(VERIFICATION_KEY).verification_token(token)

    async def sign_wallet_token(self, token: WalletToken) -> str:
        """Raises Internal if the server has no verification key."""
        return self._token_key(VERIFICATION_KEY).wallet_token(token)

    async def sign_oauth_token(
        self, *, claims: OauthTokenClaims, bearer_token: bytes | None, target: bytes | None
    ) -> str:
        """Raises Internal if the server has no identity key."""
        encrypted = bundle_of(bearer_token, target) if bearer_token is not None and target is not None else None
        return self._token_key(IDENTITY_KEY).oauth_token(claims, encrypted)

    async def open_client_secret(self, envelope: bytes) -> bytes:
        """Raises the errors of the protocol, and Internal if the server has no client secret key."""
        if self._client_secret_key is None:
            raise Internal("this server has no key that OAuth2 client secrets are encrypted to")
        return self._client_secret_key.open(envelope)

    async def sign_app_proofs(self, payloads: Sequence[str]) -> tuple[AppProof, ...]:
        """Sign the UTF-8 bytes of each payload. Raises Internal if the server has no proof key."""
        if self._proof_key is None:
            raise Internal("this server has no proof key")
        return tuple(self._proof_key.sign(payload) for payload in payloads)
