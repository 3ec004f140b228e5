"""The session JWT that a login returns. It describes the session and never authenticates a request.

Here: how an ID token is bound to a client's key; the claims, in the order that published parsers expect, and the
digest that is signed. Not here: the expiring API key of the session (`operations`), the private key that signs
(`signer`).
"""

from __future__ import annotations

import hmac
from hashlib import sha256
from typing import Annotated

import msgspec
from msgspec import Meta

from keystead.sessions import compact_jwt


def nonce_of(public_key: str) -> str:
    """The nonce for a key: lower-case hex of SHA-256 over the key's text as sent, not over its decoded bytes."""
    return sha256(public_key.encode()).hexdigest()


def is_bound(nonce: str | None, tknonce: str | None, public_key: str) -> bool:
    """Whether the claim `nonce` or the claim `tknonce` names this key."""
    expected = nonce_of(public_key)
    return any(
        given is not None and hmac.compare_digest(given.encode(), expected.encode()) for given in (nonce, tknonce)
    )


READ_WRITE = "SESSION_TYPE_READ_WRITE"
"""The `session_type` of a session without a profile. With a profile it is the profile's name."""

_SessionText = Annotated[str, Meta(max_length=256)]

_HEADER = {"alg": "ES256", "typ": "JWT"}


class SessionProfileClaims(msgspec.Struct, frozen=True, kw_only=True):
    """The claims about the session profile: its id, its name, and its scope in the policy language."""

    session_profile_id: _SessionText
    name: _SessionText
    scope: Annotated[str, Meta(max_length=16_384)]


class SessionClaims(msgspec.Struct, frozen=True, kw_only=True):
    """`expires_at_s`: seconds since the epoch. `public_key`: compressed P-256 in lower-case hex, 66 digits."""

    expires_at_s: Annotated[int, Meta(ge=0, le=253_402_300_799)]
    public_key: _SessionText
    user_id: _SessionText
    organization_id: _SessionText
    profile: SessionProfileClaims | None = None


def session_signing_input(claims: SessionClaims) -> bytes:
    """The text `header.payload` of the token, in ASCII."""
    profile = claims.profile
    members: dict[str, str | int] = {
        "exp": claims.expires_at_s,
        "public_key": claims.public_key,
        "session_type": READ_WRITE if profile is None else profile.name,
        "user_id": claims.user_id,
        "organization_id": claims.organization_id,
    }
    if profile is not None:
        members |= {"session_profile_id": profile.session_profile_id, "scope": profile.scope}
    return compact_jwt.signing_input(_HEADER, members)


def session_message(signing_input: bytes) -> bytes:
    """The message of the ECDSA-SHA256 signature: the SHA-256 of the text. The text is therefore hashed twice.

    The header says ES256, which hashes once. Published verifiers hash twice and refuse a plain ES256 signature.
    """
    return sha256(signing_input).digest()
