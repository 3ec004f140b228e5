"""Wallet verification tokens: the JWT that verify_wallet_authenticator returns. It proves that a wallet logs in.

Here: the text to sign, and the verification of a token that a caller presents. Not here: the message that the
wallet signs (`chains.login_messages`), tokens about contacts (`verification_tokens`), single use (`operations`).
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from keystead.api.enums import WalletAuthenticatorType
from keystead.sessions import compact_jwt
from keystead.sessions.verification_tokens import HEADER, unverified_claims, verified_claims

_WalletText = Annotated[str, Meta(max_length=512)]


class WalletClaim(msgspec.Struct, frozen=True):
    """A wallet, and the domain at which it logs in. `address`, `domain`: in the form of the records."""

    type: WalletAuthenticatorType
    address: _WalletText
    domain: _WalletText


class WalletToken(msgspec.Struct, frozen=True, kw_only=True):
    """What a token states.

    `public_key`: of the wallet, in lower-case hex: 65 bytes of secp256k1, or 32 of Ed25519. `session_public_key`:
    the P-256 key that the wallet authorized, compressed, in lower-case hex. `expires_at_ms`: milliseconds since the
    epoch. `organization_id`: the organization that issued it.
    """

    id: _WalletText
    organization_id: _WalletText
    wallet: WalletClaim
    public_key: _WalletText
    session_public_key: _WalletText
    expires_at_ms: Annotated[int, Meta(ge=0, le=253_402_300_799_999)]


class _WalletClaims(msgspec.Struct, frozen=True, rename="camel"):
    """The names of the published kit. The published Rust client calls `sessionPublicKey` `ephemeralPublicKey`."""

    exp: str
    id: str
    organization_id: str
    type: Literal["WALLET"]
    wallet: WalletClaim
    public_key: str
    session_public_key: str
    ephemeral_public_key: str


def wallet_signing_input(token: WalletToken) -> bytes:
    """The text `header.payload`, in ASCII, that ES256 signs. `exp` is in milliseconds, as decimal text."""
    claims = _WalletClaims(
        exp=str(token.expires_at_ms),
        id=token.id,
        organization_id=token.organization_id,
        type="WALLET",
        wallet=token.wallet,
        public_key=token.public_key,
        session_public_key=token.session_public_key,
        ephemeral_public_key=token.session_public_key,
    )
    return compact_jwt.signing_input(HEADER, msgspec.to_builtins(claims))


def claimed_wallet_token_id(text: str) -> str | None:
    """The id of a token. Nothing is verified. None for a text that is not a wallet token."""
    claims = unverified_claims(text, _WalletClaims)
    return None if claims is None else claims.id


def read_wallet_token(text: str, issuer_public_key: bytes, now_ms: int) -> WalletToken:
    """What a token states, after its signature and its expiry were verified.

    `issuer_public_key`: a SEC 1 point of 33 or 65 bytes. `now_ms`: milliseconds since the epoch. Raises
    InvalidVerificationToken.
    """
    claims, expires_at_ms = verified_claims(text, issuer_public_key, now_ms, _WalletClaims)
    return WalletToken(
        id=claims.id,
        organization_id=claims.organization_id,
        wallet=claims.wallet,
        public_key=claims.public_key,
        session_public_key=claims.session_public_key,
        expires_at_ms=expires_at_ms,
    )
