"""verify_wallet_authenticator: exchanges a message that a wallet signed for a verification token.

Not here: the message (`chains.login_messages`), what the token is used for (`wallet_tokens`,
`server.authentication`).
"""

from __future__ import annotations

from hashlib import sha256
from typing import Annotated

from msgspec import Meta

from keystead.api.decoding import NO_CONTROLS
from keystead.api.errors import InvalidRequest
from keystead.api.parameters import RequestStruct, ShortText
from keystead.api.records import Wire
from keystead.chains.bounds import LOGIN_MESSAGE_BYTES_MAX
from keystead.chains.login_messages import InvalidLogin, verified_login
from keystead.operations.bounds import VERIFICATION_TOKEN_LIFE_MAX_S
from keystead.operations.declare import activity
from keystead.operations.logins.starting_codes import Seconds, checked_seconds
from keystead.operations.logins.verifying_codes import TOKEN_LIFE_DEFAULT_S
from keystead.organizations.contacts.used_tokens import UsedToken
from keystead.pipeline.context import ContextSource
from keystead.pipeline.execution import ExecutionWith, OutputWithoutChanges
from keystead.sessions.wallet_tokens import WalletToken

LoginMessage = Annotated[str, Meta(min_length=1, max_length=LOGIN_MESSAGE_BYTES_MAX)]
LoginSignature = Annotated[str, Meta(max_length=16_384, pattern=NO_CONTROLS)]
"""So long that a contract wallet gets the reason why it is refused."""


class VerifyWalletAuthenticatorIntent(RequestStruct, frozen=True, kw_only=True):
    """`message`: EIP-4361 or its form for Solana, whose nonce is the session's key, a compressed P-256 key in hex.

    `signature`: hex, of personal_sign or Ed25519. `public_key`: the wallet's key, in hex, or in base 58 for Solana;
    it is compared if it is given. `expiration_seconds`: of the token, decimal text, at most 86400; 3600 if absent.
    The token expires at the latest when the message does.
    """

    message: LoginMessage
    signature: LoginSignature
    public_key: ShortText | None = None
    expiration_seconds: Seconds | None = None


class VerifyWalletAuthenticatorResult(Wire, frozen=True):
    """`verification_token`: a JWT that proves that the wallet logs in with the session's key. It is in one answer
    only. In the record of the activity it is ""."""

    verification_token: str


def _message_id(message: str) -> str:
    """The id under which the use of a message is on record. Only one text has this message's signature."""
    return sha256(message.encode()).hexdigest()


async def _is_message_used(source: ContextSource, intent: VerifyWalletAuthenticatorIntent) -> bool:
    return await source.store.attached.is_token_used(_message_id(intent.message))


@activity("ACTIVITY_TYPE_VERIFY_WALLET_AUTHENTICATOR", load_context=_is_message_used)
async def verify_wallet_authenticator(
    execution: ExecutionWith[bool], intent: VerifyWalletAuthenticatorIntent
) -> OutputWithoutChanges[VerifyWalletAuthenticatorResult]:
    """Exchange a login message that a wallet signed for a verification token. A message is valid once."""
    lasts_s = checked_seconds(
        intent.expiration_seconds, "verification token", TOKEN_LIFE_DEFAULT_S, VERIFICATION_TOKEN_LIFE_MAX_S
    )
    try:
        login = verified_login(intent.message, intent.signature, intent.public_key, execution.now_ms)
    except InvalidLogin as refused:
        raise InvalidRequest(f"invalid wallet login: field `parameters.message`: {refused}") from None
    if execution.context:
        raise InvalidRequest(
            "invalid wallet login: field `parameters.message`: it was used before; sign a new message"
        )
    token = await execution.signer.sign_wallet_token(
        WalletToken(
            id=execution.new_id(),
            organization_id=execution.organization.id,
            wallet=login.wallet,
            public_key=login.public_key,
            session_public_key=login.session_public_key,
            expires_at_ms=min(execution.now_ms + lasts_s * 1000, login.expires_at_ms),
        )
    )
    return OutputWithoutChanges(
        result=VerifyWalletAuthenticatorResult(verification_token=token),
        # Anybody who knows the token can attach the wallet to a user. It is in this answer, and nowhere on record.
        recorded_result=VerifyWalletAuthenticatorResult(verification_token=""),
        attachments=(UsedToken(id=_message_id(intent.message), expires_at_ms=login.expires_at_ms),),
    )
