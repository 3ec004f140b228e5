"""The signer's calls for logins: one-time codes, messages that wait, keys of authentication proxies."""

from __future__ import annotations

from keystead.api.enums import Curve
from keystead.keys.auth_proxy_keys import auth_proxy_signature, new_auth_proxy_key
from keystead.keys.one_time_codes import code_digest, message_context, new_otp_key, open_attempt
from keystead.organizations.kinds.data_key import Sealed
from keystead.pipeline.signer_values import AuthProxyKey, ClientMessage, NewOtpTarget, OtpAttempt
from keystead.signer.held_keys import HeldKeys
from keystead.signer.installation_keys import VERIFICATION_KEY


class LoginCalls(HeldKeys):
    """Part of `LocalSigner`."""

    async def new_otp_target(self, *, organization_id: str, data_key: Sealed, otp_id: str) -> NewOtpTarget:
        """Raises SealBroken for the data key, Internal if the server has no verification key."""
        opened = self._open_data_key(data_key, organization_id)
        sealed, point = new_otp_key(opened, organization_id, otp_id)
        return NewOtpTarget(sealed, self._token_key(VERIFICATION_KEY).otp_target(organization_id, point))

    async def open_otp_attempt(
        self, *, organization_id: str, data_key: Sealed, otp_id: str, sealed: Sealed, message: ClientMessage
    ) -> OtpAttempt:
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

    async def new_auth_proxy_key(self, *, organization_id: str, data_key: Sealed, proxy_id: str) -> AuthProxyKey:
        """Raises SealBroken for the data key."""
        opened = self._open_data_key(data_key, organization_id)
        return new_auth_proxy_key(opened, organization_id, proxy_id, self._private_key(Curve.P256))

    async def sign_auth_proxy_request(
        self, *, organization_id: str, data_key: Sealed, proxy_id: str, sealed_key: Sealed, body: bytes
    ) -> bytes:
        """Raises SealBroken for the data key and the proxy's key."""
        opened = self._open_data_key(data_key, organization_id)
        return auth_proxy_signature(opened, organization_id, proxy_id, sealed_key, body)
