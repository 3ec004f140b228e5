"""The signer's calls that use a key of the installation: tokens, webhooks, client secrets, app proofs;
and those for logins."""

from __future__ import annotations

from collections.abc import Sequence

from keystead.api.enums import Curve
from keystead.api.errors import Internal
from keystead.api.records import AppProof
from keystead.keys.auth_proxy_keys import auth_proxy_signature, new_auth_proxy_key
from keystead.keys.bundles import bundle_of
from keystead.keys.one_time_codes import code_digest, message_context, new_otp_key, open_attempt
from keystead.organizations.kinds.data_key import Sealed
from keystead.pipeline import signer_values
from keystead.sessions.oauth_tokens import OauthTokenClaims
from keystead.sessions.session_tokens import SessionClaims
from keystead.sessions.verification_tokens import VerificationToken
from keystead.sessions.wallet_tokens import WalletToken
from keystead.signer.held_keys import HeldKeys
from keystead.signer.installation_keys import IDENTITY_KEY, SESSION_KEY, VERIFICATION_KEY, WEBHOOK_KEY


class LoginCalls(HeldKeys):
    """Part of `LocalSigner`."""

    async def new_otp_target(
        self, *, organization_id: str, data_key: Sealed, otp_id: str
    ) -> signer_values.NewOtpTarget:
        """Raises SealBroken for the data key, Internal if the server has no verification key."""
        opened = self._open_data_key(data_key, organization_id)
        sealed, point = new_otp_key(opened, organization_id, otp_id)
        return signer_values.NewOtpTarget(
            sealed, self._token_key(VERIFICATION_KEY).otp_target(organization_id, point)
        )

    async def open_otp_attempt(
        self,
        *,
        organization_id: str,
        data_key: Sealed,
        otp_id: str,
        sealed: Sealed,
        message: signer_values.ClientMessage,
    ) -> signer_values.OtpAttempt:
        """Raises the errors of the protocol, and SealBroken for the data key and `sealed`."""
        opened = self._open_data_key(data_key, organization_id)
        return open_attempt(opened, organization_id, otp_id, sealed, message)

    async def code_digest(self, *, organization_id: str, data_key: Sealed, otp_id: str, code: str) -> bytes:
        """Raises SealBroken for the data key."""
        return code_digest(self._open_data_key(data_key, organization_id), organization_id, otp_id, code)

    async def seal_message(self, *, organization_id: str, data_key: Sealed, message_id: str, text: bytes) -> Sealed:
        """Raises SealBroken for the data key."""
        opened = self._open_data_key(data_key, organization_id)
        return opened.seal(text, message_context(organization_id, message_id))

    async def open_message(
        self, *, organization_id: str, data_key: Sealed, message_id: str, sealed: Sealed
    ) -> bytes:
        """Raises SealBroken for the data key and the message."""
        opened = self._open_data_key(data_key, organization_id)
        return opened.open(sealed, message_context(organization_id, message_id))

    async def new_auth_proxy_key(
        self, *, organization_id: str, data_key: Sealed, proxy_id: str
    ) -> signer_values.AuthProxyKey:
        """Raises SealBroken for the data key."""
        opened = self._open_data_key(data_key, organization_id)
        return new_auth_proxy_key(opened, organization_id, proxy_id, self._private_key(Curve.P256))

    async def sign_auth_proxy_request(
        self, *, organization_id: str, data_key: Sealed, proxy_id: str, sealed_key: Sealed, body: bytes
    ) -> bytes:
        """Raises SealBroken for the data key and the proxy's key."""
        opened = self._open_data_key(data_key, organization_id)
        return auth_proxy_signature(opened, organization_id, proxy_id, sealed_key, body)


class InstallationKeyCalls(HeldKeys):
    """Part of `LocalSigner`."""

    async def installation_keys(self) -> tuple[signer_values.PublicInstallationKey, ...]:
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
