"""Verification tokens: the JWT that verify_otp returns. It proves that a contact received a code.

Here: the text to sign, and the verification of a token that a caller presents. Not here: one-time codes
(`one_time_codes`), the private key that signs (`signer`), what a verified contact may do (`operations`).
"""

from __future__ import annotations

import json
from typing import Annotated, Literal, Protocol, TypeVar

import msgspec
from msgspec import Meta

from keystead.api.enums import OtpType
from keystead.sessions import compact_jwt
from keystead.sessions.bounds import VERIFICATION_TOKEN_CHARACTERS_MAX
from keystead.sessions.compact_jwt import MalformedToken, is_signed_by, read_compact

_VerificationText = Annotated[str, Meta(max_length=512)]

HEADER = {"typ": "JWT", "alg": "ES256"}
"""The header of this server's tokens about contacts and wallets."""


class _ExpiringClaims(Protocol):
    """`exp`: milliseconds since the epoch, as decimal text."""

    @property
    def exp(self) -> str: ...


ClaimsT = TypeVar("ClaimsT", bound=_ExpiringClaims)


class VerificationToken(msgspec.Struct, frozen=True, kw_only=True):
    """What a token states.

    `expires_at_ms`: milliseconds since the epoch. `public_key`: compressed P-256 in lower-case hex; None if the
    older VERIFY_OTP was submitted without a key. `organization_id`: the organization that issued it.
    """

    id: _VerificationText
    organization_id: _VerificationText
    otp_type: OtpType
    contact: _VerificationText
    expires_at_ms: Annotated[int, Meta(ge=0, le=253_402_300_799_999)]
    public_key: _VerificationText | None


class InvalidVerificationToken(Exception):
    """A token is not valid. The message says why and never holds the token."""


class _VerificationHeader(msgspec.Struct, frozen=True):
    alg: Literal["ES256"]
    typ: Literal["JWT"]


class _VerificationClaims(msgspec.Struct, frozen=True):
    exp: str
    id: str
    organization_id: str
    verification_type: OtpType
    contact: str
    public_key: str | None = None


def verification_signing_input(token: VerificationToken) -> bytes:
    """The text `header.payload`, in ASCII, that ES256 signs. All claims are text, `exp` in milliseconds."""
    claims: dict[str, str | int] = {
        "exp": str(token.expires_at_ms),
        "id": token.id,
        "organization_id": token.organization_id,
        "verification_type": token.otp_type,
        "contact": token.contact,
    }
    if token.public_key is not None:
        claims["public_key"] = token.public_key
    return compact_jwt.signing_input(HEADER, claims)


def claimed_contact(text: str) -> tuple[OtpType, str] | None:
    """The contact that a token names. Nothing is verified. None for a text that is not a token."""
    claims = unverified_claims(text, _VerificationClaims)
    return None if claims is None else (claims.verification_type, claims.contact)


def claimed_id_without_key(text: str) -> str | None:
    """The id of a token that names no key. Nothing is verified. None for any other text."""
    claims = unverified_claims(text, _VerificationClaims)
    return None if claims is None or claims.public_key is not None else claims.id


def unverified_claims(text: str, struct: type[ClaimsT]) -> ClaimsT | None:
    """The claims of a token of this kind. Nothing is verified. None for any other text."""
    try:
        return msgspec.json.decode(
            read_compact(text, characters_max=VERIFICATION_TOKEN_CHARACTERS_MAX).payload, type=struct
        )
    except (MalformedToken, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def read_verification_token(text: str, issuer_public_key: bytes, now_ms: int) -> VerificationToken:
    """What a token states, after its signature and its expiry were verified; see `verified_claims`."""
    claims, expires_at_ms = verified_claims(text, issuer_public_key, now_ms, _VerificationClaims)
    return VerificationToken(
        id=claims.id,
        organization_id=claims.organization_id,
        otp_type=claims.verification_type,
        contact=claims.contact,
        expires_at_ms=expires_at_ms,
        public_key=claims.public_key,
    )


def verified_claims(text: str, issuer_public_key: bytes, now_ms: int, struct: type[ClaimsT]) -> tuple[ClaimsT, int]:
    """The claims of a token of this kind, and when it expires, after its signature and its expiry were verified.

    `issuer_public_key`: a SEC 1 point of 33 or 65 bytes. Times are milliseconds since the epoch. The signature is
    verified before the claims are read. Raises InvalidVerificationToken.
    """
    try:
        token = read_compact(text, characters_max=VERIFICATION_TOKEN_CHARACTERS_MAX)
    except MalformedToken as malformed:
        raise InvalidVerificationToken(str(malformed)) from None
    if not is_signed_by(issuer_public_key, token.signature, token.signing_input):
        raise InvalidVerificationToken("the signature is not this server's")
    try:
        msgspec.json.decode(token.header, type=_VerificationHeader)
        claims = msgspec.json.decode(token.payload, type=struct)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise InvalidVerificationToken(
            "the header is not that of an ES256 JWT, or a claim is missing or malformed"
        ) from None
    if not (claims.exp.isascii() and claims.exp.isdigit() and len(claims.exp) <= 15):
        raise InvalidVerificationToken("claim `exp`: expected milliseconds since the epoch as decimal text")
    expires_at_ms = int(claims.exp)
    if now_ms >= expires_at_ms:
        raise InvalidVerificationToken(
            f"expired: claim `exp` is {json.dumps(claims.exp)}, the server's time {now_ms}"
        )
    return claims, expires_at_ms
