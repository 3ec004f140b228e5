"""Client signatures: the holder of a verification token's key confirms one login or one sign-up.

Here: the checks of logins (`USAGE_TYPE_LOGIN`) and sign-ups (`USAGE_TYPE_SIGNUP`). Not here: the token itself
(`verification_tokens`), the login or sign-up that follows (`operations`).
"""

from __future__ import annotations

from binascii import unhexlify
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from keystead.sessions.bounds import CLIENT_SIGNATURE_MESSAGE_CHARACTERS_MAX
from keystead.sessions.compact_jwt import is_signed_by
from keystead.sessions.verification_tokens import VerificationToken

SCHEME = "CLIENT_SIGNATURE_SCHEME_API_P256"


class InvalidClientSignature(Exception):
    """A client signature is not valid for this request. The message says why."""


class _Login(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    public_key: str = msgspec.field(name="publicKey")


class _UsageMessage(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Exactly one of `login`, `signup`, `signup_v2` and `signup_v3` is given."""

    token_id: str
    type: Literal["USAGE_TYPE_LOGIN", "USAGE_TYPE_SIGNUP"]
    login: _Login | None = None
    signup: dict[str, Any] | None = None
    signup_v2: dict[str, Any] | None = None
    signup_v3: dict[str, Any] | None = None


def check_login_signature(
    *, public_key: str, message: str, signature: str, token: VerificationToken, session_public_key: str
) -> None:
    """Raise InvalidClientSignature unless the token's key confirms a login with `session_public_key`.

    `public_key`, `session_public_key`: compressed P-256 in hex. `signature`: r and s in hex, 128 digits, over
    SHA-256 of `message`, a JSON text.
    """
    signed_message = _verify(public_key, message, signature, token)
    if signed_message.type != "USAGE_TYPE_LOGIN" or signed_message.login is None:
        raise InvalidClientSignature("the message is not about a login: expected type USAGE_TYPE_LOGIN and `login`")
    if signed_message.login.public_key.lower() != session_public_key.lower():
        raise InvalidClientSignature("the message names another `login.publicKey` than the request")


def check_signup_signature(
    *, public_key: str, message: str, signature: str, token: VerificationToken, requested: Mapping[str, Any]
) -> None:
    """Raise InvalidClientSignature unless the token's key confirms a sign-up with exactly these members.

    `requested` maps `apiKeys`, `authenticators`, `oauthProviders`, `walletAuthenticators` to lists of JSON objects
    as the request has them, and `email`, `phoneNumber` to text where the request has them. Absent, null and empty
    count as equal. The other parameters are as in `check_login_signature`.
    """
    signed_message = _verify(public_key, message, signature, token)
    versions = (signed_message.signup_v3, signed_message.signup_v2, signed_message.signup)
    signup = next((version for version in versions if version is not None), None)
    if signed_message.type != "USAGE_TYPE_SIGNUP" or signup is None:
        raise InvalidClientSignature(
            "the message is not about a sign-up: expected type USAGE_TYPE_SIGNUP and `signupV3` or `signupV2`"
        )
    for member in sorted({*signup, *requested}):
        if _without_empty(signup.get(member)) != _without_empty(requested.get(member)):
            raise InvalidClientSignature(f"the message names other {member[:64]} than the request")


def _verify(public_key: str, message: str, signature: str, token: VerificationToken) -> _UsageMessage:
    """The message, after the check that the token's key signed it and that it names the token."""
    if token.public_key is None or public_key.lower() != token.public_key.lower():
        raise InvalidClientSignature("`publicKey` is not the key of the verification token")
    if len(message) > CLIENT_SIGNATURE_MESSAGE_CHARACTERS_MAX:
        raise InvalidClientSignature(
            f"expected a message of at most {CLIENT_SIGNATURE_MESSAGE_CHARACTERS_MAX} characters"
        )
    try:
        key, raw = unhexlify(public_key), unhexlify(signature)
    except ValueError:
        raise InvalidClientSignature("`publicKey` and `signature` must be hex") from None
    if not is_signed_by(key, raw, message.encode()):
        raise InvalidClientSignature(
            "the signature does not verify: expected r and s in hex over SHA-256 of `message`"
        )
    try:
        signed_message = msgspec.json.decode(message, type=_UsageMessage)
    except (msgspec.MsgspecError, RecursionError):
        raise InvalidClientSignature(
            "`message` must be JSON with `tokenId`, `type`, and the member of that type (`login`, `signup`, "
            "`signupV2` or `signupV3`), without any other member"
        ) from None
    if signed_message.token_id != token.id:
        raise InvalidClientSignature("the message names another `tokenId` than the verification token")
    return signed_message


def _without_empty(value: Any) -> Any:
    """The value without empty members at every level, so that an absent and an empty member are equal."""
    match value:
        case dict():
            members = {name: _without_empty(member) for name, member in value.items()}
            return {name: member for name, member in members.items() if member is not None} or None
        case list():
            return [_without_empty(item) for item in value] or None
        case "":
            return None
        case _:
            return value
