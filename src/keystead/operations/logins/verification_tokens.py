"""Verification tokens in requests: each proves that the sender has an e-mail address or a phone number.

Here: reading a token, the client's signature that comes with it. A token without a key is valid for one use, and so
is a message that a client signed. Not here: issuing tokens (`verifying_codes`).
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any, Protocol

import msgspec

from keystead.api.enums import OtpType
from keystead.api.errors import InvalidRequest
from keystead.api.parameters import RequestStruct, ShortText, TokenText
from keystead.api.records import User
from keystead.organizations.contacts.account_contacts import has_contact
from keystead.organizations.contacts.used_tokens import UsedToken
from keystead.pipeline.context import ForeignSource
from keystead.pipeline.execution import Execution
from keystead.sessions import client_signatures, verification_tokens
from keystead.sessions.client_signatures import (
    InvalidClientSignature,
    check_login_signature,
    check_signup_signature,
)

TOKEN_FIELD = "parameters.verificationToken"  # noqa: S105 (the name of a field)
SIGNATURE_FIELD = "parameters.clientSignature"


class ClientSignature(RequestStruct, frozen=True):
    """A signature by the key in the verification token. `signature`: r and s in hex, over SHA-256 of `message`."""

    public_key: ShortText
    scheme: ShortText
    message: TokenText
    signature: ShortText


class RequestedUser(Protocol):
    """A root user in the parameters of create_sub_organization."""

    @property
    def api_keys(self) -> Any: ...
    @property
    def authenticators(self) -> Any: ...
    @property
    def oauth_providers(self) -> Any: ...
    @property
    def wallet_authenticators(self) -> Any: ...
    @property
    def user_email(self) -> str | None: ...
    @property
    def user_phone_number(self) -> str | None: ...


async def is_used_up(source: ForeignSource, text: str | None, signature: ClientSignature | None = None) -> bool:
    """Whether the token of a request names no key and was used before, or the signed message was used before.

    Neither the token nor the signature is verified yet.
    """
    token_id = verification_tokens.claimed_id_without_key(text) if text else None
    ids = [token_id, None if signature is None else _signed_id(signature)]
    for id_ in ids:
        if id_ is not None and await source.store.attached.is_token_used(id_):
            return True
    return False


def _signed_id(signature: ClientSignature) -> str:
    """The id under which a signed message is recorded. The message names its token, so two tokens never have the
    same message."""
    return sha256(signature.message.encode()).hexdigest()


async def issuer_public_key(execution: Execution) -> bytes:
    """The key that verifies this server's tokens, as a SEC 1 point."""
    keys = await execution.signer.installation_keys()
    return {key.name: bytes.fromhex(key.public_key) for key in keys}.get("verification_key", b"")


async def proven_token(
    execution: Execution, text: str, *, is_used_up: bool
) -> verification_tokens.VerificationToken:
    """The claims of the token, if this server issued it for this organization or its parent.

    A token without a key can be used by anybody who knows it, and a signed message can be sent again by anybody who
    saw it. So each is valid for one use: the output has `used_token_rows(token, signature)` among its attachments.
    Raises InvalidRequest for a token that is forged, expired, used up, or of another organization.
    """
    try:
        token = verification_tokens.read_verification_token(
            text, await issuer_public_key(execution), execution.now_ms
        )
    except verification_tokens.InvalidVerificationToken as invalid:
        raise InvalidRequest(f"invalid verification token: field `{TOKEN_FIELD}`: {invalid}") from None
    if token.organization_id not in (execution.organization.id, execution.organization.profile.parent_id):
        raise InvalidRequest(
            f"invalid verification token: field `{TOKEN_FIELD}`: it was issued in another organization"
        )
    if is_used_up and token.public_key is not None:
        raise InvalidRequest(
            f"invalid client signature: field `{SIGNATURE_FIELD}`: its message was used before: ask for a new code"
        )
    if is_used_up:
        raise InvalidRequest(
            f"invalid verification token: field `{TOKEN_FIELD}`: it names no key and was used before: ask for a "
            "new code, and name a key in verify_otp for a token of several uses"
        )
    return token


def used_token_rows(
    token: verification_tokens.VerificationToken, signature: ClientSignature | None = None
) -> tuple[UsedToken, ...]:
    """The rows that record a use: one for a token without a key, one for the signed message. Each may be used
    once."""
    ids = [token.id] if token.public_key is None else []
    if signature is not None:
        ids.append(_signed_id(signature))
    return tuple(UsedToken(id=id_, expires_at_ms=token.expires_at_ms) for id_ in ids)


async def check_own_contact(
    execution: Execution, text: str, user: User, otp_type: OtpType, *, is_used_up: bool
) -> verification_tokens.VerificationToken:
    """The token, if it proves the user's contact of this type. Raises InvalidRequest."""
    token = await proven_token(execution, text, is_used_up=is_used_up)
    if token.otp_type is not otp_type or not has_contact(user, otp_type, token.contact):
        raise InvalidRequest(
            f"invalid verification token: field `{TOKEN_FIELD}`: it proves another contact than the request names"
        )
    return token


def check_login(
    token: verification_tokens.VerificationToken, signature: ClientSignature | None, session_public_key: str
) -> None:
    """Raise InvalidRequest unless the token's key confirms a login with this key. `session_public_key`:
    compressed.

    A token that names no key, of the older verify_otp, needs no signature.
    """
    if token.public_key is None and signature is None:
        return
    checked = _checked_scheme(signature)
    try:
        check_login_signature(
            public_key=checked.public_key,
            message=checked.message,
            signature=checked.signature,
            token=token,
            session_public_key=session_public_key,
        )
    except InvalidClientSignature as invalid:
        raise _invalid(invalid) from None


def check_signup(
    token: verification_tokens.VerificationToken, signature: ClientSignature | None, user: RequestedUser
) -> None:
    """Raise InvalidRequest unless the token's key confirms a sign-up with exactly this user's credentials.

    A token that names no key, of the older verify_otp, needs no signature.
    """
    if token.public_key is None and signature is None:
        return
    checked = _checked_scheme(signature)
    requested: dict[str, Any] = {
        "apiKeys": _as_json(user.api_keys),
        "authenticators": _as_json(user.authenticators),
        "oauthProviders": _as_json(user.oauth_providers),
        "walletAuthenticators": _as_json(user.wallet_authenticators),
        "email": user.user_email,
        "phoneNumber": user.user_phone_number,
    }
    try:
        check_signup_signature(
            public_key=checked.public_key,
            message=checked.message,
            signature=checked.signature,
            token=token,
            requested=requested,
        )
    except InvalidClientSignature as invalid:
        raise _invalid(invalid) from None


def _as_json(value: Any) -> Any:
    """The value after encoding and decoding as JSON."""
    return msgspec.json.decode(msgspec.json.encode(value))


def _checked_scheme(signature: ClientSignature | None) -> ClientSignature:
    """The signature. Raises InvalidRequest if it is missing or has an unknown scheme."""
    if signature is None:
        raise InvalidRequest(
            f"invalid client signature: field `{SIGNATURE_FIELD}`: send a signature of the key that the "
            "verification token names"
        )
    if signature.scheme != client_signatures.SCHEME:
        raise InvalidRequest(
            f"invalid client signature: field `{SIGNATURE_FIELD}.scheme`: expected {client_signatures.SCHEME}"
        )
    return signature


def _invalid(refused: InvalidClientSignature) -> InvalidRequest:
    return InvalidRequest(f"invalid client signature: field `{SIGNATURE_FIELD}`: {refused}")
